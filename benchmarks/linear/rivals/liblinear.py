"""LIBLINEAR through its official package; its C function is called on converted rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..judge import Task
from .base import Point, Rival, powers

TYPES = {"hinge": ["3"], "squared_hinge": ["1", "2"]}


class Liblinear(Rival):
    name = "liblinear"
    module = "liblinear"
    forms = ("csr",)

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        from liblinear.liblinear import problem

        return problem(y, sp.csr_matrix(X), bias=1.0)

    def variants(self, task: Task) -> list[str]:
        return TYPES[task.loss]

    def tolerances(self, variant: str) -> Iterator[float]:
        return powers(-2, -9) if variant == "2" else powers(-1, -7)

    def fit(self, rows: Any, task: Task, variant: str, tolerance: float, threads: int) -> Point:
        from liblinear.liblinear import liblinear, parameter

        options = f"-s {variant} -c {task.C!r} -e {tolerance!r} -B 1 -q{self._threads(threads)}"
        model = liblinear.train(rows, parameter(options))
        contents = model.contents
        weights = np.ctypeslib.as_array(contents.w, (rows.n,)).copy()
        sign = 1.0 if contents.label[0] == 1 else -1.0
        return Point(sign * weights[:-1], float(sign * weights[-1]))

    def _threads(self, threads: int) -> str:
        return ""
