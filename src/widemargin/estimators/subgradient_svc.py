"""SubgradientSVC."""

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..backends.choice import is_on_gpu
from ..losses import Hinge, Loss
from ..reductions.jobs import Interrupted
from ..reductions.linear import LinearJob
from ..solution import LinearSolution, Status
from ..solvers.monitor import Monitor
from ..solvers.subgradient import SubgradientOptions, solve_subgradient
from .linear_classifier import LinearClassifier
from .progress import ProgressLine
from .validation import ON_GPU, check_choice, check_flag, check_number

__all__ = ["SubgradientSVC"]


class SubgradientSVC(LinearClassifier):
    """Soft-margin classifier by batch subgradient descent with a line search, and a certificate.

    Prefer it to see the method of the textbooks at work; `LinearSVC` finds the optimum faster and
    at any scale, `Pegasos` a good point on very many rows. It descends on ::

        F(w, b) = ½||w||² + C sum_i weight_i max(0, 1 − y_i (w.x_i + b)),   y_i = ±1

    Each step shrinks w and adds the margin errors, those rows with y_i (w.x_i + b) < 1; its length
    r begins at ½ and is halved while F would rise. A free intercept takes its best value where the
    descent would rest or end.

    Parameters
    ----------
    C : float, default=1.0
        Price of the losses.
    lam : float, default=None
        If given, takes the place of C: lam/2 ||w||² + mean loss, which is C = 1 / (lam n).
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    penalize_intercept : bool, default=False
        Whether b counts as one more weight in ½||w||².
    multi_class : {"ovr", "ovo"}, default="ovr"
        Each class against the rest, or each pair of classes.
    class_weight : dict or "balanced", default=None
        Weight of each class.
    line_search : {"halving", "armijo"}, default="halving"
        Whether F must not rise, or must fall by 1e-4 r ||g||² with g the subgradient.
    tol : float, default=1e-3
        The fit ends when F falls by less in a step (and a free intercept has its best value).
    gap_tol : float, default=1e-4
        The fit ends when (primal − dual) / primal objective is at most this.
    max_iter : int, default=1000
        Largest number of steps; -1 for no limit.
    max_time : float, default=None
        Largest time in seconds.
    n_jobs : int, default=None
        Threads; None for all usable cores. The result does not depend on it.
    warm_start : bool, default=False
        Whether to begin from the last fit.
    trace : bool, default=False
        Whether ``trace_`` keeps the weights of every step.
    verbose : bool, default=False
        Whether to show a line of progress.
    callback : callable, default=None
        Called with a ``Progress`` before each step, whose ``active`` is the number of margin
        errors; returning True stops the fit.

    Attributes
    ----------
    coef_, intercept_, classes_, class_weight_
        As for `LinearSVC`.
    trace_ : list of dict
        For each machine, ``"objective"`` and ``"errors"``: F and the number of margin errors before
        each step and at the end; ``"step"``: the lengths r; with ``trace=True`` also ``"coef"`` and
        ``"intercept"``.
    primal_objective_, dual_objective_, duality_gap_, kkt_violation_, status_, n_iter_, history_
        As for `LinearSVC`. The descent may rest above the optimum, as F has kinks: the gap tells.

    Notes
    -----
    Cost: two passes a step, however often r is halved, and about four for each
    look at the gap, for which dual variables ascend beside the descent.

    References
    ----------
    shor1985: N. Shor, Minimization methods for non-differentiable functions, 1985.
    armijo1966: L. Armijo, Minimization of functions having Lipschitz continuous first partial
    derivatives, Pacific J. Math. 16, 1966.

    Examples
    --------
    >>> from widemargin import SubgradientSVC
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [0, 0, 1, 1]
    >>> model = SubgradientSVC(C=10.0).fit(X, y)
    >>> model.predict([[0.5, 0.5], [2.5, 2.5]])
    array([0, 1])
    >>> F = model.trace_[0]["objective"]
    >>> bool((F[1:] <= F[:-1]).all())
    True
    """

    penalty, l1_ratio, intercept_scaling = "l2", 0.0, 1.0  # no parameters here

    def __init__(
        self,
        *,
        C: float = 1.0,
        lam: float | None = None,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        multi_class: str = "ovr",
        class_weight: Any = None,
        line_search: str = "halving",
        tol: float = 1e-3,
        gap_tol: float = 1e-4,
        max_iter: int = 1000,
        max_time: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        trace: bool = False,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.line_search = line_search
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.trace = trace
        self.verbose = verbose
        self.callback = callback

    solver = "auto"  # of the base

    def _arrive(self, *arrays: Any) -> list[Any]:
        if is_on_gpu(arrays[0]):
            raise ValueError(ON_GPU.format(type(self).__name__))
        return super()._arrive(*arrays)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("tol", self.tol, low=0, open_low=True)
        check_choice("multi_class", self.multi_class, ("ovr", "ovo"))
        check_choice("line_search", self.line_search, ("halving", "armijo"))
        for name in ("fit_intercept", "penalize_intercept", "trace"):
            check_flag(name, getattr(self, name))

    def _loss(self) -> Loss:
        return Hinge()

    def _solve(self, jobs: Iterable[LinearJob]) -> Iterator[LinearSolution]:
        jobs = list(jobs)
        line = ProgressLine() if self.verbose else None
        reporter, began = self._reporter(line), time.perf_counter()
        solutions: list[LinearSolution] = []
        self.trace_: list[dict[str, Any]] = []
        try:
            for job in jobs:
                solutions.append(self._descend(job, Monitor(self._limits(), reporter, began)))
                if solutions[-1].status is Status.INTERRUPTED and len(solutions) < len(jobs):
                    raise Interrupted
        finally:
            if line is not None:
                line.close()
        return iter(solutions)

    def _limits(self) -> Any:
        """Return the limits; tol is not one of violation here."""
        limits = super()._limits()
        return type(limits)(0.0, limits.gap, limits.iterations, limits.seconds)

    def _descend(self, job: LinearJob, monitor: Monitor) -> LinearSolution:
        data: Any = job.data
        machine = data.subgradient(job.problem, job.start, keep_weights=bool(self.trace))
        options = SubgradientOptions(float(self.tol), armijo=self.line_search == "armijo")
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                solution = solve_subgradient(data, machine, job.problem, monitor, options)
            except FloatingPointError as overflow:
                raise ValueError(str(overflow)) from None
        self.trace_.append({name: np.array(values) for name, values in machine.trace.items()})
        return solution
