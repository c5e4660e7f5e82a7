"""One kernel machine on the GPU: the state behind the block operations of the solvers.

Two ways to make a round. Where the kernel matrix of the machine's rows is on the device, `go_ahead`
makes many without the host (`rounds.py`). Where it is not, and for Newton steps, each operation is
one on its own: the choice of the block and the update of the outputs on the device, the block's
variables on the host, its kernel matrix computed when it is needed.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import Problem
from ...solvers.operations import BlockStep, Measure
from ..cpu.newton import BlockFinish
from .columns import Columns
from .rounds import LARGEST, places

__all__ = ["GpuMachine"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

FIRST_ROUNDS, MOST_ROUNDS = 8, 64
SHORT, LONG = 0.02, 0.1  # seconds that a visit of the host should take
ENOUGH = 0.9  # share of the tolerance to go to, so that float32 seldom asks for another try
STEPS_AHEAD = 200_000  # in all rounds of a visit: about 0.1 s


class GpuMachine:
    """State of one box problem; implements ``solvers.operations.BlockOperations``.

    Parameters
    ----------
    problem : Problem
    columns : Columns
        Kernel values of the machine's rows.
    diagonal : array
        K_ii of the machine's rows.
    start, outputs : array
        Variables, and K times them.
    exact_size : int
        Variables that Newton steps may work on at once.
    stop : function
        Asked now and then in the course of long operations.
    """

    free_set = None  # Newton steps take single blocks here

    def __init__(
        self,
        problem: Problem,
        columns: Columns,
        diagonal: Vector,
        *,
        start: Vector,
        outputs: Vector,
        exact_size: int,
        stop: Callable[[], object],
    ) -> None:
        self.problem, self.columns, self.diagonal, self.stop = problem, columns, diagonal, stop
        self.device, self.exact_size = columns.device, exact_size
        arrays = (outputs, start, problem.linear, problem.lower, problem.upper)
        self.state = self.device.state(arrays, problem.group, problem.groups)
        self.variables = problem.linear.size
        self.block_size = min(LARGEST, self.variables)
        self.rounds = None if self.block_size == self.variables else columns.rounds(self.state)
        self.rounds_ahead = FIRST_ROUNDS
        self.block: Ids = np.empty(0, dtype=np.int64)
        self.block_x: Vector = np.empty(0)
        self.exact = self.indefinite = False
        self._kernel: Any = None
        self._reach = np.zeros((problem.groups, 4))
        self._multipliers, self._scale = np.zeros(problem.groups), 1.0

    @property
    def rows(self) -> int:
        """Rows of the data."""
        return self.problem.rows

    @property
    def active(self) -> int:
        """Rows that are being worked on: all."""
        return self.problem.rows

    @property
    def whole(self) -> bool:
        """Whether the block is all variables: then one crossing solves the problem."""
        return self.block.size == self.variables

    @property
    def ahead(self) -> bool:
        """Whether `go_ahead` makes rounds."""
        return self.rounds is not None and not self.exact

    @property
    def x(self) -> Vector:
        """The variables of the whole problem."""
        return np.asarray(self.device.download(self.state.x))

    def correct(self, outputs: Vector) -> None:
        """Replace the running outputs of all rows by exact ones (iterative refinement)."""
        self.device.write(self.state.outputs, outputs)
        self._change_block(np.empty(0, dtype=np.int64))
        if self.rounds is not None:
            self.rounds.forget()

    def _gradient(self) -> Any:
        return self.device.xp.tile(self.state.outputs, self.problem.sides) + self.state.linear

    def measure(self) -> Measure:
        """Return violation, gap and objective over all rows."""
        self._reach = self.device.reach(self.state)
        low, high, total, count = self._reach.T
        with np.errstate(invalid="ignore"):  # after an overflow, of which the sums tell
            violation = max(0.0, float((high - low).max()))
        self._multipliers = np.array(
            [
                -t / c if c else -_middle(a, b)
                for a, b, t, c in zip(low, high, total, count, strict=True)
            ]
        )
        sums = self.device.sums(self.state, self._multipliers)
        gap, quadratic, linear = (float(value) for value in sums)
        dual = -(0.5 * quadratic + linear)
        if not np.isfinite(dual):
            raise FloatingPointError(
                "kernel values overflow: the numbers in X are too large for this kernel; "
                "scale the columns (for example with StandardScaler) or lower gamma or degree"
            )
        size = max(abs(dual), abs(dual + gap))
        self._scale = self.problem.scale(self._multipliers.tolist())
        return Measure(violation / self._scale, gap / size if size > 0 else 0.0, dual)

    # --- many rounds -------------------------------------------------------------------------

    def go_ahead(self, tolerance: float, share: float, limit: int) -> BlockStep:
        """Make rounds until the violation is at most the tolerance or it is time to look."""
        assert self.rounds is not None
        began = time.perf_counter()
        outcome = self.rounds.go(
            self.rounds_ahead,
            share,
            0.5 * tolerance * self._scale,
            ENOUGH * tolerance * self._scale,
            min(limit, STEPS_AHEAD),
            STEPS_AHEAD,
        )
        taken = time.perf_counter() - began
        if taken < SHORT and outcome.rounds == self.rounds_ahead:
            self.rounds_ahead = min(2 * self.rounds_ahead, MOST_ROUNDS)
        elif taken > LONG:
            self.rounds_ahead = max(self.rounds_ahead // 2, 1)
        self.indefinite = self.indefinite or outcome.negative
        return BlockStep(outcome.iterations, outcome.exhausted)

    # --- one round ---------------------------------------------------------------------------

    def select(self) -> bool:
        """Choose the next block: half of the last one, then the worst violators."""
        if self.block_size == self.variables:
            if not self.whole:
                self._change_block(np.arange(self.variables))
            return True
        kept, want = self.block[-(self.block_size // 2) :], self.block_size // 2
        if self.exact:
            state = self.state
            free = self.device.xp.flatnonzero((state.x > state.lower) & (state.x < state.upper))
            kept = self.device.download(free)[: self.exact_size]
        self._change_block(np.concatenate([kept, self._worst(kept, want)]))
        return self.block.size > 1

    def _worst(self, kept: Ids, want: int) -> Ids:
        """Return the variables that violate most: half should rise, half should fall."""
        xp, state = self.device.xp, self.state
        low, high = self._reach[0, :2]
        if state.groups > 1:
            low, high = (self.device.upload(self._reach[:, k])[state.group] for k in (0, 1))
        gradient = self._gradient()
        rises = (state.x < state.upper) & (gradient < high)
        falls = (state.x > state.lower) & (gradient > low)
        if kept.size:
            which = self.device.upload(kept)
            rises[which] = falls[which] = False
        nearer = gradient - low <= high - gradient
        rises, falls = rises & (nearer | ~falls), falls & ~(rises & nearer)
        worst = []
        for direction, depth in ((rises, gradient - low), (falls, high - gradient)):
            count = min(want // 2, int(direction.sum()))
            order = xp.argsort(xp.where(direction, depth, np.inf).astype(np.float32))
            worst.append(self.device.download(order[:count]))
        return np.concatenate(worst).astype(np.int64)

    def _change_block(self, block: Ids) -> None:
        self.block, self._kernel = block, None

    def load_rows(self) -> bool:
        """Return False: kernel rows are at hand or computed in `apply`."""
        return False

    def _block_kernel(self) -> Any:
        """Return the kernel matrix of the block, with rows more up to a whole number of places."""
        if self._kernel is None:
            rows = np.zeros(places(self.block.size), dtype=np.int64)
            rows[: self.block.size] = self.block % self.rows
            self._kernel = self.columns.square(rows)
        return self._kernel

    def _some(self, values: Any, which: Ids) -> Vector:
        if self.whole:
            return np.asarray(self.device.download(values))[which]
        return np.asarray(self.device.download(values[self.device.upload(which)]))

    def _block_x(self) -> Vector:
        return self._some(self.state.x, self.block)

    def _block_gradient(self) -> Vector:
        outputs = self._some(self.state.outputs, self.block % self.rows)
        return np.asarray(outputs + self.problem.linear[self.block])

    def solve_block(self, tolerance: float, limit: int) -> BlockStep:
        """Solve the block's own problem in at most `limit` steps."""
        block, problem = self.block, self.problem
        self.block_x = self._block_x()
        if block.size > LARGEST:
            return BlockStep(0, exhausted=True)  # of Newton steps, which begin with pair steps too
        tolerance *= self._scale
        self.block_x, iterations, violation, negative = self.device.solve_block(
            self._block_kernel(),
            self.diagonal[block % self.rows],
            self._block_gradient() + self._multipliers[problem.group[block]],
            self.block_x,
            problem.lower[block],
            problem.upper[block],
            problem.group[block],
            problem.groups,
            tolerance,
            limit,
        )
        self.indefinite = self.indefinite or negative
        return BlockStep(iterations, exhausted=iterations >= limit and violation > tolerance)

    def solve_block_exactly(self, tolerance: float) -> BlockStep:
        """Solve the block's own problem by Newton steps on its free variables.

        Few blocks need them, and LAPACK on the host takes less time for one than a round trip for
        each of its many small steps.
        """
        self.exact = True
        block, problem = self.block, self.problem
        kernel = np.zeros((block.size, _core.padded(block.size)))
        kernel[:, : block.size] = self.device.download(self._block_kernel())[
            : block.size, : block.size
        ]
        gradient = self._block_gradient()
        gradient += kernel[:, : block.size] @ (self.block_x - self._block_x())
        finish = BlockFinish(
            kernel,
            self.diagonal[block % self.rows],
            gradient,
            self.block_x,
            problem.lower[block],
            problem.upper[block],
            problem.group[block],
        )
        finish.run(tolerance * self._scale, self.stop)
        self.block_x = finish.x
        return BlockStep(finish.steps, exhausted=False)

    def apply(self) -> None:
        """Bring the outputs of all rows up to date with the block's moves.

        Moves of Newton steps that turn out to raise the objective, because the block's own numbers
        carried no more digits, are taken back.
        """
        before = self._block_x()
        moved = np.flatnonzero(self.block_x != before)
        if not moved.size:
            return
        moves, at = self.block_x[moved] - before[moved], self.block[moved]
        gradient = self._block_gradient()[moved]
        self.columns.add(at % self.rows, moves, self.state.outputs)
        if self.exact and moves @ (gradient + self._block_gradient()[moved]) > 0:
            self.columns.add(at % self.rows, -moves, self.state.outputs)
            return
        if self.whole:
            self.device.write(self.state.x, self.block_x)
        else:
            self.state.x[self.device.upload(at)] = self.device.upload(self.block_x[moved])

    def set_aside(self) -> None:
        """Do nothing: a GPU brings all rows up to date sooner than it could sort them out."""

    def take_back(self) -> bool:
        """Return False: no rows were set aside."""
        return False


def _middle(low: float, high: float) -> float:
    """Return the middle of an interval, or its finite end, or 0."""
    finite = [v for v in (low, high) if np.isfinite(v)]
    return sum(finite) / len(finite) if finite else 0.0
