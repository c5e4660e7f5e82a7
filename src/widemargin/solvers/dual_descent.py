"""Dual coordinate descent for linear machines with a squared penalty.

Problem     maximise sum_i c_i (p_i t_i - conjugate(p_i)) - ||X'u||²/(2 l2), u_i = c_i p_i, over the
            bounds of p and, with a free bias, sum u = tilt.
Update      row after row, in random order, u_i moves to its own optimum; w = X'u / l2 and the bias
            follow at once. Rows resting safely at a bound are set aside.
Stop        relative duality gap small enough. If it falls too slowly (large C, correlated
            features) the point is handed over to Newton's method.
Papers      C.-J. Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML
            2008; C.-H. Ho, C.-J. Lin, JMLR 13 (2012).

Where this differs from them:
1. The bias is free: a multiplier that follows after each epoch, not the weight of a feature.
2. Stops by the gap of the point with balanced dual variables, measured every few epochs.
3. Gives up in time instead of running into a cap.
"""

from ..solution import Progress, Status
from .linear_operations import DescentOperations, LinearMeasure
from .monitor import Monitor

__all__ = ["dual_descent"]

FIRST_MEASURE = 3
MEASURE_GROWTH = 1.3
MOST_EPOCHS = 1000
SLOW = 0.7  # a gap above this share of the best one so far counts as slow
SLOW_MEASURES = 4  # that many slow measures in a row end the descent


def dual_descent(machine: DescentOperations, monitor: Monitor) -> Status:
    """Descend to the monitor's limits; STALLED asks for another solver to go on.

    Parameters
    ----------
    machine : DescentOperations
        The problem and its state.
    monitor : Monitor
        Limits, history and reports.
    """
    epochs, next_measure = 0, FIRST_MEASURE
    best, slow = float("inf"), 0
    while epochs < MOST_EPOCHS:
        machine.epoch()
        epochs += 1
        monitor.iterations += 1
        if epochs < next_measure and monitor.out_of_budget() is None:
            machine.set_aside()
            continue
        now = machine.measure()
        if status := _look(machine, monitor, now):
            return status
        slow = 0 if now.gap < SLOW * best else slow + 1
        best = min(best, now.gap)
        if slow >= SLOW_MEASURES:
            return Status.STALLED
        machine.take_back()
        next_measure = epochs + max(FIRST_MEASURE, int(epochs * (MEASURE_GROWTH - 1.0)))
    return Status.STALLED


def _look(machine: DescentOperations, monitor: Monitor, now: LinearMeasure) -> Status | None:
    """Report where the machine stands and decide whether it is done."""
    stopped = monitor.observe(
        Progress(
            time=monitor.elapsed(),
            iterations=monitor.iterations,
            dual_objective=now.dual,
            gap=now.relative_gap,
            violation=now.violation,
            active=machine.active,
            rows=machine.rows,
        )
    )
    return monitor.reached(now.violation, now.relative_gap) or stopped or monitor.out_of_budget()
