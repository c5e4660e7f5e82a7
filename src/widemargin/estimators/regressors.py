"""SVR and NuSVR."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..problem import Problem, epsilon_svr, nu_svr
from ..reductions.jobs import Job
from ..reductions.machines import Machine, read_machine
from .kernel_base import KernelEstimator
from .validation import check_number, check_weights

__all__ = ["SVR", "NuSVR"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class _KernelRegressor(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Base of the kernel regressors."""

    def _problem(self, targets: Vector, weights: Vector) -> Problem:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; with ``kernel="precomputed"`` their kernel matrix.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: 2 counts as the row twice, 0 as the row left out.

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
        X = self._rows(X, y, reset=True)
        y = self._targets(y)
        weights = check_weights(sample_weight, y.shape[0])
        data = self._open(X, weights)
        rows = np.flatnonzero(weights > 0)
        problem = self._problem(y[rows], weights[rows])
        (solution,) = self._solve(data, [Job(problem, [rows], self._start(problem, ()))])
        machine = read_machine(problem, solution, rows)
        self.machines_ = [machine]
        self._keep_certificate([solution])
        support = machine.support
        coefficients = machine.coefficients[machine.coefficients != 0][None]
        self.intercept_ = np.array([machine.bias])
        self.n_iter_ = solution.iterations
        self.n_support_ = np.array([support.size], dtype=np.int32)
        self._keep_support(data, support, coefficients, np.array([0, support.size]))
        self._warn_or_stop()
        return self

    def _targets(self, y: Any) -> Vector:
        y = column_or_1d(y, warn=True)
        try:
            y = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"y must hold numbers, found dtype {y.dtype}") from None
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; give a finite target to each row")
        return y

    def predict(self, X: Any) -> Any:
        """Return the predicted target of each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows; with a precomputed kernel the matrix between them and the training rows, or only
            the support vectors if ``gram_columns="support"``.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            f(x), in float32 if the rows came and were learnt in float32.
        """
        check_is_fitted(self, "support_")
        return self._like(self._sums(X)[:, 0, 0] + self.intercept_[0], X)

    def decision_bound(self, X: Any) -> Vector:
        """Return how far each prediction can be from that of the exact optimum.

        From the duality gap, |f(x) - f*(x)| <= sqrt(2 gap) ||phi(x)|| plus what the bias may vary.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            The bounds.
        """
        check_is_fitted(self, "support_")
        return self._bounds(X, self.machines_)[:, 0]


class SVR(_KernelRegressor):
    """Support vector regression with a tube of given width, certified by its duality gap."""

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
        max_time: float | None = None,
        memory_limit: Any = None,
        gap_tol: float | None = None,
        precision: str = "auto",
        warm_start: bool = False,
        solver: str = "auto",
        gram_columns: str = "train",
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.gap_tol = gap_tol
        self.precision = precision
        self.warm_start = warm_start
        self.solver = solver
        self.gram_columns = gram_columns
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("C", self.C, low=0, open_low=True)
        check_number("epsilon", self.epsilon, low=0)

    def _problem(self, targets: Vector, weights: Vector) -> Problem:
        return epsilon_svr(targets, float(self.C) * weights, float(self.epsilon))


class NuSVR(_KernelRegressor):
    """Support vector regression that learns the width of its tube from the share outside it."""

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
        max_time: float | None = None,
        memory_limit: Any = None,
        gap_tol: float | None = None,
        precision: str = "auto",
        warm_start: bool = False,
        solver: str = "auto",
        gram_columns: str = "train",
        callback: Any = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.gap_tol = gap_tol
        self.precision = precision
        self.warm_start = warm_start
        self.solver = solver
        self.gram_columns = gram_columns
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("C", self.C, low=0, open_low=True)
        check_number("nu", self.nu, low=0, high=1, open_low=True)

    def _problem(self, targets: Vector, weights: Vector) -> Problem:
        return nu_svr(targets, float(self.C) * weights, float(self.nu))
