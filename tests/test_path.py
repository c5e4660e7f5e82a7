"""The exact path over C: its machines are those that SVC fits, and every one is certified."""

import os
import signal

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, Status, svm_path
from widemargin.backends.cpu import CpuPath, Side
from widemargin.backends.cpu.elbow import Elbow

X, Y = make_moons(90, noise=0.3, random_state=0)
LINEAR, LINEAR_Y = make_classification(80, 5, flip_y=0.2, random_state=1)
EPSILON = np.finfo(np.float64).eps


def log_uniform(low, high, count, seed=0):
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), count))


def worst_gap(path, C):
    """Return the largest gap as a multiple of what is promised, rounding included.

    Rounding changes each output by a share of its terms, which counts times the room of a
    multiplier that is not at its bound.
    """
    worst = 0.0
    for c in C:
        fitted = path.estimator(c)
        machine = fitted.machines_[0]
        K = fitted.kernel_(path._data.X, path._data.X)
        outputs = 32 * EPSILON * np.abs(K).max() * np.linalg.norm(machine.coefficients)
        room = c * path._record.costs[path._record.sides(c) == Side.EDGE]
        rounding = outputs * (room.sum() + room.max(initial=0.0)) / fitted.dual_objective_
        assert abs(machine.coefficients.sum()) <= 1e-12 * c * path._record.costs.sum()
        worst = max(worst, fitted.duality_gap_ / (1e-9 + rounding))
    return worst


# --- known answers -------------------------------------------------------------------------------


def test_textbook_example():
    """Four points: from C = 1/2 on the margin is hard; below 5/16 the second row pulls too.

    Up to C = 1/10 all rows pull alike, so the weights are C times the sum of y x = (2, -5).
    """
    rows, labels = [[1, 2], [-1, 2], [-1, -2], [3, 1]], [-1, -1, 1, 1]
    path = svm_path(rows, labels, kernel="linear", C_max=float("inf"))
    np.testing.assert_allclose(path.C, [1 / 10, 3 / 16, 5 / 16, 1 / 2], rtol=1e-14)
    for C, alpha, w in [
        (0.05, [0.05] * 4, [0.1, -0.25]),
        (1 / 10, [1 / 10] * 4, [0.2, -0.5]),
        (5 / 16, [5 / 16, 0, 1 / 16, 1 / 4], [3 / 8, -1 / 2]),
        (1 / 2, [1 / 2, 0, 1 / 10, 2 / 5], [3 / 5, -4 / 5]),
        (7.0, [1 / 2, 0, 1 / 10, 2 / 5], [3 / 5, -4 / 5]),
    ]:
        np.testing.assert_allclose(path.alpha(C), alpha, atol=1e-14)
        np.testing.assert_allclose(path.estimator(C).coef_[0], w, atol=1e-14)
    assert path.bias(5 / 16) == pytest.approx(3 / 8)
    hard = SVC(C=float("inf"), kernel="linear").fit(rows, labels)
    np.testing.assert_allclose(path.estimator(1e3).coef_, hard.coef_, atol=1e-9)


def test_below_the_first_breakpoint_the_machine_compares_class_means():
    rows = np.vstack([LINEAR[k == LINEAR_Y][:30] for k in (0, 1)])
    labels = np.repeat([0, 1], 30)
    path = svm_path(rows, labels, kernel="linear")
    direction = rows[30:].mean(axis=0) - rows[:30].mean(axis=0)
    first = path.C[0]
    for C in (first / 100, first / 3, first * (1 - 1e-9)):
        np.testing.assert_allclose(path.estimator(C).coef_[0], 30 * C * direction, rtol=1e-9)
        np.testing.assert_allclose(path.alpha(C), C, rtol=1e-12)
        assert path.gap(C) < 1e-12
    assert path.alpha(first * 1.01).min() < first * 1.009
    fitted = SVC(C=first / 2, kernel="linear", tol=1e-8).fit(rows, labels)
    np.testing.assert_allclose(fitted.coef_[0], 15 * first * direction, rtol=1e-6)


CASES = {
    "rbf": (X, Y, {}, None),
    "linear": (LINEAR, LINEAR_Y, {"kernel": "linear"}, None),
    "sparse": (sparse.csr_matrix(LINEAR.clip(0)), LINEAR_Y, {"kernel": "linear"}, None),
    "poly": (X, Y, {"kernel": "poly", "coef0": 1.0}, None),
    "weights": (X, Y, {}, np.random.default_rng(0).integers(0, 3, 90)),
    "class weights": (X, Y, {"class_weight": {0: 5.0, 1: 0.3}}, None),
    "balanced": (X[20:], Y[20:], {"class_weight": "balanced"}, None),
    "names": (X, np.where(Y == 0, "yes", "no"), {"gamma": 3.0}, None),
    "few of one": (X[np.r_[np.flatnonzero(Y), 0, 1, 2]], None, {}, None),
}


@pytest.mark.parametrize("name", CASES)
def test_machines_are_those_of_svc(name):
    rows, labels, settings, weights = CASES[name]
    labels = Y[np.r_[np.flatnonzero(Y), 0, 1, 2]] if labels is None else labels
    path = svm_path(rows, labels, weights, **settings)
    assert path.status is Status.CONVERGED
    for C in log_uniform(path.C[0] * 1.01, 1e3, 6):  # below, the bias may be undetermined
        fitted = SVC(C=C, tol=1e-9, precision="float64", **settings)
        fitted.fit(rows, labels, sample_weight=weights)
        here = path.estimator(C)
        assert here.dual_objective_ == pytest.approx(fitted.dual_objective_, rel=1e-8)
        assert here.primal_objective_ == pytest.approx(fitted.primal_objective_, rel=1e-8)
        mine, theirs = here.decision_function(rows), fitted.decision_function(rows)
        np.testing.assert_allclose(mine, theirs, atol=1e-5)
        assert path.bias(C) == pytest.approx(fitted.intercept_[0], abs=1e-5)
        wrong = np.mean((theirs > 0) != (labels == fitted.classes_[1]))
        if weights is None:
            assert path.error(C) == pytest.approx(wrong)
        assert path.error(C, rows, labels) == pytest.approx(wrong)


def test_between_breakpoints_multipliers_are_linear():
    path = svm_path(X, Y)
    knots = path.C[:: path.C.size // 12]
    for low in knots[:-1]:
        high = path.C[np.searchsorted(path.C, low) + 1]
        for share in (0.25, 0.8):
            C = low + share * (high - low)
            expected = (1 - share) * path.alpha(low) + share * path.alpha(high)
            np.testing.assert_allclose(path.alpha(C), expected, atol=1e-9 * C)


def test_every_breakpoint_bends_the_path():
    path = svm_path(LINEAR, LINEAR_Y, kernel="linear", C_max=10.0)
    ends = np.concatenate([[path.C[0] / 2], path.C, [10.0]])
    for left, C, right in zip(ends[:-2], ends[1:-1], ends[2:], strict=True):
        before = (path.alpha(C) - path.alpha((left + C) / 2)) / (C - left)
        after = (path.alpha((C + right) / 2) - path.alpha(C)) / (right - C)
        assert np.abs(after - before).max() > 1e-6


# --- degenerate data -----------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_degenerate_data(data):
    """Rows on a grid repeat, contradict and depend on one another; many events coincide."""
    draw, columns = data.draw, data.draw(st.integers(1, 3))
    count = draw(st.integers(2, 24))
    cell = st.lists(st.integers(0, 2), min_size=columns, max_size=columns)
    rows = np.array(draw(st.lists(cell, min_size=count, max_size=count)), dtype=float)
    labels = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    labels[0], labels[-1] = False, True
    weights = draw(st.lists(st.sampled_from([0.5, 1, 2]), min_size=count, max_size=count))
    kernel = draw(st.sampled_from(["linear", "poly", "rbf"]))
    path = svm_path(rows, labels, weights, kernel=kernel, C_max=1e3)
    assert path.status is Status.CONVERGED
    C = [*path.C, *log_uniform(1e-4, 1e3, 4, seed=count)]
    assert worst_gap(path, C) <= 1.0


def test_a_weight_of_two_is_a_repeated_row():
    once = svm_path(X, Y, np.where(np.arange(90) < 30, 2.0, 1.0), gamma=1.0)
    twice = svm_path(np.vstack([X, X[:30]]), np.append(Y, Y[:30]), gamma=1.0)
    for C in log_uniform(1e-2, 1e3, 5):
        a, b = once.estimator(C), twice.estimator(C)
        assert a.dual_objective_ == pytest.approx(b.dual_objective_, rel=1e-10)


def test_far_from_the_origin():
    near = svm_path(LINEAR, LINEAR_Y, kernel="linear", C_max=100.0)
    far = svm_path(LINEAR + 1000.0, LINEAR_Y, kernel="linear", C_max=100.0)
    np.testing.assert_allclose(far.C, near.C, rtol=1e-6)
    further = svm_path(LINEAR + 1e6, LINEAR_Y, kernel="linear", C_max=100.0)
    assert further.status is Status.CONVERGED
    for C in log_uniform(1e-2, 1e2, 5):
        machine = further.estimator(C)
        assert machine.duality_gap_ < 1e-9
        np.testing.assert_allclose(
            machine.decision_function(LINEAR + 1e6),
            near.estimator(C).decision_function(LINEAR),
            atol=1e-5,
        )


def test_the_last_piece_has_no_end_and_is_certified_for_any_cost():
    path = svm_path(X, Y, gamma=10.0, C_max=float("inf"))
    assert path.complete
    assert path.largest_C == np.inf
    assert "known for every C" in repr(path)
    assert np.isfinite(path.C).all()
    assert max(path.gap(C) for C in path.C[-1] * np.array([1.0, 2.0, 1e3, 1e9, 1e15])) < 1e-8
    assert not svm_path(X, Y, C_max=1.0).complete


@pytest.mark.parametrize("size", [1e-3, 1e3, 1e6])  # kernel values up to 1e40
def test_kernel_values_of_any_size(size: float):
    kernel = dict(kernel="poly", degree=3, gamma=1.0)
    known = svm_path(X, Y, C_max=1e5, **kernel)
    path = svm_path(X * size, Y, C_max=1e5 / size**6, **kernel)
    for C in log_uniform(1e-5, 1e5, 7):
        assert path.gap(C / size**6) < 1e-9
        np.testing.assert_allclose(path.alpha(C / size**6) * size**6, known.alpha(C), atol=1e-6 * C)


def test_rounding_that_hides_the_path_is_told():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    with pytest.warns(
        ConvergenceWarning, match="rounding has left a relative gap far above gap_tol"
    ):
        path = svm_path(rows, rng.integers(0, 2, 60), gamma=1e-4, C_max=float("inf"))
    assert path.status is Status.ROUNDED
    assert path.worst_gap > 1e-6
    assert path.worst_gap >= path.gap(path.C[-1]) * (1 - 1e-9)


def test_nothing_ever_changes_where_the_means_coincide():
    path = svm_path([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1], C_max=float("inf"))
    assert path.C.size == 0
    assert path.largest_C == np.inf
    np.testing.assert_allclose(path.alpha(3.0), 3.0)
    assert path.gap(3.0) == 0.0


def test_a_path_that_lost_its_way_is_found_again(monkeypatch):
    """Rows that are put into the wrong set are not what computing anew from the sets repairs."""
    solved, lost, exchange, solve = [], [], CpuPath.exchange, CpuPath.solve_anew

    def lose(self):
        exchange(self)
        if self.C > 1.0 and not lost:
            row = int(np.flatnonzero(self.side == Side.OUTSIDE)[0])
            lost.append(row)
            self._set_side(row, Side.ERROR, True)

    def count(self):
        solved.append(self.C)
        solve(self)

    expected = svm_path(X, Y)
    monkeypatch.setattr(CpuPath, "exchange", lose)
    monkeypatch.setattr(CpuPath, "solve_anew", count)
    path = svm_path(X, Y)
    assert len(solved) == 2  # at the start, and there
    assert path.status is Status.CONVERGED
    assert worst_gap(path, log_uniform(1e-2, 1e3, 20)) <= 1.0
    np.testing.assert_allclose(path.alpha(1e3), expected.alpha(1e3), atol=1e-4)


def test_rows_on_the_margin_come_and_go():
    """Against a dense solver, with rows that depend on others."""
    random = np.random.default_rng(0)
    points = random.normal(size=(20, 6))
    points[10:] = points[:10]
    K = points @ points.T + 1.0
    elbow, inside = Elbow(K.copy(), 1e-14), []
    for step in range(200):
        i = int(random.integers(20))
        if i in inside:
            elbow.remove(i)
            inside.remove(i)
        else:
            combination = elbow.append(i)
            if combination is None:
                inside.append(i)
            else:
                np.testing.assert_allclose(combination @ points[elbow.ids], points[i], atol=1e-9)
                assert combination.sum() == pytest.approx(1.0)
        assert sorted(elbow.ids) == sorted(inside)
        if not inside:
            continue
        values, total = random.normal(size=len(inside)), float(step)
        a, b = elbow.solve(values, total)
        np.testing.assert_allclose(K[np.ix_(elbow.ids, elbow.ids)] @ a + b, values, atol=1e-7)
        assert a.sum() == pytest.approx(total, abs=1e-9)
        np.testing.assert_allclose(elbow.product(a), a @ K[elbow.ids], atol=1e-8)
        np.testing.assert_allclose(elbow.product_of_all(points[:, 0]), K @ points[:, 0], atol=1e-9)


# --- limits and errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        ({"max_iter": 40}, Status.ITERATION_LIMIT),
        ({"callback": lambda progress: progress.iterations >= 40}, Status.STOPPED),
    ],
)
def test_a_stopped_path_is_exact_up_to_where_it_got(limit, status):
    with pytest.warns(ConvergenceWarning, match="known up to C="):
        path = svm_path(X, Y, **limit)
    assert path.status is status
    whole = svm_path(X, Y)
    np.testing.assert_allclose(path.C, whole.C[: path.C.size], rtol=1e-12)
    assert 30 <= path.C.size <= 40
    np.testing.assert_allclose(path.alpha(path.largest_C), whole.alpha(path.largest_C), atol=1e-9)
    with pytest.raises(ValueError, match="C must be at most"):
        path.alpha(path.largest_C * 1.01)


def test_time_limit_and_keyboard():
    with pytest.warns(ConvergenceWarning, match="max_time"):
        assert svm_path(X, Y, max_time=1e-9).status is Status.TIME_LIMIT

    def interrupt(progress):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        svm_path(X, Y, callback=interrupt)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: svm_path(*load_iris(return_X_y=True)), "two classes, found 3"),
        (lambda: svm_path(X, Y, C_max=0), "C_max must be"),
        (lambda: svm_path(X, Y, gap_tol=-1), "gap_tol must be"),
        (lambda: svm_path(X, Y, memory_limit="1KB"), "memory_limit"),
        (lambda: svm_path(X * np.nan, Y), "NaN"),
        (lambda: svm_path(X, Y[:-1]), "inconsistent"),
        (lambda: svm_path(X, Y, kernel="sigmoid", gamma=5.0, coef0=2.0), "semidefinite"),
        (
            lambda: svm_path(X, Y, C_max=1.0).alpha(2.0),
            "C must be at most 1, the C_max that svm_path was given, found 2.0; give svm_path a "
            "larger C_max",
        ),
        (lambda: svm_path(X, Y, C_max=1.0).gap(-1.0), "C must be a number"),
        (lambda: svm_path(X, Y, C_max=1.0).error(1.0, X[:, :1], Y), "features"),
    ],
)
def test_what_is_of_no_use_is_told(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_precomputed_kernel_and_functions():
    plain = svm_path(X, Y, gamma=1.0)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    before = K.copy()
    given = svm_path(K, Y, kernel="precomputed")
    np.testing.assert_array_equal(K, before)
    np.testing.assert_allclose(given.C, plain.C, rtol=1e-6)
    called = svm_path(X, Y, kernel=lambda a, b: np.asarray(a) @ np.asarray(b).T)
    assert called.gap(1.0) < 1e-9


def test_picture_of_a_path():
    path = svm_path(X, Y, C_max=100.0)
    display = path.plot(X, Y)
    assert set(path.C) <= set(display.breakpoints)
    np.testing.assert_allclose(display.shares[5], path.alpha(display.C[5]) / display.C[5])
    np.testing.assert_allclose(display.errors["test"], display.errors["training"])
    assert display.errors["training"][7] == pytest.approx(path.error(display.C[7]))
    nothing = svm_path([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1])
    assert nothing.plot().shares.min() == 1.0
    plt.close("all")
