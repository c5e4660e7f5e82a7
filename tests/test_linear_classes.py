"""Many classes by linear machines: side by side, without copies of X, with sparse weights."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from widemargin import LinearSVC, LogisticRegression


def text(rows, words, kinds, seed=0, length=8):
    """Rows of few words each; every class has some words of its own."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(rows) % kinds)
    own = rng.integers(0, words, (kinds, 4))
    columns = np.concatenate([own[y], rng.integers(0, words, (rows, length - 4))], axis=1)
    X = sp.csr_matrix(
        (np.ones(rows * length), columns.ravel(), np.arange(0, rows * length + 1, length)),
        shape=(rows, words),
    )
    X.sum_duplicates()
    return X, y


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_threads_change_nothing(multi_class, form):
    X, y = load_digits(return_X_y=True)
    X = sp.csr_matrix(X[:400] / 16) if form == "csr" else X[:400] / 16
    fits = [
        LinearSVC(loss="hinge", multi_class=multi_class, n_jobs=n).fit(X, y[:400]) for n in (1, 3)
    ]
    assert (fits[0].coef_ == fits[1].coef_).all()
    assert (fits[0].intercept_ == fits[1].intercept_).all()


def test_each_class_is_the_fit_of_that_class_alone():
    X, y = text(600, 2000, 5)
    model = LinearSVC(loss="hinge", gap_tol=1e-8, n_jobs=2).fit(X, y)
    for k in range(5):
        alone = LinearSVC(loss="hinge", gap_tol=1e-8, n_jobs=1).fit(X, y == k)
        assert alone.primal_objective_ == pytest.approx(
            model.solutions_[k].certificate.primal, rel=2e-8
        )


@pytest.mark.parametrize("kind", [LinearSVC, LogisticRegression])
def test_sparse_weights_are_the_same_weights(kind):
    X, y = text(300, 500, 7)
    dense = kind(C=0.5).fit(X, y)
    thin = kind(C=0.5, sparse_coef=True).fit(X, y)
    assert sp.issparse(thin.coef_)
    assert (thin.coef_.toarray() == dense.coef_).all()
    assert (thin.predict(X) == dense.predict(X)).all()
    np.testing.assert_allclose(thin.decision_function(X), dense.decision_function(X))
    again = thin.set_params(warm_start=True).fit(X, y)
    assert again.n_iter_ <= dense.n_iter_


def test_prediction_by_parts_is_prediction(monkeypatch):
    X, y = text(300, 500, 7)
    model = LinearSVC().fit(X, y)
    whole = model.predict(X)
    monkeypatch.setattr("widemargin.estimators.linear_classifier.SCORES_AT_ONCE", 100)
    assert (model.predict(X) == whole).all()


def test_memory_does_not_grow_with_rows_times_classes(monkeypatch):
    monkeypatch.setattr("widemargin.estimators.linear_classifier.SHARES_KEPT", 1000)
    rows, words, kinds = 3000, 1600, 300
    X, y = text(rows, words, kinds)
    tracemalloc.start()
    model = LinearSVC(loss="hinge", sparse_coef=True, gap_tol=1e-1, n_jobs=1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * 8 * kinds * rows  # one array of that size would be too much
    assert model.score(X, y) > 0.8


def test_dual_variables_of_many_classes_are_not_kept(monkeypatch):
    monkeypatch.setattr("widemargin.estimators.linear_classifier.SHARES_KEPT", 100)
    X, y = text(200, 300, 4)
    model = LinearSVC(warm_start=True).fit(X, y)
    assert all(solution.shares.size == 0 for solution in model.solutions_)
    assert model.fit(X, y).status_.converged


def test_ctrl_c_and_limits_reach_machines_side_by_side():
    X, y = text(2000, 3000, 40)
    calls = []

    def stop(progress):
        calls.append(progress)
        return len(calls) > 3

    model = LinearSVC(loss="hinge", callback=stop, n_jobs=2)
    with pytest.warns(match="stopped by the callback"):
        model.fit(X, y)
    assert model.coef_.shape == (40, 3000)

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LinearSVC(loss="hinge", callback=interrupt, n_jobs=2).fit(X, y)
