"""scikit-learn: LIBSVM with its own storage and scaling of votes; one core."""

from typing import Any

import numpy as np

from .base import Model, Rival, Settings, SklearnModel


class Sklearn(Rival):
    name = "sklearn"
    package = "scikit-learn"
    module = "sklearn"
    parallel = False

    def fit(self, rows: Any, y: np.ndarray, settings: Settings) -> Model:
        from sklearn.svm import SVC

        machine = SVC(
            C=settings.C,
            gamma=settings.gamma,
            tol=settings.tol,
            cache_size=settings.cache_mb,
            decision_function_shape="ovo",
        )
        return SklearnModel(machine.fit(rows, y))
