"""Support vector machines, every fit certified by a duality gap."""

from importlib.metadata import PackageNotFoundError, version

from .estimators import SVC, NuSVC

__all__ = ["SVC", "NuSVC"]

try:
    __version__ = version("widemargin")
except PackageNotFoundError:  # run from a source tree
    __version__ = "0+unknown"
