"""One linear machine on the CPU: the state behind dual coordinate descent."""

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import LinearProblem
from ...solvers.linear_operations import LinearMeasure
from .linear_certificate import evaluate
from .linear_machine import LinearPoint, balancing_shift
from .linear_rows import LinearRows

__all__ = ["CpuLinearDescent"]

Vector = NDArray[np.float64]

ENTRIES_AT_ONCE = 2e7


class CpuLinearDescent:
    """State of one problem with a squared penalty; implements ``DescentOperations``.

    A free bias is the multiplier of sum u = tilt. It moves within an epoch as if it were penalised
    around its last value, and that value follows after each epoch (method of multipliers).

    Parameters
    ----------
    data : LinearRows
        All rows, not a part of them.
    problem : LinearProblem
        Loss, targets, costs and penalties.
    start : LinearPoint or None
        Where to start; only its dual variables matter.
    """

    def __init__(
        self, data: LinearRows, problem: LinearProblem, start: LinearPoint | None = None
    ) -> None:
        self.data, self.problem, self.rows = data, problem, data.count
        self.free_bias = problem.bias and problem.bias_l2 == 0
        self.norms = data.norms()
        self.reach = 0.0
        if problem.bias:
            typical = max(float(self.norms.mean()), 1e-300) / problem.l2
            self.reach = typical if self.free_bias else 1.0 / problem.bias_l2
        self.samples = _core.samples(problem.targets, problem.costs, None)
        shares = np.zeros(self.rows) if start is None or start.shares is None else start.shares
        self.dual = problem.costs * shares
        self.centre = float(start.x[-1]) if start is not None and self.free_bias else 0.0
        self.weights, self.bias = np.zeros(data.features), np.zeros(1)
        self._refresh()
        self.resting = np.zeros(self.rows, dtype=np.uint8)
        self.order: NDArray[np.int64] = np.flatnonzero(problem.costs > 0)
        self.safety = np.inf
        self.random = np.random.default_rng(0)
        self.x = np.zeros(data.features + problem.bias)

    @property
    def active(self) -> int:
        """Rows that are being worked on."""
        return int(self.order.size)

    @property
    def point(self) -> LinearPoint:
        """Coefficients as last measured, and dual variables."""
        costs = self.problem.costs
        shares = np.divide(self.dual, costs, out=np.zeros(self.rows), where=costs > 0)
        return LinearPoint(self.x.copy(), shares)

    def _excess(self) -> float:
        return float(self.dual.sum()) - self.problem.tilt

    def _refresh(self) -> None:
        """Compute w and b from the dual variables, so that rounding does not pile up."""
        self.weights[:] = self.data.transposed(self.dual) / self.problem.l2
        self.bias[0] = self.centre + self.reach * self._excess() if self.problem.bias else 0.0

    def epoch(self) -> float:
        """Visit all active rows in random order; return the largest violation met."""
        loss, worst = self.problem.loss, 0.0
        order = self.random.permutation(self.order)
        size = max(64, int(ENTRIES_AT_ONCE / self.data.mean_entries))
        for first in range(0, order.size, size):
            self.data.pause()
            met = _core.descend(
                self.data.opened,
                self.samples,
                loss.kind,
                loss.epsilon,
                self.problem.l2,
                self.reach,
                self.safety,
                self.norms,
                self.dual,
                self.weights,
                self.bias,
                self.resting,
                order[first : first + size],
            )
            worst = max(worst, met)
        if self.free_bias:
            step = self.reach * self._excess()
            self.centre += step
            self.bias[0] += step
        self.safety = worst if worst > 0 else np.inf
        return worst

    def measure(self) -> LinearMeasure:
        """Return where the point stands, over all rows, with the best bias for its weights."""
        self._refresh()
        bias = float(self.bias[0])
        if self.free_bias:
            bias += self._best_shift(bias)
        self.x = np.append(self.weights, bias) if self.problem.bias else self.weights.copy()
        at = evaluate(self.data, self.problem, self.point)
        curved = int(np.count_nonzero(self.dual != 0))
        return LinearMeasure(at.primal, at.dual, at.primal - at.dual, 0.0, at.violation, curved)

    def _best_shift(self, bias: float) -> float:
        outputs, ones = np.empty(self.rows), np.ones(self.rows)
        self.data.times(self.weights, bias, outputs)
        loss = (self.problem.loss.kind, self.problem.loss.epsilon, 0.0)

        def along(at: float) -> tuple[float, float, float]:
            return _core.along_ray(self.samples, *loss, outputs, ones, at, self.data.threads)

        total = float(self.problem.costs.sum())
        return balancing_shift(along, self.problem.tilt, total, max(abs(bias), 1e-3))

    def set_aside(self) -> None:
        """Drop rows whose variables rest safely at their bounds (shrinking)."""
        self.order = self.order[self.resting[self.order] == 0]

    def take_back(self) -> bool:
        """Work on all rows again; return False if none had been set aside."""
        everything = np.flatnonzero(self.problem.costs > 0)
        if everything.size == self.order.size:
            return False
        self.order, self.safety = everything, np.inf
        self.resting.fill(0)
        return True
