"""One linear machine on the GPU: the state behind the interior-point steps of the solvers.

As on the CPU a loss is one hinge for each row, or two for the two sides of a tube, and an l1
penalty is a hinge of its coefficient (`backends.cpu.linear_boxes`); the boxes of the rows hold
arrays of the device, those of the penalties arrays of the host.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...losses import Insensitive, Logistic, OneClass, SquaredHinge, SquaredInsensitive
from ...problem import LinearProblem
from ...solvers.linear_operations import LinearMeasure
from ..cpu.linear_boxes import Boxes, LogisticBoxes, OpenBoxes
from ..cpu.linear_machine import LinearPoint
from ..cpu.linear_steps import InteriorSteps
from .linear_certificate import evaluate, sent
from .linear_rows import FEW_FEATURES, GpuLinearRows
from .linear_systems import by_rows, hessian_of

__all__ = ["GpuLinearInterior"]

Vector = NDArray[np.float64]

FEW_ROWS = 1500  # whose dual variables least squares may move at the end
INSIDE = 1e-9  # share of the cost that a dual variable must be away from its bounds
LEAST = 1e-290


class GpuLinearInterior(InteriorSteps):
    """State of one problem; implements ``solvers.linear_operations.InteriorOperations``.

    Parameters
    ----------
    data : GpuLinearRows
        Rows.
    problem : LinearProblem
        Loss, targets, costs and penalties, on the host.
    start : LinearPoint
        Whose coefficients to start from.
    """

    point: Any
    least_gap: float

    def __init__(self, data: GpuLinearRows, problem: LinearProblem, start: LinearPoint) -> None:
        self.data, self.problem, self.rows, self.device = data, problem, data.count, data.device
        self.l1, self.l2 = problem.penalties(data.features)
        self.x = start.x.copy()
        self.there = sent(self.device, problem)
        self.used = np.flatnonzero(problem.costs > 0)
        self.every = self.used.size == self.rows
        self.places = self.device.upload(self.used)
        self.costs = self.device.upload(problem.costs[self.used])
        loss, outputs = problem.loss, self._outputs(self.x)
        self.bounded = not isinstance(loss, SquaredHinge | SquaredInsensitive)
        kind = Boxes if self.bounded else OpenBoxes
        kind = LogisticBoxes if isinstance(loss, Logistic) else kind
        self.hinges = self._hinges()
        self.sides = [kind(self.costs, sign * outputs - aim) for sign, aim in self.hinges]
        self.edged = np.flatnonzero(self.l1 > 0)
        self.edges = Boxes(2.0 * self.l1[self.edged], -self.x[self.edged])
        ones = self.device.xp.ones(self.rows)
        squares = np.asarray(self.device.download(data.squares(ones)))
        self.norms = np.sqrt(np.append(squares, self.rows) if problem.bias else squares)
        self.hessian: Any = None
        self.point, self.least_gap = start, np.inf

    def _hinges(self) -> list[tuple[Any, Any]]:
        """Return sign and aim of the hinges cost · max(0, aim − sign f) that make up the loss."""
        loss, upload = self.problem.loss, self.device.upload
        targets = upload(self.problem.targets[self.used])
        if isinstance(loss, Insensitive | SquaredInsensitive):
            return [(1.0, targets - loss.epsilon), (-1.0, -targets - loss.epsilon)]
        if isinstance(loss, OneClass):
            return [(1.0, 0.0)]
        return [(targets, 0.0 if isinstance(loss, Logistic) else 1.0)]

    def _outputs(self, x: Vector) -> Any:
        """Return X w + b of the rows that cost anything."""
        bias = float(x[-1]) if self.problem.bias else 0.0
        outputs = self.data.times(x[: self.data.features], bias)
        return outputs if self.every else outputs[self.places]

    def _everywhere(self, values: Any) -> Any:
        if self.every:
            return values
        whole = self.device.xp.zeros(self.rows)
        whole[self.places] = values
        return whole

    def _sums(self, dual: Any) -> Vector:
        """Return Xᵀu, with the sum of u last if there is a bias."""
        sums = self.data.transposed(self._everywhere(dual))
        return np.append(sums, float(dual.sum())) if self.problem.bias else sums

    def _signed(self, values: list[Any]) -> Any:
        (sign, _), first = self.hinges[0], values[0]
        whole = sign * first
        for (other, _), value in zip(self.hinges[1:], values[1:], strict=True):
            whole = whole + other * value
        return whole

    # --- where the point stands ------------------------------------------------------------------

    def measure(self) -> LinearMeasure:
        """Return where the machine stands, and keep the point if its gap is the smallest."""
        x = self.x.copy()
        dual = self._signed([side.value for side in self.sides])
        shares = self._everywhere(dual / self.costs)
        part = np.abs(x) * self.norms
        room = np.minimum(self.edges.value, self.edges.room) / self.l1[self.edged]
        x[self.edged[part[self.edged] < room * float(part.max(initial=0.0))]] = 0.0
        return self._judge(LinearPoint(x, shares))

    def _judge(self, point: LinearPoint) -> LinearMeasure:
        at = evaluate(self.data, self.there, point)
        gap = at.primal - at.dual
        if gap < self.least_gap:
            self.point, self.least_gap = point, gap
        return LinearMeasure(at.primal, at.dual, gap, 0.0, at.violation, self.used.size)

    def polish(self) -> LinearMeasure:
        """Move the dual variables inside their bounds until the kept point is stationary.

        By least squares over them, on the host, if they are few; the outcome is kept if it lowers
        the gap.
        """
        x, costs = self.point.x, self.problem.costs
        shares = np.asarray(self.device.download(self.device.upload(self.point.shares)))
        size = np.abs(shares)
        room = 1.0 - size if self.bounded else np.full(self.rows, np.inf)
        reach = np.minimum(size, room) * costs
        resting = np.minimum(size, room) <= INSIDE
        whole, reach[resting] = np.where(resting, np.round(shares), shares), 0.0
        inside, dual = np.flatnonzero(reach), whole * costs
        support = np.flatnonzero((x != 0) | (self.l1 == 0))
        if 0 < inside.size <= FEW_ROWS and 0 < support.size <= FEW_FEATURES:
            wanted = self.l2 * x + self.l1 * np.sign(x)
            wanted -= self._sums(self.device.upload(dual[self.used]))
            if self.problem.bias:
                wanted[-1] += self.problem.tilt
            columns = self._columns(inside)[:, support] * reach[inside, None]
            scale = np.maximum(np.abs(columns).max(axis=0), LEAST)
            move = np.linalg.lstsq((columns / scale).T, wanted[support] / scale, rcond=None)[0]
            dual[inside] += reach[inside] * np.clip(move, -1.0, 1.0)
        moved = np.divide(dual, costs, out=np.zeros(self.rows), where=dual != 0)
        return self._judge(LinearPoint(x, self.device.upload(moved)))

    def _solve(self, stiff: Vector, right: Vector) -> Vector:
        bend = 1.0 / self.sides[0].softness
        for side in self.sides[1:]:
            bend = bend + 1.0 / side.softness
        curvature = self._everywhere(bend)
        if self.data.features > FEW_FEATURES:
            return by_rows(self.data, curvature, -right, stiff)
        if self.hessian is None:
            self.hessian = hessian_of(self.data, curvature, stiff, self.used.size)
        sides = self.device.upload(right[None, :])
        found = self.device.solve_positive(self.hessian, sides, self.data.threads)
        return np.asarray(self.device.download(found))[0]
