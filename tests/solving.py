"""One call from data to certified solution, and the naive truth to judge it by."""

from typing import Any

import numpy as np
from cases import Array, Data, ProblemCase, exact_kernel

from widemargin.backends.cpu import CpuKernelData
from widemargin.problem import Problem
from widemargin.solution import Reporter, Solution
from widemargin.solvers.certified import Options, solve_certified
from widemargin.solvers.monitor import Limits, Monitor

BUDGET = 1 << 28
EPSILON = np.finfo(np.float64).eps


def open_data(
    data: Data, *, threads: int = 1, budget: int = BUDGET, precision: str = "auto"
) -> CpuKernelData:
    return CpuKernelData(data.X, data.kernel, threads=threads, budget=budget, precision=precision)


def solve(
    data: Data | CpuKernelData,
    problem: Problem,
    *,
    tolerance: float = 1e-8,
    gap: float | None = None,
    iterations: int = -1,
    seconds: float | None = 60.0,
    reporter: Reporter | None = None,
    segments: list[Array] | None = None,
    start: Array | None = None,
    shrinking: bool = True,
    exact: bool = False,
    **opening: Any,
) -> Solution:
    """Return the certified solution; a fit that does not end is stopped after a minute."""
    opened = open_data(data, **opening) if isinstance(data, Data) else data
    monitor = Monitor(Limits(tolerance, gap, iterations, seconds), reporter)
    return solve_certified(
        opened,
        problem,
        [np.arange(problem.rows)] if segments is None else segments,
        problem.start if start is None else start,
        monitor,
        Options(shrinking=shrinking, exact=exact),
    )


class Truth:
    """Objectives and gap of a point by the naive formulas, in extended precision."""

    def __init__(self, case: ProblemCase, data: Data) -> None:
        self.case, self.data = case, data
        self.problem = case.state(data.task)
        self.K = exact_kernel(data.kernel, data.X)

    def primal(self, x: Array, multipliers: Any) -> Any:
        exact = np.asarray(multipliers, dtype=np.longdouble)
        return self.case.primal(self.data.task, self.K, x.astype(np.longdouble), exact)

    def dual(self, x: Array) -> Any:
        return self.case.dual(self.data.task, self.K, x.astype(np.longdouble), None)

    def outputs(self, x: Array) -> Array:
        """Return K x."""
        return self.K @ self.problem.coefficients(x)

    def output_rounding(self, x: Array) -> Array:
        """What float64 may make of each output."""
        return np.float64(32 * EPSILON * (abs(self.K) @ abs(self.problem.coefficients(x))))

    def rounding(self, x: Array, multipliers: Any = 0.0) -> float:
        """What float64 may make of the sums behind the objectives."""
        p = self.problem
        terms = abs(p.linear) + np.abs(multipliers).sum()
        outputs = np.tile(self.output_rounding(x), p.sides)
        return float((p.upper - p.lower + abs(x)) @ (outputs + 32 * EPSILON * terms))

    def gradient(self, x: Array) -> Array:
        return np.tile(self.outputs(x), self.problem.sides) + self.problem.linear

    def violation(self, x: Array) -> float:
        """Return how far some gradient that may fall lies above one of its group that may rise."""
        p, gradient, worst = self.problem, self.gradient(x), 0.0
        for g in range(p.groups):
            falling = gradient[(p.group == g) & (x > p.lower)]
            rising = gradient[(p.group == g) & (x < p.upper)]
            if falling.size and rising.size:
                worst = max(worst, float(falling.max() - rising.min()))
        return worst
