"""Base quantities of vector kernels, for dense and CSR rows: dot, l1, chi2, min and distances.

Every vector kernel is a formula over one number per pair of rows:

    dot   sum_k a_k b_k
    l1    sum_k |a_k - b_k|
    chi2  sum_k (a_k - b_k)^2 / (a_k + b_k)     with 0/0 = 0
    min   sum_k min(a_k, b_k)

Two CSR rows meet only at the features that both store. For min that is the whole sum; elsewhere the
rest follows from sums over one row, by

    |a - b| = |a| + |b| + (|a - b| - |a| - |b|),   (a - b)^2 / (a + b) = a + b - 4ab / (a + b),

whose last terms are 0 unless both features are stored. Such a difference, like |a|^2 + |b|^2 -
2 a.b, loses its digits when the rows are close. Those pairs are found by comparing the result with
its summands, and are computed again from a - b.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import FloatArray, Rows

__all__ = [
    "BASES",
    "SELF_BASES",
    "Base",
    "as_pair",
    "as_rows",
    "is_sparse",
    "row_sums",
    "squared_distances",
    "squared_norms",
]

Base: TypeAlias = Literal["dot", "l1", "chi2", "min"]
Double: TypeAlias = NDArray[np.float64]
Term: TypeAlias = Callable[[Any, Any], Any]

# Below this share of its summands a difference keeps fewer than about 13 of its 16 digits.
CANCELLED = 1e-3
# Doubles held by one temporary, small enough for the second-level cache.
CHUNK = 1 << 15


def is_sparse(rows: Rows) -> bool:
    """Tell SciPy's sparse containers from everything else."""
    return bool(sparse.issparse(rows))


def as_rows(rows: Rows, owner: str, name: str) -> Rows:
    """Return `rows` as float32 or float64 array or CSR, without a copy where it already is one."""
    matrix: Rows = rows if is_sparse(rows) else np.asarray(rows)
    if matrix.ndim != 2:
        raise ValueError(
            f"{owner}: {name} must have two dimensions, found {matrix.ndim}; "
            "reshape one row to (1, n_features)."
        )
    if matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{owner}: {name} must hold real numbers, found dtype {matrix.dtype}; "
            "encode categories and convert with numpy.asarray(rows, dtype=float)."
        )
    if is_sparse(matrix):
        matrix = matrix.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    return matrix


def as_pair(A: Rows, B: Rows, owner: str) -> tuple[Rows, Rows]:
    """Return both arguments as rows of one storage, dense or CSR, with as many columns each.

    The result is one object twice if the arguments are: the block is then symmetric by
    construction.
    """
    first = as_rows(A, owner, "A")
    second = first if B is A else as_rows(B, owner, "B")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"{owner}: A has {first.shape[1]} features and B has {second.shape[1]}; "
            "both must have the same features."
        )
    # CSR can always hold dense rows; the reverse may not fit in memory.
    if is_sparse(first) and not is_sparse(second):
        second = sparse.csr_array(second)
    elif is_sparse(second) and not is_sparse(first):
        first = sparse.csr_array(first)
    return first, second


def row_sums(A: Rows, term: Callable[[Any], Any] = np.asarray) -> Double:
    """Return sum_k term(a_k) of every row in float64, for a `term` that maps 0 to 0."""
    if not is_sparse(A):
        return np.asarray(term(A.astype(np.float64, copy=False)).sum(axis=1))
    owners = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    weights = np.asarray(term(A.data.astype(np.float64)))
    return np.bincount(owners, weights, A.shape[0]).astype(np.float64, copy=False)


def squared_norms(A: Rows) -> Double:
    """Return the squared Euclidean norm of every row in float64."""
    return row_sums(A, np.square)


def dot(A: Rows, B: Rows) -> FloatArray:
    """Return the inner product of every pair of rows."""
    product = A @ B.T
    return product.toarray() if is_sparse(product) else np.asarray(product)


def squared_distances(A: Rows, B: Rows) -> Double:
    """Return |a - b|^2 for every pair: never negative, exactly 0 for equal rows.

    Dense rows are first centred at the mean of `B`, so that data far from the origin cancel little.
    """
    same = B is A
    A = A.astype(np.float64, copy=False)
    B = A if same else B.astype(np.float64, copy=False)
    # Rows too large to square give inf - inf here and are computed again below.
    with np.errstate(over="ignore", invalid="ignore"):
        if not is_sparse(A):
            centre = B.sum(axis=0) / max(B.shape[0], 1)
            A = A - centre
            B = A if same else B - centre
        summands = squared_norms(A)[:, None] + squared_norms(B)
        distance = np.asarray(dot(A, B), dtype=np.float64)
        distance *= -2
        distance += summands
        _recompute(distance, summands, A, B, lambda a, b: row_sums(a - b, np.square))
    return distance


def _manhattan(A: Rows, B: Rows) -> Double:
    if not is_sparse(A):
        return _sum_over_features(A, B, lambda a, b: np.abs(a - b))
    summands = row_sums(A, np.abs)[:, None] + row_sums(B, np.abs)
    shared = _sum_over_shared(A, B, lambda a, b: np.abs(a - b) - np.abs(a) - np.abs(b))
    distance = summands + shared
    _recompute(distance, summands, A, B, lambda a, b: row_sums(a - b, np.abs))
    return distance


def _chi_squared(A: Rows, B: Rows) -> Double:
    if not is_sparse(A):
        return _sum_over_features(A, B, _chi_squared_term)
    summands = row_sums(A)[:, None] + row_sums(B)
    distance = summands - 4 * _sum_over_shared(A, B, lambda a, b: a * (b / (a + b + (a + b == 0))))
    _recompute(
        distance,
        summands,
        A,
        B,
        lambda a, b: row_sums((a - b).multiply((a + b).power(-1)).multiply(a - b).tocsr()),
    )
    return distance


def _chi_squared_term(a: Any, b: Any) -> Any:
    difference, total = a - b, a + b
    return difference * (difference / (total + (total == 0)))


def _minimum(A: Rows, B: Rows) -> Double:
    accumulate = _sum_over_shared if is_sparse(A) else _sum_over_features
    return accumulate(A, B, np.minimum)


def _sum_over_features(A: Rows, B: Rows, term: Term) -> Double:
    """Return sum_k term(a_k, b_k) for dense rows, in parts that stay in cache."""
    A = A.astype(np.float64, copy=False)
    columns = np.ascontiguousarray(B.T, dtype=np.float64)
    total = np.zeros((A.shape[0], B.shape[0]))
    step = max(1, CHUNK // max(B.shape[0], 1))
    for start in range(0, A.shape[0], step):
        rows, block = A[start : start + step], total[start : start + step]
        for k, column in enumerate(columns):
            block += term(rows[:, k, None], column)
    return total


def _sum_over_shared(A: Rows, B: Rows, term: Term) -> Double:
    """Return sum_k term(a_k, b_k) over the features that both CSR rows store."""
    A, B = A.astype(np.float64).tocsc(), B.astype(np.float64).tocsc()
    total = np.zeros((A.shape[0], B.shape[0]))
    for k in np.flatnonzero((np.diff(A.indptr) > 0) & (np.diff(B.indptr) > 0)):
        a = slice(A.indptr[k], A.indptr[k + 1])
        b = slice(B.indptr[k], B.indptr[k + 1])
        total[np.ix_(A.indices[a], B.indices[b])] += term(A.data[a, None], B.data[b])
    return total


def _recompute(
    distance: Double,
    summands: Double,
    A: Rows,
    B: Rows,
    aligned: Callable[[Rows, Rows], Double],
) -> None:
    """Replace in place what cancellation spoilt; `aligned` takes as many rows a as b."""
    # Written with "not greater", so that inf - inf counts as spoilt; zero rows are right already.
    spoilt = ~(distance > CANCELLED * summands) & (summands > 0)
    rows, columns = np.nonzero(spoilt)
    stored = A.nnz + B.nnz if is_sparse(A) else A.size + B.size
    width = stored // max(A.shape[0] + B.shape[0], 1)
    step = 16 * CHUNK // max(width, 1) + 1
    for start in range(0, rows.size, step):
        i, j = rows[start : start + step], columns[start : start + step]
        distance[i, j] = aligned(A[i], B[j])


BASES: dict[Base, Callable[[Rows, Rows], FloatArray]] = {
    "dot": dot,
    "l1": _manhattan,
    "chi2": _chi_squared,
    "min": _minimum,
}

# The base quantity of a row with itself.
SELF_BASES: dict[Base, Callable[[Rows], FloatArray]] = {
    "dot": squared_norms,
    "l1": lambda A: np.zeros(A.shape[0]),
    "chi2": lambda A: np.zeros(A.shape[0]),
    "min": row_sums,
}
