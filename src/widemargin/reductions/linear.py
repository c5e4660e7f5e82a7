"""Running the linear machines of one fit on shared rows: one after the other, or two at a time."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, Self

from ..problem import LinearProblem
from ..solution import LinearSolution, Reporter, Status
from ..solvers.linear import LinearData, LinearOptions, solve_linear
from ..solvers.monitor import Limits, Monitor
from .jobs import Interrupted, SharedReport

__all__ = ["LinearJob", "run_linear_jobs"]


class SharedData(LinearData, Protocol):
    """Rows that several machines may use at the same time."""

    def on_threads(self, threads: int) -> Self:
        """Return the same rows, not copied, for a machine that uses so many threads."""
        ...


@dataclass(frozen=True)
class LinearJob:
    """A problem, the rows it is about, where to begin, and the numbers of the rows, if not all."""

    problem: LinearProblem
    data: SharedData
    start: Any = None
    numbers: Any = None


def run_linear_jobs(
    jobs: Iterable[LinearJob],
    limits: Limits,
    options: LinearOptions,
    reporter: Reporter | None = None,
    threads: int = 1,
) -> Iterator[LinearSolution]:
    """Yield the solution of each job, in order; limits of time hold for all of them together.

    Jobs are taken as they are needed, so that the targets of many classes never exist at once.
    With several threads each machine has one of them, which is the faster use of two cores; what a
    machine finds does not depend on it. A job alone gets all threads.

    Raises
    ------
    Interrupted
        If Ctrl-C left some job without a solution.
    """
    began, report, queue = time.perf_counter(), SharedReport(reporter), iter(jobs)
    first = list(islice(queue, 2))

    def run(job: LinearJob) -> LinearSolution:
        monitor = Monitor(limits, report, began)
        return solve_linear(job.data, job.problem, job.start, monitor, options)

    if len(first) < 2 or threads < 2:
        yield from _in_turn(_chained(first, queue), run)
        return

    def alone(job: LinearJob) -> LinearSolution:
        return run(replace(job, data=job.data.on_threads(1)))

    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[LinearSolution]] = deque()
        try:
            for job in _chained(first, queue):
                running.append(pool.submit(alone, job))
                if len(running) > threads:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        except KeyboardInterrupt:
            report.stopped = True
            for future in running:
                future.cancel()
            raise Interrupted from None


def _chained(first: list[LinearJob], rest: Iterator[LinearJob]) -> Iterator[LinearJob]:
    while first:
        yield first.pop(0)  # nothing keeps a job that has been solved
    yield from rest


def _in_turn(jobs: Iterator[LinearJob], run: Any) -> Iterator[LinearSolution]:
    for job in jobs:
        solution = run(job)
        yield solution
        if solution.status is Status.INTERRUPTED and next(jobs, None) is not None:
            raise Interrupted
