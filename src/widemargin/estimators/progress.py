"""The line that a verbose fit shows while it runs."""

import sys
from math import isnan, log
from typing import TextIO

from ..solution import Progress

__all__ = ["ProgressLine"]

FIRST_AFTER = 1.0
EVERY = 0.5


class ProgressLine:
    """Shows rows, active set, gap and time left after the first second; silent before.

    On a terminal the line is rewritten in place; elsewhere a new line comes every five seconds.
    """

    def __init__(self, tolerance: float = 1e-3, stream: TextIO | None = None) -> None:
        self.tolerance = tolerance
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self.next_at = FIRST_AFTER
        self.first: Progress | None = None
        self.shown = False

    def __call__(self, progress: Progress) -> None:
        """Take in where the fit stands and show it if it is time."""
        if self.first is None or progress.time < self.first.time:
            self.first = progress
        if progress.time < self.next_at:
            return
        self.next_at = progress.time + (EVERY if self.live else 10 * EVERY)
        self.stream.write(("\r" if self.live else "") + self.text(progress))
        self.stream.write("\033[K" if self.live else "\n")
        self.stream.flush()
        self.shown = True

    def text(self, progress: Progress) -> str:
        """Return the line without its end."""
        return (
            f"{progress.time:7.1f} s  {progress.rows} rows, {progress.active} active  "
            f"{progress.iterations} steps  gap {progress.gap:.1e}"
            f"{_violation(progress.violation)}{self._left(progress)}"
        )

    def _left(self, progress: Progress) -> str:
        """Estimate the time left from the rate at which the violation has shrunk so far."""
        first = self.first
        if first is None or not 0 < progress.violation < first.violation:
            return ""
        spent = progress.time - first.time
        digits = log(first.violation / progress.violation)
        left = spent * max(0.0, log(max(progress.violation / self.tolerance, 1.0))) / digits
        return f"  about {left:.0f} s left"

    def close(self) -> None:
        """End the line."""
        if self.shown and self.live:
            self.stream.write("\n")
            self.stream.flush()


def _violation(value: float) -> str:
    """Return what the line says of the violation, which not every solver knows on the way."""
    return "" if isnan(value) else f"  violation {value:.1e}"
