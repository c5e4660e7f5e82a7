"""The estimators live among other tools: copies, searches, pipelines, threads, little memory."""

import copy
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.kernels import RBF, FunctionKernel, Laplacian, Linear, Polynomial, Spectrum

X, Y = datasets.make_blobs(120, 4, centers=3, cluster_std=3.0, random_state=2)
X = X / 4.0
TEST = X[::3] + 0.1
TWO = Y < 2

MACHINES = {
    "SVC": SVC(C=2.0),
    "SVC sigmoid": SVC(kernel="sigmoid", gamma=0.1, decision_function_shape="ovo"),
    "SVC ovr linear": SVC(kernel="linear", multi_class="ovr"),
    "SVC kernel object": SVC(kernel=0.5 * RBF(0.3) + Linear() * Laplacian(0.1)),
    "NuSVC": NuSVC(nu=0.1, gamma=0.5),
    "SVR": SVR(C=3.0),
    "NuSVR": NuSVR(kernel="laplacian", gamma=0.1),
    "OneClassSVM": OneClassSVM(nu=0.2),
    "SVDD": SVDD(nu=0.2, kernel="linear"),
}
each_machine = pytest.mark.parametrize("name", MACHINES)


def outputs(machine: Any, rows: Any = TEST) -> np.ndarray:
    return getattr(machine, "decision_function", machine.predict)(rows)


def through_joblib(machine: Any) -> Any:
    file = BytesIO()
    joblib.dump(machine, file)
    file.seek(0)
    return joblib.load(file)


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    "old pickle": lambda m: pickle.loads(pickle.dumps(m, protocol=2)),
    "joblib": through_joblib,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@each_machine
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_copies_decide_alike(
    name: str, copied: Callable[[Any], Any], storage: Callable[[Any], Any]
) -> None:
    machine = clone(MACHINES[name]).fit(storage(X), Y)
    other = copied(machine)
    assert other is not machine
    np.testing.assert_array_equal(outputs(other), outputs(machine))
    assert other.status_ is machine.status_
    assert other.get_params().keys() == machine.get_params().keys()
    assert repr(other) == repr(machine)


@each_machine
def test_clone_is_unfitted_and_fits_to_the_same(name: str) -> None:
    machine = clone(MACHINES[name]).fit(X, Y)
    again = clone(machine)
    assert not hasattr(again, "support_")
    np.testing.assert_array_equal(outputs(again.fit(X, Y)), outputs(machine))
    np.testing.assert_array_equal(outputs(machine.fit(X, Y)), outputs(again))


def test_pickle_holds_no_more_rows_than_the_support_vectors() -> None:
    """A model of few support vectors stays small, however many rows it was trained on."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 50))
    rows[:, 0] += np.where(np.arange(3000) % 2, 8.0, -8.0)
    machine = SVC(kernel="linear").fit(rows, np.arange(3000) % 2)
    assert machine.support_.size < 30
    assert len(pickle.dumps(machine)) < 0.3 * rows.nbytes


# --- searches and pipelines ----------------------------------------------------------------------


def test_grid_search_reaches_into_a_kernel() -> None:
    grid = {"kernel__gamma": [1e-4, 0.1, 50.0], "C": [0.1, 10.0]}
    search = GridSearchCV(SVC(kernel=RBF()), grid, cv=3).fit(X, Y)
    named = GridSearchCV(SVC(), {"gamma": grid["kernel__gamma"], "C": grid["C"]}, cv=3).fit(X, Y)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"]
    )
    assert len(set(search.cv_results_["mean_test_score"])) > 2
    assert search.best_params_["kernel__gamma"] == named.best_params_["gamma"]
    assert search.best_estimator_.kernel.gamma == named.best_estimator_.gamma


def test_pipeline_scales_before_the_machine() -> None:
    scaled = np.array([1e-3, 1.0, 1e3, 1e5]) * X
    pipe = make_pipeline(StandardScaler(), SVC(tol=1e-8)).fit(scaled, Y)
    plain = SVC(tol=1e-8).fit(StandardScaler().fit_transform(X), Y)
    np.testing.assert_allclose(
        pipe.decision_function(scaled), outputs(plain, StandardScaler().fit_transform(X)), atol=1e-6
    )
    pipe.set_params(svc__C=5.0)
    assert pipe[-1].C == 5.0


def test_processes_and_threads_of_joblib_agree() -> None:
    for settings in ({}, {"kernel": RBF(0.3) + Linear()}):
        serial = cross_val_predict(SVC(**settings), X, Y, cv=3)
        for backend in ("loky", "threading"):
            with joblib.parallel_backend(backend, n_jobs=2):
                np.testing.assert_array_equal(
                    cross_val_predict(SVC(**settings), X, Y, cv=3), serial
                )


def test_cross_validation_slices_precomputed_kernels() -> None:
    gram = pairwise.rbf_kernel(X, gamma=0.1)
    np.testing.assert_array_equal(
        cross_val_score(SVC(kernel="precomputed"), gram, Y),
        cross_val_score(SVC(gamma=0.1), X, Y),
    )


# --- kernels -------------------------------------------------------------------------------------

ALGEBRA = {
    "sum": (RBF(0.2) + Linear(), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.2) + A @ B.T),
    "product": (
        Polynomial(2, 0.5, 1.0) * Laplacian(0.3),
        lambda A, B: (0.5 * A @ B.T + 1) ** 2 * pairwise.laplacian_kernel(A, B, gamma=0.3),
    ),
    "multiple": (4.0 * RBF(0.2), lambda A, B: 4 * pairwise.rbf_kernel(A, B, gamma=0.2)),
    "function": (FunctionKernel(lambda A, B: A @ B.T), lambda A, B: A @ B.T),
}


@pytest.mark.parametrize(("kernel", "formula"), ALGEBRA.values(), ids=ALGEBRA)
@pytest.mark.parametrize("kind", [SVC, SVR, OneClassSVM])
def test_combined_kernels_equal_their_matrix(
    kernel: Any, formula: Callable[[Any, Any], Any], kind: type
) -> None:
    machine = kind(kernel=kernel, tol=1e-8).fit(X, Y)
    given = kind(kernel="precomputed", tol=1e-8).fit(formula(X, X), Y)
    near = 1e-6 * max(1.0, np.abs(outputs(machine)).max())
    np.testing.assert_allclose(outputs(machine), outputs(given, formula(TEST, X)), atol=near)


def test_combined_kernels_take_sparse_rows() -> None:
    kernel = RBF(0.2) + 2.0 * Linear()
    dense = SVC(kernel=kernel, tol=1e-8).fit(X, Y)
    csr = SVC(kernel=kernel, tol=1e-8).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(outputs(csr, sparse.csr_array(TEST)), outputs(dense), atol=1e-6)


STRINGS = ["abab", "babab", "bababb", "ccbcc", "bccc", "cbcbc", "ababa", "cccb"]
KINDS = ["one", "one", "one", "two", "two", "two", "one", "two"]


def shared(s: str, t: str) -> int:
    """Count pairs of equal substrings of length 2."""
    return sum(s[i : i + 2] == t[j : j + 2] for i in range(len(s) - 1) for j in range(len(t) - 1))


@pytest.mark.parametrize("container", [list, np.array, lambda s: np.array(s, dtype=object)])
def test_strings(container: Callable[[Any], Any]) -> None:
    gram = np.array([[shared(s, t) for t in STRINGS] for s in STRINGS], dtype=float)
    machine = SVC(kernel=Spectrum(2, normalize=False), tol=1e-8).fit(container(STRINGS), KINDS)
    given = SVC(kernel="precomputed", tol=1e-8).fit(gram, KINDS)
    new = ["ababab", "ccc", "bc", ""]
    between = np.array([[shared(s, t) for t in STRINGS] for s in new], dtype=float)
    np.testing.assert_allclose(outputs(machine, container(new)), outputs(given, between), atol=1e-6)
    assert machine.predict(["babab", "bccb"]).tolist() == ["one", "two"]
    assert machine.support_vectors_ == [STRINGS[i] for i in machine.support_]
    reloaded = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(outputs(reloaded, new), outputs(machine, new))


def test_grid_search_over_strings() -> None:
    search = GridSearchCV(SVC(kernel=Spectrum()), {"kernel__length": [1, 2, 3]}, cv=2)
    search.fit(STRINGS * 2, KINDS * 2)
    assert search.best_estimator_.kernel.length in (1, 2, 3)
    assert search.predict(["abab"]).tolist() == ["one"]


def test_function_is_asked_for_support_objects_only() -> None:
    seen: list[int] = []

    def kernel(A: list[Any], B: list[Any]) -> np.ndarray:
        seen.append(len(B))
        return np.array([[shared(a, b) for b in B] for a in A], dtype=float)

    machine = SVC(kernel=kernel).fit(STRINGS * 3, KINDS * 3)
    seen.clear()
    machine.predict(STRINGS)
    assert seen == [machine.support_.size]
    assert machine.support_.size < 3 * len(STRINGS)


# --- threads and memory --------------------------------------------------------------------------


@each_machine
def test_number_of_threads_does_not_matter(name: str) -> None:
    X, y = datasets.make_classification(1500, 12, n_informative=8, n_classes=3, random_state=0)
    one, two = (clone(MACHINES[name]).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(outputs(one, X), outputs(two, X))
    assert one.dual_objective_ == two.dual_objective_


def test_concurrent_fits_equal_serial_ones() -> None:
    """Eight threads with four fits each, to the last bit: nothing is shared."""
    tasks = [
        (clone(MACHINES[name]), X[shift:], Y[shift:])
        for shift in range(4)
        for name in list(MACHINES)[:8]
    ]

    def run(task: tuple[Any, np.ndarray, np.ndarray]) -> np.ndarray:
        machine, rows, y = task
        return outputs(clone(machine).fit(rows, y))

    serial = [run(task) for task in tasks]
    barrier = threading.Barrier(8)

    def share(number: int) -> list[np.ndarray]:
        barrier.wait()
        return [run(task) for task in tasks[number::8]]

    with ThreadPoolExecutor(8) as pool:
        shares = list(pool.map(share, range(8)))
    for number, results in enumerate(shares):
        for mine, other in zip(results, serial[number::8], strict=True):
            np.testing.assert_array_equal(mine, other)
    assert len(tasks) == 32


def test_one_fitted_machine_predicts_in_many_threads() -> None:
    machine = SVC(n_jobs=2).fit(X, Y)
    expected = outputs(machine)
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: outputs(machine), range(64)):
            np.testing.assert_array_equal(result, expected)
