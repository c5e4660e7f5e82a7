"""No ratio of times without agreement: both libraries must have solved the same problem."""

from .certificate import Quality

AGREE = 1e-3  # relative difference of objectives that is allowed even to tight fits
SLACK = 1e-6  # relative; for coefficients that are feasible only up to rounding
FEASIBLE = 1e-5  # relative to C; some libraries hold coefficients in float32
EXACT = 1.001  # our violation is certified in float64
ROUNDING = 1.02  # kernel values in float32 move a rival's by some percent of a tolerance of 1e-3
FAR = 10.0  # times the tolerance: it did not solve what it was asked to


def faults(ours: Quality, theirs: Quality, tol: float) -> list[str]:
    """Return why the times of two fits must not be compared; an empty list if they may be.

    1. Both coefficient vectors are feasible, so both dual objectives are lower bounds.
    2. Weak duality across the two: no dual objective exceeds the other's primal objective.
    3. Dual objectives agree to 1e-3, or to the larger of the two gaps.
    4. Our gap is no larger than theirs, and our violation no larger than the tolerance.

    Ask `unsolved` first: a fit far from its optimum has a gap that allows everything.
    """
    found = differences(ours, theirs)
    if not ours.gap <= theirs.gap * (1 + 1e-6) + 1e-9:
        found.append(f"our gap {ours.gap:.2e} is larger than theirs, {theirs.gap:.2e}")
    if not ours.violation <= tol * EXACT:
        found.append(f"our violation {ours.violation:.2e} is larger than tol {tol:g}")
    return found


def differences(ours: Quality, theirs: Quality) -> list[str]:
    """Return the first three kinds of faults: signs that two fits solved different problems."""
    found = []
    for whose, quality in (("our", ours), ("their", theirs)):
        if not quality.infeasibility <= FEASIBLE:
            found.append(f"{whose} coefficients are infeasible by {quality.infeasibility:.1e} C")
    scale = max(abs(ours.dual), abs(theirs.dual), 1e-300)
    for whose, lower, upper in (("our", ours, theirs), ("their", theirs, ours)):
        if not lower.dual <= upper.primal + SLACK * scale:
            found.append(
                f"{whose} dual objective {lower.dual:.8g} exceeds the other's primal objective "
                f"{upper.primal:.8g}: they solved different problems"
            )
    difference, allowed = abs(ours.dual - theirs.dual) / scale, max(AGREE, ours.gap, theirs.gap)
    if not difference <= allowed:
        found.append(f"dual objectives differ by {difference:.1e}, more than {allowed:.1e}")
    return found


def unsolved(theirs: Quality, tol: float) -> str:
    """Say why a fit is no solution at all, of this problem; empty if it is one."""
    if theirs.violation <= tol * FAR:
        return ""
    return f"its violation {theirs.violation:.2e} is far from tol {tol:g}"


def excess(theirs: Quality, tol: float) -> str:
    """Say where a rival stopped short of what it was asked for, which only favours it."""
    if theirs.violation <= tol * ROUNDING:
        return ""
    return f"its violation is {theirs.violation:.1e}, above tol {tol:g}"
