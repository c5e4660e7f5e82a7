"""A primal-dual interior-point method for linear machines with a kinked loss: the exact finish.

Problem     minimise penalty(w, b) + sum_i c_i loss_i(w.x_i + b), the loss being a sum of hinges.
Update      Newton steps on the optimality conditions, in which each product of a dual variable's
            distance from a bound and the multiplier of that bound is to become a target instead of
            zero; the target falls with each step. First a step that aims at zero, whose length
            tells how low the target may be and whose curvature the second step makes up for.
Stop        relative duality gap small enough, recomputed from coefficients and dual variables;
            given up when neither it nor the products have fallen for many steps.
Papers      S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J.
            Optim. 2 (1992); M. C. Ferris, T. S. Munson, Interior-point methods for massive support
            vector machines, SIAM J. Optim. 13 (2002): the system has the size of the features.

Where this differs from them:
1. The l1 penalty has the same form as a hinge and the same code.
2. Starts from the coefficients that another solver found, with dual variables half way.
3. What is left at the end is taken off the dual variables between their bounds by least squares.
4. Begun only where Newton's method on rounded losses stops gaining: there dual variables are a
   difference of nearly equal numbers; here they are variables of their own.
"""

from ..solution import Progress, Status
from .linear_operations import InteriorOperations, LinearMeasure
from .monitor import Monitor

__all__ = ["linear_interior"]

TO_BOUND = 0.995  # share of the way to the nearest bound that a step goes
IDLE_STEPS = 12
FALLING = 0.9
MOST_STEPS = 100


def linear_interior(machine: InteriorOperations, monitor: Monitor) -> Status:
    """Solve a linear problem; the point of the smallest gap is kept in the machine's state.

    Parameters
    ----------
    machine : InteriorOperations
        The problem and its state.
    monitor : Monitor
        Limits, history and reports.
    """
    best_gap, least, idle = float("inf"), float("inf"), 0
    for _ in range(MOST_STEPS):
        now, product = machine.measure(), machine.product()
        # From a far start the products fall long before dual variables are feasible enough to
        # bound anything.
        idle = 0 if now.gap < best_gap or product < FALLING * least else idle + 1
        best_gap, least = min(best_gap, now.gap), min(least, product)
        if status := _look(machine, monitor, now):
            return status
        if idle >= IDLE_STEPS:
            break
        monitor.iterations += 1
        machine.aim(0.0, None)
        straight = machine.direction()
        left = machine.product(straight, machine.longest(straight)) / product if product else 0.0
        machine.aim(product * left**3, straight)
        bent = machine.direction()
        machine.go(bent, TO_BOUND * machine.longest(bent))
    return _look(machine, monitor, machine.polish()) or Status.STALLED


def _look(machine: InteriorOperations, monitor: Monitor, now: LinearMeasure) -> Status | None:
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
