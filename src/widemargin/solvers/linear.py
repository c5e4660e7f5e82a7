"""Linear machines: choose a solver, solve, certify, and go on until the certificate holds.

The rule of ``"auto"`` is in `choose`. Whatever solver runs, what is reported is recomputed from
coefficients and dual variables alone; where the certificate misses what was asked for by a little,
the fit goes on with a smaller aim.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..problem import LinearProblem
from ..solution import Certificate, LinearSolution, Status
from .monitor import Limits, Monitor
from .smoothed_newton import smoothed_newton

__all__ = ["LinearData", "LinearOptions", "solve_linear"]

AIM = 0.9  # share of the tolerances to work to
FURTHER = 0.2
CORRECTIONS = 4


class LinearData(Protocol):
    """Rows of a linear machine on some backend."""

    def newton(self, problem: LinearProblem, point: Any) -> Any:
        """Return the state of a machine for Newton steps: ``NewtonOperations``."""
        ...

    def certify(self, problem: LinearProblem, point: Any) -> tuple[Any, Certificate]:
        """Return the point, its dual variables made feasible, and its certificate."""
        ...


@dataclass(frozen=True)
class LinearOptions:
    """Settings of one solver run that are not limits."""

    solver: str = "auto"


class OutOfBudget(Exception):
    """A limit was passed in the middle of an operation."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


def solve_linear(
    data: LinearData, problem: LinearProblem, start: Any, monitor: Monitor, options: LinearOptions
) -> LinearSolution:
    """Return the certified solution of one linear machine.

    Parameters
    ----------
    data : LinearData
        Rows.
    problem : LinearProblem
        Loss, targets, costs and penalties.
    start : point of the backend, or None
        Where to begin.
    monitor : Monitor
        Limits, history and reports.
    options : LinearOptions
        Settings.
    """
    asked, point = monitor.limits, start
    for correction in range(CORRECTIONS):
        share = AIM * FURTHER**correction
        monitor.limits = _scaled(asked, share)
        status, point = _run(data, problem, point, monitor)
        monitor.limits = asked
        point, certificate = data.certify(problem, point)
        reached = monitor.reached(certificate.violation, certificate.relative_gap)
        if reached or not status.converged:
            break
    return data.solution(point, certificate, reached or _unreached(status), monitor)


def _scaled(limits: Limits, share: float) -> Limits:
    gap = None if limits.gap is None else share * limits.gap
    return replace(limits, tolerance=share * limits.tolerance, gap=gap)


def _unreached(status: Status) -> Status:
    return Status.STALLED if status.converged else status


def _run(
    data: LinearData, problem: LinearProblem, point: Any, monitor: Monitor
) -> tuple[Status, Any]:
    """Run the solver from a point; a limit or Ctrl-C leaves the last point that was reached."""

    def pause() -> None:
        if status := monitor.out_of_budget():
            if status is Status.TIME_LIMIT:
                raise OutOfBudget(status)

    machine = data.newton(problem, point)
    machine.pause = pause
    try:
        status = smoothed_newton(machine, monitor, coarse=point is None)
    except OutOfBudget as stop:
        status = stop.status
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    machine.pause = _nothing
    return status, machine.point


def _nothing() -> None:
    """Do nothing between parts."""
