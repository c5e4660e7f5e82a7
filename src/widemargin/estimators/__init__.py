"""scikit-learn estimators: translations between its conventions and problems and solutions."""

from .classifiers import SVC, NuSVC
from .detectors import SVDD, OneClassSVM
from .regressors import SVR, NuSVR

__all__ = ["SVC", "SVDD", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
