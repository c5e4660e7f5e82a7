"""scikit-learn's own checks of its conventions, all of them, for every public estimator."""

import inspect
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import widemargin
from widemargin import SVC, LinearSVC, LinearSVR

PUBLIC = [getattr(widemargin, name) for name in widemargin.__all__]
ESTIMATORS = [kind for kind in PUBLIC if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]
OTHER_SETTINGS = [
    SVC(multi_class="ovr", kernel="linear"),
    SVC(multi_class="joint"),
    SVC(kernel="precomputed"),
    SVC(solver="newton"),
    LinearSVC(loss="hinge", multi_class="crammer_singer"),
    LinearSVC(loss="logistic", penalty="elasticnet", multi_class="ovo"),
    LinearSVR(loss="squared_epsilon_insensitive", penalty="l1"),
]


@pytest.mark.filterwarnings("ignore:specified nu is infeasible")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one-pass learners
@parametrize_with_checks([kind() for kind in ESTIMATORS] + OTHER_SETTINGS)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)
