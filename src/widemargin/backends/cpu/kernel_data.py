"""The rows of a fit and their kernel, on the CPU: what all machines of one fit share."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...kernels import Kernel
from ...problem import Problem
from ...solution import Certificate
from ...solvers.block_smo import Trust
from .certificate import certify
from .machine import OVERFLOW, CpuMachine, whole
from .memory import Scratch
from .row_cache import RowCache
from .small import SmallMachines
from .sources import (
    FunctionSource,
    GramSource,
    NativeSource,
    Source,
    count_rows,
    row_parts,
    squared_norms,
    stored_in_row,
)
from .view import Segment, View
from .weights import CpuWeights

__all__ = ["CpuKernelData", "kernel_square"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]
SquareOf = Callable[[NDArray[Any]], None]

BLOCK = 2048
WHOLE = 1.5  # blocks' worth of variables up to which all of them are one
EXACT_BLOCK = 4096  # variables that Newton steps may work on at once
EXACT_COPIES = 4  # matrices that the steps hold beside one another
LEAST_BLOCK = 8  # half kept, and of each of two groups one variable to rise and one to fall
FLOAT64_ROWS = 1024  # with so few rows double precision costs nothing
FLOAT32_LARGEST = 1e24  # kernel value that leaves room for costs and sums
SHRINK_SHARE = 0.9
SIDE_BY_SIDE = 3072  # machines with no more variables are solved one to a thread
FEW_ROWS = 256  # that the kernel solves at once, and to rounding
CERTIFY_VALUES = 1 << 26  # kernel values computed between two looks at the keyboard
HURRIED_VALUES = 1 << 26  # computed after Ctrl-C


class CpuKernelData:
    """Rows, kernel, and the caches of kernel rows that the machines of one fit share.

    Parameters
    ----------
    X : array, CSR matrix or list of objects
        Rows; with `kernel` None, their kernel matrix.
    kernel : Kernel or None
        Kernel with all parameters resolved to numbers.
    threads : int
        Threads to use.
    budget : int
        Bytes that may be allocated.
    precision : {"auto", "float32", "float64"}
        Precision of stored kernel values.
    """

    def __init__(
        self, X: Any, kernel: Kernel | None, *, threads: int, budget: int, precision: str
    ) -> None:
        self.X, self.kernel, self.threads, self.budget = X, kernel, threads, budget
        self.rows = count_rows(X)
        self.source = self._open(np.dtype(np.float64))
        self.diagonal = self.source.diagonal()
        self._largest_norm = self._check_norms()
        self.precisions = self._precisions(precision)
        self.columns_in_use = self.rows  # columns of all caches together; they share the budget
        self.scratch, self.trust = Scratch(), Trust()
        self.block_sizes: list[int] = []  # of the machines so far
        self._sources: dict[tuple[str, bytes], Source] = {}
        self._kept: dict[tuple[str, bytes], NDArray[Any]] = {}
        self._opened: dict[tuple[str, bytes], tuple[Source, RowCache | None]] = {}

    def _open(self, dtype: Any) -> Source:
        if self.kernel is None:
            return GramSource(self.X, dtype)
        spec = self.kernel.native()
        if spec is None:
            return FunctionSource(self.X, self.kernel, dtype)
        return NativeSource(
            self.X,
            spec,
            kernel=self.kernel,
            dtype=dtype,
            threads=self.threads,
            pack_limit=self.budget // 12,
        )

    def _precisions(self, precision: str) -> tuple[str, ...]:
        """Return the precisions to solve in, one after the other until the certificate holds.

        "auto" begins with float32 unless the data are few, or so spread that float32 distances
        would lose more than about five digits of the exponent, or so large that sums overflow.
        """
        if precision != "auto":
            return (precision,)
        if self.rows <= FLOAT64_ROWS or self.diagonal.max() > FLOAT32_LARGEST:
            return ("float64",)
        if self._exponent_error() > 1e-4:
            return ("float64",)
        return ("float32", "float64")

    def _check_norms(self) -> float:
        """Return the largest ||x||² where values hide it: exp and quotients of inf look like 1."""
        spec = None if self.kernel is None else self.kernel.native()
        if spec is None or spec.kind.name not in ("RBF", "COSINE"):
            return 0.0
        largest = float(np.max(squared_norms(self.X, getattr(self.source, "centre", None))))
        if not np.isfinite(largest):
            raise FloatingPointError(OVERFLOW)
        return largest

    def _exponent_error(self) -> float:
        spec = None if self.kernel is None else self.kernel.native()
        if spec is None or spec.kind.name != "RBF":
            return 0.0
        return spec.gamma * self._largest_norm * float(np.finfo(np.float32).eps)

    def machine(
        self,
        problem: Problem,
        segments: list[Ids],
        start: Vector,
        precision: str,
        stop: Callable[[], object],
    ) -> CpuMachine:
        """Return the state of a machine over some rows, given as segments of row numbers."""
        ids = segments[0] if len(segments) == 1 else np.concatenate(segments)
        block_size = self._block_size(problem, precision)
        opened = []
        if block_size < problem.linear.size:
            opened = self._open_segments(segments, precision)
            slots = [s.cache.owner.size for s in opened if s.cache is not None]
            block_size = min([block_size, *slots])
        self.block_sizes.append(block_size)
        return CpuMachine(
            problem,
            ids,
            opened,
            self.source.restrict(ids, np.dtype(precision)),
            self.diagonal[ids],
            start=start,
            outputs=self.outputs_at(ids, ids, problem.coefficients(start), precision),
            block_size=block_size,
            exact_size=self._exact_size(),
            square=None if opened else self._squares(segments, precision),
            scratch=self.scratch,
            threads=self.threads,
            stop=stop,
            shrinker=self._smaller_view if opened else None,
            add=partial(self._add_exactly, segments, ids),
        )

    def _block_size(self, problem: Problem, precision: str) -> int:
        """Return the variables of a block, whose kernel matrix gets an eighth of the budget."""
        fit = self._fitting(precision)
        size = problem.linear.size
        return size if size <= min(WHOLE * BLOCK, fit) else max(LEAST_BLOCK, min(BLOCK, fit))

    def _fitting(self, precision: Any) -> int:
        """Return the variables whose kernel matrix takes an eighth of the budget."""
        return int((self.budget / 8 / np.dtype(precision).itemsize) ** 0.5)

    def _exact_size(self) -> int:
        """Return the variables of a block for Newton steps: a few float64 matrices of their own."""
        return min(EXACT_BLOCK, int((self.budget / 4 / EXACT_COPIES / 8) ** 0.5))

    def _squares(self, segments: list[Ids], precision: str) -> SquareOf:
        """Return what writes the kernel matrix of a small machine.

        Where values are dear, a pair of classes takes the matrices within each class from those
        computed before, and the block between them is computed once: a quarter of the values, or
        less. Cheap values are computed in the time that it takes to copy them.
        """
        ids = np.concatenate(segments)
        kept = self.rows**2 * np.dtype(precision).itemsize
        if len(segments) != 2 or not self.source.dear or kept > 2 * self.budget:
            source = self.source.restrict(ids, np.dtype(precision))
            return lambda square: source.square_into(ids, square)
        first, second = segments

        def fill(square: NDArray[Any]) -> None:
            n, m = first.size, second.size
            square[:n, :n] = self._within(first, precision)
            square[n : n + m, n : n + m] = self._within(second, precision)
            between = np.empty((n, _core.padded(m)), dtype=precision)
            self._source_of(second, precision).rows_into(first, between, np.arange(n))
            square[:n, n : n + m] = between[:, :m]
            square[n : n + m, :n] = between[:, :m].T

        return fill

    def _within(self, members: Ids, precision: str) -> NDArray[Any]:
        """Return the kernel matrix of one class, kept for its other pairs."""
        key = (precision, members.tobytes())
        if key not in self._kept:
            square = np.empty((members.size, _core.padded(members.size)), dtype=precision)
            self._source_of(members, precision).square_into(members, square)
            self._kept[key] = square[:, : members.size]
        return self._kept[key]

    def _source_of(self, columns: Ids, precision: str) -> Source:
        key = (precision, columns.tobytes())
        if key not in self._sources:
            self._sources[key] = self.source.restrict(columns, np.dtype(precision))
        return self._sources[key]

    def _open_segments(self, segments: list[Ids], precision: str) -> list[Segment]:
        opened, first = [], 0
        for columns in segments:
            key = (precision, columns.tobytes())
            if key not in self._opened:
                source = self._source_of(columns, precision)
                self._opened[key] = source, self._cache(source) if source.dear else None
            opened.append(Segment(*self._opened[key], first, first + columns.size))
            first += columns.size
        return opened

    def on_threads(self, threads: int) -> "CpuKernelData":
        """Return the same data for use by that many threads."""
        other = copy(self)
        other.threads = threads
        other.source = self.source.on_threads(threads)
        return other

    @property
    def side_by_side(self) -> int:
        """Variables up to which machines are solved beside one another.

        Each is then a single block in either precision: a cache of kernel rows has no lock.
        """
        return min(SIDE_BY_SIDE, self._fitting(np.float64))

    @property
    def small(self) -> SmallMachines | None:
        """What solves small machines in one crossing, if the kernel is compiled."""
        if not isinstance(self.source, NativeSource):
            return None
        largest = self._fitting(np.float64)
        return SmallMachines(
            self.source, self.diagonal, self.precisions, largest, self.threads, self.block_sizes
        )

    @property
    def at_once(self) -> int:
        """Machines that are solved at the same time."""
        return self.threads

    def working(self) -> AbstractContextManager[None]:
        """Surround all that one thread does with the data: there is nothing to prepare."""
        return nullcontext()

    def _cache(self, source: Source) -> RowCache:
        row_bytes = _core.padded(source.columns.size) * source.dtype.itemsize
        slots = max(LEAST_BLOCK, min(self.rows, self._share(source) // row_bytes))
        return RowCache(source, self.rows, int(slots))

    def _share(self, source: Source) -> int:
        """Return the bytes that the rows of one source may take."""
        return self.budget // 2 * source.columns.size // self.columns_in_use

    def release(self) -> None:
        """Forget all kernel rows."""
        for store in (self._opened, self._kept, self._sources):
            store.clear()

    def held(self) -> tuple[int, int]:
        """Return the bytes of kernel values and of packed rows that machines of this fit share."""
        caches = [cache for _, cache in self._opened.values() if cache is not None]
        values = sum(cache.used * cache.width * cache.arena.itemsize for cache in caches)
        values += sum(square.nbytes for square in self._kept.values())
        sources = [self.source, *self._sources.values()]
        return values, sum(s.nbytes for s in sources if isinstance(s, NativeSource))

    def outputs_at(
        self, ids: Ids, columns: Ids, coefficients: Vector, precision: str = "float64"
    ) -> Vector:
        """Return sum_j k(z_i, z_j) coefficients_j for the rows ids i over the columns j."""
        used = np.flatnonzero(coefficients)
        outputs = np.zeros(ids.size)
        if used.size:
            source = self.source.restrict(columns[used], np.dtype(precision))
            weights = np.ascontiguousarray(coefficients[used][None])
            for part in row_parts(ids.size, used.size, CERTIFY_VALUES):
                sums = source.sums(ids[part], weights, whole(used.size))
                outputs[part] = sums[:, 0, 0]
        return outputs

    def certify(
        self,
        problem: Problem,
        segments: list[Ids],
        x: Vector,
        machine: CpuMachine | None = None,
        hurried: bool = False,
    ) -> tuple[Vector, Certificate]:
        """Return the outputs of `x` and its certificate, all computed anew in float64.

        Only kernel values that a machine holds in float64 are used again. Where they would take
        too long for somebody who waits after Ctrl-C, the machine's running outputs are taken.
        """
        ids, coefficients = np.concatenate(segments), problem.coefficients(x)
        outputs = None if machine is None else machine.outputs_of(coefficients)
        dear = np.count_nonzero(coefficients) * ids.size > HURRIED_VALUES
        if outputs is None and machine is not None and hurried and dear:
            outputs = machine.running_outputs()
        if outputs is None:
            outputs = self._exact_outputs(segments, coefficients)
        return outputs, certify(problem, x, outputs, self.diagonal[ids], self.threads)

    def _exact_outputs(self, segments: list[Ids], coefficients: Vector) -> Vector:
        """Return K coefficients in float64."""
        used, outputs = np.flatnonzero(coefficients), np.zeros(coefficients.size)
        self._add_exactly(segments, np.concatenate(segments), used, coefficients[used], outputs)
        return outputs

    def _add_exactly(
        self, segments: list[Ids], ids: Ids, rows: Ids, moves: Vector, outputs: Vector
    ) -> None:
        """Add K moves to the outputs in float64, for moves of some rows of a machine.

        These rows meet panels of all rows, which the machines of a fit share, and the sums stay in
        registers: no row is packed for the few values that it takes part in.
        """
        first = 0
        for columns in segments:
            source = self._source_of(columns, "float64")
            here = outputs[first : first + columns.size]
            for part in row_parts(rows.size, columns.size, CERTIFY_VALUES):
                source.update(ids[rows[part]], moves[part], here)
            first += columns.size

    def in_weights(self, problem: Problem, segments: list[Ids]) -> CpuWeights | None:
        """Return the machine stated in weights if the kernel is linear and that is faster.

        A step then reads the rows instead of kernel values, of which each costs as much as a row's
        entries: few rows, and rows longer than half their number, are left to the kernel.
        """
        spec = None if self.kernel is None else self.kernel.native()
        if problem.loss is None or spec is None or spec.kind.name != "LINEAR":
            return None
        if problem.rows <= FEW_ROWS or 2.0 * stored_in_row(self.X) > problem.rows:
            return None
        ids = np.concatenate(segments)
        return CpuWeights(self.X, ids, problem, self.diagonal[ids], self.threads)

    def _smaller_view(self, machine: CpuMachine, keep: Ids) -> View | None:
        """Return a view of some of the rows of the machine's view, or None if not worth while."""
        view = machine.view
        if keep.size > SHRINK_SHARE * view.size or view.size < 4 * BLOCK:
            return None
        rows, segments, first = view.ids[keep], [], 0
        for old in view.segments:
            inside = keep[(keep >= old.first) & (keep < old.last)]
            if inside.size == 0:
                continue
            segment = self._narrower(old, rows, inside - old.first, first)
            if segment is None:
                return None
            segments.append(segment)
            first = segment.last
        outputs = machine.base.outputs.copy()
        outputs[view.rows] = view.outputs
        return View(machine.problem, view.rows[keep], rows, segments, machine.x, outputs)

    def _narrower(self, old: Segment, rows: Ids, columns: Ids, first: int) -> Segment | None:
        """Return a segment of some of the columns, or None if memory lacks for the kernel rows."""
        source, cache = old.source.restrict(old.source.columns[columns]), None
        if old.cache is not None:
            itemsize = source.dtype.itemsize
            free = self._share(old.source) - old.cache.used * old.cache.width * itemsize
            slots = min(rows.size, max(0, free) // (_core.padded(columns.size) * itemsize))
            if slots < min(rows.size, 2 * BLOCK):
                return None
            cache = RowCache(source, self.rows, int(slots))
            cache.inherit(old.cache, rows, columns, self.threads)
        return Segment(source, cache, first, first + columns.size)


def kernel_square(data: CpuKernelData, ids: Ids) -> Vector:
    """Return the kernel matrix of some rows in float64."""
    square = np.empty((ids.size, _core.padded(ids.size)))
    data.source.square_into(ids, square)
    return square[:, : ids.size]
