"""Dual coordinate descent for linear machines with a squared penalty.

Problem     maximise sum_i c_i (p_i t_i - conjugate(p_i)) - ||X'u||²/(2 l2), u_i = c_i p_i, over the
            bounds of p and, with a free bias, sum u = tilt.
Update      row after row, in random order, u_i moves to its own optimum; w = X'u / l2 and the bias
            follow at once. Rows resting at a bound more safely than any row violated its
            conditions in the last epoch are set aside, until the others are solved. When as much
            time has gone into epochs as a linear system in all free variables takes, it is solved.
Stop        relative duality gap small enough. If it falls too slowly (large C, correlated
            features) the point is handed over to Newton's method.
Papers      C.-J. Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML
            2008; C.-H. Ho, C.-J. Lin, JMLR 13 (2012).

Where this differs from them:
1. The bias is free: a multiplier that follows after each epoch, not the weight of a feature.
2. Stops by the gap. What each row adds to it is known when the row is visited; only when their sum
   promises the end is the gap of one fixed point measured, by a pass of its own.
3. Gives up in time instead of running into a cap: as soon as the present rate of convergence
   promises more passes than another solver takes.
4. Free variables that hardly move, because rows resemble one another, are solved for together.
"""

from math import inf, log

from ..solution import Progress, Status
from .linear_operations import DescentOperations, LinearMeasure
from .monitor import Monitor

__all__ = ["dual_descent"]

TRIAL = 0.1  # share of the patience before which no forecast is made, if nothing can be settled
IDLE_EPOCHS = 3000
LEAST_SPAN = 2  # epochs from which a rate of convergence is taken
LEAST_BETWEEN = 5.0  # passes before the free variables are counted
DAMPING, EASED, STRONGER = 0.01, 0.03, 10.0  # at first; after a long step; after a short one
ENOUGH = 0.5
FEW_ROWS = 200  # an epoch over fewer takes no less time
EXPECTED, LEAST_EXPECTED = 0.5, 0.15  # gap after an epoch as a share of what was met in it


def dual_descent(machine: DescentOperations, monitor: Monitor, *, patient: bool = False) -> Status:
    """Descend to the monitor's limits; STALLED asks for another solver to go on.

    Parameters
    ----------
    machine : DescentOperations
        The problem and its state.
    monitor : Monitor
        Limits, history and reports.
    patient : bool
        Whether to go on as long as anything is gained, no other solver being left.
    """
    whole, before = True, inf
    passes, settler = 0.0, _Settler(machine)
    met: list[float] = []
    while True:
        share_of_rows = max(machine.active, FEW_ROWS) / max(machine.rows, FEW_ROWS)
        passes += share_of_rows
        now = machine.epoch()
        monitor.iterations += 1
        share = min(EXPECTED, max(LEAST_EXPECTED, now.gap / before)) if before > 0 else EXPECTED
        before = now.gap
        ending = monitor.reached(share * now.violation, share * now.relative_gap)
        if ending and whole:
            exact = machine.measure()
            if status := monitor.reached(exact.violation, exact.relative_gap):
                _look(machine, monitor, exact)
                return status
        if stopped := _look(machine, monitor, now):
            return stopped
        whole = machine.active == machine.rows
        if ending and not whole:
            whole, met = machine.take_back(), []
            continue
        met.append(now.relative_gap)
        left = _epochs_left(met, monitor.limits.gap) * share_of_rows
        if cost := settler.settle(share_of_rows, left):
            passes, whole, met = passes + cost, True, []
            continue
        if patient:
            given_up = len(met) > IDLE_EPOCHS and left == inf
        else:
            trial = machine.patience * (1.0 if machine.settling_cost < inf else TRIAL)
            given_up = passes > trial and left > machine.patience - passes
        if given_up:
            machine.measure()
            return Status.STALLED


class _Settler:
    """Decides when to solve for all free variables at once, and with how much damping."""

    def __init__(self, machine: DescentOperations) -> None:
        self.machine, self.damping, self.since = machine, DAMPING, 0.0

    def settle(self, passes: float, left: float) -> float:
        """Settle if so many more passes make it worth it; return its cost in passes, else 0.

        Not if epochs end sooner, `left` being the passes that they are expected to need.
        """
        self.since += passes
        if self.since < LEAST_BETWEEN:
            return 0.0
        cost = self.machine.settling_cost
        if min(self.since, left) < cost:
            return 0.0
        length = self.machine.settle(self.damping)
        self.damping *= EASED if length > ENOUGH else STRONGER
        self.since = 0.0
        return cost


def _epochs_left(met: list[float], aim: float | None) -> float:
    """Return how many more epochs the gap needs at the rate of the last third of them."""
    span = len(met) // 3
    if aim is None or span < LEAST_SPAN:
        return 0.0
    before, now = min(met[:-span]), min(met[-span:])
    if now <= aim:
        return 0.0
    return span * log(now / aim) / log(before / now) if now < before else inf


def _look(machine: DescentOperations, monitor: Monitor, now: LinearMeasure) -> Status | None:
    """Report where the machine stands and decide whether to stop."""
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
    return stopped or monitor.out_of_budget()
