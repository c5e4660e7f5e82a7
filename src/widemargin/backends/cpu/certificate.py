"""The certificate of a point: objectives, gap, and where the optimal bias can lie.

For any multipliers b, with gradient g = K x + linear and r = g + b (b of the variable's group), ::

    gap = sum over variables of max((x - lower) r, (x - upper) r) >= 0

is the primal objective of the machine (w, b) minus the dual objective of x. Every term is at least
zero, so nothing cancels. The best b for given x minimises this convex, piecewise linear sum: a
weighted quantile of -g.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import Problem
from ...solution import Certificate

__all__ = ["certify"]

Vector = NDArray[np.float64]


def certify(
    problem: Problem, x: Vector, outputs: Vector, diagonal: Vector, threads: int
) -> Certificate:
    """Return the certificate of `x`, given its outputs K x in float64.

    From ½||w - w*||² <= gap, no output is further than sqrt(2 gap k(z,z)) from the optimal one. The
    weighted quantile is monotone in its points, so moving them all by that much one way and the
    other encloses the optimal multipliers.
    """
    box = _core.box(
        outputs, problem.linear, problem.lower, problem.upper, x, problem.group, problem.groups
    )
    reaches = box.reach(threads)
    violation = max(0.0, *(high - low for low, high, _, _ in reaches))
    gradient = np.tile(outputs, problem.sides) + problem.linear
    piles = []
    for g, (_, _, free_sum, free_count) in enumerate(reaches):
        members = np.flatnonzero(problem.group == g)
        pile = _Pile.of(problem, x, members)
        ends = pile.best(-gradient[members])
        inside = -free_sum / free_count if free_count else _middle(*ends)
        piles.append((members, pile, float(np.clip(inside, *ends))))
    multipliers = [value for _, _, value in piles]
    gap, quadratic, linear = box.sums(multipliers, threads)
    dual = -(0.5 * quadratic + linear)
    reach = np.tile(np.sqrt(2.0 * gap * np.maximum(diagonal, 0.0)), problem.sides)
    ranges = [
        (
            pile.best(-gradient[members] - reach[members])[0],
            pile.best(-gradient[members] + reach[members])[1],
        )
        for members, pile, _ in piles
    ]
    return Certificate(
        primal=dual + gap,
        dual=dual,
        violation=violation / problem.scale(multipliers),
        multipliers=tuple(multipliers),
        multiplier_range=tuple(
            (min(low, m), max(high, m)) for (low, high), m in zip(ranges, multipliers, strict=True)
        ),
    )


@dataclass(frozen=True)
class _Pile:
    """The weights of one group's weighted quantile: bound widths, and where the slope starts."""

    width: Vector
    first_slope: float

    @classmethod
    def of(cls, problem: Problem, x: Vector, members: NDArray[np.int64]) -> "_Pile":
        width = problem.upper[members] - problem.lower[members]
        return cls(width, -float((problem.upper[members] - x[members]).sum()))

    def best(self, points: Vector) -> tuple[float, float]:
        """Return the ends of the interval of multipliers that minimise the gap."""
        flat = 1e-12 * max(float(self.width.sum()), 1e-300)
        return _core.weighted_quantile(points, self.width, self.first_slope, flat)


def _middle(low: float, high: float) -> float:
    return 0.5 * (low + high)
