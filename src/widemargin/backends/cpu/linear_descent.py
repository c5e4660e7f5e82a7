"""One linear machine on the CPU: the state behind dual coordinate descent."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...losses import Insensitive, Logistic, SquaredInsensitive
from ...problem import LinearProblem
from ...solvers.linear_operations import LinearMeasure
from .linear_certificate import evaluate
from .linear_machine import LinearPoint, balancing_shift
from .linear_rows import LinearRows
from .linear_settling import bounds_of, free_rows, line_search, settling_work
from .linear_systems import FEW_FEATURES

__all__ = ["CpuLinearDescent"]

Vector = NDArray[np.float64]

ENTRIES_AT_ONCE = 20_000_000  # visited between two looks at the keyboard
NEWTON_PASSES = 40.0  # what Newton's method costs at the least, in passes over the rows
SMOOTH_PASSES = 600.0  # the same for many features, by conjugate gradients
MOST_PASSES = 3000.0  # and with kinks besides
UNEVEN = 10.0  # rows are as long as one another if no ||x||² is so many times the mean
CONJUGATE_STEPS, MOST_CONJUGATE_STEPS = 200, 6400
SELDOM = 8  # epochs over few rows after which the dual objective is summed up anew


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
        self.data, self.problem = data, problem
        self.free_bias = problem.bias and problem.bias_l2 == 0
        self.norms = data.norms()
        self.reach = 0.0
        if problem.bias:
            typical = max(float(self.norms.mean()), 1e-300) / problem.l2
            self.reach = typical if self.free_bias else 1.0 / problem.bias_l2
        self.samples = _core.samples(problem.targets, problem.costs, None)
        shares = np.zeros(data.count) if start is None or start.shares is None else start.shares
        self.dual = problem.costs * shares
        self.centre = float(start.x[-1]) if start is not None and self.free_bias else 0.0
        self.weights, self.bias = np.zeros(data.features), np.zeros(1)
        self._refresh()
        self.bounds, self.conjugate_steps = bounds_of(problem), CONJUGATE_STEPS
        self.order: NDArray[np.int64] = np.flatnonzero(problem.costs > 0)
        self.active = self.rows = self.order.size  # rows without a cost move nothing
        self.safety, self.epochs, self.objective = np.inf, 0, 0.0
        self.measured: LinearPoint | None = None

    @property
    def point(self) -> LinearPoint:
        """Coefficients and dual variables."""
        return self._present() if self.measured is None else self.measured

    @property
    def patience(self) -> float:
        """Passes over the rows after which Newton's method would have been cheaper."""
        if self.data.features <= FEW_FEATURES:
            return NEWTON_PASSES
        return SMOOTH_PASSES if self.problem.loss.smooth else MOST_PASSES

    def _free(self) -> NDArray[np.int64]:
        """Return the rows whose dual variables may move both ways without meeting a kink."""
        low, high = self.bounds
        free = (self.dual > low) & (self.dual < high)
        if isinstance(self.problem.loss, Insensitive | SquaredInsensitive):
            free &= self.dual != 0
        return np.flatnonzero(free)

    @property
    def settling_cost(self) -> float:
        """Passes over all rows that `settle` takes as long as; infinite if it is of no use."""
        loss = self.problem.loss
        if self.data.features <= FEW_FEATURES or isinstance(loss, Logistic):
            return np.inf  # the latter is not quadratic
        if loss.smooth and self.norms.max() <= UNEVEN * self.norms.mean():
            return np.inf  # Newton's method does better, unless rows differ so much
        free = self._free().size
        if not 0 < free <= self.data.features:
            return np.inf
        entries = self.data.mean_entries
        return settling_work(free, entries) / (self.rows * entries)

    def settle(self, damping: float) -> float:
        """Move all free dual variables towards the optimum of theirs; return the length of step."""
        point = self.dual, self.weights, self.conjugate_steps
        free = free_rows(self.data, self.problem, self._free(), *point)
        before, stiffness = self._excess(), None
        if self.problem.bias:
            stiffness = 0.0 if self.free_bias else 1.0 / self.reach
        moves, bias = free.move(damping, before, stiffness)
        change = self.data.transposed_of(free.ids, moves) / self.problem.l2
        present = bias + self.reach * before if self.free_bias else float(self.bias[0])
        length = line_search(free, moves, change, present, self.reach)
        if length == 1 and (moves > free.least).all() and (moves < free.most).all():
            self.conjugate_steps = min(2 * self.conjugate_steps, MOST_CONJUGATE_STEPS)
        if length > 0:
            self._go(free.ids, length * moves, length * change)
            self.centre = bias if self.free_bias else 0.0
            self.bias[0] = self.centre + self.reach * self._excess()
            self.active, self.safety, self.measured = self.order.size, np.inf, None
        return length

    def _go(self, ids: NDArray[np.int64], moves: Vector, change: Vector) -> None:
        low, high = self.bounds
        self.dual[ids] = np.clip(self.dual[ids] + moves, low[ids], high[ids])
        self.weights += change

    def _shares(self) -> Vector:
        costs = self.problem.costs
        return np.divide(self.dual, costs, out=np.zeros(self.data.count), where=costs > 0)

    def _present(self, shift: float = 0.0) -> LinearPoint:
        bias = self.bias + shift if self.problem.bias else self.bias[:0]
        return LinearPoint(np.concatenate([self.weights, bias]), self._shares())

    def _excess(self) -> float:
        return float(self.dual.sum()) - self.problem.tilt

    def _refresh(self) -> None:
        """Compute w and b from the dual variables."""
        self.weights.fill(0.0)
        if self.dual.any():
            self.weights += self.data.transposed(self.dual) / self.problem.l2
        self.bias[0] = self.centre + self.reach * self._excess() if self.problem.bias else 0.0

    def epoch(self) -> LinearMeasure:
        """Visit the active rows in random order; return what was met on the way."""
        loss, at, worst, gap = self.problem.loss, 0, 0.0, 0.0
        self.epochs += 1
        self.measured = None
        while at < self.active:
            self.data.pause()
            at, self.active, violation, part = _core.descend(
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
                self.order,
                at,
                self.active,
                ENTRIES_AT_ONCE,
                self.epochs,
            )
            worst, gap = max(worst, violation), gap + part
        if self.free_bias:
            step = self.reach * self._excess()
            self.centre += step
            self.bias[0] += step
        self.safety = worst if worst > 0 else np.inf
        if self.epochs % SELDOM == 0 or 4 * self.active >= self.rows:
            self.objective = self._dual_objective()  # it only grows, and slowly on few rows
        return LinearMeasure(self.objective + gap, self.objective, gap, 0.0, worst, self.active)

    def _dual_objective(self) -> float:
        losses = self.problem.costs @ self.problem.loss.dual(self._shares(), self.problem.targets)
        dual = float(losses) - 0.5 * self.problem.l2 * float(self.weights @ self.weights)
        return (
            dual
            if self.free_bias or not self.reach
            else dual - 0.5 * self.bias[0] ** 2 / self.reach
        )

    def measure(self) -> LinearMeasure:
        """Return where the point stands, over all rows, with the best bias for its weights."""
        shift = self._best_shift(float(self.bias[0])) if self.free_bias else 0.0
        at = evaluate(self.data, self.problem, self._present(shift))
        self.measured = replace(at.point, judged=at)
        return LinearMeasure(
            at.primal, at.dual, at.primal - at.dual, 0.0, at.violation, self.active
        )

    def _best_shift(self, bias: float) -> float:
        outputs, ones = np.empty(self.data.count), np.ones(self.data.count)
        self.data.times(self.weights, bias, outputs)
        loss = (self.problem.loss.kind, self.problem.loss.epsilon, 0.0)

        def along(at: float) -> tuple[float, float, float]:
            return _core.along_ray(self.samples, *loss, outputs, ones, at, self.data.threads)

        total = float(self.problem.costs.sum())
        return balancing_shift(along, self.problem.tilt, total, max(abs(bias), 1e-3))

    def take_back(self) -> bool:
        """Work on all rows again; return False if none had been set aside."""
        if self.active == self.order.size:
            return False
        self.active, self.safety = self.order.size, np.inf
        return True
