"""The compiled tile gives the kernels' formulas, whatever the data lie in and whoever computes."""

from itertools import pairwise

import numpy as np
import pytest
from cases import INSTRUCTION_SETS, KERNELS, STORAGES
from scipy import sparse

from widemargin import _core
from widemargin.backends.cpu.sources import open_rows

TYPES = [np.float32, np.float64]
PANELS = {np.float32: _core.Panels32, np.float64: _core.Panels64}


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request):
    before = _core.instruction_set()
    _core.use_instruction_set(request.param)
    yield request.param
    _core.use_instruction_set(before)


each_type = pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def layouts(kernel):
    """Panels may be sparse where zeros are of no account."""
    return [False, True] if kernel.base == "dot" else [False]


def make_rows(kernel, shape, seed=0, zeros=0.5):
    """Rows with zeros, a row of zeros, and two equal rows."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=shape)
    X[np.random.default_rng(seed + 1).random(shape) < zeros] = 0
    X[shape[0] // 2] = 0
    X[-1] = X[0]
    return abs(X) if kernel.non_negative else X


def pack(X, columns, kernel, dtype, *, sparse, stored=True, threads=1, centre=None):
    spec = kernel.native()
    numbers = (int(spec.kind), spec.gamma, spec.coef0, spec.degree)
    columns = np.asarray(columns, dtype=np.int64)
    return PANELS[dtype](open_rows(X), columns, *numbers, centre, sparse, stored, threads)


def compute(panels, X, ids, dtype, threads=1):
    """Return the kernel rows, and check that nothing else was written."""
    ids = np.asarray(ids, dtype=np.int64)
    width = _core.padded(panels.columns)
    arena = np.full((ids.size + 3, width + _core.row_padding), np.nan, dtype=dtype)
    slots = np.random.default_rng(ids.size).permutation(arena.shape[0])[: ids.size]
    panels.rows_into(open_rows(X), ids, arena, slots, threads)
    untouched = np.setdiff1d(np.arange(arena.shape[0]), slots)
    assert np.isnan(arena[untouched]).all()
    assert np.isnan(arena[:, width:]).all()
    return arena[slots, : panels.columns]


def assert_near(found, expected, dtype, features):
    """Sums of `features` numbers up to 1, mapped by functions of slope up to about 4."""
    tolerance = 16 * np.finfo(dtype).eps * (4 + features)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# --- values --------------------------------------------------------------------------------------


@each_kernel
@each_type
def test_every_storage_and_layout_gives_the_formula(instruction_set, dtype, kernel):
    """Within one layout even the bits are the same for all storages, panels and threads."""
    X = make_rows(kernel, (75, 13)).astype(dtype)
    rng = np.random.default_rng(2)
    ids, columns = rng.integers(0, 75, 70), rng.permutation(75)[:67]
    expected = kernel(X.astype(np.float64), X.astype(np.float64))[np.ix_(ids, columns)]
    for layout in layouts(kernel):
        reference = None
        for store in STORAGES.values():
            rows = store(X)
            for stored in (True, False):
                for threads in (1, 2):
                    options = {"sparse": layout, "stored": stored, "threads": threads}
                    panels = pack(rows, columns, kernel, dtype, **options)
                    found = compute(panels, rows, ids, dtype, threads)
                    if reference is None:
                        reference = found
                        assert_near(found, expected, dtype, 13)
                    np.testing.assert_array_equal(found, reference)


SHAPES = [(1, 1, 1), (1, 150, 3), (130, 1, 2), (5, 3, 1), (33, 31, 7), (129, 65, 40)]


@pytest.mark.parametrize(("rows", "columns", "features"), SHAPES)
@each_type
def test_shapes_that_fill_no_tile(instruction_set, dtype, rows, columns, features):
    for kernel in KERNELS.values():
        X = make_rows(kernel, (rows + columns, features), zeros=0.2)
        expected = kernel(X[:rows], X[rows:])
        for layout in layouts(kernel):
            panels = pack(X, np.arange(rows, rows + columns), kernel, dtype, sparse=layout)
            found = compute(panels, X, np.arange(rows), dtype)
            assert_near(found, expected, dtype, features)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("features", [4096, 4097, 6000])
@each_type
def test_many_features(instruction_set, dtype, features, name):
    """Beyond 4096 features sparse rows are renumbered; dense rows no longer fit at once."""
    kernel = KERNELS[name]
    X = make_rows(kernel, (90, features), zeros=0.996)
    X[:, -1] = 0.5
    expected = kernel(X, X)
    for layout in layouts(kernel):
        for rows in (sparse.csr_array(X), X):
            panels = pack(rows, np.arange(90), kernel, dtype, sparse=layout, stored=False)
            found = [compute(panels, rows, np.arange(90), dtype, threads) for threads in (1, 2)]
            assert_near(found[0], expected, dtype, 40)
            np.testing.assert_array_equal(*found)
            np.testing.assert_array_equal(found[0], found[0].T)


@each_kernel
@each_type
def test_symmetric_to_the_last_bit(instruction_set, dtype, kernel):
    X = make_rows(kernel, (101, 9), seed=4) * 3
    for layout in layouts(kernel):
        panels = pack(X, np.arange(101), kernel, dtype, sparse=layout)
        K = compute(panels, X, np.arange(101), dtype)
        np.testing.assert_array_equal(K, K.T)
        some = np.array([7, 100, 3, 64])
        np.testing.assert_array_equal(compute(panels, X, some, dtype), K[some])


@each_kernel
@each_type
def test_rows_of_other_data_in_another_storage(instruction_set, dtype, kernel):
    """As in prediction: the left rows are new, and of another type than the training data."""
    X = make_rows(kernel, (40, 6)).astype(np.float32)
    Z = make_rows(kernel, (29, 6), seed=9)
    rounded = Z.astype(dtype).astype(np.float64)
    expected = kernel(rounded, X.astype(np.float64))
    for layout in layouts(kernel):
        for store in STORAGES.values():
            panels = pack(X, np.arange(40), kernel, dtype, sparse=layout)
            found = compute(panels, store(Z), np.arange(29), dtype)
            assert_near(found, expected, dtype, 6)


@each_type
def test_centre_keeps_the_digits_of_distances(instruction_set, dtype):
    kernel = KERNELS["rbf"]
    X = np.random.default_rng(5).normal(size=(50, 4)) + 1e5
    centre = X.mean(axis=0)
    panels = pack(X, np.arange(50), kernel, dtype, sparse=False, centre=centre)
    K = compute(panels, X, np.arange(50), dtype)
    assert_near(K, kernel(X, X), dtype, 8)
    new = X[:20].copy()
    new[:, 1] = 0
    for rows in (new, sparse.csr_array(new)):  # zeros that are not stored are off centre too
        assert_near(compute(panels, rows, np.arange(20), dtype), kernel(new, X), dtype, 8)


@each_type
def test_distant_rows_have_similarity_zero_and_none_exceeds_one(instruction_set, dtype):
    X = np.random.default_rng(6).normal(size=(60, 3)) * 1e3
    panels = pack(X, np.arange(60), KERNELS["rbf"], dtype, sparse=False)
    K = compute(panels, X, np.arange(60), dtype)
    assert K.max() <= 1
    assert K[~np.eye(60, dtype=bool)].max() < 1e-30


# --- sums ----------------------------------------------------------------------------------------


@each_kernel
@each_type
def test_weighted_sums_in_groups(instruction_set, dtype, kernel):
    """Columns beyond one reduction, groups that cut panels, and an empty group."""
    X = make_rows(kernel, (1100, 4))
    ids = np.random.default_rng(1).integers(0, 1100, 101)
    weights = np.random.default_rng(3).normal(size=(3, 1100))
    starts = np.array([0, 1, 515, 515, 1033, 1100], dtype=np.int64)
    for layout in layouts(kernel):
        panels = pack(X, np.arange(1100), kernel, dtype, sparse=layout)
        K = compute(panels, X, ids, dtype).astype(np.float64)
        parts = [K[:, a:b] @ weights[:, a:b].T for a, b in pairwise(starts)]
        found = []
        for stored, threads in ((True, 1), (True, 2), (False, 1)):
            panels = pack(X, np.arange(1100), kernel, dtype, sparse=layout, stored=stored)
            result = np.full((101, 15), np.nan)
            panels.sums_into(open_rows(X), ids, weights, starts, result, threads)
            found.append(result)
        scale = abs(K) @ abs(weights).max(axis=0)
        difference = abs(found[0] - np.stack(parts, axis=1).reshape(101, 15))
        assert (difference <= 1e-14 * scale[:, None]).all()
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])


@each_kernel
@each_type
def test_weighted_sums_of_rows_are_added_to_outputs(instruction_set, dtype, kernel):
    X = make_rows(kernel, (333, 4))
    ids = np.random.default_rng(1).integers(0, 333, 101)
    moves, before = np.random.default_rng(3).normal(size=(2, 333))
    for layout in layouts(kernel):
        panels = pack(X, np.arange(333), kernel, dtype, sparse=layout)
        K = compute(panels, X, ids, dtype).astype(np.float64)
        found = []
        for stored, threads in ((True, 1), (True, 2), (False, 1)):
            panels = pack(X, np.arange(333), kernel, dtype, sparse=layout, stored=stored)
            outputs = before.copy()
            panels.update(open_rows(X), ids, moves[:101].copy(), outputs, threads)
            found.append(outputs)
        scale = abs(before) + abs(moves[:101]) @ abs(K)
        # Sums of a few float32 values at a time may be kept in float32.
        tolerance = 1e-14 if dtype == np.float64 else 1e-6
        assert (abs(found[0] - before - moves[:101] @ K) <= tolerance * scale).all()
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])


@each_type
def test_sparse_panels_can_be_read_as_rows(instruction_set, dtype):
    kernel = KERNELS["rbf"]
    X = make_rows(kernel, (60, 7))
    panels = pack(X, np.arange(60), kernel, dtype, sparse=True)
    arena = np.zeros((60, 64), dtype)
    panels.rows_into(panels.as_rows(), np.arange(60), arena, np.arange(60), 2)
    np.testing.assert_array_equal(arena[:, :60], compute(panels, X, np.arange(60), dtype))


@pytest.mark.parametrize("rows", [1, 15, 64, 150])
@pytest.mark.parametrize("threads", [1, 2])
@each_type
def test_squares_are_the_rows_bit_by_bit(instruction_set, dtype, threads, rows):
    """Half of the values are computed, the others are mirror images; nothing else is written."""
    kernel = KERNELS["rbf"]
    X = make_rows(kernel, (200, 7))
    ids = np.random.default_rng(3).permutation(200)[:rows]
    for layout in layouts(kernel):
        panels = pack(X, ids, kernel, dtype, sparse=layout)
        square = np.full((rows + 1, _core.padded(rows) + 64), np.nan, dtype)
        panels.square_into(square, threads)
        np.testing.assert_array_equal(square[:rows, :rows], compute(panels, X, ids, dtype))
        assert np.isnan(square[rows]).all()
        assert np.isnan(square[:, _core.padded(rows) :]).all()


def test_sums_do_not_depend_on_which_rows_are_asked_for_together(instruction_set):
    X = make_rows(KERNELS["rbf"], (200, 5))
    panels = pack(X, np.arange(200), KERNELS["rbf"], np.float32, sparse=False)
    weights, starts = np.random.default_rng(0).normal(size=(1, 200)), np.array([0, 200])
    together, alone = np.empty((200, 1)), np.empty((1, 1))
    panels.sums_into(open_rows(X), np.arange(200), weights, starts, together, 2)
    for i in (0, 77, 199):
        panels.sums_into(open_rows(X), np.array([i]), weights, starts, alone, 1)
        assert alone[0, 0] == together[i, 0]


# --- elementary functions ------------------------------------------------------------------------

EXPONENTS = {np.float32: (-87.3, 88.3), np.float64: (-708.0, 709.0)}


def elementary(number, x):
    y = np.full_like(x, np.nan)
    _core.elementary(number, x, y)
    return y


def units_in_the_last_place(found, exact):
    return abs(found.astype(np.longdouble) - exact) / np.spacing(abs(exact).astype(found.dtype))


def arguments(low, high, dtype):
    """Even and, near zero, logarithmic; no multiple of any vector's length."""
    small = np.logspace(-30, 0, 20_001) * high
    x = np.concatenate([np.linspace(low, high, 200_003), small, -small, [0.0]]).astype(dtype)
    return x[(x >= low) & (x <= high)]


@each_type
def test_exponential_within_two_units_in_the_last_place(instruction_set, dtype):
    x = arguments(*EXPONENTS[dtype], dtype)
    exact = np.exp(x.astype(np.longdouble))
    assert units_in_the_last_place(elementary(0, x), exact).max() <= 2


@each_type
def test_exponential_saturates(instruction_set, dtype):
    low, high = EXPONENTS[dtype]
    extreme = elementary(0, np.array([-np.inf, 10 * low, 10 * high, np.inf], dtype))
    assert (extreme[:2] >= 0).all()
    assert (extreme[:2] <= 4 * np.finfo(dtype).tiny).all()
    assert (extreme[2:] > 0.1 * np.finfo(dtype).max).all()


@each_type
def test_hyperbolic_tangent_within_two_units_in_the_last_place(instruction_set, dtype):
    x = np.concatenate([arguments(-12, 12, dtype), np.linspace(-1, 1, 200_003).astype(dtype)])
    x = np.concatenate([x, np.array([-1e30, 25, 1e30], dtype)])
    y = elementary(1, x)
    assert units_in_the_last_place(y, np.tanh(x.astype(np.longdouble))).max() <= 2
    np.testing.assert_array_equal(elementary(1, -x), -y)
    assert abs(y).max() == 1


@pytest.mark.parametrize("power", [2, 3, 5, 8, 13])
@each_type
def test_whole_powers(instruction_set, dtype, power):
    whole = np.arange(-3, 4).astype(dtype)
    np.testing.assert_array_equal(elementary(power, whole), whole.astype(np.float64) ** power)
    x = np.linspace(-2, 2, 1001).astype(dtype)
    exact = x.astype(np.longdouble) ** power
    assert units_in_the_last_place(elementary(power, x), exact).max() <= power


# --- refusals ------------------------------------------------------------------------------------


ROWS = np.ones((5, 3))
FIVE = np.arange(5)


def made(columns=FIVE, kernel="rbf", **options):
    return pack(ROWS, columns, KERNELS[kernel], np.float64, **{"sparse": False} | options)


def fill(ids=FIVE, slots=FIVE, width=64, features=3):
    rows = open_rows(np.ones((5, features)))
    made().rows_into(rows, np.asarray(ids), np.zeros((5, width)), np.asarray(slots), 1)


def add(weights, starts, result):
    arrays = np.ones(weights), np.array(starts), np.ones(result)
    made().sums_into(open_rows(ROWS), FIVE, *arrays, 1)


def open_csr(starts, columns, values=2):
    offsets, features = np.array(starts, np.int64), np.array(columns, np.int64)
    return _core.sparse_rows(np.ones(values), offsets, features, 3)


def pack_wide():
    """More features than the 32 bits in which sparse panels number them."""
    rows = _core.sparse_rows(np.ones(1), np.array([0, 1]), np.array([2**31]), 2**31 + 1)
    return _core.Panels64(rows, FIVE[:1], 0, 1, 0, 1, None, True, True, 1)


def update(moves, outputs, ids=FIVE, features=3):
    rows = open_rows(np.ones((5, features)))
    made().update(rows, np.asarray(ids), np.ones(moves), np.ones(outputs), 1)


REFUSED = [
    ("row number", lambda: made([0, 5])),
    ("row number", lambda: made([-1])),
    ("row number", lambda: fill(ids=[5], slots=[0])),
    ("row number", lambda: fill(slots=FIVE + 1)),
    ("one slot", lambda: fill(slots=FIVE[:4])),
    ("too short", lambda: fill(width=63)),
    ("feature counts", lambda: fill(features=4)),
    ("centre", lambda: made(sparse=True, centre=np.zeros(3))),
    ("centre", lambda: made(centre=np.zeros(2))),
    ("feature by feature", lambda: made(kernel="laplacian", sparse=True)),
    ("kind", lambda: _core.Panels32(open_rows(ROWS), FIVE, 8, 1, 0, 1, None, False, True, 1)),
    ("one weight", lambda: add((1, 4), [0, 5], (5, 1))),
    ("groups x outputs", lambda: add((1, 5), [0, 2, 5], (5, 1))),
    ("one move", lambda: update(4, 5)),
    ("one output", lambda: update(5, 6)),
    ("row number", lambda: update(5, 5, ids=FIVE + 1)),
    ("feature counts", lambda: update(5, 5, features=2)),
    ("only stored sparse panels", lambda: made().as_rows()),
    ("2147483647 features", pack_wide),
    ("row starts", lambda: open_csr([], [0, 1])),
    ("row starts", lambda: open_csr([0, 3], [0, 1])),
    ("row starts", lambda: open_csr([-1, 2], [0, 1])),
    ("row starts", lambda: open_csr([0, 2, 1, 2], [0, 1])),
    ("one column", lambda: open_csr([0, 2], [0])),
    ("column is out of range", lambda: open_csr([0, 2], [1, 3])),
    ("column is out of range", lambda: open_csr([0, 2], [-1, 1])),
    ("instruction set", lambda: _core.use_instruction_set("x86_64_v9")),
    ("length", lambda: _core.elementary(0, np.ones(2), np.ones(3))),
]


@pytest.mark.parametrize(("sentence", "call"), REFUSED, ids=lambda value: str(value)[:12])
def test_what_would_leave_memory_is_refused(sentence, call):
    with pytest.raises(ValueError, match=sentence):
        call()
