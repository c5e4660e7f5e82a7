"""Kernel matrices and the test of them, reaches of Gaussians, feature maps: by definition."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.cases import KERNELS

from widemargin import SVC, LinearSVC, PolynomialMap, SquaresMap
from widemargin.kernels import RBF, Linear, Sigmoid, Spectrum, gram, is_kernel, sigma_heuristic

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(12, 4)))
Y = np.arange(12) % 3


@parametrize_with_checks([PolynomialMap(), PolynomialMap(3, coef0=0.0), SquaresMap()])
def test_check_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


# --- matrices ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_gram_is_one_value_after_the_other(name: str) -> None:
    kernel = KERNELS[name]
    np.testing.assert_allclose(gram(kernel, X), kernel(X, X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(gram(kernel, X[:3], X), kernel(X[:3], X), rtol=1e-6, atol=1e-9)
    stored = sparse.csr_array(X)
    np.testing.assert_allclose(gram(kernel, stored), kernel(X, X), rtol=1e-6, atol=1e-9)


def test_gram_of_objects_and_of_functions_of_two_rows() -> None:
    texts = ["abcab", "bcabc", "xyzxy"]
    np.testing.assert_allclose(gram(Spectrum(2), texts), Spectrum(2)(texts, texts))
    np.testing.assert_allclose(gram(lambda x, z: x @ z, X), X @ X.T)
    with pytest.raises(ValueError, match="one number for two rows"):
        gram(lambda x, z: x * z, X)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12))
def test_inner_products_are_kernels(seed: int, rows: int, features: int) -> None:
    A = np.random.default_rng(seed).normal(size=(rows, features))
    found = is_kernel(A @ A.T)
    assert found
    assert found.witness is None
    assert found.smallest_eigenvalue == pytest.approx(
        np.linalg.eigvalsh(A @ A.T)[0], abs=found.tolerance
    )
    assert "a kernel matrix" in str(found)


@given(st.integers(0, 10_000), st.integers(2, 10))
def test_witness_proves_that_it_is_none(seed: int, rows: int) -> None:
    A = np.random.default_rng(seed).normal(size=(rows, rows))
    K = A @ A.T
    K -= (np.linalg.eigvalsh(K)[0] + 0.1) * np.eye(rows)
    found = is_kernel(K)
    assert not found
    assert found.smallest_eigenvalue == pytest.approx(-0.1)
    assert np.linalg.norm(found.witness) == pytest.approx(1.0)
    assert found.witness @ K @ found.witness == pytest.approx(found.witness_value)
    assert found.witness_value < 0
    assert "squared length -0.1" in str(found)


def test_sigmoid_is_none_and_gaussians_are() -> None:
    assert not is_kernel(Sigmoid(gamma=1.0, coef0=-1.0)(X, X))
    assert is_kernel(RBF(5.0)(np.repeat(X, 2, axis=0), np.repeat(X, 2, axis=0)))
    assert is_kernel(RBF(5.0)(X, X).astype(np.float32))


def test_a_kernel_is_symmetric() -> None:
    found = is_kernel([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.1, 1.0]])
    assert not found
    assert found.pair == (1, 2)
    assert found.asymmetry == pytest.approx(0.1)
    assert str(found) == "no kernel matrix: K[1, 2] and K[2, 1] differ by 0.1"
    with pytest.raises(ValueError, match="must be a square matrix"):
        is_kernel(np.ones((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        is_kernel([[np.nan]])


# --- reaches -------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(1, 4), st.booleans(), st.booleans())
def test_closest_pair_is_that_of_all_pairs(
    seed: int, rows: int, features: int, whole: bool, stored: bool
) -> None:
    rng = np.random.default_rng(seed)
    data = rng.integers(-1, 2, (rows, features)) if whole else rng.normal(size=(rows, features))
    data, labels = data.astype(float) + 100, np.arange(rows) % 2
    distances = [
        (np.linalg.norm(data[i] - data[j]), i, j)
        for i, j in combinations(range(rows), 2)
        if labels[i] != labels[j] and (data[i] != data[j]).any()
    ]
    given_rows = sparse.csr_array(data) if stored else data
    if not distances:
        with pytest.raises(ValueError, match="all equal"):
            sigma_heuristic(given_rows, labels)
        return
    found = sigma_heuristic(given_rows, labels)
    assert found.sigma == pytest.approx(min(distances)[0], rel=1e-12)
    i, j = found.pair
    assert labels[i] != labels[j]
    assert np.linalg.norm(data[i] - data[j]) == pytest.approx(found.sigma)
    assert found.gamma == pytest.approx(RBF.from_sigma(found.sigma).gamma)


def test_median_and_scale() -> None:
    wanted = np.median(cdist(X, X)[np.triu_indices(12, 1)])
    for storage in (np.asarray, sparse.csr_array):
        assert sigma_heuristic(storage(X), rule="median").sigma == pytest.approx(wanted)
        gamma = sigma_heuristic(storage(X), rule="scale").gamma
        assert gamma == pytest.approx(SVC().fit(X, Y).kernel_.gamma)
    many = RNG.normal(size=(3000, 3))
    sampled = sigma_heuristic(many, rule="median").sigma
    exact = np.median(cdist(many, many)[np.triu_indices(3000, 1)])
    assert sampled == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(X=X), "needs y, found None"),
        (dict(X=X, y=[1]), "one label for each of 12 rows"),
        (dict(X=X, y=np.ones(12)), "two labels or more"),
        (dict(X=X, rule="best"), "rule must be one of"),
        (dict(X=X[:1], rule="scale"), "two rows or more"),
        (dict(X=np.ones((4, 2)), rule="median"), "all equal"),
        (dict(X=X * np.nan, rule="scale"), "NaN"),
    ],
)
def test_what_gives_no_reach_is_told(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sigma_heuristic(**arguments)


# --- maps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize(("gamma", "coef0"), [(1.0, 1.0), (0.3, 0.7), (2.0, 0.0)])
def test_inner_product_of_images_is_the_kernel(
    storage: Any, degree: int, gamma: float, coef0: float
) -> None:
    rows = X - 0.5
    phi = PolynomialMap(degree, gamma=gamma, coef0=coef0)
    images = phi.fit_transform(storage(rows))
    images = images.toarray() if sparse.issparse(images) else images
    np.testing.assert_allclose(images @ images.T, (gamma * rows @ rows.T + coef0) ** degree)
    np.testing.assert_allclose(images @ images.T, phi.kernel()(rows, rows), rtol=1e-6, atol=1e-9)
    assert images.shape[1] == len(phi.get_feature_names_out()) == phi.factors_.size


def test_maps_of_the_textbooks() -> None:
    a, b = 3.0, -2.0
    root = np.sqrt(2)
    np.testing.assert_allclose(
        PolynomialMap(2, coef0=0.0).fit_transform([[a, b]])[0], [a * a, root * a * b, b * b]
    )
    full = PolynomialMap(2).fit([[a, b]])
    assert list(full.get_feature_names_out()) == ["1", "x0", "x1", "x0^2", "x0 x1", "x1^2"]
    np.testing.assert_allclose(
        full.transform([[a, b]])[0], [1, root * a, root * b, a * a, root * a * b, b * b]
    )
    np.testing.assert_allclose(SquaresMap().fit_transform([[a, b]])[0], [a, b, a * a, b * b])
    assert list(SquaresMap().fit(X).get_feature_names_out())[4:] == ["x0^2", "x1^2", "x2^2", "x3^2"]
    stored = SquaresMap().fit_transform(sparse.csr_array(X))
    np.testing.assert_allclose(stored.toarray(), np.hstack([X, X**2]))


def test_a_linear_machine_of_images_is_the_kernel_machine() -> None:
    labels = np.where((X**2).sum(axis=1) > np.median((X**2).sum(axis=1)), 1, 0)
    phi = PolynomialMap(2)
    explicit = make_pipeline(phi, LinearSVC(loss="hinge", C=2.0, gap_tol=1e-9)).fit(X, labels)
    machine = SVC(kernel=phi.kernel(), C=2.0, tol=1e-8).fit(X, labels)
    np.testing.assert_allclose(
        explicit.decision_function(X), machine.decision_function(X), atol=1e-3
    )


def test_any_distinct_points_are_separable_in_some_space() -> None:
    labels = RNG.integers(0, 2, 12)
    reach = sigma_heuristic(X, labels)
    machine = SVC(kernel=RBF.from_sigma(reach.sigma / 3), C=float("inf")).fit(X, labels)
    assert machine.score(X, labels) == 1.0
    assert np.linalg.matrix_rank(gram(RBF.from_sigma(reach.sigma), X)) == 12


def test_too_large_a_map_is_refused() -> None:
    with pytest.raises(ValueError, match="lower degree or use the kernel itself"):
        PolynomialMap(6).fit(np.ones((2, 200)))
    with pytest.raises(ValueError, match="coef0 must be a number in"):
        PolynomialMap(coef0=-1.0).fit(X)
    assert Linear()  # the kernel of degree one without a constant
