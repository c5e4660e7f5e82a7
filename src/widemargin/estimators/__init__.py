"""scikit-learn estimators: translations between its conventions and problems and solutions."""

from .baselines import LeastSquaresClassifier, NearestMeans
from .classifiers import SVC, NuSVC
from .detectors import SVDD, OneClassSVM
from .kernel_perceptrons import AveragedPerceptron, KernelPerceptron, VotedPerceptron
from .linear_detectors import LinearOneClassSVM
from .linear_logistic import LogisticRegression
from .linear_regressors import LinearSVR
from .linear_svc import LinearSVC
from .pegasos import Pegasos
from .perceptrons import PassiveAggressiveClassifier, Perceptron, Winnow
from .regressors import SVR, NuSVR
from .separability import linear_separability
from .subgradient_svc import SubgradientSVC

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "AveragedPerceptron",
    "KernelPerceptron",
    "LeastSquaresClassifier",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "NearestMeans",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PassiveAggressiveClassifier",
    "Pegasos",
    "Perceptron",
    "SubgradientSVC",
    "VotedPerceptron",
    "Winnow",
    "linear_separability",
]
