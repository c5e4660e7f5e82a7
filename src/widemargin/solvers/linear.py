"""Linear machines: choose a solver, solve, certify, and go on until the certificate holds.

What is reported is recomputed from coefficients and dual variables alone; where the certificate
misses what was asked for by a little, the fit goes on with a smaller aim.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from ..problem import LinearProblem
from ..solution import Certificate, LinearSolution, Status
from .dual_descent import dual_descent
from .linear_interior import linear_interior
from .linear_operations import (
    ColumnOperations,
    DescentOperations,
    InteriorOperations,
    NewtonOperations,
)
from .monitor import Limits, Monitor
from .smoothed_newton import smoothed_newton
from .working_columns import working_columns

__all__ = ["LinearData", "LinearOptions", "choose", "solve_linear"]

AIM = 0.9  # share of the tolerances to work to
FURTHER = 0.2
SMALL_ROWS = 256  # so few rows are solved to rounding: it costs nothing and forgives no tolerance
FEW_FEATURES = 1500  # so many make the matrix of a Newton step cheap
SMALL_COST = 1.0
ROWS_FOR_NEWTON = 3000
SMALL_GAP = 1e-13
ROUNDING = 1e-12


class LinearData(Protocol):
    """Rows of a linear machine on some backend; `pause` is called between parts of its work."""

    pause: Callable[[], None]
    features: int
    descends: bool  # whether dual coordinate descent is worth a try

    def newton(self, problem: LinearProblem, point: Any) -> NewtonOperations:
        """Return the state of a machine for Newton steps."""
        ...

    def descent(self, problem: LinearProblem, point: Any) -> DescentOperations:
        """Return the state of a machine for dual coordinate descent."""
        ...

    def columns(self, problem: LinearProblem, point: Any) -> ColumnOperations:
        """Return the state of a machine of which only some columns are worked on."""
        ...

    def can_finish(self, problem: LinearProblem) -> bool:
        """Return whether interior-point steps are possible and affordable."""
        ...

    def interior(self, problem: LinearProblem, point: Any) -> InteriorOperations:
        """Return the state of a machine for interior-point steps."""
        ...

    def reach(self, problem: LinearProblem) -> float:
        """Return the mean cost of the rows times their mean squared norm."""
        ...

    def magnitude(self, problem: LinearProblem) -> float:
        """Return the size of the sums that an objective of zero would be the difference of."""
        ...

    def solution(
        self, point: Any, certificate: Certificate, status: Status, monitor: Monitor
    ) -> LinearSolution:
        """Return the solution that a certified point is."""
        ...

    def certify(self, problem: LinearProblem, point: Any) -> tuple[Any, Certificate]:
        """Return the point, its dual variables made feasible, and its certificate."""
        ...


@dataclass(frozen=True)
class LinearOptions:
    """Settings of one solver run that are not limits."""

    solver: str = "auto"


def choose(data: LinearData, problem: LinearProblem, options: LinearOptions) -> str:
    """Return the solver to begin with.

    1. With an l1 penalty and more than `FEW_FEATURES` features working sets of columns ("columns"),
       unless Newton's method was asked for. The problem of the columns at work has fewer.
    2. With an l1 penalty and a kinked loss on at most `FEW_FEATURES` features interior-point steps
       ("interior"), unless there are more than `ROWS_FOR_NEWTON` rows for each feature: rounding
       off both kinds of kinks takes many times as many steps.
    3. With any other l1 penalty, or none at all, Newton's method: descent needs a squared one.
    4. The solver that was asked for; Newton's method where descent is not worth a try.
    5. With more than `FEW_FEATURES` features dual coordinate descent ("dual"), which Newton's
       method finishes if it stays slow.
    6. Also where mean cost times mean ||x||² is at most `SMALL_COST` l2, for then a few epochs
       suffice, unless there are more than `ROWS_FOR_NEWTON` rows for each feature.
    7. Otherwise Newton's method.
    """
    if problem.l1 > 0 and data.features > FEW_FEATURES and options.solver != "newton":
        return "columns"
    if options.solver == "interior":
        return "interior"
    many_rows = problem.costs.size > ROWS_FOR_NEWTON * data.features
    if problem.l1 > 0 and not problem.loss.smooth and options.solver == "auto" and not many_rows:
        return "interior"
    if problem.l1 > 0 or problem.l2 <= 0 or problem.bias_l1 > 0:
        return "newton"
    if options.solver != "auto":
        return options.solver
    if not data.descends:
        return "newton"
    if data.features > FEW_FEATURES:
        return "dual"
    if many_rows:
        return "newton"
    return "dual" if data.reach(problem) <= SMALL_COST * problem.l2 else "newton"


class OutOfTimeError(Exception):
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

    def pause() -> None:
        if monitor.out_of_budget() is Status.TIME_LIMIT:
            raise OutOfTimeError

    status, descended = Status.CONVERGED, start
    for solver, share in _stages(data, problem, options):
        if solver == "newton" and share < AIM and status is Status.STALLED:
            continue  # it would stall again
        begin = descended if solver == "patient" else point
        machine, solve = _prepare(solver, data, problem, begin)
        monitor.limits = _aim(asked, share, problem)
        data.pause = pause
        status = _run(partial(solve, machine, monitor))
        monitor.limits = asked
        data.pause = nothing
        point, certificate = data.certify(problem, machine.point)
        reached = monitor.certified(status, certificate.violation, certificate.relative_gap)
        descended = point if solver == "dual" else descended
        if reached or not (status.converged or status is Status.STALLED):
            break
    if certificate.gap <= ROUNDING * data.magnitude(problem) and status is not Status.INTERRUPTED:
        reached = reached or Status.GAP_REACHED  # an optimum of zero has no relative gap
    return data.solution(point, certificate, reached or _unreached(status), monitor)


def _stages(
    data: LinearData, problem: LinearProblem, options: LinearOptions
) -> list[tuple[str, float]]:
    """Return the solvers to run until the certificate holds, and their share of the tolerances."""
    first = choose(data, problem, options)
    if first == "columns":
        return [("columns", AIM), ("columns", FURTHER * AIM)]
    stages = [("newton", AIM), ("newton", FURTHER * AIM)]
    if first == "interior":
        stages.insert(0, (first, AIM))
    if first == "dual":
        stages.insert(0, ("dual", AIM))
    if data.can_finish(problem):
        stages.append(("interior", FURTHER * AIM))
    elif first == "dual":
        stages.append(("patient", AIM))
    return stages


def _prepare(
    solver: str, data: LinearData, problem: LinearProblem, point: Any
) -> tuple[Any, Callable[[Any, Monitor], Status]]:
    """Return the state of a machine, and what solves it."""
    if solver in ("dual", "patient"):
        return data.descent(problem, point), partial(dual_descent, patient=solver == "patient")
    if solver == "columns":
        return data.columns(problem, point), partial(working_columns, solve_part=_solve_part)
    if solver == "interior":
        return data.interior(problem, point), linear_interior
    return data.newton(problem, point), partial(smoothed_newton, coarse=point is None)


def _solve_part(
    data: LinearData, problem: LinearProblem, point: Any, monitor: Monitor
) -> LinearSolution:
    """Return the solution of the columns at work, from whichever point: that of fewer columns."""
    first = "interior" if data.can_finish(problem) else "newton"
    return solve_linear(data, problem, point, monitor, LinearOptions(first))


def _aim(limits: Limits, share: float, problem: LinearProblem) -> Limits:
    """Return the limits to work to, so that the certificate will meet those asked for."""
    if problem.costs.size <= SMALL_ROWS:
        return replace(limits, tolerance=0.0, gap=SMALL_GAP)
    gap = None if limits.gap is None else share * limits.gap
    return replace(limits, tolerance=share * limits.tolerance, gap=gap)


def _unreached(status: Status) -> Status:
    return Status.STALLED if status.converged else status


def _run(solve: Callable[[], Status]) -> Status:
    """Run a solver; a limit or Ctrl-C leaves the machine at the last point that was reached."""
    try:
        return solve()
    except OutOfTimeError:
        return Status.TIME_LIMIT
    except KeyboardInterrupt:
        return Status.INTERRUPTED


def nothing() -> None:
    """Do nothing between parts of the work."""
