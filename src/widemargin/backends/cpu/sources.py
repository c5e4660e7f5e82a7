"""Where kernel values come from: the compiled tile, a given matrix, or a Python function.

A source knows the kernel between all rows of the data and its chosen columns. It fills whole rows
into memory that it is given, and forms weighted sums over its columns without keeping a block.
"""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...kernels import Kernel
from ...kernels.native import NativeSpec

__all__ = ["FunctionSource", "GramSource", "NativeSource", "Source", "open_rows", "values_computed"]

Ids = NDArray[np.int64]
Floats = NDArray[Any]

SPARSE_BELOW = 0.4  # share of entries that are not zero; the table is in benchmarks/NOTES.md
SPARSE_BELOW_WIDE, WIDE = 0.3, 400  # with so many features
SAMPLED_ROWS = 256
CONVERTED_VALUES = 1 << 18  # numbers converted to float64 at once, within the cache
SMALL_PANELS = 8  # a share of the limit so small is stored in any case: the columns of a block
DEAR_ENTRIES = 64  # with more entries in a row, memory is faster than computing it again


class Source(Protocol):
    """Kernel values between any rows of the data, named by number, and this source's columns."""

    columns: Ids
    dtype: np.dtype[Any]
    dear: bool  # whether a row is worth keeping once it has been computed
    effort: float  # nanoseconds that a value takes on two cores, roughly

    def rows_into(self, ids: Ids, arena: Floats, slots: Ids) -> None:
        """Write the kernel row of ids[i] to arena[slots[i]]."""
        ...

    def update(self, ids: Ids, moves: Floats, outputs: Floats) -> None:
        """Add sum_i moves[i] k(ids[i], column) to the output of each column."""
        ...

    def square_into(self, ids: Ids, square: Floats) -> None:
        """Write the kernel matrix of some rows to the first columns of a padded array."""
        ...

    def sums(self, ids: Ids, weights: Floats, group_starts: Ids) -> Floats:
        """Return sums over columns times weights[output, column]: (ids, groups, outputs)."""
        ...

    def diagonal(self) -> Floats:
        """Return k(z, z) for every row of the data."""
        ...

    def restrict(self, columns: Ids, dtype: Any = None) -> Self:
        """Return the source with other columns, and perhaps another precision."""
        ...

    def on_threads(self, threads: int) -> Self:
        """Return the source for use by that many threads."""
        ...


def is_sparse(X: Any) -> bool:
    """Say whether `X` is a sparse matrix."""
    return bool(sp.issparse(X))


def stored_in_row(X: Any) -> float:
    """Return the mean number of entries of a row, without the zeros of a sparse one."""
    stored = X.nnz if is_sparse(X) else X.shape[0] * X.shape[1]
    return float(stored / max(1, X.shape[0]))


def open_rows(X: Any) -> Any:
    """Return the compiled core's view of a dense or CSR array; nothing is copied."""
    if is_sparse(X):
        return _core.sparse_rows(X.data, X.indptr, X.indices, X.shape[1])
    return _core.dense_rows(X)


def _share_of_nonzeros(X: Any) -> float:
    if is_sparse(X):
        return X.nnz / max(1, X.shape[0] * X.shape[1])
    sample = X[:: max(1, X.shape[0] // SAMPLED_ROWS)]
    return float(np.count_nonzero(sample) / max(1, sample.size))


class NativeSource:
    """Kernel values by the compiled tile.

    The columns are packed for the tile: dense rows feature by feature, rows that are mostly zero as
    entries. Dense rows are centred for Gaussian kernels, so that distances do not cancel.
    """

    def __init__(
        self,
        X: Any,
        spec: NativeSpec,
        *,
        kernel: Kernel,
        dtype: Any,
        threads: int,
        pack_limit: int,
        columns: Ids | None = None,
        like: "NativeSource | None" = None,
    ) -> None:
        self.X, self.spec, self.kernel, self.threads = X, spec, kernel, threads
        self.pack_limit = pack_limit
        self.dtype = np.dtype(dtype)
        if like is None:
            of_products = spec.kind.name not in ("LAPLACIAN", "CHI_SQUARED", "INTERSECTION")
            self.share = share = _share_of_nonzeros(X)
            self._opened = {"given": open_rows(X)}
            self.sparse = of_products and share < (
                SPARSE_BELOW if X.shape[1] < WIDE else SPARSE_BELOW_WIDE
            )
            entries = X.shape[1] * (2.0 * share if self.sparse else 1.0)
            self.dear, self.effort = entries > DEAR_ENTRIES, 0.1 + 0.004 * entries
            centred = spec.kind.name == "RBF" and not self.sparse and not is_sparse(X)
            self.centre = X.mean(axis=0, dtype=np.float64) if centred else None
        else:
            self._opened, self.sparse, self.centre = like._opened, like.sparse, like.centre
            self.dear, self.effort, self.share = like.dear, like.effort, like.share
        self.columns = np.arange(X.shape[0]) if columns is None else columns
        self._panels: Any = None

    @property
    def panels(self) -> Any:
        """The packed columns."""
        if self._panels is None:
            self._panels = self._pack(self.rows, self.columns, self._worth_storing())
        return self._panels

    @property
    def nbytes(self) -> int:
        """Bytes that packed columns take."""
        return 0 if self._panels is None else int(self._panels.nbytes)

    def _worth_storing(self) -> bool:
        """Say whether panels fit the limit, together with those of the other columns of the fit."""
        every, mine = self._packed_size(self.X.shape[0]), self._packed_size(self.columns.size)
        return every <= self.pack_limit or mine <= self.pack_limit // SMALL_PANELS

    def _pack(self, rows: Any, columns: Ids, stored: bool) -> Any:
        make = _core.Panels32 if self.dtype == np.float32 else _core.Panels64
        return make(
            rows,
            columns,
            int(self.spec.kind),
            self.spec.gamma,
            self.spec.coef0,
            self.spec.degree,
            self.centre,
            self.sparse,
            stored,
            self.threads,
        )

    @property
    def rows(self) -> Any:
        """The data as the core sees it: where most entries are zero, packed once as entries."""
        if not self.sparse or self._entries_size(self.X.shape[0]) > self.pack_limit:
            return self._opened["given"]
        name = self.dtype.name
        if name not in self._opened:
            self._opened[name] = self._pack(self._opened["given"], np.arange(self.X.shape[0]), True)
            self._opened[name] = self._opened[name].as_rows()
        return self._opened[name]

    def _packed_size(self, columns: int) -> int:
        if not self.sparse:
            return int(columns * self.X.shape[1] * self.dtype.itemsize)
        return self._entries_size(columns)

    def _entries_size(self, rows: int) -> int:
        return int(self.share * rows * self.X.shape[1] * (self.dtype.itemsize + 4))

    def rows_into(self, ids: Ids, arena: Floats, slots: Ids) -> None:
        """Write the kernel row of ids[i] to arena[slots[i]]."""
        self.panels.rows_into(self.rows, ids, arena, slots, self.threads)

    def update(self, ids: Ids, moves: Floats, outputs: Floats) -> None:
        """Add sum_i moves[i] k(ids[i], column) to the output of each column."""
        self.panels.update(self.rows, ids, moves, outputs, self.threads)

    def square_into(self, ids: Ids, square: Floats) -> None:
        """Write the kernel matrix of some rows to the first columns of a padded array."""
        self.restrict(ids).panels.square_into(square, self.threads)

    def sums(self, ids: Ids, weights: Floats, group_starts: Ids) -> Floats:
        """Return weighted sums over the columns for rows of the data."""
        return self.sums_of(self.rows, ids, weights, group_starts)

    def sums_of(self, rows: Any, ids: Ids, weights: Floats, group_starts: Ids) -> Floats:
        """Return weighted sums over the columns for rows of any other data, opened as rows."""
        groups, outputs = group_starts.size - 1, weights.shape[0]
        result = np.empty((ids.size, groups * outputs))
        self.panels.sums_into(rows, ids, weights, group_starts, result, self.threads)
        return result.reshape(ids.size, groups, outputs)

    def diagonal(self) -> Floats:
        """Return k(z, z) for every row of the data."""
        return self_similarity(self.kernel, self.X)

    def on_threads(self, threads: int) -> "NativeSource":
        """Return the source for use by that many threads."""
        other = copy(self)
        other.threads = threads
        return other

    def restrict(self, columns: Ids, dtype: Any = None) -> "NativeSource":
        """Return the source with other columns, and perhaps another precision."""
        return NativeSource(
            self.X,
            self.spec,
            kernel=self.kernel,
            dtype=self.dtype if dtype is None else dtype,
            threads=self.threads,
            pack_limit=self.pack_limit,
            columns=columns,
            like=self,
        )


class _BlockSource:
    """What sources have in common that are asked for blocks in Python."""

    columns: Ids
    dtype: np.dtype[Any]
    block: Callable[[Ids, Ids], Floats]
    dear, effort = True, 100.0

    def update(self, ids: Ids, moves: Floats, outputs: Floats) -> None:
        """Add sum_i moves[i] k(ids[i], column) to the output of each column."""
        for part in row_parts(ids.size, self.columns.size):
            outputs += moves[part] @ self.block(ids[part], self.columns)

    def on_threads(self, threads: int) -> Self:
        """Return the source itself: blocks are computed by the thread that asks."""
        return self

    def rows_into(self, ids: Ids, arena: Floats, slots: Ids) -> None:
        """Write the kernel row of ids[i] to arena[slots[i]]."""
        arena[slots, : self.columns.size] = self.block(ids, self.columns)

    def square_into(self, ids: Ids, square: Floats) -> None:
        """Write the kernel matrix of some rows to the first columns of a padded array."""
        square[:, : ids.size] = self.block(ids, ids)

    def sums(self, ids: Ids, weights: Floats, group_starts: Ids) -> Floats:
        """Return weighted sums over the columns for rows of the data."""
        groups, outputs = group_starts.size - 1, weights.shape[0]
        result = np.zeros((ids.size, groups, outputs))
        for part in row_parts(ids.size, self.columns.size):
            block = np.asarray(self.block(ids[part], self.columns), dtype=np.float64)
            for g in range(groups):
                inside = slice(group_starts[g], group_starts[g + 1])
                result[part, g] = block[:, inside] @ weights[:, inside].T
        return result


def row_parts(rows: int, columns: int, values: int = 1 << 22) -> Iterator[slice]:
    """Cut rows into parts whose blocks hold about `values` numbers."""
    step = max(1, values // max(1, columns))
    for first in range(0, rows, step):
        yield slice(first, min(first + step, rows))


class GramSource(_BlockSource):
    """Kernel values from a matrix that the caller has computed, used in place."""

    dear, effort = False, 1.0  # the rows are in memory already

    def __init__(self, gram: Floats, dtype: Any, columns: Ids | None = None) -> None:
        self.gram, self.dtype = gram, np.dtype(dtype)
        every = np.arange(gram.shape[0])
        self.columns = every if columns is None else columns
        self.whole = np.array_equal(self.columns, every)

    def block(self, ids: Ids, columns: Ids) -> Floats:
        """Return a block of the matrix."""
        if self.whole and columns is self.columns:
            return self.gram[ids]
        return self.gram[ids[:, None], columns]

    def diagonal(self) -> Floats:
        """Return the diagonal of the matrix."""
        return np.array(np.diagonal(self.gram), dtype=np.float64)

    def restrict(self, columns: Ids, dtype: Any = None) -> "GramSource":
        """Return the source with other columns, and perhaps another precision."""
        return GramSource(self.gram, self.dtype if dtype is None else dtype, columns)


class FunctionSource(_BlockSource):
    """Kernel values from a Python kernel, asked for blocks."""

    def __init__(self, X: Any, kernel: Kernel, dtype: Any, columns: Ids | None = None) -> None:
        self.X, self.kernel, self.dtype = X, kernel, np.dtype(dtype)
        self.columns = np.arange(count_rows(X)) if columns is None else columns

    def block(self, ids: Ids, columns: Ids) -> Floats:
        """Ask the kernel for a block."""
        values_computed(ids.size * columns.size)
        return self.kernel(take_rows(self.X, ids), take_rows(self.X, columns))

    def diagonal(self) -> Floats:
        """Return k(z, z) for every row of the data."""
        return self_similarity(self.kernel, self.X)

    def restrict(self, columns: Ids, dtype: Any = None) -> "FunctionSource":
        """Return the source with other columns, and perhaps another precision."""
        return FunctionSource(self.X, self.kernel, self.dtype if dtype is None else dtype, columns)


def values_computed(more: int = 0) -> int:
    """Return how many kernel values this process has computed, `more` among them."""
    return _core.count_kernel_values(int(more))


def self_similarity(kernel: Kernel, X: Any) -> Floats:
    """Return k(z, z) of every row in float64.

    In parts: float32 rows converted all at once would take twice the memory of the data.
    """
    if kernel.accepts_objects:
        return np.asarray(kernel.diagonal(X), dtype=np.float64)
    values = np.empty(X.shape[0])
    for part in row_parts(X.shape[0], X.shape[1], CONVERTED_VALUES):
        values[part] = kernel.diagonal(X[part].astype(np.float64, copy=False))
    return values


def squared_norms(X: Any, centre: Floats | None) -> Floats:
    """Return the squared norm of every row, after `centre` has been taken off it."""
    if centre is None:
        squared = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
        return np.asarray(squared, dtype=np.float64).ravel()
    norms = np.empty(X.shape[0])
    for part in row_parts(X.shape[0], X.shape[1], CONVERTED_VALUES):
        shifted = X[part] - centre
        norms[part] = np.einsum("ij,ij->i", shifted, shifted)
    return norms


def count_rows(X: Any) -> int:
    """Return the number of rows of an array, a sparse matrix or a list of objects."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, ids: Ids) -> Any:
    """Return the rows of an array, a sparse matrix or a list of objects."""
    return X[ids] if hasattr(X, "shape") else [X[i] for i in ids]
