"""One block of a stream of rows on the CPU: dual coordinate descent from the weights so far."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...problem import LinearProblem
from ...solvers.linear_operations import LinearMeasure
from .linear_certificate import balanced
from .linear_descent import MOST_PASSES, CpuLinearDescent
from .linear_machine import LinearPoint
from .linear_rows import LinearRows

__all__ = ["CpuLinearStream", "StreamPoint"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class StreamPoint:
    """What is kept of all rows of a stream.

    Attributes
    ----------
    weights : array
        v, the sum of u_i x_i over them.
    bias : float
        The bias.
    gains : float
        Sum over them of the losses' part of the dual objective, p_i t_i − conjugate(p_i), each
        times the row's weight.
    reach : float
        How far one unit of a dual variable moves the bias; 0 until the first block tells.
    """

    weights: Vector
    bias: float = 0.0
    gains: float = 0.0
    reach: float = 0.0


class CpuLinearStream(CpuLinearDescent):
    """State of a block of rows; implements ``DescentOperations``.

    Parameters
    ----------
    data : LinearRows
        The rows of the block.
    problem : LinearProblem
        Loss, targets, costs and penalties, as a fit would state them for these rows.
    before : StreamPoint
        Weights and bias before the block.
    """

    def __init__(self, data: LinearRows, problem: LinearProblem, before: StreamPoint) -> None:
        self.before, self.base = before, before.weights
        if problem.bias and problem.bias_l2 == 0 and problem.tilt == 0:
            reach = before.reach or max(float(data.norms().mean()), 1e-300) / problem.l2
            problem = replace(problem, bias_l2=1.0 / reach)
        super().__init__(data, problem)
        self.centre = before.bias
        self._refresh()

    @property
    def patience(self) -> float:
        """Passes over the block: no other solver goes on from here."""
        return 10.0 * MOST_PASSES

    def _refresh(self) -> None:
        super()._refresh()
        self.weights += self.base

    def _dual_objective(self) -> float:
        shift = 0.5 * self.centre**2 / self.reach if self.reach and not self.free_bias else 0.0
        before = 0.5 * self.problem.l2 * float(self.base @ self.base)
        return super()._dual_objective() + before + shift

    def measure(self) -> LinearMeasure:
        """Return where the block's own problem stands, over all of its rows."""
        self._refresh()
        problem, costs = self.problem, self.problem.costs
        bias = float(self.bias[0]) if problem.bias else 0.0
        shares = np.divide(self.dual, costs, out=np.zeros(self.data.count), where=costs > 0)
        if self.free_bias:
            bias += self._best_shift(bias)
            shares = balanced(shares, problem)
        x = np.append(self.weights, bias) if problem.bias else self.weights.copy()
        self.measured = LinearPoint(x, shares)
        outputs = np.empty(self.data.count)
        self.data.times(self.weights, bias, outputs)
        moved = problem.l2 * (self.weights - self.base)
        excess = float(costs @ shares) - problem.tilt if problem.bias else 0.0
        distance = 0.5 * float(moved @ moved) / problem.l2 + 0.5 * self.reach * excess**2
        loss = float(costs @ problem.loss.value(outputs, problem.targets))
        primal = distance + loss + problem.tilt * bias
        self.gains = float(costs @ problem.loss.dual(shares, problem.targets))
        dual = self.gains - distance - float(self.base @ moved) - self.centre * excess
        curved = int(np.count_nonzero(self.dual))
        worst = problem.loss.violation(outputs, problem.targets, shares)[costs > 0]
        violation = float(worst.max(initial=0.0))
        return LinearMeasure(primal, dual, primal - dual, 0.0, violation, curved)

    def after(self, factor: float) -> StreamPoint:
        """Return what is kept of the stream now; `factor` is the cost of a row of weight one."""
        if self.measured is None:
            self.measure()
        return StreamPoint(
            weights=self.weights.copy(),
            bias=float(self.point.x[-1]) if self.problem.bias else 0.0,
            gains=self.before.gains + self.gains / factor,
            reach=self.reach,
        )
