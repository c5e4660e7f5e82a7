"""What the linear classifiers share: classes, machines for many classes, decisions, certainty."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..backends.cpu import take_rows
from ..reductions.linear import LinearJob
from ..reductions.multiclass import shape_votes
from ..solution import JointSolution, LinearSolution
from .labels import class_weights, known_labels, number_labels
from .linear_probabilities import LinearProbabilities
from .linear_stream import streams
from .validation import check_choice, check_weights

__all__ = ["LinearClassifier"]

SHARES_KEPT = 1 << 26  # dual variables of all machines that are kept for a warm start
SCORES_AT_ONCE = 1 << 24

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class LinearClassifier(LinearProbabilities):
    """Base of the linear classifiers."""

    sparse_coef = False

    def _fit_joint(self, X: Any, labels: Ids, weights: Vector) -> JointSolution:
        raise NotImplementedError

    # --- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows, used in place where float32 or float64.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: 2 counts as the row twice, 0 as the row left out.
        coef_init : array-like of the shape of ``coef_``, default=None
            Weights to begin from; they change the time that the fit takes, not what it finds.
        intercept_init : array-like of the shape of ``intercept_``, default=None
            Intercepts to begin from.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is of no use; the sentence names it, what was found and what to do.
        KeyboardInterrupt
            After Ctrl-C. If a point had been reached the estimator is fitted with it and
            ``status_`` says so; otherwise it is not fitted.
        """
        self._check_settings()
        self._drop_calibration()
        with self._whole_or_nothing():
            X, y, sample_weight = self._arrive(X, y, sample_weight)
            X = self._rows(X, y, reset=True)
            self.classes_, labels, weights = number_labels(type(self).__name__, y, sample_weight)
            self.class_weight_ = class_weights(self.class_weight, self.classes_, labels, weights)
            weights = weights * self.class_weight_[labels]
            self.rows_seen_ = float(weights.sum())
            k = len(self.classes_)
            kind = self._multi_class()
            count = 1 if k == 2 else k * (k - 1) // 2 if kind == "ovo" else k
            self._keep_init(coef_init, intercept_init, count)
            if kind == "crammer_singer":
                self._keep_joint(X, self._fit_joint(X, labels, weights))
            else:
                split = self._pairs if kind == "ovo" else self._rests
                self._keep_machines(self._solve(split(X, labels, weights)), count, labels.size)
        self._warn_or_stop()
        return self

    @available_if(streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn a block of rows; the rows of earlier calls, or of a fit, need not be at hand.

        The block is solved to ``gap_tol`` while what earlier rows contribute stays as it is: one
        pass of block coordinate ascent on the dual of the fit to all rows. A block of one row is a
        passive-aggressive step, a block of all rows is the fit (but for a free intercept, which
        moves around its last value). The more rows a block has, the nearer to the fit one comes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The block.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will come; needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self
            The estimator; ``rows_seen_`` is the weight of all rows so far. With a penalised or no
            intercept ``dual_objective_`` is a lower bound of the objective of a fit to all of them.
        """
        self._check_stream(X)
        first = not hasattr(self, "coef_")
        X = self._rows(X, y, reset=first)
        labels = known_labels(self, y, classes, first=first)
        weights = check_weights(sample_weight, labels.size)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, labels, weights)
        weights = weights * self.class_weight_[labels]
        total = getattr(self, "rows_seen_", 0.0) + float(weights.sum())
        data, blocks = self._block(X), []
        for positive in [1] if len(self.classes_) == 2 else range(len(self.classes_)):
            signs = np.where(labels == positive, 1.0, -1.0)
            blocks.append((data, self._problem(self._loss(), signs, weights, total)))
        self._learn(blocks, total)
        self._drop_calibration()
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("multi_class", self.multi_class, ("ovr", "ovo", "crammer_singer"))

    def _rests(self, X: Any, labels: Ids, weights: Vector) -> Iterator[LinearJob]:
        """Yield each class against the rest, all on the same rows; one job for two classes."""
        data, k = self._data(X), len(self.classes_)
        positives = [1] if k == 2 else list(range(k))
        for m, positive in enumerate(positives):
            signs = np.where(labels == positive, 1.0, -1.0)
            problem = self._problem(self._loss(), signs, weights)
            yield LinearJob(problem, data, self._start(m, len(positives), labels.size))

    def _pairs(self, X: Any, labels: Ids, weights: Vector) -> Iterator[LinearJob]:
        """Yield each pair of classes (a, b), positive for a, on the rows of the two."""
        for m, pair in enumerate(combinations(range(len(self.classes_)), 2)):
            yield self._pair_job(X, labels, weights, m, *pair)

    def _pair_job(self, X: Any, labels: Ids, weights: Vector, m: int, a: int, b: int) -> LinearJob:
        k = len(self.classes_)
        rows = np.flatnonzero((labels == a) | (labels == b))
        signs = np.where(labels[rows] == a, 1.0, -1.0)
        problem = self._problem(self._loss(), signs, weights[rows])
        data = self._data(take_rows(X, rows))
        return LinearJob(problem, data, self._start(m, k * (k - 1) // 2, rows.size), rows)

    def _keep_machines(self, solutions: Iterable[LinearSolution], machines: int, rows: int) -> None:
        """Keep machine by machine what prediction and a warm start need.

        Dual variables only while they are few, and no dense weights if sparse ones are asked for:
        memory grows by d K, not by n K.
        """
        sparse, kept, bias = bool(self.sparse_coef), [], np.zeros(machines)
        dense = np.zeros((0 if sparse else machines, self.n_features_in_))
        thin: list[Any] = []
        for m, solution in enumerate(solutions):
            if sparse:
                thin.append(sp.csr_matrix(solution.weights))
            else:
                dense[m] = solution.weights
            bias[m] = solution.bias
            shares = (
                solution.shares if machines * rows <= SHARES_KEPT else solution.shares[:0].copy()
            )
            weights = solution.weights[:0].copy() if sparse else dense[m]
            kept.append(replace(solution, weights=weights, shares=shares))
        self.coef_ = sp.vstack(thin, format="csr") if sparse else dense
        self.intercept_ = bias
        self._keep_solutions(kept)

    def _keep_joint(self, X: Any, solution: JointSolution) -> None:
        coef = np.asarray((X.T @ solution.coefficients).T)
        self.coef_ = sp.csr_matrix(coef) if self.sparse_coef else coef
        share = float(self.intercept_scaling) ** 2 if self.fit_intercept else 0.0
        self.intercept_ = share * solution.coefficients.sum(axis=0)
        self._keep_solutions([solution])

    # --- decisions ---------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Any:
        """Return the decision values.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray
            Two classes: shape (n_rows,), positive for ``classes_[1]``. Otherwise one column for
            each class, the largest of which is the predicted one; with ``multi_class="ovo"`` they
            are votes with ties broken by the decisions of the pairs.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return shape_votes(scores, len(self.classes_)) if self._multi_class() == "ovo" else scores

    def predict(self, X: Any) -> Any:
        """Return the label of each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            Labels.
        """
        check_is_fitted(self, "coef_")
        X = self._rows(X, reset=False)
        step = max(1, SCORES_AT_ONCE // self.coef_.shape[0])
        parts = [self._chosen(self._products(X[i : i + step])) for i in range(0, X.shape[0], step)]
        return self.classes_[np.concatenate(parts)]

    def _chosen(self, scores: Vector) -> Ids:
        if len(self.classes_) == 2:
            return (scores[:, 0] > 0).astype(np.int64)
        voted = self._multi_class() == "ovo"
        values = shape_votes(scores, len(self.classes_)) if voted else scores
        return np.argmax(values, axis=1)

    # --- certainty and explanation ---------------------------------------------------------------

    def decision_bound(self, X: Any) -> Vector:
        """Return how far each machine's decision can be from that of the exact optimum.

        From the duality gap, |f(x) - f*(x)| <= sqrt(2 gap / l2) ||x|| plus what the intercept may
        vary; infinite without a squared penalty, which alone makes the optimum unique.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray
            Shape (n_rows,) for two classes, else one column for each machine.
        """
        bounds = self._bounds(X)
        if self._multi_class() == "crammer_singer":
            bounds = np.repeat(bounds, len(self.classes_), axis=1)
        return bounds[:, 0] if len(self.classes_) == 2 else bounds

    def is_certain(self, X: Any) -> NDArray[np.bool_]:
        """Say for which rows the exact optimum predicts the same label, whatever the gap hides.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of bool, shape (n_rows,)
            True where the label cannot change.
        """
        bounds, scores, k = self.decision_bound(X), self._scores(X), len(self.classes_)
        if k == 2:
            return np.asarray(np.abs(scores[:, 0]) > bounds)
        if self._multi_class() != "ovo":
            chosen = np.argmax(scores, axis=1)
            at = np.arange(chosen.size)
            least, most = scores[at, chosen] - bounds[at, chosen], scores + bounds
        else:
            chosen = np.argmax(shape_votes(scores, k), axis=1)
            at = np.arange(chosen.size)
            fewest, most = _vote_range(scores, bounds, k)
            least = fewest[at, chosen]
        most[at, chosen] = -np.inf
        return np.asarray(least > most.max(axis=1))

    def contributions(self, X: Any) -> Any:
        """Return what each feature adds to each decision; with the intercept they add up to it.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray or CSR matrix of shape (n_rows, n_features), or list of them
            x_k coef_k; a list, one for each row of ``coef_``, with more than one machine.
        """
        check_is_fitted(self, "coef_")
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        parts = [self._contributions(X, row) for row in coef]
        return parts[0] if len(parts) == 1 else parts


def _vote_range(scores: Vector, bounds: Vector, k: int) -> tuple[Vector, Vector]:
    """Return the fewest and the most votes that each class can have."""
    fewest, most = np.zeros((2, scores.shape[0], k))
    for column, (a, b) in enumerate(combinations(range(k), 2)):
        value, bound = scores[:, column], bounds[:, column]
        fewest[:, a] += value > bound
        fewest[:, b] += -value >= bound
        most[:, a] += value > -bound
        most[:, b] += -value >= -bound
    return fewest, most
