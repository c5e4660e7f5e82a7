"""Pegasos against the loop of its paper, and its certificate against exact solvers."""

import io
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning

import widemargin
from widemargin import SVC, LinearSVC, Pegasos, Status, kkt_report
from widemargin.backends.cpu import online
from widemargin.estimators import progress
from widemargin.kernels import RBF, Polynomial, Spectrum

X, Y = make_blobs(150, 4, centers=3, cluster_std=3.0, random_state=5)
SIGNS = np.where(Y == 0, -1, 1)
WIDE = np.hstack([X, np.ones((150, 1))])  # the constant feature carries the intercept
FEW = dict(shuffle=False, gap_tol=0.0)

few_passes = pytest.mark.filterwarnings("ignore:Pegasos stopped at max_iter")


def naive(rows: Any, labels: Any, lam: float, passes: int, batch: int, project: bool) -> list:
    """Return the weights of all classes after each row; two classes have one weight vector."""
    classes = labels.max() + 1
    W = np.zeros((1 if classes == 2 else classes, rows.shape[1]))
    after, t = [], 0
    for _ in range(passes):
        for first in range(0, len(rows), batch):
            chosen = range(first, min(first + batch, len(rows)))
            push = np.zeros_like(W)
            for i in chosen:
                scores = W @ rows[i]
                if classes == 2:
                    sign = 1 if labels[i] else -1
                    push[0] += sign * rows[i] * (sign * scores[0] < 1 or t == 0)
                    continue
                wrong = [k for k in range(classes) if k != labels[i]]
                rival = max(wrong, key=lambda k: (scores[k], -k))
                if scores[labels[i]] - scores[rival] < 1 or t == 0:
                    push[labels[i]] += rows[i]
                    push[rival] -= rows[i]
            W = W * (t / (t + len(chosen))) + push / (lam * (t + len(chosen)))
            t += len(chosen)
            if project:
                W *= min(1.0, 1 / (np.sqrt(lam) * np.linalg.norm(W)))
            after += [W] * len(chosen)
    return after


@few_passes
@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("labels", [(Y > 0).astype(int), Y], ids=["two", "three"])
@pytest.mark.parametrize(("batch", "project"), [(1, False), (7, False), (1, True), (7, True)])
def test_is_the_naive_loop(storage: Any, labels: Any, batch: int, project: bool) -> None:
    settings = FEW | dict(lam=0.05, batch_size=batch, project=project)
    after = naive(WIDE, labels, 0.05, 3, batch, project)
    last = Pegasos(max_iter=3, average=False, **settings).fit(storage(X), labels)
    np.testing.assert_allclose(np.c_[last.coef_, last.intercept_], after[-1], rtol=1e-9, atol=1e-12)
    # Every pass of the first few is measured, so that the last one is what is averaged.
    mean = Pegasos(max_iter=3, **settings).fit(storage(X), labels)
    wanted = np.average(after[300:], axis=0, weights=np.arange(301, 451))
    if batch == 1:
        np.testing.assert_allclose(
            np.c_[mean.coef_, mean.intercept_], wanted, rtol=1e-8, atol=1e-12
        )
    wide = Pegasos(max_iter=3, **settings).fit(storage(X.astype(np.float32)), labels)
    np.testing.assert_allclose(wide.coef_, mean.coef_, rtol=0.05, atol=0.05)


@few_passes
@pytest.mark.parametrize("rows_kept", [0, 4096])
@pytest.mark.parametrize("labels", [SIGNS, Y], ids=["two", "three"])
@pytest.mark.parametrize("project", [False, True])
def test_kernel_form_is_pegasos_in_feature_space(
    monkeypatch: Any, rows_kept: int, labels: Any, project: bool
) -> None:
    """(x.z + 1)² is the inner product of all products of two coordinates of (x, 1)."""
    monkeypatch.setattr(online, "GRAM_ROWS", rows_kept)
    monkeypatch.setattr(online, "BLOCK", 16)
    rows, wide = X / 10, np.hstack([X / 10, np.ones((150, 1))])
    products = np.einsum("ij,ik->ijk", wide, wide).reshape(len(X), -1)
    settings = FEW | dict(fit_intercept=False, max_iter=4, lam=0.05, project=project)
    explicit = Pegasos(**settings).fit(products, labels)
    model = Pegasos(Polynomial(2, 1.0, 1.0), **settings).fit(rows, labels)
    np.testing.assert_allclose(
        model.decision_function(rows), explicit.decision_function(products), rtol=1e-7, atol=1e-9
    )
    for name in ("alpha_", "primal_objective_", "dual_objective_"):
        np.testing.assert_allclose(getattr(model, name), getattr(explicit, name), rtol=1e-7)


def check_certificate(model: Pegasos, rows: Any, labels: Any) -> None:
    """The objectives, as the definitions write them, of coef_ and alpha_."""
    wide = np.hstack([rows, np.ones((len(rows), 1))])
    W = np.c_[model.coef_, model.intercept_]
    cost, alpha, scores = 1 / (model.lam_ * len(rows)), model.alpha_, wide @ W.T
    ids = np.searchsorted(model.classes_, labels)
    at = np.arange(len(rows)), ids
    if len(model.classes_) == 2:
        signs = np.where(ids == 1, 1.0, -1.0)
        losses = np.maximum(0, 1 - signs * scores[:, 0])
        assert alpha.min() >= 0
        assert alpha.max() <= cost * (1 + 1e-12)
        pulled, gain = (alpha * signs) @ wide, alpha.sum()
    else:
        other = scores + 1
        other[at] -= 1
        losses = other.max(axis=1) - scores[at]
        np.testing.assert_allclose(alpha.sum(axis=1), 0, atol=1e-9 * cost)
        assert alpha[at].max() <= cost * (1 + 1e-12)
        own = np.zeros_like(alpha, dtype=bool)
        own[at] = True
        assert alpha[~own].max() <= 0
        pulled, gain = alpha.T @ wide, alpha[at].sum()
    primal = 0.5 * (W**2).sum() + cost * losses.sum()
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-10)
    assert model.dual_objective_ == pytest.approx(gain - 0.5 * (pulled**2).sum(), rel=1e-9)
    gap = (model.primal_objective_ - model.dual_objective_) / model.primal_objective_
    assert model.duality_gap_ == pytest.approx(gap)


@few_passes
@given(
    st.integers(0, 10_000), st.sampled_from([2, 3]), st.sampled_from([1e-3, 0.1, 10.0]),
    st.booleans(), st.booleans(), st.sampled_from([1, 5]), st.integers(1, 9),
)  # fmt: skip
def test_optimum_lies_between_the_objectives(
    seed: int, classes: int, lam: float, average: bool, project: bool, batch: int, passes: int
) -> None:
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(30, 3)), np.arange(30) % classes
    model = Pegasos(
        lam=lam, average=average, project=project, batch_size=batch, max_iter=passes, gap_tol=0.0
    ).fit(rows, labels)
    check_certificate(model, rows, labels)
    exact = LinearSVC(
        loss="hinge", C=1 / (lam * 30), penalize_intercept=True, gap_tol=1e-9,
        multi_class="ovr" if classes == 2 else "crammer_singer",
    ).fit(rows, labels)  # fmt: skip
    slack = 1e-6 * exact.primal_objective_
    assert model.dual_objective_ <= exact.primal_objective_ + slack
    assert model.primal_objective_ >= exact.dual_objective_ - slack


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
def test_reaches_the_gap_asked_for(kernel: str, classes: int) -> None:
    rows, labels = make_blobs(400, 4, centers=classes, cluster_std=3.0, random_state=1)
    rows = rows / 10
    model = Pegasos(kernel, lam=0.01, gap_tol=0.002).fit(rows, labels)
    assert model.status_ is Status.GAP_REACHED
    assert model.converged_
    assert 0 <= model.duality_gap_ <= 0.002
    times = [p.iterations for p in model.history_]
    assert all(a < b for a, b in pairwise(times))
    assert model.history_[-1].gap == pytest.approx(model.duality_gap_, abs=1e-9)
    if kernel == "linear":
        check_certificate(model, rows, labels)


def test_agrees_with_the_svm_of_the_kernel() -> None:
    """A kernel raised by one has the constant feature in it."""
    rows, labels = make_classification(200, 5, random_state=0)
    exact = SVC(kernel=RBF(0.2), C=1.0, tol=1e-6).fit(rows, labels)
    model = Pegasos(RBF(0.2), C=1.0, fit_intercept=False, gap_tol=1e-3).fit(rows, labels)
    assert model.lam_ == pytest.approx(1 / 200)
    gram = RBF(0.2)(rows, rows)
    alpha = np.zeros(200)
    alpha[model.support_] = model.dual_coef_[0]
    signs = np.where(labels == 1, 1, -1)
    primal = 0.5 * alpha @ gram @ alpha + np.maximum(0, 1 - signs * (gram @ alpha)).sum()
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
    assert model.primal_objective_ >= exact.dual_objective_  # which has a free intercept


@few_passes
def test_averages_of_a_pass_are_better_than_the_last_iterate() -> None:
    rows, labels = make_classification(3000, 30, flip_y=0.2, random_state=0)
    last, mean = (
        Pegasos(lam=1e-4, average=average, max_iter=10, gap_tol=0.0).fit(rows, labels)
        for average in (False, True)
    )
    assert mean.primal_objective_ < last.primal_objective_


@few_passes
@pytest.mark.parametrize("project", [False, True])
def test_a_stream_after_a_fit_counts_its_result_as_all_iterates_before(project: bool) -> None:
    model = Pegasos(lam=0.05, max_iter=3, project=project, **FEW).fit(X, Y)
    fitted = np.c_[model.coef_, model.intercept_]
    model.partial_fit(X, Y)
    iterates = [fitted] * 450 + naive(WIDE, Y, 0.05, 4, 1, project)[450:]
    wanted = np.average(iterates, axis=0, weights=np.arange(1, 601))
    np.testing.assert_allclose(np.c_[model.coef_, model.intercept_], wanted, rtol=1e-8, atol=1e-12)


def test_partial_fit_in_pieces_is_one_pass() -> None:
    for project in (False, True):
        settings = dict(shuffle=False, lam=0.05, project=project)
        pieces = Pegasos(**settings)
        for first in range(0, 150, 50):
            part = slice(first, first + 50)
            pieces.partial_fit(X[part], Y[part], classes=[0, 1, 2])
        after = naive(WIDE, Y, 0.05, 1, 1, project)
        wanted = np.average(after, axis=0, weights=np.arange(1, 151))
        np.testing.assert_allclose(
            np.c_[pieces.coef_, pieces.intercept_], wanted, rtol=1e-8, atol=1e-12
        )
        assert pieces.t_ == 150
        assert not hasattr(pieces, "duality_gap_")
    kernels = Pegasos("rbf", gamma=0.1, lam=0.05, shuffle=False)
    whole = Pegasos("rbf", gamma=0.1, lam=0.05, shuffle=False).partial_fit(X, Y, classes=[0, 1, 2])
    for first in range(0, 150, 50):
        part = slice(first, first + 50)
        kernels.partial_fit(X[part], Y[part], classes=[0, 1, 2])
    np.testing.assert_allclose(kernels.decision_function(X), whole.decision_function(X))


@few_passes
def test_same_seed_same_result_whatever_the_threads() -> None:
    fits = [
        Pegasos(n_jobs=jobs, random_state=seed, max_iter=3).fit(X, Y)
        for jobs, seed in ((1, 0), (2, 0), (1, 1))
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].duality_gap_ == fits[1].duality_gap_
    assert not np.array_equal(fits[0].coef_, fits[2].coef_)
    copy = pickle.loads(pickle.dumps(fits[0]))
    np.testing.assert_array_equal(copy.decision_function(X), fits[0].decision_function(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_learning_goes_on_after_a_file(kernel: str) -> None:
    model, file = Pegasos(kernel, lam=0.05, gamma=0.1, project=True), io.BytesIO()
    widemargin.save(model.partial_fit(X, Y, classes=[0, 1, 2]), file)
    again = widemargin.load(io.BytesIO(file.getvalue()))
    np.testing.assert_array_equal(
        again.partial_fit(X, Y).decision_function(X), model.partial_fit(X, Y).decision_function(X)
    )


def test_texts_need_no_numbers() -> None:
    texts, labels = ["abcab", "bcabc", "xyzxy", "zxyzx"], [0, 0, 1, 1]
    model = Pegasos(Spectrum(2), lam=0.1).fit(texts, labels)
    assert list(model.predict(["abca", "yzxy"])) == [0, 1]


def test_limits_and_interrupts_leave_a_certified_model() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(20_000, 30)), rng.integers(0, 2, 20_000)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        model = Pegasos(lam=1e-7, gap_tol=0.0, max_time=0.1, max_iter=100_000).fit(rows, labels)
    assert model.status_ is Status.TIME_LIMIT
    assert model.dual_objective_ <= model.primal_objective_

    def interrupt(progress: Any) -> None:
        raise KeyboardInterrupt

    model = Pegasos(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, labels)
    assert model.status_ is Status.INTERRUPTED
    assert model.dual_objective_ <= model.primal_objective_
    with pytest.warns(ConvergenceWarning):
        stopped = Pegasos(gap_tol=0.0, callback=lambda p: p.iterations == 2).fit(rows, labels)
    assert stopped.n_iter_ == 2


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Pegasos(lam=0), "lam must be a number in"),
        (Pegasos(C=-1.0), "C must be a number in"),
        (Pegasos(batch_size=0), "batch_size must be a whole number"),
        (Pegasos(project="yes"), "project must be True or False"),
        (Pegasos("precomputed"), "one by one"),
    ],
)
def test_errors_name_the_argument(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_cost_is_of_no_use_to_a_stream() -> None:
    for settings, found in ((dict(C=1.0), r"C=1\.0"), (dict(class_weight="balanced"), "class_we")):
        with pytest.raises(ValueError, match=f"partial_fit needs lam.*found {found}"):
            Pegasos(**settings).partial_fit(X, Y, classes=[0, 1, 2])


WEIGHTS = np.random.default_rng(0).integers(0, 4, 150).astype(float)
REPEATED = np.repeat(np.arange(150), WEIGHTS.astype(int))


@pytest.mark.parametrize("labels", [SIGNS, Y], ids=["two", "three"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "settings",
    [dict(lam=0.02), dict(C=0.1, project=True, batch_size=4), dict(lam=0.02, average=False)],
)
def test_weights_are_repeated_rows(settings: dict, kernel: str, labels: Any) -> None:
    settings = dict(kernel=kernel, gap_tol=2e-3, max_iter=10_000, **settings)
    weighted = Pegasos(**settings).fit(X, labels, WEIGHTS)
    repeated = Pegasos(**settings).fit(X[REPEATED], labels[REPEATED])
    assert weighted.lam_ == pytest.approx(repeated.lam_)
    for model, other in ((weighted, repeated), (repeated, weighted)):
        assert model.duality_gap_ <= 2e-3
        assert model.primal_objective_ >= other.dual_objective_ * (1 - 1e-12)
    cost = WEIGHTS / (weighted.lam_ * WEIGHTS.sum())
    largest = weighted.alpha_ if labels is SIGNS else np.abs(weighted.alpha_).max(axis=1)
    assert (largest <= cost * (1 + 1e-9)).all()
    f = weighted.decision_function(X)
    if labels is SIGNS:
        losses = np.maximum(0.0, 1.0 - SIGNS * f)
    else:
        rows = np.arange(150), Y
        short = f + 1.0 - f[rows][:, None]
        short[rows] = 0.0
        losses = short.max(axis=1)
    if kernel == "linear":
        size = (weighted.coef_**2).sum() + (weighted.intercept_**2).sum()
        assert 0.5 * size + cost @ losses == pytest.approx(weighted.primal_objective_)
    if labels is SIGNS:
        assert kkt_report(weighted, X, labels, WEIGHTS).gap == pytest.approx(weighted.duality_gap_)


@few_passes
def test_each_step_is_multiplied_by_the_weight() -> None:
    lam, weights = 0.05, np.where(np.arange(150) % 3, 1.0, 2.5)
    model = Pegasos(lam=lam, average=False, max_iter=2, **FEW).fit(X, SIGNS, weights)
    u = np.zeros(5)
    for t, i in enumerate([*range(150)] * 2):
        if SIGNS[i] * (WIDE[i] @ u) < lam * t or t == 0:
            u += weights[i] / weights.mean() * SIGNS[i] * WIDE[i]
    w = u / (lam * 300)
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), w, rtol=1e-10)


def test_weights_of_classes() -> None:
    rows = X / 10.0
    few = np.where(np.arange(150) % 10 == 0, SIGNS, 1)
    shares = [
        np.mean(Pegasos(lam=0.05, class_weight=w).fit(rows, few).predict(rows) == -1)
        for w in (None, "balanced", {-1: 50.0})
    ]
    assert shares[0] < min(shares[1:])
    by_row = Pegasos(lam=0.05).fit(rows, few, np.where(few == -1, 50.0, 1.0))
    by_class = Pegasos(lam=0.05, class_weight={-1: 50.0}).fit(rows, few)
    np.testing.assert_array_equal(by_row.coef_, by_class.coef_)


def test_verbose_shows_a_line_after_a_second(monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "FIRST_AFTER", 0.0)
    Pegasos(lam=0.05, verbose=True).fit(X, SIGNS)
    shown = capsys.readouterr().err
    assert "150 rows" in shown
    assert "gap" in shown
    assert "nan" not in shown


@few_passes
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_measures_on_the_way_change_nothing(kernel: str) -> None:
    settings = dict(kernel=kernel, lam=0.05, gap_tol=0.0, max_iter=7)
    alone = Pegasos(**settings).fit(X, SIGNS)
    watched = Pegasos(**settings, callback=lambda progress: None).fit(X, SIGNS)
    assert len(alone.history_) == 1 < len(watched.history_)
    np.testing.assert_allclose(
        alone.decision_function(X), watched.decision_function(X), rtol=1e-9, atol=1e-12
    )
    assert alone.primal_objective_ == pytest.approx(watched.primal_objective_)
    assert alone.dual_objective_ <= alone.primal_objective_
