"""What the comparison asks of a library."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..certificate import Expansion


@dataclass(frozen=True)
class Settings:
    """One task for all libraries: C-SVC with a Gaussian kernel, one against one."""

    C: float
    gamma: float
    tol: float = 1e-3
    threads: int = 1
    cache_mb: int = 4000


class Model(ABC):
    """A fitted machine."""

    dual_objective: float | None = None  # where the library tells

    @abstractmethod
    def predict(self, rows: Any) -> np.ndarray:
        """Return labels of rows that `Rival.prepare` has prepared."""

    @abstractmethod
    def decision_values(self, rows: Any) -> np.ndarray:
        """Return the decision of each pair of classes, positive for the smaller label."""

    @abstractmethod
    def expansion(self) -> Expansion:
        """Return support vectors, coefficients and intercepts, for the common judge."""


class Rival(ABC):
    """A library. One object serves one process.

    Attributes
    ----------
    name, package : str
        Short name; distribution whose version is reported.
    module : str
        What to import.
    parallel : bool
        Whether a fit can use more than one core; if not, one run stands for any number of threads.
    forms : tuple of str
        Storages it takes, of "dense" and "csr"; which one is better is measured.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    module: ClassVar[str]
    parallel: ClassVar[bool] = True
    forms: ClassVar[tuple[str, ...]] = ("dense", "csr")

    @classmethod
    def available(cls) -> bool:
        """Tell whether the library can be imported here."""
        return find_spec(cls.module) is not None

    @classmethod
    def version(cls) -> str:
        try:
            return version(cls.package)
        except PackageNotFoundError:
            return "from a source tree"

    def prepare(self, X: Any) -> Any:
        """Put rows into the library's own form; not timed, in its favour."""
        return X

    @abstractmethod
    def fit(self, rows: Any, y: np.ndarray, settings: Settings) -> Model:
        """Train on prepared rows; this alone is timed."""


class SklearnModel(Model):
    """A machine with the attributes of scikit-learn's SVC, fitted for pair decisions."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.dual_objective = getattr(machine, "dual_objective_", None)

    def predict(self, rows: Any) -> np.ndarray:
        return np.asarray(self.machine.predict(rows))

    def decision_values(self, rows: Any) -> np.ndarray:
        values = np.asarray(self.machine.decision_function(rows), dtype=np.float64)
        # With two classes a positive decision means the larger label, with more the smaller one.
        return -values[:, None] if values.ndim == 1 else values

    def expansion(self) -> Expansion:
        machine = self.machine
        coefficients = machine.dual_coef_
        if sp.issparse(coefficients):
            coefficients = coefficients.toarray()
        sign = -1.0 if len(machine.classes_) == 2 else 1.0
        return Expansion(
            np.asarray(machine.classes_),
            np.asarray(machine.support_, dtype=np.int64).ravel(),
            sign * np.asarray(coefficients, dtype=np.float64),
            sign * np.asarray(machine.intercept_, dtype=np.float64).ravel(),
        )
