"""Small machines solved in one crossing are those that the solver of all others finds."""

import numpy as np
import pytest
from cases import PROBLEMS, draw_data
from sklearn.datasets import load_digits
from solving import open_data

from widemargin import SVC, kernels
from widemargin.backends.cpu import small
from widemargin.reductions import jobs
from widemargin.solvers.monitor import Limits, Monitor
from widemargin.solvers.small import STEPS, solve_small

DATA = draw_data(90, features=3, seed=4)
K = DATA.kernel(DATA.X, DATA.X)


def naive_certificate(problem, x, multipliers):
    """Violation, dual objective and gap, variable by variable."""
    gradient = np.tile(K @ problem.coefficients(x), problem.sides) + problem.linear
    gap = violation = 0.0
    for t, at in enumerate(x):
        r = gradient[t] + multipliers[problem.group[t]]
        gap += max((at - problem.lower[t]) * r, (at - problem.upper[t]) * r)
    for g in range(problem.groups):
        members = [t for t in range(x.size) if problem.group[t] == g]
        falls = max(gradient[t] for t in members if x[t] > problem.lower[t])
        rises = min(gradient[t] for t in members if x[t] < problem.upper[t])
        violation = max(violation, falls - rises)
    c = problem.coefficients(x)
    return violation, -(0.5 * c @ K @ c + problem.linear @ x), gap


@pytest.mark.parametrize("threads", [1, 2])
def test_each_problem_is_solved_and_certified(threads):
    data = open_data(DATA).on_threads(threads)
    problems = {name: case.state(DATA.task) for name, case in PROBLEMS.items()}
    taken = {name: p for name, p in problems.items() if data.small.takes(p)}
    assert set(problems) - set(taken) == {"nu_svc"}
    tasks = [(p, [np.arange(40), np.arange(40, 90)], p.start) for p in taken.values()]
    solutions = solve_small(data.small, tasks, Monitor(Limits(1e-3)))
    for problem, solution in zip(taken.values(), solutions, strict=True):
        assert solution.status.converged
        x, certificate = solution.x, solution.certificate
        violation, dual, gap = naive_certificate(problem, x, certificate.multipliers)
        assert violation <= 1e-9
        assert certificate.violation == pytest.approx(violation, abs=1e-11)
        assert certificate.dual == pytest.approx(dual, rel=1e-10)
        assert certificate.gap == pytest.approx(gap, abs=1e-10 * abs(dual))
        np.testing.assert_allclose(solution.outputs, K @ problem.coefficients(x), atol=1e-10)
        first = solution.history[0]
        assert first.iterations == 0
        begun = naive_certificate(problem, problem.start, certificate.multipliers)
        assert first.violation == pytest.approx(begun[0])
        assert first.dual_objective == pytest.approx(begun[1])


def test_machines_are_those_of_the_other_way(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]
    for kernel in (kernels.RBF(gamma=0.05), kernels.Linear(), kernels.Laplacian(gamma=0.02)):
        fast = SVC(C=10, kernel=kernel).fit(X, y)
        with monkeypatch.context() as patch:
            patch.setattr(small.SmallMachines, "takes", lambda self, problem: False)
            slow = SVC(C=10, kernel=kernel).fit(X, y)
        np.testing.assert_array_equal(fast.support_, slow.support_)
        np.testing.assert_allclose(fast.dual_coef_, slow.dual_coef_, atol=1e-7)
        np.testing.assert_allclose(fast.intercept_, slow.intercept_, atol=1e-8)


def test_machines_that_do_not_end_are_left_to_the_other_way(monkeypatch):
    monkeypatch.setattr("widemargin.solvers.small.STEPS", 3)
    model = SVC(C=100, gamma=1.0).fit(DATA.X, DATA.task.signs)
    assert model.kkt_violation_ <= 1e-3
    assert model.n_iter_.sum() > 3
    assert STEPS > 3


@pytest.mark.parametrize("settings", [{"max_iter": 5}, {"max_time": 60.0}, {"callback": print}])
def test_watched_fits_go_the_other_way(settings, monkeypatch):
    asked = []
    monkeypatch.setattr(jobs, "solve_small", lambda *a: asked.append(a))
    with np.errstate(all="ignore"):
        try:
            SVC(C=2.0, **settings).fit(DATA.X, DATA.task.signs)
        except Warning:
            assert "max_iter" in settings
    assert not asked
