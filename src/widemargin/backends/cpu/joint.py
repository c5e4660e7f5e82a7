"""The joint multiclass machine of Crammer and Singer on the CPU.

    minimise    ½ sum_k a_kᵀ K a_k + sum_i sum_{k != y_i} a_ik
    subject to  a_ik <= u_ik = C_i [k = y_i],   sum_k a_ik = 0 for each row i

Arrays of rows and classes lie class by class here, shape (classes, rows): the outputs K a_k of all
classes grow by the same kernel rows. What callers see has shape (rows, classes).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...solution import Certificate
from ...solvers.operations import BlockStep, Measure
from .joint_exact import UNKNOWNS, JointFinish, upper_bounds
from .kernel_data import CERTIFY_VALUES, LEAST_BLOCK
from .machine import whole
from .row_cache import RowCache
from .sources import Source, row_parts

__all__ = ["CpuJointData", "JointMachine"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

BLOCK_ROWS = 1024
BLOCK_VALUES = 1 << 18  # rows times classes of a block: what its solver keeps in cache
SLICE_VALUES = 1 << 31  # rows times classes times steps: about 0.2 seconds
INTERIOR_WORK = 6e9  # classes times rows³ of a block given to the interior point method
SLOW = 30  # rounds in which the violation should halve
LONGEST_PAUSE = 4  # rounds without a Newton step after some that were in vain


class JointMachine:
    """State of one joint problem; implements ``solvers.operations.BlockOperations``.

    A block consists of whole rows. No rows are set aside.

    Parameters
    ----------
    source : Source
        Kernel of all rows with all rows.
    diagonal, labels, costs : arrays of shape (rows,)
        K_ii, y_i and C_i.
    start, outputs : arrays of shape (classes, rows)
        Coefficients that satisfy the constraints, and K times them; both are changed.
    slots : int
        Kernel rows that may be kept.
    threads : int
        Threads to use.
    stop : function
        Asked now and then in the course of long operations.
    """

    ahead, free_set = False, None

    def __init__(
        self,
        source: Source,
        diagonal: Vector,
        labels: Ids,
        costs: Vector,
        *,
        start: Vector,
        outputs: Vector,
        slots: int,
        threads: int,
        stop: Callable[[], object],
    ) -> None:
        self.stop = stop
        self.source, self.diagonal, self.labels, self.costs = source, diagonal, labels, costs
        self.a, self.outputs, self.threads = start, outputs, threads
        self.rows, self.classes = labels.size, start.shape[0]
        size = min(BLOCK_ROWS, max(LEAST_BLOCK, BLOCK_VALUES // self.classes))
        self.block_size = min(size, self.rows, slots)
        self.cache = None if self.whole else RowCache(source, diagonal.size, slots)
        self.violations = np.zeros(self.rows)
        self.block: Ids = np.empty(0, dtype=np.int64)
        self.block_a: Vector = np.empty((self.classes, 0))
        self.exact, self.pause = False, _Pause()
        self.slow_rounds, self.halved = 0, np.inf
        self._memory = np.zeros(0, dtype=source.dtype)
        self._kernel: NDArray[Any] | None = None

    @property
    def active(self) -> int:
        """Rows that are being worked on: all."""
        return self.rows

    @property
    def whole(self) -> bool:
        """Whether the block is all rows: then one crossing solves the problem."""
        return self.block_size >= self.rows

    @property
    def coefficients(self) -> Vector:
        """The coefficients, of shape (rows, classes)."""
        return np.ascontiguousarray(self.a.T)

    def correct(self, outputs: Vector) -> None:
        """Replace the running outputs, shape (rows, classes), by exact ones."""
        self.outputs[:] = outputs.T
        self.block = np.empty(0, dtype=np.int64)

    def measure(self) -> Measure:
        """Return violation, gap and objective over all rows."""
        gap, quadratic, linear, violation = _core.measure_joint(
            self.outputs, self.a, self.labels, self.costs, self.violations, self.threads
        )
        if violation <= 0.5 * self.halved:
            self.slow_rounds, self.halved = 0, violation
        self.slow_rounds += 1
        dual = -(0.5 * quadratic + linear)
        if not np.isfinite(dual):
            raise FloatingPointError(
                "kernel values overflow: the numbers in X are too large for this kernel; "
                "scale the columns (for example with StandardScaler) or lower gamma or degree"
            )
        scale = max(abs(dual), abs(dual + gap))
        return Measure(violation, gap / scale if scale > 0 else 0.0, dual)

    def select(self) -> bool:
        """Choose the next block: half of the last one, then the worst violators."""
        if self.whole:
            self.block = np.arange(self.rows)
            return True
        if not self.a.any():  # all rows violate alike
            spread = np.linspace(0, self.rows - 1, self.block_size).astype(np.int64)
            self.block = spread[self.violations[spread] > 0]
            if self.block.size:
                return True
        kept = self.block[-(self.block_size // 2) :]
        if self.exact and not self.pause.left:
            kept = self._free_rows()
        violations = self.violations.copy()
        violations[kept] = 0.0
        want = min(max(self.block_size - kept.size, self.block_size // 2), self.rows - 1)
        worst = np.argpartition(-violations, want)[:want]
        self.block = np.concatenate([kept, worst[violations[worst] > 0]])
        return bool(self.violations[self.block].any())

    def _free_rows(self) -> Ids:
        """Return rows with coefficients between bounds, as many as one Newton step can take."""
        assert self.cache is not None
        moves = (self.a < upper_bounds(self.labels, self.costs, self.classes)).sum(axis=0) - 1
        rows = np.flatnonzero(moves > 0)
        rows = rows[np.argsort(-self.violations[rows], kind="stable")]
        rows = rows[np.cumsum(moves[rows]) <= UNKNOWNS]
        return rows[: self.cache.owner.size - self.block_size // 2]

    def load_rows(self) -> bool:
        """Fetch some of the kernel rows that the moves need; return True while some are missing."""
        if self.cache is None:
            return False
        return self.cache.load_some(np.sort(self.block[self._moved()]))

    def _moved(self) -> Ids:
        return np.flatnonzero((self.block_a != self.a[:, self.block]).any(axis=0))

    def _block_kernel(self) -> NDArray[Any]:
        """Return the kernel matrix of the block, its rows padded."""
        if self.whole and self._kernel is not None:
            return self._kernel
        size = self.block.size
        width = _core.padded(size)
        if self._memory.size < size * width:
            self._memory = np.zeros(size * width, dtype=self.source.dtype)
        self._kernel = self._memory[: size * width].reshape(size, width)
        self.source.square_into(self.block, self._kernel)
        return self._kernel

    def _block_gradient(self) -> Vector:
        others = self.labels[self.block] != np.arange(self.classes)[:, None]
        return np.asarray(self.outputs[:, self.block] + others)

    def solve_block(self, tolerance: float, limit: int) -> BlockStep:
        """Solve the block's own problem in at most `limit` steps."""
        block = self.block
        tolerance = max(tolerance, self._rounding())
        self.block_a = np.ascontiguousarray(self.a[:, block])
        at_once = max(32 * block.size, SLICE_VALUES // (block.size * self.classes))
        iterations, violation = _core.solve_joint_block(
            self._block_kernel(),
            self.diagonal[block],
            np.ascontiguousarray(self._block_gradient()),
            self.block_a,
            self.labels[block],
            self.costs[block],
            tolerance,
            min(limit, at_once),
        )
        return BlockStep(iterations, exhausted=violation > tolerance)

    def _rounding(self) -> float:
        """Return about how exact a gradient can be: sums of |a_ik K_ij| lose their last digit."""
        root = np.sqrt(np.maximum(self.diagonal, 0.0))
        return float((np.abs(self.a) @ root).max() * root.max() * np.finfo(np.float64).eps)

    def solve_block_exactly(self, tolerance: float) -> BlockStep:
        """Solve the block by Newton steps, if they have not lately been in vain."""
        self.exact = True
        if self.pause.goes_on():
            return BlockStep(0, exhausted=True)
        tolerance = max(tolerance, self._rounding())
        central = self.whole or self.slow_rounds >= SLOW
        rows = self._exact_rows(central)
        finish = self._finish(rows)
        violation = finish.newton(tolerance)
        if violation > tolerance and central:
            self.slow_rounds = 0
            finish.interior(self.stop)
            violation = finish.newton(tolerance)
        self.block_a[:, rows] = finish.a
        self.pause.after(success=violation <= tolerance)
        return BlockStep(finish.steps, exhausted=violation > tolerance)

    def _finish(self, rows: Ids) -> JointFinish:
        """Return the exact solver for some rows of the block, with kernel values in float64."""
        block = self.block[rows]
        kernel = np.zeros((rows.size, _core.padded(rows.size)))
        self.source.restrict(block, np.float64).square_into(block, kernel)
        return JointFinish(
            kernel,
            self.diagonal[block],
            self._gradient_in_block()[:, rows],
            self.block_a[:, rows],
            self.labels[block],
            self.costs[block],
        )

    def _gradient_in_block(self) -> Vector:
        """Return the gradient with the block's moves so far, which the outputs do not know yet."""
        assert self._kernel is not None
        moves = self.block_a - self.a[:, self.block]
        return np.asarray(self._block_gradient() + moves @ self._kernel[:, : self.block.size])

    def _exact_rows(self, central: bool) -> Ids:
        """Return the rows of the block to solve for: as many as an interior point can afford."""
        paid = np.flatnonzero(self.costs[self.block] > 0)
        limit = int((INTERIOR_WORK / self.classes) ** (1 / 3))
        if not central or paid.size <= limit:
            return paid
        violations = self.violations[self.block[paid]]
        return np.sort(paid[np.argsort(-violations, kind="stable")[:limit]])

    def apply(self) -> None:
        """Bring the outputs of all rows up to date with the block's moves."""
        moved = self._moved()
        ids = self.block[moved]
        moves = np.ascontiguousarray(self.block_a[:, moved] - self.a[:, ids])
        self.a[:, ids] = self.block_a[:, moved]
        if self.cache is None:
            assert self._kernel is not None
            _core.apply_joint(self.outputs, self._kernel, moved, moves, self.threads)
        else:
            slots = self.cache.slots(ids)
            _core.apply_joint(self.outputs, self.cache.arena, slots, moves, self.threads)

    def set_aside(self) -> None:
        """Do nothing: all rows stay at work."""

    def take_back(self) -> bool:
        """Return False: no rows were set aside."""
        return False


class _Pause:
    """How long to go without an attempt that failed: longer each time."""

    def __init__(self) -> None:
        self.length = self.left = 0

    def goes_on(self) -> bool:
        """Return whether to go without it once more."""
        self.left -= 1
        if self.left >= 0:
            return True
        self.left = 0
        return False

    def after(self, *, success: bool) -> None:
        """Take in how an attempt went."""
        self.length = 0 if success else min(2 * self.length + 1, LONGEST_PAUSE)
        self.left = self.length


class CpuJointData:
    """The rows and the kernel of a fit, as ``solvers.joint.solve_joint`` wants them.

    Parameters
    ----------
    data : CpuKernelData
        Or what has its source of kernel values, diagonal, precisions, threads and budget.
    """

    def __init__(self, data: Any) -> None:
        self.data = data
        self.precisions = data.precisions

    def machine(
        self,
        labels: Ids,
        costs: Vector,
        start: Any,
        precision: str,
        stop: Callable[[], object],
    ) -> JointMachine:
        """Return the state of a machine; `start` has shape (rows, classes) or is None."""
        data = self.data
        source = data.source.restrict(np.arange(data.rows), np.dtype(precision))
        row_bytes = _core.padded(data.rows) * source.dtype.itemsize
        a = _feasible(start, labels, costs)
        return JointMachine(
            source,
            data.diagonal,
            labels,
            costs,
            start=a,
            outputs=self._outputs(a, precision),
            slots=min(data.rows, max(LEAST_BLOCK, data.budget // 2 // row_bytes)),
            threads=data.threads,
            stop=stop,
        )

    def certify(self, labels: Ids, costs: Vector, a: Vector) -> tuple[Vector, Certificate]:
        """Return the outputs of `a` and its certificate, all computed anew in float64.

        With gradient g_ik = output_ik + [k != y_i] and M_i = max_k g_ik, ::

            gap = sum_i sum_k (u_ik - a_ik) (M_i - g_ik)

        is the primal minus the dual objective, for ½ sum_k a_kᵀ output_k appears in both and the
        a_ik of a row sum to zero. Every term is at least zero, so nothing cancels.
        """
        a = np.ascontiguousarray(a.T)
        outputs = self._outputs(a, "float64")
        gap, quadratic, linear, violation = _core.measure_joint(
            outputs, a, labels, costs, np.empty(labels.size), self.data.threads
        )
        dual = -(0.5 * quadratic + linear)
        certificate = Certificate(
            primal=dual + gap, dual=dual, violation=violation, multipliers=(), multiplier_range=()
        )
        return np.ascontiguousarray(outputs.T), certificate

    def _outputs(self, a: Vector, precision: str) -> Vector:
        """Return K a_k of each class over all rows, with kernel values of the given precision."""
        used = np.flatnonzero(a.any(axis=0))
        outputs = np.zeros(a.shape)
        if used.size:
            source = self.data.source.restrict(used, np.dtype(precision))
            weights = np.ascontiguousarray(a[:, used])
            for part in row_parts(a.shape[1], used.size, CERTIFY_VALUES):
                ids = np.arange(part.start, part.stop)
                outputs[:, part] = source.sums(ids, weights, whole(used.size))[:, 0].T
        return outputs


def _feasible(start: Any, labels: Ids, costs: Vector) -> Vector:
    """Return a point that satisfies the constraints, near `start` or zero."""
    rows = np.arange(labels.size)
    if start is None:
        return np.zeros((int(labels.max()) + 1, labels.size))
    a = np.minimum(start.T, 0.0)
    a[labels, rows] = 0.0
    total = -a.sum(axis=0)
    a *= np.divide(costs, total, out=np.ones(labels.size), where=total > costs)
    a[labels, rows] = np.minimum(costs, -a.sum(axis=0))
    return np.ascontiguousarray(a)
