"""A machine with a linear kernel on the CPU, stated in the weights of the features."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...problem import Problem
from ...solution import Certificate
from .certificate import certify
from .linear_data import CpuLinearData
from .linear_machine import LinearPoint
from .sources import take_rows

__all__ = ["CpuWeights"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]


class CpuWeights:
    """Rows and problem of a machine; implements ``solvers.in_weights.Weights``.

    Parameters
    ----------
    X : array or CSR matrix
        All rows, used in place if the machine is about all of them.
    ids : array of int
        The machine's rows, in the order of its variables.
    problem : Problem
        The problem in these variables.
    diagonal : array
        ||x_i||² of the machine's rows.
    threads : int
        Threads to use.
    """

    def __init__(self, X: Any, ids: Ids, problem: Problem, diagonal: Vector, threads: int) -> None:
        stated = problem.in_weights()
        assert stated is not None
        self.box, self.diagonal = problem, diagonal
        self.order = np.argsort(ids, kind="stable")
        self.problem = replace(
            stated, targets=stated.targets[self.order], costs=stated.costs[self.order]
        )
        rows = X if ids.size == X.shape[0] else take_rows(X, ids[self.order])
        self.data = CpuLinearData(rows, threads)

    def point(self, x: Vector, bias: float) -> LinearPoint:
        """Return the point with these variables."""
        dual, costs = self.box.coefficients(x)[self.order], self.problem.costs
        shares = np.divide(dual, costs, out=np.zeros(dual.size), where=costs > 0)
        return LinearPoint(np.append(self.data.rows.transposed(dual), bias), shares)

    def variables(self, shares: Vector) -> Vector:
        """Return the variables of the problem that dual variables are, each a share of its cost."""
        coefficients = np.empty(shares.size)
        coefficients[self.order] = self.problem.costs * shares
        return self.box.of_rows(coefficients)

    def certify(self, x: Vector) -> tuple[Vector, Certificate]:
        """Return the outputs K x and the certificate of `x`, computed anew in float64."""
        rows = self.data.rows
        dual = self.box.coefficients(x)[self.order]
        sorted_outputs, outputs = np.empty((2, dual.size))
        rows.times(rows.transposed(dual), 0.0, sorted_outputs)
        outputs[self.order] = sorted_outputs
        return outputs, certify(self.box, x, outputs, self.diagonal, rows.threads)
