"""One file for each library of the comparison. A new one is a file here and a line in the table."""

from .base import Model, Rival, Settings
from .libsvm import Libsvm
from .sklearn import Sklearn
from .sklearnex import Sklearnex
from .thundersvm import Thundersvm
from .widemargin import Widemargin

OURS = Widemargin.name
RIVALS: dict[str, type[Rival]] = {
    rival.name: rival for rival in (Widemargin, Sklearn, Sklearnex, Libsvm, Thundersvm)
}

__all__ = ["OURS", "RIVALS", "Model", "Rival", "Settings"]
