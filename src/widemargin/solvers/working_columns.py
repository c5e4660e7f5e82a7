"""Working sets of columns: an l1 penalty on many features, most of whose weights stay zero.

Problem     minimise l1 |w|₁ + ½ l2 ||w||² + sum_i c_i loss_i(w.x_i + b).
Update      the problem of the columns at work alone is solved by another solver, all other weights
            being zero. One pass over all columns then tells v = Xᵀu; those outside with |v_k| > l1
            would gain, and the worst of them are taken in, half as many as are not zero.
Stop        the relative duality gap over all columns is small enough. Its dual point is u of the
            columns at work, scaled into |v_k| <= l1 where there is no squared penalty.
Papers      T. B. Johnson, C. Guestrin, Blitz: a principled meta-algorithm for scaling sparse
            optimization, ICML 2015; M. Massias et al., Celer: a fast solver for the lasso with dual
            extrapolation, ICML 2018; Q. Bertrand et al., Beyond L1: faster and better sparse models
            with skglm, NeurIPS 2022.

Where this differs from them:
1. The problem of the columns at work is one of all linear machines, so kinked losses are no
   exception; it is solved to a share of the gap over all columns.
2. Columns whose weight is zero leave the set only where it would become too large for the matrices
   of the other solver.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..solution import LinearSolution, Progress, Status
from .linear_operations import ColumnOperations, LinearMeasure
from .monitor import Monitor

__all__ = ["working_columns"]

INNER = 0.3  # share of the gap over all columns that the columns at work may leave
FIRST_GAP = 0.1
UNREACHED = (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED, Status.STOPPED)


def working_columns(
    machine: ColumnOperations, monitor: Monitor, solve_part: Callable[..., LinearSolution]
) -> Status:
    """Solve to the monitor's limits; the answer is in the machine's state.

    Parameters
    ----------
    machine : ColumnOperations
        The problem and its state.
    monitor : Monitor
        Limits, history and reports.
    solve_part : function
        Called with rows, problem, point and monitor, returns the solution of the columns at work.
    """
    now, status, least = machine.measure(), None, FIRST_GAP
    while True:
        if status := _look(machine, monitor, now):
            return status
        grown = machine.grow()
        wanted = 0.0 if monitor.limits.gap is None else INNER * monitor.limits.gap
        if not grown and least <= wanted:
            return Status.STALLED
        least = max(wanted, INNER * min(now.relative_gap, least))
        part = _part_of(monitor, least, now)
        solution = solve_part(machine.part, machine.problem, machine.point_of_part, part)
        monitor.iterations = part.iterations
        machine.take(solution)
        if solution.status in UNREACHED:
            return solution.status
        now = machine.measure()


def _part_of(monitor: Monitor, gap: float, now: LinearMeasure) -> Monitor:
    """Return a monitor for the columns at work; what it reports is the gap over all columns."""

    def report(progress: Progress) -> object:
        return monitor.observe(replace(progress, gap=now.relative_gap)) is not None

    limits = replace(monitor.limits, tolerance=0.0, gap=gap)
    return Monitor(limits, report, monitor.began, monitor.iterations, cancelled=monitor.cancelled)


def _look(machine: Any, monitor: Monitor, now: LinearMeasure) -> Status | None:
    """Report where the machine stands and decide whether it is done."""
    stopped = monitor.observe(
        Progress(
            time=monitor.elapsed(),
            iterations=monitor.iterations,
            dual_objective=now.dual,
            gap=now.relative_gap,
            violation=now.violation,
            active=now.curved,
            rows=machine.rows,
        )
    )
    return monitor.reached(now.violation, now.relative_gap) or stopped or monitor.out_of_budget()
