"""This library."""

from typing import Any

import numpy as np

from .base import Model, Rival, Settings, SklearnModel


class Widemargin(Rival):
    name = "widemargin"
    package = "widemargin"
    module = "widemargin"

    def fit(self, rows: Any, y: np.ndarray, settings: Settings) -> Model:
        from widemargin import SVC

        machine = SVC(
            C=settings.C,
            gamma=settings.gamma,
            tol=settings.tol,
            decision_function_shape="ovo",
            n_jobs=settings.threads,
            memory_limit=settings.cache_mb * 10**6,
        )
        return SklearnModel(machine.fit(rows, y))
