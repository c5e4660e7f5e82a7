"""SVC and NuSVC."""

from collections.abc import Sequence
from dataclasses import replace
from math import isinf
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.cpu import thread_count
from ..kernels import Linear
from ..problem import Problem, c_svc, hulls, nu_svc
from ..reductions.jobs import Job
from ..reductions.machines import Machine, read_machine, read_nu_svc, require_separated
from ..solution import Solution, Status
from .hard_kernel import needs_weights, solve_hard
from .kernel_base import FitData
from .kernel_classifier import KernelClassifier
from .progress import ProgressLine
from .validation import check_number

__all__ = ["SVC", "NuSVC"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

GAP_OF_VIOLATION = 4.0


class SVC(KernelClassifier):
    """Soft-margin support vector classifier with any kernel, certified by its duality gap.

    The machine minimises ½||w||² + C sum_i max(0, 1 - y_i f(x_i)) over f(x) = w.phi(x) + b, through
    its dual: a quadratic program in one variable for each row. Prefer it up to some hundred
    thousand rows; time grows with rows x support vectors x features.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin error. ``float("inf")`` allows none, the hard margin: where a class cannot
        be separated from another, a `NotSeparableError` has the rows and weights whose means
        coincide. Objectives and gap are then those of the equivalent problem of the shortest way
        between the hulls.
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
    class_weight : dict, 'balanced' or None, default=None
        Weight of each class; it multiplies `sample_weight`.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of `decision_function` for machines trained one against one.
    break_ties : bool, default=False
        Predict the class of largest `decision_function` among those with equal votes.
    random_state : object, default=None
        Accepted; nothing here is random.
    probability : bool, default='deprecated'
        Calibrate at the end of the fit, for about the time of the fit. The most probable class is
        always the predicted one.
    multi_class : {'ovo', 'ovr', 'joint'}, default='ovo'
        How many classes are learnt: a machine for each pair; one for each class against the rest;
        or all at once (Crammer and Singer). The last two predict the largest decision.
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
        takes Newton steps on every block. With a linear kernel, more than 256 rows and at most half
        as many entries in a row, 'auto' without a `max_iter` takes the solvers of `LinearSVC`,
        which are faster; for a hard margin it does so where X is small, or its columns differ in
        size or lie far from zero, after a linear program that `max_time` cannot stop. Attributes
        and certificate are the same.
    gram_columns : {'train', 'support'}, default='train'
        What the columns of a precomputed matrix are when predicting.
    callback : callable or None, default=None
        Called with a `Progress` after each outer iteration; returning True stops the fit.
    device : {'cpu', 'cuda'} or None, default=None
        Where to train and predict; None: on the GPU if X is an array there, else on the CPU.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn. Trained one against the rest or jointly, `dual_coef_` has a row for each
        class.
    classes_, class_weight_, fit_status_, n_iter_, shape_fit_, n_features_in_
        As in scikit-learn.
    kernel_ : Kernel or None
        The kernel with numbers for all parameters.
    primal_objective_, dual_objective_ : float
        Objectives, recomputed in float64; the optimum lies between them.
    duality_gap_ : float
        Their difference as a share of the larger.
    kkt_violation_ : float
        Largest violation of the optimality conditions.
    margin_width_ : float or array
        2 / ||w||; with more than two classes one for each machine. See also ``margin(X, y)``.
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
    cortes1995: C. Cortes, V. Vapnik, Support-vector networks, Machine Learning 20, 1995.
    crammer2001: K. Crammer, Y. Singer, On the algorithmic implementation of multiclass kernel-based
    vector machines, JMLR 2, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = SVC(C=10.0).fit(X, y)
    >>> machine.score(X, y)
    0.9866666666666667
    >>> machine.duality_gap_ < 1e-6
    True
    >>> machine.status_.value
    'converged: no violation of the optimality conditions exceeds tol'
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
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
        if not self._is_hard():
            check_number("C", self.C, low=0, open_low=True)
        elif self.multi_class == "joint":
            raise ValueError("multi_class='joint' needs a finite C; use 'ovo' or 'ovr' for C=inf")

    def _is_hard(self) -> bool:
        return isinstance(self.C, Real) and float(self.C) > 0 and isinf(self.C)

    def _problem(self, signs: Vector, weights: Vector) -> Problem:
        if self._is_hard():
            return hulls(signs, self._largest)
        return c_svc(signs, float(self.C) * weights)

    def _fit_pairs(self, data: FitData, labels: Ids, costs: Vector) -> None:
        self._largest = float(np.max(data.rows.diagonal))
        super()._fit_pairs(data, labels, costs)
        del self._largest

    def _solve(self, data: FitData, jobs: Sequence[Job]) -> list[Solution]:
        linear = type(data.kernel) is Linear and self.solver == "auto" and self.max_iter < 0
        if not self._is_hard():
            return super()._solve(data, jobs)
        if not (linear and needs_weights(data.X)):
            return [self._doubted(solution) for solution in super()._solve(data, jobs)]
        line = ProgressLine(self.tol) if self.verbose else None
        try:
            return solve_hard(data.X, jobs, self._schedule(data, line), thread_count(self.n_jobs))
        finally:
            if line is not None:
                line.close()

    def _doubted(self, solution: Solution) -> Solution:
        """Return a hard margin, not converged if rounding hides a gap that violations cannot make.

        In units of rho, as violations are, the gap is at most their double and rho² the objective.
        """
        doubtful = solution.certificate.relative_gap > GAP_OF_VIOLATION * self.tol
        if solution.status is Status.CONVERGED and doubtful:
            return replace(solution, status=Status.STALLED)
        return solution

    def _read(
        self, problem: Problem, solution: Solution, rows: Ids, classes: tuple[int, int]
    ) -> Machine:
        if self._is_hard():
            names = [self.classes_[c] if c >= 0 else "the rest" for c in classes]
            require_separated(problem, solution, rows, names)
            return read_nu_svc(problem, solution, rows, classes)
        return read_machine(problem, solution, rows, classes)


class NuSVC(KernelClassifier):
    """Support vector classifier that is told the share of margin errors instead of their cost.

    The machine minimises ½||w||² - nu rho + (1/n) sum_i max(0, rho - y_i f(x_i)): at most a share
    nu of the rows are margin errors, at least a share nu are support vectors. It equals `SVC` for
    some C. Decisions are divided by rho, as LIBSVM does, and `tol` is meant on their scale.

    Parameters
    ----------
    nu : float, default=0.5
        Share of margin errors, in (0, 1]. If the lighter class has less than nu / 2 of all weight,
        the largest possible nu is taken, with a warning.
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
    class_weight : dict, 'balanced' or None, default=None
        Weight of each class; it multiplies `sample_weight`.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of `decision_function` for machines trained one against one.
    break_ties : bool, default=False
        Predict the class of largest `decision_function` among those with equal votes.
    random_state : object, default=None
        Accepted; nothing here is random.
    probability : bool, default='deprecated'
        Calibrate at the end of the fit, for about the time of the fit. The most probable class is
        always the predicted one.
    multi_class : {'ovo', 'ovr', 'joint'}, default='ovo'
        How many classes are learnt: a machine for each pair; one for each class against the rest;
        or all at once (Crammer and Singer). The last two predict the largest decision.
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
        As in scikit-learn. Trained one against the rest or jointly, `dual_coef_` has a row for each
        class.
    classes_, class_weight_, fit_status_, n_iter_, shape_fit_, n_features_in_
        As in scikit-learn.
    kernel_ : Kernel or None
        The kernel with numbers for all parameters.
    primal_objective_, dual_objective_ : float
        Objectives, recomputed in float64; the optimum lies between them.
    duality_gap_ : float
        Their difference as a share of the larger.
    kkt_violation_ : float
        Largest violation of the optimality conditions.
    margin_width_ : float or array
        2 / ||w||; with more than two classes one for each machine. See also ``margin(X, y)``.
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
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> NuSVC(nu=0.1).fit(X, y).score(X, y) > 0.97
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
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
        check_number("nu", self.nu, low=0, high=1, open_low=True)
        if self.multi_class == "joint":
            raise ValueError("multi_class='joint' has no nu; use SVC, or 'ovo' or 'ovr'")

    def _problem(self, signs: Vector, weights: Vector) -> Problem:
        return nu_svc(signs, weights, float(self.nu))

    def _read(
        self, problem: Problem, solution: Solution, rows: Ids, classes: tuple[int, int]
    ) -> Machine:
        return read_nu_svc(problem, solution, rows, classes)
