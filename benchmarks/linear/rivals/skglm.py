"""skglm: coordinate descent on the dual with working sets and extrapolation; hinge loss only."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..judge import Task
from .base import Point, Rival, powers, with_constant


class Skglm(Rival):
    name = "skglm"
    module = "skglm"
    losses = ("hinge",)

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        wide = with_constant(X)
        # Its compiler runs at the first fit of a storage, which is not timed.
        few = np.concatenate([np.flatnonzero(y == sign)[:20] for sign in (-1, 1)])
        self.fit((wide[few], y[few]), Task("", "hinge", 1.0), "", 0.1, 1)
        return wide, y

    def tolerances(self, variant: str) -> Iterator[float]:
        return powers(-1, -7)

    def fit(self, rows: Any, task: Task, variant: str, tolerance: float, threads: int) -> Point:
        from skglm import LinearSVC

        X, y = rows
        machine = LinearSVC(C=task.C, tol=tolerance, fit_intercept=False, max_iter=1000)
        machine.fit(X, y)
        weights = machine.coef_
        weights = np.ravel(weights.toarray() if sp.issparse(weights) else weights)
        return Point(weights[:-1], float(weights[-1]))
