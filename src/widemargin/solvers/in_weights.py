"""A kernel machine whose kernel is linear, by the solvers of linear machines.

Problem     that of the kernel machine; its dual variables u give the weights w = X'u.
Update      solve in the weights, whose certificate has two sides, w and u. The kernel machine is u
            alone, so its own certificate, with w = X'u, is computed next.
Stop        the kernel machine's violation or gap is what was asked for. Where it is not, though
            that of the pair (w, u) was, the fit goes on from u to a smaller tolerance.
Papers      those of `linear`.
"""

from dataclasses import replace
from typing import Any, Protocol

from ..problem import LinearProblem
from ..solution import Certificate, Solution, Status
from .linear import LinearData, LinearOptions, solve_linear
from .monitor import Monitor

__all__ = ["Weights", "solve_in_weights"]

CORRECTIONS = 5
FURTHER = 0.1


class Weights(Protocol):
    """A machine with a linear kernel on some backend, stated in weights."""

    problem: LinearProblem

    @property
    def data(self) -> LinearData:
        """Rows in the order of the stated problem."""
        ...

    def point(self, x: Any, bias: float) -> Any:
        """Return the point with these variables."""
        ...

    def variables(self, shares: Any) -> Any:
        """Return the variables that dual variables are, each a share of its cost."""
        ...

    def certify(self, x: Any) -> tuple[Any, Certificate]:
        """Return the outputs K x and the kernel machine's certificate, computed in float64."""
        ...


def solve_in_weights(weights: Weights, start: Any, monitor: Monitor) -> Solution:
    """Return the certified solution of one machine; STALLED leaves the rest to the kernel's solver.

    Parameters
    ----------
    weights : Weights
        Rows and problem.
    start : variables
        Where to begin.
    monitor : Monitor
        Limits, history and reports.
    """
    asked, point = monitor.limits, None
    if start.any():
        point, (outputs, certificate) = weights.point(start, 0.0), weights.certify(start)
        if reached := monitor.reached(certificate.violation, certificate.relative_gap):
            return _solution(start, outputs, certificate, reached, monitor)
    for correction in range(CORRECTIONS):
        share = FURTHER**correction
        gap = None if asked.gap is None else asked.gap * share
        monitor.limits = replace(asked, tolerance=asked.tolerance * share, gap=gap)
        found = solve_linear(weights.data, weights.problem, point, monitor, LinearOptions())
        monitor.limits = asked
        x = weights.variables(found.shares)
        outputs, certificate = weights.certify(x)
        status = found.status
        reached = monitor.reached(certificate.violation, certificate.relative_gap)
        if reached or not status.converged:
            break
        point = weights.point(x, found.bias)
    status = reached or (Status.STALLED if status.converged else status)
    return _solution(x, outputs, certificate, status, monitor)


def _solution(
    x: Any, outputs: Any, certificate: Certificate, status: Status, monitor: Monitor
) -> Solution:
    return Solution(
        x=x,
        outputs=outputs,
        certificate=certificate,
        status=status,
        iterations=monitor.iterations,
        history=tuple(monitor.history),
    )
