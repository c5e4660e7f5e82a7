"""The rows of a linear machine on the GPU: products with the data, in float64."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cpu.sources import count_rows, is_sparse, row_parts

__all__ = ["FEW_FEATURES", "GpuLinearRows"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

FEW_FEATURES = 1500  # so many make the matrix of a Newton step cheap; beyond, CSR rows stay so
SHARE_OF_ROWS = 4  # rows that take more than one in so many bytes of the budget stay on the host
SHARE_OF_PART = 16  # one part of a computation takes one in so many
SPARSE_ENTRY = 24  # bytes, in float64, by rows and by columns


class GpuLinearRows:
    """Rows on the device in float64, or sent there part by part where they take too much memory.

    Vectors with a number for each row are arrays of the device.

    Parameters
    ----------
    device : Device
    X : array or CSR matrix
        The data, on the host.
    budget : int
        Bytes of the device that may be allocated.
    threads : int
        Of the host.
    """

    def __init__(self, device: Any, X: Any, budget: int, threads: int) -> None:
        self.device, self.X, self.budget, self.threads = device, X, budget, threads
        self.count, self.features = count_rows(X), int(X.shape[1])
        self.pause: Callable[[], None] = _nothing
        self._norms: Any = None
        self.held = self._columns = None
        room, dense = budget // SHARE_OF_ROWS, 8 * self.count * self.features
        self.sparse = is_sparse(X) and (self.features > FEW_FEATURES or dense > room)
        if (SPARSE_ENTRY * X.nnz if self.sparse else dense) <= room:
            self._hold(self._sent(X))

    def _hold(self, rows: Any) -> None:
        self.held = rows
        self._columns = rows.T.tocsr() if self.sparse else None

    def _sent(self, X: Any) -> Any:
        """Return rows of the host on the device, in float64."""
        if self.sparse:
            return self.device.upload_csr(X.astype(np.float64))
        if is_sparse(X):
            return self.device.upload_dense(X).astype(np.float64, copy=False)
        return self.device.upload(np.ascontiguousarray(X)).astype(np.float64, copy=False)

    def on_threads(self, threads: int) -> "GpuLinearRows":
        """Return the same rows, not copied, for another machine."""
        other = copy(self)
        other.threads, other.pause = threads, _nothing
        return other

    def part(self, step: int) -> "GpuLinearRows":
        """Return every step-th of these rows, from the middle of the first step on."""
        other = copy(self)
        other.X = self.X[step // 2 :: step]
        other.count, other._norms = count_rows(other.X), None
        if self.held is not None:
            ids = self.device.upload(np.arange(step // 2, self.count, step))
            other._hold(self.held[ids])
        return other

    def taken(self, ids: Ids) -> Any:
        """Return a few rows on the host."""
        return self.X[ids]

    @property
    def _at_once(self) -> int:
        return max(1, self.budget // SHARE_OF_PART // (8 * max(1, self.features)))

    def _parts(self) -> Iterator[tuple[slice, Any]]:
        """Yield all rows of the device, part by part."""
        if self.held is not None:
            self.pause()
            yield slice(0, self.count), self.held
            return
        for part in row_parts(self.count, 1, self._at_once):
            self.pause()
            yield part, self._sent(self.X[part])

    # --- products ----------------------------------------------------------------------------

    def times(self, weights: Any, bias: float) -> Any:
        """Return X w + b, on the device."""
        weights, outputs = self.device.upload(weights), self.device.xp.empty(self.count)
        for part, rows in self._parts():
            outputs[part] = rows @ weights
        outputs += bias
        return outputs

    def sums(self, factors: Any) -> Any:
        """Return the sum of factors_i x_i, on the device."""
        if self._columns is not None:
            self.pause()
            return self._columns @ factors
        sums = self.device.xp.zeros(self.features)
        for part, rows in self._parts():
            sums += rows.T @ factors[part]
        return sums

    def transposed(self, factors: Any) -> Vector:
        """Return the sum of factors_i x_i."""
        return np.asarray(self.device.download(self.sums(factors)), dtype=np.float64)

    def _squared(self, rows: Any) -> Any:
        return rows.multiply(rows) if self.sparse else rows * rows

    def squares(self, factors: Any) -> Any:
        """Return the sum of factors_i x_ik² for each feature, on the device."""
        sums = self.device.xp.zeros(self.features)
        for part, rows in self._parts():
            for some in self._pieces(rows):
                sums += self._squared(rows[some]).T @ factors[part][some]
        return sums

    def norms(self) -> Any:
        """Return ||x_i||² of each row, on the device; computed once."""
        if self._norms is None:
            self._norms = self.device.xp.empty(self.count)
            ones = self.device.upload(np.ones(self.features))
            for part, rows in self._parts():
                for some in self._pieces(rows):
                    self._norms[part][some] = self._squared(rows[some]) @ ones
        return self._norms

    def _pieces(self, rows: Any) -> Iterator[slice]:
        """Cut rows that are copied for the while."""
        return row_parts(int(rows.shape[0]), 1, self._at_once)

    def gram(self, curvature: Any, curved: int) -> Any:
        """Return the symmetric sum of curvature_i (x_i, 1)(x_i, 1)ᵀ, on the device.

        Parameters
        ----------
        curvature : array of the device
        curved : int
            How many of it are not zero; where they are few, only their rows are looked at.
        """
        xp, d = self.device.xp, self.features
        gram = xp.zeros((d + 1, d + 1))
        for part, rows in self._parts():
            bends = curvature[part]
            if 2 * curved < self.count:
                ids = xp.flatnonzero(bends)
                pieces = [ids[some] for some in row_parts(int(ids.size), 1, self._at_once)]
            else:
                pieces = list(self._pieces(rows))
            for some in pieces:
                chosen, bend = rows[some], bends[some]
                chosen = chosen.toarray() if self.sparse else chosen
                gram[:d, :d] += chosen.T @ (chosen * bend[:, None])
                gram[:d, d] += bend @ chosen
                gram[d, d] += bend.sum()
        gram[d, :d] = gram[:d, d]
        return gram

    def chosen(self, ids: Any) -> Any:
        """Return some rows on the device, given by their numbers there."""
        if self.held is not None:
            return self.held[ids]
        return self._sent(self.X[self.device.download(ids)])


def _nothing() -> None:
    """Do nothing between parts."""
