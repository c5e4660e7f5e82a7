"""What fitted estimators certify holds, by naive formulas and by far tighter fits."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, Status
from widemargin.kernels import Kernel
from widemargin.reductions.machines import Machine

EXACT = 1e-9
LOOSE = 0.1


@cache
def data(classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels; the classes overlap.

    Each machine sees more rows than those few that are solved to rounding whatever the tolerance.
    """
    rows = 300 if classes == 2 else 150 * classes
    X, y = datasets.make_blobs(rows, 4, centers=classes, cluster_std=6.0, random_state=5)
    return StandardScaler().fit_transform(X), y


def targets(classes: int = 2) -> np.ndarray:
    X, _ = data(classes)
    return np.sin(2 * X[:, 0]) + 0.3 * np.random.default_rng(2).normal(size=X.shape[0])


@dataclass(frozen=True, eq=False)  # hashed by identity, so that fits are kept
class Case:
    kind: type
    settings: dict[str, Any] = field(default_factory=dict)
    classes: int = 2
    weighted: bool = False

    def __str__(self) -> str:
        return "-".join([self.kind.__name__, str(self.classes), *map(str, self.settings.values())])

    @property
    def weights(self) -> np.ndarray:
        rows = data(self.classes)[0].shape[0]
        return 0.5 + np.arange(rows) % 3 if self.weighted else np.ones(rows)

    def fit(self, **settings: Any) -> Any:
        X, y = data(self.classes)
        y = targets(self.classes) if self.kind in (SVR, NuSVR) else y
        weights = self.weights if self.weighted else None
        return self.kind(**(self.settings | settings)).fit(X, y, sample_weight=weights)


CASES = [
    Case(SVC, {"C": 2.0}),
    Case(SVC, {"C": 50.0, "gamma": 0.3}, weighted=True),
    Case(SVC, {"kernel": "linear", "C": 1.0}),
    Case(SVC, {"C": 3.0, "kernel": "poly", "degree": 2, "coef0": 1.0}, classes=4),
    Case(SVC, {"C": 2.0, "multi_class": "ovr"}, classes=4),
    Case(NuSVC, {"nu": 0.33}),
    Case(NuSVC, {"nu": 0.31, "multi_class": "ovr"}, classes=3, weighted=True),
    Case(SVR, {"C": 5.0, "epsilon": 0.2}),
    Case(SVR, {"C": 20.0, "epsilon": 0.0, "kernel": "laplacian", "gamma": 0.2}, weighted=True),
    Case(NuSVR, {"C": 3.0, "nu": 0.37}),
    Case(OneClassSVM, {"nu": 0.23}),
    Case(SVDD, {"nu": 0.2317, "kernel": "poly", "gamma": 0.1, "coef0": 1.0}, weighted=True),
]
each_case = pytest.mark.parametrize("case", CASES, ids=str)


@dataclass(frozen=True)
class Naive:
    """A machine read with formulas alone: gram matrix, signs or targets, costs, decisions."""

    machine: Machine
    K: np.ndarray
    y: np.ndarray
    costs: np.ndarray

    @property
    def a(self) -> np.ndarray:
        return self.machine.coefficients

    @property
    def f(self) -> np.ndarray:
        return self.K @ self.a + self.machine.bias

    @property
    def squared_norm(self) -> float:
        return float(self.a @ self.K @ self.a)


def naive_machines(case: Case, fitted: Any) -> list[Naive]:
    X, y = data(case.classes)
    kernel: Kernel = fitted.kernel_
    result = []
    for machine in fitted.machines_:
        rows = machine.rows
        if case.kind in (SVC, NuSVC):
            signs = np.where(y[rows] == fitted.classes_[machine.classes[0]], 1.0, -1.0)
        else:
            signs = targets(case.classes)[rows]
        costs = case.weights[rows] * getattr(fitted, "C", 1.0)
        result.append(Naive(machine, kernel(X[rows], X[rows]), signs, costs))
    return result


def best_level(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Return the r that minimises sum weights max(0, r - values) - share sum weights r."""
    levels = [
        (weights @ np.maximum(0.0, r - values) - share * weights.sum() * r, r) for r in values
    ]
    return min(levels)[1]


def primal(case: Case, n: Naive) -> float:
    """Return the primal objective of w and bias; levels that are no output take their best value.

    NuSVC and its rho belong together: the machine is divided by rho, so both are multiplied back.
    """
    half = 0.5 * n.squared_norm
    if case.kind is SVC:
        return half + float(n.costs @ np.maximum(0.0, 1.0 - n.y * n.f))
    if case.kind is SVR:
        outside = np.maximum(0.0, np.abs(n.y - n.f) - case.settings["epsilon"])
        return half + float(n.costs @ outside)
    nu = case.settings["nu"]
    if case.kind is NuSVC:
        rho = nu * n.costs.sum() / np.abs(n.a).sum()
        margins = rho * n.y * n.f
        level = best_level(margins, n.costs, nu)
        loss = n.costs @ np.maximum(0.0, level - margins) - nu * n.costs.sum() * level
        return rho**2 * half + float(loss)
    if case.kind is NuSVR:
        misses = np.abs(n.y - n.f)
        width = -best_level(-misses, n.costs, nu)
        loss = n.costs @ np.maximum(0.0, misses - width) + nu * n.costs.sum() * width
        return half + float(loss)
    total = nu * n.costs.sum()
    if case.kind is OneClassSVM:
        rho = -n.machine.bias
        return half - total * rho + float(n.costs @ np.maximum(0.0, rho - n.K @ n.a))
    center = n.a / total
    distances = np.diagonal(n.K) - 2 * n.K @ center + center @ n.K @ center
    radius = -best_level(-distances, n.costs, nu)
    ball = total * radius + n.costs @ np.maximum(0.0, distances - radius)
    return 0.5 * total * float(ball)


def dual(case: Case, n: Naive) -> float:
    """Return the dual objective of the coefficients."""
    a, half = n.a, 0.5 * n.squared_norm
    if case.kind is SVC:
        return float(np.abs(a).sum()) - half
    if case.kind is SVR:
        return float(n.y @ a) - case.settings["epsilon"] * float(np.abs(a).sum()) - half
    if case.kind is NuSVR:
        return float(n.y @ a) - half
    if case.kind is NuSVC:
        rho = case.settings["nu"] * n.costs.sum() / np.abs(a).sum()
        return -(rho**2) * half
    if case.kind is OneClassSVM:
        return -half
    return 0.5 * case.settings["nu"] * n.costs.sum() * float(np.diagonal(n.K) @ a) - half


@cache
def loose(case: Case) -> Any:
    return case.fit(tol=LOOSE)


@cache
def exact(case: Case) -> Any:
    return case.fit(tol=EXACT)


@each_case
@pytest.mark.parametrize("fitted", [loose, exact])
def test_objectives_are_the_formulas(case: Case, fitted: Any) -> None:
    machine = fitted(case)
    parts = naive_machines(case, machine)
    assert machine.dual_objective_ == pytest.approx(sum(dual(case, n) for n in parts), rel=1e-11)
    least = sum(primal(case, n) for n in parts)  # levels at their best, which is not always taken
    assert machine.primal_objective_ >= least - 1e-11 * abs(least)
    if fitted is exact:
        assert machine.primal_objective_ == pytest.approx(least, rel=1e-9)
    larger = max(abs(machine.primal_objective_), abs(machine.dual_objective_))
    gap = machine.primal_objective_ - machine.dual_objective_
    assert machine.duality_gap_ == pytest.approx(gap / larger, abs=1e-15)
    for n in parts:
        certificate = n.machine.solution.certificate
        assert n.machine.squared_norm == pytest.approx(n.squared_norm, rel=1e-9)
        assert certificate.dual == pytest.approx(dual(case, n), rel=1e-10)


@each_case
def test_gap_encloses_the_optimum(case: Case) -> None:
    """The optimum, known closely from a tight fit, lies within the objectives of a loose one."""
    rough, fine = loose(case), exact(case)
    assert fine.duality_gap_ < 1e-8 < 1e-7 < rough.duality_gap_
    rounding = 1e-11 * abs(fine.primal_objective_)
    assert rough.dual_objective_ <= fine.primal_objective_ + rounding
    assert rough.primal_objective_ >= fine.dual_objective_ - rounding


def decisions(case: Case, machine: Any, X: np.ndarray) -> np.ndarray:
    if case.kind in (SVR, NuSVR):
        return machine.predict(X)
    if case.kind in (SVC, NuSVC):
        machine.set_params(decision_function_shape="ovo")
    return machine.decision_function(X)


def rows_to_judge(case: Case) -> np.ndarray:
    return np.concatenate([data(case.classes)[0], 3 * data(case.classes)[0][:50] + 0.1])


@each_case
def test_decisions_are_within_their_bound(case: Case) -> None:
    X = rows_to_judge(case)
    rough, fine = loose(case), exact(case)
    apart = np.abs(decisions(case, rough, X) - decisions(case, fine, X))
    bound = rough.decision_bound(X)
    assert bound.shape == apart.shape
    assert (apart <= bound + fine.decision_bound(X)).all()
    assert apart.max() > 10 * fine.decision_bound(X).max()  # there was something to bound
    assert fine.decision_bound(X).max() < 0.1 * bound.max()


@pytest.mark.parametrize("case", [c for c in CASES if c.kind in (SVC, NuSVC)], ids=str)
def test_certain_labels_do_not_change(case: Case) -> None:
    X = rows_to_judge(case)
    truth = exact(case).predict(X)
    counts = []
    for tolerance in (1.0, LOOSE, 1e-3, EXACT):
        machine = case.fit(tol=tolerance)
        sure = machine.is_certain(X)
        np.testing.assert_array_equal(machine.predict(X)[sure], truth[sure])
        counts.append(sure.mean())
    assert counts[-1] > 0.99
    assert counts[0] < counts[-1]


def residuals(case: Case, n: Naive) -> np.ndarray:
    """Return how far each row is on the wrong side of its margin, tube or ball."""
    if case.kind in (SVC, NuSVC):
        return 1.0 - n.y * n.f
    if case.kind is SVR:
        return np.abs(n.y - n.f) - case.settings["epsilon"]
    if case.kind is NuSVR:
        misses = np.abs(n.y - n.f)
        return misses + best_level(-misses, n.costs, case.settings["nu"])
    return -n.f  # of SVDD, too, in the scale of its problem: see the formula in `problem`


@each_case
def test_support_sets_satisfy_the_optimality_conditions(case: Case) -> None:
    for n in naive_machines(case, exact(case)):
        machine, r = n.machine, residuals(case, n)
        if case.kind is SVDD:
            total = case.settings["nu"] * n.costs.sum()
            r = r + 0.5 * total * np.diagonal(n.K)
        scale = max(1.0, np.abs(r).max())
        near = 1e-7 * scale
        np.testing.assert_allclose(machine.slacks, np.maximum(r, 0.0), atol=near)
        absent, bounded = machine.coefficients == 0, machine.bounded
        free = ~absent & ~bounded
        assert (r[absent] <= near).all()
        assert (r[bounded] >= -near).all()
        if case.settings.get("epsilon") == 0.0:  # both sides of a tube of no width meet
            free &= False
        assert (np.abs(r[free]) <= near).all()
        assert free.any() or case.settings.get("epsilon") == 0.0
        assert bounded.any()
        np.testing.assert_array_equal(machine.support, machine.rows[~absent])
        np.testing.assert_array_equal(machine.free, machine.rows[~absent & ~bounded])
        limits = np.abs(machine.coefficients[bounded]) / n.costs[bounded]
        np.testing.assert_allclose(limits, limits.mean(), rtol=1e-9)


@pytest.mark.parametrize("case", [c for c in CASES if "nu" in c.settings], ids=str)
def test_nu_is_a_share(case: Case) -> None:
    """No more than a share nu of the weight errs, and no less supports."""
    for n in naive_machines(case, exact(case)):
        nu, total = case.settings["nu"], n.costs.sum()
        errs = n.machine.slacks > 1e-6 * max(1.0, n.machine.slacks.max())
        assert n.costs[errs].sum() <= nu * total * (1 + 1e-9)
        assert n.costs[n.machine.coefficients != 0].sum() >= nu * total * (1 - 1e-9)


@each_case
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_history_goes_up(case: Case, precision: str) -> None:
    machine = case.fit(precision=precision, tol=1e-5, solver="smo")
    assert machine.history_ == tuple(h for m in machine.machines_ for h in m.solution.history)
    for single in machine.machines_:
        history = single.solution.history
        assert len(history) >= 2
        for name in ("time", "iterations"):
            assert (np.diff([getattr(h, name) for h in history]) >= 0).all()
        duals = np.array([h.dual_objective for h in history])
        # Kernel values in float32 are off by two units in the last place, and the outputs made of
        # them are replaced by exact ones before the end; x'Kx is a few times the objective.
        rounding = (1e-13 if precision == "float64" else 2.0**-19) * np.abs(duals).max()
        assert (np.diff(duals) >= -rounding).all()
        assert history[0].gap > history[-1].gap
        assert history[-1].iterations == single.solution.iterations
        assert all(0 <= h.active <= h.rows for h in history)


def test_gap_tolerance_stops_the_fit() -> None:
    X, y = datasets.make_blobs(2500, 4, centers=2, cluster_std=6.0, random_state=5)
    for wanted in (1e-1, 1e-4):  # more rows than one block, which is solved at once
        machine = SVC(C=50.0, gap_tol=wanted, tol=1e-12).fit(X, y)
        assert machine.status_ is Status.GAP_REACHED
        assert machine.duality_gap_ <= wanted
        assert machine.fit_status_ == 0


def test_indefinite_kernel_is_told() -> None:
    """The gap bounds nothing without a positive semidefinite kernel, and the status says so."""
    machine = Case(SVC, {"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0}).fit()
    X, _ = data()
    assert np.linalg.eigvalsh(machine.kernel_(X, X))[0] < -1
    assert machine.status_ is Status.STATIONARY
    assert machine.fit_status_ == 0
