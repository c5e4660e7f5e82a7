"""Support vector machines, every fit certified by a duality gap."""

from importlib.metadata import PackageNotFoundError, version

from . import kernels
from .estimators import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from .solution import Status

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Status",
    "kernels",
]

try:
    __version__ = version("widemargin")
except PackageNotFoundError:  # run from a source tree
    __version__ = "0+unknown"
