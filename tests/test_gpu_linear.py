"""Linear machines on the GPU find what the naive formulas and the CPU find, certified as there.

As in `test_gpu` a double made of NumPy runs all but the CUDA C++, and the marker `gpu` that too.
"""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from gpu_cases import INPUTS, LINEAR_ESTIMATORS
from linear_cases import LOSSES, PENALTIES, naive_objective, rows_and_problem
from linear_cases import solve as solve_on_cpu
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import widemargin
from widemargin import LinearSVC, LogisticRegression, SubgradientSVC
from widemargin.backends import choice
from widemargin.backends.gpu import GpuLinearData, linear_rows, open_device
from widemargin.backends.gpu.linear_launches import Samples
from widemargin.solution import Status
from widemargin.solvers.linear import LinearOptions, solve_linear
from widemargin.solvers.linear_interior import linear_interior
from widemargin.solvers.monitor import Limits, Monitor

COMBINATIONS = [
    (loss, penalty) for loss in LOSSES for penalty in PENALTIES if loss != "one_class"
] + [("one_class", "l2")]
each = pytest.mark.parametrize(("name", "penalty"), COMBINATIONS)
BUDGET = 1 << 28


def solve(X, problem, *, gap=1e-9, budget=BUDGET, start=None):
    data = GpuLinearData(X, 1, budget)
    return solve_linear(data, problem, start, Monitor(Limits(0.0, gap)), LinearOptions())


# --- solving -------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("n", [120, 400])
def test_certificate_is_the_naive_objective(gpu, name, penalty, n):
    X, problem = rows_and_problem(name, penalty, n=n)
    solution = solve(X, problem)
    found = solution.certificate
    assert solution.status.converged
    assert found.relative_gap <= 1e-9
    naive = naive_objective((X, problem), name, solution.weights, solution.bias)
    assert found.primal == pytest.approx(naive, rel=1e-10)
    assert found.dual == pytest.approx(solve_on_cpu(X, problem).certificate.dual, rel=1e-8)
    u = problem.costs * solution.shares
    assert abs(u.sum() - problem.tilt) <= 1e-9 * problem.costs.sum()


@each
@pytest.mark.parametrize("form", ["csr", "csr64", "float32", "streamed", "streamed csr"])
def test_forms_of_the_same_rows(gpu, name, penalty, form):
    X, problem = rows_and_problem(name, penalty, n=500)
    X[np.abs(X) < 0.5] = 0.0
    given, budget = X, BUDGET
    if "csr" in form:
        given = sp.csr_matrix(X)
    if form == "csr64":
        given.indices, given.indptr = given.indices.astype(np.int64), given.indptr.astype(np.int64)
    if form == "float32":
        given = X.astype(np.float32)
        X = given.astype(float)
    if "streamed" in form:
        budget = 4_000
    solution = solve(given, problem, gap=1e-8, budget=budget)
    assert solution.status.converged
    naive = naive_objective((X, problem), name, solution.weights, solution.bias)
    assert solution.certificate.primal == pytest.approx(naive, rel=1e-10)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_interior_point_alone(gpu, name, C):
    X, problem = rows_and_problem(name, n=300, C=C)
    data = GpuLinearData(X, 1, BUDGET)
    zero = data.newton(problem, None).point
    machine, monitor = data.interior(problem, zero), Monitor(Limits(0.0, 1e-8))
    assert linear_interior(machine, monitor).converged
    point, certificate = data.certify(problem, machine.point)
    assert certificate.relative_gap <= 1e-8
    best = solve_on_cpu(X, problem, gap=1e-10).certificate.dual
    assert certificate.primal == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(open_device().download(point.x[:-1]), machine.x[:-1])


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic", "squared_insensitive"])
@pytest.mark.parametrize("bias", [True, False])
def test_many_features(gpu, name, bias, monkeypatch):
    """The systems of few curved rows, and conjugate gradients where there are many."""
    monkeypatch.setattr(linear_rows, "FEW_FEATURES", 10)
    for module in ("linear_systems", "linear_data", "linear_interior"):
        monkeypatch.setattr(f"widemargin.backends.gpu.{module}.FEW_FEATURES", 10)
    for rows in (1500, 20):
        monkeypatch.setattr("widemargin.backends.gpu.linear_systems.FEW_ROWS", rows)
        for form in (np.asarray, sp.csr_matrix):
            X, problem = rows_and_problem(name, n=200, d=40, bias=bias)
            solution = solve(form(X), problem, gap=1e-6)
            assert solution.status.converged
            best = solve_on_cpu(X, problem).certificate.dual
            assert solution.certificate.dual == pytest.approx(best, rel=1e-5)


def test_coarse_rows_come_first(gpu, monkeypatch):
    monkeypatch.setattr("widemargin.backends.gpu.linear_machine.LEAST_TELLING", 10)
    for form in (np.asarray, sp.csr_matrix):
        X, problem = rows_and_problem("hinge", n=4000)
        solution = solve(form(X), problem, gap=1e-6)
        assert solution.status.converged
        assert min(record.rows for record in solution.history) < 4000
        best = solve_on_cpu(X, problem).certificate.dual
        assert solution.certificate.dual == pytest.approx(best, rel=1e-5)


def test_a_start_changes_time_not_result(gpu):
    X, problem = rows_and_problem("hinge", n=400)
    first = solve(X, problem, gap=1e-8)
    point = choice_point(first)
    second = solve(X, problem, gap=1e-8, start=point)
    assert second.iterations < first.iterations
    assert second.certificate.dual == pytest.approx(first.certificate.dual, rel=1e-7)


def choice_point(solution):
    from widemargin.backends.cpu import LinearPoint

    return LinearPoint(np.append(solution.weights, solution.bias), solution.shares)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_losses_row_by_row(gpu, name, width):
    """The CUDA kernels against the compiled core, and against the formulas."""
    from gpu_double import NumpyDevice

    rng, device, double = np.random.default_rng(0), open_device(), NumpyDevice()
    n, loss = 1000, LOSSES[name]
    if loss.smooth and width:
        pytest.skip("a smooth loss is not rounded")
    target = rng.normal(size=n) if "insensitive" in name else np.sign(rng.normal(size=n))
    cost, centre = rng.integers(0, 3, n).astype(float), rng.uniform(0, 1, n) * np.sign(target)
    outputs, moves = 2 * rng.normal(size=n), rng.normal(size=n)
    here = Samples(target, cost, centre)
    there = Samples(*(device.upload(a) for a in (target, cost, centre)))
    sums, found = [], []
    for where, samples in ((double, here), (device, there)):
        dual, curvature = where.xp.zeros(n), where.xp.zeros(n)
        f = where.upload(outputs)
        sums.append(where.respond(samples, loss, width, f, dual, curvature))
        sums.append(where.along(samples, loss, width, f, where.upload(moves), 0.7))
        shares = where.download(dual) / np.where(cost > 0, cost, 1.0)
        sums.append(where.judge(samples, loss, where.upload(moves), where.upload(shares)))
        found.append((where.download(dual), where.download(curvature)))
    for want, got in zip(sums[:3], sums[3:], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-12, atol=1e-14)
    shares = found[1][0] / np.where(cost > 0, cost, 1.0)
    used = cost > 0
    assert sums[5][0] == pytest.approx(float(cost @ loss.value(moves, target)))
    assert sums[5][1] == pytest.approx(float(cost @ loss.dual(shares, target)))
    assert sums[5][2] == pytest.approx(loss.violation(moves, target, shares)[used].max())


@pytest.mark.parametrize("size", [3, 300, 600])
@pytest.mark.parametrize("singular", [False, True])
def test_systems(gpu, size, singular):
    rng, device = np.random.default_rng(size), open_device()
    A = rng.normal(size=(size, size // 2 if singular else 2 * size))
    matrix = A @ A.T + (0 if singular else 1e-3) * np.eye(size)
    right = rng.normal(size=(2, size)) @ matrix
    found = device.solve_positive(device.upload(matrix), device.upload(right), 1)
    rest = device.download(found) @ matrix - right
    assert np.abs(rest).max() <= 1e-6 * np.abs(right).max()


# --- estimators ----------------------------------------------------------------------------------


def task(classes=3):
    X, y = make_blobs(240, 5, centers=classes, cluster_std=4.0, random_state=0)
    return X, y


@pytest.mark.parametrize("name", LINEAR_ESTIMATORS)
@pytest.mark.parametrize("storage", INPUTS)
def test_estimators_as_on_the_cpu(gpu, name, storage):
    X, y = task()
    on_gpu = storage == "array of the GPU"
    given, device = (gpu(X), None) if on_gpu else (INPUTS[storage](X), "cuda")
    reference = LINEAR_ESTIMATORS[name](gap_tol=1e-9).fit(X, y)
    found = LINEAR_ESTIMATORS[name](gap_tol=1e-9, device=device).fit(given, y)
    assert (reference.backend_, found.backend_) == ("cpu", "cuda")
    rtol = 1e-5 if storage == "dense float32" else 1e-7
    assert found.primal_objective_ == pytest.approx(reference.primal_objective_, rel=rtol)
    want, got = np.ravel(reference.coef_), np.ravel(found.coef_)
    np.testing.assert_allclose(got, want, atol=1e-3 * abs(want).max())
    assert np.mean(found.predict(given) == reference.predict(X)) > 0.98 or "SVR" in name


def test_weights_bounds_and_probabilities(gpu):
    X, y = task()
    weights = np.arange(y.size) % 3
    fits = [
        LogisticRegression(C=2.0, class_weight="balanced", gap_tol=1e-9, device=device).fit(
            X, y, weights
        )
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(fits[1].predict_proba(X), fits[0].predict_proba(X), atol=1e-4)
    assert (fits[1].decision_bound(X) >= 0).all()
    gap = np.abs(fits[1].decision_function(X) - fits[0].decision_function(X))
    assert (gap <= fits[0].decision_bound(X) + fits[1].decision_bound(X)).all()


def test_limits_callbacks_and_warm_start(gpu):
    X, y = task(2)
    seen = []
    fit = LinearSVC(loss="hinge", max_iter=3, device="cuda", callback=seen.append, gap_tol=1e-8)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fit.fit(X, y)
    assert seen[0].rows == 240
    fit.set_params(max_iter=-1, warm_start=True, callback=None).fit(X, y)
    assert fit.status_ is Status.GAP_REACHED
    with pytest.warns(ConvergenceWarning, match="callback"):
        fit.set_params(warm_start=False, callback=lambda progress: True).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        fit.set_params(callback=None, max_time=1e-9).fit(X, y)


def test_hard_margin(gpu):
    X, y = make_blobs(60, 2, centers=[[-4, -4], [4, 4]], random_state=0)
    found = LinearSVC(C=float("inf"), device="cuda").fit(X, y)
    want = LinearSVC(C=float("inf"), device="cpu").fit(X, y)
    np.testing.assert_allclose(found.coef_, want.coef_, rtol=1e-3)


def test_models_work_without_a_gpu(gpu, tmp_path, monkeypatch):
    X, y = task()
    model = LinearSVC(device="cuda").fit(X, y)
    want = model.decision_function(X)
    widemargin.save(model, tmp_path / "model.wm")
    text = pickle.dumps(model)
    monkeypatch.setattr(choice, "gpu_is_usable", lambda: False)
    for other in (widemargin.load(tmp_path / "model.wm"), pickle.loads(text)):
        assert other.backend_ == "cuda"
        np.testing.assert_allclose(other.decision_function(X), want, atol=1e-12)


# --- what cannot run -----------------------------------------------------------------------------


def test_what_a_gpu_cannot_do_is_said(gpu, monkeypatch):
    X, y = task()
    with pytest.raises(ValueError, match=r"solver='dual'.*device='cpu'"):
        LinearSVC(solver="dual", device="cuda").fit(X, y)
    with pytest.raises(ValueError, match=r"partial_fit.*device='cpu'"):
        LinearSVC(device="cuda").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"partial_fit.*device='cpu'"):
        LinearSVC().partial_fit(gpu(X), y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="SubgradientSVC runs on the CPU only"):
        SubgradientSVC().fit(gpu(X), y)
    with pytest.raises(ValueError, match="Pegasos runs on the CPU only"):
        widemargin.Pegasos().fit(gpu(X), y)
    monkeypatch.setattr("widemargin.backends.gpu.linear_data.FEW_FEATURES", 3)
    with pytest.raises(ValueError, match=r"at most 3 features, found 5; use device='cpu'"):
        LinearSVC(penalty="l1", device="cuda").fit(X, y)
