"""Sums of kernel values over support vectors on the GPU: what prediction computes there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import Kernel
from ..cpu.expansion import Expansion
from ..cpu.sources import row_parts
from .device import open_device
from .kernel_data import (
    DIAGONAL_ROWS,
    MOST_AT_ONCE,
    PART_SHARE,
    centring,
    has_function,
    rows_of_numbers,
)
from .rows import DeviceRows
from .values import kernel_block

__all__ = ["GpuExpansion"]

Vector = NDArray[np.float64]


class GpuExpansion(Expansion):
    """Weighted sums over support vectors, which stay on the device after the first use.

    What reads each number once takes no longer on the host than it takes to send the numbers: the
    weights of a linear kernel, and kernel values that are given, are multiplied there.

    Parameters
    ----------
    vectors, kernel, weights, group_starts, threads
        As for the CPU.
    budget : int or None
        Bytes of the device that may be allocated; None takes three quarters of what is free.
    """

    def __init__(
        self,
        vectors: Any,
        kernel: Kernel | None,
        weights: Vector,
        group_starts: NDArray[np.int64],
        threads: int,
        budget: int | None,
    ) -> None:
        super().__init__(vectors, kernel, weights, group_starts, threads, pack=False)
        self.device = open_device()
        self.budget = self.device.free_memory() * 3 // 4 if budget is None else budget
        self.operands: DeviceRows | None = None
        if kernel is not None and self.linear is None and self.weights.shape[1]:
            self.vectors = rows_of_numbers(vectors, kernel)
            self.operands = DeviceRows(self.device, vectors, self.budget, centring(kernel))
            self.dtype = np.dtype(np.float64 if vectors.dtype == np.float64 else np.float32)

    def sums(self, X: Any) -> Vector:
        """Return the sums for each row of `X`, shape (rows, groups, outputs)."""
        if self.operands is None:
            return super().sums(X)
        X = rows_of_numbers(X, self.kernel)
        groups, outputs = self.group_starts.size - 1, self.weights.shape[0]
        result = np.empty((X.shape[0], groups * outputs))
        for part in row_parts(X.shape[0], 1, self._rows_at_once(X.shape[1])):
            result[part] = self.device.download(self._sums_of_rows(X[part]))
        return result.reshape(X.shape[0], groups, outputs)

    def _rows_at_once(self, features: int) -> int:
        values = min(MOST_AT_ONCE, self.budget // PART_SHARE // self.dtype.itemsize)
        return max(1, values // max(self.weights.shape[1], features))

    def _sums_of_rows(self, X: Any) -> Any:
        assert self.operands is not None
        assert self.kernel is not None
        xp = self.device.xp
        starts, outputs = self.group_starts, self.weights.shape[0]
        result = xp.zeros((X.shape[0], (starts.size - 1) * outputs))
        rows = self.operands.operand_of(X, self.dtype)
        for g in range(starts.size - 1):
            width = self._rows_at_once(X.shape[1])
            for some in row_parts(int(starts[g + 1] - starts[g]), 1, width):
                which = slice(int(starts[g]) + some.start, int(starts[g]) + some.stop)
                block = kernel_block(self.kernel, rows, self.operands.take(which, self.dtype))
                weights = self.device.upload(np.ascontiguousarray(self.weights[:, which].T))
                result[:, g * outputs : (g + 1) * outputs] += (
                    block.astype(np.float64, copy=False) @ weights
                )
        return result

    def self_similarity(self, X: Any) -> Vector:
        """Return k(z, z) for each row of `X`; a Python function is asked on the device."""
        if self.operands is None or self.kernel is None or not has_function(self.kernel):
            return super().self_similarity(X)
        values = np.empty(X.shape[0])
        for part in row_parts(X.shape[0], 1, DIAGONAL_ROWS):
            rows = self.operands.operand_of(X[part], np.dtype(np.float64))
            block = kernel_block(self.kernel, rows, rows)
            values[part] = self.device.download(self.device.xp.diagonal(block))
        return values
