"""C by a path of warm starts and by LIBLINEAR's search."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import classes, numbers

from widemargin import LinearSVC, LinearSVR, LogisticRegression, dump_svmlight
from widemargin.cli import main


def theirs(X, y, kind, capfd):
    """Return C and score that LIBLINEAR's own search finds, and the first C that it tries."""
    from liblinear.liblinearutil import train

    capfd.readouterr()
    C, _, score = train(y, sp.csr_matrix(X), f"-s {kind} -C -v 5 -B 1")
    first = 2.0 ** float(re.search(r"log2c=\s*(-?[\d.]+)", capfd.readouterr().out)[1])
    return C, score, first


@pytest.mark.parametrize("kind", [0, 2, 11])
def test_search_is_that_of_liblinear(kind, capfd):
    X, y = classes(300, 6) if kind < 10 else numbers(80, 3)
    settings = dict(penalize_intercept=True, gap_tol=1e-3)
    if kind == 11:
        model = LinearSVR(loss="squared_epsilon_insensitive", **settings)
        found = model.search_cost_and_epsilon(X, y)
    else:
        model = LogisticRegression(**settings) if kind == 0 else LinearSVC(**settings)
        found = model.search_cost(X, y)
    _, score, first = theirs(X, y, kind, capfd)
    if kind < 10:
        assert found.Cs[0] == first
    scale = 1.0 if kind < 10 else y.var()
    assert abs(abs(found.score) - score) < 0.03 * scale  # the folds differ
    assert found.score == max(found.scores)
    assert np.allclose(np.diff(np.log2(found.Cs)), 1)
    assert not hasattr(model, "coef_")


def test_scores_are_those_of_refitted_folds():
    X, y = classes(200, 5)
    model = LinearSVC(loss="hinge", gap_tol=1e-9)
    found = model.search_cost(X, y, cv=4, start=0.1, largest=0.4)
    assert found.Cs == (0.1, 0.2, 0.4)
    folds = model._folds(X, y, np.ones(200), 4)
    assert 49 <= np.bincount(folds).min() <= np.bincount(folds).max() <= 51
    for C, score in zip(found.Cs, found.scores, strict=True):
        right = 0
        for fold in range(4):
            out = folds == fold
            one = LinearSVC(loss="hinge", C=C, gap_tol=1e-9).fit(X[~out], y[~out])
            right += int((one.predict(X[out]) == y[out]).sum())
        assert score == pytest.approx(right / 200, abs=0.006)


def test_search_ends_where_weights_stand_still():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 10)
    found = LinearSVC(loss="hinge").search_cost(X, np.sign(X[:, 0]))
    assert found.score == 1.0
    assert found.Cs[-1] < 64  # the hard margin is reached at once


def test_rows_without_weight_play_no_part():
    X, y = classes(200, 4)
    weights = np.where(np.arange(200) < 150, 1.0, 0.0)
    a = LinearSVC().search_cost(X, y, sample_weight=weights, start=0.25, largest=1.0)
    spoiled = np.where(weights > 0, y, -y)
    b = LinearSVC().search_cost(X, spoiled, sample_weight=weights, start=0.25, largest=1.0)
    assert a == b


@pytest.mark.parametrize("kind", [LinearSVC, LinearSVR])
def test_search_knows_rows_by_their_numbers(kind):
    """Neither the order of rows nor whether one is repeated or weighted plays a part."""
    X, y = classes(120, 4)
    weights = np.random.default_rng(1).integers(0, 4, 120)
    model, settings = kind(gap_tol=1e-10), {"largest": 1.0, "cv": 3}
    weighted = model.search_cost(X, y, sample_weight=weights.astype(float), **settings)
    order = np.random.default_rng(2).permutation(weights.sum())
    rows = np.repeat(np.arange(120), weights)[order]
    repeated = model.search_cost(X[rows], y[rows], **settings)
    assert repeated.Cs == weighted.Cs
    np.testing.assert_allclose(repeated.scores, weighted.scores, rtol=1e-4)


@pytest.mark.parametrize("kind", [LinearSVC, LinearSVR])
def test_path_is_that_of_single_fits(kind):
    X, y = classes(200, 5)
    for model in kind(gap_tol=1e-8).C_path(X, y, [0.01, 0.1, 1.0]):
        alone = kind(C=model.C, gap_tol=1e-8).fit(X, y)
        assert model.primal_objective_ == pytest.approx(alone.primal_objective_, rel=2e-8)
        assert model.warm_start is False


def test_what_the_search_cannot_use_is_said():
    X, y = classes(20, 2)
    for settings, message in (({"cv": 1}, "cv must be"), ({"start": -1.0}, "start must be")):
        with pytest.raises(ValueError, match=message):
            LinearSVC().search_cost(X, y, **settings)


def test_command(tmp_path, capsys):
    X, y = classes(120, 4)
    file = str(tmp_path / "set")
    dump_svmlight(X, y, file)
    assert main(["liblinear-train", "-C", "-B", "1", file]) == 0
    told = capsys.readouterr().out
    rates = re.findall(r"log2c= *(-?[\d.]+)\trate=([\d.]+)", told)
    best = re.search(r"Best C = ([\d.e-]+)  CV accuracy = ([\d.]+)%", told)
    assert float(best[2]) == max(float(rate) for _, rate in rates)
    first = next(float(power) for power, rate in rates if rate == best[2])
    assert np.log2(float(best[1])) == pytest.approx(first, abs=0.01)
    X, t = numbers(80, 3)
    dump_svmlight(X, t, file)
    assert main(["liblinear-train", "-C", "-s", "11", "-p", "0.1", file]) == 0
    assert "Best p = 0.1  CV MSE = " in capsys.readouterr().out
    assert main(["liblinear-train", "-C", "-s", "3", file]) != 0
    assert "-C searches for -s 0, -s 2 and -s 11" in capsys.readouterr().err
