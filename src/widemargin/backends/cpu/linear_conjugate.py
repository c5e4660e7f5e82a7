"""Newton steps by conjugate gradients inside a trust region, where there are many features.

Problem     (L + Xᵀ H X) move = −gradient, not to be formed: H holds the curvature of the rows, and
            only rows with a curvature (those inside the margin of a hinge) are read for a product.
Update      along the conjugate directions of the system whitened by its diagonal. They leave the
            region ``moveᵀ D move <= radius²``, D being that diagonal, at most once: there the
            minimum on its border ends the step.
Stop        the whitened residual has fallen to a share of the whitened gradient.
Papers      T. Steihaug, The conjugate gradient method and trust regions in large scale
            optimization, SIAM J. Numer. Anal. 20 (1983); C.-J. Lin, R. C. Weng, S. S. Keerthi,
            Trust region Newton method for logistic regression, JMLR 9 (2008); C.-Y. Hsia, W.-L.
            Chiang, C.-J. Lin, Preconditioned conjugate gradient methods in truncated Newton
            frameworks for large-scale linear classification, ACML 2018.

Where this differs from them:
1. A step is never refused: outputs along a ray are known, so an exact search finds its best length,
   and the next radius is a multiple of it. The radius only keeps conjugate gradients from solving
   a model exactly that holds for a far shorter step.
2. The size ``moveᵀ D move`` is followed by recurrence and costs nothing.
"""

from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from ... import _core
from .linear_rows import LinearRows

__all__ = ["TrustRegion", "conjugate_direction"]

Vector = NDArray[np.float64]

MOST_STEPS = 250
LEAST_DIAGONAL = 1e-12
FURTHER = 4.0  # the next step may be so many times as long as the last one


class TrustRegion:
    """How long a step may be, in the norm of the diagonal of its own system."""

    def __init__(self) -> None:
        self.radius, self.size = inf, 0.0

    def took(self, length: float) -> None:
        """Take in which share of the last step was the best one."""
        if self.size > 0 and (length < 1 or self.radius < inf):
            self.radius = max(FURTHER * length * self.size, 0.0)


def conjugate_direction(
    rows: LinearRows,
    curvature: Vector,
    gradient: Vector,
    l2: Vector,
    accuracy: float,
    region: TrustRegion,
) -> Vector:
    """Return the step; each product with the matrix is one pass over the rows with a curvature.

    Parameters
    ----------
    rows : LinearRows
        Data.
    curvature, gradient, l2 : array
        Of each row; of each coefficient (the last is the bias if there is one more than features).
    accuracy : float
        Share of the whitened gradient that may be left.
    region : TrustRegion
        Bounds the step, and is told its size.
    """
    d, size, threads = rows.features, l2.size, rows.threads
    diagonal = l2.copy()
    diagonal[:d] += rows.weighted_squares(curvature)
    diagonal[d:] += curvature.sum()
    inverse = 1.0 / np.maximum(diagonal, LEAST_DIAGONAL)
    move, residual, bent = np.zeros(size), -gradient, np.empty(size)
    along = inverse * residual
    state = _core.conjugate(l2, inverse, move, residual, along, bent)
    strength = float(residual @ along)
    enough = accuracy**2 * strength
    squared, across, straight = 0.0, 0.0, strength  # of move, of both, of along: in the norm of D
    for _ in range(MOST_STEPS):
        bias = float(along[d]) if size > d else 0.0
        bent[:] = rows.curvature_times(curvature, along[:d], bias)[:size]
        bend = _core.bend_along(state, threads)
        if bend <= 0:
            break
        length = strength / bend
        ahead = squared + length * (2.0 * across + length * straight)
        if ahead > region.radius**2:
            room = max(region.radius**2 - squared, 0.0)
            length = room / (across + sqrt(across**2 + straight * room))
            _core.advance(state, length, threads)
            squared = region.radius**2
            break
        before, strength = strength, _core.advance(state, length, threads)
        squared = ahead
        if strength <= enough:
            break
        share = strength / before
        across = share * (across + length * straight)
        straight = strength + share**2 * straight
        _core.turn(state, share, threads)
    region.size = sqrt(squared)
    return move
