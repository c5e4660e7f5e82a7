"""Linear machines on the CPU: the data that all machines of one fit share."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...problem import LinearProblem
from ...solution import Certificate, LinearSolution, Status
from ...solvers.monitor import Monitor
from .linear_certificate import certify_linear
from .linear_columns import CpuLinearColumns
from .linear_descent import CpuLinearDescent
from .linear_interior import CpuLinearInterior
from .linear_machine import CpuLinearMachine, LinearPoint, magnitude
from .linear_rows import LinearRows
from .linear_systems import FEW_FEATURES, FEW_ROWS
from .subgradient import CpuSubgradient

__all__ = ["CpuLinearData"]


class CpuLinearData:
    """Rows of linear machines; implements ``solvers.linear.LinearData``.

    Parameters
    ----------
    X : array or CSR matrix of shape (rows, features)
        The data, used in place.
    threads : int
        Threads to use.
    """

    descends = True

    def __init__(self, X: Any, threads: int) -> None:
        self.rows = LinearRows(X, threads)
        self.features = self.rows.features

    def on_threads(self, threads: int) -> "CpuLinearData":
        """Return the same rows, not copied, for a machine that uses so many threads."""
        return CpuLinearData(self.rows.X, threads)

    @property
    def pause(self) -> Callable[[], None]:
        """What is called between parts of long operations."""
        return self.rows.pause

    @pause.setter
    def pause(self, call: Callable[[], None]) -> None:
        self.rows.pause = call

    def newton(self, problem: LinearProblem, point: LinearPoint | None) -> CpuLinearMachine:
        """Return the state of a machine for Newton steps."""
        return CpuLinearMachine(self.rows, problem, point)

    def descent(self, problem: LinearProblem, point: LinearPoint | None) -> CpuLinearDescent:
        """Return the state of a machine for dual coordinate descent."""
        return CpuLinearDescent(self.rows, problem, point)

    def columns(self, problem: LinearProblem, point: LinearPoint | None) -> CpuLinearColumns:
        """Return the state of a machine of which only some columns are worked on."""
        return CpuLinearColumns(
            self.rows, problem, point, lambda X: CpuLinearData(X, self.rows.threads)
        )

    def can_finish(self, problem: LinearProblem) -> bool:
        """Return whether the systems of interior-point steps are small enough."""
        return self.features <= FEW_FEATURES or (
            self.rows.count <= FEW_ROWS and problem.l1 + problem.l2 > 0
        )

    def interior(self, problem: LinearProblem, point: LinearPoint | None) -> CpuLinearInterior:
        """Return the state of a machine for interior-point steps."""
        if point is None:
            point = LinearPoint(np.zeros(self.features + problem.bias), None)
        return CpuLinearInterior(self.rows, problem, point)

    def subgradient(
        self, problem: LinearProblem, point: LinearPoint | None, *, keep_weights: bool
    ) -> CpuSubgradient:
        """Return the state of a machine for subgradient steps."""
        return CpuSubgradient(self.rows, problem, point, keep_weights=keep_weights)

    def outputs(self, weights: NDArray[np.float64], bias: float) -> NDArray[np.float64]:
        """Return X w + b."""
        outputs = np.empty(self.rows.count)
        self.rows.times(weights, bias, outputs)
        return outputs

    def reach(self, problem: LinearProblem) -> float:
        """Return the mean cost of the rows times their mean squared norm."""
        return float(problem.costs.mean() * self.rows.norms().mean())

    def magnitude(self, problem: LinearProblem) -> float:
        """Return the size of the sums that an objective of zero would be the difference of."""
        return magnitude(self.rows, problem)

    def certify(
        self, problem: LinearProblem, point: LinearPoint
    ) -> tuple[LinearPoint, Certificate]:
        """Return the point, its dual variables made feasible, and its certificate."""
        return certify_linear(self.rows, problem, point)

    def solution(
        self, point: LinearPoint, certificate: Certificate, status: Status, monitor: Monitor
    ) -> LinearSolution:
        """Return the solution that a point is."""
        d = self.rows.features
        assert point.shares is not None
        return LinearSolution(
            weights=point.x[:d],
            bias=float(point.x[d]) if point.x.size > d else 0.0,
            shares=point.shares,
            certificate=certificate,
            status=status,
            iterations=monitor.iterations,
            history=tuple(monitor.history),
        )
