"""Many machines that are small, each solved as one block, certified, and left alone.

What does not end within its steps, or misses its tolerance, is left to `solve_certified`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..problem import Problem
from ..solution import Certificate, Progress, Solution
from .certified import aim
from .monitor import Monitor
from .operations import Measure

__all__ = ["SmallData", "SmallMachine", "SmallOutcome", "solve_small"]

STEPS = 20_000
VALUES = 1 << 24  # kernel values computed in one crossing, between two looks at the keyboard


@dataclass(frozen=True)
class SmallMachine:
    """A problem, the rows of the data it is over, where to start, and how far to solve it."""

    problem: Problem
    segments: Sequence[Any]
    start: Any
    tolerance: float


@dataclass(frozen=True)
class SmallOutcome:
    """Where a machine began and ended."""

    first: Measure
    last: Measure
    x: Any
    outputs: Any
    certificate: Certificate
    iterations: int
    indefinite: bool


class SmallData(Protocol):
    """Rows and kernel on a backend that solves small machines."""

    def takes(self, problem: Problem) -> bool:
        """Say whether the problem is small enough, and of a kind, for `solve`."""
        ...

    def solve(self, machines: Sequence[SmallMachine], limit: int) -> Sequence[SmallOutcome]:
        """Solve each machine in at most `limit` steps."""
        ...


def solve_small(
    data: SmallData, tasks: Sequence[tuple[Problem, Sequence[Any], Any]], monitor: Monitor
) -> list[Solution | None]:
    """Return the solution of each task (problem, segments, start), or None."""
    machines = [
        SmallMachine(p, segments, start, 0.5 * aim(monitor.limits.tolerance, p, "float64"))
        for p, segments, start in tasks
    ]
    solutions: list[Solution | None] = []
    first, values, began = 0, 0, monitor.elapsed()
    for last, machine in enumerate(machines, 1):
        values += machine.problem.linear.size**2
        if values >= VALUES or last == len(machines):
            batch = data.solve(machines[first:last], STEPS)
            solutions += [
                _solution(m.problem, o, monitor, began)
                for m, o in zip(machines[first:last], batch, strict=True)
            ]
            first, values = last, 0
    return solutions


def _solution(
    problem: Problem, outcome: SmallOutcome, monitor: Monitor, began: float
) -> Solution | None:
    certificate = outcome.certificate
    status = monitor.reached(certificate.violation, certificate.relative_gap)
    if status is None:
        return None
    history = tuple(
        Progress(
            time=seconds,
            iterations=steps,
            dual_objective=at.dual_objective,
            gap=at.gap,
            violation=at.violation,
            active=problem.rows,
            rows=problem.rows,
        )
        for seconds, steps, at in (
            (began, 0, outcome.first),
            (monitor.elapsed(), outcome.iterations, outcome.last),
        )
    )
    return Solution(
        x=outcome.x,
        outputs=outcome.outputs,
        certificate=certificate,
        status=status,
        iterations=outcome.iterations,
        indefinite=outcome.indefinite,
        history=history,
    )
