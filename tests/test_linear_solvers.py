"""Linear machines: objectives by the naive formula, certificates, invariances, other solvers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_cases import LOSSES, PENALTIES, classes, naive_objective, rows_and_problem, solve
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import scale

from widemargin import LinearOneClassSVM, LinearSVC, _core
from widemargin.backends.cpu.linear_conjugate import TrustRegion
from widemargin.backends.cpu.linear_data import CpuLinearData
from widemargin.backends.cpu.linear_machine import CpuLinearMachine, LinearPoint
from widemargin.backends.cpu.linear_rows import LinearRows
from widemargin.backends.cpu.linear_systems import direction, solve_positive
from widemargin.problem import LinearProblem
from widemargin.solution import Status

COMBINATIONS = [
    (loss, penalty) for loss in LOSSES for penalty in PENALTIES if loss != "one_class"
] + [("one_class", "l2")]
each = pytest.mark.parametrize(("name", "penalty"), COMBINATIONS)


@each
@pytest.mark.parametrize("n", [120, 400])
def test_certificate_is_the_naive_objective(name, penalty, n):
    X, problem = rows_and_problem(name, penalty, n=n)
    solution = solve(X, problem)
    found = solution.certificate
    assert solution.status.converged
    assert found.relative_gap <= 1e-9
    naive = naive_objective((X, problem), name, solution.weights, solution.bias)
    assert found.primal == pytest.approx(naive, rel=1e-10)
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-1, 1.0):  # nothing nearby is better
        w = solution.weights + size * rng.normal(size=solution.weights.size)
        b = solution.bias + size * rng.normal()
        assert naive_objective((X, problem), name, w, b) >= found.dual * (1 - 1e-12)


@each
def test_dual_variables_are_feasible(name, penalty):
    X, problem = rows_and_problem(name, penalty, n=300)
    solution = solve(X, problem, gap=1e-6)
    u = problem.costs * solution.shares
    assert abs(u.sum() - problem.tilt) <= 1e-9 * problem.costs.sum()
    if problem.l2 == 0:
        assert np.abs(X.T @ u).max() <= problem.l1 * (1 + 1e-9)
    side = problem.targets if "insensitive" not in name else np.ones(u.size)
    if name in ("hinge", "squared_hinge", "logistic"):
        assert (side * u >= 0).all()
    if name in ("hinge", "logistic", "insensitive", "one_class"):
        assert (np.abs(solution.shares) <= 1 + 1e-12).all()


@pytest.mark.parametrize("name", [n for n in LOSSES if n != "one_class"])
def test_l1_stationarity(name):
    X, problem = rows_and_problem(name, "l1", n=300, d=20, C=0.05)
    solution = solve(X, problem, gap=1e-10)
    v = X.T @ (problem.costs * solution.shares)
    used = solution.weights != 0
    assert 0 < used.sum() < 20
    assert np.abs(v[used] - np.sign(solution.weights[used])).max() < 1e-3
    assert np.abs(v).max() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("name", "bias"),
    [
        (name, bias)
        for name in LOSSES
        for bias in ({"bias": False}, {"bias_l2": 0.25}, {})
        if name != "one_class" or not bias  # its plane needs a free offset
    ],
)
def test_descent_and_newton_agree(name, bias):
    X, problem = rows_and_problem(name, n=300, **bias)
    newton = solve(X, problem, gap=1e-8, solver="newton")
    dual = solve(X, problem, gap=1e-8, solver="dual")
    assert dual.certificate.primal == pytest.approx(newton.certificate.primal, rel=2e-8)
    assert dual.certificate.relative_gap <= 1e-8
    assert (dual.bias == 0) == (problem.bias is False)


@each
@pytest.mark.parametrize("form", ["csr", "csr64", "fortran", "float32", "strided", "csr_array"])
def test_forms_of_the_same_rows(name, penalty, form):
    X, problem = rows_and_problem(name, penalty, n=300)
    X = np.round(X * (np.random.default_rng(0).random(X.shape) < 0.6), 3)
    X = X.astype(np.float32).astype(np.float64)
    wanted = solve(X, problem, gap=1e-10)
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    forms = {
        "csr": sp.csr_matrix(X),
        "csr64": wide,
        "fortran": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "csr_array": sp.csr_array(X.astype(np.float32)),
    }
    found = solve(forms[form], problem, gap=1e-10)
    assert found.certificate.primal == pytest.approx(wanted.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("solver", ["newton", "dual"])
def test_threads_change_nothing(name, solver):
    X, problem = rows_and_problem(name, n=3000, d=30)
    one = solve(X, problem, gap=1e-6, solver=solver, threads=1)
    two = solve(X, problem, gap=1e-6, solver=solver, threads=3)
    assert (one.weights == two.weights).all()
    assert one.bias == two.bias


@pytest.mark.parametrize("name", list(LOSSES))
def test_weights_are_repetitions(name):
    X, problem = rows_and_problem(name, n=300)
    times = problem.costs.astype(int)
    repeated = np.repeat(np.arange(times.size), times)
    other = replace(problem, targets=problem.targets[repeated], costs=np.ones(repeated.size))
    a, b = solve(X, problem, gap=1e-11), solve(X[repeated], other, gap=1e-11)
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-10)
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-4)


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("scale", [0.0, 1.0, 2.0])
@each
def test_any_cost_and_scale_is_certified(name, penalty, scale, C):
    """Columns between 10^(-3 scale) and 10^(3 scale); only both extremes at once lose digits."""
    X, problem = rows_and_problem(name, penalty, n=300, C=C)
    X = X * 10.0 ** (scale * np.linspace(-3, 3, 6))
    solution = solve(X, problem, gap=1e-9)
    lost = 1e6 if C * 10.0 ** (3 * scale) > 1e9 else 1.0
    assert solution.certificate.relative_gap <= 1e-9 * lost


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic", "insensitive"])
def test_any_cost_and_scale_converges(name, C):
    X, problem = rows_and_problem(name, n=400, C=C)
    X = X * 10.0 ** np.arange(-3, 3) + 5.0
    solution = solve(X, problem, gap=1e-6)
    assert solution.status is Status.GAP_REACHED
    assert solution.iterations < 700


def test_many_features_use_dual_products_and_conjugate_gradients():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((400, 3000)) * (rng.random((400, 3000)) < 0.02))
    curvature = rng.random(400) * (rng.random(400) < 0.5)
    gradient, l2 = rng.normal(size=3001), np.append(np.ones(3000), 0.0)
    rows = LinearRows(X, 1)
    state = (rows, curvature, gradient, l2)
    exact = direction(*state, 200, 1e-10, TrustRegion(), exact=True)
    inexact = direction(*state, 5000, 1e-10, TrustRegion(), exact=True)
    dense = np.column_stack([X.toarray(), np.ones(400)])
    system = dense.T @ (curvature[:, None] * dense) + np.diag(l2)
    np.testing.assert_allclose(system @ exact, -gradient, atol=1e-8)
    np.testing.assert_allclose(exact, inexact, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 16, 47, 48, 49, 100, 257, 300])
def test_cholesky(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n + 3, n)) * 10.0 ** rng.integers(-4, 4, n)
    A, right = A.T @ A, rng.normal(size=(2, n))
    found = solve_positive(A, right, 3)
    expected = np.linalg.solve(A, right.T).T
    scale = np.sqrt(np.diag(A))
    np.testing.assert_allclose(found * scale, expected * scale, rtol=1e-5, atol=1e-5)


def test_singular_system_gets_a_ridge():
    A = np.ones((5, 5))
    found = solve_positive(A, np.ones(5), 1)
    np.testing.assert_allclose(A @ found, np.ones(5), atol=1e-6)


@pytest.mark.parametrize("instruction_set", _core.instruction_sets())
@pytest.mark.parametrize("name", ["hinge", "logistic", "squared_insensitive"])
def test_instruction_sets_agree(name, instruction_set):
    X, problem = rows_and_problem(name, n=300, d=19)
    best = solve(X, problem, gap=1e-9)
    try:
        _core.use_instruction_set(instruction_set)
        found = solve(X, problem, gap=1e-9)
    finally:
        _core.use_instruction_set(_core.instruction_sets()[-1])
    assert found.certificate.primal == pytest.approx(best.certificate.primal, rel=2e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 12),
    d=st.integers(1, 4),
    C=st.sampled_from([0.01, 1.0, 50.0]),
    name=st.sampled_from(["hinge", "squared_hinge", "logistic", "insensitive"]),
)
def test_random_tiny_problems_against_a_general_solver(seed, n, d, C, name):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    t = rng.choice([-1.0, 1.0], n) if name != "insensitive" else rng.normal(size=n)
    problem = LinearProblem(LOSSES[name], t, np.full(n, C))
    solution = solve(X, problem, gap=1e-9)
    assert solution.status.converged

    def objective(z):
        return naive_objective((X, problem), name, z[:d], z[d])

    start = np.append(solution.weights, solution.bias)
    better = minimize(objective, start + 0.01 * rng.normal(size=d + 1), method="Powell")
    assert better.fun >= solution.certificate.dual - 1e-9 * max(1.0, abs(better.fun))


def test_limits_stop_with_a_usable_point():
    X, y = classes(3000, 20)
    _, problem = rows_and_problem("hinge", n=3000, d=20)
    one = solve(X, problem, gap=1e-12, iterations=2)
    assert one.status is Status.ITERATION_LIMIT
    late = solve(X, problem, gap=1e-12, seconds=1e-9)
    assert late.status is Status.TIME_LIMIT
    for solution in (one, late):
        assert np.isfinite(solution.certificate.primal)
        assert solution.certificate.gap >= 0
    del y


def test_start_changes_time_not_result():
    X, problem = rows_and_problem("hinge", n=2000, d=10)
    first = solve(X, problem, gap=1e-8)
    point = LinearPoint(np.append(first.weights, first.bias), first.shares)
    again = solve(X, problem, gap=1e-8, start=point)
    assert again.iterations <= 5 < first.iterations
    assert again.certificate.primal == pytest.approx(first.certificate.primal, rel=1e-8)


def test_coarse_rows_are_a_stride():
    X, problem = rows_and_problem("hinge", n=200, d=3)
    machine = CpuLinearMachine(LinearRows(X, 1), problem).coarser(4)
    assert machine.rows == 50
    outputs = np.empty(50)
    machine.data.times(np.ones(3), 0.5, outputs)
    np.testing.assert_allclose(outputs, X[2::4].sum(axis=1) + 0.5)
    assert CpuLinearData(X, 1).features == 3


@pytest.mark.parametrize(("seed", "own"), [(1, 2), (6, 1)])
def test_interior_point_goes_on_while_its_products_fall(seed, own):
    """Whole numbers up to 100 and an l1 penalty: no bound is good for many steps."""
    X, y = make_blobs(
        1500, 16, centers=10, cluster_std=14.0, center_box=(0, 100), random_state=seed
    )
    signs = np.where(y == own, 1.0, -1.0)
    problem = LinearProblem(LOSSES["hinge"], signs, np.ones(1500), l1=1.0, l2=0.0)
    solution = solve(np.clip(np.round(X), 0, 100), problem, gap=1e-4)
    assert solution.status is Status.GAP_REACHED


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_violation_of_a_linear_program_falls_with_its_gap(C):
    """An interior point leaves multipliers a billionth away from the bounds that they belong at."""
    X, y = load_breast_cancer(return_X_y=True)
    model = LinearSVC("l1", "hinge", C=C, gap_tol=1e-10).fit(scale(X), y)
    assert model.duality_gap_ <= 1e-10
    assert model.kkt_violation_ <= 1e-3


@pytest.mark.parametrize("rows", [500, 20000])  # the latter begins on parts of the rows
@pytest.mark.parametrize("shift", [0.0, 0.02])
def test_one_class_around_the_origin_has_an_optimum_of_zero_and_is_done(rows, shift):
    X = scale(np.random.default_rng(0).normal(size=(rows, 8))) + shift
    model = LinearOneClassSVM(nu=0.3).fit(X)
    assert model.duality_gap_ == 0
    assert model.n_iter_ < 60  # not all stages to their ends
    typical = 0.3 * rows * np.linalg.norm(X, axis=1).mean()
    assert np.linalg.norm(model.coef_) < 1e-6 * typical
