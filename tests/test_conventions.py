"""scikit-learn's own checks of its conventions, all of them, for every kernel machine."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

MACHINES = [
    SVC(),
    SVC(multi_class="ovr", kernel="linear"),
    SVC(multi_class="joint"),
    NuSVC(),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVDD(),
]


@pytest.mark.filterwarnings("ignore:specified nu is infeasible")
@parametrize_with_checks(MACHINES)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)
