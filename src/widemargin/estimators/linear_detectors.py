"""LinearOneClassSVM."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ..losses import OneClass
from ..problem import LinearProblem
from ..reductions.linear import LinearJob
from .linear_stream import LinearStream
from .validation import check_number, check_weights

__all__ = ["LinearOneClassSVM"]

Vector = NDArray[np.float64]


class LinearOneClassSVM(OutlierMixin, LinearStream):
    """The half-space that holds all but a share nu of the rows and is farthest from the origin.

    Prefer it to ``OneClassSVM(kernel="linear")`` for more than a few thousand rows, and behind an
    explicit feature map; it solves ::

        minimise  ½||w||² − nu n rho + sum_i weight_i max(0, rho − w.x_i),   n = sum of weights

    and the decision is w.x − rho.

    Parameters
    ----------
    nu : float, default=0.5
        Bound on the share of outliers, and least share of rows that carry w.
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
    offset_ : array of shape (1,)
        rho.
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

    **References.** scholkopf2001 (B. Schölkopf et al., Neural Computation 13, 2001); see
    ``widemargin.solvers.smoothed_newton`` for the method.

    Examples
    --------
    >>> from widemargin import LinearOneClassSVM
    >>> model = LinearOneClassSVM(nu=0.5).fit([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [0.1, 0.1]])
    >>> model.predict([[3.0, 3.0], [0.0, 0.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
        self.nu = nu
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

    penalty, l1_ratio = "l2", 0.0
    C, lam = 1.0, None
    fit_intercept, intercept_scaling, penalize_intercept = True, 1.0, False

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("nu", self.nu, low=0, high=1, open_low=True)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows, used in place where float32 or float64.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: 2 counts as the row twice, 0 as the row left out.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_settings()
        with self._whole_or_nothing():
            X, sample_weight = self._arrive(X, sample_weight)
            X = self._rows(X, reset=True)
            weights = check_weights(sample_weight, X.shape[0])
            self.rows_seen_ = float(weights.sum())
            job = LinearJob(
                self._half_space(weights), self._data(X), self._start(0, 1, weights.size)
            )
            (solution,) = self._solve([job])
            self.coef_ = solution.weights
            # Rows on the plane lie there only as exactly as it is known; they count as inside.
            bias = solution.bias + 2.0 * solution.certificate.violation + 1e-11 * abs(solution.bias)
            self.intercept_ = np.array([bias])
            self.offset_ = -self.intercept_
            self._keep_solutions([solution])
        self._warn_or_stop()
        return self

    def _half_space(self, weights: Vector) -> LinearProblem:
        return LinearProblem(
            loss=OneClass(),
            targets=np.zeros(weights.size),
            costs=weights,
            tilt=float(self.nu) * float(weights.sum()),
        )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a block of rows; the rows of earlier calls, or of a fit, need not be at hand.

        See ``LinearSVC.partial_fit`` for the weights. The plane is put where the share nu of the
        block is outside, so a block should have many rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The block.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self
            The estimator; ``rows_seen_`` is the weight of all rows so far.
        """
        self._check_stream(X)
        X = self._rows(X, reset=not hasattr(self, "coef_"))
        weights = check_weights(sample_weight, X.shape[0])
        total = getattr(self, "rows_seen_", 0.0) + float(weights.sum())
        self._learn([(self._block(X), self._half_space(weights))], total)
        self.coef_, self.offset_ = self.coef_[0], -self.intercept_
        return self

    def decision_function(self, X: Any) -> Vector:
        """Return the signed distance, up to ||w||, from the plane; positive inside.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            w.x − rho.
        """
        return self._scores(X)[:, 0]

    def score_samples(self, X: Any) -> Vector:
        """Return the decision value before the offset is taken off; larger is more usual.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            ``decision_function(X) + offset_``.
        """
        return np.asarray(self.decision_function(X) + self.offset_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 for rows like the training rows and -1 for outliers.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            +1 where the decision value is at least zero, else -1.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def decision_bound(self, X: Any) -> Vector:
        """Return how far each decision value can be from that of the exact optimum.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            The bounds.
        """
        return self._bounds(X)[:, 0]

    def contributions(self, X: Any) -> Any:
        """Return what each feature adds to each decision; with the intercept they add up to it.

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
