"""Support vector machines, every fit certified by a duality gap."""

import importlib.metadata as _metadata

from . import kernels
from .estimators import (
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
from .io import dump_svmlight, iter_svmlight, load_svmlight
from .solution import Status

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Status",
    "dump_svmlight",
    "iter_svmlight",
    "kernels",
    "load_svmlight",
]

try:
    __version__ = _metadata.version("widemargin")
except _metadata.PackageNotFoundError:  # run from a source tree
    __version__ = "0+unknown"
