"""scikit-learn's own checks of its conventions, all of them; online learners have a file apart."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import (
    SVC,
    SVDD,
    SVR,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
)

MACHINES = [
    SVC(),
    SVC(multi_class="ovr", kernel="linear"),
    SVC(multi_class="joint"),
    NuSVC(),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVDD(),
    LinearSVC(),
    LinearSVC(loss="hinge", multi_class="crammer_singer"),
    LinearSVC(loss="logistic", penalty="elasticnet", multi_class="ovo"),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive", penalty="l1"),
    LinearOneClassSVM(),
    LogisticRegression(),
]


@pytest.mark.filterwarnings("ignore:specified nu is infeasible")
@parametrize_with_checks(MACHINES)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)
