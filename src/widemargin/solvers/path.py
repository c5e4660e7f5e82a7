"""The exact path of a soft-margin machine over C: follow the solution from one bend to the next.

Problem     for every C: minimise ½||w||² + C sum_i s_i max(0, 1 - y_i f(z_i)), the bias being free.
            At the solution each row is outside the margin (alpha_i = 0), on it (y_i f = 1), or a
            margin error (alpha_i = C s_i). While these sets stay as they are, the conditions are
            linear equations with C on the right, so alpha and b are linear in C.
Update      solve for the slope of alpha on the margin and of b; go to the least C at which a row
            gets to the margin or a multiplier to its bound; exchange that row; go on.
Stop        at the largest C asked for, or where no event is left: the last piece then never ends.
Paper       hastie2004 (T. Hastie, S. Rosset, R. Tibshirani, J. Zhu, The entire regularization path
            for the support vector machine, JMLR 5, 2004).

Where this differs from it:
1. Any start: a point near the solution at some C is made exact by another path, at constant C, on
   which the margins that the point happens to satisfy turn into those that are wanted. Unequal
   classes, for which the paper solves a problem of its own, need nothing else.
2. A row that depends on those on the margin would make the equations singular. It changes places
   with one of them along the line on which the outputs, and with them the objective, are constant.
3. Weights: each row has a cost of its own.
4. Rows that tie are told apart by a random shift of their margins, far below what the gap shows,
   if exchanges lead nowhere; the shift is taken back when all is next computed anew.
5. Every piece is certified by its duality gap. Where it is too large, multipliers are computed
   anew from the sets; if that does not help, the machine is solved by ``solve_certified`` and the
   path goes on from there.
"""

from dataclasses import dataclass
from typing import Protocol

from ..solution import Progress, Status
from .monitor import Monitor

__all__ = ["PathEnd", "PathOperations", "follow_path"]

IDLE = 20  # exchanges without a step, beyond those of a tie that is met in passing
REPAIRS = 50  # solves from scratch in all


class PathOperations(Protocol):
    """The machine at one C, and what it takes to get to the next."""

    rows: int
    C: float

    @property
    def gap(self) -> float:
        """Relative duality gap of the present point."""
        ...

    @property
    def rounding(self) -> float:
        """What rounding may make of the gap."""
        ...

    @property
    def on_margin(self) -> int:
        """Number of rows on the margin."""
        ...

    @property
    def dual_objective(self) -> float:
        """Dual objective of the present point."""
        ...

    def solve_anew(self) -> None:
        """Go to a point near the solution, with margins for which it is exact."""
        ...

    def aim_at_margins(self) -> None:
        """Let the next steps turn the margins into one, at constant C."""
        ...

    def aim_at_cost(self, largest: float) -> None:
        """Let the next steps enlarge C."""
        ...

    def step(self) -> bool:
        """Go to the next event or to the aim; return whether the point moved."""
        ...

    @property
    def arrived(self) -> bool:
        """Whether the aim is reached, or no event lies before it."""
        ...

    def exchange(self) -> None:
        """Let the row of the event change its set."""
        ...

    def compute_anew(self) -> None:
        """Compute multipliers, bias and outputs from the sets, with all margins one."""
        ...

    def tell_apart(self) -> None:
        """Shift margins at random, so that no two rows tie."""
        ...


@dataclass(frozen=True)
class PathEnd:
    """How a path ended.

    Attributes
    ----------
    status : Status
        CONVERGED at the largest C.
    worst_gap : float
        The largest relative gap of all points where rows were exchanged.
    """

    status: Status
    worst_gap: float


def follow_path(
    machine: PathOperations, monitor: Monitor, *, largest: float, tolerance: float, refresh: int
) -> PathEnd:
    """Follow the path from the machine's C to the largest.

    Parameters
    ----------
    machine : PathOperations
        State and operations; it records the exchanges.
    monitor : Monitor
        Limits, history and reports; an iteration is an exchange.
    largest : float
        C to end at.
    tolerance : float
        Relative gap above which a point is repaired.
    refresh : int
        Exchanges after which everything is computed anew from the sets.
    """
    repairs, since, worst = 0, 0, 0.0
    status = _solve(machine, monitor)
    machine.aim_at_cost(largest)
    while status is None:
        status = _until_moved(machine, monitor)
        if status is not None:
            break
        since += 1
        if since >= refresh or machine.gap > tolerance:
            machine.compute_anew()
            since = 0
        sound = machine.gap <= max(tolerance, machine.rounding)
        if not sound:
            repairs += 1
            status = _solve(machine, monitor) if repairs <= REPAIRS else Status.STALLED
            machine.aim_at_cost(largest)
            if status is None and machine.gap > max(tolerance, machine.rounding):
                status = Status.STALLED
        if status is None:
            worst = max(worst, machine.gap)
            if sound and machine.arrived:
                status = Status.CONVERGED
    return PathEnd(status, worst)


def _solve(machine: PathOperations, monitor: Monitor) -> Status | None:
    """Make the point at the present C exact; return a status if a limit came first."""
    machine.solve_anew()
    machine.aim_at_margins()
    while not machine.arrived:
        if status := _until_moved(machine, monitor):
            return status
    machine.compute_anew()
    return None


def _until_moved(machine: PathOperations, monitor: Monitor) -> Status | None:
    """Take a step of some length, with the exchanges before it that are needed."""
    idle = 0
    while not machine.step():
        idle += 1
        if idle % IDLE == 0:
            machine.tell_apart()
        if status := _exchange(machine, monitor):
            return status
        if idle > IDLE * (10 + machine.rows):
            return Status.STALLED
    return None if machine.arrived else _exchange(machine, monitor)


def _exchange(machine: PathOperations, monitor: Monitor) -> Status | None:
    machine.exchange()
    monitor.iterations += 1
    stopped = monitor.observe(
        Progress(
            time=monitor.elapsed(),
            iterations=monitor.iterations,
            dual_objective=machine.dual_objective,
            gap=machine.gap,
            violation=machine.gap,
            active=machine.on_margin,
            rows=machine.rows,
        )
    )
    return stopped or monitor.out_of_budget()
