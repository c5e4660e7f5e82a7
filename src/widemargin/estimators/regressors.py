"""SVR and NuSVR."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..problem import Problem, epsilon_svr, nu_svr
from ..reductions.jobs import Job
from ..reductions.machines import read_machine
from .kernel_base import KernelEstimator
from .validation import check_number, check_weights

__all__ = ["SVR", "NuSVR"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class _KernelRegressor(RegressorMixin, KernelEstimator):
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
        with self._whole_or_nothing():
            X, y, sample_weight = self._arrive(X, y, sample_weight)
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
    """Support vector regression with a tube of given width, certified by its duality gap.

    The machine minimises ½||w||² + C sum_i max(0, |y_i - f(x_i)| - epsilon).

    Parameters
    ----------
    C : float, default=1.0
        Cost of leaving the tube.
    epsilon : float, default=0.1
        Half-width of the tube in which errors cost nothing.
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
        takes the solvers of `LinearSVR`, which are faster; attributes and certificate are the same.
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
    vapnik1995: V. Vapnik, The Nature of Statistical Learning Theory, Springer, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(machine.predict(X) - np.sin(X[:, 0])).max() < 0.06)
    True
    """

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
        device: str | None = None,
    ) -> None:
        self._store(locals())

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("C", self.C, low=0, open_low=True)
        check_number("epsilon", self.epsilon, low=0)

    def _problem(self, targets: Vector, weights: Vector) -> Problem:
        return epsilon_svr(targets, float(self.C) * weights, float(self.epsilon))


class NuSVR(_KernelRegressor):
    """Support vector regression that learns the width of its tube from the share outside it.

    The machine minimises ½||w||² + C (nu n eps + sum_i max(0, |y_i - f(x_i)| - eps)) over eps too:
    at most a share nu of the rows lie outside the tube, at least a share nu are support vectors.

    Parameters
    ----------
    nu : float, default=0.5
        Share of rows outside the tube, in (0, 1].
    C : float, default=1.0
        Cost of leaving the tube.
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
    scholkopf2000: B. Schoelkopf, A. Smola, R. Williamson, P. Bartlett, New support vector
    algorithms, Neural Computation 12, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import NuSVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> machine = NuSVR(nu=0.2, C=10.0).fit(X, np.sin(X[:, 0]))
    >>> bool(machine.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

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
        device: str | None = None,
    ) -> None:
        self._store(locals())

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("C", self.C, low=0, open_low=True)
        check_number("nu", self.nu, low=0, high=1, open_low=True)

    def _problem(self, targets: Vector, weights: Vector) -> Problem:
        return nu_svr(targets, float(self.C) * weights, float(self.nu))
