"""An interior point method for the joint multiclass machine on few rows, whatever the costs.

Problem     minimise ½ sum_k a_kᵀ K a_k + sum_k c_kᵀ a_k over a <= u, sum_k a_ik = 0 in each row.
            With room v = u - a, slacks s >= 0 and a level l_i for each row it is solved by ::

                K a_k + c_k + s_k = l,   sum_k a_ik = 0,   v_ik s_ik = 0

Update      Newton steps for these equations with v_ik s_ik = σ μ, first σ = 0 to see how far one
            may go (predictor), then σ from that and the second-order term (corrector). With
            D_k = diag(s_k / v_k) they need the inverses of K + D_k and of their sum.
Stop        sum v s, which is the duality gap, is lost in the rounding of the objective, or no
            longer falls, because the numbers carry no more.
Paper       S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J.
            Optimization 2 (1992).

It takes about 25 steps of some (classes + 1) rows³ operations, where steps along rows would need
millions.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotri

__all__ = ["interior_point"]

Vector = NDArray[np.float64]

GAP = 1e-13  # share of the objective
PATIENCE = 5  # steps in which the gap should halve
RIDGE = 1e-14  # share of the largest diagonal entry; grows where the numbers need it
LARGEST_RIDGE = 1e-6


def interior_point(
    square: Vector, linear: Vector, upper: Vector, stop: Callable[[], object]
) -> Vector | None:
    """Return the optimal coefficients, as far as the numbers carry, or None if stopped.

    Parameters
    ----------
    square : array of shape (rows, rows)
        Kernel matrix.
    linear, upper : arrays of shape (classes, rows)
        c and u; every row needs one class with u > 0.
    stop : function
        Asked between steps.
    """
    path = _Path(square, linear, upper)
    best, least = path.rounded(upper), path.gap
    mark, idle = path.gap, 0
    while path.gap > GAP * abs(path.objective) and idle < PATIENCE:
        if stop():
            return None
        try:
            path.step()
        except LinAlgError:
            break
        idle += 1
        if path.gap < 0.5 * mark:
            mark, idle = path.gap, 0
        if path.gap < least:
            best, least = path.rounded(upper), path.gap
    return best


class _Path:
    """A point near the central path."""

    def __init__(self, square: Vector, linear: Vector, upper: Vector) -> None:
        self.square, self.linear = square, linear
        self.ridge = RIDGE * max(float(np.diagonal(square).max()), 1e-300)
        self.largest_ridge = self.ridge * LARGEST_RIDGE / RIDGE
        classes = linear.shape[0]
        self.room = np.tile(upper.sum(axis=0) / classes, (classes, 1))
        self.a = upper - self.room
        gradient = self.gradient
        highest = gradient.max(axis=0)
        self.level = highest + (highest - gradient).mean(axis=0) + 1.0
        self.slack = self.level - gradient

    @property
    def gradient(self) -> Vector:
        return np.asarray(self.a @ self.square + self.linear)

    @property
    def gap(self) -> float:
        return float(np.vdot(self.room, self.slack))

    @property
    def objective(self) -> float:
        return 0.5 * float(np.vdot(self.a, self.gradient + self.linear))

    def rounded(self, upper: Vector) -> Vector:
        """Return a feasible point; at their bounds are those whose room one step would use up."""
        at_bound = self.room * np.diagonal(self.square) <= self.slack
        a = np.where(at_bound, upper, np.minimum(self.a, upper))
        a[self.room.argmax(axis=0), np.arange(a.shape[1])] -= a.sum(axis=0)
        return a

    def step(self) -> None:
        """Take one step of predictor and corrector."""
        inverses, total = self._factors()
        gradient = self.gradient
        excess = self.a.sum(axis=0)

        def direction(centre: Vector | float) -> tuple[Vector, Vector, Vector]:
            right = self.level - gradient - centre / self.room
            alone = np.stack([_times(m, r) for m, r in zip(inverses, right, strict=True)])
            level = cho_solve((total, True), -alone.sum(axis=0) - excess)
            a = alone + np.stack([_times(m, level) for m in inverses])
            slack = centre / self.room - self.slack + self.slack / self.room * a
            return a, slack, level

        a, slack, _ = direction(0.0)
        room_ahead = self.room - min(1.0, _reach(self.room, -a)) * a
        slack_ahead = self.slack + min(1.0, _reach(self.slack, slack)) * slack
        mean = self.gap / self.room.size
        share = float(np.vdot(room_ahead, slack_ahead)) / self.gap
        a, slack, level = direction(share**3 * mean + a * slack)
        length = min(1.0, 0.995 * min(_reach(self.room, -a), _reach(self.slack, slack)))
        self.a = self.a + length * a
        self.room = self.room - length * a
        self.slack = self.slack + length * slack
        self.level = self.level + length * level

    def _factors(self) -> tuple[list[Vector], Vector]:
        """Return the inverse of K + D_k for each class, and the Cholesky factor of their sum."""
        while True:
            try:
                diagonals = self.slack / self.room + self.ridge
                inverses = [_inverse(self.square, diagonal) for diagonal in diagonals]
                return inverses, _factor(sum(inverses[1:], inverses[0]))
            except LinAlgError:
                self.ridge *= 10.0
                if self.ridge > self.largest_ridge:
                    raise


# Of symmetric matrices only the lower half is kept up.


def _factor(matrix: Vector) -> Vector:
    factor, failed = dpotrf(matrix, lower=1, clean=0)
    if failed:
        raise LinAlgError
    return np.asarray(factor)


def _inverse(square: Vector, diagonal: Vector) -> Vector:
    matrix = square.copy(order="F")
    matrix[np.diag_indices_from(matrix)] += diagonal
    return np.asarray(dpotri(_factor(matrix), lower=1)[0])


def _times(half: Vector, vector: Vector) -> Vector:
    return np.asarray(dsymv(1.0, half, vector, lower=1))


def _reach(point: Vector, move: Vector) -> float:
    """Return how many times the move can be made before the point turns negative."""
    falls = move < 0
    return float(np.min(-point[falls] / move[falls], initial=np.inf))
