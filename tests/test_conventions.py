"""scikit-learn's own checks of its conventions, all of them, for every public estimator."""

import inspect
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import widemargin
from widemargin import SVC, LinearSVC, LinearSVR, Pegasos

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
    Pegasos("rbf", lam=0.01, max_iter=50),
]


OTHER_STEPS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weight of 2 is the row twice in the "
    "objective, which test_weights_are_repeated_rows asserts, but not in the steps"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore:specified nu is infeasible")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one-pass learners
@parametrize_with_checks(
    [kind() for kind in ESTIMATORS] + OTHER_SETTINGS,
    expected_failed_checks=lambda one: OTHER_STEPS if isinstance(one, Pegasos) else {},
)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)
