"""scikit-learn's stochastic gradient descent, with and without averaging, for more epochs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..judge import Task
from .base import Point, Rival, with_constant


class Sgd(Rival):
    name = "sgd"
    module = "sklearn"

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        return with_constant(X), y

    def variants(self, task: Task) -> list[str]:
        return ["last", "averaged"]

    def tolerances(self, variant: str) -> Iterator[float]:
        """Return numbers of epochs: it has no tolerance that an objective follows from."""
        return (float(5 * 4**k) for k in range(7))

    def fit(self, rows: Any, task: Task, variant: str, tolerance: float, threads: int) -> Point:
        from sklearn.linear_model import SGDClassifier

        X, y = rows
        machine = SGDClassifier(
            loss=task.loss, alpha=1.0 / (task.C * y.size), fit_intercept=False, tol=None,
            max_iter=int(tolerance), average=variant == "averaged", random_state=0,
        )  # fmt: skip
        machine.fit(X, y)
        return Point(machine.coef_[0, :-1], float(machine.coef_[0, -1]))
