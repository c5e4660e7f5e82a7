"""Snap ML's support vector machine, IBM's parallel dual coordinate descent."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..judge import Task
from .base import Point, Rival, powers, with_constant

MOST_EPOCHS = 1_000_000


class Snapml(Rival):
    name = "snapml"
    module = "snapml"
    parallel = True

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        return with_constant(X), y

    def tolerances(self, variant: str) -> Iterator[float]:
        return powers(-2, -8)

    def fit(self, rows: Any, task: Task, variant: str, tolerance: float, threads: int) -> Point:
        from snapml import SupportVectorMachine

        X, y = rows
        machine = SupportVectorMachine(
            loss=task.loss, regularizer=1.0 / task.C, tol=tolerance, max_iter=MOST_EPOCHS,
            n_jobs=threads, random_state=0,
        )  # fmt: skip
        machine.fit(X, y)
        weights = np.ravel(machine.coef_)
        return Point(weights[:-1], float(weights[-1]))
