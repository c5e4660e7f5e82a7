"""Kernel values computed on the GPU for machines whose state is on the host.

The joint machine of all classes keeps its state there: a block of it is a problem of rows times
classes whose small steps a processor makes sooner. What costs the time, kernel values, is the
device's.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cpu.joint import CpuJointData
from ..cpu.sources import row_parts

__all__ = ["DeviceSource", "GpuJointData"]

Ids = NDArray[np.int64]
Floats = NDArray[Any]


class DeviceSource:
    """Kernel values between any rows and some columns; implements `backends.cpu.sources.Source`.

    Parameters
    ----------
    data : GpuKernelData
    columns : array of int
    dtype : type
        Of kernel values.
    """

    dear = True  # a row that has come over the bus is worth keeping

    def __init__(self, data: Any, columns: Ids, dtype: Any) -> None:
        self.data, self.columns, self.dtype = data, columns, np.dtype(dtype)

    def _block(self, ids: Ids, columns: Ids) -> Floats:
        block = np.empty((ids.size, columns.size), dtype=self.dtype)
        at_once = self.data.rows_at_once(self.dtype, min(ids.size, columns.size))
        for part in row_parts(ids.size, 1, at_once):
            for some in row_parts(columns.size, 1, at_once):
                values = self.data.block(ids[part], columns[some], self.dtype)
                block[part, some] = self.data.device.download(values)
        return block

    def rows_into(self, ids: Ids, arena: Floats, slots: Ids) -> None:
        """Write the kernel row of ids[i] to arena[slots[i]]."""
        arena[slots, : self.columns.size] = self._block(ids, self.columns)

    def update(self, ids: Ids, moves: Floats, outputs: Floats) -> None:
        """Add sum_i moves[i] k(ids[i], column) to the output of each column."""
        outputs += self.data.outputs_at(self.columns, ids, moves, self.dtype.name)

    def square_into(self, ids: Ids, square: Floats) -> None:
        """Write the kernel matrix of some rows to the first columns of a padded array."""
        square[: ids.size, : ids.size] = self._block(ids, ids)

    def sums(self, ids: Ids, weights: Floats, group_starts: Ids) -> Floats:
        """Return sums over columns times weights[output, column]: (ids, groups, outputs)."""
        sums = np.empty((ids.size, group_starts.size - 1, weights.shape[0]))
        for g, (first, last) in enumerate(pairwise(group_starts)):
            for k, row in enumerate(weights[:, first:last]):
                columns = self.columns[first:last]
                sums[:, g, k] = self.data.outputs_at(ids, columns, row, self.dtype.name)
        return sums

    def diagonal(self) -> Floats:
        """Return k(z, z) for every row of the data."""
        return np.asarray(self.data.diagonal)

    def restrict(self, columns: Ids, dtype: Any = None) -> "DeviceSource":
        """Return the source with other columns, and perhaps another precision."""
        return DeviceSource(self.data, columns, self.dtype if dtype is None else dtype)

    def on_threads(self, threads: int) -> "DeviceSource":
        """Return the source itself: the device is shared."""
        return self


class _WithSource:
    """Rows of a GPU as the joint machine wants them."""

    def __init__(self, data: Any, budget: int) -> None:
        self.rows, self.threads, self.budget = data.rows, data.threads, budget
        self.diagonal, self.precisions = data.diagonal, data.precisions
        self.source = DeviceSource(data, np.arange(data.rows), np.float64)


class GpuJointData(CpuJointData):
    """The rows and the kernel of a fit, as ``solvers.joint.solve_joint`` wants them.

    Parameters
    ----------
    data : GpuKernelData
    budget : int
        Bytes of the host that may be allocated.
    """

    def __init__(self, data: Any, budget: int) -> None:
        super().__init__(_WithSource(data, budget))
