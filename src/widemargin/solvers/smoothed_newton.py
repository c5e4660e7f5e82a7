"""Newton's method for linear machines, on losses whose kinks are rounded off ever less.

Problem     minimise penalty(w, b) + sum_i c_i loss_i(w.x_i + b), a smooth or a kinked loss.
Update      a kinked loss becomes max over p of p (t - f) - conjugate(p) - width/2 (p - centre)²:
            quadratic within `width` of the kink, exact beyond. Newton steps with an exact line
            search; only rows on the rounded kinks have curvature, so the matrix of a step costs
            little. As soon as the gap of the rounded problem is half of what the rounding
            itself costs, the centres become the present dual variables and the width shrinks.
Stop        relative duality gap or largest violation small enough.
Papers      R. T. Rockafellar, Augmented Lagrangians and applications of the proximal point
            algorithm in convex programming, Math. Oper. Res. 1 (1976): centring is this method on
            the dual; X. Li, D. Sun, K.-C. Toh, A highly efficient semismooth Newton augmented
            Lagrangian method for solving lasso problems, SIAM J. Optim. 28 (2018); O. Chapelle,
            Training a support vector machine in the primal, Neural Computation 19 (2007).

Where this differs from them:
1. The inner problem is solved to a share of the gap that the rounding causes, both being known
   exactly; no tolerances have to be chosen.
2. The width shrinks faster after few steps and slower after many.
3. A free bias takes its best value after every step, so the dual variables are always balanced.
4. On many rows the first widths are solved on a part of the rows.
"""

from ..solution import Progress, Status
from .linear_operations import LinearMeasure, NewtonOperations
from .monitor import Monitor

__all__ = ["smoothed_newton"]

ROUNDING_SHARE = 0.5
FIRST_FACTOR, LEAST_FACTOR = 0.3, 0.1
FEW_STEPS, MANY_STEPS = 5, 12  # the width shrinks faster after the first, slower after the second
IDLE_STEPS = 8
MOST_STEPS = 60
COARSE = (19, 4)  # every so-manieth row; not divisors of common periods
COARSE_GAP = 3e-3


def smoothed_newton(machine: NewtonOperations, monitor: Monitor, *, coarse: bool = True) -> Status:
    """Solve a linear problem; the answer is in the machine's state.

    Parameters
    ----------
    machine : NewtonOperations
        The problem and its state.
    monitor : Monitor
        Limits, history and reports.
    coarse : bool
        Whether to begin with parts of the rows, where there are many.
    """
    if coarse:
        for step in COARSE:
            if machine.rows >= step * machine.telling_rows:
                part = machine.coarser(step)
                status = _solve(part, monitor, COARSE_GAP)
                machine.start_at(part)
                if status not in (Status.GAP_REACHED, Status.STALLED):
                    return status
    return _solve(machine, monitor, None)


def _solve(machine: NewtonOperations, monitor: Monitor, rough: float | None) -> Status:
    """Solve to the monitor's limits, or to a rough gap only."""
    steps = 0
    watch, factor = _Watch(), FIRST_FACTOR
    while True:
        now = machine.measure()
        if status := _look(machine, monitor, now, rough):
            return status
        if watch.idle(now):
            return Status.STALLED
        if machine.smooth or now.unsolved > ROUNDING_SHARE * now.rounding:
            monitor.iterations += 1
            steps += 1
            if steps > MOST_STEPS or not machine.step():
                return Status.STALLED
            continue
        if steps <= FEW_STEPS:
            factor = max(factor**2, LEAST_FACTOR)
        elif steps > MANY_STEPS:
            factor = factor**0.5
        machine.narrow(factor)
        watch, steps = _Watch(), 0


def _look(
    machine: NewtonOperations, monitor: Monitor, now: LinearMeasure, rough: float | None
) -> Status | None:
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
    if rough is not None:
        reached = Status.GAP_REACHED if now.relative_gap <= rough else None
    else:
        reached = monitor.reached(now.violation, now.relative_gap)
    return reached or stopped or monitor.out_of_budget()


class _Watch:
    """Notices when steps no longer bring the rounded problem closer to its solution."""

    def __init__(self) -> None:
        self.best_gap = self.best_primal = float("inf")
        self.count = 0

    def idle(self, now: LinearMeasure) -> bool:
        """Take in a measure; return whether progress has ended."""
        gained = self.best_primal - now.primal > 1e-14 * abs(now.primal)
        progress = now.unsolved < 0.9 * self.best_gap or gained
        self.count = 0 if progress else self.count + 1
        self.best_gap = min(self.best_gap, now.unsolved)
        self.best_primal = min(self.best_primal, now.primal)
        return self.count >= IDLE_STEPS
