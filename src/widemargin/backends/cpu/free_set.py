"""Newton steps on all variables between their bounds at once: the end of a hard problem.

Problem     that of the machine: minimise ½ xᵀKx + linearᵀx over a box, group sums fixed.
Update      guess that the variables which are free now stay free and the others stay where they
            are; then the optimum is one linear system in the free ones, F, and the multipliers y ::

                K_FF d + A y = -gradient_F,    Aᵀd = what the sums lack

            The guess is mended for all variables at once: those that the solution takes beyond a
            bound are put on it, those whose sign of gradient + y is wrong at their bound are freed.
Stop        nothing is left to mend; or fewer and fewer mistakes were not made for some rounds, and
            then the variables stay as they were.
Papers      J. Júdice, F. Pires, A block principal pivoting algorithm for large-scale strictly
            monotone linear complementarity problems, Computers & OR 21 (1994); M. Hintermüller,
            K. Ito, K. Kunisch, The primal-dual active set strategy as a semismooth Newton method,
            SIAM J. Optimization 13 (2002).

From a rough solution it takes three to eight rounds, whatever the costs and the tolerance. From a
bad one it may fail, so pair steps come first, and take over again where it does.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import Problem
from .sources import Source

__all__ = ["FreeSet"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

ROUNDS = 30
GROWTH = 1.5  # of the number of free variables, beyond which the first guess was none
PATIENCE = 3  # rounds without fewer mistakes than ever before
EXPECTED_ROUNDS = 4
SETTLED = 0.05  # change of the number of free variables, as a share, that is none
RIDGE = 1e-13  # share of the diagonal that keeps rows apart which are the same
LARGEST_RIDGE = 1e-8  # of a unit diagonal: beyond, the kernel matrix is not positive
FACTOR_EFFORT = 0.0025  # nanoseconds for each size³ of a factor on two cores


class Machine(Protocol):
    """What is asked of a machine."""

    problem: Problem
    source: Source
    threads: int
    effort: float
    stop: Callable[[], object]

    @property
    def x(self) -> Vector:
        """The variables."""
        ...

    @property
    def rounding(self) -> float:
        """The violation that rounding may cause."""
        ...

    @property
    def scale(self) -> float:
        """What violations are divided by."""
        ...

    def replace(self, x: Vector, outputs: Vector) -> None:
        """Go on from other variables and their outputs."""
        ...


class FreeSet:
    """See the head of this file.

    Parameters
    ----------
    machine : CpuMachine
        The problem and its state.
    ids : array
        The data's row numbers of the machine's rows.
    add : function
        Takes rows of the machine, moves and outputs; adds K moves to the outputs, in float64.
    largest : int
        Free variables up to which there is memory for their kernel matrix.
    """

    def __init__(
        self,
        machine: Machine,
        ids: Ids,
        add: Callable[[Ids, Vector, Vector], None],
        largest: int,
    ) -> None:
        self.machine, self.ids, self.add, self.largest = machine, ids, add, largest
        self._tried_at, self._patience, self._free = 0.0, 1.0, 0

    @property
    def share(self) -> float:
        """Effort since the last try, as a share of what the next one would be; 0 if none can be.

        None can be before the number of free variables has settled.
        """
        problem, x = self.machine.problem, self.machine.x
        free = int(np.count_nonzero((x > problem.lower) & (x < problem.upper)))
        before, self._free = self._free, free
        if not 1 < free <= self.largest or abs(free - before) > SETTLED * free:
            return 0.0
        values = EXPECTED_ROUNDS * free * (problem.rows + 0.5 * free)
        values += float(np.count_nonzero(x)) * problem.rows
        expected = EXPECTED_ROUNDS * FACTOR_EFFORT * float(free) ** 3
        expected += 2.0 * self.machine.source.effort * values
        return (self.machine.effort - self._tried_at) / (self._patience * expected)

    def solve(self, tolerance: float) -> bool:
        """Solve the machine to a violation; return False if that failed and nothing changed."""
        tolerance = max(tolerance, self.machine.rounding) * self.machine.scale
        search = _Search(self, tolerance)
        solved = search.run()
        if solved:
            self.machine.replace(search.x, search.outputs)
        else:
            self._patience *= 2.0
        self._tried_at = self.machine.effort
        return solved


class _Search:
    """One try: variables, their outputs, and the guess which are free."""

    def __init__(self, owner: FreeSet, tolerance: float) -> None:
        machine, self.add, self.ids = owner.machine, owner.add, owner.ids
        self.problem, self.source = machine.problem, machine.source
        self.threads, self.stop = machine.threads, machine.stop
        self.tolerance = tolerance
        coefficients = self.problem.coefficients(machine.x)
        # A row pulled up and down at once would make two equal rows of the system.
        self.x = self.problem.of_rows(coefficients) if self.problem.sides > 1 else machine.x.copy()
        self.outputs = np.zeros(self.problem.rows)
        self._move_rows(coefficients)
        self.free = (self.x > self.problem.lower) & (self.x < self.problem.upper)
        self.largest = min(owner.largest, int(GROWTH * np.count_nonzero(self.free)) + 64)

    def run(self) -> bool:
        """Mend the guess until it is right; return whether that worked."""
        fewest, idle = self.x.size + 1, 0
        for _ in range(ROUNDS):
            if idle >= PATIENCE or self.stop() or not self._step():
                return False
            mistakes = self._mend()
            if mistakes == 0:
                return True
            idle = 0 if mistakes < fewest else idle + 1
            fewest = min(fewest, mistakes)
        return False

    def _step(self) -> bool:
        """Move the free variables to their optimum, whatever the bounds; False if that fails."""
        problem, free = self.problem, np.flatnonzero(self.free)
        if not 1 < free.size <= self.largest:
            return False
        sums = np.stack([problem.group[free] == g for g in range(problem.groups)]).astype(float)
        if not sums.any(axis=1).all():
            return False
        rows = free % problem.rows
        if problem.sides > 1 and np.unique(rows).size < rows.size:
            return False
        square = np.empty((free.size, _core.padded(free.size)))
        self.source.restrict(self.ids[rows], np.float64).square_into(self.ids[rows], square)
        np.einsum("ii->i", square[:, : free.size])[:] *= 1.0 + RIDGE
        gradient = self.outputs[rows] + problem.linear[free]
        right = np.concatenate([-gradient[None], sums])
        if _core.solve_positive(square, right, self.threads) > LARGEST_RIDGE:
            return False
        response = sums @ right[1:].T
        self.multipliers = np.linalg.lstsq(response, sums @ right[0] - self._missing(), rcond=None)[
            0
        ]
        moves = np.zeros(self.x.size)
        moves[free] = right[0] - self.multipliers @ right[1:]
        if not np.isfinite(moves).all():
            return False
        self.x += moves
        self._move_rows(problem.coefficients(moves))
        return True

    def _mend(self) -> int:
        """Bring the variables into the box and free those at a wrong bound; count both."""
        problem = self.problem
        outside = self.free & ((self.x < problem.lower) | (self.x > problem.upper))
        slope = np.tile(self.outputs, problem.sides) + problem.linear
        slope += self.multipliers[problem.group]
        wrong = ~self.free & (
            ((self.x <= problem.lower) & (slope < -self.tolerance))
            | ((self.x >= problem.upper) & (slope > self.tolerance))
        )
        wrong &= problem.lower < problem.upper
        unsettled = self.free & ~outside & (np.abs(slope) > self.tolerance)
        before = self.x
        self.x = np.clip(before, problem.lower, problem.upper)
        self._move_rows(problem.coefficients(self.x - before))
        self.free = (self.free & ~outside) | wrong
        return int(np.count_nonzero(outside | wrong | unsettled))

    def _move_rows(self, moves: Vector) -> None:
        rows = np.flatnonzero(moves)
        self.add(rows, moves[rows], self.outputs)

    def _missing(self) -> Vector:
        """Return what the sums of the groups lack."""
        short = self.problem.start - self.x
        return np.array([short[self.problem.group == g].sum() for g in range(self.problem.groups)])
