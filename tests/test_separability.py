"""Separability is decided with a proof, and the hard margin is exact or refused with one."""

import _thread
import pickle
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from widemargin import (
    SVC,
    LinearSVC,
    NotSeparableError,
    kkt_report,
    linear_separability,
    load,
    margins,
    save,
    to_sklearn,
)
from widemargin.estimators import separability
from widemargin.kernels import Polynomial

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])


def check_proof(found: separability.Separability, X: np.ndarray, signs: np.ndarray) -> None:
    if found.separable:
        values = signs * (X @ found.coef + found.intercept)
        assert values.min() > 0
        assert found.margin == pytest.approx(values.min() / np.linalg.norm(found.coef), rel=1e-6)
        assert found.weights is None
    else:
        for side in (1, -1):
            assert found.weights[signs == side].sum() == pytest.approx(1.0)
        assert found.weights.min() >= 0
        difference = (signs * found.weights) @ X
        np.testing.assert_allclose(difference, 0, atol=1e-9 * max(1.0, abs(X).max()))


@given(st.integers(0, 10_000), st.integers(2, 14), st.integers(1, 4), st.booleans())
def test_every_answer_is_proven(seed: int, rows: int, features: int, whole: bool) -> None:
    """Small whole numbers make many ties: hulls that just touch, repeated rows, flat data."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (rows, features)).astype(float) if whole else rng.normal(
        size=(rows, features)
    )  # fmt: skip
    signs = rng.permutation(np.where(np.arange(rows) < max(1, rows // 2), 1, -1))
    found = linear_separability(X, signs)
    assert found.exact
    check_proof(found, X, signs)
    # The rational simplex method, which decides what floating point leaves open, agrees.
    exact = separability._rational_simplex(X, signs.astype(float))
    assert exact.separable == found.separable
    check_proof(exact, X, signs)


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-12, 0.0, -1e-12, -1e-9])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_hulls_that_nearly_touch(gap: float, storage) -> None:
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(30, 3)), np.where(np.arange(30) < 15, 1, -1)
    X[:, 0] = signs * abs(X[:, 0])
    X[0], X[15] = [gap, 0.5, 0.25], [-gap, 0.5, 0.25]
    found = linear_separability(storage(X), signs)
    assert found.exact
    assert found.separable == (gap > 0)
    check_proof(found, X, signs)


def test_weights_are_those_of_rational_numbers() -> None:
    """The mean of 1/3 and 2/3 of two rows is a third row, whatever floats make of it."""
    a, b = Fraction(0.1), Fraction(0.7)
    X = np.array([[0.1], [0.7], [float((a + 2 * b) / 3)]])
    found = linear_separability(X, [0, 0, 1])
    assert not found.separable
    assert found.exact
    assert "row" in str(found)


def test_scale_of_columns_does_not_matter() -> None:
    X, y = XOR * [1e-150, 1e150], [0, 1, 1, 1]
    found = linear_separability(X, y)
    assert found.separable
    assert found.exact
    assert "at a distance" in str(found)


def test_larger_data_and_three_classes() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 200))
    y = rng.integers(0, 2, 400)
    assert linear_separability(X[:200], y[:200]).separable  # fewer rows than coordinates
    assert not linear_separability(rng.normal(size=(800, 20)), rng.integers(0, 2, 800)).separable
    with pytest.raises(ValueError, match="y must hold two classes, found 3"):
        linear_separability(X, np.arange(400) % 3)


# --- the hard margin -----------------------------------------------------------------------------


def separated(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(rows) % 2, 1, -1)
    return rng.normal(size=(rows, 2)) + 3 * signs[:, None], signs


@pytest.mark.parametrize("seed", range(4))
def test_hard_margin_is_the_limit_of_soft_margins(seed: int) -> None:
    X, y = separated(100, seed)
    hard = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(X, y)
    soft = SVC(C=1e6, kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(hard.coef_, soft.coef_, rtol=1e-4)
    np.testing.assert_allclose(hard.intercept_, soft.intercept_, atol=1e-4)
    margins = y * hard.decision_function(X)
    assert margins.min() == pytest.approx(1.0, abs=1e-6)
    assert hard.duality_gap_ < 1e-8
    # No hyperplane that the linear program finds is further from its nearest row.
    assert linear_separability(X, y).margin <= 1 / np.linalg.norm(hard.coef_) * (1 + 1e-6)


def test_two_rows() -> None:
    model = SVC(C=np.inf, kernel="linear").fit([[1.0, 2.0], [4.0, 6.0]], ["a", "b"])
    np.testing.assert_allclose(model.coef_, [[2 * 3 / 25, 2 * 4 / 25]])
    np.testing.assert_allclose(model.decision_function([[1.0, 2.0], [4.0, 6.0]]), [-1, 1])


def test_support_vectors_alone_give_the_same_machine() -> None:
    X, y = separated(200)
    model = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(X, y)
    again = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(X[model.support_], y[model.support_])
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-6)
    assert len(model.support_) < 10


def test_overlap_is_refused_with_rows_whose_means_coincide() -> None:
    with pytest.raises(NotSeparableError, match="cannot be separated") as caught:
        SVC(C=np.inf, kernel="linear", solver="smo").fit(XOR, [0, 0, 1, 1])
    for part in ("0.5 of row 0", "0.5 of row 1", "0.5 of row 2", "0.5 of row 3", "class 0"):
        assert part in str(caught.value)
    with pytest.raises(NotSeparableError, match=r"rows 0 \(0.5\), 1 \(0.5\)") as caught:
        SVC(C=np.inf, kernel="linear").fit(XOR, [0, 0, 1, 1])
    again = pickle.loads(pickle.dumps(caught.value))
    np.testing.assert_array_equal(again.rows, range(4))
    np.testing.assert_array_equal(again.weights, 0.5)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    with pytest.raises(ValueError, match="needs a finite C"):
        SVC(C=np.inf, multi_class="joint").fit(X, y)


def test_any_distinct_rows_are_separable_in_a_feature_space() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    assert not linear_separability(X, y).separable
    model = SVC(C=np.inf, gamma=5.0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert (np.where(y == 1, 1, -1) * model.decision_function(X)).min() > 0.99


@pytest.mark.parametrize("kind", ["ovo", "ovr"])
@pytest.mark.parametrize("make", [SVC, LinearSVC])
def test_the_error_carries_a_point_of_both_hulls(make: type, kind: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    model = make(C=np.inf, multi_class=kind)
    with pytest.raises(NotSeparableError) as caught:
        (model.set_params(kernel="linear") if make is SVC else model).fit(X, y)
    rows, weights = caught.value.rows, caught.value.weights
    assert (weights > 0).all()
    labels = np.unique(y[rows])
    assert kind == "ovr" or len(labels) == 2
    alone = [label for label in labels if np.isclose(weights[y[rows] == label].sum(), 1.0)]
    first = y[rows] == alone[0]
    assert weights[~first].sum() == pytest.approx(1.0)
    means = [weights[side] @ X[rows[side]] for side in (first, ~first)]
    np.testing.assert_allclose(means[0], means[1], atol=1e-12)


UNEVEN = 10.0 ** np.linspace(-6, 6, 7)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("scale", "offset"),
    [(np.ones(7), 0.0), (np.ones(7), 1e6), (UNEVEN, 0.0), (UNEVEN, 1e6), (UNEVEN[::-1], -3e5)],
)
def test_the_hard_margin_is_exact_at_any_scale_and_place(storage, scale, offset) -> None:
    X, y = spread_rows(0, 300, scale, 0.3)
    if storage is not np.asarray and offset:
        return  # such rows are not sparse, and only dense ones can be moved
    X = X + offset
    model = SVC(kernel="linear", C=np.inf).fit(storage(X), y)
    assert model.status_.converged
    assert model.duality_gap_ < 1e-6
    exact = X.astype(np.longdouble) - X[0]  # subtraction of near numbers rounds nothing
    w = np.asarray(sparse.csr_array(model.coef_).toarray()[0], dtype=np.longdouble)
    f = exact @ w
    width = (f[y > 0].min() - f[y < 0].max()) / np.sqrt(w @ w)
    assert width == pytest.approx(model.margin_width_, rel=1e-6)
    # Points of the hulls that are hardly further apart prove that there is no wider street.
    dual = np.asarray(sparse.csr_array(model.dual_coef_).toarray()[0])
    signs = y[model.support_]
    assert (dual * signs > 0).all()
    halves = [dual[signs == s] / dual[signs == s].sum() for s in (1, -1)]
    points = [h @ exact[model.support_[signs == s]] for h, s in zip(halves, (1, -1), strict=True)]
    apart = np.sqrt(((points[0] - points[1]) ** 2).sum())
    assert width <= apart <= width * (1 + 1e-6)
    least = 1 - 1e-6 if offset == 0 or scale[0] == 1 else 0.99  # w.x alone has 13 digits
    assert (y * model.decision_function(storage(X))).min() > least


def test_weights_beyond_the_digits_of_coefficients_are_kept_and_not_written_wrongly(tmp_path):
    X, y = spread_rows(0, 300, UNEVEN, 0.3)
    model = SVC(kernel="linear", C=np.inf).fit(X, y)
    wanted = model.decision_function(X)
    save(model, tmp_path / "model.wm")
    for again in (load(tmp_path / "model.wm"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.decision_function(X), wanted)
    for refuse in (to_sklearn, lambda m: save(m, tmp_path / "m", format="libsvm")):
        with pytest.raises(ValueError, match="do not carry the weights of this hard margin"):
            refuse(model)
    even = SVC(kernel="linear", C=np.inf).fit(X / UNEVEN, y)
    np.testing.assert_allclose(
        to_sklearn(even).decision_function(X / UNEVEN), even.decision_function(X / UNEVEN)
    )
    assert kkt_report(even).optimal


@pytest.mark.parametrize("kind", ["ovo", "ovr"])
def test_many_classes_have_the_same_hard_margins_by_weights_and_by_kernel(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 4)) + 6 * np.eye(4)[k] for k in range(3)])
    y = np.repeat(["a", "b", "c"], 20)
    found = [
        SVC(kernel="linear", C=np.inf, multi_class=kind, tol=1e-8, solver=solver).fit(X, y)
        for solver in ("auto", "smo")
    ]
    for name in ("coef_", "intercept_", "margin_width_"):
        values = [getattr(model, name) for model in found]
        np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(*[m.decision_function(X) for m in found], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e3])
def test_a_margin_of_kernel_values_of_any_size_is_certified(size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.where(X @ [1, 2, -1] + 0.3 * X[:, 0] ** 2 > 0.2, 1, -1)
    model = SVC(C=np.inf, kernel=Polynomial(degree=3, gamma=1.0, coef0=size**2)).fit(X * size, y)
    assert model.status_.converged
    assert model.duality_gap_ < 1e-5
    assert (y * model.decision_function(X * size)).min() > 0.999


def test_rounded_kernel_values_are_certified_or_refused() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.integers(0, 2, 150)
    with pytest.raises(NotSeparableError, match="by these kernel values: in feature space"):
        SVC(C=np.inf, gamma=1e-9).fit(X, y)
    twice = np.vstack([X, X + 1e-9 * rng.normal(size=X.shape)])
    with pytest.raises(NotSeparableError, match="by these kernel values: in feature space"):
        SVC(C=np.inf, gamma=1.0).fit(twice, np.append(y, 1 - y))
    with pytest.raises(ValueError, match="the kernel is not positive semidefinite"):
        SVC(C=np.inf, kernel="sigmoid", gamma=0.5, coef0=0.1).fit(X, y)


# --- the hard margin of linear machines ----------------------------------------------------------


def spread_rows(
    seed: int, rows: int, scale: np.ndarray, room: float
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, scale.size))
    f = X @ rng.normal(size=scale.size)
    keep = np.abs(f) > room
    return X[keep] * scale, np.where(f[keep] > 0, 1, -1)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [np.ones(5), np.array([1e-6, 1, 1e3, 1e6, 1e-3])])
def test_linear_hard_margin_is_certified_at_any_scale(storage, scale: np.ndarray) -> None:
    X, y = spread_rows(0, 200, scale, 0.3)
    model = LinearSVC(loss="hinge", C=float("inf")).fit(storage(X), y)
    assert model.duality_gap_ <= 1e-5
    found = margins(model, X, y)
    assert found.functional.min() == pytest.approx(1.0, abs=1e-7)
    assert found.margin >= linear_separability(X, y).margin * (1 - 1e-9)
    # The dual point proves that no hyperplane does better.
    shares = model.solutions_[0].shares
    assert (shares * y >= 0).all()


def test_linear_and_kernel_hard_margins_agree() -> None:
    X, y = spread_rows(1, 300, np.ones(3), 0.2)
    kernel = SVC(kernel="linear", C=float("inf"), tol=1e-8).fit(X, y)
    linear = LinearSVC(loss="hinge", C=float("inf")).fit(X, y)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, rtol=1e-3)
    assert margins(linear, X, y).margin == pytest.approx(kernel.margin_width_ / 2, rel=1e-5)


def test_a_margin_that_is_small_beside_the_spread_is_found_by_both() -> None:
    X, y = spread_rows(2, 2000, np.ones(20), 0.05)
    for model in (SVC(kernel="linear", C=float("inf")), LinearSVC(loss="hinge", C=float("inf"))):
        assert margins(model.fit(X, y), X, y).margin > 0.01


@pytest.mark.parametrize("bias", [dict(), dict(fit_intercept=False), dict(penalize_intercept=True)])
def test_linear_hard_margin_is_refused_with_a_proof(bias: dict) -> None:
    rows = np.vstack([XOR - 0.5, [[9.0, 9.0]]])
    weights = [1, 1, 1, 1, 0]
    with pytest.raises(ValueError, match="with the weights in brackets, rows 0"):
        LinearSVC(loss="hinge", C=float("inf"), **bias).fit(rows, [0, 0, 1, 1, 1], weights)


def test_without_an_intercept_the_origin_counts() -> None:
    X, y = [[1.0, 0.5], [2.0, 0.5], [3.0, 1.0]], [0, 0, 1]
    hard = dict(loss="hinge", C=float("inf"))
    assert LinearSVC(**hard).fit(X, y).score(X, y) == 1.0
    with pytest.raises(ValueError, match="mirror images"):
        LinearSVC(fit_intercept=False, **hard).fit([[1.0], [2.0]], [0, 1])
    through = LinearSVC(fit_intercept=False, **hard).fit([[-2.0], [4.0]], [0, 1])
    assert through.coef_[0, 0] == pytest.approx(0.5)


def test_hard_margins_of_many_classes() -> None:
    X = np.array([[0.0, 0], [0, 1], [5, 0], [5, 1], [0, 9], [1, 9]])
    y = [0, 0, 1, 1, 2, 2]
    for kind in ("ovo", "ovr"):
        model = LinearSVC(loss="hinge", C=float("inf"), multi_class=kind).fit(X, y)
        assert model.score(X, y) == 1.0


def test_hinges_and_their_squares_have_one_hard_margin() -> None:
    X, y = [[0.0, 1.0], [1.0, 0.0], [3.0, 3.0], [4.0, 2.5]], [0, 0, 1, 1]
    squared, plain = (
        LinearSVC(loss=loss, C=float("inf")).fit(X, y) for loss in ("squared_hinge", "hinge")
    )
    np.testing.assert_array_equal(squared.coef_, plain.coef_)
    assert squared.duality_gap_ < 1e-8


@pytest.mark.parametrize("settings", [dict(loss="logistic"), dict(loss="hinge", penalty="l1")])
def test_hard_margins_need_a_hinge_and_a_squared_penalty(settings: dict) -> None:
    with pytest.raises(
        ValueError, match="C=inf needs loss='hinge' or 'squared_hinge', penalty='l2'"
    ):
        LinearSVC(C=float("inf"), **settings).fit(XOR, [0, 1, 1, 1])


@pytest.mark.parametrize(
    "model",
    [LinearSVC(C=np.inf, max_time=0.1), SVC(kernel="linear", C=np.inf, max_time=0.1)],
    ids=["LinearSVC", "SVC"],
)
def test_a_long_linear_program_heeds_the_time_limit_and_ctrl_c(model) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 300))
    normal = rng.normal(size=300) / np.sqrt(300)
    y = np.sign(X @ normal)
    X += 0.1 * y[:, None] * normal
    X[:, 0] *= 1e5  # which sends SVC there too
    with pytest.raises(TimeoutError, match="max_time"):
        model.fit(X, y)
    sent = [0.0]

    def interrupt() -> None:
        sent[0] = time.perf_counter()
        _thread.interrupt_main()

    threading.Timer(0.3, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        clone(model).set_params(max_time=3.0).fit(X, y)
    assert time.perf_counter() - sent[0] < 1.0  # half a second, and as much for a busy machine
