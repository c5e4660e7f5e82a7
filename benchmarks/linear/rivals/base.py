"""What the comparison of linear machines asks of a library."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..judge import Task


@dataclass(frozen=True)
class Point:
    """What a library found: weights, the weight of the constant, dual variables if it tells."""

    weights: np.ndarray
    bias: float
    dual: np.ndarray | None = None
    claims: dict[str, float] = field(default_factory=dict)


class Rival(ABC):
    """A library. One object serves one process and one set.

    Attributes
    ----------
    name, module : str
        Short name; what to import.
    parallel : bool
        Whether a fit can use more than one core.
    losses, forms : tuple of str
        Losses and storages it knows.
    """

    name: ClassVar[str]
    module: ClassVar[str]
    parallel: ClassVar[bool] = False
    losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    forms: ClassVar[tuple[str, ...]] = ("csr", "dense")

    @classmethod
    def available(cls) -> bool:
        """Tell whether the library can be imported here."""
        return find_spec(cls.module) is not None

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        """Put the set into the library's own form; not timed, in its favour."""
        return X, y

    def variants(self, task: Task) -> list[str]:
        """Return the solvers to try; the best of them counts."""
        return [""]

    @abstractmethod
    def tolerances(self, variant: str) -> Iterator[float]:
        """Return settings of increasing accuracy; the first that reaches a gap counts."""

    @abstractmethod
    def fit(self, rows: Any, task: Task, variant: str, tolerance: float, threads: int) -> Point:
        """Train on prepared rows; this alone is timed."""


def with_constant(X: Any) -> Any:
    """Return X with a last column of ones, whose weight is the penalised bias."""
    ones = np.ones((X.shape[0], 1))
    return sp.csr_matrix(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])


def powers(first: int, last: int) -> Iterator[float]:
    """Return 10 to the powers from the first down to the last."""
    return (10.0**k for k in range(first, last - 1, -1))
