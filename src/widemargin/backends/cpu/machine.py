"""One kernel machine on the CPU: the state behind the block operations of the solvers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import Problem
from ...solvers.operations import BlockStep, Measure
from .blas import threads_for
from .free_set import FreeSet
from .memory import Scratch
from .newton import BlockFinish
from .sources import Source
from .view import Segment, View

__all__ = ["OVERFLOW", "CpuMachine"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]


EPSILON = float(np.finfo(np.float64).eps)
SMALL_BLOCK, FOR_EACH = 512, 2  # variables of a block, and for each one that is not zero
STEP_EFFORT = 0.4  # nanoseconds for each variable of the block that a pair step passes
READ_EFFORT = 0.3  # nanoseconds for each kernel value in memory
UNTRUSTED = 2.0  # errors of last digits that a violation must exceed to mean something
OVERFLOW = (
    "kernel values overflow: the numbers in X are too large for this kernel; "
    "scale the columns (for example with StandardScaler) or lower gamma or degree"
)


class CpuMachine:
    """State of one box problem; implements ``solvers.operations.BlockOperations``."""

    ahead = False  # a look costs nothing here

    def __init__(
        self,
        problem: Problem,
        ids: Ids,
        segments: list[Segment],
        source: Source,
        diagonal: Vector,
        *,
        start: Vector,
        outputs: Vector,
        block_size: int,
        exact_size: int,
        threads: int,
        square: Callable[[NDArray[Any]], None] | None = None,
        scratch: Scratch,
        stop: Callable[[], object],
        shrinker: Any = None,
        add: Callable[[Ids, Vector, Vector], None],
    ) -> None:
        self.problem, self.source, self.diagonal = problem, source, diagonal
        self.threads, self.stop = threads, stop
        self.block_size, self.exact_size = block_size, exact_size
        self.shrinker, self.square, self.scratch = shrinker, square, scratch
        self.start, self.base_outputs = start.copy(), outputs
        self.base = View(problem, np.arange(problem.rows), ids, segments, start, outputs)
        self.view = self.base
        self.block: Ids = np.empty(0, dtype=np.int64)
        self.block_x: Vector = np.empty(0)
        self._x_of_base_outputs = start  # while rows are set aside: x when the first ones were
        self._dual = 0.0  # objective of all rows; while some are set aside, the gains are added up
        self._multipliers = np.zeros(problem.groups)  # as last measured
        self.scale = 1.0  # of violations and tolerances, as last measured
        self.indefinite = False
        self.exact = False
        self.dtype = source.dtype
        self._kernel: NDArray[Any] | None = None
        self.effort = 0.0  # nanoseconds that the steps so far should have taken on two cores
        self.free_set = FreeSet(self, ids, add, exact_size)

    @property
    def rows(self) -> int:
        """Rows of the data."""
        return self.problem.rows

    @property
    def active(self) -> int:
        """Rows that are being worked on."""
        return self.view.size

    @property
    def whole(self) -> bool:
        """Whether the block is all variables: then one crossing solves the problem."""
        return self.block.size == self.base.variables.size

    @property
    def x(self) -> Vector:
        """The variables of the whole problem."""
        if self.view is not self.base:
            self.base.x[self.view.variables] = self.view.x
        return self.base.x

    def outputs_of(self, coefficients: Vector) -> Vector | None:
        """Return K times coefficients if all of K is at hand in float64."""
        if self._kernel is None or not self.whole or self.dtype != np.float64:
            return None
        outputs, used = np.zeros(coefficients.size), np.flatnonzero(coefficients)
        _core.apply_rows(outputs, self._kernel, used, coefficients[used], self.threads)
        return outputs

    def running_outputs(self) -> Vector:
        """Return the outputs of all rows; of those set aside, as they were then."""
        outputs = self.base.outputs.copy()
        outputs[self.view.rows] = self.view.outputs
        return outputs

    def correct(self, outputs: Vector) -> None:
        """Replace the running outputs of all rows by exact ones (iterative refinement)."""
        self.base.x[:] = self.x
        self.base.outputs[:] = outputs
        self.view = self.base
        self.block = np.empty(0, dtype=np.int64)

    def replace(self, x: Vector, outputs: Vector) -> None:
        """Go on from other variables and their outputs, with all rows."""
        self.view = self.base
        self.base.x[:] = x
        self.correct(outputs)

    def measure(self) -> Measure:
        """Return violation, gap and objective over the active rows."""
        view = self.view
        reaches = view.box.reach(self.threads)
        violation = max(0.0, *(high - low for low, high, _, _ in reaches))
        multipliers = [
            -total / count if count else -0.5 * _finite_sum(low, high)
            for low, high, total, count in reaches
        ]
        gap, quadratic, linear = view.box.sums(multipliers, self.threads)
        if view is self.base:
            self._dual = -(0.5 * quadratic + linear)
        self._multipliers = np.array(multipliers)
        self.scale = self.problem.scale(multipliers)
        rounding = self.rounding if self.dtype == np.float64 else 0.0
        return measured(violation / self.scale, gap, self._dual, rounding)

    @property
    def rounding(self) -> float:
        """What rounding of the coefficients makes of the outputs at worst, ||w|| being 1.

        A coefficient x_j carries an error of its last digit, which the output of row i sees times
        k(i, j) <= sqrt(k(i, i) k(j, j)). While kernel values are rough, outputs are recomputed.
        """
        view = self.view
        diagonal = np.maximum(self.diagonal[view.rows], 0.0)
        totals, used = view.totals(), np.flatnonzero(view.totals())
        spread = float(np.linalg.norm(np.sqrt(diagonal[used]) * totals[used]))
        return UNTRUSTED * EPSILON * float(diagonal.max()) ** 0.5 * spread / self.scale

    def select(self) -> bool:
        """Choose the next block: half of the last one, then the worst violators."""
        view = self.view
        size = min(self.block_size, view.variables.size)
        if size == view.variables.size:
            self.block = np.arange(size)
            return True
        size = min(size, max(SMALL_BLOCK, FOR_EACH * int(np.count_nonzero(view.x))))
        kept = (
            self.block[self.block.size - size // 2 :]
            if self.block.size >= size // 2
            else (self.block)
        )
        if self.exact:
            free = np.flatnonzero((view.x > view.lower) & (view.x < view.upper))
            kept = free[: self._exact_limit()]
            size = kept.size + size // 2
        view.taken[kept] = 1
        worst = view.box.violators(view.taken, size - kept.size, self.threads)
        view.taken[kept] = 0
        self.block = np.concatenate([kept, np.asarray(worst, dtype=np.int64)])
        return self.block.size > 1

    def _exact_limit(self) -> int:
        slots = [s.cache.owner.size for s in self.view.segments if s.cache is not None]
        return max(2, min([self.exact_size, *(size - self.block_size // 2 for size in slots)]))

    def load_rows(self) -> bool:
        """Fetch some of the kernel rows that the moves need; say whether some are missing."""
        caches = [segment.cache for segment in self.view.segments if segment.cache is not None]
        if self.whole or not caches:
            return False
        ids = np.unique(self.view.ids[self.view.row_of(self.block[self._moved()])])
        return any([cache.load_some(ids) for cache in caches])

    def _moved(self) -> Ids:
        return np.flatnonzero(self.block_x != self.view.x[self.block])

    def _block_kernel(self) -> NDArray[Any]:
        """Return the kernel matrix of the block, its rows padded.

        It is computed, not gathered from the rows at hand: a million values in cache take the tile
        less time than as many reads from all over memory, and no row need be loaded that does not
        move.
        """
        view, size = self.view, self.block.size
        if self.whole and self._kernel is not None and self._kernel.shape[0] == size:
            return self._kernel
        self._kernel = self.scratch.matrix(size, _core.padded(size), self.dtype)
        if self.square is not None and self.whole and view.sides == 1:
            self.square(self._kernel)
        else:
            self.source.square_into(view.ids[view.row_of(self.block)], self._kernel)
        return self._kernel

    def _block_gradient(self) -> Vector:
        view, block = self.view, self.block
        return view.outputs[view.row_of(block)] + view.linear[block]

    def _pad(self, values: Vector, width: int, dtype: Any) -> NDArray[Any]:
        padded = np.zeros(width, dtype=dtype)
        padded[: values.size] = values
        return padded

    def solve_block(self, tolerance: float, limit: int) -> BlockStep:
        """Solve the block's own problem in at most `limit` steps."""
        view, block, tolerance = self.view, self.block, tolerance * self.scale
        kernel = self._block_kernel()
        width = kernel.shape[1]
        gradient = self._block_gradient()
        gradient += self._multipliers[view.group[block]]  # changes no pair, and saves digits
        self.block_x = view.x[block]
        iterations, violation, negative = _core.solve_block(
            kernel,
            self._pad(self.diagonal[view.rows[view.row_of(block)]], width, self.dtype),
            self._pad(gradient, width, self.dtype),
            self.block_x,
            view.lower[block],
            view.upper[block],
            view.group[block],
            view.groups,
            tolerance,
            limit,
        )
        self.indefinite = self.indefinite or negative
        self.effort += STEP_EFFORT * iterations * width
        self.effort += 2.0 * self.source.effort * block.size**2
        return BlockStep(iterations, exhausted=iterations >= limit and violation > tolerance)

    def solve_block_exactly(self, tolerance: float) -> BlockStep:
        """Solve the block's own problem by Newton steps on its free variables."""
        self.exact = True
        view, block = self.view, self.block
        size = block.size
        assert self._kernel is not None
        kernel = np.asarray(self._kernel, dtype=np.float64)
        gradient = self._block_gradient()
        gradient += kernel[:, :size] @ (self.block_x - view.x[block])
        finish = BlockFinish(
            kernel,
            self.diagonal[view.rows[view.row_of(block)]],
            gradient,
            self.block_x,
            view.lower[block],
            view.upper[block],
            view.group[block],
        )
        with threads_for(size):
            finish.run(tolerance * self.scale, self.stop)
        self.block_x = finish.x
        return BlockStep(finish.steps, exhausted=False)

    def apply(self) -> None:
        """Bring the outputs of all active rows up to date with the block's moves.

        Moves of Newton steps that turn out to raise the objective, because the block's own numbers
        carried no more digits, are taken back.
        """
        moved = self._moved()
        block, x = self.block[moved], self.block_x[moved]
        moves = x - self.view.x[block]
        gain = self._move(moved, moves)
        if self.exact and gain < 0:
            self._move(moved, -moves)
            return
        self.view.x[block] = x
        self._dual += gain

    def _move(self, moved: Ids, moves: Vector) -> float:
        """Add moves of some of the block's variables to the outputs; return what they gain."""
        view = self.view
        before = self._block_gradient()[moved]
        if self.whole:
            assert self._kernel is not None
            _core.apply_rows(view.outputs, self._kernel, moved, moves, self.threads)
        else:
            ids = view.ids[view.row_of(self.block[moved])]
            for segment in view.segments:
                outputs, cache = view.outputs[segment.first : segment.last], segment.cache
                effort = self.source.effort if cache is None else READ_EFFORT
                self.effort += effort * ids.size * outputs.size
                if cache is None:
                    segment.source.update(ids, moves, outputs)
                else:
                    slots = cache.slots(ids)
                    _core.apply_rows(outputs, cache.arena, slots, moves, self.threads)
        return -0.5 * float(moves @ (before + self._block_gradient()[moved]))

    def set_aside(self) -> None:
        """Drop rows at a bound whose gradient lies beyond everything they could be paired with."""
        if self.shrinker is None:
            return
        view = self.view
        reaches = view.box.reach(self.threads)
        gradient = np.tile(view.outputs, view.sides) + view.linear
        low = np.array([r[0] for r in reaches])[view.group]
        high = np.array([r[1] for r in reaches])[view.group]
        stuck = ((view.x <= view.lower) & (gradient > high)) | (
            (view.x >= view.upper) & (gradient < low)
        )
        stuck[self.block] = False
        keep = ~stuck.reshape(view.sides, -1).all(axis=0)
        smaller = self.shrinker(self, np.flatnonzero(keep))
        if smaller is not None:
            if view is self.base:
                self._x_of_base_outputs = view.x.copy()
            self.block = np.empty(0, dtype=np.int64)
            self.view = smaller

    def take_back(self) -> bool:
        """Work on all rows again; return False if none had been set aside."""
        if self.view is self.base:
            return False
        self.base.outputs[self.view.rows] = self.view.outputs
        rest = np.setdiff1d(self.base.rows, self.view.rows)
        before = self.problem.coefficients(self._x_of_base_outputs)
        moves = self.problem.coefficients(self.x) - before
        changed = np.flatnonzero(moves)
        if changed.size:
            source = self.source.restrict(self.base.ids[changed])
            sums = source.sums(self.base.ids[rest], moves[changed][None], whole(changed.size))
            self.base.outputs[rest] += sums[:, 0, 0]
        self.view = self.base
        self.block = np.empty(0, dtype=np.int64)
        return True


def measured(violation: float, gap: float, dual: float, rounding: float = 0.0) -> Measure:
    """Return a measure, the gap being relative then."""
    if not np.isfinite(dual):
        raise FloatingPointError(OVERFLOW)
    size = max(abs(dual), abs(dual + gap))
    return Measure(violation, gap / size if size > 0 else 0.0, dual, rounding)


def whole(columns: int) -> Ids:
    """Return the group starts of sums over all columns together."""
    return np.array([0, columns], dtype=np.int64)


def _finite_sum(low: float, high: float) -> float:
    """Return low + high, or twice the finite one, or 0."""
    finite = [v for v in (low, high) if np.isfinite(v)]
    return 2.0 * sum(finite) / len(finite) if finite else 0.0
