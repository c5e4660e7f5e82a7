"""LIBLINEAR at tight tolerance, and a general solver of quadratic programs, agree with us."""

import ctypes

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from liblinear.liblinear import liblinear, parameter, problem
from linear_cases import LOSSES, PENALTIES, classes, naive_objective, numbers, solve
from scipy.optimize import minimize
from sklearn import linear_model, svm
from sklearn.datasets import load_iris

from widemargin import SVC, LinearOneClassSVM, LinearSVC, LinearSVR, LogisticRegression
from widemargin.problem import LinearProblem

TIGHT = 1e-10
C, EPSILON, NU = 0.5, 0.2, 0.3
TOLERANT = {4: 1e-9, 21: 1e-9}  # the last digits cost them too long

# LIBLINEAR's -s, and what it minimises here.
TYPES = {
    0: (LogisticRegression, {}, "logistic", "l2"),
    1: (LinearSVC, {}, "squared_hinge", "l2"),
    2: (LinearSVC, {}, "squared_hinge", "l2"),
    3: (LinearSVC, {"loss": "hinge"}, "hinge", "l2"),
    5: (LinearSVC, {"penalty": "l1"}, "squared_hinge", "l1"),
    6: (LogisticRegression, {"penalty": "l1"}, "logistic", "l1"),
    7: (LogisticRegression, {}, "logistic", "l2"),
    11: (LinearSVR, {"loss": "squared_epsilon_insensitive"}, "squared_insensitive", "l2"),
    12: (LinearSVR, {"loss": "squared_epsilon_insensitive"}, "squared_insensitive", "l2"),
    13: (LinearSVR, {}, "insensitive", "l2"),
}  # fmt: skip
COSTS = {3: 0.02, 13: 0.02}  # its 300 epochs are not enough for more
UNPENALISED = (0, 2, 5, 6, 11)  # those that know -R


def theirs(X, y, options):
    """Return weights and bias that LIBLINEAR itself finds, machines in rows."""
    bias = 1.0 if "-B 1" in options else -1.0
    rows = problem(y, sp.csr_matrix(X), bias=bias)
    model = liblinear.train(rows, parameter(f"{options} -q"))
    contents = model.contents
    machines = contents.nr_class if contents.param.solver_type == 4 else 1
    w = np.ctypeslib.as_array(contents.w, (rows.n * machines,)).copy().reshape(rows.n, machines).T
    if contents.param.solver_type < 10 and machines == 1 and contents.label[0] != 1:
        w = -w
    assert ctypes.sizeof(ctypes.c_double) == 8
    return (w[:, :-1], w[:, -1]) if bias > 0 else (w, np.zeros(machines))


def objective(X, t, loss, penalty, w, b, bias, cost):
    """The naive objective; `bias` is "penalised" or "free"."""
    l1, l2 = PENALTIES[penalty]
    penalised = bias == "penalised"
    stated = LinearProblem(
        LOSSES[loss], t, np.full(t.size, cost), l1=l1, l2=l2, bias_l1=l1 * penalised,
        bias_l2=l2 * penalised,
    )  # fmt: skip
    return naive_objective((X, stated), loss, w, b)


CASES = [(kind, bias) for kind in TYPES for bias in ("none", "penalised", "free")
         if bias != "free" or kind in UNPENALISED]  # fmt: skip


@pytest.mark.parametrize(("kind", "bias"), CASES)
def test_objective_of_every_type_is_that_of_liblinear(kind, bias):
    make, more, loss, penalty = TYPES[kind]
    X, t = numbers(150, 5) if kind > 10 else classes(150, 5)
    cost = COSTS.get(kind, C)
    options = {"none": "", "penalised": " -B 1", "free": " -B 1 -R"}[bias]
    w, b = theirs(X, t, f"-s {kind} -c {cost} -p {EPSILON} -e {TIGHT}{options}")
    more = more | ({"epsilon": EPSILON} if kind > 10 else {})
    model = make(
        C=cost, gap_tol=1e-9, fit_intercept=bias != "none", penalize_intercept=bias == "penalised",
        **more,
    )  # fmt: skip
    model.fit(X, t)
    ours = objective(
        X, t, loss, penalty, np.ravel(model.coef_), float(model.intercept_[0]), bias, cost
    )
    assert model.primal_objective_ == pytest.approx(ours, rel=1e-12)
    assert ours == pytest.approx(objective(X, t, loss, penalty, w[0], b[0], bias, cost), rel=1e-7)


@pytest.mark.parametrize("bias", [False, True])
def test_joint_classes_are_those_of_liblinear(bias):
    X, y = load_iris(return_X_y=True)
    w, b = theirs(X, y, f"-s 4 -c {C} -e {TOLERANT[4]}" + " -B 1" * bias)
    model = LinearSVC(
        multi_class="crammer_singer", loss="hinge", C=C, gap_tol=1e-9, fit_intercept=bias,
        penalize_intercept=True,
    ).fit(X, y)  # fmt: skip

    def value(W, B):
        f = X @ W.T + B
        own = f[np.arange(y.size), y]
        worst = (f + 1.0 - np.eye(3)[y]).max(axis=1) - own
        return 0.5 * ((W**2).sum() + (B**2).sum()) + C * worst.sum()

    assert value(model.coef_, model.intercept_) == pytest.approx(value(w, b), rel=1e-7)
    assert model.primal_objective_ == pytest.approx(value(w, b), rel=1e-7)


def test_one_class_is_that_of_liblinear():
    X = classes(150, 5)[0] + 2.0
    rows = problem(np.ones(150), sp.csr_matrix(X))
    model = liblinear.train(rows, parameter(f"-s 21 -n {NU} -e {TOLERANT[21]} -q"))
    w = np.ctypeslib.as_array(model.contents.w, (5,)).copy()
    ours = LinearOneClassSVM(nu=NU, gap_tol=1e-10).fit(X)

    def value(w, rho):
        return 0.5 * w @ w - NU * 150 * rho + np.maximum(0.0, rho - X @ w).sum()

    assert value(ours.coef_, ours.offset_[0]) == pytest.approx(
        value(w, model.contents.rho), rel=1e-7
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scaling", [0.5, 1.0, 10.0])
def test_scaled_intercept_is_that_of_scikit_learn(loss, scaling):
    X, y = classes(150, 5)
    more = dict(loss=loss, C=C, intercept_scaling=scaling)
    ours = LinearSVC(**more, penalize_intercept=True, gap_tol=1e-10).fit(X, y)
    their = svm.LinearSVC(**more, tol=1e-8, max_iter=10**7, dual=True).fit(X, y)
    np.testing.assert_allclose(ours.coef_, their.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, their.intercept_, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*penalty:FutureWarning")  # it had to be named before 1.8
def test_elastic_net_is_that_of_scikit_learn():
    X, y = classes(150, 8)
    ours = LogisticRegression(penalty="elasticnet", l1_ratio=0.4, C=0.1, gap_tol=1e-10).fit(X, y)
    their = linear_model.LogisticRegression(
        penalty="elasticnet", l1_ratio=0.4, C=0.1, solver="saga", tol=1e-9, max_iter=20000
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, their.coef_, atol=1e-4)


def test_lambda_is_another_way_to_say_cost():
    X, y = classes(200, 5)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 200)
    a = LinearSVC(lam=0.03, gap_tol=1e-9).fit(X, y, weights)
    b = LinearSVC(C=1 / (0.03 * weights.sum()), gap_tol=1e-9).fit(X, y, weights)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)


@pytest.mark.parametrize("cost", [0.01, 1.0, 100.0])
def test_hinge_is_the_kernel_machine_with_a_linear_kernel(cost):
    X, y = classes(200, 5)
    line = LinearSVC(loss="hinge", C=cost, gap_tol=1e-8).fit(X, y)
    kernel = SVC(kernel="linear", C=cost, gap_tol=1e-8, tol=1e-9).fit(X, y)
    assert line.primal_objective_ == pytest.approx(kernel.primal_objective_, rel=1e-6)


def quadratic_program(X, t, name, costs, l1, l2):
    """Solve by SLSQP in w = p - q, b and slacks: linear constraints, a quadratic objective."""
    n, d = X.shape
    kinked, two_sided = "squared" not in name, "insensitive" in name
    signs = [(np.ones(n), t - 0.2), (-np.ones(n), -t - 0.2)] if two_sided else [(t, np.ones(n))]

    def split(z):
        return z[:d] - z[d : 2 * d], z[2 * d], z[2 * d + 1 :]

    def value(z):
        w, _, slack = split(z)
        loss = slack if kinked else slack**2
        return l1 * z[: 2 * d].sum() + 0.5 * l2 * w @ w + costs @ loss

    limits = [
        {"type": "ineq",
         "fun": lambda z, s=s, a=a: s * (X @ split(z)[0] + split(z)[1]) - a + split(z)[2]}
        for s, a in signs
    ]  # fmt: skip
    start = np.concatenate([np.zeros(2 * d + 1), np.abs(t) + 1.0])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    return minimize(
        value, start, method="SLSQP", bounds=bounds, constraints=limits,
        options={"ftol": 1e-13, "maxiter": 500},
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 10),
    d=st.integers(1, 3),
    cost=st.sampled_from([0.02, 1.0, 20.0]),
    name=st.sampled_from(["hinge", "squared_hinge", "insensitive", "squared_insensitive"]),
    penalty=st.sampled_from(["l2", "l1", "elastic"]),
)
def test_random_small_problems_against_a_quadratic_program(seed, n, d, cost, name, penalty):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    t = rng.choice([-1.0, 1.0], n) if "hinge" in name else rng.normal(size=n)
    costs, (l1, l2) = cost * rng.integers(0, 3, n).astype(float), PENALTIES[penalty]
    costs[0] = cost
    ours = solve(X, LinearProblem(LOSSES[name], t, costs, l1=l1, l2=l2), gap=1e-9)
    general = quadratic_program(X, t, name, costs, l1, l2)
    scale = max(1.0, abs(general.fun), float(costs.sum()))
    assert general.fun >= ours.certificate.dual - 1e-7 * scale  # it may stop above the optimum
    if general.success:
        assert ours.certificate.primal == pytest.approx(general.fun, abs=2e-5 * scale)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
def test_l1_residual_of_the_optimality_conditions(loss):
    """The gradient is -sign(w) where w is not zero and within ±1 elsewhere, for smooth losses."""
    X, y = classes(300, 20)
    model = LinearSVC(loss=loss, penalty="l1", C=0.05, gap_tol=1e-11).fit(X, y)
    w, f = model.coef_[0], model.decision_function(X)
    assert 0 < np.count_nonzero(w) < 20
    if loss == "hinge":  # a row off the kink has its dual variable at the bound of its side
        share = np.abs(model.solutions_[0].shares)
        inside = (share > 1e-9) & (share < 1 - 1e-9)
        assert np.abs(1 - y * f)[inside].max() < 1e-8
        assert (share[y * f > 1 + 1e-8] <= 1e-9).all()
        assert (share[y * f < 1 - 1e-8] >= 1 - 1e-9).all()
        pulled = X.T @ (0.05 * model.solutions_[0].shares)
        np.testing.assert_allclose(pulled[w != 0], np.sign(w[w != 0]), atol=1e-8)
        assert np.abs(pulled).max() < 1 + 1e-8
        return
    pull = 2 * np.maximum(0, 1 - y * f) if loss == "squared_hinge" else 1 / (1 + np.exp(y * f))
    gradient = -0.05 * X.T @ (pull * y)
    assert np.abs(gradient[w != 0] + np.sign(w[w != 0])).max() < 1e-4
    assert np.abs(gradient).max() < 1 + 1e-4
    assert abs((pull * y).sum()) < 1e-4 * pull.sum()  # the intercept is free
