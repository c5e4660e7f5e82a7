"""What a backend must be able to do for the solvers: a few operations on state that it keeps.

A solver never sees an array. Each operation takes at most about 0.2 seconds, so that a solver
that looks at the clock between operations can stop in time and Ctrl-C is heard.
"""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["BlockOperations", "BlockStep", "Measure"]


@dataclass(frozen=True)
class Measure:
    """Where the current point stands, from the outputs that the backend keeps up to date.

    `rounding` is the violation that rounding the variables themselves may cause: no step can be
    trusted to go below it.
    """

    violation: float
    gap: float
    dual_objective: float
    rounding: float = 0.0


@dataclass(frozen=True)
class BlockStep:
    """What solving one block did."""

    iterations: int
    exhausted: bool  # the limit of steps came before the tolerance


class FreeSet(Protocol):
    """Newton steps on all variables between their bounds at once."""

    @property
    def share(self) -> float:
        """Effort since the last try, as a share of what the next one would be; 0 if none can be."""
        ...

    def solve(self, tolerance: float) -> bool:
        """Solve the machine to a violation; return False if that failed and nothing changed."""
        ...


class BlockOperations(Protocol):
    """A box problem whose variables can be solved for block by block."""

    @property
    def free_set(self) -> FreeSet | None:
        """Newton steps on all free variables, or None where the backend has none."""
        ...

    @property
    def rows(self) -> int:
        """Rows of the data."""
        ...

    @property
    def active(self) -> int:
        """Rows that are being worked on; the others are set aside until the end."""
        ...

    @property
    def whole(self) -> bool:
        """Whether the block is all variables, so that solving it solves the problem."""
        ...

    @property
    def ahead(self) -> bool:
        """Whether the backend gains by making several rounds at once: then `go_ahead` does."""
        ...

    def measure(self) -> Measure:
        """Return violation, gap and objective over the active rows."""
        ...

    def go_ahead(self, tolerance: float, share: float, limit: int) -> BlockStep:
        """Make rounds of `select`, `solve_block` and `apply` without a look from outside.

        Each solves its block to a share of the violation. Ends when the violation is at most the
        tolerance, after `limit` steps, or when it is time to look at the clock.
        """
        ...

    def select(self) -> bool:
        """Choose the next block; return False if no variable violates anything."""
        ...

    def load_rows(self) -> bool:
        """Fetch some of the kernel rows that the moves need; say whether some are missing."""
        ...

    def solve_block(self, tolerance: float, limit: int) -> BlockStep:
        """Solve the block's own problem in at most `limit` steps."""
        ...

    def solve_block_exactly(self, tolerance: float) -> BlockStep:
        """Solve the block's own problem by Newton steps on its free variables."""
        ...

    def apply(self) -> None:
        """Bring the outputs of all active rows up to date with the block's moves."""
        ...

    def set_aside(self) -> None:
        """Drop rows that are unlikely to move again from the work (shrinking)."""
        ...

    def take_back(self) -> bool:
        """Work on all rows again; return False if none had been set aside."""
        ...
