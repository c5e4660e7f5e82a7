"""The block solver finds the optimum of every problem, on every path through the code."""

from dataclasses import replace

import numpy as np
import pytest
from cases import KERNELS, PROBLEMS, Data, draw_data
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize
from sklearn import svm
from solving import Truth, open_data, solve

from widemargin.backends.cpu import kernel_data
from widemargin.kernels import FunctionKernel
from widemargin.solution import Status
from widemargin.solvers import block_smo

each_problem = pytest.mark.parametrize("name", PROBLEMS)


def state(name, data):
    return PROBLEMS[name].state(data.task)


def assert_feasible(problem, x):
    assert (x >= problem.lower).all()
    assert (x <= problem.upper).all()
    for g in range(problem.groups):
        members = problem.group == g
        width = (problem.upper - problem.lower)[members].sum()
        assert abs(x[members].sum() - problem.start[members].sum()) <= 1e-12 * width


def assert_solved(solution, problem, tolerance):
    assert solution.status is Status.CONVERGED
    assert solution.certificate.violation <= tolerance
    assert solution.certificate.gap >= 0
    assert not solution.indefinite
    assert_feasible(problem, solution.x)


# --- other solvers -------------------------------------------------------------------------------


def general_solver(problem, K):
    """Return the optimum by sequential quadratic programming, which knows nothing of machines."""
    n = problem.rows
    add = np.tile(np.eye(n), problem.sides)
    hessian = add.T @ K @ add
    sums = np.stack([problem.group == g for g in range(problem.groups)]).astype(float)
    return minimize(
        lambda x: (0.5 * x @ hessian @ x + problem.linear @ x, hessian @ x + problem.linear),
        problem.start,
        jac=True,
        method="SLSQP",
        bounds=np.stack([problem.lower, problem.upper], axis=1),
        constraints=LinearConstraint(sums, sums @ problem.start, sums @ problem.start),
        options={"ftol": 1e-15, "maxiter": 1000},
    ).x


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # rounding, in SLSQP
@each_problem
@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial", "laplacian"])
def test_tiny_problems_as_a_general_solver(name, kernel):
    for seed in range(3):
        data = draw_data(11, features=12, seed=seed, kernel=KERNELS[kernel])
        truth = Truth(PROBLEMS[name], data)
        solution = solve(data, truth.problem)
        other = general_solver(truth.problem, np.float64(truth.K))
        assert_solved(solution, truth.problem, 1e-8)
        best = float(truth.dual(other))
        assert solution.certificate.dual == pytest.approx(best, rel=1e-6, abs=1e-6)


def libsvm(name, data, K):
    """Return the variables of scikit-learn's machine, in the scaling of the problem."""
    task, C = data.task, float(data.task.weights[0])
    common = {"kernel": "precomputed", "tol": 1e-10, "cache_size": 500}
    machine, y = {
        "c_svc": (svm.SVC(C=C, **common), task.signs),
        "nu_svc": (svm.NuSVC(nu=task.nu, **common), task.signs),
        "epsilon_svr": (svm.SVR(C=C, epsilon=task.epsilon, **common), task.targets),
        "nu_svr": (svm.NuSVR(C=C, nu=task.nu, **common), task.targets),
        "one_class": (svm.OneClassSVM(nu=task.nu, **common), None),
    }[name]
    machine.fit(K, y)
    x = np.zeros(len(K))
    x[machine.support_] = machine.dual_coef_[0]
    if name == "nu_svc":  # libsvm divides by rho; the sum of all weights tells by how much
        x *= task.nu * len(K) / abs(x).sum()
    return np.concatenate([np.maximum(x, 0), np.minimum(x, 0)]) if "svr" in name else x


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "svdd"])
@pytest.mark.parametrize("rows", [300, 1300])
def test_larger_problems_as_libsvm(name, rows, monkeypatch):
    """Below and above one block; the latter begins in float32."""
    monkeypatch.setattr(kernel_data, "BLOCK", 600)
    data = draw_data(rows, features=4, weights=1.0)
    case, problem = PROBLEMS[name], state(name, data)
    K = data.kernel(data.X, data.X)
    best = case.dual(data.task, K, libsvm(name, data, K), None)
    solution = solve(data, problem, tolerance=1e-7)
    assert_solved(solution, problem, 1e-7)
    assert solution.certificate.dual == pytest.approx(best, rel=1e-8)


def test_ball_is_the_one_class_machine_where_all_rows_have_one_length():
    data = draw_data(700, weights=1.0)
    ball, plane = (solve(data, state(name, data)) for name in ("svdd", "one_class"))
    np.testing.assert_allclose(ball.outputs, plane.outputs, rtol=1e-6)


def test_three_thousand_rows():
    data = draw_data(3000, weights=10.0)
    problem = state("c_svc", data)
    solution = solve(data, problem, tolerance=1e-6)
    assert_solved(solution, problem, 1e-6)
    K = data.kernel(data.X, data.X)
    primal, dual = (
        objective(data.task, K, solution.x, solution.certificate.multipliers)
        for objective in (PROBLEMS["c_svc"].primal, PROBLEMS["c_svc"].dual)
    )
    assert solution.certificate.primal == pytest.approx(primal, rel=1e-11)
    assert solution.certificate.dual == pytest.approx(dual, rel=1e-11)
    assert solution.certificate.relative_gap < 1e-6


# --- paths ---------------------------------------------------------------------------------------

# How to solve, and the number of variables in a block.
PATHS = {
    "whole": ({}, None),
    "whole in float32": ({"precision": "float32"}, None),
    "whole by Newton steps": ({"exact": True}, None),
    "blocks": ({}, 24),
    "blocks in float32, then float64": ({"precision": "both"}, 24),
    "blocks without shrinking": ({"shrinking": False}, 24),
    "blocks by Newton steps": ({"exact": True}, 24),
    "blocks by Newton steps in float32": ({"exact": True, "precision": "both"}, 24),
    "some memory": ({"budget": 80_000, "dear": True, "tolerance": 1e-6}, 24),
    "no memory": ({"budget": 1, "dear": True, "tolerance": 1e-5}, 24),
    "no memory, cheap kernel": ({"budget": 1, "tolerance": 1e-5}, 24),
    "no memory, Newton": ({"budget": 1, "exact": True, "dear": True, "tolerance": 1e-5}, 24),
    "two segments in one block": ({"segments": [100, 200]}, None),
    "two segments": ({"segments": [100, 200]}, 24),
    "two segments of kept rows": ({"segments": [190, 110], "dear": True}, 24),
    "two threads": ({"threads": 2}, 24),
}
TASK = draw_data(300, features=4, seed=5)


def open_path(data, *, precision="float64", dear=False, **opening):
    both = ("float32", "float64")
    opened = open_data(data, precision=both[0] if precision == "both" else precision, **opening)
    opened.precisions = both if precision == "both" else opened.precisions
    if dear:
        opened.source.dear = True  # as if rows were worth keeping
    return opened


def along(path, problem, monkeypatch, data=TASK, **more):
    """Solve by a path of the table; its blocks are small, so that there are many."""
    settings, block = path
    settings = {"tolerance": 1e-7} | settings | more
    if block is not None:
        monkeypatch.setattr(kernel_data, "BLOCK", block)
        monkeypatch.setattr(kernel_data, "LEAST_BLOCK", 8)
        monkeypatch.setattr(block_smo, "SHRINK_EVERY", 3)
    opening = {k: v for k, v in settings.items() if k in ("precision", "dear", "budget", "threads")}
    solving = {k: v for k, v in settings.items() if k in ("tolerance", "exact", "shrinking")}
    if "segments" in settings:
        first = settings["segments"][0]
        solving["segments"] = [np.arange(first), np.arange(first, problem.rows)]
    return solve(open_path(data, **opening), problem, **solving)


@pytest.fixture(scope="module")
def optima():
    """The best dual objectives, by the plainest path."""
    return {
        name: solve(TASK, state(name, TASK), tolerance=1e-11, precision="float64").certificate.dual
        for name in PROBLEMS
    }


@each_problem
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_every_path_reaches_the_optimum(name, path, optima, monkeypatch):
    problem = state(name, TASK)
    solution = along(path, problem, monkeypatch)
    assert_solved(solution, problem, path[0].get("tolerance", 1e-7))
    assert solution.certificate.dual == pytest.approx(optima[name], rel=1e-9)
    truth = Truth(PROBLEMS[name], TASK)
    gap = truth.primal(solution.x, solution.certificate.multipliers) - truth.dual(solution.x)
    assert solution.certificate.gap >= gap - truth.rounding(solution.x, optima[name])


@pytest.mark.parametrize("name", ["c_svc", "nu_svr", "svdd"])
@pytest.mark.parametrize("path", ["whole", "blocks", "blocks by Newton steps", "two segments"])
def test_same_bits_with_two_threads(name, path, monkeypatch):
    problem = state(name, TASK)
    for dear in (False, True):
        one, two = (
            along(PATHS[path], problem, monkeypatch, threads=threads, dear=dear)
            for threads in (1, 2)
        )
        np.testing.assert_array_equal(one.x, two.x)
        np.testing.assert_array_equal(one.outputs, two.outputs)
        assert one.certificate == two.certificate
        assert one.iterations == two.iterations


@pytest.mark.parametrize("name", ["c_svc", "epsilon_svr", "nu_svc"])
def test_same_bits_with_two_threads_on_many_rows(name):
    """Enough rows for several pieces of work, in float32."""
    data = draw_data(3000, weights=1.0)
    one, two = (solve(data, state(name, data), tolerance=1e-3, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.x, two.x)
    assert one.certificate == two.certificate


# --- sources -------------------------------------------------------------------------------------


def python_rbf(A, B):
    return KERNELS["rbf"](A, B)


SOURCES = {
    "csr": lambda d: replace(d, X=sparse.csr_array(d.X)),
    "columns first": lambda d: replace(d, X=np.asfortranarray(d.X)),
    "precomputed": lambda d: replace(d, X=d.kernel(d.X, d.X), kernel=None),
    "precomputed by columns": lambda d: replace(
        d, X=np.asfortranarray(d.kernel(d.X, d.X)), kernel=None
    ),
    "function": lambda d: replace(d, kernel=FunctionKernel(python_rbf)),
    "mirrored": lambda d: replace(d, X=-d.X),
}


@pytest.mark.parametrize("convert", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("name", ["c_svc", "nu_svc", "epsilon_svr"])
@pytest.mark.parametrize("path", ["whole", "blocks"])
def test_every_source_gives_the_same_machine(convert, name, path, monkeypatch):
    problem = state(name, TASK)
    native = along(PATHS[path], problem, monkeypatch, tolerance=1e-9)
    other = along(PATHS[path], problem, monkeypatch, data=convert(TASK), tolerance=1e-9)
    assert_solved(other, problem, 1e-9)
    assert other.certificate.dual == pytest.approx(native.certificate.dual, rel=1e-12)
    np.testing.assert_allclose(other.outputs, native.outputs, atol=1e-5)


@each_problem
def test_order_of_rows_does_not_matter(name):
    order = np.random.default_rng(0).permutation(300)
    task = TASK.task
    parts = (task.signs, task.targets, task.weights, task.diagonal)
    shuffled = Data(TASK.X[order], TASK.kernel, type(task)(*(part[order] for part in parts)))
    one, other = (solve(data, state(name, data)) for data in (TASK, shuffled))
    np.testing.assert_allclose(other.outputs, one.outputs[order], atol=1e-5)


@pytest.mark.parametrize("name", ["c_svc", "epsilon_svr", "one_class"])
def test_a_weight_of_two_is_a_repeated_row(name):
    data = draw_data(60, weights=1.0)
    task = data.task
    repeated = np.repeat(np.arange(60), 1 + np.arange(60) % 2)
    weighted = replace(task, weights=1.0 + np.arange(60) % 2)
    parts = (task.signs, task.targets, task.weights, task.diagonal)
    twice = Data(data.X[repeated], data.kernel, type(task)(*(part[repeated] for part in parts)))
    one = solve(replace(data, task=weighted), state(name, replace(data, task=weighted)))
    other = solve(twice, state(name, twice))
    assert other.certificate.dual == pytest.approx(one.certificate.dual, rel=1e-9)
    np.testing.assert_allclose(other.outputs, one.outputs[repeated], atol=1e-6)
