"""The exact solution of one block: pair steps to find which variables are free, Newton on those.

Problem     minimise ½ dᵀKd + gᵀd over the moves d of a block, bounds on x + d, group sums fixed.
Update      a burst of pair steps (sequential minimal optimisation) finds the bounds that matter;
            then a Newton step on the variables between their bounds: Cholesky of their kernel
            matrix, the move cut at the first bound or projected back onto the box and the sums;
            never an increase. Where that makes no headway, because the free variables change all
            the time, an interior point method finds them first.
Stop        the violation inside the block is at most the tolerance, or nothing helps.
Paper       J. More, G. Toraldo, On the solution of large quadratic programming problems with bound
            constraints, SIAM J. Optimization 1 (1991): pair steps take the place of their
            projected gradient.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ... import _core
from .interior import interior_point

__all__ = ["BlockFinish"]

Vector = NDArray[np.float64]

PATIENCE = 3  # rounds in which the violation should halve


class BlockFinish:
    """Solves one block from its variables on; see the head of this file.

    Parameters
    ----------
    kernel : array of shape (size, padded size)
        Kernel matrix of the block.
    diagonal : array of shape (size,)
        Its exact diagonal.
    gradient, x, lower, upper, group : arrays of shape (size,)
        State of the block's variables.
    """

    def __init__(
        self,
        kernel: Vector,
        diagonal: Vector,
        gradient: Vector,
        x: Vector,
        lower: Vector,
        upper: Vector,
        group: NDArray[np.int8],
    ) -> None:
        self.kernel, self.square = kernel, kernel[:, : x.size]
        self.diagonal = np.zeros(kernel.shape[1])
        self.diagonal[: x.size] = diagonal
        self.gradient, self.x = gradient, x.copy()
        self.lower, self.upper, self.group = lower, upper, group
        self.steps = 0

    def run(self, tolerance: float, stop: Callable[[], object]) -> None:
        """Solve to a violation; `stop` is asked between long steps and ends the way before."""
        if self._newton(tolerance, stop) > tolerance and not stop():
            self._interior(stop)
            self._newton(tolerance, stop)

    def _newton(self, tolerance: float, stop: Callable[[], object]) -> float:
        """Alternate pair steps and Newton steps while that helps; return the violation left."""
        best, idle = np.inf, 0
        while True:
            violation = self._burst(tolerance)
            idle = 0 if violation < 0.5 * best else idle + 1
            best = min(best, violation)
            if violation <= tolerance or idle >= PATIENCE or stop():
                return violation
            free = np.flatnonzero((self.x > self.lower) & (self.x < self.upper))
            if free.size > 1:
                self._step(free)

    def _burst(self, tolerance: float) -> float:
        moving = np.zeros(self.kernel.shape[1])
        moving[: self.x.size] = self.gradient
        before = self.x.copy()
        taken, violation, _ = _core.solve_block(
            self.kernel,
            self.diagonal,
            moving,
            self.x,
            self.lower,
            self.upper,
            self.group,
            int(self.group.max()) + 1,
            tolerance,
            2 * self.x.size,
        )
        self.gradient = self.gradient + self.square @ (self.x - before)
        self.steps += taken
        return float(violation)

    def _step(self, free: NDArray[np.int64]) -> None:
        face, gradient, group = (
            self.square[np.ix_(free, free)],
            self.gradient[free],
            self.group[free],
        )
        x, lower, upper = self.x[free], self.lower[free], self.upper[free]
        move = _newton_move(face, gradient, group)
        move = _best_move(face, gradient, x, lower, upper, group, move)
        self.x[free] = np.clip(x + move, lower, upper)
        self.gradient = self.gradient + self.square[:, free] @ move
        self.steps += 1

    def _interior(self, stop: Callable[[], object]) -> None:
        """Go to the optimum along the central path, where the variables have room to move."""
        moving = self.lower < self.upper
        for g in np.unique(self.group):
            members = self.group == g
            bounds = self.lower[members], self.upper[members]
            total = float(self.x[members].sum())
            if not float(bounds[0].sum()) < total < float(bounds[1].sum()):
                moving &= ~members
        at = np.flatnonzero(moving)
        if at.size < 2:
            return
        square, groups = self.square[np.ix_(at, at)], self.group[at]
        target = interior_point(
            square,
            self.gradient[at] - square @ self.x[at],
            self.lower[at],
            self.upper[at],
            self.x[at],
            np.stack([groups == g for g in np.unique(groups)], axis=1).astype(np.float64),
            stop,
        )
        move = target - self.x[at]
        if float(self.gradient[at] @ move + 0.5 * move @ (square @ move)) < 0:
            self.x[at] = target
            self.gradient = self.gradient + self.square[:, at] @ move
            self.steps += 1


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
        projected = _project(x + move, lower, upper, group, x)
        # A long move leaves its sum no digits; projecting what has come into the box finds them.
        projected = _project(projected, lower, upper, group, x) - x
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
