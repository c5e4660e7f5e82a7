"""The GPU backend finds what the CPU finds: on a double made of NumPy, and on a GPU if one is here.

The double runs all of the backend but its CUDA C++; with the marker `gpu` the same tests run that.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from cases import KERNELS, PROBLEMS, draw_data
from gpu_cases import ESTIMATORS, GPU_KERNELS, INPUTS, PAGE, page, runs
from sklearn.exceptions import ConvergenceWarning
from solving import Truth, open_data, solve

import widemargin
from widemargin import SVC, OneClassSVM
from widemargin.backends import choice
from widemargin.backends.gpu import GpuKernelData, gpu_is_usable, kernel_data, machine
from widemargin.backends.gpu import device as device_module
from widemargin.kernels import RBF, Spectrum
from widemargin.solution import Status

BUDGET = 1 << 28


def open_gpu(data, budget=BUDGET, precision="auto"):
    return GpuKernelData(data.X, data.kernel, threads=1, budget=budget, precision=precision)


# --- solving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_with_every_kernel(gpu, name, kernel):
    if kernel == "sigmoid":
        pytest.skip("not positive semidefinite: optima are local")
    data = draw_data(60, kernel=KERNELS[kernel])
    problem = PROBLEMS[name].state(data.task)
    solution = solve(open_gpu(data), problem, tolerance=1e-6)
    assert solution.status is Status.CONVERGED
    best = solve(data, problem, tolerance=1e-9).certificate.dual
    assert solution.certificate.dual == pytest.approx(best, rel=1e-7, abs=1e-9)


# Bytes of the device, and whether the kernel matrix is there.
BUDGETS = {"matrix": BUDGET, "rows": 300_000, "streamed": 20_000}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("precision", ["auto", "float64"])
def test_blocks_by_every_way_to_get_kernel_values(gpu, name, budget, precision, monkeypatch):
    for module in (machine, kernel_data):
        monkeypatch.setattr(module, "LARGEST", 64)
    data = draw_data(300, seed=5)
    if precision == "auto":
        monkeypatch.setattr(kernel_data, "FLOAT64_ROWS", 1)
    truth = Truth(PROBLEMS[name], data)
    opened = open_gpu(data, BUDGETS[budget], precision)
    solution = solve(opened, truth.problem, tolerance=1e-5)
    assert solution.status is Status.CONVERGED
    assert truth.violation(solution.x) <= 1e-5 / truth.problem.scale(
        solution.certificate.multipliers
    ) * (1 + 1e-6)
    multipliers = solution.certificate.multipliers
    assert solution.certificate.dual == pytest.approx(float(truth.dual(solution.x)), rel=1e-10)
    assert solution.certificate.primal == pytest.approx(
        float(truth.primal(solution.x, multipliers)), rel=1e-8
    )
    for g in range(truth.problem.groups):
        members = truth.problem.group == g
        wanted = truth.problem.start[members].sum()
        assert solution.x[members].sum() == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_without_tensor_cores(gpu, budget, kernel, monkeypatch):
    """An older GPU sums inner products by its library, and turns them into kernel values."""
    monkeypatch.setattr(device_module.Device, "tiles", False)
    for module in (machine, kernel_data):
        monkeypatch.setattr(module, "LARGEST", 64)
    data = draw_data(300, seed=5, kernel=KERNELS[kernel])
    problem = PROBLEMS["c_svc"].state(data.task)
    solution = solve(open_gpu(data, BUDGETS[budget]), problem, tolerance=1e-5)
    assert solution.status is Status.CONVERGED
    best = solve(data, problem, tolerance=1e-7).certificate.dual
    assert solution.certificate.dual == pytest.approx(best, rel=1e-7)


def test_newton_steps_finish_what_pair_steps_do_not(gpu, monkeypatch):
    for module in (machine, kernel_data):
        monkeypatch.setattr(module, "LARGEST", 64)
    data = draw_data(200, seed=2, weights=1e4)
    problem = PROBLEMS["c_svc"].state(data.task)
    solution = solve(open_gpu(data), problem, tolerance=1e-7, exact=True)
    assert solution.status is Status.CONVERGED
    best = solve(data, problem, tolerance=1e-9).certificate.dual
    assert solution.certificate.dual == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [(7, 3), (129, 300), (700, 515)])
@pytest.mark.parametrize("features", [1, 9, 54, 130])
def test_tiles(gpu, dtype, rows, features):
    """Kernel values and their sums, of some rows and of all, against the formula."""
    from gpu_double import NumpyDevice

    rng, device, spec = np.random.default_rng(0), device_module.open_device(), RBF(0.1).native()
    X = rng.normal(size=(900, features)) / np.sqrt(features)
    norms = np.square(X).sum(axis=1)
    ids = [rng.permutation(900)[:n].astype(np.int32) for n in rows]
    want = np.empty((900, 900))
    NumpyDevice().kernel_values((X, norms), (X, norms), spec, want)
    there = device.upload(X, dtype), device.upload(norms, dtype)
    chosen = [(device.upload(some), some.size) for some in ids]
    exact = 1e-13 if dtype == np.float64 else 2e-6
    whole, part = (device.xp.full(shape, np.nan, dtype=dtype) for shape in ((900, 900), rows))
    device.kernel_values(there, there, spec, whole)
    device.kernel_values(there, there, spec, part, *chosen)
    np.testing.assert_allclose(device.download(whole), want, atol=exact)
    np.testing.assert_allclose(device.download(part), want[np.ix_(*ids)], atol=exact)
    moves = rng.normal(size=rows[0])
    sums = device.xp.ones(rows[1])
    device.kernel_sums(there, there, device.upload(moves), sums, spec, *chosen)
    np.testing.assert_allclose(
        device.download(sums), 1 + moves @ want[np.ix_(*ids)], atol=100 * exact
    )


def test_outputs_in_parts(gpu):
    data = draw_data(70)
    coefficients = np.linspace(-1, 1, 70)
    ids, columns = np.arange(5, 60), np.arange(70)[::-1].copy()
    want = open_data(data).outputs_at(ids, columns, coefficients)
    for budget in (BUDGET, 5_000):
        found = open_gpu(data, budget).outputs_at(ids, columns, coefficients)
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-12)


def test_far_from_the_origin(gpu):
    """Rows are centred: distances lose no digits where the data lie far out."""
    data = draw_data(50)
    near, far = (
        open_gpu(draw) for draw in (data, data.__class__(data.X + 1e5, RBF(0.3), data.task))
    )
    ids = np.arange(50)
    blocks = [d.device.download(d.block(ids, ids, np.float64)) for d in (near, far)]
    np.testing.assert_allclose(*blocks, rtol=1e-8)


@pytest.mark.gpu
def test_memory_stays_within_its_limit():
    """The kernel matrix would take 144 MB."""
    if not gpu_is_usable():
        pytest.skip("there is no NVIDIA GPU, or CuPy is not installed")
    device = device_module.open_device()
    data = draw_data(6000, features=50, dtype=np.float32)
    SVC(device="cuda").fit(data.X[:100], data.task.signs[:100])  # what is held from now on
    device.give_back()
    before = device.held_memory()
    fit = SVC(kernel=RBF(0.02), device="cuda", memory_limit="120MB").fit(data.X, data.task.signs)
    assert fit.status_ is Status.CONVERGED
    assert device.held_memory() - before <= 120e6


# --- estimators ----------------------------------------------------------------------------------


def task(kind):
    rng = np.random.default_rng(3)
    X = abs(rng.normal(size=(90, 6)))
    surface = X[:, 0] * X[:, 1] - X[:, 2] + 0.1 * rng.normal(size=90)
    classes = np.digitize(surface, np.quantile(surface, [0.3, 0.6]))
    return X, {"classes": classes, "numbers": surface, "none": None}[kind]


@pytest.mark.parametrize("storage", INPUTS)
@pytest.mark.parametrize("kernel", GPU_KERNELS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_as_on_the_cpu(gpu, name, kernel, storage):
    if not runs(kernel, storage):
        pytest.skip("this kernel takes no such rows on any backend")
    case = ESTIMATORS[name]
    X, y = task(case.targets)
    chosen = GPU_KERNELS[kernel]
    given = INPUTS[storage](X)
    if kernel == "precomputed":
        X = given = INPUTS[storage](RBF(0.3)(X, X))
    if storage == "array of the GPU":
        given = gpu(given)
    device = None if storage == "array of the GPU" else "cuda"
    reference = case.make(kernel=chosen, tol=1e-8).fit(X, y)
    found = case.make(kernel=chosen, tol=1e-8, device=device).fit(given, y)
    assert (reference.backend_, found.backend_) == ("cpu", "cuda")
    if kernel == "sigmoid":  # local optima
        assert found.status_ in (Status.CONVERGED, Status.STATIONARY)
        return
    single = storage == "dense float32"
    rtol = 1e-5 if single else 1e-7
    assert found.dual_objective_ == pytest.approx(reference.dual_objective_, rel=rtol, abs=rtol)
    if (name, kernel) == ("SVDD", "precomputed"):  # decisions need k(z, z), which no matrix tells
        return
    decide = "predict" if case.targets == "numbers" else "decision_function"
    want = getattr(reference, decide)(X)
    got = getattr(found, decide)(given)
    # A bias that the optimality conditions leave open may be anywhere between its bounds.
    pairs = [sorted(fit.machines_, key=lambda m: sorted(m.classes)) for fit in (reference, found)]
    free = np.max([[m.bias_bound for m in machines] for machines in pairs], axis=0)
    if name == "NuSVC":  # what is divided by the margin means nothing where that is zero
        settled = np.array([m.solution.certificate.primal**2 > 1e-16 for m in pairs[0]])
        got, want, free = got[:, settled], want[:, settled], free[settled]
    atol = 1e-4 * abs(want).max(initial=0.0) + 2 * free.sum()
    np.testing.assert_allclose(got, want, atol=atol)


def test_weights_probabilities_and_bounds(gpu):
    X, y = task("classes")
    weights = np.linspace(0.0, 2.0, len(y))
    machines = []
    for device in ("cpu", "cuda"):
        with pytest.warns(FutureWarning, match="probability"):
            machines.append(
                SVC(C=3.0, probability=True, class_weight="balanced", tol=1e-8, device=device).fit(
                    X, y, weights
                )
            )
    reference, found = machines
    assert found.dual_objective_ == pytest.approx(reference.dual_objective_, rel=1e-9)
    np.testing.assert_allclose(found.predict_proba(X), reference.predict_proba(X), atol=1e-4)
    assert (found.predict_proba(X).argmax(axis=1) == found.predict(X)).all()
    assert (found.decision_bound(X) >= 0).all()
    assert found.is_certain(X).all()


def test_limits_callbacks_and_warm_start(gpu, monkeypatch):
    for module in (machine, kernel_data):
        monkeypatch.setattr(module, "LARGEST", 64)
    data = draw_data(400, seed=1, weights=30.0)
    seen = []
    fit = SVC(C=30.0, kernel=RBF(0.3), max_iter=50, device="cuda", callback=seen.append)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fit.fit(data.X, data.task.signs)
    assert fit.n_iter_[0] <= 50
    assert seen[0].rows == 400
    first = fit.dual_objective_
    fit.set_params(max_iter=-1, warm_start=True, callback=None).fit(data.X, data.task.signs)
    assert fit.status_ is Status.CONVERGED
    assert fit.dual_objective_ > first
    with pytest.warns(ConvergenceWarning, match="callback"):
        fit.set_params(warm_start=False, callback=lambda progress: True).fit(
            data.X, data.task.signs
        )
    with pytest.warns(ConvergenceWarning, match="max_time"):
        fit.set_params(callback=None, max_time=1e-9).fit(data.X, data.task.signs)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_outputs_beyond_all_numbers_are_named(gpu, value):
    data = draw_data(50)
    problem = PROBLEMS["c_svc"].state(data.task)
    ids = np.arange(50)
    fit = open_gpu(data).machine(problem, [ids], problem.upper, "float64", lambda: None)
    fit.device.write(fit.state.outputs, np.full(50, value))
    with pytest.raises(FloatingPointError, match="kernel values overflow"):
        fit.measure()


def test_overflow_is_named(gpu):
    X, y = task("classes")
    with pytest.raises(ValueError, match="kernel values overflow"):
        SVC(kernel="poly", degree=200, gamma=50.0, coef0=1.0, device="cuda").fit(X, y)


def test_models_work_without_a_gpu(gpu, tmp_path, monkeypatch):
    X, y = task("classes")
    model = SVC(device="cuda").fit(X, y)
    want = model.decision_function(X)
    widemargin.save(model, tmp_path / "model.wm")
    text = pickle.dumps(model)
    monkeypatch.setattr(choice, "gpu_is_usable", lambda: False)
    for other in (widemargin.load(tmp_path / "model.wm"), pickle.loads(text)):
        assert other.backend_ == "cuda"
        np.testing.assert_allclose(other.decision_function(X), want, atol=1e-6)


# --- what cannot run -----------------------------------------------------------------------------


def test_kernels_on_objects_are_refused(gpu):
    with pytest.raises(ValueError, match="which a GPU cannot hold"):
        OneClassSVM(kernel=Spectrum(2), device="cuda").fit(["abab", "baba", "aabb"])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: A[:, :1], "must return shape"),
        (lambda A, B: A @ B.T / 0.0, "not finite"),
        (lambda A, B: "text", "array of numbers"),
    ],
)
def test_functions_that_return_no_block(gpu, function, message):
    X, y = task("classes")
    with pytest.raises(ValueError, match=message), np.errstate(divide="ignore", invalid="ignore"):
        SVC(kernel=function, device="cuda").fit(X, y)


def test_a_device_that_is_none():
    with pytest.raises(ValueError, match="device must be one of None, 'cpu', 'cuda', found 'tpu'"):
        SVC(device="tpu").fit(*task("classes"))


def test_without_a_gpu_one_sentence_says_what_to_install(monkeypatch):
    def broken():
        raise ImportError("No module named 'cupy'")

    device_module.open_device.cache_clear()
    monkeypatch.setattr(device_module, "Device", broken)
    with pytest.raises(RuntimeError, match=r"install widemargin\[gpu\].*No module named 'cupy'"):
        SVC(device="cuda").fit(*task("classes"))
    device_module.open_device.cache_clear()


def test_the_package_does_not_load_cupy():
    code = "import sys, widemargin.estimators; print('cupy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_the_page_of_the_manual_tells_what_is_tested():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python tests/gpu_cases.py"
