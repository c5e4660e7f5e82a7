"""Kernel values of one machine's rows: from the matrix on the device, or computed as needed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cpu.sources import row_parts

__all__ = ["Columns"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]


class Columns:
    """The kernel between any of a machine's rows and all of them.

    Parameters
    ----------
    data : GpuKernelData
    ids : array of int
        The machine's rows, as rows of the data.
    dtype : type
        Of kernel values.
    keep : bool
        Whether to hold the kernel matrix if there is room.
    """

    def __init__(self, data: Any, ids: Ids, dtype: Any, *, keep: bool) -> None:
        self.data, self.device, self.ids, self.dtype = data, data.device, ids, np.dtype(dtype)
        self.every = np.array_equal(ids, np.arange(data.rows))
        self.matrix: Any = None
        self.places = ids
        if keep:
            self.matrix, self.places = data.matrix(ids, dtype)

    def rounds(self, state: Any) -> Any:
        """Return what makes many rounds on end, or None where that needs what is not there.

        That is the kernel matrix or, for a kernel of inner products, the dense rows.
        """
        rows = None if self.matrix is not None else self.data.rows_for_tiles(self.dtype)
        if self.matrix is None and rows is None:
            return None
        diagonal = self.device.upload(self.data.diagonal[self.ids], self.dtype)
        places = self.device.upload(self.places, np.int32)
        if rows is not None:
            return self.device.rounds_of_rows(state, *rows, places, diagonal)
        return self.device.rounds(state, self.matrix, places, diagonal, self.data.small_blocks)

    def square(self, at: Ids) -> Any:
        """Return the kernel matrix of some of the machine's rows."""
        if self.matrix is not None:
            which = self.device.upload(self.places[at])
            return self.matrix[which][:, which]
        return self.data.block(self.ids[at], self.ids[at], self.dtype)

    def add(self, at: Ids, moves: Vector, outputs: Any) -> None:
        """Add sum_i moves[i] k(row at[i], row j) to outputs[j] for each of the machine's rows."""
        moves = self.device.upload(moves, np.float64)
        if self.matrix is not None:
            places = self.device.upload(self.places)
            for some in row_parts(at.size, self.ids.size, self.data.values_at_once(self.dtype)):
                rows = self.matrix[self.device.upload(self.places[at[some]])][:, places]
                outputs += moves[some] @ rows.astype(np.float64, copy=False)
            return
        self.data.keep_within_budget()
        for part in row_parts(self.ids.size, 1, self.data.rows_at_once(self.dtype, at.size)):
            columns = part if self.every else self.ids[part]
            self.data.add_rows(self.ids[at], columns, moves, outputs[part], self.dtype)
