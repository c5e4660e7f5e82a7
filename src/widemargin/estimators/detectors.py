"""OneClassSVM and SVDD: what is unlike the training rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..problem import Problem, one_class, svdd
from ..reductions.machines import Machine
from .kernel_base import FitData
from .kernel_detector import KernelDetector

__all__ = ["SVDD", "OneClassSVM"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class OneClassSVM(KernelDetector):
    """The half-space in feature space that holds all but a share nu of the rows.

    The machine minimises ½||w||² - nu n rho + sum_i max(0, rho - w.phi(x_i)) and calls rows with
    w.phi(x) >= rho inliers. Rows on the boundary itself count as inside.

    Parameters
    ----------
    nu : float, default=0.5
        Share of training rows outside, in (0, 1]: an upper bound on them, and a lower bound on
        support vectors.
    kernel : str, Kernel or callable, default='rbf'
        'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'chi2', 'intersection', 'cosine';
        'precomputed' if X is a kernel matrix; a kernel object or a sum or product of some
        (`widemargin.kernels`); or a function of two sets of rows that returns their block.
    degree, gamma, coef0
        Of the named kernels, as in scikit-learn. `gamma='scale'` is 1 / (n_features X.var()), where
        the variance counts every row with its sample weight; 'auto' is 1 / n_features.
    shrinking : bool, default=True
        Whether rows that are unlikely to move may be set aside.
    cache_size : float, default=200
        Accepted and without effect: `memory_limit` bounds all memory.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in LIBSVM.
    verbose : bool, default=False
        Show a line of progress on standard error after the first second.
    max_iter : int, default=-1
        Largest number of inner steps of a machine; -1 sets no limit.
    n_jobs : int or None, default=None
        Threads; None takes every core that the process may use. The result never depends on it.
    max_time : float or None, default=None
        Seconds after which the fit stops with a warning that names the gap.
    memory_limit : int, str or None, default=None
        Bytes to allocate beyond the data, or a text such as "500MB"; None is half of what is free.
    gap_tol : float or None, default=None
        Stop as soon as the relative duality gap is at most this.
    precision : {'auto', 'float32', 'float64'}, default='auto'
        Of stored kernel values; 'auto' starts in float32 and turns to float64 where needed.
    warm_start : bool, default=False
        Start from the last solution if the number of rows is the same.
    solver : {'auto', 'smo', 'newton'}, default='auto'
        'auto': pair steps in blocks; once the variables between their bounds have settled, Newton
        steps on all of them (up to 4096) if pair steps are foreseen to take longer; Newton steps on
        blocks from the first one on that pair steps do not finish. 'smo' is the same; 'newton'
        takes Newton steps on every block. With a linear kernel,
        more than 256 rows and at most half as many entries in a row, 'auto' without a `max_iter`
        takes the solvers of `LinearOneClassSVM`, which are faster; attributes and certificate are
        the same.
    gram_columns : {'train', 'support'}, default='train'
        What the columns of a precomputed matrix are when predicting.
    callback : callable or None, default=None
        Called with a `Progress` after each outer iteration; returning True stops the fit.
    device : {'cpu', 'cuda'} or None, default=None
        Where to train and predict; None: on the GPU if X is an array there, else on the CPU.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn.
    fit_status_, n_iter_, shape_fit_, n_features_in_
        As in scikit-learn.
    kernel_ : Kernel or None
        The kernel with numbers for all parameters.
    offset_ : array of shape (1,)
        ``decision_function`` is ``score_samples`` minus this.
    primal_objective_, dual_objective_ : float
        Objectives, recomputed in float64; the optimum lies between them.
    duality_gap_ : float
        Their difference as a share of the larger.
    kkt_violation_ : float
        Largest violation of the optimality conditions.
    status_ : Status
        How the fit ended; the value is a sentence.
    history_ : tuple of Progress
        Time, objective, gap and active rows along the way.
    backend_ : str
        What ran: 'cpu' or 'cuda'.
    machines_ : list of Machine
        Each machine with its own certificate, slacks, free and bounded support vectors.

    References
    ----------
    scholkopf2001: B. Schoelkopf et al., Estimating the support of a high-dimensional distribution,
    Neural Computation 13, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import OneClassSVM
    >>> X = np.append(np.linspace(0, 1, 20), 5.0)[:, None]
    >>> OneClassSVM(nu=0.1, gamma=0.1).fit(X).predict([[0.5], [5.0]])
    array([ 1, -1])
    """

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
        device: str | None = None,
    ) -> None:
        self._store(locals())

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


class SVDD(KernelDetector):
    """The smallest ball in feature space that holds all but a share nu of the rows.

    The machine minimises R² + 1/(nu n) sum_i max(0, ||phi(x_i) - a||² - R²) over centre a and
    radius R. For kernels with constant k(x, x) it calls the same rows outliers as `OneClassSVM`;
    for others the ball is the better description.

    Parameters
    ----------
    nu : float, default=0.5
        Share of training rows outside, in (0, 1]; C = 1 / (nu n) in the notation of the reference.
    kernel : str, Kernel or callable, default='rbf'
        'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'chi2', 'intersection', 'cosine';
        'precomputed' if X is a kernel matrix; a kernel object or a sum or product of some
        (`widemargin.kernels`); or a function of two sets of rows that returns their block.
    degree, gamma, coef0
        Of the named kernels, as in scikit-learn. `gamma='scale'` is 1 / (n_features X.var()), where
        the variance counts every row with its sample weight; 'auto' is 1 / n_features.
    shrinking : bool, default=True
        Whether rows that are unlikely to move may be set aside.
    cache_size : float, default=200
        Accepted and without effect: `memory_limit` bounds all memory.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in LIBSVM.
    verbose : bool, default=False
        Show a line of progress on standard error after the first second.
    max_iter : int, default=-1
        Largest number of inner steps of a machine; -1 sets no limit.
    n_jobs : int or None, default=None
        Threads; None takes every core that the process may use. The result never depends on it.
    max_time : float or None, default=None
        Seconds after which the fit stops with a warning that names the gap.
    memory_limit : int, str or None, default=None
        Bytes to allocate beyond the data, or a text such as "500MB"; None is half of what is free.
    gap_tol : float or None, default=None
        Stop as soon as the relative duality gap is at most this.
    precision : {'auto', 'float32', 'float64'}, default='auto'
        Of stored kernel values; 'auto' starts in float32 and turns to float64 where needed.
    warm_start : bool, default=False
        Start from the last solution if the number of rows is the same.
    solver : {'auto', 'smo', 'newton'}, default='auto'
        'auto': pair steps in blocks; once the variables between their bounds have settled, Newton
        steps on all of them (up to 4096) if pair steps are foreseen to take longer; Newton steps on
        blocks from the first one on that pair steps do not finish. 'smo' is the same; 'newton'
        takes Newton steps on every block.
    gram_columns : {'train', 'support'}, default='train'
        What the columns of a precomputed matrix are when predicting.
    callback : callable or None, default=None
        Called with a `Progress` after each outer iteration; returning True stops the fit.
    device : {'cpu', 'cuda'} or None, default=None
        Where to train and predict; None: on the GPU if X is an array there, else on the CPU.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn.
    fit_status_, n_iter_, shape_fit_, n_features_in_
        As in scikit-learn.
    kernel_ : Kernel or None
        The kernel with numbers for all parameters.
    radius_ : float
        R.
    offset_ : array of shape (1,)
        -R²: ``score_samples`` is minus the squared distance from the centre.
    primal_objective_, dual_objective_ : float
        Objectives, recomputed in float64; the optimum lies between them.
    duality_gap_ : float
        Their difference as a share of the larger.
    kkt_violation_ : float
        Largest violation of the optimality conditions.
    status_ : Status
        How the fit ended; the value is a sentence.
    history_ : tuple of Progress
        Time, objective, gap and active rows along the way.
    backend_ : str
        What ran: 'cpu' or 'cuda'.
    machines_ : list of Machine
        Each machine with its own certificate, slacks, free and bounded support vectors.

    References
    ----------
    tax2004: D. Tax, R. Duin, Support vector data description, Machine Learning 54, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVDD
    >>> X = np.append(np.linspace(0, 1, 20), 5.0)[:, None]
    >>> SVDD(nu=0.5, kernel="linear").fit(X).predict([[0.5], [5.0]])
    array([ 1, -1])
    """

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
        device: str | None = None,
    ) -> None:
        self._store(locals())

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
        self._keep_support(data, support, coefficients / self._total, np.array([0, support.size]))

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
        inside = 2.0 * self._sums_of(rows)[:, 0, 0] + self.intercept_[0]
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
