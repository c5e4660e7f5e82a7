"""Working sets of columns: l1 penalties on many features."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import LOSSES, PENALTIES, naive_objective, solve

from widemargin.backends.cpu import CpuLinearData
from widemargin.backends.cpu.linear_machine import LinearPoint
from widemargin.problem import LinearProblem
from widemargin.solution import Status
from widemargin.solvers.linear import LinearOptions, choose

ALL = [name for name in LOSSES if name != "one_class"]


def wide(name, penalty, *, n=350, d=2500, C=1.0):
    rng = np.random.default_rng(0)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.02)
    t = X[:, :40] @ rng.normal(size=40) + 0.1 * rng.normal(size=n)
    if "insensitive" not in name:
        t = np.where(t > 0, 1.0, -1.0)
    l1, l2 = PENALTIES[penalty]
    return X, LinearProblem(LOSSES[name], t, np.full(n, C), l1=l1, l2=l2)


@pytest.mark.parametrize("penalty", ["l1", "elastic"])
@pytest.mark.parametrize("name", ALL)
def test_optimum_obeys_its_conditions(name, penalty):
    """Gap by the naive objective; v = Xᵀu in the subdifferential of the penalty."""
    X, problem = wide(name, penalty, C=3.0)
    found = solve(sp.csr_matrix(X), problem, gap=1e-7)
    assert found.status is Status.GAP_REACHED
    w, bias = found.weights, found.bias
    naive = naive_objective((X, problem), name, w, bias)
    assert found.certificate.primal == pytest.approx(naive, rel=1e-9)
    v = X.T @ (problem.costs * found.shares)
    assert np.abs(v[w == 0]).max() <= problem.l1 * (1 + 1e-6)
    support = np.flatnonzero(np.abs(w) > 1e-2 * np.abs(w).max())
    assert 0 < support.size < 1250
    wanted = problem.l1 * np.sign(w[support]) + problem.l2 * w[support]
    np.testing.assert_allclose(v[support], wanted, atol=2e-2 * problem.l1)


@pytest.mark.parametrize("form", ["csr", "dense", "fortran"])
def test_newton_over_all_columns_finds_the_same(form):
    X, problem = wide("squared_hinge", "l1")
    rows = {"csr": sp.csr_matrix(X), "dense": X, "fortran": np.asfortranarray(X)}[form]
    a = solve(rows, problem, gap=1e-9)
    b = solve(rows, problem, gap=1e-9, solver="newton")
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=1e-8)
    assert (a.weights[b.weights == 0] == 0).mean() > 0.99


def test_a_start_and_threads_change_nothing():
    X, problem = wide("hinge", "l1")
    X = sp.csr_matrix(X)
    one, two = solve(X, problem, gap=1e-6), solve(X, problem, gap=1e-6, threads=3)
    assert (one.weights == two.weights).all()
    point = LinearPoint(np.append(one.weights, one.bias), one.shares)
    again = solve(X, problem, gap=1e-6, start=point)
    assert again.certificate.primal == pytest.approx(one.certificate.primal, rel=1e-5)
    assert again.iterations < one.iterations


def test_no_column_is_worth_anything():
    X, problem = wide("hinge", "l1", C=1e-6)
    found = solve(sp.csr_matrix(X), problem, gap=1e-6)
    assert found.status.converged
    assert not found.weights.any()


def test_limit_of_time_leaves_a_certified_point():
    X, problem = wide("hinge", "l1", C=100.0)
    found = solve(sp.csr_matrix(X), problem, gap=1e-12, seconds=0.05)
    assert found.status in (Status.TIME_LIMIT, Status.GAP_REACHED)
    naive = naive_objective((X, problem), "hinge", found.weights, found.bias)
    assert found.certificate.primal == pytest.approx(naive, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "penalty", "columns", "wanted"),
    [
        ("hinge", "l1", 2500, "columns"),
        ("hinge", "l1", 50, "interior"),
        ("logistic", "l1", 50, "newton"),
        ("logistic", "elastic", 2500, "columns"),
        ("hinge", "l2", 2500, "dual"),
    ],
)
def test_rule(name, penalty, columns, wanted):
    X, problem = wide(name, penalty)
    data = CpuLinearData(np.ascontiguousarray(X[:, :columns]), 1)
    assert choose(data, problem, LinearOptions()) == wanted
