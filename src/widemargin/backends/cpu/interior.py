"""An interior point method for one block, whatever its costs and however its kernel is conditioned.

Problem     minimise ½ xᵀKx + cᵀx over lower <= x <= upper, the sum of each group of variables
            fixed. With below = x - lower, above = upper - x, slacks p, q >= 0 and a multiplier y
            for each group (A holds a column of ones for each) it is solved by ::

                K x + c - A y - p + q = 0,   Aᵀx = sums,   below p = 0,   above q = 0

Update      Newton steps for these equations with both products equal to σ μ: first σ = 0 to see how
            far one may go (predictor), then σ from that and the second-order terms (corrector).
            Each takes one Cholesky factor of K + diag(p / below + q / above).
Stop        the sum of all products, which is the duality gap, is lost in the rounding of the
            objective, or no longer falls, because the numbers carry no more.
Paper       S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J.
            Optimization 2 (1992).

Where this differs from it:
1. Every point keeps the sums, so that any of them may be the last.
2. About 25 steps of size³ / 3 operations, where pair steps may need many millions: their number
   grows with the condition of K and with the costs, that of these steps does not.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

__all__ = ["interior_point"]

Vector = NDArray[np.float64]

GAP = 1e-14  # share of the objective
PATIENCE = 5  # steps in which the gap should halve
MOST_STEPS = 100
BOLDNESS = 0.995  # share of the way to the first bound
RIDGE = 1e-14  # share of the largest diagonal entry; grows where the numbers need it
LARGEST_RIDGE = 1e-6
ROUNDING = 1e-15  # share of the terms of the objective that is lost in their sum


def interior_point(
    square: Vector,
    linear: Vector,
    lower: Vector,
    upper: Vector,
    x: Vector,
    sums: Vector,
    stop: Callable[[], object],
) -> Vector:
    """Return the minimiser as far as the numbers carry; what rests at a bound is exactly there.

    Parameters
    ----------
    square : array of shape (size, size)
        Kernel matrix.
    linear, lower, upper : arrays of shape (size,)
        c and the bounds; lower < upper.
    x : array of shape (size,)
        A point that satisfies the constraints; no sum leaves all its variables at bounds.
    sums : array of shape (size, groups)
        A.
    stop : function
        Asked between steps; the answer is then the best point so far.
    """
    path = _Path(square, linear, lower, upper, x, sums)
    best, least = path.x, path.gap
    mark, idle = path.gap, 0
    for _ in range(MOST_STEPS):
        if path.gap <= GAP * abs(path.objective) or idle >= PATIENCE or stop():
            break
        try:
            path.step()
        except LinAlgError:
            break
        idle += 1
        if path.gap < 0.5 * mark:
            mark, idle = path.gap, 0
        if path.gap < least:
            best, least = path.rounded(), path.gap
    return best


class _Path:
    """A point near the central path.

    The distances from the bounds are kept beside x: near a bound a difference has no digits left.
    """

    def __init__(
        self,
        square: Vector,
        linear: Vector,
        lower: Vector,
        upper: Vector,
        x: Vector,
        sums: Vector,
    ) -> None:
        self.square, self.linear, self.lower, self.upper = square, linear, lower, upper
        self.sums, self.totals = sums, sums.T @ x
        self.x = _inside(x, lower, upper, sums)
        self.below, self.above = self.x - lower, upper - self.x
        self.product = square @ self.x
        self.ridge = RIDGE * max(float(np.diagonal(square).max()), 1e-300)
        self.largest_ridge = self.ridge * LARGEST_RIDGE / RIDGE
        gradient = self.product + linear
        self.y = sums.T @ gradient / sums.sum(axis=0)
        rest = gradient - sums @ self.y
        least = max(float(np.abs(rest).mean()), 1e-300)
        self.p, self.q = np.maximum(rest, 0.0) + least, np.maximum(-rest, 0.0) + least

    @property
    def gap(self) -> float:
        return float(self.below @ self.p + self.above @ self.q)

    @property
    def objective(self) -> float:
        return float(self.x @ (0.5 * self.product + self.linear))

    def rounded(self) -> Vector:
        """Return the point, at its bounds where the slack says that it will get there.

        Near the optimum either a distance or its slack tends to zero. The distance is the smaller
        one, in the units of the curvature, where the bound holds; rows of no length of their own
        have the mean one. Should this guess of the bounds cost more than the gap, as far as that
        can be told from rounding, it was wrong.
        """
        diagonal = np.diagonal(self.square)
        bend = np.maximum(np.maximum(diagonal, float(diagonal.mean())), 1e-300)
        x = np.where(self.below * bend <= self.p, self.lower, self.x)
        x = np.where(self.above * bend <= self.q, self.upper, x)
        for members, total in zip(self.sums.T.astype(bool), self.totals, strict=True):
            excess = float(x[members].sum() - total)
            room = x[members] - (self.lower if excess > 0 else self.upper)[members]
            inside = (x > self.lower)[members] & (x < self.upper)[members]
            room = np.where(inside, room, 0.0)
            if abs(float(room.sum())) < abs(excess):
                return self._within(self.x)
            if excess:
                x[members] -= room * (excess / float(room.sum()))
        objective = float(x @ (0.5 * (self.square @ x) + self.linear))
        terms = float(np.abs(x) @ np.abs(self.linear) + (np.abs(x) @ np.sqrt(diagonal)) ** 2)
        right = objective <= self.objective + self.gap + ROUNDING * terms
        return self._within(x if right else self.x)

    def _within(self, x: Vector) -> Vector:
        """Return the point without the last digits by which it is outside the box."""
        return np.asarray(np.clip(x, self.lower, self.upper))

    def step(self) -> None:
        """Take one step of predictor and corrector."""
        factor, response, inner = self._factor()
        rest = self.product + self.linear - self.sums @ self.y
        missing = self.totals - self.sums.T @ self.x  # by rounding

        def direction(at_lower: Vector | float, at_upper: Vector | float) -> tuple[Vector, ...]:
            right = -rest + at_lower / self.below - at_upper / self.above
            alone = dpotrs(factor, right, lower=1)[0]
            y = np.linalg.solve(inner, missing - self.sums.T @ alone)
            x = alone + response @ y
            p = at_lower / self.below - self.p - self.p / self.below * x
            q = at_upper / self.above - self.q + self.q / self.above * x
            return x, y, p, q

        x, _, p, q = direction(0.0, 0.0)
        length, dual_length = self._reaches(x, p, q)
        ahead = (self.below + length * x) @ (self.p + dual_length * p)
        ahead += (self.above - length * x) @ (self.q + dual_length * q)
        mean = self.gap / (2 * self.x.size)
        centre = (float(ahead) / self.gap) ** 3 * mean
        x, y, p, q = direction(centre - x * p, centre + x * q)
        length = BOLDNESS * min(self._reaches(x, p, q)) if self.gap > 0 else 1.0
        self.x = self.x + length * x
        self.below, self.above = self.below + length * x, self.above - length * x
        self.p, self.q = self.p + length * p, self.q + length * q
        self.y = self.y + length * y
        self.product = self.square @ self.x

    def _reaches(self, x: Vector, p: Vector, q: Vector) -> tuple[float, float]:
        """Return how much of a step keeps the distances, and how much the slacks, positive."""
        distances = min(_reach(self.below, x), _reach(self.above, -x))
        return min(1.0, distances), min(1.0, _reach(self.p, p), _reach(self.q, q))

    def _factor(self) -> tuple[Vector, Vector, Vector]:
        """Return the Cholesky factor of the step, what it makes of A, and A's product with that."""
        while True:
            matrix = self.square.copy(order="F")
            diagonal = self.p / self.below + self.q / self.above + self.ridge
            matrix[np.diag_indices_from(matrix)] += diagonal
            factor, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
            if not failed:
                response = dpotrs(factor, self.sums, lower=1)[0]
                return factor, response, self.sums.T @ response
            self.ridge *= 10.0
            if self.ridge > self.largest_ridge:
                raise LinAlgError


def _inside(x: Vector, lower: Vector, upper: Vector, sums: Vector) -> Vector:
    """Return a point well inside the box with the same sums.

    Of each group all variables lie the same share of the way between their bounds.
    """
    inside = x.copy()
    for members in sums.T.astype(bool):
        low, width = lower[members], (upper - lower)[members]
        share = float((x[members] - low).sum()) / float(width.sum())
        inside[members] = low + min(max(share, 0.0), 1.0) * width
    return inside


def _reach(point: Vector, move: Vector) -> float:
    """Return how many times the move can be made before the point turns negative."""
    falls = move < 0
    return float(np.min(-point[falls] / move[falls], initial=np.inf))
