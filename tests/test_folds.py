"""Weights are repetitions also where rows are held out, and their order plays no part."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics.pairwise import rbf_kernel

from widemargin import SVC, LinearSVC, NuSVC
from widemargin.reductions.calibration import fit_slopes
from widemargin.reductions.folds import distinct_rows, folds_by_content, row_keys
from widemargin.reductions.held_out import _folds

pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")


def data(classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels, weights 0, 1, 2 or 3, and the rows that repeat themselves so often."""
    X, y = make_classification(
        150, 5, n_informative=4, n_redundant=0, n_classes=classes, n_clusters_per_class=1,
        flip_y=0.1, random_state=2,
    )  # fmt: skip
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    times = np.random.default_rng(0).integers(0, 4, y.size)
    return X, y, times, np.random.default_rng(1).permutation(np.repeat(np.arange(y.size), times))


def calibrated(machine: Any, X: Any, y: Any, weights: Any = None) -> Any:
    machine = machine.fit(X, y, weights)
    return machine.calibrate(X, y, weights, cv=4) if isinstance(machine, LinearSVC) else machine


MACHINES = {
    "ovo": SVC(C=2.0, gamma=0.2, tol=1e-10, probability=True),
    "ovr": SVC(C=2.0, gamma=0.2, tol=1e-10, probability=True, multi_class="ovr"),
    "joint": SVC(C=2.0, gamma=0.2, tol=1e-9, probability=True, multi_class="joint"),
    "balanced": SVC(C=2.0, gamma="scale", tol=1e-10, probability=True, class_weight="balanced"),
    "nu": NuSVC(nu=0.4, gamma=0.2, tol=1e-10, probability=True),
    "linear": LinearSVC(gap_tol=1e-12),
    "linear ovo": LinearSVC(gap_tol=1e-12, multi_class="ovo"),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MACHINES)
def test_weights_are_repetitions_in_any_order(name: str, classes: int, sparse: bool) -> None:
    X, y, times, rows = data(classes)
    form = sp.csr_matrix if sparse else np.asarray
    machine = calibrated(MACHINES[name], form(X), y, times)
    expected = machine.predict_proba(X)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[expected.argmax(axis=1)])
    for chosen, weights in ((rows, None), (np.arange(y.size)[::-1], times[::-1])):
        again = calibrated(machine, form(X[chosen]), y[chosen], weights)
        np.testing.assert_allclose(again.predict_proba(X), expected, atol=2e-6)


def test_weights_are_repetitions_of_precomputed_rows_and_objects() -> None:
    X, y, times, rows = data(3)
    K = rbf_kernel(X, gamma=0.2)
    weighted = SVC(kernel="precomputed", tol=1e-10, probability=True).fit(K, y, times)
    expected = weighted.predict_proba(K)
    repeated = SVC(kernel="precomputed", tol=1e-10, probability=True)
    repeated.fit(K[np.ix_(rows, rows)], y[rows])
    np.testing.assert_allclose(repeated.predict_proba(K[:, rows]), expected, atol=2e-6)

    def kernel(a: Any, b: Any) -> Any:
        return rbf_kernel(np.array(a, float), np.array(b, float), gamma=0.2)

    words = [tuple(map(str, row)) for row in X]
    weighted = SVC(kernel=kernel, tol=1e-10, probability=True).fit(words, y, times)
    expected = weighted.predict_proba(words)
    again = weighted.fit([words[i] for i in rows], y[rows])
    np.testing.assert_allclose(again.predict_proba(words), expected, atol=2e-6)


def test_keys_tell_rows_apart_whatever_holds_them() -> None:
    X = np.random.default_rng(0).integers(-1, 2, (4000, 9)).astype(np.float32)
    X[X == 0] *= -1.0  # minus zero
    keys, ones = row_keys(X, np.ones(4000)), np.ones(4000)
    assert distinct_rows(keys, ones) == len(np.unique(X + 0, axis=0))
    twice = sp.csr_matrix(np.hstack([X, X]).astype(np.float64))
    halves = sp.csr_matrix((twice.data / 2, twice.indices % 9, twice.indptr), (4000, 9))
    zeros = sp.csr_matrix((X.ravel(), np.tile(np.arange(9), 4000), np.arange(0, 36001, 9)))
    for other in (X.astype(np.float64), np.asfortranarray(X), sp.csr_matrix(X), halves, zeros):
        np.testing.assert_array_equal(row_keys(other, ones), keys)
    assert halves.nnz == twice.nnz  # left as it was
    assert np.unique(row_keys([object(), object()], np.ones(2))).size == 2


def test_folds_balance_weight_within_each_class() -> None:
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    weights = rng.exponential(size=y.size) * (rng.random(y.size) < 0.8)
    folds = folds_by_content(row_keys(X, weights), y, weights, 5)
    assert ((folds < 0) == (weights == 0)).all()
    for c in range(3):
        totals = np.bincount(folds[weights > 0], (weights * (y == c))[weights > 0])
        assert np.ptp(totals) <= weights[y == c].max()
    lots = np.bincount(folds[weights > 0], weights[weights > 0])
    assert np.ptp(lots) <= 2 * weights.max()


def test_each_machine_of_a_fold_has_both_sides() -> None:
    """Ten classes of one row each, dealt out by class, could all be in the lightest fold."""
    labels = np.repeat(np.arange(11), [22] + [1] * 10)
    weights = np.where(np.arange(32) < 4, 1000.0, 1.0)
    keys = np.arange(32, dtype=np.uint64)
    folds = _folds(keys, labels, labels == 0, weights)
    assert folds is not None
    for side in (labels == 0, labels > 0):
        assert np.unique(folds[side]).size == 5
    assert _folds(np.minimum(keys, 22), labels, labels == 0, weights) is None


@pytest.mark.parametrize("cv", [None, 3])
def test_rows_without_weight_may_be_anything(cv: int | None) -> None:
    X, y, times, _ = data(2)
    machine = LinearSVC(gap_tol=1e-12).fit(X, y)
    used = times > 0
    expected = machine.calibrate(X[used], y[used], times[used], cv=cv).slopes_.copy()
    odd = np.where(used, y, 9)
    found = machine.calibrate(np.where(used[:, None], X, 1e3), odd, times, cv=cv).slopes_
    np.testing.assert_allclose(found, expected, rtol=1e-4 if cv else 1e-12)


def test_slopes_forget_rows_without_weight() -> None:
    f, positive = np.array([-1.0, -0.5, 2.0]), np.array([False, True, True])
    expected = fit_slopes(f[:2], positive[:2], np.ones(2))
    np.testing.assert_array_equal(fit_slopes(f, positive, np.array([1.0, 1.0, 0.0])), expected)
