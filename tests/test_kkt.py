"""Margins and the conditions of the optimum, recomputed here from the definitions."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import SGDClassifier

from widemargin import (
    SVC,
    LinearSVC,
    NearestMeans,
    NuSVC,
    Pegasos,
    Perceptron,
    SubgradientSVC,
    kkt_report,
    margins,
)
from widemargin.kernels import RBF

X, Y = make_classification(90, 4, flip_y=0.15, random_state=2)
SIGNS = np.where(Y == 1, 1.0, -1.0)
IRIS, KINDS = load_iris(return_X_y=True)
IRIS = IRIS + np.random.default_rng(0).normal(scale=0.2, size=IRIS.shape)


# --- margins -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [LinearSVC(loss="hinge"), Perceptron(), NearestMeans(), Pegasos(lam=0.01)]
)
def test_linear_margins_are_distances(model: Any) -> None:
    model.fit(X, Y)
    found = margins(model, X, Y)
    w, b = model.coef_[0], model.intercept_[0]
    np.testing.assert_allclose(found.functional, SIGNS * (X @ w + b), atol=1e-12)
    np.testing.assert_allclose(found.geometric, found.functional / np.linalg.norm(w))
    assert found.width == pytest.approx(2 / np.linalg.norm(w))
    assert found.margin == found.geometric.min()
    errors = int((model.predict(X) != Y).sum())
    assert f"{errors} of 90 rows on the wrong side" in str(found)


def test_kernel_margins_are_distances_in_feature_space() -> None:
    model = SVC(kernel=RBF(0.5)).fit(X, Y)
    found = margins(model, X, Y)
    a = model.dual_coef_[0]
    norm = np.sqrt(a @ RBF(0.5)(model.support_vectors_, model.support_vectors_) @ a)
    np.testing.assert_allclose(found.functional, SIGNS * model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(found.geometric, found.functional / norm, rtol=1e-5)
    assert found.width == pytest.approx(2 / norm, rel=1e-5)


@pytest.mark.parametrize("kind", ["ovo", "ovr", "joint"])
def test_linear_and_kernel_margins_agree(kind: str) -> None:
    names = dict(ovo="ovo", ovr="ovr", joint="crammer_singer")
    kernel = SVC(kernel="linear", multi_class=kind, C=0.5, tol=1e-6).fit(IRIS, KINDS)
    linear = LinearSVC(loss="hinge", multi_class=names[kind], C=0.5, gap_tol=1e-9)
    linear.fit(IRIS, KINDS)
    first, second = margins(kernel, IRIS, KINDS), margins(linear, IRIS, KINDS)
    assert first.width is None
    if kind != "joint":  # whose intercept is penalised in one of them
        np.testing.assert_allclose(first.functional, second.functional, atol=2e-3)
        np.testing.assert_allclose(first.geometric, second.geometric, atol=2e-3)
    if kind != "ovr":
        right = linear.predict(IRIS) == KINDS
        np.testing.assert_array_equal(second.geometric > 0, right)


def test_hard_margin_is_half_the_width() -> None:
    rows, labels = IRIS[:100], KINDS[:100]
    found = margins(SVC(kernel="linear", C=float("inf")).fit(rows, labels), rows, labels)
    assert found.margin == pytest.approx(found.width / 2, rel=1e-4)
    assert found.functional.min() == pytest.approx(1.0, rel=1e-4)


def test_what_has_no_margin_is_told() -> None:
    with pytest.raises(ValueError, match="none of the classes"):
        margins(Perceptron().fit(X, Y), X, Y + 5)
    with pytest.raises(ValueError, match="neither machines_ nor coef_"):
        margins(Pegasos("rbf", lam=0.1).fit(X, Y), X, Y)


# --- the conditions ------------------------------------------------------------------------------


def check_rows_of(part: Any, alpha: Any, margin: Any, bound: Any, tolerance: float = 1e-6) -> None:
    """The residual is the distance from the condition that alpha asks for."""
    np.testing.assert_allclose(part.alpha, alpha, atol=tolerance)
    np.testing.assert_allclose(part.margin, margin, atol=tolerance)
    np.testing.assert_allclose(part.slack, np.maximum(0, 1 - margin), atol=tolerance)
    wanted = np.where(alpha == 0, np.maximum(0, 1 - margin), np.abs(1 - margin))
    wanted = np.where(alpha >= bound * (1 - 1e-12), np.maximum(0, margin - 1), wanted)
    np.testing.assert_allclose(part.residual, wanted, atol=tolerance)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).uniform(0.2, 2, 90)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_conditions_of_a_kernel_machine(kernel: str, weights: Any) -> None:
    model = SVC(kernel=kernel, C=0.7, tol=1e-4).fit(X, Y, weights)
    report = kkt_report(model)
    alpha, (part,) = np.zeros(90), report.machines
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    cost = 0.7 * (np.ones(90) if weights is None else weights)
    order = part.rows
    margin = SIGNS * model.decision_function(X)
    check_rows_of(part, alpha[order], margin[order], cost[order])
    assert part.balance == pytest.approx(abs(model.dual_coef_.sum()), abs=1e-9)
    assert report.optimal
    assert report.violation <= 2e-4
    assert report.gap == pytest.approx(model.duality_gap_, abs=1e-9)
    assert "The conditions hold" in str(report)
    assert part.worst in part.rows


def test_conditions_of_every_pair_and_of_nu() -> None:
    report = kkt_report(SVC(kernel="rbf", tol=1e-4).fit(IRIS, KINDS))
    assert [part.name for part in report.machines] == ["0 against 1", "0 against 2", "1 against 2"]
    assert report.optimal
    rest = kkt_report(SVC(multi_class="ovr", tol=1e-4).fit(IRIS, KINDS))
    assert [part.rows.size for part in rest.machines] == [150, 150, 150]
    assert "the rest" in str(rest)
    assert rest.optimal
    assert kkt_report(NuSVC(tol=1e-6).fit(X, Y), tolerance=1e-2).optimal


@pytest.mark.parametrize("penalised", [False, True])
@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).uniform(0.2, 2, 90)])
def test_conditions_of_a_linear_machine(penalised: bool, weights: Any) -> None:
    model = LinearSVC(loss="hinge", C=0.7, penalize_intercept=penalised, gap_tol=1e-9)
    report = kkt_report(model.fit(X, Y, weights), X, Y, weights)
    (part,), cost = report.machines, 0.7 * (np.ones(90) if weights is None else weights)
    share = np.abs(model.solutions_[0].shares)
    check_rows_of(part, cost * share, SIGNS * model.decision_function(X), cost)
    assert part.stationarity < 1e-4
    assert part.balance < 1e-4
    assert report.optimal


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_conditions_of_many_linear_machines(multi_class: str) -> None:
    model = LinearSVC(loss="hinge", multi_class=multi_class, gap_tol=1e-9, lam=0.01)
    report = kkt_report(model.fit(IRIS, KINDS), IRIS, KINDS)
    assert len(report.machines) == 3
    assert report.optimal


def test_an_unfinished_machine_is_called_so() -> None:
    model = SubgradientSVC(C=1.0, tol=10.0).fit(X, Y)
    report = kkt_report(model, X, Y)
    assert not report.optimal
    assert "The conditions are missed by" in report.verdict
    assert "missed by" in str(report)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_conditions_of_pegasos(kernel: str) -> None:
    model = Pegasos(kernel, lam=0.05, gap_tol=1e-3).fit(X, Y)
    report = kkt_report(model, X, Y, tolerance=0.5)
    (part,) = report.machines
    check_rows_of(part, model.alpha_, SIGNS * model.decision_function(X), 1 / (0.05 * 90))
    assert part.stationarity > 0
    assert report.gap == pytest.approx(model.duality_gap_)
    assert report.violation <= model.kkt_violation_ + part.stationarity + 1e-9


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVC(), "hinge loss"),
        (LinearSVC(loss="hinge", penalty="l1"), "penalty='l1'"),
        (Perceptron(), "support vector classifiers"),
        (SGDClassifier(), "support vector classifiers"),
    ],
)
def test_others_are_told_so(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kkt_report(model.fit(X, Y), X, Y)


def test_rows_are_asked_for_and_joint_machines_refused() -> None:
    with pytest.raises(ValueError, match="keeps no rows"):
        kkt_report(LinearSVC(loss="hinge").fit(X, Y))
    joint = LinearSVC(loss="hinge", multi_class="crammer_singer").fit(IRIS, KINDS)
    with pytest.raises(ValueError, match="one of all classes"):
        kkt_report(joint, IRIS, KINDS)
    with pytest.raises(ValueError, match="one of all classes"):
        kkt_report(SVC(multi_class="joint").fit(IRIS, KINDS))
