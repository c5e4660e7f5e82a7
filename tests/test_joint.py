"""The joint multiclass machine finds its optimum, says how close it is, and always ends."""

import numpy as np
import pytest
from cases import KERNELS, exact_kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import LinearSVC

from widemargin.backends.cpu import CpuKernelData, joint
from widemargin.backends.cpu.joint import CpuJointData
from widemargin.kernels import RBF, Linear, Polynomial
from widemargin.solution import Status
from widemargin.solvers.joint import solve_joint
from widemargin.solvers.monitor import Limits, Monitor

BUDGET = 1 << 26


def fit(X, y, costs, kernel, *, tolerance=1e-9, start=None, reporter=None, **settings):
    """Return the certified solution; a fit that does not end is stopped after a minute."""
    limits = {"iterations": settings.pop("iterations", -1), "gap": settings.pop("gap", None)}
    limits["seconds"] = settings.pop("seconds", 60.0)
    opening = {"threads": 1, "budget": BUDGET, "precision": "auto"} | settings
    data = CpuJointData(CpuKernelData(X, kernel, **opening))
    costs = np.broadcast_to(np.float64(costs), len(y)).copy()
    monitor = Monitor(Limits(tolerance, **limits), reporter)
    return solve_joint(data, np.asarray(y, dtype=np.int64), costs, start, monitor)


def draw(rows, classes=4, *, features=5, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    scores = X @ rng.normal(size=(features, classes)) + noise * rng.normal(size=(rows, classes))
    y = scores.argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def margins(F, y):
    """Return F_ik + [k != y_i]."""
    return F + (y[:, None] != np.arange(F.shape[1]))


def losses(F, y):
    """Return max_k (F_ik + [k != y_i]) - F_iy."""
    return margins(F, y).max(axis=1) - F[np.arange(y.size), y]


class Truth:
    """Objectives of a point by the naive formulas, in extended precision."""

    def __init__(self, X, y, costs, kernel):
        self.K, self.y = exact_kernel(kernel, X), y
        self.costs = np.broadcast_to(np.longdouble(costs), y.size)

    def primal(self, A):
        F = self.K @ A
        return (A * F).sum() / 2 + self.costs @ losses(F, self.y)

    def dual(self, A):
        others = self.y[:, None] != np.arange(A.shape[1])
        return -(A * (self.K @ A)).sum() / 2 - A[others].sum()


def assert_feasible(A, y, costs):
    rows = np.arange(y.size)
    upper = np.zeros_like(A)
    upper[rows, y] = costs
    assert (upper >= A).all()
    assert (abs(A.sum(axis=1)) <= 1e-13 * np.broadcast_to(costs, y.size)).all()


# --- other solvers -------------------------------------------------------------------------------


def general_solver(K, y, costs, classes):
    """Return the optimal A by sequential quadratic programming, which knows nothing of machines."""
    n = y.size
    others = (y[:, None] != np.arange(classes)).astype(float)
    upper = np.where(others > 0, 0.0, np.broadcast_to(costs, n)[:, None])

    def objective(flat):
        A = flat.reshape(n, classes)
        F = K @ A
        return (A * F).sum() / 2 + (A * others).sum(), (F + others).ravel()

    sums = np.kron(np.eye(n), np.ones(classes))
    return minimize(
        objective,
        np.zeros(n * classes),
        jac=True,
        method="SLSQP",
        bounds=[(None, u) for u in upper.ravel()],
        constraints=LinearConstraint(sums, 0.0, 0.0),
        options={"ftol": 1e-15, "maxiter": 1000},
    ).x.reshape(n, classes)


@pytest.mark.parametrize("cost", [0.1, 2.0, 50.0])
@pytest.mark.parametrize("kernel", [KERNELS["rbf"], KERNELS["polynomial"]])
def test_agrees_with_a_general_solver(kernel, cost):
    X, y = draw(14, 3, features=2)
    solution = fit(X, y, cost, kernel)
    K = np.float64(exact_kernel(kernel, X))
    other = general_solver(K, y, cost, 3)
    truth = Truth(X, y, cost, kernel)
    dual = float(truth.dual(other))
    assert solution.status is Status.CONVERGED
    assert solution.certificate.primal >= dual * (1 - 1e-7)
    assert solution.certificate.dual >= dual * (1 - 1e-7)
    np.testing.assert_allclose(solution.outputs, K @ other, atol=2e-4 * cost)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # from older ones, wrongly
@pytest.mark.parametrize(
    ("load", "rows", "cost"),
    [(load_iris, 150, 1.0), (load_iris, 150, 20.0), (load_digits, 300, 0.1)],
)
def test_agrees_with_liblinear(load, rows, cost):
    X, y = load(return_X_y=True)
    X, y = X[:rows] / X.max(), y[:rows]
    other = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, tol=1e-10, C=cost, max_iter=10**6
    ).fit(X, y)
    objective = (other.coef_**2).sum() / 2 + cost * losses(X @ other.coef_.T, y).sum()
    certificate = fit(X, y, cost, Linear()).certificate
    assert certificate.primal == pytest.approx(objective, rel=1e-6)
    assert certificate.dual == pytest.approx(objective, rel=1e-6)


# --- the certificate -----------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    rows=st.integers(2, 60),
    classes=st.integers(1, 7),
    kernel=st.sampled_from(["rbf", "linear", "polynomial", "laplacian"]),
    cost=st.floats(1e-3, 1e3),
    iterations=st.sampled_from([0, 1, 7, -1]),
    seed=st.integers(0, 99),
)
def test_certificate_is_what_the_formulas_say(rows, classes, kernel, cost, iterations, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(rows, 3)), rng.integers(0, classes, rows)
    costs = cost * rng.uniform(0.2, 2.0, rows)
    start = None if y.max() == classes - 1 else np.zeros((rows, classes))
    solution = fit(X, y, costs, KERNELS[kernel], iterations=iterations, start=start)
    A, certificate = solution.coefficients, solution.certificate
    assert A.shape == solution.outputs.shape == (rows, classes)
    assert_feasible(A, y, costs)
    truth = Truth(X, y, costs, KERNELS[kernel])
    used = float(abs(A).sum())
    size = 1e-12 * (used * float(abs(truth.K).max()) * (costs.sum() + used) + costs.sum())
    assert certificate.gap >= 0
    assert abs(certificate.primal - truth.primal(A)) <= size
    assert abs(certificate.dual - truth.dual(A)) <= size
    np.testing.assert_allclose(solution.outputs, np.float64(truth.K @ A), atol=size, rtol=1e-12)
    if iterations < 0:
        assert solution.status is Status.CONVERGED
        assert certificate.violation <= 1e-9 * max(1.0, cost)
        assert certificate.gap <= 1e-8 * costs.sum()


def test_violation_is_what_the_formula_says():
    X, y = draw(40)
    solution = fit(X, y, 1.0, RBF(gamma=0.3), iterations=25)
    A, g = solution.coefficients, margins(solution.outputs, y)
    upper = np.where(y[:, None] == np.arange(4), 1.0, 0.0)
    worst = (g.max(axis=1) - np.where(upper > A, g, np.inf).min(axis=1)).max()
    assert solution.certificate.violation == pytest.approx(worst, rel=1e-12)
    assert solution.certificate.violation > 1e-3


# --- invariances ---------------------------------------------------------------------------------


def test_weight_two_is_the_row_twice():
    X, y = draw(60)
    costs = np.random.default_rng(1).uniform(0.5, 2.0, y.size)
    twice = np.repeat(np.arange(y.size), np.where(np.arange(y.size) % 3 == 0, 2, 1))
    weighted = fit(X, y, costs * np.bincount(twice), RBF(gamma=0.3))
    repeated = fit(X[twice], y[twice], costs[twice], RBF(gamma=0.3))
    np.testing.assert_allclose(weighted.outputs[twice], repeated.outputs, rtol=1e-7, atol=1e-9)
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=1e-9)


@pytest.mark.parametrize("block_rows", [1024, 16])
def test_weight_zero_is_no_row(block_rows, monkeypatch):
    monkeypatch.setattr(joint, "BLOCK_ROWS", block_rows)
    X, y = draw(80)
    costs = np.where(np.arange(y.size) % 4 == 1, 0.0, 1.0)
    costs[y == 2] = 0.0  # a class without any row that counts
    kept = costs > 0
    zero = np.zeros((int(kept.sum()), 4))
    weighted = fit(X, y, costs, RBF(gamma=0.3))
    fewer = fit(X[kept], y[kept], 1.0, RBF(gamma=0.3), start=zero)
    assert not weighted.coefficients[~kept].any()
    np.testing.assert_allclose(weighted.outputs[kept], fewer.outputs, rtol=1e-7, atol=1e-8)


def test_new_numbers_of_classes_permute_the_columns():
    X, y = draw(60)
    new = np.array([2, 0, 3, 1])
    before, after = fit(X, y, 3.0, RBF(gamma=0.3)), fit(X, new[y], 3.0, RBF(gamma=0.3))
    np.testing.assert_allclose(after.outputs[:, new], before.outputs, rtol=1e-7, atol=1e-8)


def test_order_of_rows_does_not_matter():
    X, y = draw(60)
    order = np.random.default_rng(2).permutation(y.size)
    before, after = fit(X, y, 3.0, RBF(gamma=0.3)), fit(X[order], y[order], 3.0, RBF(gamma=0.3))
    np.testing.assert_allclose(after.outputs, before.outputs[order], rtol=1e-7, atol=1e-8)


def test_two_classes_are_a_binary_machine_without_bias():
    X, y = draw(50, 2)
    solution = fit(X, y, 1.0, RBF(gamma=0.3))
    np.testing.assert_allclose(solution.outputs[:, 0], -solution.outputs[:, 1], atol=1e-12)


@pytest.mark.parametrize("store", [sparse.csr_array, np.float32, np.asfortranarray])
def test_storage_does_not_matter(store):
    X, y = draw(60)
    X = np.round(X * 8) / 8  # the same numbers in float32
    plain, stored = fit(X, y, 1.0, RBF(gamma=0.3)), fit(store(X), y, 1.0, RBF(gamma=0.3))
    np.testing.assert_allclose(stored.outputs, plain.outputs, atol=1e-8)


# --- every path ----------------------------------------------------------------------------------

PATHS = {
    "one block": {},
    "float32": {"precision": "float32", "tolerance": 1e-4},
    "one block, float32 first": {"precision": "auto", "float64_rows": 10},
    "blocks": {"block_rows": 48},
    "blocks, float32 first": {"block_rows": 48, "float64_rows": 10},
    "few kernel rows": {"budget": 2 * 64 * 200 * 8},
    "hardly any kernel rows": {"budget": 1, "tolerance": 1e-4},
    "Newton steps": {"block_rows": 48, "slice_values": 1},
    "interior point": {"block_rows": 48, "slice_values": 1, "slow": 0},
    "interior point, part of a block": {
        "block_rows": 48,
        "slice_values": 1,
        "slow": 0,
        "interior_work": 4 * 20**3,
    },
}


@pytest.mark.parametrize("path", PATHS)
def test_every_path_leads_to_the_same_optimum(path, monkeypatch):
    options = dict(PATHS[path])
    for name in ("block_rows", "slice_values", "slow", "interior_work"):
        if name in options:
            monkeypatch.setattr(joint, name.upper(), options.pop(name))
    if "float64_rows" in options:
        monkeypatch.setattr("widemargin.backends.cpu.kernel_data.FLOAT64_ROWS", 10)
        del options["float64_rows"]
    X, y = draw(300, noise=1.0)
    tolerance = options.pop("tolerance", 1e-6)
    reference = fit(X, y, 5.0, RBF(gamma=0.3), tolerance=1e-9)
    solution = fit(X, y, 5.0, RBF(gamma=0.3), tolerance=tolerance, **options)
    assert solution.status is Status.CONVERGED
    assert solution.certificate.violation <= tolerance
    assert solution.certificate.dual <= reference.certificate.primal
    np.testing.assert_allclose(solution.outputs, reference.outputs, atol=100 * tolerance)
    assert_feasible(solution.coefficients, y, 5.0)


def test_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(joint, "BLOCK_ROWS", 200)
    X, y = draw(1500)
    one, two = (fit(X, y, 1.0, RBF(gamma=0.3), tolerance=1e-3, threads=t) for t in (1, 2))
    assert (one.coefficients == two.coefficients).all()
    assert one.certificate == two.certificate


@pytest.mark.parametrize("rows", [60, 1500])
def test_warm_start_takes_fewer_steps(rows):
    X, y = draw(rows)
    cold = fit(X, y, 1.0, RBF(gamma=0.3), tolerance=1e-4)
    again = fit(X, y, 1.0, RBF(gamma=0.3), tolerance=1e-4, start=cold.coefficients)
    dearer = fit(X, y, 1.1, RBF(gamma=0.3), tolerance=1e-4, start=cold.coefficients)
    afresh = fit(X, y, 1.1, RBF(gamma=0.3), tolerance=1e-4)
    assert again.iterations <= 0.05 * cold.iterations
    assert dearer.iterations < afresh.iterations
    np.testing.assert_allclose(dearer.outputs, afresh.outputs, atol=0.02)


def test_start_outside_the_constraints_is_brought_in():
    X, y = draw(60)
    start = np.random.default_rng(3).normal(size=(60, 4)) * 10
    inside = fit(X, y, 1.0, RBF(gamma=0.3), start=start, iterations=0)
    assert_feasible(inside.coefficients, y, 1.0)
    given, cold = (fit(X, y, 1.0, RBF(gamma=0.3), start=s) for s in (start, None))
    np.testing.assert_allclose(given.outputs, cold.outputs, atol=1e-8)


# --- hard cases and limits -----------------------------------------------------------------------


def contradicting(copies):
    X, _ = draw(40, features=2)
    return np.repeat(X, copies, axis=0), np.tile(np.arange(copies), 40)


HARD = {
    "large C": (*draw(120, noise=2.0), 1e6, RBF(gamma=0.1)),
    "large C, few features": (*draw(120, features=2, noise=2.0), 1e6, Linear()),
    "large C, contradictions": (*contradicting(3), 1e6, RBF(gamma=1.0)),
    "large C, contradictions, polynomial": (*contradicting(3), 1e6, Polynomial(3, gamma=1.0)),
    "one row many times": (np.ones((60, 3)), np.arange(60) % 4, 10.0, RBF(gamma=1.0)),
    "zero rows": (np.zeros((30, 3)), np.arange(30) % 3, 10.0, Linear()),
    "some zero rows": (np.repeat([[0.0], [1.0]], 20, axis=0), np.arange(40) % 3, 1.0, Linear()),
    "one class": (draw(20)[0], np.zeros(20, dtype=int), 1.0, RBF(gamma=1.0)),
    "a row for each class": (draw(12)[0], np.arange(12), 1.0, RBF(gamma=1.0)),
    "one row": (np.ones((1, 2)), np.zeros(1, dtype=int), 1.0, RBF(gamma=1.0)),
    "no weight": (*draw(30), 0.0, RBF(gamma=1.0)),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_cases_end_at_the_optimum(name):
    X, y, cost, kernel = HARD[name]
    solution = fit(X, y, cost, kernel, tolerance=1e-3)
    assert solution.status is Status.CONVERGED
    assert solution.certificate.relative_gap <= 1e-6
    assert_feasible(solution.coefficients, y, cost)


def test_unreachable_tolerance_ends_too(monkeypatch):
    monkeypatch.setattr(joint, "BLOCK_ROWS", 48)
    X, y = draw(300)
    solution = fit(X, y, 1e4, RBF(gamma=0.3), tolerance=0.0)
    assert solution.status is Status.STALLED
    assert solution.certificate.violation <= 1e-6


def test_limits_are_kept(monkeypatch):
    X, y = draw(300)
    assert fit(X, y, 1.0, Linear(), iterations=20).status is Status.ITERATION_LIMIT
    assert fit(X, y, 1.0, Linear(), iterations=20).iterations == 20
    assert fit(X, y, 1.0, Linear(), seconds=0.0).status is Status.TIME_LIMIT
    monkeypatch.setattr(joint, "BLOCK_ROWS", 48)
    enough = fit(X, y, 1.0, Linear(), gap=0.01, tolerance=1e-12)
    assert enough.status is Status.GAP_REACHED
    assert enough.certificate.relative_gap <= 0.01


def test_time_limit_ends_an_interior_point_method(monkeypatch):
    monkeypatch.setattr(joint, "SLICE_VALUES", 1)
    X, y = draw(900, noise=5.0)
    solution = fit(X, y, 1e6, Linear(), seconds=0.5, tolerance=1e-9)
    assert solution.status is Status.TIME_LIMIT
    assert_feasible(solution.coefficients, y, 1e6)
    assert solution.certificate.gap >= 0


@pytest.mark.parametrize("answer", [True, KeyboardInterrupt])
def test_callback_can_end_a_fit(answer, monkeypatch):
    monkeypatch.setattr(joint, "BLOCK_ROWS", 48)
    seen = []

    def reporter(progress):
        seen.append(progress)
        if len(seen) == 3:
            if answer is KeyboardInterrupt:
                raise KeyboardInterrupt
            return True
        return None

    X, y = draw(300)
    solution = fit(X, y, 1.0, RBF(gamma=0.3), reporter=reporter)
    assert solution.status is (Status.STOPPED if answer is True else Status.INTERRUPTED)
    assert len(seen) == 3
    assert solution.history[: len(seen)] == tuple(seen[: len(solution.history)])
    assert seen[-1].dual_objective > seen[0].dual_objective
    assert_feasible(solution.coefficients, y, 1.0)


def test_overflow_says_what_to_do():
    X, y = draw(20)
    with pytest.raises(FloatingPointError, match="scale the columns"):
        fit(1e7 * X, y, 1.0, Polynomial(3, gamma=1.0), precision="float32")
