"""The exact solution of one block of a joint machine, where row by row would take too long.

Problem     minimise ½ sum_k d_kᵀ K d_k + sum_k g_kᵀ d_k over the moves d of a block's coefficients
            a, with a_ik + d_ik <= u_ik and sum_k d_ik = 0 for each row.
Update      a burst of row steps finds the bounds that matter; then a Newton step on the others. If
            row i has free classes S_i, one of them, r_i, takes up the moves of the rest: a move
            adds e_k - e_r to the row's coefficients, and its Hessian is
            K_ij <e_k - e_{r_i}, e_l - e_{r_j}>. The step is cut at the first bound or projected
            onto the constraints, whichever gains more. Where that makes no headway, because the
            free coefficients change all the time, an interior point method finds them first.
Stop        the violation inside the block is at most the tolerance, or nothing helps.
Paper       J. More, G. Toraldo, On the solution of large quadratic programming problems with bound
            constraints, SIAM J. Optimization 1 (1991): row steps take the place of their
            projected gradient.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ... import _core
from .joint_interior import interior_point

__all__ = ["UNKNOWNS", "JointFinish", "upper_bounds"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

PATIENCE = 4  # rounds in which the violation should halve
UNKNOWNS = 2048  # of one Newton step
SHARES = 0.5 ** np.arange(8)  # of a Newton step, tried if the whole one meets bounds


def upper_bounds(labels: Ids, costs: Vector, classes: int) -> Vector:
    """Return u_ik = C_i [k = y_i], shape (classes, rows)."""
    return np.where(labels == np.arange(classes)[:, None], costs, 0.0)


class JointFinish:
    """Solves one block from its coefficients on; see the head of this file.

    Parameters
    ----------
    kernel : array of shape (size, padded size)
        Kernel matrix of the block.
    diagonal, labels, costs : arrays of shape (size,)
        What belongs to the block's rows; costs are positive.
    gradient, a : arrays of shape (classes, size)
        State of the block's coefficients.
    """

    def __init__(
        self,
        kernel: Vector,
        diagonal: Vector,
        gradient: Vector,
        a: Vector,
        labels: Ids,
        costs: Vector,
    ) -> None:
        self.kernel, self.square = kernel, kernel[:, : labels.size]
        self.diagonal, self.labels, self.costs = diagonal, labels, costs
        self.upper = upper_bounds(labels, costs, a.shape[0])
        self.a, self.gradient = a.copy(), gradient
        self.steps = 0

    def interior(self, stop: Callable[[], object]) -> None:
        """Go to the optimum along the central path; `stop` ends the way before."""
        linear = self.gradient - self.a @ self.square
        central = interior_point(self.square, linear, self.upper, stop)
        if central is not None:
            move = central - self.a
            if self._change(move) < 0:
                self._take(move)

    def newton(self, tolerance: float) -> float:
        """Alternate row steps and Newton steps while that helps; return the violation left."""
        best, idle = np.inf, 0
        while True:
            violation = self._burst(tolerance)
            idle = 0 if violation < 0.5 * best else idle + 1
            best = min(best, violation)
            if violation <= tolerance or idle >= PATIENCE:
                return violation
            move = self._newton_move()
            if move is not None:
                self._take(self._best_of(move))

    def _burst(self, tolerance: float) -> float:
        before = self.a.copy()
        steps, violation = _core.solve_joint_block(
            self.kernel,
            self.diagonal,
            self.gradient,
            self.a,
            self.labels,
            self.costs,
            tolerance,
            2 * self.labels.size,
        )
        self.gradient = self.gradient + (self.a - before) @ self.square
        self.steps += steps
        return float(violation)

    def _take(self, move: Vector) -> None:
        self.a = np.minimum(self.a + move, self.upper)  # room rounds, the bounds must not
        self.gradient = self.gradient + move @ self.square
        self.steps += 1

    def _change(self, move: Vector) -> float:
        return float(np.vdot(self.gradient, move) + 0.5 * np.vdot(move, move @ self.square))

    def _newton_move(self) -> Vector | None:
        """Return the move to the minimum over the free coefficients, or None if none are."""
        room = self.upper - self.a
        free = room > 0
        reference = np.argmax(room, axis=0)
        free[reference, np.arange(reference.size)] = False
        classes, rows = np.nonzero(free)
        if not 0 < rows.size <= UNKNOWNS:
            return None
        partner = reference[rows]
        units = np.eye(room.shape[0])
        directions = units[classes] - units[partner]
        hessian = self.square[np.ix_(rows, rows)] * (directions @ directions.T)
        by = _solve(hessian, self.gradient[partner, rows] - self.gradient[classes, rows])
        move = np.zeros_like(room)
        move[classes, rows] = by
        np.subtract.at(move, (partner, rows), by)
        return move

    def _best_of(self, move: Vector) -> Vector:
        """Return the best of the move cut at the first bound and shares of it projected."""
        room = self.upper - self.a
        length = np.divide(room, move, out=np.full_like(move, np.inf), where=move > 0).min()
        steps = [np.minimum(min(1.0, float(length)) * move, room), np.zeros_like(move)]
        if length < 1.0:
            steps += [project(self.a + s * move, self.upper) - self.a for s in SHARES]
        return min(steps, key=self._change)


def _solve(hessian: Vector, right: Vector) -> Vector:
    """Solve with as small a ridge as makes the matrix definite."""
    ridge = 1e-14 * float(np.trace(hessian)) / right.size
    while True:
        try:
            shifted = hessian + ridge * np.eye(right.size)
            return np.asarray(cho_solve(cho_factor(shifted, lower=True, overwrite_a=True), right))
        except LinAlgError:
            ridge = max(100.0 * ridge, 1e-12)


def project(point: Vector, upper: Vector) -> Vector:
    """Return the nearest point with a <= u and sum_k a_ik = 0 in each row (column here).

    u - a is the projection of u - point onto the simplex of sum C: its largest entries, lowered
    by one threshold.
    """
    z = upper - point
    total = upper.sum(axis=0)
    falling = -np.sort(-z, axis=0)
    levels = (np.cumsum(falling, axis=0) - total) / np.arange(1, z.shape[0] + 1)[:, None]
    count = np.maximum((falling > levels).sum(axis=0), 1)
    level = levels[count - 1, np.arange(z.shape[1])]
    return upper - np.maximum(z - level, 0.0)
