"""Block decomposition for kernel machines.

Problem     minimise ½ xᵀKx + linearᵀx over a box, the sum of each group of variables fixed.
Update      choose a block of variables, half of it kept from the last block and half the worst
            violators; solve its small problem by sequential minimal optimisation in cache; bring
            the outputs of all rows up to date with the block's moves.
Stop        no violation exceeds the tolerance, or the relative duality gap is small enough.
Papers      T. Joachims, Making large-scale SVM learning practical, 1999; Z. Wen et al.,
            ThunderSVM, JMLR 19 (2018) for the half-kept block; R.-E. Fan et al., JMLR 6 (2005) for
            the inner solver.

Where this differs from them:
1. The inner problem is solved to a share of the violation outside, not to a fixed tolerance:
   solving it further moves more rows, and each row moved costs a kernel row.
2. Once the number of free variables has settled and pair steps are foreseen to take longer than
   Newton steps on all of them, those are tried; they end the fit, whatever C and the tolerance.
   A block on which the inner solver runs out of steps (large C, unscaled data) is finished by
   Newton steps on its own free variables.
3. Rows set aside (shrinking) come back before the end, and their outputs are computed afresh, until
   a machine of the same fit has shown that this finds nothing; from then on the certificate does.
4. A backend that loses time whenever it is looked at makes several rounds between two looks.
5. It ends: when steps no longer decrease the objective beyond rounding, or the violation is below
   what the numbers carry, it says so and stops.
"""

import math
from dataclasses import dataclass

from ..solution import Progress, Status
from .monitor import Monitor
from .operations import BlockOperations, Measure

__all__ = ["Trust", "block_smo"]

STALLED_ROUNDS, STALLED_EXACT = 20, 4  # rounds; fewer if their blocks are solved exactly
STALLED_WHOLE = 4  # rounds in which all variables were solved for, and neither measure halved
INNER_SHARE = 0.3
SHRINK_EVERY = 5
EAGER = 0.5  # share of the effort of Newton steps on all free variables after which they may come
LOOKS = 4  # measures from which the pace of pair steps is known
BURST = 5000  # inner steps on a block before Newton steps, once these are in use


@dataclass
class Trust:
    """Whether rows set aside are known to stay solved, from the machines of a fit so far.

    Then their outputs need not be computed twice: the certificate, which covers all rows, tells.
    """

    earned: bool = False


def block_smo(
    machine: BlockOperations,
    monitor: Monitor,
    *,
    shrinking: bool,
    steps: int,
    exact: bool = False,
    rough: bool = False,
    trust: Trust | None = None,
) -> Status:
    """Solve a box problem; the answer is in the machine's state.

    Parameters
    ----------
    machine : BlockOperations
        The problem and its state.
    monitor : Monitor
        Limits, history and reports.
    shrinking : bool
        Whether rows may be set aside.
    steps : int
        Inner steps on one block at once.
    exact : bool
        Whether to use Newton steps from the first block on.
    rough : bool
        Whether the kernel values are too rough for Newton steps: instead, STALLED asks for better.
    trust : Trust or None
        Whether rows that are set aside may stay there to the end.

    Returns
    -------
    Status
        How it ended.
    """
    tolerance = monitor.limits.tolerance
    stall, outlook = _Stall(), _Outlook(tolerance)
    trust = trust or Trust()
    rounds, back = 0, False
    while True:
        now = machine.measure()
        if status := _look(machine, monitor, now):
            if status.converged and not trust.earned and machine.take_back():
                back = True
                continue
            trust.earned = trust.earned or back
            return status
        back = False
        if machine.free_set is not None and outlook.poor(now, machine.free_set.share, exact):
            outlook = _Outlook(tolerance)
            if machine.free_set.solve(0.25 * tolerance):
                continue
        stuck = stall.over(now, exact, machine.whole)
        if machine.ahead and not (exact or stuck):
            step = machine.go_ahead(tolerance, INNER_SHARE, monitor.steps_left(steps))
            monitor.iterations += step.iterations
            exact = step.exhausted and not rough
            if step.exhausted and rough:
                return monitor.out_of_budget() or Status.STALLED
            continue
        if stuck or not machine.select():
            if machine.take_back():
                stall = _Stall()
                continue
            return Status.STALLED
        share = 0.0 if machine.whole else INNER_SHARE
        step = machine.solve_block(
            max(share * now.violation, 0.5 * tolerance),
            monitor.steps_left(BURST if exact else steps),
        )
        monitor.iterations += step.iterations
        starved = step.exhausted and rough
        if (step.exhausted or exact) and not rough and monitor.out_of_budget() is None:
            exact = True
            monitor.iterations += machine.solve_block_exactly(0.5 * tolerance).iterations
        while machine.load_rows():
            if status := monitor.out_of_budget():
                return status
        machine.apply()
        if starved:
            return monitor.out_of_budget() or Status.STALLED
        rounds += 1
        if shrinking and rounds % SHRINK_EVERY == 0:
            machine.set_aside()


def _look(machine: BlockOperations, monitor: Monitor, now: Measure) -> Status | None:
    """Report where the machine stands and decide whether it is done."""
    stopped = monitor.observe(
        Progress(
            time=monitor.elapsed(),
            iterations=monitor.iterations,
            dual_objective=now.dual_objective,
            gap=now.gap,
            violation=now.violation,
            active=machine.active,
            rows=machine.rows,
        )
    )
    return monitor.reached(now.violation, now.gap) or stopped or monitor.out_of_budget()


class _Outlook:
    """Foresees whether pair steps will take longer than Newton steps on all free variables.

    At first the violation stays where it is, while the bounds that matter are being found. Once it
    is a tenth of that, it is taken to go on falling by the same factor for the same effort.
    """

    def __init__(self, tolerance: float) -> None:
        self.tolerance, self.largest = tolerance, 0.0
        self.looks: list[tuple[float, float]] = []

    def poor(self, now: Measure, share: float, exact: bool) -> bool:
        """Return whether Newton steps are due, given what share of their effort has been spent."""
        self.largest = max(self.largest, now.violation)
        if exact or share == 0.0:
            return share >= EAGER
        if now.violation > 0.1 * self.largest:
            self.looks = []
            return False
        self.looks.append((math.log(now.violation), share))
        (first, spent), (last, _) = self.looks[0], self.looks[-1]
        left = last - math.log(self.tolerance)
        return (
            len(self.looks) >= LOOKS
            and share >= EAGER
            and left * (share - spent) > max(0.0, first - last)
        )


class _Stall:
    """Notices when many rounds in a row gain nothing beyond rounding."""

    def __init__(self) -> None:
        self.dual = -float("inf")  # when there was progress last, so that small gains add up
        self.violation = float("inf")
        self.largest_dual = 0.0
        self.idle = 0
        self.goals = (float("inf"), float("inf"))  # for violation and gap of the whole
        self.waiting = 0

    def over(self, now: Measure, exact: bool, whole: bool) -> bool:
        """Take in a measure; return whether progress has ended, or is below what numbers carry.

        An objective that tends to 0 gains a share of itself for ever. But it is a sum of numbers
        that were larger, so what is far below the largest objective seen is rounding too.
        """
        size = abs(now.dual_objective)
        self.largest_dual = max(self.largest_dual, size)
        gain = now.dual_objective - self.dual
        if gain > 1e-13 * size + 1e-15 * self.largest_dual or now.violation < 0.9 * self.violation:
            self.dual = max(self.dual, now.dual_objective)
            self.violation = min(self.violation, now.violation)
            self.idle = 0
        else:
            self.idle += 1
        if now.violation < self.goals[0] or now.gap < self.goals[1] or not (exact and whole):
            self.goals, self.waiting = (0.5 * now.violation, 0.5 * now.gap), 0
        else:
            self.waiting += 1
        return (
            self.idle >= (STALLED_EXACT if exact else STALLED_ROUNDS)
            or self.waiting >= STALLED_WHOLE
            or now.violation <= now.rounding
        )
