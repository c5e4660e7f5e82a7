"""The certificate of a point: objectives, gap, and where the optimal bias can lie.

For any multipliers b, with gradient g = K x + linear and r = g + b (b of the variable's group), ::

    gap = sum over variables of max((x - lower) r, (x - upper) r) >= 0

is the primal objective of the machine (w, b) minus the dual objective of x. Every term is at least
zero, so nothing cancels. The best b for given x minimises this convex, piecewise linear sum: a
weighted quantile of -g.
"""

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import Problem
from ...solution import Certificate

__all__ = ["certificate_of", "certify"]

Vector = NDArray[np.float64]
Told = tuple[float, float, float, float, list[tuple[float, float, float]]]


def certify(
    problem: Problem, x: Vector, outputs: Vector, diagonal: Vector, threads: int
) -> Certificate:
    """Return the certificate of `x`, given its outputs K x in float64.

    From ½||w - w*||² <= gap, no output is further than sqrt(2 gap k(z,z)) from the optimal one. The
    weighted quantile is monotone in its points, so moving them all by that much one way and the
    other encloses the optimal multipliers.
    """
    p = problem
    return certificate_of(
        p,
        _core.certify(outputs, p.linear, p.lower, p.upper, x, p.group, p.groups, diagonal, threads),
    )


def certificate_of(problem: Problem, told: Told) -> Certificate:
    """Return the certificate from the sums that the core found."""
    gap, quadratic, linear, violation, found = told
    multipliers = tuple(value for value, _, _ in found)
    dual = -(0.5 * quadratic + linear)
    return Certificate(
        primal=dual + gap,
        dual=dual,
        violation=violation / problem.scale(multipliers),
        multipliers=multipliers,
        multiplier_range=tuple((low, high) for _, low, high in found),
    )
