"""Probabilities of linear classifiers: honest, calibrated, never against the prediction."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.metrics import log_loss

from widemargin import LinearSVC, LogisticRegression


def two(n=1200):
    return make_classification(n, 8, n_informative=5, flip_y=0.2, random_state=0)


def ten():
    X, y = load_digits(return_X_y=True)
    return X / 16, np.array([f"digit {k}" for k in y])


def test_has_predict_proba_only_where_there_are_probabilities():
    X, y = two()
    model = LinearSVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    assert hasattr(model.calibrate(X, y, cv=3), "predict_proba")
    assert not hasattr(model.fit(X, y), "predict_proba")
    assert hasattr(LinearSVC(loss="logistic"), "predict_proba")
    assert hasattr(LogisticRegression(), "predict_proba")


def test_logistic_probabilities_are_those_of_scikit_learn():
    X, y = two()
    ours = LogisticRegression(C=0.7, gap_tol=1e-10).fit(X, y)
    theirs = Theirs(C=0.7, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-4)
    same = LinearSVC(loss="logistic", C=0.7, gap_tol=1e-10).fit(X, y)
    np.testing.assert_allclose(same.predict_proba(X), ours.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_calibration_makes_probabilities_likely(loss, cv):
    X, y = two(5000)
    model = LinearSVC(loss=loss, C=1.0).fit(X[:1000], y[:1000])
    where = slice(None, 1000) if cv else slice(1000, 2000)
    model.calibrate(X[where], y[where], cv=cv)
    p = model.predict_proba(X[2000:])
    best = LogisticRegression().fit(X[:1000], y[:1000]).predict_proba(X[2000:])
    assert log_loss(y[2000:], p) < log_loss(y[2000:], best) + 0.03
    sure = p.max(axis=1) > 0.8
    right = (model.classes_[p.argmax(axis=1)] == y[2000:])[sure].mean()
    assert right == pytest.approx(p.max(axis=1)[sure].mean(), abs=0.05)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo", "crammer_singer"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_most_probable_is_predicted(multi_class, loss):
    X, y = ten()
    model = LinearSVC(loss=loss, multi_class=multi_class, C=1.0).fit(X[:400], y[:400])
    assert hasattr(model, "predict_proba") == (loss == "logistic" and multi_class[0] == "o")
    for _ in range(2):
        if hasattr(model, "predict_proba"):
            p = model.predict_proba(X[800:])
            np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
            assert (model.classes_[p.argmax(axis=1)] == model.predict(X[800:])).all()
            assert log_loss(y[800:], p, labels=model.classes_) < 1.0
        model.calibrate(X[400:800], y[400:800])
    assert log_loss(y[800:], model.predict_proba(X[800:])) < 0.6


def test_weights_of_calibration_are_repetitions():
    X, y = two(300)
    model = LinearSVC().fit(X[:150], y[:150])
    times = np.random.default_rng(0).integers(0, 3, 150)
    rows = 150 + np.repeat(np.arange(150), times)
    a = model.calibrate(X[150:], y[150:], times).slopes_.copy()
    np.testing.assert_allclose(a, model.calibrate(X[rows], y[rows]).slopes_, rtol=1e-9)


def test_what_calibration_cannot_use_is_said():
    X, y = two(100)
    model = LinearSVC().fit(X, y)
    with pytest.raises(ValueError, match=r"y holds \[7\]"):
        model.calibrate(X, np.where(np.arange(100) == 3, 7, y))
    with pytest.raises(ValueError, match="cv must be a whole number"):
        model.calibrate(X, y, cv=1)
    few = np.zeros(100, dtype=int)
    few[0] = 1
    with pytest.raises(ValueError, match="at least 2 different rows of each class, found 1"):
        model.calibrate(X, few, cv=5)
