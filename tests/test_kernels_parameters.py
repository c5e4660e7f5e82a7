"""Kernels are values with parameters that scikit-learn can list and change."""

import copy
import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from widemargin import kernels
from widemargin.kernels import (
    RBF,
    ChiSquared,
    Cosine,
    FunctionKernel,
    Intersection,
    Laplacian,
    Linear,
    Polynomial,
    Scaled,
    Sigmoid,
    Spectrum,
    Sum,
    from_name,
)


def overlap(A, B):
    return [[len(set(a) & set(b)) for b in B] for a in A]


KERNELS = [
    Linear(),
    Polynomial(degree=2, gamma="scale", coef0=-1.0),
    RBF(),
    RBF(gamma=0.25),
    Sigmoid(gamma=0.5, coef0=-0.5),
    Laplacian(),
    ChiSquared(),
    Intersection(),
    Cosine(),
    RBF(gamma=0.5) + 2 * Linear(),
    Polynomial(2, 1.0, 1.0) * (Laplacian() + Cosine()),
    Spectrum(length=2, normalize=False),
    FunctionKernel(overlap, accepts_objects=True),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_copies_are_equal_and_independent(kernel):
    rebuilt = eval(repr(kernel), vars(kernels) | {"overlap": overlap})
    copies = [clone(kernel), pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), rebuilt]
    for other in [*copies, kernel.copy()]:
        assert other == kernel
        assert other is not kernel
        assert repr(other) == repr(kernel)


def test_equality_is_by_type_and_parameters():
    assert RBF(0.5) == RBF(0.5) != RBF(0.6)
    assert RBF(0.5) != Laplacian(0.5)
    assert RBF(0.5) + Linear() != Linear() + RBF(0.5)
    with pytest.raises(TypeError, match="unhashable"):
        hash(RBF(0.5))


def test_repr_shows_plain_numbers():
    kernel = Polynomial(np.int64(2), np.float64(0.5), np.float32(1)) * np.float64(3)
    expected = "Scaled(kernel=Polynomial(degree=2, gamma=0.5, coef0=1.0), factor=3.0)"
    assert repr(kernel) == expected


def test_nested_parameters():
    kernel = RBF(0.5) + 2 * Polynomial(2, 1.0)
    assert kernel.get_params() == {
        "left": RBF(0.5),
        "left__gamma": 0.5,
        "right": 2 * Polynomial(2, 1.0),
        "right__factor": 2,
        "right__kernel": Polynomial(2, 1.0),
        "right__kernel__degree": 2,
        "right__kernel__gamma": 1.0,
        "right__kernel__coef0": 0.0,
    }
    assert set(kernel.get_params(deep=False)) == {"left", "right"}
    same = kernel.set_params(right__kernel__degree=4, left=Laplacian(1.0), left__gamma=3.0)
    assert same is kernel
    assert kernel == Laplacian(3.0) + 2 * Polynomial(4, 1.0)


def test_changing_parameters_fails_as_a_whole():
    kernel = RBF(0.5) + Polynomial()
    for change in ({"gamma": -1.0}, {"degree": 1.5}):
        with pytest.raises(ValueError, match="must be"):
            kernel.set_params(left__gamma=9.0, **{f"right__{k}": v for k, v in change.items()})
        assert kernel == RBF(0.5) + Polynomial()
    with pytest.raises(ValueError, match="Invalid parameter 'sigma' for kernel RBF"):
        kernel.set_params(left__sigma=1.0)
    with pytest.raises(ValueError, match=r"Invalid parameter 'gamma__x' .*gamma is not a kernel"):
        RBF(0.5).set_params(gamma__x=1.0)


def test_only_set_params_changes_a_kernel():
    kernel = RBF(0.5)
    for name in ("gamma", "gama", "accepts_objects"):
        with pytest.raises(AttributeError, match=rf"RBF.{name} cannot be assigned; use set_params"):
            setattr(kernel, name, 1.0)
    assert kernel.set_params(gamma=2.0) == RBF(2.0)


def test_kernel_used_twice_changes_where_it_is_named():
    part = RBF(1.0)
    for kernel in (part + part, Sum(part, part)):
        kernel.set_params(left__gamma=5.0)
        assert kernel == RBF(5.0) + RBF(1.0)
    assert part == RBF(1.0)
    part.set_params(gamma=7.0)
    assert (RBF(1.0) + part).right == RBF(7.0)


def test_copy_shares_no_kernel_inside():
    kernel = RBF(1.0) + Linear()
    other = kernel.copy(right=Cosine())
    kernel.left.set_params(gamma=5.0)
    assert other == RBF(1.0) + Cosine()


def test_grid_search_reaches_the_parameters():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    gammas = np.logspace(-2, 2, 5)
    ours = GridSearchCV(SVC(kernel=2 * RBF(1.0)), {"kernel__kernel__gamma": gammas}, cv=3)
    theirs = GridSearchCV(SVC(C=2.0), {"gamma": gammas}, cv=3)
    key = "mean_test_score"
    expected = theirs.fit(X, y).cv_results_[key]
    np.testing.assert_allclose(ours.fit(X, y).cv_results_[key], expected)
    assert ours.best_estimator_.kernel == 2 * RBF(theirs.best_estimator_.gamma)
    assert len(set(expected)) > 1, "the data tell the candidates apart"


# --- gamma and names -----------------------------------------------------------------------------


def test_resolve_follows_scikit_learn():
    X, y = np.random.default_rng(5).normal(2, 3, size=(20, 4)), np.arange(20) % 2
    for rule in ("scale", "auto"):
        resolved = RBF(gamma=rule).resolve(X.shape[1], X.var())
        machine = SVC(gamma=rule).fit(X, y)
        assert resolved.gamma == pytest.approx(machine._gamma, rel=1e-14)
    assert RBF().resolve(4, 0.0) == RBF(gamma=1.0)


def test_resolve_reaches_inside_and_leaves_the_original():
    kernel = 2 * (RBF() + Linear()) * Polynomial(gamma="auto")
    resolved = kernel.resolve(4, 0.5)
    assert resolved == 2 * (RBF(0.5) + Linear()) * Polynomial(gamma=0.25)
    assert kernel == 2 * (RBF() + Linear()) * Polynomial(gamma="auto")
    assert resolved.resolve(9, 9.0) is resolved


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5), Spectrum(), RBF(0.5) + Cosine()])
def test_resolve_returns_the_kernel_itself_when_nothing_depends_on_the_data(kernel):
    assert kernel.resolve(3, 2.0) is kernel


def test_names():
    expected = {
        "linear": Linear(),
        "poly": Polynomial(2, 0.5, 1.0),
        "rbf": RBF(0.5),
        "sigmoid": Sigmoid(0.5, 1.0),
        "laplacian": Laplacian(0.5),
        "chi2": ChiSquared(0.5),
        "intersection": Intersection(),
        "cosine": Cosine(),
    }
    for name, kernel in expected.items():
        assert from_name(name, gamma=0.5, degree=2, coef0=1.0) == kernel
    assert from_name("rbf") == RBF()


# --- refusals ------------------------------------------------------------------------------------

REFUSALS = [
    (lambda: RBF(-1.0), "RBF: gamma must be a positive finite number, found -1.0."),
    (lambda: RBF(0), "RBF: gamma must be a positive finite number, found 0."),
    (lambda: RBF(float("nan")), "RBF: gamma must be a positive finite number, found nan."),
    (lambda: Laplacian(True), "Laplacian: gamma must be a positive finite number, found True."),
    (lambda: ChiSquared(None), "ChiSquared: gamma must be a positive finite number, found None."),
    (lambda: RBF("Scale"), "gamma must be a positive number, 'scale' or 'auto', found 'Scale'."),
    (lambda: RBF.from_sigma(0.0), "RBF: sigma must be a positive finite number, found 0.0."),
    (lambda: RBF.from_width("wide"), "RBF: width must be a positive finite number, found 'wide'."),
    (
        lambda: Polynomial(2.0),
        "Polynomial: degree must be an integer from 0 below 2^31, found 2.0.",
    ),
    (lambda: Polynomial(-1), "Polynomial: degree must be an integer from 0 below 2^31, found -1."),
    (lambda: Polynomial(2, 1.0, np.inf), "Polynomial: coef0 must be a finite number, found inf."),
    (lambda: Sigmoid(1.0, "0"), "Sigmoid: coef0 must be a finite number, found '0'."),
    (lambda: -2 * RBF(1.0), "Scaled: factor must be a positive finite number, found -2."),
    (lambda: RBF(1.0) * 0, "Scaled: factor must be a positive finite number, found 0."),
    (lambda: Sum(RBF(1.0), "rbf"), "Sum: right must be a kernel object, found 'rbf'."),
    (lambda: Scaled(2.0, 3.0), "Scaled: kernel must be a kernel object, found 2.0."),
    (
        lambda: RBF(1.0) + Spectrum(),
        "Sum: Spectrum(length=3, normalize=True) compares objects and RBF(gamma=1.0) compares "
        "vectors; combine kernels that take the same kind of rows.",
    ),
    (lambda: RBF()([[1.0]], [[1.0]]), "RBF: gamma='scale' depends on the training data; call"),
    (lambda: RBF().native(), "RBF: gamma='scale' depends on the training data; call"),
    (lambda: Linear()([1.0], [[1.0]]), "Linear: A must have two dimensions, found 1; reshape"),
    (lambda: Linear().diagonal([1.0]), "Linear: A must have two dimensions, found 1; reshape"),
    (lambda: Linear()([[1, 2]], [[1]]), "Linear: A has 2 features and B has 1; both must have"),
    (lambda: Linear()([[1.0]], [["a"]]), "Linear: B must hold real numbers, found dtype <U1"),
    (lambda: Linear()([[1j]], [[1.0]]), "Linear: A must hold real numbers, found dtype complex128"),
    (
        lambda: ChiSquared()([[1.0]], [[-0.5]]),
        "ChiSquared is a kernel on non-negative data only, found -0.5 in B; shift or scale",
    ),
    (
        lambda: Intersection().diagonal(sparse.csr_array([[0.0, -2.0]])),
        "Intersection is a kernel on non-negative data only, found -2.0 in A; shift or scale",
    ),
    (
        lambda: from_name("gauss"),
        "kernel must be one of ['linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'chi2', "
        "'intersection', 'cosine'] or a kernel object, found 'gauss'.",
    ),
    (lambda: from_name(["rbf"]), "or a kernel object, found ['rbf']."),
    (lambda: Spectrum(0), "Spectrum: length must be an integer from 1, found 0."),
    (lambda: Spectrum(3, "yes"), "Spectrum: normalize must be True or False, found 'yes'."),
    (lambda: Spectrum()("ab", ["c"]), "Spectrum: A must be a list of strings, found a single"),
    (lambda: Spectrum()(["ab"], ["c", 7]), "Spectrum: B[1] must be a string, found int."),
    (lambda: FunctionKernel("rbf"), "FunctionKernel: function must be callable with two blocks"),
    (
        lambda: FunctionKernel(overlap, accepts_objects=1),
        "FunctionKernel: accepts_objects must be True or False, found 1.",
    ),
]


@pytest.mark.parametrize(("refused", "sentence"), REFUSALS)
def test_refusal_is_one_sentence(refused, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        refused()
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(". ") == 0
