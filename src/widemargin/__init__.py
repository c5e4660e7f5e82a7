"""Support vector machines, every fit certified by a duality gap."""

import importlib.metadata as _metadata

from . import kernels
from .estimators import (
    SVC,
    SVDD,
    SVR,
    AveragedPerceptron,
    KernelPerceptron,
    LeastSquaresClassifier,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NearestMeans,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PassiveAggressiveClassifier,
    Pegasos,
    Perceptron,
    PolynomialMap,
    SquaresMap,
    SubgradientSVC,
    VotedPerceptron,
    Winnow,
    kkt_report,
    linear_separability,
    margins,
)
from .estimators.interchange import from_sklearn, to_sklearn
from .io import (
    dump_svmlight,
    export_c,
    export_onnx,
    iter_svmlight,
    load,
    load_svmlight,
    load_table,
    save,
)
from .reductions.machines import NotSeparableError
from .selection import svm_path
from .solution import Status

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
    "NotSeparableError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PassiveAggressiveClassifier",
    "Pegasos",
    "Perceptron",
    "PolynomialMap",
    "SquaresMap",
    "Status",
    "SubgradientSVC",
    "VotedPerceptron",
    "Winnow",
    "dump_svmlight",
    "export_c",
    "export_onnx",
    "from_sklearn",
    "iter_svmlight",
    "kernels",
    "kkt_report",
    "linear_separability",
    "load",
    "load_svmlight",
    "load_table",
    "margins",
    "save",
    "svm_path",
    "to_sklearn",
]

try:
    __version__ = _metadata.version("widemargin")
except _metadata.PackageNotFoundError:  # run from a source tree
    __version__ = "0+unknown"
