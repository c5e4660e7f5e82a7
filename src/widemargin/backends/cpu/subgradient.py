"""One linear machine on the CPU: the state behind batch subgradient descent."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import LinearProblem
from .linear_descent import CpuLinearDescent
from .linear_machine import LinearPoint, balancing_shift
from .linear_rows import LinearRows

__all__ = ["CpuSubgradient"]

Vector = NDArray[np.float64]


class CpuSubgradient:
    """State of one soft margin; implements ``solvers.subgradient.SubgradientOperations``.

    Parameters
    ----------
    data : LinearRows
        Rows.
    problem : LinearProblem
        Hinge loss with a squared penalty.
    start : LinearPoint or None
        Where to start; None for zero.
    keep_weights : bool
        Whether the trace keeps the coefficients of every step.
    """

    def __init__(
        self, data: LinearRows, problem: LinearProblem, start: LinearPoint | None,
        *, keep_weights: bool,
    ) -> None:  # fmt: skip
        self.data, self.problem, self.rows, self.errors = data, problem, data.count, 0
        _, self.l2 = problem.penalties(data.features)
        self.x = np.zeros(self.l2.size) if start is None else start.x.copy()
        self.ascent = CpuLinearDescent(data, problem, start)
        self.best: Vector = np.zeros(self.rows)
        self.bound = 0.0
        self.outputs, self.moves = np.zeros(self.rows), np.zeros(self.rows)
        self.keep_weights = keep_weights
        self.trace: dict[str, list[Any]] = {"objective": [], "errors": [], "step": []}
        self.trace |= {"coef": [], "intercept": []} if keep_weights else {}
        self._times(self.x, self.outputs)

    def _times(self, x: Vector, outputs: Vector) -> None:
        bias = float(x[-1]) if self.problem.bias else 0.0
        self.data.times(np.ascontiguousarray(x[: self.data.features]), bias, outputs)

    @property
    def point(self) -> LinearPoint:
        """Coefficients, and the dual variables with the best objective so far."""
        return LinearPoint(self.x, self.best)

    def _value(self, x: Vector, outputs: Vector) -> float:
        losses = np.maximum(0.0, 1.0 - self.problem.targets * outputs)
        return 0.5 * float((self.l2 * x) @ x) + float(self.problem.costs @ losses)

    def objective(self) -> float:
        """Return F at the point, and find its margin errors."""
        value = self._value(self.x, self.outputs)
        self.wrong = self.problem.targets * self.outputs < 1.0
        self.errors = int(np.count_nonzero(self.wrong & (self.problem.costs > 0)))
        self.trace["objective"].append(value)
        self.trace["errors"].append(self.errors)
        if self.keep_weights:
            d = self.data.features
            self.trace["coef"].append(self.x[:d].copy())
            self.trace["intercept"].append(float(self.x[d]) if self.problem.bias else 0.0)
        return value

    def aim(self) -> float:
        """Form the subgradient; return its squared length."""
        pulls = self.problem.costs * self.problem.targets * self.wrong
        slope = self.data.transposed(pulls)
        if self.problem.bias:
            slope = np.append(slope, pulls.sum())
        self.direction = self.l2 * self.x - slope
        self._times(self.direction, self.moves)
        squared = float(self.direction @ self.direction)
        if not np.isfinite(squared) or not np.isfinite(self.moves).all():
            raise FloatingPointError(
                "outputs overflow: the numbers in X are too large; scale the columns "
                "(for example with StandardScaler)"
            )
        return squared

    def objective_at(self, length: float) -> float:
        """Return F after a step of that length."""
        return self._value(self.x - length * self.direction, self.outputs - length * self.moves)

    def go(self, length: float) -> None:
        """Make the step."""
        self.x = self.x - length * self.direction
        self.outputs -= length * self.moves
        self.trace["step"].append(length)

    def centre(self) -> float:
        """Give a free bias its best value for the weights at hand; return F there."""
        if not self.ascent.free_bias:
            return self._value(self.x, self.outputs)
        loss, ones = (self.problem.loss.kind, 0.0, 0.0), np.ones(self.rows)

        def along(at: float) -> tuple[float, float, float]:
            return _core.along_ray(
                self.ascent.samples, *loss, self.outputs, ones, at, self.data.threads
            )

        reach = max(1.0, float(np.abs(self.outputs).max(initial=0.0)))
        shift = balancing_shift(along, 0.0, float(self.problem.costs.sum()), reach)
        if self._value(self.x, self.outputs + shift) < self._value(self.x, self.outputs):
            self.x = self.x.copy()
            self.x[-1] += shift
            self.outputs += shift
            for name in self.trace.keys() - {"step"}:  # this is where the step has led
                del self.trace[name][-1]
            return self.objective()
        return self._value(self.x, self.outputs)

    def measure(self) -> float:
        """Ascend with the dual variables by an epoch; return the best dual objective so far."""
        self._times(self.x, self.outputs)  # rounding does not pile up
        self.ascent.take_back()
        self.ascent.epoch()
        now = self.ascent.measure()
        if now.dual > self.bound:
            shares = self.ascent.point.shares
            assert shares is not None
            self.bound, self.best = now.dual, shares
        return self.bound
