"""Every learner is stated with a feasible start, and points can be brought back to feasibility."""

import warnings

import numpy as np
import pytest
from cases import PROBLEMS, Task
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from widemargin.problem import nu_svc

few = settings(max_examples=40)  # for each of six problems
each_problem = pytest.mark.parametrize("case", PROBLEMS.values(), ids=PROBLEMS)


def group_sums(problem, x):
    return np.array([x[problem.group == g].sum() for g in range(problem.groups)])


def rounding(problem):
    """What sums of numbers between the bounds may be off."""
    return 4e-15 * (problem.upper - problem.lower).sum()


def assert_feasible(problem, x):
    assert (x >= problem.lower).all()
    assert (x <= problem.upper).all()
    difference = group_sums(problem, x) - group_sums(problem, problem.start)
    assert (abs(difference) <= rounding(problem)).all()


@st.composite
def tasks(draw):
    """Both classes present; weights over many orders, some of them zero; nu up to its limit."""
    rows = draw(st.integers(2, 12))
    signs = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=rows, max_size=rows)))
    signs[:2] = 1, -1
    weight = st.floats(1e-6, 1e6) | st.sampled_from([0.0, 1.0])
    weights = draw(arrays(np.float64, rows, elements=weight))
    weights[:2] = np.maximum(weights[:2], 1e-3)
    targets = draw(arrays(np.float64, rows, elements=st.floats(-1e3, 1e3)))
    diagonal = draw(arrays(np.float64, rows, elements=st.floats(0, 1e3)))
    limit = 2 * min(weights[signs > 0].sum(), weights[signs < 0].sum()) / weights.sum()
    nu = limit * draw(st.floats(0.01, 1.0))
    return Task(signs, targets, weights, diagonal, nu, draw(st.floats(0, 10)))


@each_problem
@few
@given(task=tasks())
def test_start_is_feasible(case, task):
    problem = case.state(task)
    assert_feasible(problem, problem.start)
    assert problem.rows == task.signs.size
    assert problem.linear.size == problem.rows * problem.sides
    assert set(problem.group) == set(range(problem.groups))


@each_problem
@few
@given(task=tasks(), data=st.data())
def test_near_is_feasible_wherever_it_starts(case, task, data):
    problem = case.state(task)
    anywhere = st.floats(-1e9, 1e9) | st.sampled_from([0.0, -np.inf, np.inf])
    x = data.draw(arrays(np.float64, problem.linear.size, elements=anywhere))
    before = x.copy()
    assert_feasible(problem, problem.near(x))
    np.testing.assert_array_equal(x, before)


@each_problem
@few
@given(task=tasks(), share=st.floats(0, 1))
def test_near_leaves_feasible_points_alone(case, task, share):
    problem = case.state(task)
    other = problem.near(problem.lower + share * (problem.upper - problem.lower))
    point = 0.5 * (other + problem.start)
    np.testing.assert_allclose(problem.near(point), point, rtol=0, atol=rounding(problem))


@each_problem
@few
@given(task=tasks())
def test_row_coefficients_add_the_sides(case, task):
    problem = case.state(task)
    x = np.arange(1.0, problem.linear.size + 1)
    n = problem.rows
    expected = x if problem.sides == 1 else x[:n] + x[n:]
    np.testing.assert_array_equal(problem.coefficients(x), expected)


@pytest.mark.parametrize("name", ["nu_svc", "nu_svr", "one_class", "svdd"])
@few
@given(task=tasks())
def test_start_has_the_sums_that_nu_asks_for(name, task):
    """The total weight of a class, a side, or all rows that nu speaks of."""
    problem = PROBLEMS[name].state(task)
    share = task.nu * task.weights.sum()
    expected = {"nu_svc": [share / 2, -share / 2], "nu_svr": [share / 2, -share / 2]}
    sums = group_sums(problem, problem.start)
    np.testing.assert_allclose(sums, expected.get(name, [share]), rtol=0, atol=rounding(problem))


def test_infeasible_nu_is_lowered_with_one_sentence():
    signs = np.array([1.0, -1.0, -1.0, -1.0, -1.0])
    with pytest.warns(UserWarning, match="specified nu is infeasible") as caught:
        problem = nu_svc(signs, np.ones(5), 0.41)
    assert str(caught[0].message) == (
        "specified nu is infeasible: nu=0.41, but the lighter class allows at most 0.4, "
        "which is used instead; lower nu or use SVC"
    )
    assert_feasible(problem, problem.start)
    np.testing.assert_allclose(group_sums(problem, problem.start), [1, -1], rtol=1e-5)
    assert nu_svc(signs, np.ones(5), 0.4).start.tolist() == [1, -1, 0, 0, 0]


@given(
    weights=arrays(np.float64, 6, elements=st.floats(0.1, 10)),
    nu=st.floats(0.01, 1.0),
)
def test_nu_is_infeasible_exactly_beyond_the_lighter_class(weights, nu):
    signs = np.array([1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
    limit = 2 * min(weights[signs > 0].sum(), weights[signs < 0].sum()) / weights.sum()
    beyond = nu > limit * (1 + 1e-9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = nu_svc(signs, weights, nu)
    assert beyond == bool(caught) or limit <= nu <= limit * (1 + 1e-9)
    assert_feasible(problem, problem.start)


def test_violations_of_nu_svc_are_measured_in_units_of_rho():
    """Only there the decision function is divided by rho, half the distance of the multipliers."""
    task = Task(np.array([1.0, -1.0]), np.zeros(2), np.ones(2), np.ones(2))
    for name, case in PROBLEMS.items():
        expected = 0.25 if name == "nu_svc" else 1.0
        assert case.state(task).scale([1.0, 1.5]) == expected
    problem = PROBLEMS["nu_svc"].state(task)
    assert problem.scale([0.0, 100.0]) == 1.0
    assert 0 < problem.scale([0.0, 0.0]) < 1e-5
