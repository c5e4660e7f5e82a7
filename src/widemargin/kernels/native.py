"""The few numbers by which a kernel is named to the compiled core."""

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["Kind", "NativeSpec"]


class Kind(IntEnum):
    """Code of a kernel formula that the compiled core also knows.

    The codes are part of the interface with C++ and are never renumbered.
    """

    LINEAR = 0
    POLYNOMIAL = 1
    RBF = 2
    SIGMOID = 3
    LAPLACIAN = 4
    CHI_SQUARED = 5
    INTERSECTION = 6
    COSINE = 7


@dataclass(frozen=True)
class NativeSpec:
    """A kernel as the compiled core sees it.

    Parameters
    ----------
    kind : Kind
        Which formula.
    gamma, coef0 : float
        Scale and offset of the formula; 1 and 0 where the formula has none.
    degree : int
        Exponent of the polynomial kernel; 1 elsewhere.
    """

    kind: Kind
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
