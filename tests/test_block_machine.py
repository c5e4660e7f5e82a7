"""The operations of a machine keep its outputs, sums and objective true, whatever is set aside."""

import numpy as np
import pytest
from cases import PROBLEMS, draw_data
from hypothesis import given, settings
from hypothesis import strategies as st
from solving import open_data, solve

from widemargin.backends.cpu import kernel_data
from widemargin.backends.cpu.interior import interior_point
from widemargin.backends.cpu.machine import CpuMachine
from widemargin.backends.cpu.newton import BlockFinish
from widemargin.solvers import block_smo
from widemargin.solvers.certified import Options, solve_certified
from widemargin.solvers.monitor import Limits, Monitor

each_problem = pytest.mark.parametrize("name", PROBLEMS)
ROWS = 260
DATA = draw_data(ROWS, features=3, seed=8)
K = DATA.kernel(DATA.X, DATA.X)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks so small that there are many, and rows are set aside early, several times."""
    monkeypatch.setattr(kernel_data, "BLOCK", 16)
    monkeypatch.setattr(block_smo, "SHRINK_EVERY", 2)


def open_machine(name, precision="float64", dear=False, segments=None):
    problem = PROBLEMS[name].state(DATA.task)
    opened = open_data(DATA)
    opened.source.dear = dear
    segments = [np.arange(ROWS)] if segments is None else segments
    return opened.machine(problem, segments, problem.start, precision, lambda: None)


def outputs(machine):
    """K x of the rows at work, by the whole matrix."""
    return (K @ machine.problem.coefficients(machine.x))[machine.view.rows]


def objective(machine):
    """The dual objective of all rows, by the whole matrix."""
    x, p = machine.x, machine.problem
    return -(0.5 * p.coefficients(x) @ K @ p.coefficients(x) + p.linear @ x)


def step(machine, exact=False, limit=10**6):
    """Work on one block; say whether there was one."""
    now = machine.measure()
    if not machine.select():
        return False
    machine.solve_block(0.1 * now.violation, limit)
    if exact:
        machine.solve_block_exactly(0.1 * now.violation)
    while machine.load_rows():
        pass
    machine.apply()
    return True


@each_problem
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("dear", [False, True])
def test_outputs_and_objective_stay_true_while_rows_come_and_go(name, dear, parts):
    """Rows are set aside again and again before they come back, as they do in long fits."""
    segments = np.array_split(np.arange(ROWS), parts)
    machine, levels = open_machine(name, dear=dear, segments=segments), set()
    for _ in range(3):
        for round_ in range(40):
            if not step(machine, limit=6):  # few steps, so that there is work for many rounds
                break
            if round_ % 3 == 0:
                machine.set_aside()
            levels.add(machine.active)
            np.testing.assert_allclose(machine.view.outputs, outputs(machine), atol=1e-9)
            assert machine.measure().dual_objective == pytest.approx(objective(machine), rel=1e-9)
        machine.take_back()
        assert machine.active == ROWS
        assert not machine.take_back()
        np.testing.assert_allclose(machine.view.outputs, outputs(machine), atol=1e-9)
    assert len(levels) >= 3, "rows were set aside at most once"


@each_problem
@pytest.mark.parametrize("exact", [False, True])
def test_every_block_raises_the_objective_and_keeps_the_sums(name, exact):
    machine = open_machine(name)
    problem, before = machine.problem, -np.inf
    for _ in range(30):
        if not step(machine, exact):
            break
        now = objective(machine)
        assert now >= before - 1e-12 * abs(now)
        before = now
        x = machine.x
        assert (x >= problem.lower).all()
        assert (x <= problem.upper).all()
        for g in range(problem.groups):
            members = problem.group == g
            assert x[members].sum() == pytest.approx(problem.start[members].sum(), abs=1e-11)


@each_problem
def test_block_holds_the_worst_pair_of_the_worst_group(name):
    machine = open_machine(name)
    for _ in range(12):
        assert step(machine, limit=10)
        machine.measure()
        assert machine.select()
        view = machine.view
        gradient = np.tile(view.outputs, view.sides) + view.linear
        violations = []
        for g in range(view.groups):
            falls = np.flatnonzero((view.group == g) & (view.x > view.lower))
            rises = np.flatnonzero((view.group == g) & (view.x < view.upper))
            pair = falls[gradient[falls].argmax()], rises[gradient[rises].argmin()]
            violations.append((gradient[pair[0]] - gradient[pair[1]], pair))
        assert set(max(violations)[1]) <= set(machine.block)
        assert np.unique(machine.block).size == machine.block.size


@pytest.mark.parametrize("name", ["c_svc", "nu_svr"])
def test_exact_outputs_replace_rounded_ones(name):
    machine = open_machine(name, precision="float32")
    for _ in range(20):
        step(machine)
    machine.set_aside()
    exact = K @ machine.problem.coefficients(machine.x)
    assert abs(machine.base.outputs - exact).max() > 1e-9
    machine.correct(exact)
    assert machine.active == ROWS
    np.testing.assert_array_equal(machine.view.outputs, exact)
    before = objective(machine)
    step(machine)
    assert objective(machine) > before


@each_problem
def test_history_tells_of_an_objective_that_never_falls(name):
    """Also while rows are set aside, whose share of the objective is not computed anew."""
    solution = solve(DATA, PROBLEMS[name].state(DATA.task), tolerance=1e-6)
    duals = np.array([p.dual_objective for p in solution.history])
    assert (np.diff(duals) >= -1e-9 * abs(duals).max()).all()
    assert duals[-1] == pytest.approx(solution.certificate.dual, rel=1e-9)
    times = [p.time for p in solution.history]
    steps = [p.iterations for p in solution.history]
    assert times == sorted(times)
    assert steps == sorted(steps)
    assert all(0 < p.active <= p.rows == ROWS for p in solution.history)
    assert min(p.active for p in solution.history) < ROWS


def test_rows_come_back_before_the_end(monkeypatch):
    """No fit may end on the word of the rows at work alone."""
    seen = []
    original = CpuMachine.take_back

    def spy(machine):
        seen.append(machine.active)
        return original(machine)

    monkeypatch.setattr(CpuMachine, "take_back", spy)
    solution = solve(DATA, PROBLEMS["c_svc"].state(DATA.task), tolerance=1e-4)
    assert min(seen) < ROWS
    assert solution.history[-1].active == ROWS
    assert solution.certificate.violation <= 1e-4


@pytest.mark.parametrize("earned", [False, True])
def test_rows_may_stay_away_once_trust_is_earned_and_the_certificate_finds_out(earned, monkeypatch):
    """Rows are set aside at random, so that trust is misplaced: the fit ends solved anyway."""
    backs, aside, original = [], np.random.default_rng(3), CpuMachine.take_back

    def spy(machine):
        backs.append(machine.view is not machine.base)
        return original(machine)

    def drop(machine):
        keep = np.union1d(
            machine.block % machine.view.size, np.flatnonzero(aside.random(ROWS) < 0.7)
        )
        if machine.view is machine.base and not drop.done:
            drop.done = True
            smaller = machine.shrinker(machine, keep)
            machine._x_of_base_outputs = machine.view.x.copy()
            machine.block, machine.view = np.empty(0, dtype=np.int64), smaller

    drop.done = False
    monkeypatch.setattr(CpuMachine, "take_back", spy)
    monkeypatch.setattr(CpuMachine, "set_aside", drop)
    monkeypatch.setattr(kernel_data, "SHRINK_SHARE", 1.0)
    opened, problem = open_data(DATA), PROBLEMS["c_svc"].state(DATA.task)
    opened.trust.earned, opened.precisions = earned, ("float32", "float64")
    monitor = Monitor(Limits(1e-4))
    every = [np.arange(ROWS)]
    solution = solve_certified(opened, problem, every, problem.start, monitor, Options())
    assert drop.done
    assert backs.count(True) == (0 if earned else 1)
    assert solution.certificate.violation <= 1e-4
    assert solution.status.converged


# --- one block by Newton steps -------------------------------------------------------------------


@st.composite
def blocks(draw):
    """A small program of any rank with one or two groups, and a feasible point."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, rank = draw(st.integers(2, 24)), draw(st.integers(1, 24))
    factor = rng.normal(size=(size, rank)) * 10.0 ** draw(st.integers(-3, 3))
    half = np.repeat(rng.normal(size=(size, rank)), 2, axis=0)[:size]  # pairs of equal rows
    factor = draw(st.sampled_from([factor, half]))
    upper = rng.uniform(0.1, 1, size) * 10.0 ** draw(st.integers(-2, 6))
    group = np.zeros(size, np.int8)
    if draw(st.booleans()):
        group[size // 2 :] = 1
    return factor @ factor.T, rng.normal(size=size), upper, group


@settings(max_examples=150)
@given(blocks())
def test_newton_steps_never_increase_and_keep_sums_and_bounds(block):
    square, gradient, upper, group = block
    size = gradient.size
    kernel = np.zeros((size, 64))
    kernel[:, :size] = square
    x, lower = 0.5 * upper, np.zeros(size)
    diagonal = np.diag(square).copy()
    finish = BlockFinish(kernel, diagonal, gradient, x, lower, upper, group)
    finish.run(1e-9, lambda: None)
    found = finish.x
    assert (found >= lower).all()
    assert (found <= upper).all()
    for g in np.unique(group):
        total = x[group == g].sum()
        assert found[group == g].sum() == pytest.approx(total, rel=1e-11)
    move = found - x
    change = gradient @ move + 0.5 * move @ square @ move
    assert change <= 1e-9 * (abs(gradient) @ abs(move) + abs(move) @ abs(square) @ abs(move))


def test_newton_steps_stop_when_told():
    n = 40
    square = K[:n, :n]
    kernel = np.zeros((n, 64))
    kernel[:, :n] = square
    task, asked = DATA.task, []
    upper = np.full(n, 1e6)

    def stop():
        asked.append(True)
        return len(asked) >= 2

    group = np.zeros(n, np.int8)
    finish = BlockFinish(
        kernel, np.ones(n), -task.targets[:n], upper / 2, np.zeros(n), upper, group
    )
    finish.run(0.0, stop)
    assert len(asked) == 3  # within Newton steps, before and within the interior point method


# --- the interior point method -------------------------------------------------------------------


def interior_case(rank, cost, groups, seed=0):
    """Return a random block; with two groups it is one of nu machines."""
    rng = np.random.default_rng(seed)
    n = 80
    factor = rng.normal(size=(n, rank)) / rank**0.5
    group = np.arange(n) % groups
    sums = np.stack([group == g for g in range(groups)], axis=1).astype(float)
    upper = cost * rng.uniform(0.5, 1.5, n)
    return factor @ factor.T, rng.normal(size=n), np.zeros(n), upper, 0.3 * upper, sums


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("cost", [1e-4, 1.0, 1e6])
@pytest.mark.parametrize("rank", [2, 20, 200])
def test_interior_point_closes_the_gap(rank, cost, groups):
    square, linear, lower, upper, x, sums = interior_case(rank, cost, groups)
    found = interior_point(square, linear, lower, upper, x, sums, lambda: False)
    assert (found >= lower).all()
    assert (found <= upper).all()
    np.testing.assert_allclose(sums.T @ found, sums.T @ x, rtol=1e-9)
    gradient = square @ found + linear
    free = (found > lower) & (found < upper)
    gap = 0.0
    for members in sums.T.astype(bool):
        level = np.median(gradient[members & free])
        rest = gradient[members] - level
        gap += float(np.maximum(found[members] * rest, (found - upper)[members] * rest).sum())
    assert gap <= 1e-10 * (abs(linear) @ found + found @ abs(square) @ found)


def test_interior_point_stops_when_told():
    square, linear, lower, upper, x, sums = interior_case(200, 1.0, 1)
    found = interior_point(square, linear, lower, upper, x, sums, lambda: True)
    np.testing.assert_allclose(sums.T @ found, sums.T @ x, rtol=1e-9)
