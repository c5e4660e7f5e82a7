"""The rows of a fit as the GPU sees them: dense, CSR, or left on the host and sent in parts."""

import threading
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cpu.sources import count_rows, is_sparse, row_parts

__all__ = ["DeviceRows", "Operand"]

Ids = NDArray[np.int64]
STREAMED_VALUES = 1 << 24  # numbers sent at once where rows stay on the host
SHARE_OF_ROWS = 4  # rows that take more than one in so many bytes of the budget stay on the host


class Operand:
    """Some rows on the device, with what kernels ask of them.

    Parameters
    ----------
    device : Device
    raw : array or CSR matrix of the device
        The rows, in the type in which kernel values are computed.
    shift : array of the device, or None
        What centres dense rows, so that distances lose few digits.
    """

    def __init__(self, device: Any, raw: Any, shift: Any = None) -> None:
        self.device, self.raw, self.shift = device, raw, shift

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.raw.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether the rows are in CSR."""
        return bool(self.device.sparse.issparse(self.raw))

    @cached_property
    def norms(self) -> Any:
        """Squared norms, summed in float64."""
        if not self.sparse:
            return self.device.row_norms(self.raw)
        squares = self.raw.multiply(self.raw).sum(axis=1)
        return self.device.xp.asarray(squares, dtype=self.raw.dtype).ravel()

    @cached_property
    def centred(self) -> "Operand":
        """The same rows, shifted if they are to be and not yet are."""
        if self.shift is None:
            return self
        return Operand(self.device, self.raw - self.shift)

    @cached_property
    def dense(self) -> Any:
        """The rows as a dense array."""
        return self.raw.toarray() if self.sparse else self.raw

    @property
    def tile_rows(self) -> tuple[Any, Any]:
        """The dense rows and their norms, as `tiles.py` wants them."""
        return self.device.xp.ascontiguousarray(self.raw), self.norms

    def take(self, which: Any) -> "Operand":
        """Return some of the rows, given as a slice or by their numbers on the device."""
        part = Operand(self.device, self.raw[which], self.shift)
        if "norms" in self.__dict__:
            part.__dict__["norms"] = self.norms[which]
        return part


class DeviceRows:
    """All rows of the data, from which parts are taken in the type of the computation.

    Parameters
    ----------
    device : Device
    X : array or CSR matrix
        Rows on the host.
    budget : int
        Bytes of the device that the whole fit may take.
    centred : {"never", "now", "later"}
        Whether dense rows are shifted to have mean zero: at once if nothing else is asked of them.
    """

    def __init__(self, device: Any, X: Any, budget: int, centred: str) -> None:
        self.device, self.X, self.mode = device, X, centred
        self.rows, self.features = count_rows(X), int(X.shape[1])
        room = budget // SHARE_OF_ROWS
        dense_size = self.rows * self.features * X.dtype.itemsize
        self.resident = dense_size <= room
        self.kept_sparse = False
        if is_sparse(X) and not self.resident:
            self.resident = self.kept_sparse = (X.data.nbytes + X.indices.nbytes) <= room
        self.roomy = 4 * dense_size <= room  # for both types at once, and the rows as they came
        self._whole: dict[np.dtype[Any], Operand] = {}
        self._raw: Any = None
        self._loading = threading.Lock()

    @cached_property
    def shift(self) -> NDArray[np.float64] | None:
        """About the mean of the rows, if they are or become dense; any point near it will do."""
        if self.kept_sparse:
            return None
        if is_sparse(self.X) or not self.resident:
            return np.asarray(self.X.mean(axis=0), dtype=np.float64).ravel()
        rows = self._everything()
        ones = self.device.upload(np.ones(self.rows, dtype=self.X.dtype))
        return np.asarray(self.device.download(ones @ rows), dtype=np.float64) / self.rows

    @property
    def largest_norm(self) -> float:
        """Largest squared norm of a row, shifted if rows are."""
        if self.resident:
            return float(self.device.download(self.whole(np.float32).norms).max())
        largest = 0.0
        for part in row_parts(self.rows, self.features, STREAMED_VALUES):
            norms = self.operand_of(self.X[part], np.dtype(np.float32)).norms
            largest = max(largest, float(self.device.download(norms).max()))
        return largest

    def operand_of(self, X: Any, dtype: Any) -> Operand:
        """Return any rows of the host, shifted like these, on the device."""
        return self._shifted(self._sent(X), dtype)

    def _sent(self, X: Any) -> Any:
        if not is_sparse(X):
            return self.device.upload(np.ascontiguousarray(X))
        return self.device.upload_csr(X) if self.kept_sparse else self.device.upload_dense(X)

    def _everything(self) -> Any:
        """Return all rows as they came, which are sent once if there is room to keep them."""
        if not self.roomy:
            return self._sent(self.X)
        if self._raw is None:
            self._raw = self._sent(self.X)
        return self._raw

    def _shifted(self, raw: Any, dtype: Any) -> Operand:
        shift = self.shift if self.mode != "never" else None
        if shift is None:
            return Operand(self.device, raw.astype(dtype, copy=False))
        if self.mode == "later":
            return Operand(
                self.device, raw.astype(dtype, copy=False), self.device.upload(shift, dtype)
            )
        wide = np.result_type(raw.dtype, dtype)
        moved = raw.astype(wide, copy=False) - self.device.upload(shift, wide)
        return Operand(self.device, moved.astype(dtype, copy=False))

    def whole(self, dtype: Any) -> Operand:
        """Return all rows, which stay on the device."""
        dtype = np.dtype(dtype)
        with self._loading:
            if dtype not in self._whole:
                if not self.roomy:
                    self._whole.clear()
                operand = self._shifted(self._everything(), dtype)
                operand.norms  # noqa: B018  kept for all parts
                self.device.synchronize()  # other threads read them
                self._whole[dtype] = operand
            return self._whole[dtype]

    def take(self, ids: Ids | slice, dtype: Any) -> Operand:
        """Return some rows."""
        if not self.resident:
            return self.operand_of(self.X[ids], np.dtype(dtype))
        if isinstance(ids, slice) and ids == slice(None):
            return self.whole(dtype)
        which = ids if isinstance(ids, slice) else self.device.upload(ids)
        return self.whole(dtype).take(which)

    def forget(self) -> None:
        """Give the memory of the device back."""
        self._whole.clear()
        self._raw = None
