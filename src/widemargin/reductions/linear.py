"""Running the linear machines of one fit one after the other, on shared rows."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..problem import LinearProblem
from ..solution import LinearSolution, Reporter, Status
from ..solvers.linear import LinearData, LinearOptions, solve_linear
from ..solvers.monitor import Limits, Monitor
from .jobs import Interrupted

__all__ = ["LinearJob", "run_linear_jobs"]


@dataclass(frozen=True)
class LinearJob:
    """A problem, the rows it is about, and where to begin."""

    problem: LinearProblem
    data: LinearData
    start: Any = None


def run_linear_jobs(
    jobs: Sequence[LinearJob],
    limits: Limits,
    options: LinearOptions,
    reporter: Reporter | None = None,
) -> list[LinearSolution]:
    """Return the solution of each job; limits of time hold for all of them together.

    Raises
    ------
    Interrupted
        If Ctrl-C left some job without a solution.
    """
    began = time.perf_counter()
    solutions: list[LinearSolution] = []
    for job in jobs:
        monitor = Monitor(limits, reporter, began)
        solutions.append(solve_linear(job.data, job.problem, job.start, monitor, options))
        if solutions[-1].status is Status.INTERRUPTED and len(solutions) < len(jobs):
            raise Interrupted
    return solutions
