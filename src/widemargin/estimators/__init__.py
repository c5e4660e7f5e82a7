"""scikit-learn estimators: translations between its conventions and problems and solutions."""

from .classifiers import SVC, NuSVC
from .detectors import SVDD, OneClassSVM
from .linear_classifiers import LinearSVC, LogisticRegression
from .linear_detectors import LinearOneClassSVM
from .linear_regressors import LinearSVR
from .regressors import SVR, NuSVR

__all__ = ["SVC", "SVDD", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
