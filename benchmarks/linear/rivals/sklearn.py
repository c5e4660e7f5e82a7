"""scikit-learn's LinearSVC, which holds a LIBLINEAR of its own."""

from collections.abc import Iterator
from typing import Any

from ..judge import Task
from .base import Point, Rival, powers

MOST_EPOCHS = 10_000_000  # its limit of 1000 would end most fits early


class Sklearn(Rival):
    name = "sklearn"
    module = "sklearn"

    def variants(self, task: Task) -> list[str]:
        return ["dual"] if task.loss == "hinge" else ["dual", "primal"]

    def tolerances(self, variant: str) -> Iterator[float]:
        return powers(-1, -8)

    def fit(self, rows: Any, task: Task, variant: str, tolerance: float, threads: int) -> Point:
        from sklearn.svm import LinearSVC

        X, y = rows
        machine = LinearSVC(
            loss=task.loss, C=task.C, tol=tolerance, dual=variant == "dual",
            max_iter=MOST_EPOCHS, random_state=0,
        )  # fmt: skip
        machine.fit(X, y)
        return Point(machine.coef_[0], float(machine.intercept_[0]))
