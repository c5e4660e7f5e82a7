"""Kernels made of other kernels, of functions, and on objects that are no vectors."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from widemargin.kernels import (
    RBF,
    FunctionKernel,
    Laplacian,
    Linear,
    Polynomial,
    Product,
    Scaled,
    Sigmoid,
    Spectrum,
    Sum,
)

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))
STRINGS = ["banana", "ananas", "an", "", "bandana", "naïve 日本日本"]


# --- algebra -------------------------------------------------------------------------------------

LEFT, RIGHT = RBF(0.5), Polynomial(2, 1.0, 1.0)
IDENTITIES = [
    (LEFT + RIGHT, lambda left, right: left + right),
    (LEFT * RIGHT, lambda left, right: left * right),
    (LEFT * 3, lambda left, right: 3 * left),
    (np.float64(0.5) * LEFT, lambda left, right: left / 2),
    (LEFT * np.float32(0.5), lambda left, right: left / 2),
    (2 * (LEFT + RIGHT) * LEFT, lambda left, right: 2 * (left + right) * left),
    (LEFT + RIGHT * RIGHT, lambda left, right: left + right**2),
]


@pytest.mark.parametrize(("kernel", "expected"), IDENTITIES, ids=lambda value: "")
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_algebra_of_kernels_is_that_of_their_values(kernel, expected, convert, dtype):
    a, b = convert(A.astype(dtype)), convert(B.astype(dtype))
    block, diagonal = kernel(a, b), kernel.diagonal(a)
    assert block.dtype == diagonal.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(block, expected(LEFT(A, B), RIGHT(A, B)), rtol=tolerance)
    expected_diagonal = expected(LEFT.diagonal(A), RIGHT.diagonal(A))
    np.testing.assert_allclose(diagonal, expected_diagonal, rtol=tolerance)


def test_types_of_the_algebra():
    assert Sum(LEFT, RIGHT) == LEFT + RIGHT
    assert Product(LEFT, RIGHT) == LEFT * RIGHT
    assert 2 * LEFT == LEFT * 2 == Scaled(LEFT, 2)
    for wrong in (lambda: LEFT + 1, lambda: LEFT * "2", lambda: LEFT * A, lambda: A * LEFT):
        with pytest.raises(TypeError, match="'RBF'"):
            wrong()


@pytest.mark.parametrize("combine", [Sum, Product])
def test_guarantees_follow_from_the_parts(combine):
    good, bad = RBF(1.0), Sigmoid(1.0)
    assert combine(good, Laplacian(1.0)).is_positive_semidefinite
    assert not combine(good, bad).is_positive_semidefinite
    assert not combine(bad, good).is_positive_semidefinite
    assert not (2 * bad).is_positive_semidefinite
    assert (2 * combine(Spectrum(), Spectrum(2))).accepts_objects
    assert not (2 * combine(good, good)).accepts_objects


def test_sum_of_string_kernels():
    kernel = Spectrum(2) + 3 * Spectrum(3)
    expected = Spectrum(2)(STRINGS, STRINGS) + 3 * Spectrum(3)(STRINGS, STRINGS)
    np.testing.assert_array_equal(kernel(STRINGS, STRINGS), expected)


def test_sum_leaves_what_a_function_returns_alone():
    stored = np.eye(6, 4)
    kernel = FunctionKernel(lambda a, b: stored) + Linear()
    kernel(A, B)
    np.testing.assert_array_equal(stored, np.eye(6, 4))


# --- strings -------------------------------------------------------------------------------------


def spectrum(s, t, length):
    """The kernel as a loop over pairs of places."""
    places = [(i, j) for i in range(len(s) - length + 1) for j in range(len(t) - length + 1)]
    return sum(s[i : i + length] == t[j : j + length] for i, j in places)


@given(
    st.lists(st.text("abé", max_size=7), max_size=5),
    st.lists(st.text("abé", max_size=7), max_size=5),
    st.integers(1, 4),
)
def test_spectrum_counts_common_substrings(A, B, length):
    counts = np.array([[spectrum(s, t, length) for t in B] for s in A]).reshape(len(A), len(B))
    kernel = Spectrum(length, normalize=False)
    np.testing.assert_array_equal(kernel(A, B), counts)
    np.testing.assert_array_equal(kernel.diagonal(A), [spectrum(s, s, length) for s in A])


@given(st.lists(st.text("ab", max_size=9), min_size=1, max_size=6), st.integers(1, 3))
def test_normalised_spectrum(strings, length):
    K = Spectrum(length)(strings, strings)
    plain = Spectrum(length, normalize=False)
    norms = np.sqrt(plain.diagonal(strings))
    expected = plain(strings, strings) / np.maximum(np.outer(norms, norms), 1)
    np.testing.assert_allclose(K, expected, rtol=1e-14)
    exactly_one = [float(len(string) >= length) for string in strings]
    np.testing.assert_array_equal(np.diag(K), exactly_one)
    np.testing.assert_array_equal(Spectrum(length).diagonal(strings), exactly_one)
    assert np.linalg.eigvalsh(K)[0] > -1e-12


def test_spectrum_takes_any_sequence_of_strings():
    expected = Spectrum(2)(STRINGS, STRINGS[:2])
    assert expected.dtype == np.float64
    for convert in (tuple, np.array, lambda strings: np.array(strings, dtype=object)):
        block = Spectrum(2)(convert(STRINGS), convert(STRINGS[:2]))
        np.testing.assert_array_equal(block, expected)
    assert Spectrum(2)([], STRINGS).shape == (0, 6)
    assert Spectrum(2).diagonal([]).shape == (0,)


def test_spectrum_of_many_long_strings():
    """The truth is the multiset of substrings; as a loop over pairs this would take minutes."""
    draw = random.Random(0)
    strings = ["".join(draw.choices("ACGT", k=200)) for _ in range(1000)]
    block = Spectrum(3, normalize=False)(strings, strings[::-1])
    assert block.shape == (1000, 1000)
    one, other = (Counter(s[i : i + 3] for i in range(198)) for s in (strings[4], strings[7]))
    assert block[4, -8] == sum(one[part] * other[part] for part in one)


# --- functions -----------------------------------------------------------------------------------


def shared(A, B):
    return [[len(a & b) for b in B] for a in A]


def test_function_of_objects_gets_them_as_they_are():
    sets = [{1, 2}, set(), {2, 3, 4}]
    kernel = FunctionKernel(shared, accepts_objects=True)
    np.testing.assert_array_equal(kernel(sets, sets[:2]), [[2, 0], [0, 0], [1, 0]])
    np.testing.assert_array_equal(kernel.diagonal(sets), [2, 0, 3])
    assert kernel(sets, sets).dtype == np.float64


def test_function_of_vectors_gets_arrays_or_csr():
    seen = []

    def product(a, b):
        seen.append((type(a), a.dtype))
        return a @ b.T

    kernel = FunctionKernel(product)
    np.testing.assert_allclose(kernel(A.tolist(), B.tolist()), A @ B.T)
    np.testing.assert_allclose(kernel(sparse.csr_array(A), sparse.csr_array(B)), A @ B.T)
    single = kernel(A.astype(np.float32), B.astype(np.float32))
    assert single.dtype == np.float32
    arrays = [(np.ndarray, np.float64), (sparse.csr_array, np.float64), (np.ndarray, np.float32)]
    assert seen == arrays
    np.testing.assert_allclose(kernel.diagonal(A), np.square(A).sum(axis=1))
    assert kernel.diagonal(A.astype(np.float32)).dtype == np.float32


def test_diagonal_asks_for_no_other_pairs():
    sizes = []

    def ones(a, b):
        sizes.append((len(a), len(b)))
        return np.ones((len(a), len(b)))

    FunctionKernel(ones).diagonal(A)
    assert sizes == [(1, 1)] * 6


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        (np.ones((4, 6)), "returned shape (4, 6) for 6 and 4 rows, expected (6, 4)."),
        (1.0, "returned shape () for 6 and 4 rows, expected (6, 4)."),
        (np.where(np.eye(6, 4), np.nan, 0), "nan for row 0 of A and row 0 of B, expected finite"),
        (np.where(np.eye(6, 4, -2), np.inf, 0), "inf for row 2 of A and row 0 of B, expected"),
        (np.ones((6, 4)) * 1j, "returned ndarray, not an array of real numbers of shape (6, 4)."),
        ([[1], [2, 3]], "returned list, not an array of real numbers of shape (6, 4)."),
        ("rbf", "returned str, not an array of real numbers of shape (6, 4)."),
    ],
)
def test_wrong_results_are_named(returned, found):
    def named_function(a, b):
        return returned

    with pytest.raises(ValueError, match=r"^FunctionKernel: .*named_function returned") as caught:
        FunctionKernel(named_function)(A, B)
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)


def test_function_declares_its_guarantee():
    assert FunctionKernel(shared).is_positive_semidefinite
    assert not FunctionKernel(shared, positive_semidefinite=False).is_positive_semidefinite
