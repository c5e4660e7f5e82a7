"""Running the machines of one fit: one after the other, or small ones side by side."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from ..solution import Progress, Reporter, Solution, Status
from ..solvers.certified import KernelData, Options, solve_certified
from ..solvers.in_weights import solve_in_weights
from ..solvers.monitor import Limits, Monitor

__all__ = ["Interrupted", "Job", "Schedule", "run_jobs"]

Ids = NDArray[np.int64]

SIDE_BY_SIDE = 2048  # machines with no more variables are solved one to a thread


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came before every machine had a solution."""


@dataclass(frozen=True)
class Job:
    """A problem over rows of the data, given as segments whose kernel columns may be shared."""

    problem: Problem
    segments: Sequence[Ids]
    start: NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """How to run jobs: limits, options, threads, and who hears of progress."""

    limits: Limits
    options: Options
    threads: int
    reporter: Reporter | None = None


def run_jobs(data: KernelData, jobs: Sequence[Job], schedule: Schedule) -> list[Solution]:
    """Return the solution of each job; limits of time hold for all of them together.

    Raises
    ------
    Interrupted
        If Ctrl-C left some job without a solution.
    """
    began = time.perf_counter()
    small = all(job.problem.linear.size <= SIDE_BY_SIDE for job in jobs)
    if small and len(jobs) > 1 and schedule.threads > 1:
        return _side_by_side(data, jobs, schedule, began)
    solutions = []
    for job in jobs:
        solutions.append(_run(data, job, schedule, schedule.reporter, began))
        interrupted = solutions[-1].status is Status.INTERRUPTED
        if interrupted and len(solutions) < len(jobs):
            raise Interrupted
    return solutions


def _run(
    data: KernelData, job: Job, schedule: Schedule, reporter: Reporter | None, began: float
) -> Solution:
    monitor, segments = Monitor(schedule.limits, reporter, began), list(job.segments)
    weights = data.in_weights(job.problem, segments) if schedule.options.weights else None
    if weights is None:
        return solve_certified(data, job.problem, segments, job.start, monitor, schedule.options)
    solution = solve_in_weights(weights, job.start, monitor)
    if solution.status is not Status.STALLED:
        return solution
    return solve_certified(data, job.problem, segments, solution.x, monitor, schedule.options)


def _side_by_side(
    data: Any, jobs: Sequence[Job], schedule: Schedule, began: float
) -> list[Solution]:
    """Give each job to one thread; the interpreter lock is released in the core."""
    stop = threading.Event()
    one_at_a_time = threading.Lock()

    def report(progress: Progress) -> bool:
        if schedule.reporter is not None:
            with one_at_a_time:
                if schedule.reporter(progress) is True:
                    stop.set()
        return stop.is_set()

    alone = data.on_threads(1)
    with ThreadPoolExecutor(schedule.threads) as pool:
        futures = [pool.submit(_run, alone, job, schedule, report, began) for job in jobs]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop.set()
            for future in futures:
                future.cancel()
            raise Interrupted from None
