"""The rows of a fit and their kernel, on the GPU: what all machines of one fit share."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import RBF, ChiSquared, FunctionKernel, Kernel, Laplacian, NativeSpec
from ...problem import Problem
from ...solution import Certificate
from ...solvers.block_smo import Trust
from ..cpu.certificate import certify
from ..cpu.kernel_data import EXACT_BLOCK, EXACT_COPIES, FLOAT32_LARGEST, FLOAT64_ROWS
from ..cpu.sources import row_parts, self_similarity
from .columns import Columns
from .device import open_device
from .machine import GpuMachine
from .rounds import LARGEST
from .rows import DeviceRows, Operand
from .values import add_rows, in_tiles, kernel_block, operands, runs_here, tile_spec

__all__ = ["GpuKernelData", "centring", "has_function", "rows_of_numbers"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

MATRIX_SHARE = 0.7  # of the budget, for kernel matrices
HELD_SHARE = 0.75  # of the budget, beyond which unused memory is given back
PART_SHARE = 16  # one part of a computation takes one in so many bytes of the budget
MOST_AT_ONCE = 1 << 29  # kernel values computed between two looks at the keyboard
TERMS_AT_ONCE = 1 << 12  # of a sum, so that many columns are summed side by side
AT_ONCE = 32  # machines that are solved side by side
WORK = 1 << 40  # multiplications between two looks at the keyboard, where nothing is written
MANY_FEATURES = 100
DIAGONAL_ROWS = 256  # of a block of which only the diagonal is used


class GpuKernelData:
    """Rows, kernel, and the kernel matrix that the machines of one fit share.

    Parameters
    ----------
    X : array or CSR matrix
        Rows on the host; with `kernel` None, their kernel matrix.
    kernel : Kernel or None
        Kernel with all parameters resolved to numbers.
    threads : int
        Threads of the host to use.
    budget : int or None
        Bytes of the device that may be allocated; None takes three quarters of what is free.
    precision : {"auto", "float32", "float64"}
        Precision of stored kernel values.
    """

    def __init__(
        self, X: Any, kernel: Kernel | None, *, threads: int, budget: int | None, precision: str
    ) -> None:
        self.device = open_device()
        self._held_before = self.device.held_memory()
        self.X, self.kernel, self.threads = rows_of_numbers(X, kernel), kernel, threads
        self.budget = self.device.free_memory() * 3 // 4 if budget is None else budget
        self.rows = int(X.shape[0])
        self.operands = (
            None if kernel is None else DeviceRows(self.device, X, self.budget, centring(kernel))
        )
        self.diagonal = self._diagonal()
        self.trust = Trust()
        self.precisions = self._precisions(precision)
        self._matrices: dict[np.dtype[Any], Any] = {}
        self._building = threading.Lock()
        self._own_stream, self.part_share = False, PART_SHARE

    small = None  # machines are launched one by one

    @property
    def side_by_side(self) -> int:
        """Variables up to which machines are solved beside one another: any if they share."""
        return 1 << 62 if self._fits(self.rows, np.dtype(self.precisions[0])) else 0

    @property
    def small_blocks(self) -> bool:
        """Whether half a block serves better, where the kernel matrix is on the device.

        Where rows have many features they depend little on one another: a smaller block, whose
        steps are faster, loses nothing. Machines side by side would wait for the host more often.
        """
        many = self.operands is not None and self.operands.features >= MANY_FEATURES
        return many and not self._own_stream

    @property
    def at_once(self) -> int:
        """Machines that are solved at the same time."""
        return AT_ONCE

    def _precisions(self, precision: str) -> tuple[str, ...]:
        """Return the precisions to solve in, by the rules of the CPU."""
        if precision != "auto":
            return (precision,)
        if self.rows <= FLOAT64_ROWS or self.diagonal.max() > FLOAT32_LARGEST:
            return ("float64",)
        spec = None if self.kernel is None else self.kernel.native()
        if spec is not None and spec.kind.name == "RBF":
            assert self.operands is not None
            spread = spec.gamma * self.operands.largest_norm
            if spread * float(np.finfo(np.float32).eps) > 1e-4:
                return ("float64",)
        return ("float32", "float64")

    def _diagonal(self) -> Vector:
        """Return k(z, z) for every row; a Python function is asked on the device."""
        if self.kernel is None:
            return np.array(np.diagonal(self.X), dtype=np.float64)
        if isinstance(self.kernel, RBF | Laplacian | ChiSquared):
            return np.ones(self.rows)
        if not has_function(self.kernel):
            return self_similarity(self.kernel, self.X)
        values = np.empty(self.rows)
        for part in row_parts(self.rows, 1, DIAGONAL_ROWS):
            block = self.block(part, part, np.float64)
            values[part] = self.device.download(self.device.xp.diagonal(block))
        return values

    # --- kernel values -----------------------------------------------------------------------

    def values_at_once(self, dtype: Any) -> int:
        """Return how many kernel values one part of a computation may hold."""
        return int(min(MOST_AT_ONCE, self.budget // self.part_share // np.dtype(dtype).itemsize))

    def keep_within_budget(self) -> None:
        """Give unused memory back before the next part, if what is held nears the budget.

        Parts differ in size, and CuPy keeps what no longer fits for later.
        """
        held = self.device.held_memory() - self._held_before
        if held > HELD_SHARE * self.budget:
            self.device.give_back()

    def rows_at_once(self, dtype: Any, other: int) -> int:
        """Return how many rows one part may hold, of which each meets so many others."""
        features = 1 if self.operands is None else self.operands.features
        return max(1, self.values_at_once(dtype) // max(1, other, features))

    def block(self, ids: Ids | slice, columns: Ids | slice, dtype: Any, out: Any = None) -> Any:
        """Return the kernel between some rows and others."""
        if self.operands is None or self.kernel is None:
            block = self.X[ids][:, columns]
            return _written(out, self.device.upload(np.ascontiguousarray(block), dtype))
        A = self.operands.take(ids, dtype)
        B = A if columns is ids else self.operands.take(columns, dtype)
        return kernel_block(self.kernel, A, B, out)

    def add_rows(
        self, ids: Ids, columns: Ids | slice, moves: Any, outputs: Any, dtype: Any
    ) -> None:
        """Add sum_i moves[i] k(ids[i], column) to the output of each column."""
        if self.operands is None or self.kernel is None:
            outputs += moves @ self.block(ids, columns, np.float64)
            return
        A, B = self.operands.take(ids, dtype), self.operands.take(columns, dtype)
        add_rows(self.kernel, A, B, moves, outputs)

    def rows_for_tiles(self, dtype: Any) -> tuple[Operand, NativeSpec] | None:
        """Return all rows and the formula for kernels by tiles, or None if there is no such way."""
        if self.operands is None or self.kernel is None or not self.operands.resident:
            return None
        spec, whole = tile_spec(self.kernel), self.operands.whole(dtype)
        if spec is None or not in_tiles(whole, whole):
            return None
        return operands(spec, whole, whole)[0], spec

    def _fits(self, rows: int, dtype: np.dtype[Any]) -> bool:
        held = sum(m.nbytes for m in self._matrices.values())
        return held + rows * rows * dtype.itemsize <= MATRIX_SHARE * self.budget

    def matrix(self, ids: Ids, dtype: Any) -> tuple[Any, Ids]:
        """Return a kernel matrix on the device and where some rows are in it, or None.

        It is that of all rows, for all machines, or else that of these rows alone.
        """
        dtype = np.dtype(dtype)
        with self._building:
            if dtype not in self._matrices and self._fits(self.rows, dtype):
                self._matrices[dtype] = self._build(np.arange(self.rows), dtype)
                self.device.synchronize()  # other streams read it
            if dtype in self._matrices:
                return self._matrices[dtype], ids
            if self._fits(ids.size, dtype):
                return self._build(ids, dtype), np.arange(ids.size)
        return None, ids

    def _build(self, ids: Ids, dtype: np.dtype[Any]) -> Any:
        matrix = self.device.xp.empty((ids.size, ids.size), dtype=dtype)
        if (tiles := self.rows_for_tiles(dtype)) is not None:
            rows = tiles[0].tile_rows
            chosen = self.device.upload(ids, np.int32), ids.size
            self.device.kernel_values(rows, rows, tiles[1], matrix, chosen, chosen)
            return matrix
        if ids.size == self.rows and (self.operands is None or self.operands.resident):
            for part in row_parts(ids.size, ids.size, self.values_at_once(dtype)):
                self.block(part, slice(None), dtype, out=matrix[part])
            return matrix
        self.keep_within_budget()
        width = self.rows_at_once(dtype, 1)
        for columns in row_parts(ids.size, 1, width):
            for part in row_parts(ids.size, 1, self.rows_at_once(dtype, columns.stop)):
                matrix[part, columns] = self.block(ids[part], ids[columns], dtype)
        return matrix

    def outputs_at(
        self, ids: Ids, columns: Ids, coefficients: Vector, precision: str = "float64"
    ) -> Vector:
        """Return sum_j k(z_i, z_j) coefficients_j for the rows ids i over the columns j."""
        used = np.flatnonzero(coefficients)
        outputs = self.device.xp.zeros(ids.size)
        dtype = np.dtype(precision)
        moves = self.device.upload(coefficients[used], np.float64)
        if (tiles := self.rows_for_tiles(dtype)) is not None:
            self._add_tiles(*tiles, columns[used], moves, ids, outputs)
            return np.asarray(self.device.download(outputs))
        for some in row_parts(used.size, 1, min(TERMS_AT_ONCE, self.rows_at_once(dtype, 1))):
            chosen = columns[used[some]]
            self.keep_within_budget()
            for part in row_parts(ids.size, 1, self.rows_at_once(dtype, chosen.size)):
                self.add_rows(chosen, ids[part], moves[some], outputs[part], dtype)
        return np.asarray(self.device.download(outputs))

    def _add_tiles(
        self, rows: Operand, spec: NativeSpec, used: Ids, moves: Any, ids: Ids, outputs: Any
    ) -> None:
        """Add sum_i moves[i] k(used[i], ids[j]) to outputs[j]."""
        pair, upload = rows.tile_rows, self.device.upload
        chosen = upload(used, np.int32), int(used.size)
        work = max(1, used.size) * max(1, int(pair[0].shape[1]))
        for part in row_parts(ids.size, 1, max(1, WORK // work)):
            summed = upload(ids[part], np.int32), int(ids[part].size)
            self.device.kernel_sums(pair, pair, moves, outputs[part], spec, chosen, summed)
            self.device.synchronize()

    # --- machines ----------------------------------------------------------------------------

    def machine(
        self,
        problem: Problem,
        segments: list[Ids],
        start: Vector,
        precision: str,
        stop: Callable[[], object],
    ) -> GpuMachine:
        """Return the state of a machine over some rows, given as segments of row numbers."""
        ids = np.concatenate(segments)
        keep = problem.linear.size > LARGEST
        exact = min(EXACT_BLOCK, int((self.budget / 4 / EXACT_COPIES / 8) ** 0.5))
        return GpuMachine(
            problem,
            Columns(self, ids, precision, keep=keep),
            self.diagonal[ids],
            start=start,
            outputs=self.outputs_at(ids, ids, problem.coefficients(start), precision),
            exact_size=exact,
            stop=stop,
        )

    def certify(
        self,
        problem: Problem,
        segments: list[Ids],
        x: Vector,
        machine: object = None,
        hurried: bool = False,
    ) -> tuple[Vector, Certificate]:
        """Return the outputs of `x` and its certificate, computed anew from float64 kernel values.

        The kernel sums are the device's; what takes one pass over the rows is the host's.
        """
        ids = np.concatenate(segments)
        outputs = self.outputs_at(ids, ids, problem.coefficients(x))
        return outputs, certify(problem, x, outputs, self.diagonal[ids], self.threads)

    def in_weights(self, problem: Problem, segments: list[Ids]) -> None:
        """Return None: a linear kernel is solved as any other here."""

    def on_threads(self, threads: int) -> "GpuKernelData":
        """Return the same data for a thread of its own, whose work runs beside that of others."""
        few = np.arange(min(self.rows, 2))
        for precision in self.precisions:  # so that no two threads compile the same
            self.outputs_at(few, few, np.ones(few.size), precision)
            self.block(few, few, precision)
        self.matrix(few, self.precisions[0])
        other = copy(self)
        other.threads = threads
        other.part_share = self.part_share * AT_ONCE
        other._own_stream = True
        return other

    @contextmanager
    def working(self) -> Iterator[None]:
        """Surround all that one thread does with the data."""
        if not self._own_stream:
            yield
            return
        with self.device.stream():
            yield

    def release(self) -> None:
        """Forget all kernel values and rows on the device."""
        self._matrices.clear()
        if self.operands is not None:
            self.operands.forget()


def _written(out: Any, values: Any) -> Any:
    if out is None:
        return values
    out[...] = values
    return out


def centring(kernel: Kernel) -> str:
    """Return whether rows are centred: for distances, which then lose few digits."""
    if isinstance(kernel, RBF):
        return "now"
    return "later" if getattr(kernel, "parts", list)() else "never"


def has_function(kernel: Kernel) -> bool:
    """Tell whether a Python function is part of the kernel."""
    if isinstance(kernel, FunctionKernel):
        return True
    return any(has_function(part) for part in getattr(kernel, "parts", list)())


def rows_of_numbers(X: Any, kernel: Kernel | None) -> Any:
    """Return the rows, or say why a GPU cannot compare them."""
    numbers = getattr(X, "ndim", 0) == 2 and getattr(X, "dtype", None) in (np.float32, np.float64)
    if not numbers or not (kernel is None or runs_here(kernel)):
        raise ValueError(
            f"{kernel!r} compares Python objects, found {type(X).__name__}, which a GPU cannot "
            "hold; use device='cpu', or compute the matrix and use kernel='precomputed'"
        )
    return X
