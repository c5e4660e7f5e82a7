"""Every source of kernel values gives the kernel matrix, and the row cache never mixes rows up."""

import numpy as np
import pytest
from cases import KERNELS, draw_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from widemargin import _core
from widemargin.backends.cpu.row_cache import RowCache
from widemargin.backends.cpu.sources import FunctionSource, GramSource, NativeSource
from widemargin.kernels import FunctionKernel

KERNEL = KERNELS["rbf"]
ROWS = 90
DATA = draw_data(ROWS, features=4)
K = KERNEL(DATA.X, DATA.X)


def native(X, dtype, *, pack_limit=1 << 30):
    return NativeSource(
        X, KERNEL.native(), kernel=KERNEL, dtype=dtype, threads=2, pack_limit=pack_limit
    )


SOURCES = {
    "native": lambda dtype: native(DATA.X, dtype),
    "native packed anew": lambda dtype: native(DATA.X, dtype, pack_limit=0),
    "native float32 data": lambda dtype: native(DATA.X.astype(np.float32), dtype),
    "native csr": lambda dtype: native(sparse.csr_array(DATA.X), dtype),
    "gram": lambda dtype: GramSource(K, dtype),
    "function": lambda dtype: FunctionSource(DATA.X, FunctionKernel(KERNEL), dtype),
}

each_source = pytest.mark.parametrize("open_source", SOURCES.values(), ids=SOURCES)
each_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])
some_rows = np.array([89, 3, 3, 40, 0])
some_columns = np.array([7, 70, 1, 7])


def restrictions(source):
    """The source itself, and with other columns."""
    yield source
    yield source.restrict(some_columns)
    yield source.restrict(np.arange(ROWS)[::-1].copy())


@each_source
@each_type
def test_rows_squares_and_sums_are_those_of_the_matrix(open_source, dtype):
    tolerance = 3e-6 if dtype == np.float32 else 1e-13
    if open_source is SOURCES["native float32 data"]:
        tolerance = 3e-6
    weights = np.random.default_rng(0).normal(size=(2, ROWS))
    for source in restrictions(open_source(dtype)):
        columns = source.columns
        expected = K[np.ix_(some_rows, columns)]
        arena = np.zeros((9, _core.padded(columns.size)), dtype)
        source.rows_into(some_rows, arena, np.array([5, 0, 8, 2, 1]))
        found = arena[[5, 0, 8, 2, 1], : columns.size]
        np.testing.assert_allclose(found, expected, atol=tolerance)
        square = np.zeros((5, _core.padded(5)), dtype)
        source.square_into(some_rows, square)
        np.testing.assert_allclose(square[:, :5], K[np.ix_(some_rows, some_rows)], atol=tolerance)
        w = np.ascontiguousarray(weights[:, : columns.size])
        starts = np.array([0, 2, columns.size])
        sums = source.sums(some_rows, w, starts)
        naive = [expected[:, :2] @ w[:, :2].T, expected[:, 2:] @ w[:, 2:].T]
        np.testing.assert_allclose(sums, np.stack(naive, axis=1), atol=60 * tolerance)
        outputs, moves = np.arange(1.0, columns.size + 1), np.array([1.0, -2.0, 0.5, 0.0, 3.0])
        source.update(some_rows, moves, outputs)
        naive = np.arange(1.0, columns.size + 1) + moves @ expected
        np.testing.assert_allclose(outputs, naive, atol=60 * tolerance)
        assert source.dtype == dtype


@each_source
def test_diagonal_and_precision(open_source):
    source = open_source(np.float32)
    np.testing.assert_allclose(source.diagonal(), np.diag(K), rtol=1e-6)
    assert source.diagonal().dtype == np.float64
    finer = source.restrict(some_columns, np.dtype(np.float64))
    assert finer.dtype == np.float64
    assert source.dtype == np.float32
    assert source.restrict(some_columns).dtype == np.float32


def test_layout_follows_the_share_of_zeros():
    mostly_zero = np.where(np.random.default_rng(0).random((50, 8)) < 0.8, 0.0, 1.0)
    assert native(mostly_zero, np.float64).sparse
    assert native(sparse.csr_array(mostly_zero), np.float64).sparse
    assert not native(mostly_zero + 1, np.float64).sparse
    assert not native(sparse.csr_array(mostly_zero + 1), np.float64).sparse


def test_data_are_used_in_place():
    """Changed rows change the kernel: nothing was copied when the source was opened."""
    for X in (DATA.X.copy(), np.asfortranarray(DATA.X), sparse.csr_array(DATA.X)):
        source = native(X, np.float64)
        values = X.data if sparse.issparse(X) else X
        values *= 0
        square = np.zeros((2, 64))
        source.square_into(np.array([0, 1]), square)
        np.testing.assert_array_equal(square[:, :2], 1)


# --- the cache -----------------------------------------------------------------------------------


class Counted(GramSource):
    """Counts the rows computed."""

    filled = 0

    def rows_into(self, ids, arena, slots):
        self.filled += ids.size
        super().rows_into(ids, arena, slots)


def load(cache, ids):
    for _ in range(ROWS):
        if not cache.load_some(ids):
            return
    pytest.fail("the rows never come")


@settings(max_examples=60)
@given(
    slots=st.integers(1, ROWS),
    requests=st.lists(st.sets(st.integers(0, ROWS - 1), min_size=1), min_size=1, max_size=12),
    dear=st.booleans(),
)
def test_cache_holds_what_was_asked_for(slots, requests, dear):
    """Whatever is evicted, and whether or not fresh memory is dear."""
    cache = RowCache(GramSource(K, np.dtype(np.float64)), ROWS, slots)
    cache._fresh_is_dear = lambda: dear
    for request in requests:
        ids = np.array(sorted(request)[:slots])
        load(cache, ids)
        assert cache.missing(ids).size == 0
        np.testing.assert_array_equal(cache.arena[cache.slots(ids), :ROWS], K[ids])
        held = np.flatnonzero(cache.slot_of >= 0)
        assert held.size == np.unique(cache.slot_of[held]).size <= slots
        np.testing.assert_array_equal(cache.owner[cache.slot_of[held]], held)


def test_cache_computes_a_row_once_while_it_fits():
    source = Counted(K, np.dtype(np.float64))
    cache = RowCache(source, ROWS, 20)
    for ids in (np.arange(10), np.arange(5, 15), np.arange(20)):
        load(cache, ids)
    assert source.filled == 20
    load(cache, np.arange(20, 22))
    assert source.filled == 22
    assert np.count_nonzero(cache.slot_of >= 0) == 20


def test_cache_evicts_the_rows_used_longest_ago():
    cache = RowCache(GramSource(K, np.dtype(np.float64)), ROWS, 3)
    for row in (0, 1, 2, 0, 3):
        load(cache, np.array([row]))
    np.testing.assert_array_equal(np.flatnonzero(cache.slot_of >= 0), [0, 2, 3])


@pytest.mark.parametrize("slots", [60, 7])
def test_cache_inherits_rows_with_fewer_columns(slots):
    """As many as there is place for, the ones used last."""
    old = RowCache(GramSource(K, np.dtype(np.float64)), ROWS, 40)
    load(old, np.arange(0, 40, 2))
    load(old, np.arange(31, 45))
    keep = np.arange(10, 85, 3)
    new = RowCache(GramSource(K, np.dtype(np.float64)).restrict(keep), ROWS, slots)
    new.inherit(old, keep, keep, 2)
    held = np.flatnonzero(new.slot_of >= 0)
    expected = [i for i in keep if old.slot_of[i] >= 0]
    assert held.size == min(slots, len(expected))
    assert set(held) <= set(expected)
    recent = {i for i in expected if i in range(31, 45)}
    assert recent <= set(held) or slots < len(recent)
    np.testing.assert_array_equal(new.arena[new.slots(held), : keep.size], K[np.ix_(held, keep)])
    load(new, keep[:slots])
    rows = new.arena[new.slots(keep[:slots]), : keep.size]
    np.testing.assert_array_equal(rows, K[np.ix_(keep[:slots], keep)])
