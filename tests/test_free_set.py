"""Newton steps on all free variables at once: they solve the problem, or change nothing."""

import numpy as np
import pytest
from cases import PROBLEMS, draw_data
from solving import open_data

from widemargin import SVC
from widemargin.backends.cpu import kernel_data
from widemargin.backends.cpu.free_set import FreeSet
from widemargin.solvers import block_smo

ROWS = 260
DATA = draw_data(ROWS, features=3, seed=8)
K = DATA.kernel(DATA.X, DATA.X)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks so small that they are never all variables."""
    monkeypatch.setattr(kernel_data, "BLOCK", 16)


@pytest.fixture
def tries(monkeypatch):
    """What the tries came to, in the order in which they were made."""
    made, solve = [], FreeSet.solve

    def recorded(self, tolerance):
        made.append(solve(self, tolerance))
        return made[-1]

    monkeypatch.setattr(FreeSet, "solve", recorded)
    return made


def rough_machine(name, precision="float64", kernel=K):
    """A machine on which pair steps have come to a violation below 0.01."""
    problem = PROBLEMS[name].state(DATA.task)
    every = np.arange(ROWS)
    opened = (
        open_data(DATA)
        if kernel is K
        else kernel_data.CpuKernelData(kernel, None, threads=1, budget=1 << 26, precision="float64")
    )
    machine = opened.machine(problem, [every], problem.start, precision, lambda: None)
    while machine.measure().violation > 0.01 and machine.select():
        machine.solve_block(1e-3, 10**6)
        while machine.load_rows():
            pass
        machine.apply()
    return machine


def violation(machine):
    """The violation by the whole kernel matrix."""
    p, x = machine.problem, machine.x
    gradient = np.tile(K @ p.coefficients(x), p.sides) + p.linear
    worst = 0.0
    for g in range(p.groups):
        falls, rises = (p.group == g) & (x > p.lower), (p.group == g) & (x < p.upper)
        worst = max(worst, gradient[falls].max() - gradient[rises].min())
    return worst / machine.scale


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_solution_is_optimal_and_feasible(name, precision):
    machine = rough_machine(name, precision)
    problem = machine.problem
    assert machine.free_set.solve(1e-9)
    assert violation(machine) <= 1e-8
    assert machine.measure().violation <= 1e-8
    assert ((machine.x >= problem.lower) & (machine.x <= problem.upper)).all()
    for g in range(problem.groups):
        inside = problem.group == g
        assert machine.x[inside].sum() == pytest.approx(problem.start[inside].sum(), abs=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_failure_changes_nothing(name):
    """A kernel matrix that is not positive has no optimum to go to."""
    draw = np.random.default_rng(0).normal(size=(ROWS, ROWS))
    machine = rough_machine(name, kernel=0.5 * (draw + draw.T))
    x, outputs = machine.x.copy(), machine.view.outputs.copy()
    if not machine.free_set.solve(1e-9):
        np.testing.assert_array_equal(machine.x, x)
        np.testing.assert_array_equal(machine.view.outputs, outputs)
    else:
        assert machine.measure().violation <= 1e-8


def hard_rows(rows=700):
    """Overlapping classes, some rows twice, some of these with the other label."""
    random = np.random.default_rng(5)
    X = random.normal(size=(rows, 5))
    y = np.where(X[:, 0] + 0.5 * random.normal(size=rows) > 0, 1, -1)
    X[600:] = X[:100]
    y[650:] = -y[50:100]
    return X, y


@pytest.mark.parametrize("C", [1e4, 1e7])
def test_hard_problems_end_by_them(C, tries, monkeypatch):
    monkeypatch.setattr(kernel_data, "BLOCK", 64)
    X, y = hard_rows()
    model = SVC(C=C, gamma=0.2, tol=1e-6, precision="float32").fit(X, y)
    assert True in tries
    assert model.kkt_violation_ <= 1e-6
    assert model.duality_gap_ <= 1e-6


def test_pair_steps_are_foreseen_to_take_longer_only_where_they_slow_down():
    def looks(violations, shares):
        outlook = block_smo._Outlook(1e-6)
        measures = [block_smo.Measure(v, 1.0, 0.0) for v in violations]
        return [outlook.poor(m, s, False) for m, s in zip(measures, shares, strict=True)]

    shares = np.linspace(0.5, 1.2, 8)
    assert not any(looks(10.0 ** -np.arange(8), shares)), "a tenth each round is fast"
    assert any(looks([9.0, 0.8, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45], shares))
    assert not any(looks(np.full(8, 9.0), shares)), "it has not begun to fall"
    assert not any(looks([9.0, 0.8, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45], 0.1 * shares)), "too early"
