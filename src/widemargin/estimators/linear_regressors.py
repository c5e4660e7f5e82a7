"""LinearSVR."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..losses import Insensitive, Loss, SquaredInsensitive
from ..reductions.linear import LinearJob
from .linear_search import CostSearch, LinearSearch, tubes
from .linear_stream import streams
from .validation import check_choice, check_number, check_weights

__all__ = ["LinearSVR"]

Vector = NDArray[np.float64]

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


class LinearSVR(RegressorMixin, LinearSearch):
    """Linear support vector regression, certified by its duality gap.

    Prefer it to ``SVR(kernel="linear")`` for more than a few thousand rows; it solves ::

        minimise  ½||w||² + C sum_i weight_i max(0, |y_i − w.x_i − b| − epsilon)

    or the same with squares, which for epsilon = 0 is ridge regression, with any penalty.

    Parameters
    ----------
    epsilon : float, default=0.0
        Deviation that costs nothing, in the units of y.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        ½||w||², |w|₁, or l1_ratio |w|₁ + (1 − l1_ratio) ½||w||²; each goes with every loss.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        Loss of one row; by default the first.
    dual : ignored
        Accepted for compatibility: no choice between primal and dual is needed.
    C : float, default=1.0
        Price of the losses.
    lam : float, default=None
        If given, takes the place of C: the problem is then the mean loss + lam times the penalty,
        which is C = 1 / (lam n), n being the sum of the weights.
    l1_ratio : float, default=0.5
        Share of the l1 penalty with ``penalty="elasticnet"``.
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    intercept_scaling : float, default=1.0
        Value s of the constant feature that carries a penalised intercept.
    penalize_intercept : bool, default=False
        A free intercept is right: no shift of X changes what is learnt. True penalises b / s as if
        it were the weight of a constant feature s, which is what LIBLINEAR and scikit-learn do.
    tol : float, default=None
        If given, a fit may also end as soon as no optimality condition is violated by more.
    gap_tol : float, default=1e-4
        The fit ends when (primal − dual) / primal objective is at most this.
    max_iter : int, default=-1
        Largest number of Newton steps or epochs; -1 for no limit, for there is no need of one.
    max_time : float, default=None
        Largest time in seconds.
    n_jobs : int, default=None
        Threads; None for all usable cores. The result does not depend on it.
    warm_start : bool, default=False
        Whether to begin from the last fit.
    solver : {"auto", "newton", "dual"}, default="auto"
        See "Solvers" below.
    verbose : bool, default=False
        Whether to show a line of progress.
    random_state : ignored
        Accepted for compatibility; nothing is random.
    callback : callable, default=None
        Called with a ``Progress`` after each step; returning True stops the fit.
    device : {'cpu', 'cuda'} or None, default=None
        Where to train; None trains where X is. ``"cuda"`` needs an NVIDIA GPU and CuPy.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights of the features.
    intercept_ : array of shape (1,)
        Intercepts.
    primal_objective_, dual_objective_, duality_gap_ : float
        Objectives, recomputed in float64 and summed over machines, and their relative distance.
    kkt_violation_ : float
        Largest violation of the optimality conditions.
    backend_ : str
        What trained: ``"cpu"`` or ``"cuda"``.
    status_ : Status
        How the fit ended; its value is a sentence.
    n_iter_ : int
        Newton steps and epochs of the machine that took most.
    history_ : tuple of Progress
        Time, objective and gap after each step.

    Notes
    -----
    **Solvers.** ``"auto"`` is dual coordinate descent with shrinking (``"dual"``) for a squared
    penalty alone and more than 1500 features, or costs so small that their mean times the mean
    ||x||² is at most 1 (and at most 3000 rows for each feature); Newton's method finishes where
    the descent becomes slow, for a smooth loss on many features after 600 passes. Otherwise it is
    Newton's method on ever less rounded losses (``"newton"``), whose linear systems are solved, by
    rule,

    - with a squared penalty and at most 1500 features: by the Gram matrix of the features,
      unless fewer rows than half the features have curvature;
    - with more features and at most 1500 rows with curvature (300 for a smooth loss): by the matrix
      of their dot products;
    - otherwise: by conjugate gradients inside a trust region, preconditioned by the diagonal, which
      read rows with curvature alone;
    - with an l1 penalty: by coordinate descent on the Gram matrix of the features that are not
      zero or should not stay so.

    An l1 penalty with a kinked loss begins with interior-point steps instead, and with more than
    1500 features on working sets of columns, which are copied.

    **Cost.** One to three passes over X a step and 5 to 20 steps for a smooth loss, 20 to 150 for
    a kinked one, most of them on few rows; the number hardly depends on C or on the scale of X.
    Memory: a few numbers for each row and feature; X is not copied.

    **References.** ho2012 (C.-H. Ho, C.-J. Lin, JMLR 13, 2012); see
    ``widemargin.solvers.smoothed_newton`` for the method.

    Examples
    --------
    >>> from widemargin import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(3)
    array([7.])
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        penalty: str = "l2",
        loss: str = "epsilon_insensitive",
        dual: Any = "auto",
        C: float = 1.0,
        lam: float | None = None,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        penalize_intercept: bool = False,
        tol: float | None = None,
        gap_tol: float = 1e-4,
        max_iter: int = -1,
        max_time: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        verbose: bool | int = False,
        random_state: Any = None,
        callback: Any = None,
        device: str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.C = C
        self.lam = lam
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.penalize_intercept = penalize_intercept
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.solver = solver
        self.verbose = verbose
        self.random_state = random_state
        self.callback = callback
        self.device = device

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("loss", self.loss, LOSSES)
        check_number("epsilon", self.epsilon, low=0)

    def _loss(self) -> Loss:
        kind = Insensitive if self.loss == LOSSES[0] else SquaredInsensitive
        return kind(float(self.epsilon))

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
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: 2 counts as the row twice, 0 as the row left out.
        coef_init : array-like of shape (n_features,), default=None
            Weights to begin from.
        intercept_init : float, default=None
            Intercept to begin from.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_settings()
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: a regressor learns from targets"
            )
        with self._whole_or_nothing():
            X, y, sample_weight = self._arrive(X, y, sample_weight)
            X = self._rows(X, y, reset=True)
            y = _targets(y)
            weights = check_weights(sample_weight, y.shape[0])
            self._keep_init(coef_init, intercept_init, 1)
            self.rows_seen_ = float(weights.sum())
            problem = self._problem(self._loss(), y, weights)
            (solution,) = self._solve(
                [LinearJob(problem, self._data(X), self._start(0, 1, y.size))]
            )
            self.coef_ = solution.weights
            self.intercept_ = np.array([solution.bias])
            self._keep_solutions([solution])
        self._warn_or_stop()
        return self

    @available_if(streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a block of rows; the rows of earlier calls, or of a fit, need not be at hand.

        See ``LinearSVC.partial_fit`` for what it finds.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The block.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self
            The estimator; ``rows_seen_`` is the weight of all rows so far.
        """
        self._check_stream(X)
        X = self._rows(X, y, reset=not hasattr(self, "coef_"))
        y = _targets(y)
        weights = check_weights(sample_weight, y.size)
        total = getattr(self, "rows_seen_", 0.0) + float(weights.sum())
        self._learn([(self._block(X), self._problem(self._loss(), y, weights, total))], total)
        self.coef_ = self.coef_[0]
        return self

    def search_cost_and_epsilon(self, X: Any, y: Any, *, cv: int = 5, **more: Any) -> CostSearch:
        """Search C for each of 20 widths of the tube, as LIBLINEAR's ``train -C -s 11`` does.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets; epsilon goes from 19 twentieths of the largest |y| down to 0.
        cv : int, default=5
            Number of folds.
        **more
            As for ``search_cost``.

        Returns
        -------
        CostSearch
            The search for C with the best epsilon.
        """
        found = [
            clone(self).set_params(epsilon=epsilon).search_cost(X, y, cv=cv, **more)
            for epsilon in tubes(y)
        ]
        return max(found, key=lambda search: search.score)

    def predict(self, X: Any) -> Any:
        """Return the predicted target of each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            w.x + b.
        """
        return self._scores(X)[:, 0]

    def decision_bound(self, X: Any) -> Vector:
        """Return how far each prediction can be from that of the exact optimum.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            The bounds; infinite without a squared penalty.
        """
        return self._bounds(X)[:, 0]

    def contributions(self, X: Any) -> Any:
        """Return what each feature adds to each prediction; with the intercept they add up to it.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray or CSR matrix of shape (n_rows, n_features)
            x_k coef_k.
        """
        check_is_fitted(self, "coef_")
        coef = self.densify().coef_ if hasattr(self.coef_, "toarray") else self.coef_
        return self._contributions(X, coef)


def _targets(y: Any) -> Vector:
    y = column_or_1d(y, warn=True)
    try:
        y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y must hold numbers, found dtype {y.dtype}") from None
    if not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; give a finite target to each row")
    return y
