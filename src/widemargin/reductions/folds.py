"""Folds that depend on what the rows are, not on where they stand.

A row of weight 2 must count as the row twice, and one of weight 0 as no row, also where machines
are trained on all folds but one. So equal rows of a class always share a fold, rows of weight 0
have none, and the order of rows plays no part: a row is known by a key of 64 bits, made of its
numbers. Two different rows of equal key, of which a million rows have none with probability
1 - 3e-8, would merely share a fold.

Where a precomputed kernel takes the place of rows, two of them are equal if their kernel values
are, up to a share of 2^-24 of the largest k(z, z). Objects are compared if they are text, numbers,
arrays, or tuples and lists of these; other objects are dealt out by position, and equal ones may
then part.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Keys", "distinct_rows", "folds_by_content", "row_keys"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]
Keys = NDArray[np.uint64]

BLOCK = 1 << 18  # numbers that are hashed at once
KERNEL_BITS = 24  # of a kernel value, for the last ones depend on the order of its sum
WEIGHT_BITS = 32  # of a weight, for the last ones depend on the order of rows


def folds_by_content(keys: Keys, strata: Ids, weights: Vector, folds: int) -> Ids:
    """Return a fold for each row, -1 for rows of weight 0.

    The distinct rows of a stratum are dealt out in turn from heavy to light, so that two folds
    differ by no more than its heaviest row; its heaviest fold is the one that was lightest so far.
    Costs O(n log n).
    """
    numbers = np.full(keys.size, -1, dtype=np.int64)
    members = []
    for stratum in np.unique(strata[weights > 0]):
        rows = np.flatnonzero((strata == stratum) & (weights > 0))
        members.append((keys[rows].min(), rows))
    totals = np.zeros(folds)
    for _, rows in sorted(members, key=lambda member: member[0]):
        distinct, owner = np.unique(keys[rows], return_inverse=True)
        heavy = _rounded(np.bincount(owner, weights[rows]).astype(np.float64), WEIGHT_BITS)
        turn = np.empty(distinct.size, dtype=np.int64)
        turn[np.lexsort((distinct, -heavy))] = np.arange(distinct.size) % folds
        lightest = np.argsort(totals, kind="stable")
        totals += np.bincount(lightest[turn], heavy, minlength=folds)
        numbers[rows] = lightest[turn[owner]]
    return numbers


def distinct_rows(keys: Keys, weights: Vector) -> int:
    """Return the number of different rows of any weight."""
    return int(np.unique(keys[weights > 0]).size)


def row_keys(X: Any, weights: Vector, *, gram: bool = False) -> Keys:
    """Return a key for each row: equal for equal rows, and without regard to their order.

    Costs O(n d), or O(stored numbers), with memory for a few blocks; a dense and a sparse matrix of
    the same numbers have the same keys. With `gram`, X is the kernel matrix of the rows.
    """
    if gram:
        return _kernel_keys(X, np.flatnonzero(weights > 0))
    if sp.issparse(X):
        return _sparse_keys(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return _dense_keys(X)
    return _object_keys(list(X))


def _rounded(values: Vector, bits: int) -> Vector:
    """Return values of so many leading bits."""
    fractions, exponents = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(fractions, bits)), exponents - bits)


def _mixed(x: Keys) -> Keys:
    """Return the numbers stirred one to one (the end of SplitMix64), 0 becoming 0."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _multipliers(columns: NDArray[Any]) -> Keys:
    """Return an odd number for each column number."""
    numbers = (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return _mixed(numbers) | np.uint64(1)


def _bits(values: NDArray[Any]) -> Keys:
    """Return the bits of numbers in double precision, those of zero and of minus zero being 0."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


def _dense_keys(X: NDArray[Any]) -> Keys:
    """Return the keys of rows: the sum over columns of stirred multiples of the numbers."""
    X = X.reshape(X.shape[0], -1)
    factors = _multipliers(np.arange(X.shape[1]))
    keys = np.empty(X.shape[0], dtype=np.uint64)
    for part in _blocks(X.shape[0], X.shape[1]):
        keys[part] = _mixed(_bits(X[part]) * factors).sum(axis=1, dtype=np.uint64)
    return keys


def _sparse_keys(X: Any) -> Keys:
    """Return the same keys as of the dense matrix: numbers that are zero add nothing."""
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    starts = X.indptr.astype(np.int64)
    keys = np.empty(X.shape[0], dtype=np.uint64)
    for part in _blocks(X.shape[0], X.nnz // max(1, X.shape[0])):
        begin, end = starts[part.start], starts[part.stop]
        terms = _mixed(_bits(X.data[begin:end]) * _multipliers(X.indices[begin:end]))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        at = starts[part.start : part.stop + 1] - begin
        keys[part] = sums[at[1:]] - sums[at[:-1]]
    return keys


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    step = max(1, BLOCK // max(1, columns))
    for begin in range(0, rows, step):
        yield slice(begin, min(rows, begin + step))


def _kernel_keys(K: NDArray[Any], used: Ids) -> Keys:
    """Return keys of rows that are known by their kernel values with each other.

    Equal rows are found first. Then a row's values with one of each, summed up without regard to
    their order, tell where it stands among the others; of equal sums the first comes first.
    """
    largest = float(np.abs(K[used, used]).max())
    grid = 2.0 ** (int(np.frexp(largest)[1]) - KERNEL_BITS) if largest else 1.0
    factors = _multipliers(np.arange(used.size))
    alike, sums = np.empty(used.size, np.uint64), np.empty(used.size, np.uint64)
    parts = list(_blocks(used.size, K.shape[1]))
    for part in parts:
        values = _bits(np.rint(K[np.ix_(used[part], used)] / grid))
        alike[part] = _mixed(values * factors).sum(axis=1, dtype=np.uint64)
    _, first, owner = np.unique(alike, return_index=True, return_inverse=True)
    for part in parts:
        values = _bits(np.rint(K[np.ix_(used[part], used[first])] / grid))
        sums[part] = _mixed(values * factors[0]).sum(axis=1, dtype=np.uint64)
    ranks = np.empty(first.size, dtype=np.uint64)
    ranks[np.lexsort((first, sums[first]))] = np.arange(first.size, dtype=np.uint64)
    keys = np.zeros(K.shape[0], dtype=np.uint64)
    keys[used] = ranks[owner]
    return keys


def _object_keys(items: list[Any]) -> Keys:
    """Return keys of objects by their content, or by position if they cannot all be compared."""
    texts = [_text(item) for item in items]
    if any(text is None for text in texts):
        return np.arange(len(items), dtype=np.uint64)
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts if text is not None)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _text(item: Any) -> bytes | None:
    """Return bytes that are equal for equal objects, None if that cannot be known."""
    if isinstance(item, np.ndarray | np.generic):
        item = item.tolist()
    if isinstance(item, tuple | list):
        parts = [_text(part) for part in item]
        return None if any(part is None for part in parts) else repr(parts).encode()
    known = item is None or isinstance(item, str | bytes | int | float | complex)
    return repr(item).encode() if known else None
