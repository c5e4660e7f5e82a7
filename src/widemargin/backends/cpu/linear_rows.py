"""The rows of a linear machine: products with the data, cut into parts of at most 0.1 seconds."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from .sources import is_sparse, open_rows

__all__ = ["LinearRows"]

Vector = NDArray[np.float64]

ENTRIES_AT_ONCE = 5e7  # entries of X read between two looks at the keyboard
PRODUCTS_AT_ONCE = 2e9  # multiplications of a Gram matrix, likewise


class LinearRows:
    """Every step-th row of a dense or CSR array, used in place.

    Parameters
    ----------
    X : array or CSR matrix
        The data.
    threads : int
        Threads to use; results do not depend on them.
    offset, step : int
        The rows are offset, offset + step, and so on.
    """

    def __init__(self, X: Any, threads: int, offset: int = 0, step: int = 1) -> None:
        self.X, self.threads, self.offset, self.step = X, threads, offset, step
        self.opened = open_rows(X)
        self.count = len(range(offset, X.shape[0], step))
        self.features = int(X.shape[1])
        stored = X.nnz if is_sparse(X) else X.shape[0] * X.shape[1]
        self.mean_entries = max(1.0, stored / max(1, X.shape[0]))
        self.pause: Callable[[], None] = _nothing
        self._norms: Vector | None = None

    def part(self, step: int) -> "LinearRows":
        """Return every step-th of these rows."""
        offset = self.offset + self.step * (step // 2)
        part = LinearRows(self.X, self.threads, offset, self.step * step)
        part.pause = self.pause
        return part

    def taken(self, ids: NDArray[np.int64]) -> Any:
        """Return a few rows as an array or CSR matrix of their own."""
        return self.X[self.offset + self.step * ids]

    def columns(self, ids: NDArray[np.int64]) -> Any:
        """Return a few columns of the rows as an array or CSR matrix of their own."""
        part = self.X[self.offset :: self.step][:, ids]
        return part if is_sparse(part) else np.ascontiguousarray(part)

    def _parts(self, work_of_row: float, at_once: float) -> Iterator[tuple[int, int, int, int]]:
        size = max(64, int(at_once / work_of_row))
        for first in range(0, self.count, size):
            self.pause()
            yield first, min(first + size, self.count), self.offset, self.step

    def _cheap(self) -> Iterator[tuple[int, int, int, int]]:
        return self._parts(self.mean_entries, ENTRIES_AT_ONCE)

    def times(self, weights: Vector, bias: float, outputs: Vector) -> None:
        """Set outputs to X w + b."""
        for part in self._cheap():
            _core.times(self.opened, *part, weights, bias, outputs, self.threads)

    def transposed(self, dual: Vector) -> Vector:
        """Return the sum of dual_i x_i."""
        sums = np.zeros(self.features)
        for part in self._cheap():
            _core.times_transposed(self.opened, *part, dual, sums, self.threads)
        return sums

    def curvature_times(self, curvature: Vector, weights: Vector, bias: float) -> Vector:
        """Return the sum of curvature_i (x_i.w + b) (x_i, 1), in one pass."""
        sums, total = np.zeros(self.features), 0.0
        for part in self._cheap():
            total += _core.times_curvature(
                self.opened, *part, curvature, weights, bias, sums, self.threads
            )
        return np.append(sums, total)

    def weighted_squares(self, factors: Vector) -> Vector:
        """Return the sum of factors_i x_ik² for each feature."""
        sums = np.zeros(self.features)
        for part in self._cheap():
            _core.weighted_squares(self.opened, *part, factors, sums, self.threads)
        return sums

    def norms(self) -> Vector:
        """Return ||x_i||² of each row; computed once."""
        if self._norms is None:
            self._norms = np.empty(self.count)
            for part in self._cheap():
                _core.row_norms(self.opened, *part, self._norms, self.threads)
        return self._norms

    def times_of(self, ids: NDArray[np.int64], weights: Vector) -> Vector:
        """Return X w of a few rows."""
        self.pause()
        outputs = np.empty(ids.size)
        places = np.ascontiguousarray(self.offset + self.step * ids)
        _core.times_of(self.opened, places, weights, outputs, self.threads)
        return outputs

    def transposed_of(self, ids: NDArray[np.int64], factor: Vector) -> Vector:
        """Return the sum of factor_i x_i over a few rows."""
        self.pause()
        sums = np.zeros(self.features)
        places = np.ascontiguousarray(self.offset + self.step * ids)
        _core.transposed_of(self.opened, places, factor, sums, self.threads)
        return sums

    def products_of(self, ids: NDArray[np.int64], scale: Vector) -> Vector:
        """Return the sum over features of scale_k x_ik x_jk for each pair of a few rows."""
        self.pause()
        products = np.empty((ids.size, ids.size))
        places = np.ascontiguousarray(self.offset + self.step * ids)
        _core.row_products(self.opened, places, scale, products, self.threads)
        return products

    def gram(self, curvature: Vector) -> Vector:
        """Return the symmetric sum of curvature_i (x_i, 1)(x_i, 1)ᵀ."""
        size = self.features + 1
        gram = np.zeros((size, size))
        work = 0.5 * min(float(size), 4.0 * self.mean_entries) ** 2
        for part in self._parts(work, PRODUCTS_AT_ONCE):
            _core.gram(self.opened, *part, curvature, gram, self.threads)
        return gram


def _nothing() -> None:
    """Do nothing between parts."""
