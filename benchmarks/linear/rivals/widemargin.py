"""This library; its tolerances are the gaps that the comparison asks for."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..judge import Task
from .base import Point, Rival


class Widemargin(Rival):
    name = "widemargin"
    module = "widemargin"
    parallel = True

    def tolerances(self, variant: str) -> Iterator[float]:
        return iter((1e-3, 1e-6))

    def fit(self, rows: Any, task: Task, variant: str, tolerance: float, threads: int) -> Point:
        from widemargin import LinearSVC

        X, y = rows
        machine = LinearSVC(
            loss=task.loss, C=task.C, penalize_intercept=True, gap_tol=tolerance, n_jobs=threads
        )
        machine.fit(X, y)
        (solution,) = machine.solutions_
        claims = {"gap": machine.duality_gap_, "iterations": machine.n_iter_}
        shares = np.abs(solution.shares) * task.C
        return Point(machine.coef_[0], float(machine.intercept_[0]), shares, claims)
