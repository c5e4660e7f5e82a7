"""Dual coordinate descent and the sums that certificates of linear machines are made of."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import LOSSES, rows_and_problem, solve

from widemargin import _core
from widemargin.backends.cpu.linear_descent import CpuLinearDescent
from widemargin.backends.cpu.linear_rows import LinearRows
from widemargin.problem import LinearProblem
from widemargin.solution import Status


@pytest.mark.parametrize("name", list(LOSSES))
def test_compiled_judgement_is_the_formulas(name):
    X, problem = rows_and_problem(name, n=200)
    rng, loss, t = np.random.default_rng(0), LOSSES[name], problem.targets
    share = rng.choice([0.0, 0.3, 1.0], t.size) * (np.sign(t) if "hinge" in name else 1.0)
    share = share * t if name == "logistic" else share
    outputs = X @ rng.normal(size=X.shape[1])
    samples = _core.samples(t, problem.costs, None)
    for threads in (1, 3):
        found = _core.judge(samples, loss.kind, loss.epsilon, outputs, share, threads)
        expected = (
            problem.costs @ loss.value(outputs, t),
            problem.costs @ loss.dual(share, t),
            loss.violation(outputs, t, share).max(),
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", list(LOSSES))
def test_gap_met_by_the_visit_of_the_only_row_is_the_gap_before_it(name):
    t = np.array([0.0 if name == "one_class" else 1.0 if "insensitive" not in name else 0.7])
    problem = LinearProblem(LOSSES[name], t, np.array([0.8]), bias=False)
    machine = CpuLinearDescent(LinearRows(np.array([[-0.3, 0.4]]), 1), problem)
    machine.dual[0] = 0.2
    machine._refresh()
    before = machine.measure()
    assert machine.epoch().gap == pytest.approx(before.gap, rel=1e-12)
    assert before.gap > machine.measure().gap == pytest.approx(0.0, abs=1e-12)


def test_rows_at_their_bounds_are_set_aside_and_taken_back():
    X, problem = rows_and_problem("hinge", n=2000, bias_l2=1.0)
    machine = CpuLinearDescent(LinearRows(X, 1), problem)
    for _ in range(30):
        now = machine.epoch()
    assert 0 < machine.active < machine.rows == 2000
    assert machine.take_back()
    assert machine.active == machine.rows
    assert not machine.take_back()
    assert machine.epoch().gap >= 0.5 * machine.measure().gap
    assert now.gap >= 0


def test_descent_gives_up_in_time_and_another_solver_finishes():
    X, problem = rows_and_problem("hinge", n=2000, C=1e4, bias_l2=1.0)
    solution = solve(X, problem, gap=1e-8, solver="dual")
    assert solution.status is Status.GAP_REACHED
    assert solution.iterations < 1000


def test_sums_over_many_features_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 20000), density=0.01, rng=rng, format="csr")
    u = rng.normal(size=300) * (rng.random(300) < 0.7)
    one = LinearRows(X, 1).transposed(u)
    np.testing.assert_allclose(one, X.T @ u, atol=1e-13)
    assert (one == LinearRows(X, 3).transposed(u)).all()
