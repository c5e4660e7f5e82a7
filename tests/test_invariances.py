"""The model depends on what the data say, not on how they are stored, ordered or named."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import datasets

from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

ROWS = 60
TIGHT = 1e-10
NEAR = 1e-6


def make() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with some zeros, three classes and targets."""
    rng = np.random.default_rng(11)
    X, y = datasets.make_blobs(ROWS, 5, centers=3, cluster_std=4.0, random_state=1)
    X = np.where(rng.random(X.shape) < 0.4, 0.0, X / 5.0)
    return X, y, np.sin(X[:, 0]) + 0.2 * rng.normal(size=ROWS)


X, LABELS, TARGETS = make()
TEST = np.random.default_rng(3).normal(size=(30, 5)) * (np.arange(5) > 0)


@dataclass(frozen=True)
class Case:
    kind: type
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.kind.__name__, *map(str, self.settings.values())])

    @property
    def y(self) -> np.ndarray:
        return TARGETS if self.kind in (SVR, NuSVR) else LABELS

    def fit(self, rows: Any = X, y: Any = None, weights: Any = None, **settings: Any) -> Any:
        machine = self.kind(**({"tol": TIGHT} | self.settings | settings))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "specified nu is infeasible", UserWarning)
            return machine.fit(rows, self.y if y is None else y, sample_weight=weights)


def outputs(machine: Any, rows: Any = TEST) -> np.ndarray:
    return getattr(machine, "decision_function", machine.predict)(rows)


CASES = [
    Case(SVC, {"C": 3.0}),
    Case(SVC, {"kernel": "poly", "coef0": 1.0, "decision_function_shape": "ovo"}),
    Case(SVC, {"kernel": "linear", "multi_class": "ovr"}),
    Case(NuSVC, {"nu": 0.37}),
    Case(SVR, {"C": 2.0, "epsilon": 0.05}),
    Case(NuSVR, {"nu": 0.41, "kernel": "laplacian"}),
    Case(OneClassSVM, {"nu": 0.23}),
    Case(SVDD, {"nu": 0.27, "kernel": "poly", "gamma": 0.3}),
]
each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_classifier = pytest.mark.parametrize(
    "case", [c for c in CASES if c.kind in (SVC, NuSVC)], ids=str
)
STORAGE = {"dense": np.asarray, "sparse": sparse.csr_array}


# --- weights -------------------------------------------------------------------------------------


@each_case
@pytest.mark.parametrize("storage", STORAGE.values(), ids=STORAGE)
def test_weight_is_a_count(case: Case, storage: Callable[[Any], Any]) -> None:
    """A weight of 2 is the row twice, a weight of 0 the row left out; gamma="scale" knows it."""
    counts = np.random.default_rng(5).integers(0, 4, ROWS)
    repeated = np.repeat(np.arange(ROWS), counts)
    weighted = case.fit(storage(X), weights=counts)
    expanded = case.fit(storage(X[repeated]), case.y[repeated])
    if case.settings.get("kernel") != "linear":
        gammas = [m.kernel_.gamma for m in (weighted, expanded)]
        assert gammas[0] == pytest.approx(gammas[1], rel=1e-12)
    np.testing.assert_allclose(outputs(weighted), outputs(expanded), atol=NEAR)
    assert weighted.primal_objective_ == pytest.approx(expanded.primal_objective_, rel=1e-9)
    assert set(weighted.support_) <= set(np.flatnonzero(counts))
    plain = case.fit(storage(X))
    assert np.abs(outputs(plain) - outputs(weighted)).max() > 1e-3  # weights do something


@each_case
def test_rows_without_weight_are_absent_whatever_they_hold(case: Case) -> None:
    strange = np.concatenate([X, 1e3 * X[:4] + 7.0])
    y = np.concatenate([case.y, np.full(4, 99)])  # a class of its own, were it counted
    weights = np.r_[np.ones(ROWS), np.zeros(4)]
    with_them, without = case.fit(strange, y, weights), case.fit()
    np.testing.assert_allclose(outputs(with_them), outputs(without), atol=1e-9)
    if hasattr(without, "classes_"):
        np.testing.assert_array_equal(with_them.classes_, without.classes_)


@each_classifier
@pytest.mark.parametrize("storage", STORAGE.values(), ids=STORAGE)
def test_class_weight_multiplies_sample_weight(case: Case, storage: Callable[[Any], Any]) -> None:
    rows, gamma = storage(X), {"gamma": 0.2}
    of_class = {0: 0.5, 2: 3.0}
    weights = 1.0 + np.arange(ROWS) % 3
    both = case.fit(rows, weights=weights, class_weight=of_class, **gamma)
    product = weights * np.array([0.5, 1.0, 3.0])[LABELS]
    np.testing.assert_array_equal(outputs(both), outputs(case.fit(rows, weights=product, **gamma)))
    totals = np.bincount(LABELS, weights)
    balanced = dict(enumerate(weights.sum() / (3 * totals)))
    np.testing.assert_array_equal(
        outputs(case.fit(rows, weights=weights, class_weight="balanced", **gamma)),
        outputs(case.fit(rows, weights=weights, class_weight=balanced, **gamma)),
    )


# --- order and names -----------------------------------------------------------------------------


@each_case
def test_order_of_rows_does_not_matter(case: Case) -> None:
    order = np.random.default_rng(1).permutation(ROWS)
    shuffled, plain = case.fit(X[order], case.y[order]), case.fit()
    np.testing.assert_allclose(outputs(shuffled), outputs(plain), atol=NEAR)
    assert shuffled.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-10)


NAMES = {
    "integers": np.array([0, 1, 2]),
    "far apart": np.array([-7, 1000, 5000]),
    "floats": np.array([0.0, 1.0, 2.0]),
    "text": np.array(["apple", "pear", "plum"]),
    "objects": np.array(["a", "bb", "ccc"], dtype=object),
    "small integers": np.array([0, 1, 2], dtype=np.int8),
    "backwards": np.array([2, 1, 0]),
    "turned": np.array(["y", "z", "x"]),
}


@each_classifier
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_of_classes_do_not_matter(case: Case, names: np.ndarray) -> None:
    """To the last bit, even where the new names sort in another order.

    Then the support vectors, which are sorted by class, are summed up in another order.
    """
    how = {"tol": 1e-3, "decision_function_shape": "ovr", "break_ties": True}
    plain, renamed = case.fit(**how), case.fit(y=names[LABELS], **how)
    np.testing.assert_array_equal(renamed.predict(TEST), names[plain.predict(TEST)])
    assert renamed.predict(TEST).dtype == names.dtype
    np.testing.assert_array_equal(renamed.classes_, np.sort(names))
    place = np.searchsorted(renamed.classes_, names)  # of each class among the new ones
    for mine, other in zip(renamed.machines_, plain.machines_, strict=True):
        assert mine.classes == tuple(place[c] if c >= 0 else c for c in other.classes)
        np.testing.assert_array_equal(mine.coefficients, other.coefficients)
        assert mine.bias == other.bias
    same_order = (np.diff(place) > 0).all()
    rounding = 0.0 if same_order else 1e-12
    np.testing.assert_allclose(outputs(renamed)[:, place], outputs(plain), rtol=0, atol=rounding)


def test_two_classes_renamed_turn_the_sign() -> None:
    two = LABELS < 2
    plain = SVC().fit(X[two], LABELS[two])
    turned = SVC().fit(X[two], np.array(["yes", "no"])[LABELS[two]])
    np.testing.assert_allclose(outputs(turned), -outputs(plain), rtol=1e-12)
    np.testing.assert_array_equal(
        turned.predict(TEST), np.array(["yes", "no"])[plain.predict(TEST)]
    )


# --- storage -------------------------------------------------------------------------------------


def wide_indices(rows: np.ndarray) -> sparse.csr_array:
    """Return a CSR array with 64-bit indices."""
    narrow = sparse.csr_array(rows)
    wide = sparse.csr_array(narrow)
    wide.indices, wide.indptr = narrow.indices.astype(np.int64), narrow.indptr.astype(np.int64)
    return wide


def unsorted(rows: np.ndarray) -> sparse.csr_array:
    """Return a CSR array whose entries come backwards, each one in two halves."""
    csr = sparse.csr_array(rows)
    data, indices, indptr = [], [], [0]
    for start, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        data += [v / 2 for v in csr.data[start:end][::-1]] * 2
        indices += list(csr.indices[start:end][::-1]) * 2
        indptr.append(len(indices))
    return sparse.csr_array((np.array(data), indices, indptr), shape=csr.shape)


def with_zeros(rows: np.ndarray) -> sparse.csr_array:
    """Return a CSR array that stores every zero."""
    csr = sparse.csr_array(np.ones_like(rows))
    csr.data = rows.ravel().copy()
    return csr


def read_only(rows: np.ndarray) -> np.ndarray:
    copied = rows.copy()
    copied.flags.writeable = False
    return copied


def read_only_sparse(rows: np.ndarray) -> sparse.csr_array:
    csr = sparse.csr_array(rows)
    for part in (csr.data, csr.indices, csr.indptr):
        part.flags.writeable = False
    return csr


SAME = {
    "Fortran order": np.asfortranarray,
    "strided": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "backwards": lambda A: A[::-1][::-1],
    "list": lambda A: A.tolist(),
    "read-only": read_only,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "64-bit indices": wide_indices,
    "unsorted with duplicates": unsorted,
    "stored zeros": with_zeros,
    "read-only sparse": read_only_sparse,
    "pandas": lambda A: pd.DataFrame(A, columns=list("abcde")),
    "polars": lambda A: pl.DataFrame(A, schema=list("abcde")),
}


@each_case
@pytest.mark.parametrize("stored", SAME.values(), ids=SAME)
def test_storage_does_not_matter(case: Case, stored: Callable[[np.ndarray], Any]) -> None:
    plain, other = case.fit(), case.fit(stored(X))
    np.testing.assert_allclose(outputs(other, stored(TEST)), outputs(plain), atol=NEAR)
    if not hasattr(stored(TEST), "columns"):  # without their names frames raise a warning, rightly
        np.testing.assert_allclose(outputs(other), outputs(plain), atol=NEAR)
        np.testing.assert_allclose(outputs(plain, stored(TEST)), outputs(plain), rtol=1e-9)


@pytest.mark.parametrize("stored", [SAME["pandas"], SAME["polars"]])
def test_names_of_columns_are_kept(stored: Callable[[np.ndarray], Any]) -> None:
    machine = SVC().fit(stored(X), LABELS)
    assert machine.feature_names_in_.tolist() == list("abcde")
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        machine.predict(TEST)


@each_case
@pytest.mark.parametrize("container", STORAGE.values(), ids=STORAGE)
def test_float32_rows_give_float32_decisions(case: Case, container: Callable[[Any], Any]) -> None:
    exact = X.astype(np.float32).astype(np.float64)
    wide = case.fit(exact, tol=1e-6)
    narrow = case.fit(container(exact.astype(np.float32)), tol=1e-6)
    values = outputs(narrow, container(TEST.astype(np.float32)))
    assert values.dtype == np.float32
    assert outputs(wide).dtype == np.float64
    assert outputs(narrow).dtype == np.float64  # the rows to judge were float64
    assert narrow.support_vectors_.dtype == np.float32
    scale = max(1.0, np.abs(outputs(wide)).max())
    np.testing.assert_allclose(values, outputs(wide, TEST.astype(np.float32)), atol=1e-5 * scale)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float16, bool])
def test_other_numbers_are_converted(dtype: type) -> None:
    whole = (np.abs(X) * 2).astype(dtype)
    as_double = SVC().fit(whole.astype(np.float64), LABELS)
    np.testing.assert_allclose(
        outputs(SVC().fit(whole, LABELS), whole), outputs(as_double, whole.astype(float)), atol=1e-6
    )


@each_case
def test_memory_mapped_rows(case: Case, tmp_path: Path) -> None:
    for mode in ("r", "c"):
        np.save(tmp_path / "rows.npy", X)
        mapped = np.load(tmp_path / "rows.npy", mmap_mode=mode)
        np.testing.assert_array_equal(outputs(case.fit(mapped), mapped), outputs(case.fit(), X))
        del mapped


def test_callers_data_stay_as_they_are() -> None:
    messy = unsorted(X)
    parts = [part.copy() for part in (messy.data, messy.indices, messy.indptr)]
    weights = np.ones(ROWS)
    SVC().fit(messy, LABELS, sample_weight=weights).predict(messy)
    for part, before in zip((messy.data, messy.indices, messy.indptr), parts, strict=True):
        np.testing.assert_array_equal(part, before)
