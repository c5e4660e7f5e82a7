"""All free dual variables of a linear machine moved at once: what descent takes many epochs for.

A row is free if its dual variable u lies strictly between its bounds. The moves m of all free rows
that reach the optimum of theirs, the others resting, solve ::

    (X Xᵀ / l2 + bend + damping · diagonal) m + bias = t − X w − bend u,   sum(u + m) = bias / reach

with the free rows in X, bend the curvature of a squared loss's conjugate, and reach infinite if
the bias is free. Moves beyond a bound end there, and the rest is solved for again; a line search
between here and there then gains for certain. The damping keeps rows that are nearly dependent from
going far for little. Up to `MOST_FACTORED` rows are solved for by a Cholesky factor of their dot
products each round; more of them by conjugate gradients, preconditioned by the diagonal, of which
each step is two passes over the free rows: they need no dot products, and far fewer passes than
descent, for their number grows with the root of the condition instead of the condition.
"""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...losses import Insensitive, Loss, OneClass, SquaredHinge, SquaredInsensitive
from ...problem import LinearProblem
from .linear_rows import LinearRows
from .linear_systems import solve_positive

__all__ = ["FreeRows", "bounds_of", "free_rows", "line_search", "settling_work"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

MOST_FACTORED = 3000  # three matrices of that size are held
ROUNDS, FEW_ROUNDS = 8, 3  # the latter with conjugate gradients
ACCURACY, LEAST_DAMPING = 1e-2, 1e-5  # of conjugate gradients
FACTOR_WORK = 60.0  # multiplications of a factor that take as long as descent on one entry of X
PAIR_WORK = 8.0
CONJUGATE_WORK = 100.0  # passes over the free rows: about as many as a settling takes


class FreeRows:
    """The free rows: their system, what pulls at them, and how far each may move.

    Parameters
    ----------
    data : LinearRows
        All rows.
    problem : LinearProblem
        Loss, targets, costs and penalties.
    ids : array
        Numbers of the free rows.
    dual, weights : array
        The present point.
    steps : int
        Largest number of steps of conjugate gradients.
    """

    rounds: int

    def __init__(
        self,
        data: LinearRows,
        problem: LinearProblem,
        ids: Ids,
        dual: Vector,
        weights: Vector,
        steps: int,
    ) -> None:
        loss, u, costs = problem.loss, dual[ids], problem.costs[ids]
        self.data, self.l2, self.ids, self.steps = data, problem.l2, ids, steps
        self.bend = 0.5 / costs if _squared(loss) else np.zeros(ids.size)
        low, high = (bound[ids] for bound in bounds_of(problem))
        aim = np.zeros(ids.size) if isinstance(loss, OneClass) else problem.targets[ids]
        if isinstance(loss, Insensitive | SquaredInsensitive):  # zero is a kink
            low, high = np.where(u > 0, 0.0, low), np.where(u < 0, 0.0, high)
            aim = aim - np.sign(u) * loss.epsilon
        self.pull = aim - data.times_of(ids, weights) - self.bend * u
        self.least, self.most = low - u, high - u

    def move(self, damping: float, excess: float, stiffness: float | None) -> tuple[Vector, float]:
        """Return the moves of all, within their bounds, and the bias that goes with them.

        `excess` is the sum of all dual variables less the tilt, `stiffness` what multiplies the
        bias in the last equation: 0 for a free bias, None without one.
        """
        moves, inside, bias = np.zeros(self.ids.size), np.ones(self.ids.size, dtype=bool), 0.0
        for _ in range(self.rounds):
            self.data.pause()
            at = np.flatnonzero(inside)
            if at.size == 0:
                break
            fixed = np.where(inside, 0.0, moves)
            pull = self.pull[at] - self.times(fixed)[at] if fixed.any() else self.pull[at]
            sides = np.stack([pull, np.ones(at.size)][: 1 if stiffness is None else 2])
            wanted = self.solve(at, sides, damping)
            if stiffness is not None:
                both = float(wanted[1].sum()) + stiffness
                bias = (excess + float(fixed.sum()) + float(wanted[0].sum())) / both
                wanted[0] -= bias * wanted[1]
            moves[at] = np.clip(wanted[0], self.least[at], self.most[at])
            beyond = moves[at] != wanted[0]
            if not beyond.any():
                break
            inside[at[beyond]] = False
        return moves, bias

    def times(self, moves: Vector) -> Vector:
        """Return the product of the dot products over l2 with a vector."""
        raise NotImplementedError

    def solve(self, at: Ids, sides: Vector, damping: float) -> Vector:
        """Return the solutions of the system of some of the rows, for each right side."""
        raise NotImplementedError


class FactoredRows(FreeRows):
    """Few free rows: the matrix of their dot products is formed, and factored."""

    rounds = ROUNDS

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        scale = np.full(self.data.features, 1.0 / self.l2)
        self.products = self.data.products_of(self.ids, scale)

    def times(self, moves: Vector) -> Vector:
        """Return the product of the dot products over l2 with a vector."""
        return np.asarray(self.products @ moves)

    def solve(self, at: Ids, sides: Vector, damping: float) -> Vector:
        """Return the solutions of the system of some of the rows, for each right side."""
        system = self.products[np.ix_(at, at)]
        diagonal = np.einsum("ii->i", system)
        diagonal += damping * diagonal + self.bend[at]
        return solve_positive(system, sides, self.data.threads)


class ManyRows(FreeRows):
    """Many free rows: conjugate gradients."""

    rounds = FEW_ROUNDS

    def times(self, moves: Vector) -> Vector:
        """Return the product of the dot products over l2 with a vector."""
        return self.data.times_of(self.ids, self.data.transposed_of(self.ids, moves) / self.l2)

    def solve(self, at: Ids, sides: Vector, damping: float) -> Vector:
        """Return the solutions of the system of some of the rows, for each right side."""
        part = copy(self)
        part.ids = self.ids[at]
        norms = self.data.norms()[part.ids] / self.l2
        extra = max(damping, LEAST_DAMPING) * norms + self.bend[at]
        return np.stack([part.conjugate(side, extra, norms + extra) for side in sides])

    def conjugate(self, side: Vector, extra: Vector, diagonal: Vector) -> Vector:
        """Solve for one right side; `extra` is what the diagonal has beside the dot products."""
        x, rest = np.zeros(side.size), side.copy()
        along = rest / diagonal
        strength = float(rest @ along)
        enough = ACCURACY**2 * strength
        for _ in range(self.steps):
            if strength <= enough:
                break
            bent = self.times(along) + extra * along
            length = strength / float(along @ bent)
            x += length * along
            rest -= length * bent
            whitened = rest / diagonal
            before, strength = strength, float(rest @ whitened)
            along = whitened + (strength / before) * along
        return x


def free_rows(data: LinearRows, problem: LinearProblem, ids: Ids, *point: Any) -> FreeRows:
    """Return the system of the rows `ids` at a point: dual variables, weights; then steps."""
    kind = FactoredRows if ids.size <= MOST_FACTORED else ManyRows
    return kind(data, problem, ids, *point)


def bounds_of(problem: LinearProblem) -> tuple[Vector, Vector]:
    """Return the least and the largest value of each dual variable."""
    costs, loss = problem.costs, problem.loss
    most = np.full(costs.size, np.inf) if _squared(loss) else costs
    if isinstance(loss, Insensitive | SquaredInsensitive):
        return -most, most
    positive = np.full(costs.size, isinstance(loss, OneClass)) | (problem.targets > 0)
    return np.where(positive, 0.0, -most), np.where(positive, most, 0.0)


def line_search(free: FreeRows, moves: Vector, change: Vector, bias: float, reach: float) -> float:
    """Return the best step, at most 1; `change` is that of the weights, `bias` the present one."""
    slope, total = float((free.pull - bias) @ moves), float(moves.sum())
    curve = free.l2 * float(change @ change) + float(free.bend @ moves**2) + reach * total**2
    return float(np.clip(slope / curve, 0.0, 1.0)) if curve > 0 else 0.0


def settling_work(free: int, entries: float) -> float:
    """Return what a settling costs, in entries of X that descent visits in the same time."""
    if free > MOST_FACTORED:
        return CONJUGATE_WORK * free * entries
    return free**3 / FACTOR_WORK + free**2 * entries / PAIR_WORK


def _squared(loss: Loss) -> bool:
    return isinstance(loss, SquaredHinge | SquaredInsensitive)
