"""The exact solution of one block: pair steps to find which variables are free, Newton on those.

Problem     minimise ½ dᵀKd + gᵀd over the moves d of a block, bounds on x + d, group sums fixed.
Update      a burst of pair steps (sequential minimal optimisation) finds the bounds that matter;
            then Newton steps on the variables between their bounds: Cholesky of their kernel
            matrix, the move projected back onto the box and the sums; never an increase.
Stop        the violation inside the block is at most the tolerance, or no step gains anything.
Paper       J. More, G. Toraldo, On the solution of large quadratic programming problems with bound
            constraints, SIAM J. Optimization 1 (1991): pair steps take the place of their
            projected gradient.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ... import _core

__all__ = ["finish_block"]

Vector = NDArray[np.float64]

ROUNDS = 40


def finish_block(
    kernel: Vector,
    diagonal: Vector,
    gradient: Vector,
    x: Vector,
    lower: Vector,
    upper: Vector,
    group: NDArray[np.int8],
    tolerance: float,
    stop: Callable[[], object],
) -> tuple[Vector, int]:
    """Return the block's optimal variables and the number of steps taken.

    Parameters
    ----------
    kernel : array of shape (size, padded size)
        Kernel matrix of the block.
    diagonal : array of shape (size,)
        Its exact diagonal.
    gradient, x, lower, upper, group : arrays of shape (size,)
        State of the block's variables.
    tolerance : float
        Largest violation to leave inside the block.
    stop : function
        Asked between rounds; what is returned then is only a better point.
    """
    size, width = x.size, kernel.shape[1]
    groups = int(group.max()) + 1
    x, steps = x.copy(), 0
    padded_diagonal = np.zeros(width)
    padded_diagonal[:size] = diagonal
    moving = np.zeros(width)
    for _ in range(ROUNDS):
        moving[:size] = gradient
        before = x.copy()
        taken, violation, _ = _core.solve_block(
            kernel, padded_diagonal, moving, x, lower, upper, group, groups, tolerance, 2 * size
        )
        gradient = gradient + kernel[:, :size] @ (x - before)
        steps += taken
        if violation <= tolerance or stop():
            break
        free = np.flatnonzero((x > lower) & (x < upper))
        if free.size < 2:
            continue
        face = kernel[np.ix_(free, free)]
        move = _newton_move(face, gradient[free], group[free])
        move = _best_move(
            face, gradient[free], x[free], lower[free], upper[free], group[free], move
        )
        x[free] = np.clip(x[free] + move, lower[free], upper[free])
        gradient = gradient + kernel[:, free] @ move
        steps += 1
    return x, steps


def _newton_move(face: Vector, gradient: Vector, group: NDArray[np.int8]) -> Vector:
    """Return the move to the minimum on the free variables with the sums of the groups fixed."""
    sums = np.stack([group == g for g in np.unique(group)], axis=1).astype(np.float64)
    scale = float(np.trace(face)) / face.shape[0]
    ridge = 1e-14 * scale
    while True:
        try:
            factor = cho_factor(face + ridge * np.eye(face.shape[0]), lower=True, overwrite_a=True)
            break
        except LinAlgError:
            ridge = max(100.0 * ridge, 1e-12)
    along = cho_solve(factor, np.column_stack([-gradient, sums]))
    free_move, response = along[:, 0], along[:, 1:]
    multipliers = np.linalg.lstsq(sums.T @ response, sums.T @ free_move, rcond=None)[0]
    move = np.asarray(free_move - response @ multipliers)
    # Where the kernel matrix is (nearly) singular, the difference has lost the digits that keep the
    # sums; they are given back here.
    return np.asarray(move - sums @ (sums.T @ move / sums.sum(axis=0)))


def _best_move(
    face: Vector,
    gradient: Vector,
    x: Vector,
    lower: Vector,
    upper: Vector,
    group: NDArray[np.int8],
    move: Vector,
) -> Vector:
    """Return the better of the move cut at the first bound and the move projected onto the box."""

    def change(step: Vector) -> float:
        return float(gradient @ step + 0.5 * step @ (face @ step))

    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(move > 0, (upper - x) / move, np.where(move < 0, (lower - x) / move, 1.0))
    cut = move * min(1.0, float(room.min()))
    if cut is move or float(room.min()) >= 1.0:
        best = move
    else:
        projected = _project(x + move, lower, upper, group, x) - x
        best = min((cut, projected), key=change)
    return best if change(best) < 0 else np.zeros_like(move)


def _project(
    point: Vector, lower: Vector, upper: Vector, group: NDArray[np.int8], feasible: Vector
) -> Vector:
    """Return the nearest point of the box whose group sums are those of `feasible`."""
    result = point.copy()
    for g in np.unique(group):
        members = group == g
        p, lo, hi = point[members], lower[members], upper[members]
        total = float(feasible[members].sum())
        low, high = float((p - hi).min()), float((p - lo).max())
        for _ in range(100):
            shift = 0.5 * (low + high)
            if float(np.clip(p - shift, lo, hi).sum()) > total:
                low = shift
            else:
                high = shift
        result[members] = np.clip(p - 0.5 * (low + high), lo, hi)
    return result
