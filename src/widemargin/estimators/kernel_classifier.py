"""What SVC and NuSVC share: many classes, votes, and the attributes that scikit-learn has."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..problem import Problem
from ..reductions.jobs import Job
from ..reductions.machines import Machine
from ..reductions.multiclass import (
    one_vs_one,
    one_vs_rest,
    oriented,
    pair_votes,
    shape_votes,
)
from ..solution import Solution, Status
from .certainty import CertaintyMixin
from .joint import JointMixin
from .kernel_base import FitData, KernelEstimator
from .labels import class_weights, number_labels
from .margins import MarginMixin
from .probabilities import ProbabilityMixin
from .validation import check_choice, check_flag

__all__ = ["KernelClassifier"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class KernelClassifier(
    CertaintyMixin, MarginMixin, ProbabilityMixin, JointMixin, ClassifierMixin, KernelEstimator
):
    """Base of the kernel classifiers."""

    def _problem(self, signs: Vector, weights: Vector) -> Problem:
        raise NotImplementedError

    def _read(
        self, problem: Problem, solution: Solution, rows: Ids, classes: tuple[int, int]
    ) -> Machine:
        raise NotImplementedError

    # --- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; with ``kernel="precomputed"`` their kernel matrix; any list of objects if
            the kernel takes objects.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: 2 counts as the row twice, 0 as the row left out.

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
        with self._whole_or_nothing():
            data, labels, costs = self._take(X, y, sample_weight)
            if self.multi_class == "joint" and len(self.classes_) > 2:
                self._fit_joint(data, labels, costs)
            else:
                self._fit_pairs(data, labels, costs)
        self._forget_calibration()
        if self._gives_probabilities() and self.status_ is not Status.INTERRUPTED:
            self._calibrate(data, labels, costs)
        self._warn_or_stop()
        return self

    def _take(self, X: Any, y: Any, sample_weight: Any) -> tuple[FitData, Ids, Vector]:
        """Return the data, class numbers, and the cost of each row as a share of C."""
        self._check_settings()
        X, y, sample_weight = self._arrive(X, y, sample_weight)
        X = self._rows(X, y, reset=True)
        labels, weights = self._targets(y, sample_weight)
        return self._open(X, weights), labels, weights * self.class_weight_[labels]

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_choice("multi_class", self.multi_class, ("ovo", "ovr", "joint"))
        if self.probability != "deprecated":
            check_flag("probability", self.probability)
        check_flag("break_ties", self.break_ties)

    def _targets(self, y: Any, sample_weight: Any) -> tuple[Ids, Vector]:
        """Return class numbers and weights; classes are those of rows with any weight."""
        self.classes_, labels, weights = number_labels(type(self).__name__, y, sample_weight)
        self.class_weight_ = class_weights(self.class_weight, self.classes_, labels, weights)
        return labels, weights

    def _fit_pairs(self, data: FitData, labels: Ids, costs: Vector) -> None:
        """Fit one machine for each pair of classes, or for each class against the rest."""
        k = len(self.classes_)
        split = one_vs_rest if self.multi_class == "ovr" and k > 2 else one_vs_one
        pairs, jobs = split(labels, costs, k, self._problem)
        jobs = [
            Job(job.problem, job.segments, self._start(job.problem, pair))
            for pair, job in zip(pairs, jobs, strict=True)
        ]
        self._keep_pairs(data, labels, pairs, jobs, self._solve(data, jobs))

    def _keep_pairs(
        self,
        data: FitData,
        labels: Ids,
        pairs: Sequence[tuple[int, int]],
        jobs: Sequence[Job],
        solutions: Sequence[Solution],
    ) -> None:
        """Keep the machines of solved jobs; of a pair (class, -1) the second is the rest."""
        machines = [
            self._read(job.problem, solution, np.concatenate(job.segments), pair)
            for pair, job, solution in zip(pairs, jobs, solutions, strict=True)
        ]
        self.machines_ = machines
        self._keep_certificate(solutions)
        self._trained_by = "ovr" if pairs[0][1] < 0 else "ovo"
        self._plane = self._weights_of(machines)
        if self._trained_by == "ovo":
            self._keep_ovo(data, labels, machines)
        else:
            self._keep_ovr(data, labels, machines)

    def _support(self, labels: Ids, used: NDArray[np.bool_]) -> tuple[Ids, Ids]:
        """Return the support rows sorted by class, and where each class begins among them."""
        support = np.flatnonzero(used)
        support = support[np.argsort(labels[support], kind="stable")]
        counts = np.bincount(labels[support], minlength=len(self.classes_))
        self.n_support_ = counts.astype(np.int32)
        return support, np.concatenate([[0], np.cumsum(counts)])

    def _keep_ovo(self, data: FitData, labels: Ids, machines: Sequence[Machine]) -> None:
        """Lay coefficients out as LIBSVM does.

        Row m of the columns of class a belongs to the pair of a with the m-th other class.
        """
        k, rows = len(self.classes_), labels.size
        coefficients = np.zeros((k - 1, rows))
        intercepts, steps = [], []
        for machine, sign, (a, b) in oriented(machines):
            signed = sign * machine.coefficients
            inside = labels[machine.rows] == a
            coefficients[b - 1, machine.rows[inside]] = signed[inside]
            coefficients[a, machine.rows[~inside]] = signed[~inside]
            intercepts.append(sign * machine.bias)
            steps.append(machine.solution.iterations)
        used = (coefficients != 0).any(axis=0)
        support, starts = self._support(labels, used)
        dual_coef, intercept = coefficients[:, support], np.array(intercepts)
        if k == 2:  # two classes: a positive decision means the second, as in scikit-learn
            dual_coef, intercept, starts = -dual_coef, -intercept, starts[[0, -1]]
        self.intercept_ = intercept
        self.n_iter_ = np.array(steps, dtype=np.int32)
        self._keep_support(data, support, dual_coef, starts)

    def _weights_of(self, machines: Sequence[Machine]) -> Vector | None:
        """Return, if machines were found in weights, these in the layout of `Expansion.linear`."""
        planes = [machine.weights for machine in machines if machine.weights is not None]
        if not planes:
            return None
        k, width = len(self.classes_), planes[0].size
        if self._trained_by == "ovr":
            found = np.zeros((1, k, width))
            for machine, w in zip(machines, planes, strict=True):
                found[0, machine.classes[0]] = w
            return found
        found = np.zeros((k if k > 2 else 1, k - 1, width))
        for (_, sign, (a, b)), w in zip(oriented(machines), planes, strict=True):
            found[a, b - 1] = sign * w if k > 2 else -sign * w
        return found

    def _keep_ovr(self, data: FitData, labels: Ids, machines: Sequence[Machine]) -> None:
        k = len(self.classes_)
        coefficients = np.zeros((k, labels.size))
        self.intercept_ = np.zeros(k)
        self.n_iter_ = np.zeros(k, dtype=np.int32)
        for machine in machines:
            c = machine.classes[0]
            coefficients[c, machine.rows] = machine.coefficients
            self.intercept_[c] = machine.bias
            self.n_iter_[c] = machine.solution.iterations
        support, starts = self._support(labels, (coefficients != 0).any(axis=0))
        self._keep_support(data, support, coefficients[:, support], starts[[0, -1]])

    # --- decisions ---------------------------------------------------------------------------

    def _pair_decisions(self, X: Any) -> Vector:
        """Return the decision of each pair of classes (a, b), positive for a."""
        sums = self._sums(X)  # rows x classes x (k - 1)
        columns = [
            sums[:, a, b - 1] + sums[:, b, a] for a, b in combinations(range(len(self.classes_)), 2)
        ]
        return np.stack(columns, axis=1) + self.intercept_

    def _primal_coef(self) -> Vector:
        linear = self._expansion.linear  # classes x (k - 1) x features
        if linear is None or self._trained_by != "ovo" or len(self.classes_) == 2:
            return super()._primal_coef()
        pairs = combinations(range(len(self.classes_)), 2)
        return np.stack([linear[a, b - 1] + linear[b, a] for a, b in pairs])

    def _class_scores(self, X: Any) -> Vector:
        """Return one decision for each class (ovr, joint)."""
        return self._sums(X)[:, 0, :] + self.intercept_

    def decision_function(self, X: Any) -> Any:
        """Return the decision values.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray
            Two classes: shape (n_rows,), positive for ``classes_[1]``. One-vs-one with
            ``decision_function_shape="ovo"``: one column for each pair. Otherwise one column for
            each class; for one-vs-one these are votes with ties broken by the pair decisions.
        """
        check_is_fitted(self, "support_")
        if len(self.classes_) == 2:
            return self._like(self._class_scores(X)[:, 0], X)
        if self._trained_by != "ovo":
            return self._like(self._class_scores(X), X)
        decisions = self._pair_decisions(X)
        if self.decision_function_shape == "ovo":
            return self._like(decisions, X)
        return self._like(shape_votes(decisions, len(self.classes_)), X)

    def _predicted(self, X: Any) -> Ids:
        """Return the number of the predicted class."""
        check_is_fitted(self, "support_")
        if len(self.classes_) == 2:
            return np.asarray(self.decision_function(X) > 0, dtype=np.int64)
        if self._trained_by != "ovo":
            return np.asarray(np.argmax(self.decision_function(X), axis=1))
        if self.break_ties:
            if self.decision_function_shape == "ovo":
                raise ValueError(
                    "break_ties must be False when decision_function_shape is 'ovo', which has a "
                    "column for each pair and none for a class; set one of the two"
                )
            return np.asarray(np.argmax(self.decision_function(X), axis=1))
        return np.asarray(
            np.argmax(pair_votes(self._pair_decisions(X), len(self.classes_)), axis=1)
        )

    def predict(self, X: Any) -> Any:
        """Return the label of each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows; with a precomputed kernel the matrix between them and the training rows, or only
            the support vectors if ``gram_columns="support"``.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            Labels.
        """
        chosen = self._predicted(X)
        return self.classes_[chosen]
