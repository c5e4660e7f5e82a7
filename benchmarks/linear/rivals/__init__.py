"""One file for each library of the comparison. A new one is a file here and a word in the table."""

from .base import Point, Rival
from .liblinear import Liblinear
from .multicore import Multicore
from .sgd import Sgd
from .skglm import Skglm
from .sklearn import Sklearn
from .snapml import Snapml
from .widemargin import Widemargin

OURS = Widemargin.name
RIVALS: dict[str, type[Rival]] = {
    rival.name: rival for rival in (Widemargin, Liblinear, Multicore, Sklearn, Sgd, Snapml, Skglm)
}

__all__ = ["OURS", "RIVALS", "Point", "Rival"]
