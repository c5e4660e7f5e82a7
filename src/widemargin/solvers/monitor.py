"""One place where a fit looks at the clock, keeps its history, reports, and decides to stop."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..solution import Progress, Reporter, Status

__all__ = ["Limits", "Monitor"]

HISTORY_LENGTH = 512


@dataclass(frozen=True)
class Limits:
    """When a solver may stop.

    Attributes
    ----------
    tolerance : float
        Largest violation of the optimality conditions.
    gap : float or None
        Relative duality gap that is enough.
    iterations : int
        Largest number of inner steps, -1 for no limit.
    seconds : float or None
        Largest time, counted from the beginning of the fit.
    """

    tolerance: float
    gap: float | None = None
    iterations: int = -1
    seconds: float | None = None


@dataclass
class Monitor:
    """Watches one solver run. `began` may lie before it, when a fit consists of several runs."""

    limits: Limits
    reporter: Reporter | None = None
    began: float = field(default_factory=time.perf_counter)
    iterations: int = 0
    history: list[Progress] = field(default_factory=list)
    cancelled: Callable[[], bool] = lambda: False  # asked wherever the limits are
    _stride: int = 1
    _seen: int = 0

    def elapsed(self) -> float:
        """Return the seconds since the fit began."""
        return time.perf_counter() - self.began

    def out_of_budget(self) -> Status | None:
        """Return the limit that has been passed, if any."""
        limits = self.limits
        if limits.seconds is not None and self.elapsed() >= limits.seconds:
            return Status.TIME_LIMIT
        if 0 <= limits.iterations <= self.iterations:
            return Status.ITERATION_LIMIT
        return Status.STOPPED if self.cancelled() else None

    def steps_left(self, at_most: int) -> int:
        """Return how many inner steps may be taken at once."""
        if self.limits.iterations < 0:
            return at_most
        return max(0, min(at_most, self.limits.iterations - self.iterations))

    def observe(self, progress: Progress) -> Status | None:
        """Record where the fit stands; return a status if the user's callback stops it."""
        if self._seen % self._stride == 0:
            self.history.append(progress)
            if len(self.history) >= HISTORY_LENGTH:
                del self.history[1::2]
                self._stride *= 2
        self._seen += 1
        if self.reporter is not None and self.reporter(progress) is True:
            return Status.STOPPED
        return None

    def certified(self, status: Status, violation: float, gap: float) -> Status | None:
        """Return whether a certified point is good enough; Ctrl-C is heard even then."""
        return None if status is Status.INTERRUPTED else self.reached(violation, gap)

    def reached(self, violation: float, gap: float) -> Status | None:
        """Return whether the point is good enough."""
        if violation <= self.limits.tolerance:
            return Status.CONVERGED
        if self.limits.gap is not None and gap <= self.limits.gap:
            return Status.GAP_REACHED
        return None
