"""Batch subgradient descent against the loop of the textbooks, and its gap against the optimum."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import LinearSVC, Status, SubgradientSVC

X, Y = make_classification(120, 5, n_informative=3, flip_y=0.2, random_state=3)
SIGNS = np.where(Y == 1, 1.0, -1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([SubgradientSVC()])
def test_check_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


def naive(C: float, bias: bool, penalised: bool, armijo: bool, tol: float) -> tuple[Any, ...]:
    """Return the weights, the bias last, and F, errors and length of all steps."""
    wide = np.hstack([X, np.full((len(X), 1), float(bias))])
    price = np.array([1.0] * 5 + [float(penalised)])

    def F(w: Any) -> Any:
        return 0.5 * (price * w) @ w + C * np.maximum(0, 1 - SIGNS * (wide @ w)).sum()

    w, values, errors, lengths = np.zeros(6), [], [], []
    values.append(F(w))
    while True:
        wrong = SIGNS * (wide @ w) < 1
        errors.append(wrong.sum())
        if len(values) > 1 and values[-2] - values[-1] < tol:
            return w, values, errors, lengths
        g = price * w - C * (SIGNS[wrong] @ wide[wrong])
        r = 0.5
        while F(w - r * g) > values[-1] - (1e-4 * r * g @ g if armijo else 0):
            r /= 2
        w = w - r * g
        values.append(F(w))
        lengths.append(r)


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("search", ["halving", "armijo"])
@pytest.mark.parametrize(("bias", "penalised"), [(False, False), (True, False), (True, True)])
def test_is_the_naive_loop(storage: Any, search: str, bias: bool, penalised: bool) -> None:
    w, values, errors, lengths = naive(0.1, bias, penalised, search == "armijo", 1e-3)
    model = SubgradientSVC(
        C=0.1, fit_intercept=bias, penalize_intercept=penalised, line_search=search, trace=True,
        gap_tol=1e-12,
    ).fit(storage(X), Y)  # fmt: skip
    trace = model.trace_[0]
    assert len(trace["objective"]) == len(trace["errors"]) == len(trace["step"]) + 1
    assert model.status_ is Status.SETTLED
    assert model.n_iter_ == len(trace["step"])
    assert model.primal_objective_ == pytest.approx(trace["objective"][-1])
    np.testing.assert_array_equal(trace["coef"][-1], model.coef_[0])
    assert trace["intercept"][-1] == model.intercept_[0]
    assert not trace["coef"][0].any()  # from zero
    if bias and not penalised:  # where the loop would rest, the bias moves by itself
        n = len(values) - 1
        np.testing.assert_allclose(trace["objective"][:n], values[:n], rtol=1e-9)
        np.testing.assert_array_equal(trace["step"][:n], lengths[:n])
        assert trace["objective"][-1] <= values[-1]
        return
    np.testing.assert_allclose(trace["objective"], values, rtol=1e-9)
    np.testing.assert_array_equal(trace["errors"], errors)
    np.testing.assert_array_equal(trace["step"], lengths)
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), w, atol=1e-9)


@given(st.integers(0, 10_000), st.sampled_from([0.01, 1.0, 30.0]), st.booleans(), st.booleans())
def test_optimum_lies_between_the_objectives(
    seed: int, C: float, bias: bool, penalised: bool
) -> None:
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(30, 3)), np.arange(30) % 2
    settings = dict(C=C, fit_intercept=bias, penalize_intercept=penalised)
    model = SubgradientSVC(**settings).fit(rows, labels)
    exact = LinearSVC(loss="hinge", gap_tol=1e-9, **settings).fit(rows, labels)
    slack = 1e-6 * exact.primal_objective_
    assert model.dual_objective_ <= exact.primal_objective_ + slack
    assert model.primal_objective_ >= exact.dual_objective_ - slack
    assert model.duality_gap_ >= 0


def test_comes_near_the_optimum_and_knows_it() -> None:
    model = SubgradientSVC(C=0.05).fit(X, Y)
    exact = LinearSVC(loss="hinge", C=0.05, gap_tol=1e-8).fit(X, Y)
    assert model.primal_objective_ < 1.001 * exact.primal_objective_
    assert model.duality_gap_ < 2e-3
    assert model.history_[-1].gap == pytest.approx(model.duality_gap_, rel=1e-6)
    assert model.history_[-1].active == model.trace_[0]["errors"][-1]


def test_lambda_is_the_mean_loss() -> None:
    by_lam, by_cost = (SubgradientSVC(**s).fit(X, Y) for s in (dict(lam=0.1), dict(C=1 / 12)))
    np.testing.assert_array_equal(by_lam.coef_, by_cost.coef_)


def test_weights_are_repetitions() -> None:
    counts = np.random.default_rng(1).integers(0, 3, 120)
    weighted = SubgradientSVC(C=0.1).fit(X, Y, counts)
    repeated = SubgradientSVC(C=0.1).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    assert weighted.trace_[0]["errors"][0] == np.count_nonzero(counts)


def test_more_classes_and_going_on() -> None:
    rows, labels = load_iris(return_X_y=True)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    for kind in ("ovr", "ovo"):
        model = SubgradientSVC(multi_class=kind, C=0.1, tol=1e-5).fit(rows, labels)
        assert model.score(rows, labels) > 0.87
        assert len(model.trace_) == 3
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SubgradientSVC(C=0.1, max_iter=2, warm_start=True).fit(X, Y)
    value = model.primal_objective_
    model.set_params(max_iter=1000).fit(X, Y)
    assert model.trace_[0]["objective"][0] == pytest.approx(value)
    assert model.primal_objective_ < value


def test_limits_and_interrupts_leave_a_certified_model() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(20_000, 30)), rng.integers(0, 2, 20_000)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = SubgradientSVC(tol=1e-12, max_time=0.1, max_iter=-1).fit(rows, labels)
    assert model.status_ is Status.TIME_LIMIT
    assert 0 <= model.dual_objective_ <= model.primal_objective_

    def interrupt(progress: Any) -> None:
        if progress.iterations == 2:
            raise KeyboardInterrupt

    model = SubgradientSVC(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, labels)
    assert model.n_iter_ == 2
    assert model.dual_objective_ <= model.primal_objective_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(C=0.0), "C must be a number in"),
        (dict(tol=0.0), "tol must be a number in"),
        (dict(line_search="wolfe"), "line_search must be one of 'halving', 'armijo'"),
        (dict(multi_class="crammer_singer"), "multi_class must be one of 'ovr', 'ovo'"),
        (dict(trace="yes"), "trace must be True or False"),
    ],
)
def test_errors_name_the_argument(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SubgradientSVC(**settings).fit(X, Y)


def test_huge_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        SubgradientSVC().fit(X * 1e200, Y)
