"""The linear classifiers to compare with, against the formulas that define them."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

import widemargin
from widemargin import SVC, LeastSquaresClassifier, NearestMeans

X, Y = load_iris(return_X_y=True)
BOTH = [NearestMeans(), LeastSquaresClassifier(), LeastSquaresClassifier(alpha=0.5)]


@parametrize_with_checks(BOTH)
def test_check_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("rows", [100, 150], ids=["two classes", "three"])
def test_nearest_means_are_nearest(storage: Any, rows: int) -> None:
    model = NearestMeans().fit(storage(X[:rows]), Y[:rows])
    theirs = NearestCentroid().fit(X[:rows], Y[:rows])
    np.testing.assert_allclose(model.means_, theirs.centroids_)
    np.testing.assert_array_equal(model.predict(storage(X)), theirs.predict(X))
    distances = ((X[:, None] - model.means_) ** 2).sum(axis=2)
    scores = model.decision_function(X)
    if rows == 100:  # half the difference of the squared distances
        np.testing.assert_allclose(scores, (distances[:, 0] - distances[:, 1]) / 2, atol=1e-9)
    else:
        np.testing.assert_allclose(np.ptp(scores + distances / 2, axis=1), 0, atol=1e-9)


def test_plane_is_half_way_between_the_means() -> None:
    model = NearestMeans().fit(X[:100], Y[:100])
    np.testing.assert_allclose(model.coef_[0], model.means_[1] - model.means_[0])
    assert model.decision_function([model.means_.mean(axis=0)])[0] == pytest.approx(0, abs=1e-12)


def test_a_soft_margin_of_little_cost_points_as_the_means_do() -> None:
    rows, labels = X[:100], Y[:100]
    svm = SVC(kernel="linear", C=1e-7).fit(rows, labels)
    w = NearestMeans().fit(rows, labels).coef_
    cosine = (w @ svm.coef_.T).item() / np.linalg.norm(w) / np.linalg.norm(svm.coef_)
    assert cosine == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rows", [100, 150], ids=["two classes", "three"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_least_squares_solve_the_normal_equations(
    storage: Any, rows: int, bias: bool, alpha: float
) -> None:
    weights = np.random.default_rng(0).integers(0, 4, rows).astype(float)
    model = LeastSquaresClassifier(alpha, fit_intercept=bias)
    model.fit(storage(X[:rows]), Y[:rows], weights)
    wide = np.hstack([X[:rows], np.full((rows, 1), float(bias))])
    targets = np.where(Y[:rows, None] == ([1] if rows == 100 else [0, 1, 2]), 1.0, -1.0)
    found = np.c_[model.coef_, model.intercept_].T
    price = alpha * np.array([1.0] * 4 + [0.0])[:, None] * found
    slope = wide.T @ (weights[:, None] * (targets - wide @ found)) - price
    np.testing.assert_allclose(slope, 0, atol=1e-7)
    assert model.kkt_violation_ < 1e-9
    ridge = Ridge(alpha, fit_intercept=bias, solver="svd").fit(X[:rows], targets, weights)
    np.testing.assert_allclose(found[:4].T, np.atleast_2d(ridge.coef_), rtol=1e-5, atol=1e-7)


@given(st.integers(0, 10_000), st.booleans())
def test_of_many_least_squares_the_shortest(seed: int, stored: bool) -> None:
    """More features than rows, and repeated ones: the pseudoinverse is the definition."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (6, 5)).astype(float)
    rows = np.hstack([rows, rows[:, :2], rng.normal(size=(6, 3))])
    signs = np.array([1, -1, 1, -1, 1, -1])
    model = LeastSquaresClassifier(fit_intercept=False)
    model.fit(sparse.csr_array(rows) if stored else rows, signs)
    np.testing.assert_allclose(
        model.coef_[0], np.linalg.pinv(rows, rcond=1e-10) @ signs, rtol=1e-6, atol=1e-7
    )


def test_one_row_of_each_class_and_equal_rows() -> None:
    for model in BOTH:
        assert list(model.fit([[0.0], [1.0]], ["a", "b"]).predict([[0.2], [0.8]])) == ["a", "b"]
        same = model.fit([[1.0, 2.0], [1.0, 2.0]], [0, 1])
        np.testing.assert_allclose(same.coef_, 0, atol=1e-12)


def test_weights_are_repetitions() -> None:
    rows, labels = make_classification(60, 6, n_classes=3, n_informative=4, random_state=0)
    counts = np.random.default_rng(1).integers(0, 3, 60)
    for model in BOTH:
        weighted = model.fit(rows, labels, counts).decision_function(rows)
        repeated = model.fit(np.repeat(rows, counts, axis=0), np.repeat(labels, counts))
        np.testing.assert_allclose(weighted, repeated.decision_function(rows), atol=1e-9)


def test_files_hold_them() -> None:
    for model in BOTH:
        file = io.BytesIO()
        widemargin.save(model.fit(X, Y), file)
        again = widemargin.load(io.BytesIO(file.getvalue()))
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_errors_name_the_argument() -> None:
    with pytest.raises(ValueError, match="alpha must be a number in"):
        LeastSquaresClassifier(alpha=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match="too large"):
        NearestMeans().fit(X * 1e200, Y)
    LeastSquaresClassifier().fit(X * 1e200, Y)  # which only scales
