"""Bad input gets one sentence that names the argument, what was found and what to do."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.kernels import RBF, ChiSquared, Spectrum

ROWS = 12
X = np.random.default_rng(0).normal(size=(ROWS, 3))
Y = np.tile([0, 1], ROWS // 2)
THREE = np.tile([0, 1, 2], ROWS // 3)
GRAM = X @ X.T
OBJECT = ["aab", "aba", "bbc", "bcb"]


def with_entry(value: float, of: np.ndarray = X) -> np.ndarray:
    changed = of.astype(float)
    changed.flat[7] = value
    return changed


def weights(value: float) -> np.ndarray:
    return np.r_[value, np.ones(ROWS - 1)]


def fit(X: object = X, y: object = Y, sample_weight: object = None, **settings: object) -> SVC:
    return SVC(**settings).fit(X, y, sample_weight=sample_weight)


def gram(X: object = GRAM, **settings: object) -> SVC:
    return SVC(kernel="precomputed", **settings).fit(X, Y)


def function(result: Callable[[int, int], object]) -> Callable[..., object]:
    return lambda A, B: result(len(A), len(B))


# What is done, and a pattern of the sentence.
DATA = [
    (lambda: fit(with_entry(np.nan)), "X contains NaN"),
    (lambda: fit(with_entry(np.inf)), "X contains infinity"),
    (lambda: fit(sparse.csr_array(with_entry(np.nan))), "X contains NaN"),
    (lambda: gram(with_entry(np.nan, GRAM)), "X contains NaN"),
    (lambda: OneClassSVM().fit(with_entry(-np.inf)), "X contains infinity"),
    (lambda: fit(X[:0], Y[:0]), r"0 sample\(s\).* minimum of 1"),
    (lambda: fit(X[:, :0]), r"0 feature\(s\).* minimum of 1"),
    (lambda: fit([], [], kernel=Spectrum()), "X has 0 rows; at least 1"),
    (lambda: fit(X[0], Y[:3]), "Expected 2D array, got 1D array.*reshape"),
    (lambda: fit(np.ones((ROWS, 2, 2))), "dim 3.*<= 2"),
    (lambda: fit(X + 1j), "Complex data not supported"),
    (lambda: fit(np.array([["a", "1"]] * ROWS)), "X must hold numbers.*'a'.*encode"),
    (lambda: fit(np.array([["b", 1]] * ROWS, dtype=object)), "X must hold numbers.*'b'.*encode"),
    (lambda: fit(pd.DataFrame({"c": ["d"] * ROWS})), "X must hold numbers.*'d'.*encode"),
    (lambda: fit(pl.DataFrame({"c": ["e"] * ROWS})), "X must hold numbers.*'e'.*encode"),
    (lambda: fit(X, Y[:-1]), r"inconsistent numbers of samples: \[12, 11\]"),
    (lambda: SVR().fit(X, Y[:-1]), r"inconsistent numbers of samples: \[12, 11\]"),
    (lambda: fit(OBJECT, [0, 1], kernel=Spectrum()), r"inconsistent .*: \[4, 2\]"),
    (lambda: fit(kernel="chi2"), "Negative values in data.*ChiSquared.*scale the columns"),
    (lambda: fit(sparse.csr_array(X), kernel="chi2"), "Negative values.*ChiSquared"),
    (lambda: fit(kernel=ChiSquared()), "Negative values.*ChiSquared"),
    (lambda: fit(kernel="intersection"), "Negative values.*Intersection"),
    (lambda: fit(1e200 * X), "overflow.*X.*scale the columns"),
    (lambda: fit(1e200 * X, gamma=1.0), "overflow.*X.*scale the columns"),
    (lambda: fit(1e200 * X, kernel="linear"), "overflow.*X.*scale the columns"),
    (lambda: fit(1e20 * X, kernel="poly", degree=30, gamma=1.0), "overflow.*X.*lower.* degree"),
    (lambda: SVDD(kernel="linear").fit(1e200 * X), "overflow.*X.*scale the columns"),
    (lambda: SVR(kernel="linear").fit(1e200 * X, Y), "overflow.*X.*scale the columns"),
]

TARGETS = [
    (lambda: fit(y=None), "requires y .* target y is None"),
    (lambda: SVR().fit(X, None), "requires y .* target y is None"),
    (lambda: fit(y=np.zeros(ROWS)), "number of classes .* greater than one; got 1"),
    (lambda: fit(y=np.where(Y, np.nan, 1.0)), "y contains NaN"),
    (lambda: fit(y=np.where(Y, np.inf, 1.0)), "y contains infinity"),
    (lambda: fit(y=X[:, 0]), "Unknown label type: continuous"),
    (lambda: fit(y=np.eye(ROWS)), r"y should be a 1d array.* shape \(12, 12\)"),
    (lambda: SVR().fit(X, np.eye(ROWS)), r"y should be a 1d array.* shape \(12, 12\)"),
    (lambda: SVR().fit(X, np.where(Y, np.nan, 1.0)), "y contains NaN or infinity.* finite"),
    (lambda: NuSVR().fit(X, np.where(Y, np.inf, 1.0)), "y contains NaN or infinity.* finite"),
    (
        lambda: SVR().fit(X, np.char.add(Y.astype(str)[::-1], "m")),
        "y must hold numbers, found dtype <U",
    ),
]

WEIGHTS = [
    (lambda: fit(sample_weight=np.ones(5)), r"sample_weight and X .*\(5,\) vs 12"),
    (lambda: fit(sample_weight=np.ones((ROWS, 2))), "weights must be 1D .*got 2D"),
    (lambda: fit(sample_weight=weights(np.nan)), "sample_weight contains NaN or infinity.* finite"),
    (lambda: fit(sample_weight=weights(np.inf)), "sample_weight contains NaN or infinity.* finite"),
    (lambda: fit(sample_weight=np.nan), "sample_weight contains NaN or infinity"),
    (lambda: fit(sample_weight=weights(-1)), "sample_weight has 1 negative .* 0 leaves a row out"),
    (lambda: fit(sample_weight=np.zeros(ROWS)), "all samples have zero or negative weights"),
    (lambda: fit(sample_weight=0), "all samples have zero or negative weights"),
    (lambda: fit(sample_weight=-np.ones(ROWS)), "all samples have zero or negative weights"),
    (lambda: SVDD().fit(X, sample_weight=0 * Y), "all samples have zero or negative weights"),
    (lambda: fit(sample_weight=["light"] * ROWS), "sample_weight must hold numbers.*'light'"),
    (lambda: fit(sample_weight=Y), "positive weights belong to the same class"),
    (lambda: fit(class_weight="even"), "class_weight must be one of 'balanced'.* found 'even'"),
    (lambda: fit(class_weight=[1, 2]), r"class_weight must be a dict.* found \[1, 2\]"),
    (lambda: fit(class_weight={0: -1}), "class_weight must hold positive numbers, found {0: -1}"),
    (lambda: fit(class_weight={0: np.nan}), "class_weight must hold positive numbers, found"),
    (lambda: fit(class_weight={0: "a"}), "class_weight must hold positive numbers, found {0: 'a'}"),
    (lambda: fit(class_weight={"cat": 2}), r"class_weight names \['cat'\].* classes are \[0, 1\]"),
    (lambda: fit(class_weight={7: 2}), r"class_weight names \[7\].* classes are \[0, 1\]"),
]

KERNELS = [
    (lambda: fit(kernel="rfb"), "kernel must be one of 'linear'.*found 'rfb'"),
    (lambda: fit(kernel=3), "kernel must be one of .*'rbf'.*kernel object.*found 3"),
    (lambda: fit(kernel=None), "kernel must be one of .*'rbf'.*kernel object.*found None"),
    (lambda: fit(kernel=RBF), r"kernel must be a kernel object.* class RBF.* kernel=RBF\(\)"),
    (lambda: fit(gamma="big"), "gamma must be one of 'scale', 'auto', found 'big'"),
    (lambda: fit(gamma=-1), r"gamma must be a number in \(0, inf\), found -1"),
    (lambda: fit(gamma=np.nan), "gamma must be a number.* found nan"),
    (lambda: fit(kernel="poly", degree=-1), r"degree must be a whole number in \[0.* found -1"),
    (lambda: fit(kernel="poly", degree=2.5), "degree must be a whole number.* found 2.5"),
    (lambda: fit(kernel="poly", coef0=np.inf), "coef0 must be a number .* found inf"),
    (lambda: gram(GRAM[:, :5]), "must be a square matrix.* 12x5"),
    (lambda: gram(gram_columns="half"), "gram_columns must be one of 'train', 'support'.*'half'"),
    (lambda: fit(kernel=function(lambda m, n: np.ones((m, n + 1)))), r"returned shape \(1, 2\)"),
    (lambda: fit(kernel=function(lambda m, n: np.full((m, n), np.nan))), "returned nan for row 0"),
    (lambda: fit(kernel=function(lambda m, n: 1j * np.ones((m, n)))), "not an array of real"),
    (lambda: fit(kernel=function(lambda m, n: None)), "returned"),
    (lambda: fit(kernel=Spectrum()), r"A\[0\] must be a string, found ndarray"),
    (lambda: fit("abba", [0, 1, 0, 1], kernel=Spectrum()), "must be a list of strings"),
]

SETTINGS = [
    (lambda: fit(C=0), r"C must be a number in \(0, inf.*found 0"),
    (lambda: SVR(C=-1).fit(X, Y), "C must be a number .*found -1"),
    (lambda: NuSVR(C="1").fit(X, Y), "C must be a number .*found '1'"),
    (lambda: fit(C=np.nan), "C must be a number .*found nan"),
    (lambda: NuSVC(nu=0).fit(X, Y), r"nu must be a number in \(0, 1\], found 0"),
    (lambda: NuSVR(nu=True).fit(X, Y), r"nu must be a number in \(0, 1\], found True"),
    (lambda: OneClassSVM(nu=1.5).fit(X), r"nu must be a number in \(0, 1\], found 1.5"),
    (lambda: SVDD(nu=-0.1).fit(X), r"nu must be a number in \(0, 1\], found -0.1"),
    (lambda: SVR(epsilon=-1).fit(X, Y), r"epsilon must be a number in \[0, inf\), found -1"),
    (lambda: fit(tol=0), r"tol must be a number in \(0, inf\), found 0"),
    (lambda: fit(gap_tol=0), r"gap_tol must be a number in \(0, inf\), found 0"),
    (lambda: fit(max_iter=-2), r"max_iter must be a whole number in \[-1, inf\), found -2"),
    (lambda: fit(max_iter=2.5), "max_iter must be a whole number .*found 2.5"),
    (lambda: fit(max_time=0), r"max_time must be a number in \(0, inf\), found 0"),
    (lambda: fit(max_time="1 s"), "max_time must be a number .*found '1 s'"),
    (lambda: fit(n_jobs=0), "n_jobs must not be 0; use None"),
    (lambda: fit(n_jobs=1.5), "n_jobs must be a whole number .*found 1.5"),
    (lambda: fit(memory_limit="lots"), "memory_limit='lots' is not a size; give bytes"),
    (lambda: fit(memory_limit="5 parsecs"), "memory_limit='5 parsecs' is not a size; give bytes"),
    (lambda: fit(memory_limit="0"), "memory_limit"),
    (lambda: fit(memory_limit=-1), "memory_limit must be .*positive.* found -1"),
    (lambda: fit(memory_limit=np.nan), "memory_limit must be .*positive.* found nan"),
    (lambda: fit(memory_limit=np.inf), "memory_limit must be .*positive.* found inf"),
    (lambda: fit(memory_limit=[1]), r"memory_limit must be .*positive.* found \[1\]"),
    (lambda: fit(precision="half"), "precision must be one of 'auto', .*found 'half'"),
    (lambda: fit(solver="magic"), "solver must be one of 'auto', .*found 'magic'"),
    (lambda: fit(callback=3), "callback must be a function or None, found 3"),
    (lambda: fit(shrinking="yes"), "shrinking must be True or False, found 'yes'"),
    (lambda: fit(warm_start=2), "warm_start must be True or False, found 2"),
    (lambda: fit(cache_size=-1), r"cache_size must be a number in \(0, inf\), found -1"),
    (lambda: fit(probability="yes"), "probability must be True or False, found 'yes'"),
    (lambda: fit(multi_class="all"), "multi_class must be one of 'ovo', 'ovr'.*found 'all'"),
    (
        lambda: fit(decision_function_shape="x"),
        "decision_function_shape must be one of .*found 'x'",
    ),
    (lambda: fit(break_ties="yes"), "break_ties must be True or False, found 'yes'"),
]

PREDICTION = [
    (lambda: fit().predict(X[:, :2]), "X has 2 features, but SVC is expecting 3"),
    (
        lambda: fit(y=THREE, decision_function_shape="ovo", break_ties=True).predict(X),
        "break_ties must be False when .* set one of the two",
    ),
    (lambda: fit().predict(with_entry(np.nan)), "X contains NaN"),
    (lambda: fit().decision_function(X[0]), "Expected 2D array, got 1D array"),
    (lambda: SVDD().fit(X).decision_function(X[:, :2]), "X has 2 features, but SVDD"),
    (lambda: gram().predict(GRAM[:, :5]), "X has 5 features, but SVC is expecting 12"),
    (
        lambda: (m := gram(C=1e-2)).predict(np.delete(GRAM, 3, 1)[:, : m.support_.size - 1]),
        "X has .* features, but SVC is expecting 12",
    ),
    (
        lambda: gram(gram_columns="support").predict(GRAM[:, :1]),
        r"gram_columns='support' X must have \d+ columns.*found shape \(12, 1\)",
    ),
    (
        lambda: (m := gram(gram_columns="support")).predict(GRAM[:, m.support_] * np.nan),
        "X contains NaN",
    ),
    (
        lambda: fit(np.abs(X), kernel="chi2").predict(X),
        "Negative values in data.*ChiSquared.*scale",
    ),
    (
        lambda: fit(np.abs(X), kernel="intersection").predict(sparse.csr_array(X)),
        "Negative values in data.*Intersection.*scale",
    ),
    (
        lambda: fit(kernel="poly", degree=30, gamma=1.0).predict(1e20 * X),
        "overflow.*X.*scale the columns",
    ),
    (lambda: SVR(kernel="poly", degree=9).fit(X, Y).predict(1e40 * X), "overflow.*X.*scale"),
    (
        lambda: fit(pd.DataFrame(X, columns=["a", "b", "c"])).predict(
            pd.DataFrame(X, columns=["a", "b", "d"])
        ),
        "feature names should match.*unseen at fit time:\n- d",
    ),
    (lambda: gram().decision_bound(GRAM), "not part of a precomputed matrix.* kernel object"),
]

CASES = DATA + TARGETS + WEIGHTS + KERNELS + SETTINGS + PREDICTION


@pytest.mark.parametrize(("call", "pattern"), CASES, ids=[f"{i}" for i in range(len(CASES))])
def test_bad_input_gets_a_sentence(call: Callable[[], object], pattern: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){pattern}") as caught:
        call()
    assert caught.type is ValueError  # no unforeseen subclass, such as that of a failed decoding


OTHER = [
    (lambda: gram(sparse.csr_array(GRAM)), TypeError, "Sparse precomputed .* dense"),
    (lambda: SVC().predict(X), NotFittedError, "This SVC instance is not fitted yet"),
    (lambda: SVDD().decision_function(X), NotFittedError, "This SVDD instance is not fitted yet"),
    (lambda: SVC().predict("foo!"), NotFittedError, "not fitted"),
    (lambda: SVC().decision_bound(X), NotFittedError, "not fitted"),
    (lambda: fit().coef_, AttributeError, "coef_ is only available .* linear kernel"),
    (lambda: fit().predict_proba, AttributeError, "predict_proba"),
]


@pytest.mark.parametrize(("call", "kind", "pattern"), OTHER)
def test_bad_use_gets_the_exception_scikit_learn_has(
    call: Callable[[], object], kind: type[Exception], pattern: str
) -> None:
    with pytest.raises(kind, match=pattern):
        call()


def test_settings_are_checked_before_any_kernel_value() -> None:
    def kernel(A: object, B: object) -> None:
        raise AssertionError("the kernel was called")

    for settings, pattern in [({"C": -1}, "C must"), ({"max_time": 0}, "max_time must")]:
        with pytest.raises(ValueError, match=pattern):
            SVC(kernel=kernel, **settings).fit(X, Y)
    with pytest.raises(AssertionError, match="kernel was called"):
        SVC(kernel=kernel).fit(X, Y)


def test_number_of_support_columns_is_recognised() -> None:
    """The columns of the support vectors alone are a likely intention; the sentence says how."""
    machine = gram()
    assert machine.support_.size < ROWS
    with pytest.raises(ValueError, match=re.escape("set gram_columns='support'")):
        machine.predict(GRAM[:, machine.support_])


@pytest.mark.parametrize("kind", [SVC, SVR, OneClassSVM])
@pytest.mark.parametrize("bad", [with_entry(np.nan), 1e200 * X])
@pytest.mark.parametrize("before", [False, True])
def test_failed_fit_leaves_the_estimator_unfitted(
    kind: type, bad: np.ndarray, before: bool
) -> None:
    """No mixture of an earlier model with the classes or columns of the failed one either."""
    machine = kind(gamma=1.0)
    if before:
        machine.fit(X[:, :2], Y + 5)
    with pytest.raises(ValueError, match=r"NaN|overflow"):
        machine.fit(bad, Y)
    with pytest.raises(NotFittedError):
        machine.predict(X)
    assert not [name for name in vars(machine) if name.endswith("_")]


def test_failed_fit_keeps_what_a_warm_start_goes_on_from() -> None:
    machine = SVC(gamma=1.0, warm_start=True).fit(X, Y)
    expected = machine.decision_function(X)
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(with_entry(np.nan), Y)
    np.testing.assert_array_equal(machine.decision_function(X), expected)


def test_shape_of_pairs_goes_with_ties_until_a_label_is_asked_for() -> None:
    machine = fit(y=THREE, decision_function_shape="ovo", break_ties=True)
    assert machine.decision_function(X).shape == (ROWS, 3)


@pytest.mark.parametrize("multi_class", ["ovo", "joint"])
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_probabilities_are_those_of_the_last_fit_or_none(multi_class: str) -> None:
    machine = fit(y=THREE, probability=True, multi_class=multi_class)
    machine.set_params(probability=False).fit(X, THREE)
    machine.probability = True
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False"):
        machine.predict_proba(X)


def test_few_rows_are_noted_as_all_others_are() -> None:
    """What skips the long check leaves the same behind, and takes nothing the check would not."""
    model = SVC().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == X.shape[1]
    expected = model.decision_function(sparse.csr_array(X))
    for same in (X, np.asfortranarray(X), X.astype(">f8"), X.tolist(), X[:, ::-1][:, ::-1]):
        np.testing.assert_allclose(model.decision_function(same), expected, atol=1e-12)
    for wrong in (X[:0], X[:, :0], X[None]):
        with pytest.raises(ValueError, match=r"Found array with|features"):
            model.predict(wrong)
