"""All free dual variables of a linear machine moved at once: what descent takes many epochs for.

A row is free if its dual variable u lies strictly between its bounds. The moves m of all free rows
that reach the optimum of theirs, the others resting, solve ::

    (X Xᵀ / l2 + bend + damping · diagonal) m + bias = t − X w − bend u,   sum(u + m) = bias / reach

with the free rows in X, bend the curvature of a squared loss's conjugate, and reach infinite if
the bias is free. Moves beyond a bound end there, and the rest is solved for again; a line search
between here and there then gains for certain. The damping keeps rows that are nearly dependent from
going far for little. Cost: the dot products of the free rows, and a Cholesky factor each round.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...losses import Insensitive, Loss, OneClass, SquaredHinge, SquaredInsensitive
from ...problem import LinearProblem
from .linear_rows import LinearRows
from .linear_systems import solve_positive

__all__ = ["FreeRows", "bounds_of", "free_rows", "line_search", "settling_work"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

ROUNDS = 8
FACTOR_WORK = 120.0  # multiplications of a factor that take as long as descent on one entry of X
PAIR_WORK = 16.0


@dataclass(frozen=True)
class FreeRows:
    """The free rows: their system, what pulls at them, and how far each may move.

    Attributes
    ----------
    ids : array
        Numbers of the rows.
    system : array of shape (rows, rows)
        Their dot products over l2, plus the bend.
    pull : array
        t − X w − bend u: what each would gain by a move, were the bias zero.
    least, most : array
        Moves that lead to the bounds.
    """

    ids: Ids
    system: Vector
    pull: Vector
    least: Vector
    most: Vector

    def move(
        self,
        damping: float,
        excess: float,
        stiffness: float | None,
        threads: int,
        pause: Callable[[], None],
    ) -> tuple[Vector, float]:
        """Return the moves of all, within their bounds, and the bias that goes with them.

        `excess` is the sum of all dual variables less the tilt, `stiffness` what multiplies the
        bias in the last equation: 0 for a free bias, None without one.
        """
        system = self.system.copy() if damping else self.system
        if damping:
            np.einsum("ii->i", system)[:] *= 1.0 + damping
        moves, inside, bias = np.zeros(self.ids.size), np.ones(self.ids.size, dtype=bool), 0.0
        for _ in range(ROUNDS):
            pause()
            at, rest = np.flatnonzero(inside), np.flatnonzero(~inside)
            if at.size == 0:
                break
            pull = self.pull[at] - system[np.ix_(at, rest)] @ moves[rest]
            sides = np.stack([pull, np.ones(at.size)])
            part = system if rest.size == 0 else system[np.ix_(at, at)]
            alone, ones = solve_positive(part, sides, threads)
            if stiffness is not None:
                bias = float(excess + moves[rest].sum() + alone.sum()) / (stiffness + ones.sum())
            wanted = alone - bias * ones
            moves[at] = np.clip(wanted, self.least[at], self.most[at])
            beyond = moves[at] != wanted
            if not beyond.any():
                break
            inside[at[beyond]] = False
        return moves, bias


def bounds_of(problem: LinearProblem) -> tuple[Vector, Vector]:
    """Return the least and the largest value of each dual variable."""
    costs, loss = problem.costs, problem.loss
    most = np.full(costs.size, np.inf) if _squared(loss) else costs
    if isinstance(loss, Insensitive | SquaredInsensitive):
        return -most, most
    positive = np.full(costs.size, isinstance(loss, OneClass)) | (problem.targets > 0)
    return np.where(positive, 0.0, -most), np.where(positive, most, 0.0)


def free_rows(
    data: LinearRows, problem: LinearProblem, ids: Ids, dual: Vector, weights: Vector
) -> FreeRows:
    """Return the rows `ids` as a system to be solved."""
    loss, u, costs = problem.loss, dual[ids], problem.costs[ids]
    bend = 0.5 / costs if _squared(loss) else np.zeros(ids.size)
    low, high = (bound[ids] for bound in bounds_of(problem))
    aim = np.zeros(ids.size) if isinstance(loss, OneClass) else problem.targets[ids]
    if isinstance(loss, Insensitive | SquaredInsensitive):  # zero is a kink
        low, high = np.where(u > 0, 0.0, low), np.where(u < 0, 0.0, high)
        aim = aim - np.sign(u) * loss.epsilon
    system = data.products_of(ids, np.full(data.features, 1.0 / problem.l2))
    np.einsum("ii->i", system)[:] += bend
    outputs = np.asarray(data.taken(ids) @ weights)
    return FreeRows(ids, system, aim - outputs - bend * u, low - u, high - u)


def line_search(
    free: FreeRows, problem: LinearProblem, moves: Vector, change: Vector, bias: float, reach: float
) -> float:
    """Return the best step, at most 1; `change` is that of the weights, `bias` the present one."""
    slope, total = float((free.pull - bias) @ moves), float(moves.sum())
    bend = 0.5 / problem.costs[free.ids] if _squared(problem.loss) else np.zeros(moves.size)
    curve = problem.l2 * float(change @ change) + float(bend @ moves**2) + reach * total**2
    return float(np.clip(slope / curve, 0.0, 1.0)) if curve > 0 else 0.0


def settling_work(free: int, entries: float) -> float:
    """Return what a settling costs, in entries of X that descent visits in the same time."""
    return free**3 / FACTOR_WORK + free**2 * entries / PAIR_WORK


def _squared(loss: Loss) -> bool:
    return isinstance(loss, SquaredHinge | SquaredInsensitive)
