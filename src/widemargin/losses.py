"""Losses of linear machines: parameters, and the formulas as lines of array code.

With t the target of a row, f its output and y = ±1 its class, each loss is convex in f and equals
max over p of p (t − f) − conjugate(p); p is the dual variable of the row divided by its cost. The
compiled core holds the same formulas for speed, under the number `kind`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Hinge",
    "Insensitive",
    "Logistic",
    "Loss",
    "OneClass",
    "SquaredHinge",
    "SquaredInsensitive",
]

Vector = NDArray[np.float64]

AT_BOUND = 1e-9  # so near its bound a dual variable counts as being there


@dataclass(frozen=True)
class Loss:
    """A loss of a row's output.

    Attributes
    ----------
    epsilon : float
        Deviation that costs nothing; for regression only.
    """

    kind: ClassVar[int]
    smooth: ClassVar[bool]
    epsilon: float = 0.0

    def value(self, output: Vector, target: Vector) -> Vector:
        """Return the loss of each row."""
        raise NotImplementedError

    def dual(self, share: Vector, target: Vector) -> Vector:
        """Return p t − conjugate(p): what each row adds to the dual objective, for a cost of one.

        It is concave in p and zero at p = 0.
        """
        raise NotImplementedError

    def violation(self, output: Vector, target: Vector, share: Vector) -> Vector:
        """Return how far each output is from one at which p is the loss's (sub)derivative."""
        raise NotImplementedError


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 − y f): the soft margin. 0 <= y p <= 1."""

    kind: ClassVar[int] = 0
    smooth: ClassVar[bool] = False

    def value(self, output: Vector, target: Vector) -> Vector:
        """Return the loss of each row."""
        return positive(1.0 - target * output)

    def dual(self, share: Vector, target: Vector) -> Vector:
        """Return y p."""
        return share * target

    def violation(self, output: Vector, target: Vector, share: Vector) -> Vector:
        """Return the distance of the margin from one, on the side that p forbids."""
        return _off_kink(1.0 - target * output, share * target)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 − y f)²: violations of the margin cost their square. 0 <= y p."""

    kind: ClassVar[int] = 1
    smooth: ClassVar[bool] = True

    def value(self, output: Vector, target: Vector) -> Vector:
        """Return the loss of each row."""
        return positive(1.0 - target * output) ** 2

    def dual(self, share: Vector, target: Vector) -> Vector:
        """Return y p − p² / 4."""
        return share * target - 0.25 * share**2

    def violation(self, output: Vector, target: Vector, share: Vector) -> Vector:
        """Return the distance of the shortfall from p / 2."""
        return np.abs(positive(1.0 - target * output) - 0.5 * share * target)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(−y f)): the likelihood if y = 1 has probability 1 / (1 + exp(−f))."""

    kind: ClassVar[int] = 2
    smooth: ClassVar[bool] = True

    def value(self, output: Vector, target: Vector) -> Vector:
        """Return the loss of each row, without overflow."""
        return np.logaddexp(0.0, -target * output)

    def dual(self, share: Vector, target: Vector) -> Vector:
        """Return the entropy of y p and 1 − y p."""
        a = np.clip(share * target, 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -(a * np.log(a) + (1.0 - a) * np.log1p(-a))
        return np.where((a > 0) & (a < 1), entropy, 0.0)

    def violation(self, output: Vector, target: Vector, share: Vector) -> Vector:
        """Return the distance of y p from the probability of an error."""
        error = np.exp(-np.logaddexp(0.0, target * output))
        return np.abs(error - share * target)


@dataclass(frozen=True)
class Insensitive(Loss):
    """max(0, |t − f| − epsilon): deviations inside the tube cost nothing. |p| <= 1."""

    kind: ClassVar[int] = 3
    smooth: ClassVar[bool] = False

    def value(self, output: Vector, target: Vector) -> Vector:
        """Return the loss of each row."""
        return positive(np.abs(target - output) - self.epsilon)

    def dual(self, share: Vector, target: Vector) -> Vector:
        """Return p t − epsilon |p|."""
        return share * target - self.epsilon * np.abs(share)

    def violation(self, output: Vector, target: Vector, share: Vector) -> Vector:
        """Return the distance of the deviation from the edge of the tube that p asks for."""
        side = np.where(share < 0, -1.0, 1.0)
        deviation = target - output
        inside = positive(np.abs(deviation) - self.epsilon)
        edge = _off_kink(side * deviation - self.epsilon, np.abs(share))
        return np.where(np.abs(share) <= AT_BOUND, inside, edge)


@dataclass(frozen=True)
class SquaredInsensitive(Loss):
    """max(0, |t − f| − epsilon)²; least squares for epsilon = 0."""

    kind: ClassVar[int] = 4
    smooth: ClassVar[bool] = True

    def value(self, output: Vector, target: Vector) -> Vector:
        """Return the loss of each row."""
        return positive(np.abs(target - output) - self.epsilon) ** 2

    def dual(self, share: Vector, target: Vector) -> Vector:
        """Return p t − epsilon |p| − p² / 4."""
        return share * target - self.epsilon * np.abs(share) - 0.25 * share**2

    def violation(self, output: Vector, target: Vector, share: Vector) -> Vector:
        """Return the distance of what sticks out of the tube from p / 2."""
        deviation = target - output
        out = np.sign(deviation) * positive(np.abs(deviation) - self.epsilon)
        return np.abs(out - 0.5 * share)


@dataclass(frozen=True)
class OneClass(Loss):
    """max(0, −f): rows on the wrong side of the plane. 0 <= p <= 1."""

    kind: ClassVar[int] = 5
    smooth: ClassVar[bool] = False

    def value(self, output: Vector, target: Vector) -> Vector:
        """Return the loss of each row."""
        return positive(-output)

    def dual(self, share: Vector, target: Vector) -> Vector:
        """Return 0."""
        return np.zeros_like(share)

    def violation(self, output: Vector, target: Vector, share: Vector) -> Vector:
        """Return the distance of the output from zero, on the side that p forbids."""
        return _off_kink(-output, share)


def positive(x: Vector) -> Vector:
    """Return max(0, x)."""
    return np.maximum(x, 0.0)


def _off_kink(shortfall: Vector, share: Vector) -> Vector:
    """Return how far a shortfall is from the kink at zero, unless p is at the bound of its side."""
    short, over = positive(shortfall), positive(-shortfall)
    return np.where(share < 1 - AT_BOUND, short, 0.0) + np.where(share > AT_BOUND, over, 0.0)
