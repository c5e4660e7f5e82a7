"""scikit-learn estimators: translations between its conventions and problems and solutions."""

from .baselines import LeastSquaresClassifier, NearestMeans
from .classifiers import SVC, NuSVC
from .detectors import SVDD, OneClassSVM
from .feature_maps import PolynomialMap, SquaresMap
from .kernel_perceptrons import AveragedPerceptron, KernelPerceptron, VotedPerceptron
from .kkt import KKTReport, kkt_report
from .linear_detectors import LinearOneClassSVM
from .linear_logistic import LogisticRegression
from .linear_regressors import LinearSVR
from .linear_svc import LinearSVC
from .margin_report import Margins, margins
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
    "KKTReport",
    "KernelPerceptron",
    "LeastSquaresClassifier",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "Margins",
    "NearestMeans",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PassiveAggressiveClassifier",
    "Pegasos",
    "Perceptron",
    "PolynomialMap",
    "SquaresMap",
    "SubgradientSVC",
    "VotedPerceptron",
    "Winnow",
    "kkt_report",
    "linear_separability",
    "margins",
]
