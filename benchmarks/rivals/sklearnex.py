"""scikit-learn-intelex: Intel's oneDAL behind the interface of scikit-learn."""

from typing import Any

import numpy as np

from .base import Model, Rival, Settings, SklearnModel


class Sklearnex(Rival):
    name = "sklearnex"
    package = "scikit-learn-intelex"
    module = "sklearnex"

    def fit(self, rows: Any, y: np.ndarray, settings: Settings) -> Model:
        # It takes its number of threads from the affinity of the process.
        from sklearnex.svm import SVC

        machine = SVC(
            C=settings.C,
            gamma=settings.gamma,
            tol=settings.tol,
            cache_size=settings.cache_mb,
            decision_function_shape="ovo",
        )
        machine.fit(rows, y)
        if not hasattr(machine, "_onedal_estimator"):
            raise RuntimeError("it fell back to scikit-learn, so its time would mean nothing")
        return SklearnModel(machine)
