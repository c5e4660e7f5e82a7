"""Many classes: decisions, votes, probabilities and margins, by naive formulas."""

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, NuSVC

HOW = ["ovo", "ovr", "joint"]


def blobs(classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(60 * classes, 3, centers=classes, cluster_std=3.0, random_state=1)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_largest_decision_is_the_prediction(how: str, classes: int) -> None:
    X, y = blobs(classes)
    machine = SVC(C=5.0, multi_class=how, break_ties=how == "ovo").fit(X, y)
    scores = machine.decision_function(X)
    chosen = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(machine.classes_[chosen], machine.predict(X))


def test_each_machine_is_the_two_class_machine_of_its_rows() -> None:
    X, y = blobs(3)
    pairs = SVC(C=2.0, gamma=0.5, tol=1e-9, decision_function_shape="ovo").fit(X, y)
    for column, (a, b) in enumerate(combinations(range(3), 2)):
        rows = (y == a) | (y == b)
        alone = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(X[rows], y[rows] == a)
        expected = alone.decision_function(X)
        np.testing.assert_allclose(pairs.decision_function(X)[:, column], expected, atol=1e-6)
    rest = SVC(C=2.0, gamma=0.5, tol=1e-9, multi_class="ovr").fit(X, y)
    for c in range(3):
        alone = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(X, y == c)
        expected = alone.decision_function(X)
        np.testing.assert_allclose(rest.decision_function(X)[:, c], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "how"),
    [(SVC, "ovo"), (SVC, "ovr"), (SVC, "joint"), (NuSVC, "ovo"), (NuSVC, "ovr")],
)
@pytest.mark.parametrize("load", [load_iris, load_wine, blobs])
def test_most_probable_class_is_the_predicted_one(load: Any, kind: type, how: str) -> None:
    X, y = blobs() if load is blobs else load(return_X_y=True)
    settings: dict[str, Any] = {"nu": 0.2} if kind is NuSVC else {}
    machine = kind(**settings, probability=True, multi_class=how)
    with pytest.warns(FutureWarning, match="probability"):
        machine.fit(X, y)
    p = machine.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p >= 0).all()
    np.testing.assert_array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        again = kind(**settings, probability=True, multi_class=how, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), p)


def test_probabilities_are_better_than_shares() -> None:
    """Their likelihood on new rows beats that of the shares of the classes by far."""
    X, y = blobs(3)
    with pytest.warns(FutureWarning, match="probability"):
        machine = SVC(probability=True).fit(X[::2], y[::2])
    p = machine.predict_proba(X[1::2])
    loss = -np.log(p[np.arange(len(p)), y[1::2]]).mean()
    assert loss < 0.7 * np.log(3)


# --- margins -------------------------------------------------------------------------------------


def plane_distance(machine: Any, X: np.ndarray, weights: np.ndarray, bias: float) -> np.ndarray:
    return (X @ weights + bias) / np.linalg.norm(weights)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("classes", [2, 4])
def test_margin_is_the_distance_from_the_planes(how: str, classes: int) -> None:
    """A linear kernel has the weights at hand."""
    X, y = blobs(classes)
    machine = SVC(kernel="linear", multi_class=how).fit(X, y)
    coef, intercept = machine.coef_, machine.intercept_
    if classes == 2:
        signs = np.where(y == 1, 1.0, -1.0)
        expected = signs * plane_distance(machine, X, coef[0], intercept[0])
        widths: Any = 2 / np.linalg.norm(coef[0])
    elif how == "ovr":
        columns = [plane_distance(machine, X, coef[c], intercept[c]) for c in range(classes)]
        expected = np.stack(columns, axis=1)[np.arange(y.size), y]
        widths = 2 / np.linalg.norm(coef, axis=1)
    else:
        pairs = list(combinations(range(classes), 2))
        if how == "joint":
            coef = np.stack([coef[a] - coef[b] for a, b in pairs])
            intercept = np.zeros(len(pairs))
        expected = np.full(y.size, np.inf)
        for weights, bias, (a, b) in zip(coef, intercept, pairs, strict=True):
            distance = plane_distance(machine, X, weights, bias)
            expected[y == a] = np.minimum(expected, distance)[y == a]
            expected[y == b] = np.minimum(expected, -distance)[y == b]
        widths = 2 / np.linalg.norm(coef, axis=1)
    np.testing.assert_allclose(machine.margin(X, y), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(machine.margin_width_, widths, rtol=1e-6)


def test_margin_in_the_feature_space_of_a_kernel() -> None:
    X, y = blobs(2)
    machine = SVC(C=3.0, gamma=0.7, tol=1e-8).fit(X, y)
    K = machine.kernel_(machine.support_vectors_, machine.support_vectors_)
    norm = np.sqrt(machine.dual_coef_[0] @ K @ machine.dual_coef_[0])
    expected = np.where(y == 1, 1.0, -1.0) * machine.decision_function(X) / norm
    np.testing.assert_allclose(machine.margin(X, y), expected, rtol=1e-6)
    free = machine.machines_[0].free
    np.testing.assert_allclose(machine.margin(X, y)[free], machine.margin_width_ / 2, rtol=1e-5)


def test_margin_of_an_unknown_class_is_refused() -> None:
    X, y = blobs(2)
    with pytest.raises(ValueError, match="one of the labels"):
        SVC().fit(X, y).margin(X, y + 1)
