"""Fitted estimators of scikit-learn become ours and ours become theirs, with the same decisions."""

import numpy as np
import pytest
from model_cases import CASES, classes, farthest, fitted
from sklearn import svm

import widemargin as wm

AGREE = 1e-12


@pytest.mark.parametrize("name", CASES)
def test_scikit_learn_takes_and_gives(name):
    estimator, X = fitted(name)
    if "sklearn" not in CASES[name].others:
        with pytest.raises((TypeError, ValueError), match="scikit-learn"):
            wm.to_sklearn(estimator)
        return
    theirs = wm.to_sklearn(estimator)
    assert type(theirs).__module__.startswith("sklearn.svm")
    assert farthest(estimator, theirs, X) <= AGREE
    if not CASES[name].regression:
        np.testing.assert_array_equal(theirs.predict(X), estimator.predict(X))
    assert farthest(theirs, wm.from_sklearn(theirs), X) <= AGREE


def test_estimators_fitted_by_scikit_learn_decide_the_same_here():
    X, y = classes()
    for theirs in (
        svm.SVC(C=3.0, gamma="auto"), svm.NuSVC(nu=0.2), svm.SVR(), svm.NuSVR(),
        svm.OneClassSVM(nu=0.3), svm.LinearSVC(max_iter=100_000),
        svm.LinearSVR(C=0.01, max_iter=100_000), svm.LinearSVC(fit_intercept=False),
        svm.LinearSVR(C=0.01, fit_intercept=False),
    ):  # fmt: skip
        theirs.fit(X, y)
        ours = wm.from_sklearn(theirs)
        assert farthest(theirs, ours, X) <= AGREE
        given = theirs.get_params()
        assert all(given[k] == v for k, v in ours.get_params().items() if k in ("C", "nu", "gamma"))
        if hasattr(theirs, "classes_"):
            np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    with pytest.raises(ValueError, match="keeps no support vectors with a kernel function"):
        wm.from_sklearn(svm.SVC(kernel=lambda a, b: a @ b.T).fit(X, y))
    with pytest.raises(TypeError, match="from_sklearn takes SVC"):
        wm.from_sklearn(wm.SVR().fit([[0.0], [1.0]], [0.0, 1.0]))
