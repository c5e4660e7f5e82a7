"""Running the machines of one fit: one after the other, or small ones side by side."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from ..solution import Progress, Reporter, Solution, Status
from ..solvers.certified import KernelData, Options, solve_certified
from ..solvers.in_weights import solve_in_weights
from ..solvers.monitor import Limits, Monitor
from ..solvers.small import solve_small

__all__ = ["Interrupted", "Job", "Schedule", "SharedReport", "run_jobs"]

Ids = NDArray[np.int64]

LITTLE = 1 << 20  # kernel values of all machines, which are there before a thread has started
LOOK = 0.05  # seconds between two looks for Ctrl-C


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
    """How to run jobs: limits, options, who hears of progress, and when the fit began."""

    limits: Limits
    options: Options
    reporter: Reporter | None = None
    began: float = field(default_factory=time.perf_counter)


def run_jobs(data: KernelData, jobs: Sequence[Job], schedule: Schedule) -> list[Solution]:
    """Return the solution of each job; limits of time hold for all of them together.

    Raises
    ------
    Interrupted
        If Ctrl-C left some job without a solution.
    """
    began, report = schedule.began, SharedReport(schedule.reporter)
    little = sum(job.problem.linear.size**2 for job in jobs) < LITTLE
    if little:
        data = data.on_threads(1)
    found = _in_one_go(data, jobs, schedule)
    side = [j for j in jobs if id(j) not in found and j.problem.linear.size <= data.side_by_side]
    if little or data.at_once == 1 or len(side) == 1:
        side = []
    found |= zip(map(id, side), _side_by_side(data, side, schedule, report, began), strict=True)
    for job in jobs:
        if id(job) in found:
            continue
        found[id(job)] = solution = _run(data, job, schedule, report, began)
        if solution.status is Status.INTERRUPTED and len(found) < len(jobs):
            raise Interrupted
    return [found[id(job)] for job in jobs]


def _in_one_go(data: KernelData, jobs: Sequence[Job], schedule: Schedule) -> dict[int, Solution]:
    """Solve small machines together, unless somebody wants to see or stop them on the way."""
    limits, small = schedule.limits, data.small
    watched = schedule.reporter is not None or limits.iterations >= 0 or limits.seconds is not None
    if small is None or watched or schedule.options.exact:
        return {}
    taken = [job for job in jobs if small.takes(job.problem)]
    tasks = [(job.problem, job.segments, job.start) for job in taken]
    solutions = solve_small(small, tasks, Monitor(limits, began=schedule.began))
    return {id(j): s for j, s in zip(taken, solutions, strict=True) if s is not None}


def _run(
    data: KernelData, job: Job, schedule: Schedule, report: "SharedReport", began: float
) -> Solution:
    monitor = Monitor(schedule.limits, report, began, cancelled=report.cancelled)
    with data.working():
        return _solve(data, job, schedule, monitor)


def _solve(data: KernelData, job: Job, schedule: Schedule, monitor: Monitor) -> Solution:
    segments = list(job.segments)
    weights = data.in_weights(job.problem, segments) if schedule.options.weights else None
    if weights is None:
        return solve_certified(data, job.problem, segments, job.start, monitor, schedule.options)
    solution = solve_in_weights(weights, job.start, monitor)
    if solution.status is not Status.STALLED:
        return solution
    # Its point is too good for rough kernel values: what it lacks is in the last digits.
    options = replace(schedule.options, precise=True)
    other = solve_certified(data, job.problem, segments, solution.x, monitor, options)
    return other if other.certificate.gap <= solution.certificate.gap else solution


class SharedReport:
    """Tells the user's function of progress, one thread at a time; once it said stop, all stop."""

    def __init__(self, reporter: Reporter | None) -> None:
        self.reporter, self.stopped, self.interrupted = reporter, False, False
        self._one_at_a_time = threading.Lock()

    def __call__(self, progress: Progress) -> bool:
        """Tell of progress; return whether to stop."""
        if self.reporter is not None:
            with self._one_at_a_time:
                self.stopped = self.stopped or self.reporter(progress) is True
        return self.stopped

    def cancelled(self) -> bool:
        """Say whether to stop; after Ctrl-C, which only one thread hears, raise it in the others.

        Their points are not asked for any more, so nothing is to be computed about them.
        """
        if self.interrupted:
            raise KeyboardInterrupt
        return self.stopped


def _side_by_side(
    data: KernelData, jobs: Sequence[Job], schedule: Schedule, report: SharedReport, began: float
) -> list[Solution]:
    """Give each job to one thread; the interpreter lock is released in the core."""
    if not jobs:
        return []
    alone = data.on_threads(1)
    with ThreadPoolExecutor(data.at_once) as pool:
        try:
            futures = [pool.submit(_run, alone, job, schedule, report, began) for job in jobs]
            for future in futures:
                while not future.done():  # a wait without end would not hear every Ctrl-C
                    wait([future], LOOK)
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            report.interrupted = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise Interrupted from None
