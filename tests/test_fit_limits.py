"""Every fit ends, soon after it is told to, with a feasible point and an honest certificate."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest
from cases import KERNELS, PROBLEMS, Data, draw_data
from sklearn.datasets import load_digits
from solving import solve

from widemargin import SVC
from widemargin.backends.cpu import kernel_data
from widemargin.kernels import RBF, FunctionKernel, Linear, Polynomial, Sigmoid
from widemargin.solution import Status
from widemargin.solvers.monitor import HISTORY_LENGTH, Limits, Monitor

each_problem = pytest.mark.parametrize("name", PROBLEMS)
DATA = draw_data(400, features=4, seed=2)
MANY = draw_data(1700, features=4, seed=2)  # more than one block


@pytest.fixture(autouse=True)
def smaller_blocks(monkeypatch):
    monkeypatch.setattr(kernel_data, "BLOCK", 1024)


def state(name, data):
    return PROBLEMS[name].state(data.task)


def assert_honest(solution, problem):
    x, certificate = solution.x, solution.certificate
    assert (x >= problem.lower).all()
    assert (x <= problem.upper).all()
    for g in range(problem.groups):
        members = problem.group == g
        width = max((problem.upper - problem.lower)[members].sum(), 1e-300)
        assert abs(x[members].sum() - problem.start[members].sum()) <= 1e-11 * width
    assert np.isfinite([certificate.primal, certificate.dual, certificate.violation]).all()
    assert certificate.gap >= 0
    assert solution.history


# --- hard data -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hard:
    problem: str = "c_svc"
    kernel: object = None  # a Gaussian
    cost: float = 1.0
    rows: object = None  # how the rows are changed
    signs: object = None
    targets: float = 1.0
    converges: bool = True


def unscaled(X):
    return X * 10.0 ** np.linspace(-6, 6, X.shape[1])


HARD = {
    "large cost": Hard(cost=1e6),
    "large cost, one rank": Hard(cost=1e6, kernel=Linear(), converges=False),
    "large cost and targets": Hard("epsilon_svr", cost=1e6, targets=1e4),
    "large cost and targets, one rank": Hard(
        "epsilon_svr", Linear(), cost=1e6, targets=1e3, converges=False
    ),
    "unscaled": Hard(kernel=RBF(1.0), rows=unscaled),
    "unscaled, linear": Hard(kernel=Linear(), rows=unscaled, converges=False),
    "unscaled, cubic": Hard(kernel=Polynomial(3, 1.0, 1.0), rows=unscaled, converges=False),
    "repeated rows": Hard(rows=lambda X: np.repeat(X[::10], 10, axis=0)[: len(X)], cost=1e3),
    "contradicting rows": Hard(
        rows=lambda X: np.repeat(X[::2], 2, axis=0),
        signs=lambda y: np.resize([1.0, -1.0], y.size),
        cost=1e3,
    ),
    "equal rows": Hard(rows=np.ones_like),
    "rows of zeros": Hard(kernel=Linear(), rows=np.zeros_like),
    "rows of zeros, regression": Hard("nu_svr", Linear(), rows=np.zeros_like),
    "no cost": Hard(cost=0.0),
    "tiny cost": Hard(cost=1e-12),
    "one class alone but one": Hard(signs=lambda y: np.where(np.arange(y.size), 1.0, -1.0)),
    "indefinite": Hard(kernel=Sigmoid(0.5, -1.0), cost=10.0),
    "indefinite, two groups": Hard("nu_svc", Sigmoid(0.5, 1.0)),
    "indefinite detector": Hard("one_class", Sigmoid(2.0, -1.0)),
    "negative definite": Hard(
        kernel=FunctionKernel(lambda A, B: -(A @ B.T), positive_semidefinite=False)
    ),
    "nothing to learn": Hard("nu_svc", Linear(), converges=False),  # the optimum is w = 0
}


def hard_data(case, data):
    X = data.X if case.rows is None else case.rows(data.X)
    task = data.task
    task = replace(
        task,
        signs=task.signs if case.signs is None else case.signs(task.signs),
        targets=case.targets * task.targets,
        weights=np.full(task.weights.size, case.cost),
    )
    return Data(X, case.kernel or KERNELS["rbf"], task)


@pytest.mark.parametrize("case", HARD.values(), ids=HARD)
@pytest.mark.parametrize("base", [DATA, MANY], ids=["one block", "many rows"])
def test_hard_data_end_with_a_status(case, base):
    data = hard_data(case, base)
    problem = state(case.problem, data)
    limit = 60.0 if case.converges else 0.4
    began = time.perf_counter()
    solution = solve(data, problem, tolerance=1e-3, seconds=limit)
    assert time.perf_counter() - began < limit + 2.5
    assert_honest(solution, problem)
    if case.converges:
        assert solution.status is Status.CONVERGED
        assert solution.certificate.violation <= 1e-3
    else:
        assert solution.status in (Status.CONVERGED, Status.TIME_LIMIT, Status.STALLED)


def test_indefinite_kernels_are_found_out():
    for name, expected in (("indefinite", True), ("large cost", False)):
        data = hard_data(HARD[name], DATA)
        assert solve(data, state("c_svc", data), tolerance=1e-3).indefinite is expected


def test_precision_below_what_the_numbers_carry_stalls():
    solution = solve(DATA, state("c_svc", DATA), tolerance=1e-300)
    assert solution.status is Status.STALLED
    assert solution.certificate.violation < 1e-9
    assert solution.certificate.relative_gap < 1e-10


@each_problem
def test_float32_alone_is_corrected_to_the_tolerance(name):
    """Float32 carries about six digits; the corrections bring several more."""
    data = replace(MANY, X=MANY.X.astype(np.float32))
    problem = state(name, data)
    both = solve(data, problem, tolerance=1e-5, precision="auto")
    double = solve(data, problem, tolerance=1e-5, precision="float64")
    for solution in (both, double):
        assert solution.status is Status.CONVERGED
        assert_honest(solution, problem)
    assert both.certificate.dual == pytest.approx(double.certificate.dual, rel=1e-6)


# --- limits --------------------------------------------------------------------------------------


@each_problem
@pytest.mark.parametrize("limit", [0, 1, 37])
def test_iteration_limit_is_exact(name, limit):
    problem = state(name, DATA)
    solution = solve(DATA, problem, iterations=limit)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.iterations == limit
    assert_honest(solution, problem)
    assert np.count_nonzero(solution.x != problem.start) <= 2 * limit


@pytest.mark.parametrize("name", ["c_svc", "nu_svr"])
def test_more_iterations_never_make_it_worse(name):
    duals = [
        solve(DATA, state(name, DATA), iterations=n).certificate.dual for n in (0, 5, 25, 125, 625)
    ]
    assert duals == sorted(duals)


def test_no_time_at_all():
    problem = state("c_svc", MANY)
    solution = solve(MANY, problem, seconds=0.0)
    assert solution.status is Status.TIME_LIMIT
    np.testing.assert_array_equal(solution.x, problem.start)
    assert_honest(solution, problem)


def test_time_limit_stops_a_slow_kernel_between_rows(monkeypatch):
    """A kernel in Python may take long for the rows of one block."""
    monkeypatch.setattr(kernel_data, "BLOCK", 64)
    slow = FunctionKernel(lambda A, B: time.sleep(2e-6 * len(A) * len(B)) or KERNELS["rbf"](A, B))
    data = replace(MANY, kernel=slow)
    began = time.perf_counter()
    solution = solve(data, state("c_svc", data), seconds=0.5, budget=1 << 22)
    assert solution.status is Status.TIME_LIMIT
    elapsed = solution.history[-1].time
    assert elapsed < 1.5
    assert time.perf_counter() - began < 60


def test_gap_is_enough_where_asked_for():
    problem = state("c_svc", MANY)
    solution = solve(MANY, problem, tolerance=1e-9, gap=1e-2)
    assert solution.status is Status.GAP_REACHED
    assert 1e-9 < solution.certificate.relative_gap <= 1e-2
    assert solution.certificate.violation > 1e-9


def test_callback_sees_each_round_and_may_stop():
    seen = []

    def report(progress):
        seen.append(progress)
        return len(seen) == 3

    solution = solve(MANY, state("c_svc", MANY), reporter=report)
    assert solution.status is Status.STOPPED
    assert len(seen) == 3
    assert solution.history == tuple(seen)
    assert seen[0].iterations == 0
    assert seen[2].iterations == solution.iterations > 0


@pytest.mark.parametrize("answer", [None, 1, "stop", np.True_])
def test_only_true_stops(answer):
    solution = solve(DATA, state("c_svc", DATA), reporter=lambda progress: answer)
    assert solution.status is Status.CONVERGED


@each_problem
def test_interrupt_keeps_what_was_reached(name):
    problem = state(name, MANY)

    def interrupt(progress):
        if progress.iterations > 0:
            raise KeyboardInterrupt

    solution = solve(MANY, problem, reporter=interrupt)
    assert solution.status is Status.INTERRUPTED
    assert_honest(solution, problem)
    start = solve(MANY, problem, iterations=0)
    assert solution.certificate.dual > start.certificate.dual


def test_after_an_interrupt_nothing_long_is_computed(monkeypatch):
    """The running outputs, in float32 here, take the place of exact ones, and are nearly right."""

    def interrupt(progress):
        if progress.iterations > 0:
            raise KeyboardInterrupt

    def refuse(*arguments):
        raise AssertionError("exact outputs were computed")

    problem = state("c_svc", MANY)
    exact = solve(MANY, problem, reporter=interrupt).certificate
    monkeypatch.setattr(kernel_data, "HURRIED_VALUES", 0)
    monkeypatch.setattr(kernel_data.CpuKernelData, "_exact_outputs", refuse)
    hurried = solve(MANY, problem, reporter=interrupt)
    assert hurried.status is Status.INTERRUPTED
    assert hurried.certificate.dual == pytest.approx(exact.dual, rel=1e-4)
    assert hurried.certificate.primal == pytest.approx(exact.primal, rel=1e-4)


def test_what_was_cancelled_stops_at_the_next_look():
    asked = []
    monitor = Monitor(Limits(1e-3), cancelled=lambda: bool(asked) or asked.append(0) is not None)
    assert [monitor.out_of_budget() for _ in range(2)] == [None, Status.STOPPED]


def test_other_errors_of_a_callback_pass_through():
    def fail(progress):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        solve(DATA, state("c_svc", DATA), reporter=fail)


# --- warm start ----------------------------------------------------------------------------------


@each_problem
def test_start_at_the_solution_needs_no_step(name):
    problem = state(name, DATA)
    solution = solve(DATA, problem, tolerance=1e-6)
    again = solve(DATA, problem, tolerance=2e-6, start=solution.x)
    assert again.status is Status.CONVERGED
    assert again.iterations == 0
    np.testing.assert_array_equal(again.x, solution.x)


@each_problem
def test_interrupted_fit_can_be_resumed(name):
    problem = state(name, DATA)
    whole = solve(DATA, problem, tolerance=1e-7)
    half = solve(DATA, problem, tolerance=1e-7, iterations=whole.iterations // 2)
    rest = solve(DATA, problem, tolerance=1e-7, start=half.x)
    assert rest.status is Status.CONVERGED
    assert rest.iterations < whole.iterations
    assert rest.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-9)


def test_start_is_not_changed():
    problem = state("c_svc", DATA)
    start = problem.near(np.ones(400))
    before = start.copy()
    solve(DATA, problem, start=start)
    np.testing.assert_array_equal(start, before)
    np.testing.assert_array_equal(problem.start, 0)


# --- history -------------------------------------------------------------------------------------


def test_history_stays_short_and_keeps_the_order():
    monitor = Monitor(Limits(1e-3))
    solution = solve(DATA, state("c_svc", DATA))
    for round_ in range(10 * HISTORY_LENGTH):
        assert monitor.observe(replace(solution.history[0], iterations=round_)) is None
    rounds = [p.iterations for p in monitor.history]
    assert HISTORY_LENGTH / 4 < len(rounds) < HISTORY_LENGTH
    assert rounds == sorted(rounds)
    assert rounds[0] == 0
    assert rounds[-1] >= 9 * HISTORY_LENGTH
    assert np.ptp(np.diff(rounds[: len(rounds) // 2])) == 0


# --- concurrency ---------------------------------------------------------------------------------


def test_concurrent_fits_equal_serial_ones_to_the_last_bit():
    """Thirty-two fits, of all kinds and sizes, in eight threads that share one pool of workers."""
    names = list(PROBLEMS)
    jobs = [
        (names[i % 6], draw_data(150 + 97 * (i % 8) + 1500 * (i % 7 == 3), seed=i), 1 + i % 2)
        for i in range(32)
    ]

    def run(job):
        name, data, threads = job
        return solve(data, state(name, data), tolerance=1e-4, threads=threads, exact=name == "svdd")

    serial = [run(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        for one, other in zip(serial, pool.map(run, jobs), strict=True):
            np.testing.assert_array_equal(one.x, other.x)
            np.testing.assert_array_equal(one.outputs, other.outputs)
            assert one.certificate == other.certificate
            assert one.iterations == other.iterations


def test_pairs_that_share_kept_rows_are_not_solved_side_by_side():
    """With little memory the pairs are more than one block, and their kernel rows are kept."""
    X, y = load_digits(return_X_y=True)
    X = np.hstack([X, X + 0.1]) / 16  # of so many columns that rows are worth keeping
    one, two = (
        SVC(C=10, gamma=0.02, n_jobs=threads, memory_limit=3_000_000).fit(X, y)
        for threads in (1, 2)
    )
    assert two.kkt_violation_ <= two.tol
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
