"""Dual coordinate descent and the sums that certificates of linear machines are made of."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import LOSSES, rows_and_problem, solve

from widemargin import LinearSVC, _core
from widemargin.backends.cpu import linear_settling
from widemargin.backends.cpu.linear_descent import CpuLinearDescent
from widemargin.backends.cpu.linear_rows import LinearRows
from widemargin.problem import LinearProblem
from widemargin.solution import Status
from widemargin.solvers.dual_descent import dual_descent
from widemargin.solvers.monitor import Limits, Monitor


@pytest.mark.parametrize("name", list(LOSSES))
def test_compiled_judgement_is_the_formulas(name):
    X, problem = rows_and_problem(name, n=200)
    rng, loss, t = np.random.default_rng(0), LOSSES[name], problem.targets
    share = rng.choice([0.0, 1e-10, 0.3, 1.0 - 1e-10, 1.0], t.size) * (
        np.sign(t) if "hinge" in name else 1.0
    )
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


class Unsettled(CpuLinearDescent):
    settling_cost = np.inf  # a few linear systems would end it


def test_a_patient_descent_goes_on_where_another_gives_up():
    X, problem = rows_and_problem("hinge", n=400, bias_l2=1.0)
    ended = {}
    for patient in (False, True):
        machine = Unsettled(LinearRows(X, 1), problem)
        monitor = Monitor(Limits(0.0, 1e-4))
        ended[patient] = dual_descent(machine, monitor, patient=patient), machine.measure()
    assert ended[False][0] is Status.STALLED
    assert ended[True][0] is Status.GAP_REACHED
    assert ended[True][1].relative_gap <= 1e-4 < ended[False][1].relative_gap


def test_sums_over_many_features_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 20000), density=0.01, random_state=rng, format="csr")
    u = rng.normal(size=300) * (rng.random(300) < 0.7)
    one = LinearRows(X, 1).transposed(u)
    np.testing.assert_allclose(one, X.T @ u, atol=1e-13)
    assert (one == LinearRows(X, 3).transposed(u)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_products_of_some_rows_are_those_of_the_matrix(dtype, form):
    rng = np.random.default_rng(1)
    dense = (rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.3)).astype(dtype)
    rows = LinearRows(form(dense), 3, offset=1, step=2)
    ids, scale = rng.permutation(rows.count)[:20], rng.random(40)
    x = dense[1::2][ids].astype(np.float64)
    np.testing.assert_allclose(rows.products_of(ids, scale), (x * scale) @ x.T, atol=1e-12)
    np.testing.assert_allclose(rows.times_of(ids, scale), x @ scale, atol=1e-12)
    factor = rng.normal(size=20)
    for threads in (1, 3):
        some = LinearRows(rows.X, threads, offset=1, step=2)
        np.testing.assert_allclose(some.transposed_of(ids, factor), x.T @ factor, atol=1e-12)


@pytest.mark.parametrize("bias", [{"bias": False}, {"bias_l2": 0.25}, {}])
@pytest.mark.parametrize("name", [name for name in LOSSES if name != "logistic"])
@pytest.mark.parametrize("factored", [linear_settling.MOST_FACTORED, 0])
def test_settling_raises_the_dual_and_ends_where_free_rows_rest(name, bias, factored, monkeypatch):
    monkeypatch.setattr(linear_settling, "MOST_FACTORED", factored)
    X, problem = rows_and_problem(name, n=40, d=60, C=0.3, **bias)
    machine = CpuLinearDescent(LinearRows(X, 1), problem)
    for _ in range(30):
        machine.epoch()
        before = machine.measure()
        free = machine._free()
        assert 0 <= machine.settle(0.0) <= 1
        low, high = machine.bounds
        assert (machine.dual >= low).all()
        assert (machine.dual <= high).all()
        np.testing.assert_allclose(machine.weights, X.T @ machine.dual / problem.l2, atol=1e-10)
        if problem.bias_l2 or not problem.bias:  # a free one is a constraint, approached
            assert machine.measure().dual >= before.dual - 1e-10 * abs(before.dual)
    assert np.array_equal(free, machine._free())
    assert machine.measure().violation < 1e-8


def test_rows_that_nearly_depend_on_each_other_are_settled_with_damping():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 400)) + 1e-3 * rng.normal(size=(150, 400))
    problem = LinearProblem(LOSSES["hinge"], np.sign(X[:, 0] + 0.1), np.full(150, 1e4))
    machine = CpuLinearDescent(LinearRows(X, 1), problem)
    epochs = [machine.epoch().dual for _ in range(200)]
    assert machine.settle(1e-3) > 0
    assert machine.epoch().dual > epochs[-1] + 5 * (epochs[-1] - epochs[-101])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_of_very_different_lengths_converge(loss):
    """Word counts: a few long texts, common words in all; more free rows than are factored."""
    rng = np.random.default_rng(0)
    lengths = rng.lognormal(3.0, 1.5, 400)
    words = 1.0 / np.arange(1, 2001)
    X = sp.csr_array(rng.poisson(np.outer(lengths, words / words.sum() * 5)).astype(float))
    y = np.sign(np.log(lengths) - 3.0 + rng.normal(size=400))
    model = LinearSVC(loss=loss, gap_tol=1e-8).fit(X, y)
    assert model.duality_gap_ <= 1e-8
    assert model.solutions_[0].status.converged
