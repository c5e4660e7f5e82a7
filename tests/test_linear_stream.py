"""partial_fit of the linear machines: what a stream of rows learns."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import classes, numbers
from sklearn.datasets import load_digits

from widemargin import LinearOneClassSVM, LinearSVC, LinearSVR, LogisticRegression
from widemargin.solution import Status

LOSSES = ["hinge", "squared_hinge", "logistic"]


def blocks(X, y, rows):
    return [(X[i : i + rows], y[i : i + rows]) for i in range(0, len(y), rows)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalised", [True, False])
def test_one_block_of_all_rows_is_the_fit(loss, penalised):
    X, y = classes(400, 8)
    settings = dict(loss=loss, C=0.3, fit_intercept=penalised, penalize_intercept=penalised,
                    gap_tol=1e-8)  # fmt: skip
    fitted = LinearSVC(**settings).fit(X, y)
    streamed = LinearSVC(**settings).partial_fit(X, y, classes=[-1, 1])
    np.testing.assert_allclose(streamed.coef_, fitted.coef_, atol=1e-3)
    np.testing.assert_allclose(streamed.intercept_, fitted.intercept_, atol=1e-3)
    assert streamed.dual_objective_ <= fitted.primal_objective_
    assert streamed.dual_objective_ == pytest.approx(fitted.primal_objective_, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_dual_objective_rises_towards_that_of_the_fit(loss):
    X, y = classes(600, 8)
    settings = dict(loss=loss, C=0.05, penalize_intercept=True, gap_tol=1e-6)
    whole = LinearSVC(**settings).fit(X, y)
    model, bounds = LinearSVC(**settings), []
    for block in blocks(X, y, 100):
        bounds.append(model.partial_fit(*block, classes=[-1, 1]).dual_objective_)
    assert (np.diff(bounds) >= 0).all()
    assert 0.9 * whole.primal_objective_ < bounds[-1] <= whole.primal_objective_
    assert model.rows_seen_ == 600


def test_one_row_is_a_passive_aggressive_step():
    X, y = classes(50, 4)
    model, w = LinearSVC(loss="hinge", C=0.7, fit_intercept=False, gap_tol=1e-12), np.zeros(4)
    for x, t in zip(X, y, strict=True):
        model.partial_fit(x[None], [t], classes=[-1, 1])
        w = w + t * min(0.7, max(0.0, 1 - t * (w @ x)) / (x @ x)) * x
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-9)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_numbers_in_blocks(loss):
    X, t = numbers(2000, 6)
    model = LinearSVR(loss=loss, epsilon=0.01, C=0.05)
    for block in blocks(X, t, 200):
        model.partial_fit(*block)
    fitted = LinearSVR(loss=loss, epsilon=0.01, C=0.05).fit(X, t)
    assert model.coef_.shape == (6,)
    assert abs(model.score(X, t) - fitted.score(X, t)) < 0.02


def test_many_classes_come_near_the_fit_and_missing_ones_may_come_later():
    X, y = load_digits(return_X_y=True)
    X, y = X / 16, np.array([f"digit {k}" for k in y])
    model = LogisticRegression(C=0.5)
    order = np.argsort(y[:300], kind="stable")  # the first block lacks most classes
    model.partial_fit(X[order][:60], y[order][:60], classes=np.unique(y))
    for block in blocks(X[300:], y[300:], 200):
        model.partial_fit(*block)
    fitted = LogisticRegression(C=0.5).fit(X, y)
    assert model.coef_.shape == fitted.coef_.shape
    assert model.score(X, y) > fitted.score(X, y) - 0.05
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_mean_loss_forgets_as_rows_come():
    """With lam the cost of every row falls as their number rises, that of earlier rows too."""
    X, y = classes(400, 5)
    settings = dict(loss="hinge", lam=0.1, fit_intercept=False, gap_tol=1e-9)
    model = LinearSVC(**settings)
    for block in blocks(X, y, 100):
        model.partial_fit(*block, classes=[-1, 1])
    fitted = LinearSVC(**settings).fit(X, y)
    assert 0.9 * fitted.primal_objective_ < model.dual_objective_ <= fitted.primal_objective_


def test_goes_on_from_a_fit():
    X, y = classes(900, 6)
    model = LinearSVC(loss="hinge", C=0.01).fit(X[:800], y[:800])
    before = model.coef_.copy()
    model.partial_fit(X[800:], y[800:])
    assert 0 < np.linalg.norm(model.coef_ - before) < np.linalg.norm(before)
    assert model.rows_seen_ == 900
    assert not hasattr(model, "duality_gap_")
    assert not hasattr(model, "dual_objective_")
    with pytest.raises(ValueError, match="a bound needs the gap of a fit"):
        model.decision_bound(X)


def test_outliers_keep_their_share():
    X = np.random.default_rng(0).normal(size=(3000, 5)) + 3.0
    model = LinearOneClassSVM(nu=0.1)
    for i in range(0, 3000, 500):
        model.partial_fit(X[i : i + 500])
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.1, abs=0.03)
    fitted = LinearOneClassSVM(nu=0.1).fit(X)
    assert np.mean(model.predict(X) == fitted.predict(X)) > 0.97


def test_forms_and_weights_of_a_block():
    X, y = classes(300, 6)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    settings = dict(loss="hinge", C=0.2, penalize_intercept=True, gap_tol=1e-9)
    dense = LinearSVC(**settings).partial_fit(X, y, classes=[-1, 1])
    for other in (sp.csr_matrix(X), np.asfortranarray(X)):
        same = LinearSVC(**settings).partial_fit(other, y, classes=[-1, 1])
        np.testing.assert_allclose(same.coef_, dense.coef_, atol=1e-4)
    twice = LinearSVC(**settings).partial_fit(X, y, [-1, 1], np.full(300, 2.0))
    rows = LinearSVC(**settings).partial_fit(np.vstack([X, X]), np.append(y, y), [-1, 1])
    np.testing.assert_allclose(twice.coef_, rows.coef_, atol=1e-3)
    assert twice.rows_seen_ == rows.rows_seen_ == 600
    assert twice.status_ is Status.GAP_REACHED


@pytest.mark.parametrize(
    ("settings", "call", "message"),
    [
        ({}, {}, "classes must be passed on the first call"),
        ({}, {"classes": [1, 2]}, "y holds \\[-1"),
        ({}, {"classes": [1]}, "at least two labels"),
    ],
)
def test_what_a_stream_cannot_do_is_said(settings, call, message):
    X, y = classes(30, 3)
    with pytest.raises(ValueError, match=message):
        LinearSVC(**settings).partial_fit(X, y, **call)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": "l1"}, "penalty='l2', found 'l1'"),
        ({"multi_class": "ovo"}, "multi_class='ovr', found 'ovo'"),
        ({"class_weight": "balanced"}, "found 'balanced'"),
    ],
)
def test_partial_fit_is_there_only_where_it_works(settings, message):
    assert hasattr(LinearSVC(), "partial_fit")
    assert not hasattr(LinearSVC(**settings), "partial_fit")
    with pytest.raises(AttributeError) as caught:
        _ = LinearSVC(**settings).partial_fit
    assert message in str(caught.value.__cause__)
