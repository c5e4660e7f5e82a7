"""Linear machines: solve, certify, and go on until the certificate holds.

What is reported is recomputed from
coefficients and dual variables alone; where the certificate misses what was asked for by a little,
the fit goes on with a smaller aim.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..problem import LinearProblem
from ..solution import Certificate, LinearSolution, Status
from .linear_operations import NewtonOperations
from .monitor import Limits, Monitor
from .smoothed_newton import smoothed_newton

__all__ = ["LinearData", "LinearOptions", "solve_linear"]

AIM = 0.9  # share of the tolerances to work to
FURTHER = 0.2
CORRECTIONS = 4
SMALL_ROWS = 256  # so few rows are solved to rounding: it costs nothing and forgives no tolerance
SMALL_GAP = 1e-13
ROUNDING = 1e-12


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


class OutOfTime(Exception):
    """The time limit was passed in the middle of an operation."""


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
        monitor.limits = _aim(asked, share, problem)
        machine = data.newton(problem, point)
        status = _run(machine, monitor, coarse=point is None)
        monitor.limits = asked
        point, certificate = data.certify(problem, machine.point)
        reached = monitor.reached(certificate.violation, certificate.relative_gap)
        if certificate.gap <= ROUNDING * machine.magnitude:
            reached = reached or Status.GAP_REACHED  # an optimum of zero has no relative gap
        if reached or not status.converged:
            break
    return data.solution(point, certificate, reached or _unreached(status), monitor)


def _aim(limits: Limits, share: float, problem: LinearProblem) -> Limits:
    """Return the limits to work to, so that the certificate will meet those asked for."""
    if problem.costs.size <= SMALL_ROWS:
        return replace(limits, tolerance=0.0, gap=SMALL_GAP)
    gap = None if limits.gap is None else share * limits.gap
    return replace(limits, tolerance=share * limits.tolerance, gap=gap)


def _unreached(status: Status) -> Status:
    return Status.STALLED if status.converged else status


def _run(machine: NewtonOperations, monitor: Monitor, *, coarse: bool) -> Status:
    """Run the solver; a limit or Ctrl-C leaves the machine at the last point that was reached."""

    def pause() -> None:
        if monitor.out_of_budget() is Status.TIME_LIMIT:
            raise OutOfTime

    machine.pause = pause
    try:
        return smoothed_newton(machine, monitor, coarse=coarse)
    except OutOfTime:
        return Status.TIME_LIMIT
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    finally:
        machine.pause = _nothing


def _nothing() -> None:
    """Do nothing between parts."""
