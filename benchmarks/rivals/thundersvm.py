"""ThunderSVM, where somebody has built it; it is not on the package index for today's Pythons."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificate import Expansion, sorted_pairs
from .base import Model, Rival, Settings, SklearnModel


class Thundersvm(Rival):
    name = "thundersvm"
    package = "thundersvm"
    module = "thundersvm"

    def fit(self, rows: Any, y: np.ndarray, settings: Settings) -> Model:
        from thundersvm import SVC

        machine = SVC(
            kernel="rbf",
            C=settings.C,
            gamma=settings.gamma,
            tol=settings.tol,
            n_jobs=settings.threads,
            max_mem_size=settings.cache_mb,
        )
        return ThundersvmModel(machine.fit(rows, y), y)


class ThundersvmModel(SklearnModel):
    """It lists classes as they first appear in the training rows, as LIBSVM does."""

    def __init__(self, machine: Any, y: np.ndarray) -> None:
        super().__init__(machine)
        self.y = y
        classes, first = np.unique(y, return_index=True)
        self.order = classes[np.argsort(first)]

    def decision_values(self, rows: Any) -> np.ndarray:
        values = np.asarray(self.machine.decision_function(rows), dtype=np.float64)
        return sorted_pairs(self.order, values.reshape(rows.shape[0], -1))

    def expansion(self) -> Expansion:
        coefficients = self.machine.dual_coef_
        if sp.issparse(coefficients):
            coefficients = coefficients.toarray()
        support = np.asarray(self.machine.support_, dtype=np.int64)
        return Expansion.reordered(
            self.order,
            support,
            self.y[support],
            np.asarray(coefficients, dtype=np.float64),
            -np.asarray(self.machine.intercept_, dtype=np.float64),
        )
