"""What a backend must be able to do for the solvers of linear machines.

As with `operations`, a solver never sees an array, and what takes long is cut into parts between
which the backend calls ``LinearData.pause``, which looks at the clock.
"""

from dataclasses import dataclass
from typing import Any, Protocol, Self

__all__ = [
    "ColumnOperations",
    "DescentOperations",
    "InteriorOperations",
    "LinearMeasure",
    "NewtonOperations",
]


@dataclass(frozen=True)
class LinearMeasure:
    """Where the current point stands.

    Attributes
    ----------
    primal, dual, gap : float
        Objectives of the true problem, and their distance with what an unbalanced bias may add.
    rounding : float
        The part of the gap that comes from rounding the kinks of the loss off.
    violation : float
        Largest violation of the optimality conditions.
    curved : int
        Rows on the rounded kinks: those with a second derivative.
    noise : float
        So small a gap is rounding, the optimum being zero or nearly so, and counts as none.
    """

    primal: float
    dual: float
    gap: float
    rounding: float
    violation: float
    curved: int
    noise: float = 0.0

    @property
    def unsolved(self) -> float:
        """The part of the gap that comes from not having solved the rounded problem."""
        return self.gap - self.rounding

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the larger objective."""
        scale = max(abs(self.primal), abs(self.dual))
        return self.gap / scale if scale > 0 and self.gap > self.noise else 0.0


class NewtonOperations(Protocol):
    """A linear machine whose rounded problem Newton steps solve."""

    rows: int
    telling_rows: int  # so many determine the coefficients roughly
    smooth: bool
    width: float

    @property
    def point(self) -> Any:
        """Coefficients and dual variables."""
        ...

    def measure(self) -> LinearMeasure:
        """Return where the point stands, having formed all gradients there."""
        ...

    def step(self) -> bool:
        """Make a Newton step with a line search; return False if nothing was gained."""
        ...

    def narrow(self, factor: float) -> None:
        """Round the kinks off less, around the dual variables of the present point."""
        ...

    def coarser(self, step: int) -> Self:
        """Return the machine of every step-th row, at the same point."""
        ...

    def start_at(self, other: Self) -> None:
        """Go to the point of another machine and take its width."""
        ...


class InteriorOperations(Protocol):
    """A linear machine whose dual variables stay inside their bounds; moves are the backend's."""

    rows: int
    point: Any

    def measure(self) -> LinearMeasure:
        """Return where the machine stands, and keep the point if its gap is the smallest."""
        ...

    def polish(self) -> LinearMeasure:
        """Make the kept point more exact, if that is possible, and return where it stands."""
        ...

    def product(self, move: Any = None, length: float = 0.0) -> float:
        """Return the mean product of a variable and its multiplier, after a step."""
        ...

    def aim(self, target: float, along: Any) -> None:
        """Choose what the products of the next step shall be, given the step that aimed at zero."""
        ...

    def direction(self) -> Any:
        """Return the step that the linearised conditions ask for."""
        ...

    def longest(self, move: Any) -> float:
        """Return the longest step, at most 1, that leaves nothing negative."""
        ...

    def go(self, move: Any, length: float) -> None:
        """Make a step."""
        ...


class ColumnOperations(Protocol):
    """A linear machine of which only some columns are worked on, all other weights being zero."""

    rows: int
    problem: Any
    part: Any  # rows of the columns at work

    @property
    def point_of_part(self) -> Any:
        """The point, of the columns at work alone."""
        ...

    def measure(self) -> LinearMeasure:
        """Return where the point stands, over all columns; `curved` counts those at work."""
        ...

    def grow(self) -> bool:
        """Take in the columns that would gain most; return False if none would."""
        ...

    def take(self, solution: Any) -> None:
        """Go to the solution of the columns at work."""
        ...


class DescentOperations(Protocol):
    """A linear machine whose dual variables move one at a time."""

    rows: int
    active: int  # rows that are being worked on

    @property
    def patience(self) -> float:
        """Passes over all rows after which another solver would have been cheaper."""
        ...

    @property
    def point(self) -> Any:
        """Coefficients and dual variables."""
        ...

    def epoch(self) -> LinearMeasure:
        """Visit all active rows in random order and set those aside that rest safely at bounds.

        The gap is the sum over the rows of what each adds to it just before its own move, the
        violation the largest that was met.
        """
        ...

    def measure(self) -> LinearMeasure:
        """Return where the point stands, over all rows."""
        ...

    @property
    def settling_cost(self) -> float:
        """Passes over all rows that `settle` takes as long as; infinite if it is of no use."""
        ...

    def settle(self, damping: float) -> float:
        """Move all dual variables between their bounds at once, and take all rows back.

        They go towards the optimum of theirs, less far the more `damping`; returns the length of
        the step, of which 1 is all of it.
        """
        ...

    def take_back(self) -> bool:
        """Work on all rows again; return False if none had been set aside."""
        ...
