"""Linear machines on the GPU: the data that all machines of one fit share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...problem import LinearProblem
from ...solution import Certificate, LinearSolution, Status
from ...solvers.linear_operations import ColumnOperations, DescentOperations
from ...solvers.monitor import Monitor
from ..cpu.linear_machine import LinearPoint, magnitude
from .device import open_device
from .linear_certificate import certify_linear
from .linear_interior import GpuLinearInterior
from .linear_machine import GpuLinearMachine
from .linear_rows import FEW_FEATURES, GpuLinearRows
from .linear_systems import FEW_ROWS

__all__ = ["GpuLinearData"]


class GpuLinearData:
    """Rows of linear machines on the device; implements ``solvers.linear.LinearData``.

    Parameters
    ----------
    X : array or CSR matrix of shape (rows, features)
        The data, on the host.
    threads : int
        Of the host.
    budget : int or None
        Bytes of the device that may be allocated; None takes three quarters of what is free.
    """

    descends = False

    def __init__(self, X: Any, threads: int, budget: int | None = None) -> None:
        device = open_device()
        budget = device.free_memory() * 3 // 4 if budget is None else budget
        self.rows = GpuLinearRows(device, X, budget, threads)
        self.features = self.rows.features

    def on_threads(self, threads: int) -> "GpuLinearData":
        """Return the same rows, not copied, for another machine."""
        other = GpuLinearData.__new__(GpuLinearData)
        other.rows, other.features = self.rows.on_threads(threads), self.features
        return other

    @property
    def pause(self) -> Callable[[], None]:
        """What is called between parts of long operations."""
        return self.rows.pause

    @pause.setter
    def pause(self, call: Callable[[], None]) -> None:
        self.rows.pause = call

    def newton(self, problem: LinearProblem, point: LinearPoint | None) -> GpuLinearMachine:
        """Return the state of a machine for Newton steps."""
        if problem.l1 > 0 and self.features > FEW_FEATURES:
            self._refuse_columns()
        return GpuLinearMachine(self.rows, problem, point)

    def columns(self, problem: LinearProblem, point: LinearPoint | None) -> ColumnOperations:
        """Refuse: columns are not copied to the device one by one."""
        self._refuse_columns()

    def _refuse_columns(self) -> NoReturn:
        raise ValueError(
            f"penalty with an l1 part on a GPU takes at most {FEW_FEATURES} features, found "
            f"{self.features}; use device='cpu'"
        )

    def descent(self, problem: LinearProblem, point: LinearPoint | None) -> DescentOperations:
        """Refuse: dual coordinate descent moves one variable at a time."""
        raise ValueError(
            "solver='dual' moves one variable at a time, which a GPU cannot do fast; "
            "use solver='newton' or device='cpu'"
        )

    def can_finish(self, problem: LinearProblem) -> bool:
        """Return whether the systems of interior-point steps are small enough."""
        return self.features <= FEW_FEATURES or (
            self.rows.count <= FEW_ROWS and problem.l2 > 0 and problem.l1 == 0
        )

    def interior(self, problem: LinearProblem, point: LinearPoint | None) -> GpuLinearInterior:
        """Return the state of a machine for interior-point steps."""
        if point is None:
            point = LinearPoint(np.zeros(self.features + problem.bias), None)
        return GpuLinearInterior(self.rows, problem, point)

    def outputs(self, weights: NDArray[np.float64], bias: float) -> NDArray[np.float64]:
        """Return X w + b, on the host."""
        return np.asarray(self.rows.device.download(self.rows.times(weights, bias)))

    def reach(self, problem: LinearProblem) -> float:
        """Return the mean cost of the rows times their mean squared norm."""
        return float(problem.costs.mean()) * float(self.rows.norms().mean())

    def magnitude(self, problem: LinearProblem) -> float:
        """Return the size of the sums that an objective of zero would be the difference of."""
        rows: Any = self.rows
        return magnitude(rows, problem)

    def certify(
        self, problem: LinearProblem, point: LinearPoint
    ) -> tuple[LinearPoint, Certificate]:
        """Return the point, its dual variables made feasible, and its certificate."""
        return certify_linear(self.rows, problem, point)

    def solution(
        self, point: LinearPoint, certificate: Certificate, status: Status, monitor: Monitor
    ) -> LinearSolution:
        """Return the solution that a point is, on the host."""
        d = self.features
        shares: Any = self.rows.device.download(point.shares)
        at = replace(point, shares=np.asarray(shares), judged=None)
        assert at.shares is not None
        return LinearSolution(
            weights=at.x[:d],
            bias=float(at.x[d]) if at.x.size > d else 0.0,
            shares=at.shares,
            certificate=certificate,
            status=status,
            iterations=monitor.iterations,
            history=tuple(monitor.history),
        )
