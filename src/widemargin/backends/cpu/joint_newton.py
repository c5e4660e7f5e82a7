"""The exact solution of one block of a joint machine, where row by row would take too long.

Problem     minimise ½ sum_k d_kᵀ K d_k + sum_k g_kᵀ d_k over the moves d of a block's coefficients
            a, with a_ik + d_ik <= u_ik and sum_k d_ik = 0 for each row.
Update      a burst of row steps finds the bounds that matter; then Newton steps on the others. If
            row i has free classes S_i, one of them, r_i, takes up the moves of the rest: a move
            adds e_k - e_r to the row's coefficients, and its Hessian is
            K_ij <e_k - e_{r_i}, e_l - e_{r_j}>. The step is cut at the first bound or projected
            onto the constraints, whichever gains more.
Stop        the violation inside the block is at most the tolerance, or no rounds are left.
Paper       J. More, G. Toraldo, On the solution of large quadratic programming problems with bound
            constraints, SIAM J. Optimization 1 (1991): row steps take the place of their
            projected gradient.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ... import _core

__all__ = ["EXACT_MOVES", "finish_joint", "upper_bounds"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

ROUNDS = 40
EXACT_MOVES = 2048  # unknowns of one Newton step


def upper_bounds(labels: Ids, costs: Vector, classes: int) -> Vector:
    """Return u_ik = C_i [k = y_i], shape (classes, rows)."""
    return np.where(labels == np.arange(classes)[:, None], costs, 0.0)


def finish_joint(
    kernel: Vector,
    diagonal: Vector,
    gradient: Vector,
    a: Vector,
    labels: Ids,
    costs: Vector,
    tolerance: float,
) -> tuple[Vector, int, float]:
    """Return the block's optimal coefficients, the number of steps taken and the violation left.

    Parameters
    ----------
    kernel : array of shape (size, padded size)
        Kernel matrix of the block.
    diagonal, labels, costs : arrays of shape (size,)
        What belongs to the block's rows.
    gradient, a : arrays of shape (classes, size)
        State of the block's coefficients.
    tolerance : float
        Largest violation to leave inside the block.
    """
    size, steps = a.shape[1], 0
    upper = upper_bounds(labels, costs, a.shape[0])
    a, square = a.copy(), kernel[:, :size]
    for _ in range(ROUNDS):
        before = a.copy()
        taken, violation = _core.solve_joint_block(
            kernel, diagonal, gradient, a, labels, costs, tolerance, 2 * size
        )
        gradient = gradient + (a - before) @ square
        steps += taken
        if violation <= tolerance:
            break
        move = _newton_move(square, gradient, a, upper)
        if move is None:
            continue
        move = _best_move(square, gradient, a, upper, move)
        a += move
        gradient = gradient + move @ square
        steps += 1
    return a, steps, violation


def _newton_move(square: Vector, gradient: Vector, a: Vector, upper: Vector) -> Vector | None:
    """Return the move to the minimum over the free coefficients, or None if none are."""
    free = a < upper
    reference = np.argmax(upper - a, axis=0)
    free[reference, np.arange(a.shape[1])] = False
    classes, rows = np.nonzero(free)
    classes, rows = classes[:EXACT_MOVES], rows[:EXACT_MOVES]
    if rows.size == 0:
        return None
    partner = reference[rows]
    units = np.eye(a.shape[0])
    directions = units[classes] - units[partner]
    hessian = square[np.ix_(rows, rows)] * (directions @ directions.T)
    by = _solve(hessian, gradient[partner, rows] - gradient[classes, rows])
    move = np.zeros_like(a)
    move[classes, rows] = by
    np.subtract.at(move, (partner, rows), by)
    return move


def _solve(hessian: Vector, right: Vector) -> Vector:
    """Solve with as small a ridge as makes the matrix definite."""
    ridge = 1e-14 * float(np.trace(hessian)) / right.size
    while True:
        try:
            shifted = hessian + ridge * np.eye(right.size)
            return np.asarray(cho_solve(cho_factor(shifted, lower=True, overwrite_a=True), right))
        except LinAlgError:
            ridge = max(100.0 * ridge, 1e-12)


def _best_move(square: Vector, gradient: Vector, a: Vector, upper: Vector, move: Vector) -> Vector:
    """Return the better of the move cut at the first bound and the move projected, or no move."""

    def change(step: Vector) -> float:
        return float(np.vdot(gradient, step) + 0.5 * np.vdot(step, step @ square))

    room = np.divide(upper - a, move, out=np.full_like(a, np.inf), where=move > 0)
    cut = np.minimum(a + min(1.0, float(room.min())) * move, upper) - a
    best = min((cut, project(a + move, upper) - a, np.zeros_like(a)), key=change)
    return best


def project(point: Vector, upper: Vector) -> Vector:
    """Return the nearest point with a <= u and sum_k a_ik = 0 in each row (column here).

    u - a is the projection of u - point onto the simplex of sum C: the largest entries, reduced
    by one threshold.
    """
    z = upper - point
    total = upper.sum(axis=0)
    falling = -np.sort(-z, axis=0)
    levels = (np.cumsum(falling, axis=0) - total) / np.arange(1, z.shape[0] + 1)[:, None]
    count = np.maximum((falling > levels).sum(axis=0), 1)
    level = levels[count - 1, np.arange(z.shape[1])]
    return upper - np.maximum(z - level, 0.0)
