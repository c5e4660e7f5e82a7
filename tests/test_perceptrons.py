"""Perceptrons and their relatives against the loops of the papers, written naively."""

import pickle
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning

from widemargin import (
    SVC,
    AveragedPerceptron,
    KernelPerceptron,
    PassiveAggressiveClassifier,
    Perceptron,
    Status,
    VotedPerceptron,
    Winnow,
)
from widemargin.backends.cpu import online
from widemargin.kernels import RBF, Linear, Polynomial, Spectrum

X, Y = datasets.make_blobs(90, 4, centers=3, cluster_std=2.5, random_state=5)
X = np.round(X * 4) / 4  # exact sums: ties are then the same in any order of addition
SIGNS = np.where(Y == 0, -1, 1)
ALL = [
    Perceptron(),
    KernelPerceptron(),
    AveragedPerceptron(),
    VotedPerceptron(),
    PassiveAggressiveClassifier(),
    Winnow(),
]


# --- the truth -----------------------------------------------------------------------------------


def homogeneous(rows: np.ndarray) -> np.ndarray:
    return np.hstack([rows, np.ones((len(rows), 1))])


def naive_perceptron(rows: Any, labels: Any, sweeps: int) -> tuple[np.ndarray, list, np.ndarray]:
    """Return the weights of all classes after each row, the mistaken rows, and the final weights.

    Two classes have one weight vector, in the last row, which the first one mirrors.
    """
    classes = labels.max() + 1
    W = np.zeros((classes, rows.shape[1]))
    after, mistakes = [], []
    for _ in range(sweeps):
        for i, x in enumerate(rows):
            scores = W @ x
            others = [k for k in range(classes) if k != labels[i]]
            rival = max(others, key=lambda k: (scores[k], -k))
            if scores[labels[i]] <= scores[rival]:
                W[labels[i]] += x
                W[rival] -= x
                mistakes.append(i)
            after.append(W.copy())
    return np.array(after), mistakes, W


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("two", [True, False])
def test_perceptron_is_the_naive_loop(storage: Any, two: bool) -> None:
    labels = (Y > 0).astype(int) if two else Y
    _, mistakes, W = naive_perceptron(homogeneous(X), labels, 7)
    model = Perceptron(shuffle=False, max_iter=7, tol=None).fit(storage(X), labels)
    np.testing.assert_array_equal(model.alpha_, np.bincount(mistakes, minlength=len(X)))
    assert model.mistakes_ == len(mistakes) == model.alpha_.sum()
    wanted = W[1:] if two else W
    np.testing.assert_allclose(model.coef_, wanted[:, :-1])
    np.testing.assert_allclose(model.intercept_, wanted[:, -1])
    assert model.t_ == model.n_iter_ * len(X)


@pytest.mark.parametrize("labels", [SIGNS, Y], ids=["two", "three"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
def test_dual_makes_the_same_mistakes_in_the_same_order(
    labels: Any, bias: bool, shuffle: bool
) -> None:
    settings = dict(shuffle=shuffle, fit_intercept=bias, max_iter=5, tol=None, eta0=0.5)
    primal, dual = (Perceptron(dual=form, **settings).fit(X, labels) for form in (False, True))
    np.testing.assert_array_equal(primal.alpha_, dual.alpha_)
    assert [p.active for p in primal.history_] == [p.active for p in dual.history_]
    np.testing.assert_allclose(dual.coef_, primal.coef_, atol=1e-9)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_)


@pytest.mark.parametrize("rows_kept", [0, 4096])
@pytest.mark.parametrize("labels", [SIGNS, Y], ids=["two", "three"])
def test_kernel_perceptron_is_the_perceptron_in_feature_space(
    monkeypatch: Any, rows_kept: int, labels: Any
) -> None:
    """(x.z + 1)² is the inner product of all products of two coordinates of (x, 1)."""
    monkeypatch.setattr(online, "GRAM_ROWS", rows_kept)
    monkeypatch.setattr(online, "BLOCK", 16)
    wide = homogeneous(X)
    products = np.einsum("ij,ik->ijk", wide, wide).reshape(len(X), -1)
    settings = dict(shuffle=False, fit_intercept=False, max_iter=4, tol=None)
    explicit = Perceptron(**settings).fit(products, labels)
    model = KernelPerceptron(Polynomial(2, 1.0, 1.0), **settings).fit(X, labels)
    np.testing.assert_array_equal(model.alpha_, explicit.alpha_)
    np.testing.assert_allclose(
        model.decision_function(X), explicit.decision_function(products), rtol=1e-9, atol=1e-6
    )


@pytest.mark.parametrize("two", [True, False])
@pytest.mark.parametrize("kernel", ["linear", Polynomial(1, 1.0, 0.0)])
def test_average_and_votes_are_those_of_all_intermediate_weights(two: bool, kernel: Any) -> None:
    labels = (Y > 0).astype(int) if two else Y
    after, _, _ = naive_perceptron(homogeneous(X), labels, 3)
    settings = dict(kernel=kernel, shuffle=False, max_iter=3)
    rows = homogeneous(X[::7] + 0.1)
    averaged = AveragedPerceptron(**settings).fit(X, labels)
    mean = after.mean(axis=0)
    wanted = mean[1] @ rows.T if two else rows @ mean.T
    np.testing.assert_allclose(averaged.decision_function(X[::7] + 0.1), wanted, rtol=1e-9)

    voted = VotedPerceptron(**settings).fit(X, labels)
    scores = np.einsum("tkf,if->tik", after, rows)
    chosen = scores.argmax(axis=2)
    votes = np.stack([(chosen == k).mean(axis=0) for k in range(labels.max() + 1)], axis=1)
    found = voted.decision_function(X[::7] + 0.1)
    np.testing.assert_allclose(found, votes[:, 1] - votes[:, 0] if two else votes, atol=1e-12)


@pytest.mark.parametrize(
    ("C", "loss"), [(np.inf, "hinge"), (0.01, "hinge"), (0.3, "squared_hinge")]
)
@pytest.mark.parametrize("two", [True, False])
def test_passive_aggressive_is_the_naive_loop(C: float, loss: str, two: bool) -> None:
    labels = (Y > 0).astype(int) if two else Y
    rows, W = homogeneous(X), np.zeros((labels.max() + 1, 5))
    for x, label in zip(rows, labels, strict=True):
        scores = W @ x
        if two:
            short, norm = 1 - (1 if label else -1) * scores[1], x @ x
        else:
            scores[label] -= np.inf
            rival = scores.argmax()
            short, norm = 1 - W[label] @ x + scores[rival], 2 * (x @ x)
        if short <= 0:
            continue
        tau = min(C, short / norm) if loss == "hinge" else short / (norm + 1 / (2 * C))
        if two:
            W[1] += (1 if label else -1) * tau * x
        else:
            W[label] += tau * x
            W[rival] -= tau * x
    with pytest.warns(ConvergenceWarning):
        model = PassiveAggressiveClassifier(C=C, loss=loss, shuffle=False, max_iter=1).fit(
            X, labels
        )
    wanted = W[1:] if two else W
    np.testing.assert_allclose(np.c_[model.coef_, model.intercept_], wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("balanced", [True, False])
def test_winnow_is_the_naive_loop(balanced: bool) -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (80, 12)).astype(float)
    y = np.where(rows[:, 0] + rows[:, 3] + rows[:, 5] >= 2, 1, -1)
    exponent = np.zeros(12)
    mistakes = 0
    for _ in range(3):
        for x, sign in zip(rows, y, strict=True):
            w = 1.7**exponent - 1.7**-exponent if balanced else 1.7**exponent
            f = w @ x - (0 if balanced else 6)
            if sign * f <= 0:
                exponent += sign * x
                mistakes += 1
    model = Winnow(
        factor=1.7, balanced=balanced, fit_intercept=False, shuffle=False, max_iter=3, tol=None
    ).fit(rows, y)
    assert model.mistakes_ == mistakes
    w = 1.7**exponent - 1.7**-exponent if balanced else 1.7**exponent
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9, atol=1e-12)


def test_winnow_ignores_irrelevant_features_better_than_the_perceptron() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (600, 400)).astype(float)
    y = rows[:, 0] + rows[:, 1] + rows[:, 2] > 0
    winnow = Winnow(balanced=False, tol=None, shuffle=False).fit(rows, y)
    plain = Perceptron(tol=None, shuffle=False).fit(rows, y)
    assert winnow.converged_
    assert plain.converged_
    assert winnow.mistakes_ < 0.5 * plain.mistakes_


# --- the bound, and how fits end -----------------------------------------------------------------


@given(st.integers(0, 10_000), st.floats(0.05, 2.0), st.booleans())
def test_mistakes_never_exceed_the_bound(seed: int, margin: float, bias: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 3))
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    side = np.where(rows @ normal > 0, 1.0, -1.0)
    rows += side[:, None] * margin * normal
    if len(set(side)) < 2:
        return
    model = Perceptron(tol=None, mistake_bound=True, fit_intercept=bias, random_state=seed)
    model.fit(rows, side)
    assert model.converged_
    assert model.mistakes_ <= model.mistake_bound_
    wide = homogeneous(rows) if bias else rows
    largest = (wide**2).sum(axis=1).max()
    assert model.mistake_bound_ <= largest / margin**2 * (1 + 1e-6)  # this normal has that margin


def test_bound_is_that_of_the_largest_margin() -> None:
    """Rows (1, 1) and (-1, -1) in the coordinates (x, 1): gamma = 1, R = sqrt 2 at w = (1, 0)."""
    model = Perceptron(mistake_bound=True).fit([[1.0], [-1.0]], [1, -1])
    assert model.mistake_bound_ == pytest.approx(2.0, rel=1e-6)
    gram = KernelPerceptron(Linear(), mistake_bound=True).fit([[1.0], [-1.0]], [1, -1])
    assert gram.mistake_bound_ == pytest.approx(2.0, rel=1e-6)


def test_bound_is_infinite_where_nothing_separates() -> None:
    xor, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    plain = Perceptron(mistake_bound=True).fit(xor, y)
    assert plain.mistake_bound_ == np.inf
    assert not plain.converged_
    assert plain.status_ is Status.NO_BETTER
    kernel = KernelPerceptron(RBF(1.0), mistake_bound=True, tol=None).fit(xor, y)
    assert kernel.converged_
    assert kernel.mistakes_ <= kernel.mistake_bound_ < np.inf


def test_partial_fit_in_pieces_is_one_sweep() -> None:
    for whole in ALL:
        settings = whole.get_params() | {"shuffle": False, "max_iter": 1, "tol": None}
        if "gamma" in settings:
            settings["gamma"] = 0.1
        if isinstance(whole, Winnow):
            settings["fit_intercept"] = False
        once = type(whole)(**settings).fit(X, Y)
        pieces = type(whole)(**settings)
        if isinstance(whole, Winnow):  # which scales by the first rows it sees
            X[0, 0], keep = abs(X).max(), X[0, 0]
            once.fit(X, Y)
        for first in range(0, 90, 30):
            pieces.partial_fit(X[first : first + 30], Y[first : first + 30], classes=[0, 1, 2])
        if isinstance(whole, Winnow):
            X[0, 0] = keep
        assert pieces.mistakes_ == once.mistakes_
        assert pieces.t_ == 90
        np.testing.assert_allclose(
            pieces.decision_function(X), once.decision_function(X), rtol=1e-7, atol=1e-9
        )


def test_fit_forgets_and_repeats() -> None:
    for model in ALL:
        first = model.fit(X, Y).decision_function(X)
        np.testing.assert_array_equal(model.fit(X, Y).decision_function(X), first)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.decision_function(X), first)


def test_kernels_on_objects() -> None:
    texts, y = ["abcab", "bcabc", "xyzxy", "zxyzx"], [0, 0, 1, 1]
    for model in (KernelPerceptron(Spectrum(2)), VotedPerceptron(Spectrum(2), max_iter=20)):
        assert list(model.fit(texts, y).predict(["abca", "yzxy"])) == [0, 1]


def test_max_time_and_ctrl_c_leave_a_usable_model() -> None:
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(20_000, 50)), rng.integers(0, 2, 20_000)
    began = time.perf_counter()
    model = Perceptron(max_iter=100_000, tol=None, max_time=0.2).fit(rows, y)
    assert time.perf_counter() - began < 0.7
    assert model.status_ is Status.TIME_LIMIT
    assert np.isfinite(model.coef_).all()

    def interrupt(progress: Any) -> None:
        if progress.iterations == 3:
            raise KeyboardInterrupt

    model = Perceptron(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, y)
    assert model.n_iter_ == 3
    assert model.status_ is Status.INTERRUPTED
    assert Perceptron(callback=lambda p: p.iterations == 2).fit(rows, y).n_iter_ == 2


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Perceptron(eta0=0), "eta0 must be a number in"),
        (Perceptron(dual="yes"), "dual must be True or False"),
        (PassiveAggressiveClassifier(loss="log"), "loss must be one of 'hinge', 'squared_hinge'"),
        (Winnow(factor=1), "factor must be a number in"),
        (Winnow(balanced=False), "found -"),
        (KernelPerceptron("precomputed"), "one by one"),
        (Perceptron(mistake_bound=True), "needs two classes, found 3"),
        (Perceptron(max_iter=0), "max_iter must be a whole number"),
    ],
)
def test_errors_name_the_argument(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_huge_numbers_are_refused_and_unknown_labels_too() -> None:
    with pytest.raises(ValueError, match="too large"):
        Perceptron(max_iter=50).fit(X * 1e300, Y)
    model = Perceptron().partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"y holds \[5\], which the first call"):
        model.partial_fit(X, np.full(90, 5))
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        Perceptron().partial_fit(X, Y)


def test_averages_help_where_classes_overlap() -> None:
    rows, y = datasets.make_blobs(800, 10, centers=2, cluster_std=6.0, random_state=0)
    train, test = slice(0, 400), slice(400, None)
    last = Perceptron().fit(rows[train], y[train]).score(rows[test], y[test])
    average = AveragedPerceptron().fit(rows[train], y[train]).score(rows[test], y[test])
    best = SVC(kernel="linear", C=0.01).fit(rows[train], y[train]).score(rows[test], y[test])
    assert last < average
    assert average > best - 0.03
