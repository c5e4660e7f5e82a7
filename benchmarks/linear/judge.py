"""One judge for all libraries: the objective of a point, and a lower bound from dual variables.

With s the signs of the classes and a constant feature of value one, whose weight is b, ::

    P(w, b) = ½||w||² + ½b² + C sum_i max(0, 1 - s_i (w.x_i + b))^p,    p = 1 or 2
    D(a)    = sum_i a_i [- a_i² / 4C if p = 2] - ½||sum_i a_i s_i (x_i, 1)||²,  0 <= a_i [<= C]

Every P is at least every D. A library is as good as its P above the largest D known, so that one
that has no dual variables is not at a disadvantage.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

POWERS = {"hinge": 1, "squared_hinge": 2}


@dataclass(frozen=True)
class Task:
    """One problem of the comparison."""

    set: str
    loss: str
    C: float

    @property
    def key(self) -> str:
        return f"{self.set} {self.loss} {self.C:g}"


def primal(X: Any, signs: np.ndarray, weights: np.ndarray, bias: float, task: Task) -> float:
    """Return P(w, b) in float64."""
    w = np.asarray(weights, dtype=np.float64).ravel()
    short = np.maximum(0.0, 1.0 - signs * (np.asarray(X @ w).ravel() + bias))
    return float(0.5 * (w @ w + bias * bias) + task.C * (short ** POWERS[task.loss]).sum())


def dual(X: Any, signs: np.ndarray, a: np.ndarray, task: Task) -> float:
    """Return D(a) in float64, having moved a into its bounds."""
    a = np.clip(a, 0.0, task.C if task.loss == "hinge" else None)
    u = a * signs
    v = np.asarray(X.T @ u).ravel()
    bend = 0.0 if task.loss == "hinge" else float(a @ a) / (4.0 * task.C)
    return float(a.sum()) - bend - 0.5 * (float(v @ v) + float(u.sum()) ** 2)


def excess(value: float, bound: float) -> float:
    """Return how far an objective is above a lower bound, as a share of itself."""
    return (value - bound) / max(abs(value), 1e-300)
