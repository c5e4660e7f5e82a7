"""Dual variables between bounds, as interior-point steps move them: many conditions of one form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoxMove", "Boxes", "LogisticBoxes", "OpenBoxes"]

Vector = NDArray[np.float64]

LEAST_SCALE = 1e-12


@dataclass(frozen=True)
class BoxMove:
    """A step of every quantity of `Boxes`."""

    value: Vector
    below: Vector
    above: Vector
    slack: Vector


class Boxes:
    """Dual variables between zero and their costs, and their multipliers.

    Each obeys at the optimum: below − above = slack, below · value = 0 and above · room = 0, where
    room = cost − value, and the slack is a linear function of the coefficients. That is the
    optimality of cost · max(0, −slack), the dual variable being minus its derivative.

    Parameters
    ----------
    cost, slack : array
        Upper bounds, and the slack at the start.
    """

    def __init__(self, cost: Vector, slack: Vector) -> None:
        scale = max(float(np.abs(slack).mean()) if slack.size else 0.0, LEAST_SCALE)
        self.slack = slack.copy()
        self.value, self.room = 0.5 * cost, 0.5 * cost  # both are kept, lest they cancel
        self.below = np.maximum(slack, 0.0) + scale
        self.above = np.maximum(-slack, 0.0) + scale
        self.aim(0.0, None)

    @property
    def size(self) -> int:
        """How many products are to vanish."""
        return 2 * self.slack.size

    def aim(self, target: float, along: BoxMove | None) -> None:
        """Form the linear equations of the next step, whose products are to become `target`.

        The second-order part of `along`, the step that aimed at zero, is taken off.
        """
        self.wanted_below = target - self.value * self.below
        self.wanted_above = target - self.room * self.above
        if along is not None:
            self.wanted_below -= along.value * along.below
            self.wanted_above += along.value * along.above
        self.softness = self.above / self.room + self.below / self.value
        off = self.slack - self.below + self.above
        self.pushed = off + self.wanted_above / self.room - self.wanted_below / self.value

    def answer(self, slack: Vector) -> BoxMove:
        """Return the step of everything if the slack moves as given."""
        value = -(slack + self.pushed) / self.softness
        below = (self.wanted_below - self.below * value) / self.value
        above = (self.wanted_above + self.above * value) / self.room
        return BoxMove(value, below, above, slack)

    def longest(self, move: BoxMove) -> float:
        """Return the longest step, at most 1, that leaves nothing negative."""
        pairs = [(self.value, move.value), (self.room, -move.value)]
        pairs += [(self.below, move.below), (self.above, move.above)]
        return min((_longest(*pair) for pair in pairs), default=1.0)

    def products(self, move: BoxMove | None, length: float) -> float:
        """Return the sum of all products of variables and multipliers, after a step."""
        if move is None:
            return float(self.value @ self.below + self.room @ self.above)
        step = length * move.value
        lower = (self.value + step) @ (self.below + length * move.below)
        return float(lower + (self.room - step) @ (self.above + length * move.above))

    def go(self, move: BoxMove, length: float) -> None:
        """Make a step."""
        self.value += length * move.value
        self.room -= length * move.value
        self.below += length * move.below
        self.above += length * move.above
        self.slack += length * move.slack


class OpenBoxes(Boxes):
    """Dual variables of cost · max(0, −slack)², which have no upper bound.

    Each obeys at the optimum: below = slack + value / (2 cost), below · value = 0.
    """

    def __init__(self, cost: Vector, slack: Vector) -> None:
        scale = max(float(np.abs(slack).mean()), LEAST_SCALE)
        self.slack, self.bend = slack.copy(), 0.5 / cost
        self.below = np.maximum(slack, 0.0) + scale
        self.value = 2.0 * cost * (np.maximum(-slack, 0.0) + scale)
        self.aim(0.0, None)

    @property
    def size(self) -> int:
        """How many products are to vanish."""
        return self.slack.size

    def aim(self, target: float, along: BoxMove | None) -> None:
        """Form the linear equations of the next step, whose products are to become `target`."""
        self.wanted_below = target - self.value * self.below
        if along is not None:
            self.wanted_below -= along.value * along.below
        self.softness = self.bend + self.below / self.value
        off = self.slack - self.below + self.bend * self.value
        self.pushed = off - self.wanted_below / self.value

    def answer(self, slack: Vector) -> BoxMove:
        """Return the step of everything if the slack moves as given."""
        value = -(slack + self.pushed) / self.softness
        below = (self.wanted_below - self.below * value) / self.value
        return BoxMove(value, below, np.zeros(0), slack)

    def longest(self, move: BoxMove) -> float:
        """Return the longest step, at most 1, that leaves nothing negative."""
        return min(_longest(self.value, move.value), _longest(self.below, move.below))

    def products(self, move: BoxMove | None, length: float) -> float:
        """Return the sum of all products of variables and multipliers, after a step."""
        if move is None:
            return float(self.value @ self.below)
        return float((self.value + length * move.value) @ (self.below + length * move.below))

    def go(self, move: BoxMove, length: float) -> None:
        """Make a step."""
        self.value += length * move.value
        self.below += length * move.below
        self.slack += length * move.slack


class LogisticBoxes(Boxes):
    """Dual variables of cost · log(1 + exp(−slack)), which its entropy keeps off the bounds.

    Each obeys at the optimum: slack + log(value / room) = 0. There are no multipliers.
    """

    def __init__(self, cost: Vector, slack: Vector) -> None:
        self.slack = slack.copy()
        self.value, self.room = 0.5 * cost, 0.5 * cost
        self.aim(0.0, None)

    @property
    def size(self) -> int:
        """How many products are to vanish."""
        return 0

    def aim(self, target: float, along: BoxMove | None) -> None:
        """Form the linear equations of the next step; there is no choice."""
        self.softness = 1.0 / self.value + 1.0 / self.room
        self.pushed = self.slack + np.log(self.value / self.room)

    def answer(self, slack: Vector) -> BoxMove:
        """Return the step of everything if the slack moves as given."""
        value = -(slack + self.pushed) / self.softness
        return BoxMove(value, np.zeros(0), np.zeros(0), slack)

    def longest(self, move: BoxMove) -> float:
        """Return the longest step, at most 1, that leaves nothing negative."""
        return min(_longest(self.value, move.value), _longest(self.room, -move.value))

    def products(self, move: BoxMove | None, length: float) -> float:
        """Return zero: there are no multipliers."""
        return 0.0

    def go(self, move: BoxMove, length: float) -> None:
        """Make a step."""
        self.value += length * move.value
        self.room -= length * move.value
        self.slack += length * move.slack


def _longest(at: Vector, move: Vector) -> float:
    """Return the longest step, at most 1, after which nothing is negative; `at` is positive."""
    steepest = float((-move / at).max()) if at.size else 0.0
    return 1.0 / steepest if steepest > 1.0 else 1.0
