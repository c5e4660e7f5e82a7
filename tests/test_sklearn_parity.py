"""Fitted to the same data, every class agrees with the one of the same name in scikit-learn."""

import inspect
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets, svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise
from sklearn.preprocessing import StandardScaler

import widemargin

TIGHT = 1e-10
CLASSIFIERS = ("SVC", "NuSVC")


@cache
def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and targets."""
    rng = np.random.default_rng(7)
    if name == "iris":
        return datasets.load_iris(return_X_y=True)
    if name == "words":  # iris with names for classes, the rows in another order
        X, y = datasets.load_iris(return_X_y=True)
        order = rng.permutation(y.size)
        return X[order], np.array(["setosa", "versicolor", "virginica"])[y[order]]
    if name == "digits":
        X, y = datasets.load_digits(return_X_y=True)
        return X[:250] / 16.0, y[:250]
    if name == "cancer":
        X, y = datasets.load_breast_cancer(return_X_y=True)
        return StandardScaler().fit_transform(X)[:300], y[:300]
    if name == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
        return StandardScaler().fit_transform(X)[:250], (y[:250] - 150.0) / 75.0
    if name == "line":  # one feature
        X = rng.uniform(-2, 2, (60, 1))
        return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    if name == "moons":
        X, y = datasets.make_moons(200, noise=0.2, random_state=3)
        return X, np.where(y, 5, -5)
    raise KeyError(name)


@dataclass(frozen=True)
class Case:
    """One class and one data set; `weights` asks for weights that depend on the row."""

    kind: str
    of: str
    settings: dict[str, Any] = field(default_factory=dict)
    weights: bool = False

    def __str__(self) -> str:
        return "-".join([self.kind, self.of, *map(str, self.settings.values())])

    def fit(self, package: Any, X: Any = None, **more: Any) -> Any:
        rows, y = data(self.of)
        weights = 0.25 + np.arange(y.size) % 4 if self.weights else None
        machine = getattr(package, self.kind)(tol=TIGHT, **(self.settings | more))
        return machine.fit(rows if X is None else X, y, sample_weight=weights)


RBF = {"gamma": 0.5}
POLY = {"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 2}
CASES = [
    Case("SVC", "iris"),
    Case("SVC", "iris", {"kernel": "linear", "C": 0.3}),
    Case("SVC", "words", {"C": 10.0} | POLY),
    Case("SVC", "digits", {"C": 5.0, "gamma": 0.02}),
    Case("SVC", "cancer", {"C": 2.0}),
    Case("SVC", "cancer", {"kernel": "linear"}),
    Case("SVC", "moons", RBF | {"C": 100.0, "class_weight": {5: 3.0}}, weights=True),
    Case("SVC", "iris", RBF | {"class_weight": "balanced"}),
    Case("SVC", "iris", RBF | {"class_weight": {0: 0.2, 2: 7.0}}, weights=True),
    Case("NuSVC", "iris", {"nu": 0.23}),
    Case("NuSVC", "cancer", {"nu": 0.1, "gamma": 0.01}),
    Case("NuSVC", "moons", {"nu": 0.3} | POLY),
    Case("SVR", "diabetes", {"C": 3.0}),
    Case("SVR", "diabetes", {"kernel": "linear", "epsilon": 0.5}),
    Case("SVR", "line", RBF | {"C": 20.0, "epsilon": 0.05}, weights=True),
    Case("NuSVR", "diabetes", {"C": 2.0, "nu": 0.3, "kernel": "poly", "gamma": 0.05, "coef0": 1.0}),
    Case("NuSVR", "line", {"C": 5.0, "gamma": 1.0}),
    Case("OneClassSVM", "cancer", {"nu": 0.1, "gamma": "auto"}),
    Case("OneClassSVM", "digits", {"nu": 0.4, "gamma": 0.02}, weights=True),
    Case("OneClassSVM", "iris", {"nu": 0.2, "kernel": "sigmoid", "gamma": 0.01, "coef0": 0.5}),
]
INDEFINITE = CASES[-1]
each_case = pytest.mark.parametrize("case", CASES, ids=str)


@cache
def pair(case: int) -> tuple[Any, Any]:
    return CASES[case].fit(widemargin), CASES[case].fit(svm)


def both(case: Case) -> tuple[Any, Any]:
    return pair(CASES.index(case))


def gram(case: Case, X: np.ndarray, machine: Any) -> np.ndarray:
    """Return the kernel matrix by scikit-learn's own functions."""
    kernel = case.settings.get("kernel", "rbf")
    gamma = machine._gamma  # scikit-learn keeps the number here
    given = {k: case.settings[k] for k in ("coef0", "degree") if k in case.settings}
    if kernel == "linear":
        return pairwise.linear_kernel(X)
    if kernel == "poly":
        return pairwise.polynomial_kernel(X, gamma=gamma, **({"coef0": 0.0} | given))
    if kernel == "sigmoid":
        return pairwise.sigmoid_kernel(X, gamma=gamma, **given)
    return pairwise.rbf_kernel(X, gamma=gamma)


def machines(case: Case, machine: Any, y: np.ndarray) -> list[np.ndarray]:
    """Return the signed coefficients of each machine over all rows, out of LIBSVM's layout."""
    dense = np.zeros((machine.dual_coef_.shape[0], y.size))
    dense[:, machine.support_] = machine.dual_coef_
    if case.kind not in CLASSIFIERS or len(machine.classes_) == 2:
        return [dense[0]]
    result = []
    for a, b in combinations(range(len(machine.classes_)), 2):
        of_a, of_b = y == machine.classes_[a], y == machine.classes_[b]
        result.append(np.where(of_a, dense[b - 1], 0.0) + np.where(of_b, dense[a], 0.0))
    return result


def dual_objective(case: Case, machine: Any, K: np.ndarray, y: np.ndarray) -> float:
    """Return the sum of the dual objectives, by their formulas."""
    total = 0.0
    for a in machines(case, machine, y):
        if case.kind == "NuSVC":  # rho is what the coefficients were divided by
            rows = np.isin(y, np.unique(y[a != 0])).sum()
            a = a * (case.settings["nu"] * rows / np.abs(a).sum())
        total -= 0.5 * float(a @ K @ a)
        if case.kind == "SVC":
            total += float(np.abs(a).sum())
        if case.kind in ("SVR", "NuSVR"):
            total += float(y @ a)
        if case.kind == "SVR":
            total -= case.settings.get("epsilon", 0.1) * float(np.abs(a).sum())
    return total


@each_case
def test_objective_is_that_of_the_reference(case: Case) -> None:
    ours, theirs = both(case)
    X, y = data(case.of)
    K = gram(case, X, theirs)
    reference = dual_objective(case, theirs, K, y)
    assert ours.dual_objective_ == pytest.approx(reference, rel=1e-6)
    assert dual_objective(case, ours, K, y) == pytest.approx(reference, rel=1e-6)
    if case is not INDEFINITE:
        assert ours.primal_objective_ == pytest.approx(reference, rel=1e-6)


ATTRIBUTES = (
    "support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "coef_", "offset_",
    "classes_", "class_weight_", "n_iter_", "fit_status_", "shape_fit_", "n_features_in_",
)  # fmt: skip


@each_case
def test_attributes_have_the_same_types_and_shapes(case: Case) -> None:
    ours, theirs = both(case)
    for name in ATTRIBUTES:
        if name == "class_weight_" and case.kind not in CLASSIFIERS:
            continue  # scikit-learn has an empty one even where there are no classes
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if not hasattr(theirs, name):
            continue
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(other) or np.isscalar(mine) == np.isscalar(other), name
        if isinstance(other, np.ndarray):
            assert (mine.dtype, mine.ndim) == (other.dtype, other.ndim), name
            # How many rows keep a coefficient of nearly zero is a matter of rounding.
            given = {"dual_coef_": slice(1), "support_": slice(0), "support_vectors_": slice(1, 2)}
            axes = given.get(name, slice(None))
            assert mine.shape[axes] == other.shape[axes], name
    for name in ("classes_", "fit_status_", "shape_fit_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(ours, name, 0), getattr(theirs, name, 0), name)
    if case.kind in CLASSIFIERS:
        np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_, rtol=1e-12)


@each_case
def test_coefficients_agree_in_place_and_sign(case: Case) -> None:
    """Where the kernel matrix is regular the coefficients are unique, otherwise w and bias are."""
    ours, theirs = both(case)
    y = data(case.of)[1]
    bounds = [m.bias_bound for m in ours.machines_]
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=3e-3 + 2 * max(bounds))
    if case.settings.get("kernel") == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    if case.settings.get("kernel", "rbf") == "rbf" and case.kind != "OneClassSVM":
        scale = np.abs(theirs.dual_coef_).max()
        for mine, other in zip(machines(case, ours, y), machines(case, theirs, y), strict=True):
            np.testing.assert_allclose(mine, other, atol=1e-4 * scale)
            assert set(np.flatnonzero(np.abs(other) > 1e-3 * scale)) <= set(ours.support_)
    support = ours.support_vectors_
    np.testing.assert_array_equal(support, data(case.of)[0][ours.support_])
    if case.kind in CLASSIFIERS:  # sorted by class, and within each by row
        np.testing.assert_array_equal(
            ours.support_, ours.support_[np.lexsort([ours.support_, y[ours.support_]])]
        )
        assert ours.n_support_.tolist() == [
            np.count_nonzero(y[ours.support_] == c) for c in ours.classes_
        ]
    else:
        assert ours.n_support_.tolist() == [ours.support_.size]


def outputs(machine: Any, X: Any, shape: str = "ovo") -> np.ndarray:
    """Return decisions, or predictions where there are none."""
    if hasattr(machine, "decision_function_shape"):
        machine = copy(machine).set_params(decision_function_shape=shape)
    return getattr(machine, "decision_function", machine.predict)(X)


def allowed(machine: Any, X: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return how far decisions may be apart.

    The kernel values of scikit-learn are rounded to float32, and where the optimal bias is not
    unique each machine may take another one; our own bound says how far that is.
    """
    bound = machine.decision_bound(X)
    return 3e-4 * max(1.0, np.abs(expected).max()) + 2 * bound.reshape(expected.shape)


@each_case
def test_decisions_and_predictions_agree(case: Case) -> None:
    ours, theirs = both(case)
    X = data(case.of)[0]
    Z = np.concatenate([X, 0.5 * (X[0::2] + X[1::2])])  # rows that were not learnt too
    mine, other = outputs(ours, Z), outputs(theirs, Z)
    assert mine.shape == other.shape
    apart = allowed(ours, Z, other)
    assert (np.abs(mine - other) <= apart).all()
    mine, other = ours.predict(Z), theirs.predict(Z)
    assert mine.dtype == other.dtype
    if case.kind in ("SVR", "NuSVR"):
        return
    sure = (np.abs(outputs(theirs, Z)) > apart).reshape(Z.shape[0], -1).all(axis=1)
    assert sure.mean() > 0.9
    np.testing.assert_array_equal(mine[sure], ours.predict(Z)[sure])
    np.testing.assert_array_equal(mine[sure], other[sure])
    if case.kind == "OneClassSVM":
        np.testing.assert_allclose(ours.score_samples(Z), theirs.score_samples(Z), rtol=1e-5)
    else:
        mine, other = outputs(ours, Z, "ovr"), outputs(theirs, Z, "ovr")
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine[sure], other[sure], atol=apart.max())


@pytest.mark.parametrize("case", [CASES[i] for i in (1, 3, 11, 13, 16, 17)], ids=str)
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_attributes_have_the_same_types(case: Case, container: Callable[[Any], Any]) -> None:
    X = container(np.round(data(case.of)[0], 1))
    ours, theirs = case.fit(widemargin, X), case.fit(svm, X)
    for name in ("support_vectors_", "dual_coef_", "coef_"):
        if hasattr(theirs, name):
            mine, other = getattr(ours, name), getattr(theirs, name)
            assert sparse.issparse(mine) == sparse.issparse(other), name
            assert mine.format == other.format, name
            assert mine.shape[1:] == other.shape[1:] or name == "dual_coef_", name
    expected = outputs(theirs, X)
    near = 3e-4 * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(outputs(ours, X), expected, atol=near)
    np.testing.assert_allclose(outputs(ours, X.toarray()), expected, atol=near)
    dense = case.fit(widemargin, X.toarray())
    np.testing.assert_allclose(outputs(dense, X), expected, atol=near)


def linear(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.asarray(A) @ np.asarray(B).T


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.settings.get("kernel") == "linear"], ids=str
)
def test_precomputed_and_callable_kernels_agree(case: Case) -> None:
    X = data(case.of)[0]
    named = both(case)[0]
    given, theirs = (case.fit(p, X @ X.T, kernel="precomputed") for p in (widemargin, svm))
    called = case.fit(widemargin, X, kernel=linear)
    test = X[::3] + 0.01
    expected = outputs(theirs, test @ X.T)
    near = 3e-4 * max(1.0, np.abs(expected).max())
    for machine, rows in ((named, test), (given, test @ X.T), (called, test)):
        np.testing.assert_allclose(outputs(machine, rows), expected, atol=near)
    assert given.support_vectors_.shape == theirs.support_vectors_.shape
    assert given.shape_fit_ == theirs.shape_fit_
    narrow = given.set_params(gram_columns="support")
    np.testing.assert_allclose(outputs(narrow, test @ X[given.support_].T), expected, atol=near)


@pytest.mark.parametrize("kind", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_signatures(kind: str) -> None:
    """Every parameter of scikit-learn exists here, with the same default."""
    theirs = inspect.signature(getattr(svm, kind)).parameters
    ours = inspect.signature(getattr(widemargin, kind)).parameters
    for name, parameter in theirs.items():
        assert name in ours, name
        if name != "probability" or parameter.default == "deprecated":  # so since 1.9
            assert ours[name].default == parameter.default, name
        assert ours[name].kind == parameter.kind, name
    for method in ("fit", "predict", "decision_function", "score_samples", "score"):
        if hasattr(getattr(svm, kind), method):
            mine, other = (
                list(inspect.signature(getattr(getattr(p, kind), method)).parameters)
                for p in (widemargin, svm)
            )
            assert mine == other, method


def test_ties_are_broken_alike() -> None:
    """Three lines that enclose a triangle, in which each class has one vote."""
    X, y = datasets.make_blobs(90, n_features=2, random_state=4, cluster_std=4)
    grid = np.stack(np.meshgrid(*[np.linspace(X.min(), X.max(), 60)] * 2), -1).reshape(-1, 2)
    for break_ties in (False, True):
        ours, theirs = (
            p.SVC(kernel="linear", break_ties=break_ties, tol=TIGHT).fit(X, y)
            for p in (widemargin, svm)
        )
        largest = np.argmax(ours.decision_function(grid), axis=1)
        np.testing.assert_array_equal(largest, np.argmax(theirs.decision_function(grid), axis=1))
        np.testing.assert_array_equal(ours.predict(grid), theirs.predict(grid))
        assert (ours.predict(grid) == largest).all() == break_ties


TINY = {
    "two rows": ([[0.0], [1.0]], [1, 2]),
    "two features": ([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], [1, 1, 1, 2, 2, 2]),
    "same rows": ([[1.0, 2.0]] * 5, [0, 1, 1, 1, 1]),
    "repeated rows": ([[0.0], [1.0]] * 4, [0, 1, 0, 1, 0, 1, 1, 0]),
    "constant column": ([[0.0, 3.0], [1.0, 3.0], [2.0, 3.0]], [0, 0, 1]),
    "wide": (np.diag([1.0, 2.0, 3.5]) @ np.eye(3, 40), [0, 1, 2]),
}


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("name", TINY)
def test_tiny_data(name: str, kernel: str) -> None:
    X, y = np.asarray(TINY[name][0], dtype=float), np.asarray(TINY[name][1])
    test = np.concatenate([X, X + 0.3, X - 2.0])
    kinds = ["SVC", "SVR", "NuSVR", "OneClassSVM"]
    if name not in ("same rows", "repeated rows"):  # the reference divides by a margin of zero
        kinds.append("NuSVC")
    for kind in kinds:
        nu = {"nu": 0.3} if kind not in ("SVC", "SVR") else {}
        ours, theirs = (
            getattr(p, kind)(kernel=kernel, tol=TIGHT, **nu).fit(X, y) for p in (widemargin, svm)
        )
        np.testing.assert_allclose(outputs(ours, test), outputs(theirs, test), atol=1e-5)
        np.testing.assert_array_equal(ours.shape_fit_, theirs.shape_fit_)


def test_constant_targets() -> None:
    """No row leaves the tube: no support vectors, and scikit-learn's shapes."""
    X = np.random.default_rng(0).normal(size=(8, 3))
    ours, theirs = (p.SVR(kernel="linear").fit(X, np.full(8, 2.5)) for p in (widemargin, svm))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
    for name in ("support_", "dual_coef_", "coef_", "support_vectors_", "n_support_"):
        assert getattr(ours, name).shape == getattr(theirs, name).shape, name
    np.testing.assert_array_equal(ours.coef_, np.zeros((1, 3)))


def test_coef_cannot_be_assigned_in_vain() -> None:
    X, y = data("iris")
    dense, csr = (widemargin.SVC(kernel="linear").fit(Z, y) for Z in (X, sparse.csr_array(X)))
    for machine in (dense, csr):
        with pytest.raises(AttributeError):
            machine.coef_ = np.zeros((3, 4))
    with pytest.raises(ValueError, match="read-only"):
        dense.coef_[0, 0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        csr.coef_.data[0] = 0.0
    np.testing.assert_allclose(X @ dense.coef_.T + dense.intercept_, outputs(dense, X), atol=1e-12)
    np.testing.assert_allclose(csr.coef_.toarray(), dense.coef_, atol=1e-8)


def test_iteration_limit_counts_as_in_scikit_learn() -> None:
    X, y = data("moons")
    for package in (widemargin, svm):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            machine = package.SVC(max_iter=2, C=1e3).fit(X, y)
        assert machine.n_iter_.tolist() == [2]
        assert machine.fit_status_ == 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert package.SVR(max_iter=2, C=1e3).fit(X, y).n_iter_ == 2
