"""The certificate of any point is the naive primal and dual objective, and never optimistic."""

import numpy as np
import pytest
from cases import KERNELS, PROBLEMS, draw_data
from hypothesis import given, settings
from hypothesis import strategies as st
from solving import Truth, open_data, solve

each_problem = pytest.mark.parametrize("name", PROBLEMS)
few = settings(max_examples=25)  # for each of six problems


@st.composite
def points(draw, name, kernels=("rbf", "linear", "laplacian", "polynomial"), most=1e6):
    """A problem on a few rows, and a feasible point with variables at and between their bounds."""
    kernel = KERNELS[draw(st.sampled_from(kernels))]
    seed, rows = draw(st.integers(0, 2**32 - 1)), draw(st.integers(4, 40))
    weights = draw(st.sampled_from([None, 1.0, 1e-3, most]))
    data = draw_data(rows, features=3, seed=seed, kernel=kernel, weights=weights)
    truth = Truth(PROBLEMS[name], data)
    problem, rng = truth.problem, np.random.default_rng(seed)
    shares = np.clip(rng.uniform(-0.5, 1.5, problem.linear.size), 0, 1)
    x = problem.near(problem.lower + shares * (problem.upper - problem.lower))
    return truth, draw(st.sampled_from([x, problem.start]))


def certify(truth, x):
    data = open_data(truth.data)
    return data.certify(truth.problem, [np.arange(truth.problem.rows)], x)


@each_problem
@few
@given(data=st.data())
def test_certificate_is_naive_primal_minus_dual(name, data):
    truth, x = data.draw(points(name))
    outputs, certificate = certify(truth, x)
    rounding = truth.rounding(x, certificate.multipliers)
    primal, dual = truth.primal(x, certificate.multipliers), truth.dual(x)
    assert abs(certificate.primal - primal) <= rounding
    assert abs(certificate.dual - dual) <= rounding
    assert certificate.gap >= 0
    assert certificate.gap >= primal - dual - rounding
    assert (abs(outputs - truth.outputs(x)) <= truth.output_rounding(x)).all()


@each_problem
@few
@given(data=st.data())
def test_no_other_multipliers_have_a_smaller_primal(name, data):
    """The primal is convex in them, so near and far neighbours suffice."""
    truth, x = data.draw(points(name))
    _, certificate = certify(truth, x)
    best = np.array(certificate.multipliers)
    primal = truth.primal(x, best)
    rounding = truth.rounding(x, best)
    for step in (1e-3, 1e-1, 10.0):
        for direction in np.vstack([np.eye(best.size), -np.eye(best.size), np.ones(best.size)]):
            assert truth.primal(x, best + step * direction) >= primal - rounding


@each_problem
@few
@given(data=st.data())
def test_violation_is_the_worst_pair(name, data):
    truth, x = data.draw(points(name))
    _, certificate = certify(truth, x)
    found = certificate.violation * truth.problem.scale(certificate.multipliers)
    rounding = 2 * truth.output_rounding(x).max() + 1e-15 * abs(truth.problem.linear).max()
    assert abs(found - truth.violation(x)) <= rounding


@each_problem
@settings(max_examples=10)
@given(data=st.data())
def test_optimal_multipliers_lie_where_the_certificate_says(name, data):
    truth, x = data.draw(points(name, kernels=["rbf", "laplacian"], most=10.0))
    _, certificate = certify(truth, x)
    optimum = solve(truth.data, truth.problem)
    slack = 1e-6 * (1 + np.abs(certificate.multiplier_range).max())
    for (low, high), m, best in zip(
        certificate.multiplier_range,
        certificate.multipliers,
        optimum.certificate.multiplier_range,
        strict=True,
    ):
        assert low <= m <= high
        # Where the optimal multiplier is not unique, some optimal one must lie there.
        assert low <= best[1] + slack
        assert best[0] - slack <= high


@each_problem
def test_range_shrinks_to_the_multiplier_with_the_gap(name):
    data = draw_data(80, seed=3, weights=1.0)
    problem = PROBLEMS[name].state(data.task)
    certificate = solve(data, problem, tolerance=1e-12).certificate
    for (low, high), m in zip(certificate.multiplier_range, certificate.multipliers, strict=True):
        assert low <= m <= high
        assert high - low < 1e-3


def test_relative_gap_counts_the_larger_objective():
    data = draw_data(30, weights=1.0)
    problem = PROBLEMS["c_svc"].state(data.task)
    _, certificate = certify(Truth(PROBLEMS["c_svc"], data), problem.start)
    assert certificate.dual == 0
    assert certificate.primal == pytest.approx(30.0)
    assert certificate.relative_gap == pytest.approx(1.0)
