"""Linear machines on the CPU: the data that all machines of one fit share."""

from typing import Any

from ...problem import LinearProblem
from ...solution import Certificate, LinearSolution, Status
from ...solvers.monitor import Monitor
from .linear_certificate import certify_linear
from .linear_machine import CpuLinearMachine, LinearPoint
from .linear_rows import LinearRows

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

    def __init__(self, X: Any, threads: int) -> None:
        self.rows = LinearRows(X, threads)

    def newton(self, problem: LinearProblem, point: LinearPoint | None) -> CpuLinearMachine:
        """Return the state of a machine for Newton steps."""
        return CpuLinearMachine(self.rows, problem, point)

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
