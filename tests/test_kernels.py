"""Kernels on vectors agree with their formulas written as loops and with scikit-learn."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import pairwise

from widemargin import kernels
from widemargin.kernels import (
    RBF,
    ChiSquared,
    Cosine,
    FunctionKernel,
    Intersection,
    Kind,
    Laplacian,
    Linear,
    NativeSpec,
    Polynomial,
    Sigmoid,
    Spectrum,
    quantities,
)


def dot(x, z):
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


def chi2(x, z):
    return math.fsum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b != 0)


def cosine(x, z):
    return dot(x, z) / math.sqrt(dot(x, x) * dot(z, z)) if any(x) and any(z) else 0.0


@dataclass(frozen=True)
class Case:
    kernel: kernels.VectorKernel
    pair: object  # the value for two rows, as a loop over features
    native: NativeSpec
    reference: object = None  # the same kernel in scikit-learn
    non_negative: bool = False


CASES = [
    Case(Linear(), dot, NativeSpec(Kind.LINEAR), pairwise.linear_kernel),
    Case(
        Polynomial(degree=3, gamma=0.5, coef0=1.5),
        lambda x, z: (0.5 * dot(x, z) + 1.5) ** 3,
        NativeSpec(Kind.POLYNOMIAL, 0.5, 1.5, 3),
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=3, gamma=0.5, coef0=1.5),
    ),
    Case(
        RBF(gamma=0.3),
        lambda x, z: math.exp(-0.3 * math.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))),
        NativeSpec(Kind.RBF, 0.3),
        lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.3),
    ),
    Case(
        Sigmoid(gamma=0.2, coef0=-0.1),
        lambda x, z: math.tanh(0.2 * dot(x, z) - 0.1),
        NativeSpec(Kind.SIGMOID, 0.2, -0.1),
        lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=0.2, coef0=-0.1),
    ),
    Case(
        Laplacian(gamma=0.4),
        lambda x, z: math.exp(-0.4 * math.fsum(abs(a - b) for a, b in zip(x, z, strict=True))),
        NativeSpec(Kind.LAPLACIAN, 0.4),
        lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.4),
    ),
    Case(
        ChiSquared(gamma=0.7),
        lambda x, z: math.exp(-0.7 * chi2(x, z)),
        NativeSpec(Kind.CHI_SQUARED, 0.7),
        lambda A, B: pairwise.chi2_kernel(A, B, gamma=0.7),
        non_negative=True,
    ),
    Case(
        Intersection(),
        lambda x, z: math.fsum(map(min, x, z)),
        NativeSpec(Kind.INTERSECTION),
        non_negative=True,
    ),
    Case(Cosine(), cosine, NativeSpec(Kind.COSINE), pairwise.cosine_similarity),
]


def name(case):
    return type(case.kernel).__name__


each_case = pytest.mark.parametrize("case", CASES, ids=name)


def loop(pair, A, B):
    return np.array([[pair(a, b) for b in B] for a in A])


def rows(case, seed=0):
    """Two blocks with a row of zeros, equal rows, and nearly equal rows."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(7, 5)), rng.normal(size=(6, 5))
    for block in (A, B):
        block[rng.random(block.shape) < 0.4] = 0
    A[1], B[2], B[3], B[4] = 0, 0, A[0], A[2] * (1 + 1e-9)
    return (abs(A), abs(B)) if case.non_negative else (A, B)


def row_blocks(non_negative):
    least = 0 if non_negative else -5
    values = st.floats(least, 5, width=32, allow_subnormal=False) | st.just(0.0)
    shapes = st.tuples(st.integers(1, 8), st.integers(1, 4))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=values))


# --- values --------------------------------------------------------------------------------------

STORAGES = {
    "dense": lambda A, B: (A, B),
    "fortran": lambda A, B: (np.asfortranarray(A), B),
    "lists": lambda A, B: (A.tolist(), B.tolist()),
    "csr": lambda A, B: (sparse.csr_array(A), sparse.csr_array(B)),
    "csr matrix": lambda A, B: (sparse.csr_matrix(A), sparse.csr_matrix(B)),
    "mixed": lambda A, B: (A, sparse.csr_array(B)),
    "mixed csc": lambda A, B: (sparse.csc_array(A), B),
}


@each_case
@pytest.mark.parametrize("storage", STORAGES)
def test_block_is_the_formula(case, storage):
    A, B = rows(case)
    block = case.kernel(*STORAGES[storage](A, B))
    assert type(block) is np.ndarray
    assert block.dtype == np.float64
    np.testing.assert_allclose(block, loop(case.pair, A, B), rtol=1e-12, atol=1e-14)


@each_case
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_float32_stays_float32_unless_mixed(case, convert):
    A, B = (block.astype(np.float32) for block in rows(case))
    expected = loop(case.pair, A.astype(float), B.astype(float))
    block = case.kernel(convert(A), convert(B))
    assert block.dtype == case.kernel.diagonal(convert(A)).dtype == np.float32
    np.testing.assert_allclose(block, expected, rtol=2e-5, atol=1e-6)
    assert case.kernel(convert(A), convert(B.astype(np.float64))).dtype == np.float64


@pytest.mark.parametrize("case", [case for case in CASES if case.reference], ids=name)
def test_scikit_learn_agrees(case):
    A, B = rows(case, seed=1)
    np.testing.assert_allclose(case.kernel(A, B), case.reference(A, B), rtol=1e-8, atol=1e-12)


@each_case
def test_formula_alone_gives_the_kernel_in_any_array_library(case):
    """The formula calls nothing but the functions of the library it is given."""
    bases = {
        "dot": dot,
        "l1": lambda x, z: math.fsum(abs(x - z)),
        "chi2": chi2,
        "min": lambda x, z: math.fsum(np.minimum(x, z)),
    }
    calls = []

    def recorded(function):
        return lambda *arguments: calls.append(function) or function(*arguments)

    library = SimpleNamespace(
        **{name: recorded(getattr(np, name)) for name in ("exp", "maximum", "sqrt", "tanh")}
    )
    A, B = rows(case)
    norm_a, norm_b = (np.square(block).sum(axis=1) for block in (A, B))
    base = loop(bases[case.kernel.base], A, B)
    values = case.kernel.formula(base, norm_a[:, None], norm_b, library)
    np.testing.assert_allclose(values, loop(case.pair, A, B), rtol=1e-6, atol=1e-7)
    algebraic = (Linear, Polynomial, Intersection)
    assert bool(calls) is not isinstance(case.kernel, algebraic)


@each_case
def test_diagonal_is_that_of_the_block(case):
    A, _ = rows(case)
    for block in (A, sparse.csr_array(A)):
        np.testing.assert_allclose(
            case.kernel.diagonal(block), np.diag(case.kernel(block, block)), rtol=1e-13
        )


@each_case
def test_diagonal_needs_no_block(case):
    many = np.ones((300_000, 2))  # their block would take 720 GB
    assert case.kernel.diagonal(many).shape == (300_000,)


def test_diagonal_of_the_cosine_is_exact():
    A = np.random.default_rng(7).normal(size=(50, 3))
    A[7] = 0
    np.testing.assert_array_equal(Cosine().diagonal(A), A.any(axis=1))


@each_case
@pytest.mark.parametrize("chunk", [1, 20])
def test_blocks_beyond_the_cache_are_computed_in_parts(case, chunk, monkeypatch):
    A, B = rows(case)
    expected = case.kernel(A, B)
    monkeypatch.setattr(quantities, "CHUNK", chunk)
    for convert in (np.asarray, sparse.csr_array):
        block = case.kernel(convert(A), convert(B))
        np.testing.assert_allclose(block, expected, rtol=1e-12, atol=1e-14)


@each_case
def test_no_rows(case):
    none, one = np.zeros((0, 3)), np.ones((1, 3))
    for convert in (np.asarray, sparse.csr_array):
        assert case.kernel(convert(none), convert(one)).shape == (0, 1)
        assert case.kernel(convert(one), convert(none)).shape == (1, 0)
        assert case.kernel.diagonal(convert(none)).shape == (0,)


@each_case
def test_csr_with_repeated_and_unsorted_entries_means_their_sum(case):
    dense = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
    entries = ([1.0, 2.0, 1.0, 2.0], [2, 0, 0, 1], [0, 3, 4])
    repeated = sparse.csr_array(entries, shape=(2, 3))
    np.testing.assert_allclose(case.kernel(repeated, dense), case.kernel(dense, dense), rtol=1e-13)
    assert repeated.nnz == 4, "the caller's matrix was changed"


@each_case
def test_read_only_rows(case):
    A, B = rows(case)
    blocks = [A, B, sparse.csr_array(A), sparse.csr_array(B)]
    for block in blocks:
        (block.data if sparse.issparse(block) else block).flags.writeable = False
    np.testing.assert_allclose(case.kernel(A, B), case.kernel(*blocks[2:]), rtol=1e-12, atol=1e-14)


@each_case
@given(data=st.data())
def test_symmetric_and_positive_semidefinite_dense_as_sparse(case, data):
    A = data.draw(row_blocks(case.non_negative))
    K = case.kernel(A, A)
    assert (K == K.T).all()
    np.testing.assert_allclose(K, loop(case.pair, A, A), rtol=1e-9, atol=1e-12)
    S = sparse.csr_array(A)
    np.testing.assert_allclose(case.kernel(S, S), K, rtol=1e-9, atol=1e-12)
    if case.kernel.is_positive_semidefinite:
        values = np.linalg.eigvalsh(K)
        assert values[0] >= -1e-12 * len(A) * max(values[-1], 1)


@pytest.mark.parametrize("kernel", [Sigmoid(1.0), Sigmoid(1.0, 0.5), Polynomial(2, 1.0, -1.0)])
def test_kernels_not_called_semidefinite_are_not(kernel):
    assert not kernel.is_positive_semidefinite
    points = np.linspace(-3, 3, 13)[:, None]
    assert np.linalg.eigvalsh(kernel(points, points))[0] < -1e-3


# --- Gaussian distances --------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_of_data_far_from_the_origin(convert, dtype):
    rng = np.random.default_rng(3)
    offset = 1e3 if dtype == np.float32 else 1e8
    A = (rng.normal(size=(20, 3)) + offset).astype(dtype)
    B = np.vstack([A[::-1], A + dtype(1)])
    exact = np.exp(-((A[:, None].astype(float) - B.astype(float)) ** 2).sum(axis=2))
    block = RBF(gamma=1.0)(convert(A), convert(B))
    np.testing.assert_allclose(block, exact, rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert block.max() <= 1
    assert (block[np.arange(20), 19 - np.arange(20)] == 1).all()


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_gaussian_of_rows_too_large_to_square(convert):
    A = convert(np.array([[1e200, 0.0], [0.0, -1e200], [1.0, 2.0]]))
    assert (RBF(gamma=1.0)(A, A) == np.eye(3)).all()
    single = convert(np.array([[1e30], [0.0]], dtype=np.float32))
    assert (RBF(gamma=1.0)(single, single) == np.eye(2)).all()


@pytest.mark.parametrize("kernel", [RBF(1e3), Laplacian(1e3), ChiSquared(1e3)])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_equal_rows_have_similarity_exactly_one(kernel, convert):
    A = abs(np.random.default_rng(4).normal(size=(30, 7)))
    block = kernel(convert(A), convert(A[::-1].copy()))
    assert (block[np.arange(30), 29 - np.arange(30)] == 1).all()


def test_parametrisations_of_the_gaussian():
    x, z = [[0.0, 0.0]], [[3.0, 4.0]]
    assert RBF.from_sigma(2.0)(x, z)[0, 0] == pytest.approx(math.exp(-25 / 8))
    assert RBF.from_width(2.0)(x, z)[0, 0] == pytest.approx(math.exp(-25 / 4))


# --- the compiled core ---------------------------------------------------------------------------


@each_case
def test_native(case):
    assert case.kernel.native() == case.native


@pytest.mark.parametrize("kernel", [Linear() + Linear(), Spectrum(), FunctionKernel(np.dot)])
def test_no_native_formula(kernel):
    assert kernel.native() is None


def test_codes_of_the_core_are_never_renumbered():
    names = "LINEAR POLYNOMIAL RBF SIGMOID LAPLACIAN CHI_SQUARED INTERSECTION COSINE"
    assert [(kind.name, kind.value) for kind in Kind] == [
        (name, code) for code, name in enumerate(names.split())
    ]


# --- names --------------------------------------------------------------------------------------


def test_public_names_are_explicit_and_explained():
    for name in kernels.__all__:
        assert getattr(kernels, name).__doc__
    shown = {name for name in vars(kernels) if name[0].isupper()} - {"Callable"}
    functions = {"from_name", "gram", "is_kernel", "sigma_heuristic"}
    assert shown | functions == set(kernels.__all__)
