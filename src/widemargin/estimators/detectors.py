"""OneClassSVM and SVDD: what is unlike the training rows."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ..problem import Problem, one_class, svdd
from ..reductions.jobs import Job
from ..reductions.machines import Machine, read_machine
from .kernel_base import FitData, KernelEstimator
from .validation import check_number, check_weights

__all__ = ["SVDD", "OneClassSVM"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class _KernelDetector(OutlierMixin, KernelEstimator):  # type: ignore[misc]
    """Base of the kernel detectors."""

    def _problem(self, data: FitData, rows: Ids, weights: Vector) -> Problem:
        raise NotImplementedError

    def _keep(self, data: FitData, problem: Problem, machine: Machine) -> None:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; with ``kernel="precomputed"`` their kernel matrix.
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
        X = self._rows(X, reset=True)
        weights = check_weights(sample_weight, X.shape[0] if hasattr(X, "shape") else len(X))
        data = self._open(X, weights)
        rows = np.flatnonzero(weights > 0)
        problem = self._problem(data, rows, weights[rows])
        (solution,) = self._solve(data, [Job(problem, [rows], self._start(problem, ()))])
        machine = read_machine(problem, solution, rows)
        self.machines_ = [machine]
        self._keep_certificate([solution])
        self.n_iter_ = solution.iterations
        self._keep(data, problem, machine)
        self._warn_or_stop()
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("nu", self.nu, low=0, high=1, open_low=True)

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
        return np.where(np.asarray(self.decision_function(X)) >= 0, 1, -1)

    def score_samples(self, X: Any) -> Any:
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
        return self.decision_function(X) + self._like(np.asarray(self.offset_), X)

    @staticmethod
    def _nudge(machine: Machine) -> float:
        """Return how much the boundary moves out so that the rows on it count as inside.

        Rows between their bounds lie on the boundary, but only as exactly as it is known; without
        this rounding would decide which of them are called outliers.
        """
        return 2.0 * machine.solution.certificate.violation + 1e-11 * abs(machine.bias)

    def _coefficients(self, machine: Machine) -> tuple[Ids, Vector]:
        support = machine.support
        self.n_support_ = np.array([support.size], dtype=np.int32)
        return support, machine.coefficients[machine.coefficients != 0][None]


class OneClassSVM(_KernelDetector):
    """The half-space in feature space that holds all but a share nu of the rows."""

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
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
        self.nu = nu
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

    def _problem(self, data: FitData, rows: Ids, weights: Vector) -> Problem:
        return one_class(weights, float(self.nu))

    def _keep(self, data: FitData, problem: Problem, machine: Machine) -> None:
        support, coefficients = self._coefficients(machine)
        bias = machine.bias + self._nudge(machine)
        self.intercept_ = np.array([bias])
        self.offset_ = np.array([-bias])
        self._keep_support(data, support, coefficients, np.array([0, support.size]))

    def decision_function(self, X: Any) -> Any:
        """Return the signed distance, up to ||w||, from the boundary; positive inside.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            sum_i alpha_i k(x, x_i) - rho.
        """
        check_is_fitted(self, "support_")
        return self._like(self._sums(X)[:, 0, 0] + self.intercept_[0], X)

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
        check_is_fitted(self, "support_")
        return self._bounds(X, self.machines_)[:, 0]


class SVDD(_KernelDetector):
    """The smallest ball in feature space that holds all but a share nu of the rows."""

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
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
        self.nu = nu
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

    def _problem(self, data: FitData, rows: Ids, weights: Vector) -> Problem:
        return svdd(data.rows.diagonal[rows], weights, float(self.nu))

    def _keep(self, data: FitData, problem: Problem, machine: Machine) -> None:
        """Read the ball: with T = nu n, center a = sum_i x_i phi(x_i) / T and R² from the bias."""
        self._total = float(problem.start.sum())
        support, coefficients = self._coefficients(machine)
        center_norm = machine.squared_norm / self._total**2
        bias = machine.bias + self._nudge(machine)
        self.radius_ = float(np.sqrt(max(0.0, 2.0 * bias / self._total + center_norm)))
        self.intercept_ = np.array([self.radius_**2 - center_norm])
        self.offset_ = np.array([-(self.radius_**2)])
        self._keep_support(
            data, support, coefficients / self._total, np.array([0, support.size])
        )

    def decision_function(self, X: Any) -> Any:
        """Return R² - ||phi(x) - a||²: positive inside the ball.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            R² - k(x, x) + 2 sum_i alpha_i k(x, x_i) - ||a||².
        """
        check_is_fitted(self, "support_")
        rows = self._prediction_rows(X)
        inside = 2.0 * self._expansion.sums(rows)[:, 0, 0] + self.intercept_[0]
        return self._like(inside - self._expansion.self_similarity(rows), X)

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
        check_is_fitted(self, "support_")
        return self._bounds(X, self.machines_)[:, 0] * (2.0 / self._total)
