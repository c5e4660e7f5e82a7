"""One linear machine on the GPU: the state behind the interior-point steps of the solvers.

As on the CPU a loss is one hinge for each row, or two for the two sides of a tube, and an l1
penalty is a hinge of its coefficient (`backends.cpu.linear_boxes`); the boxes of the rows hold
arrays of the device, those of the penalties arrays of the host.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...losses import Insensitive, Logistic, OneClass, SquaredHinge, SquaredInsensitive
from ...problem import LinearProblem
from ...solvers.linear_operations import LinearMeasure
from ..cpu.linear_boxes import Boxes, BoxMove, LogisticBoxes, OpenBoxes
from ..cpu.linear_machine import LinearPoint
from .linear_certificate import evaluate, sent
from .linear_rows import FEW_FEATURES, GpuLinearRows
from .linear_systems import by_rows, hessian_of

__all__ = ["GpuLinearInterior"]

Vector = NDArray[np.float64]

FEW_ROWS = 1500  # whose dual variables least squares may move at the end
INSIDE = 1e-9  # share of the cost that a dual variable must be away from its bounds
LEAST = 1e-290


@dataclass(frozen=True)
class InteriorMove:
    """A step of the coefficients, and of the boxes of the rows and of the penalties."""

    x: Vector
    sides: list[BoxMove]
    edges: BoxMove


class GpuLinearInterior:
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

    def _columns(self, ids: NDArray[np.int64]) -> Vector:
        """Return a few rows with the constant of the bias, on the host."""
        few = self.data.taken(ids)
        dense = np.asarray(few.toarray() if hasattr(few, "toarray") else few, dtype=np.float64)
        return np.column_stack([dense, np.ones(ids.size)]) if self.problem.bias else dense

    def product(self, move: InteriorMove | None = None, length: float = 0.0) -> float:
        """Return the mean product of a variable and its multiplier, after a step."""
        moves = [None] * (len(self.sides) + 1) if move is None else [*move.sides, move.edges]
        boxes = [*self.sides, self.edges]
        whole = sum(b.products(m, length) for b, m in zip(boxes, moves, strict=True))
        return whole / max(1, sum(box.size for box in boxes))

    # --- moving ----------------------------------------------------------------------------------

    def aim(self, target: float, along: InteriorMove | None) -> None:
        """Choose what the products of the next step shall be."""
        moves = [None] * len(self.sides) if along is None else along.sides
        for side, move in zip(self.sides, moves, strict=True):
            side.aim(target, move)
        self.edges.aim(target, along.edges if along is not None else None)

    def direction(self) -> InteriorMove:
        """Solve the linearised conditions, of which all but those of the coefficients drop out.

        (L + 1/softness + Xᵀ H X) move = −(L x + penalty's pull − Xᵀu) + what the boxes push.
        """
        hard = self._signed([side.pushed / side.softness for side in self.sides])
        right = self._sums(self._signed([side.value for side in self.sides]) - hard)
        right -= self.l2 * self.x
        if self.problem.bias:
            right[-1] -= self.problem.tilt
        pull = self.edges.value - self.l1[self.edged]
        right[self.edged] += self.edges.pushed / self.edges.softness - pull
        stiff = self.l2.copy()
        stiff[self.edged] += 1.0 / self.edges.softness
        x = self._solve(stiff, right)
        outputs = self._outputs(x)
        moves = zip(self.sides, self.hinges, strict=True)
        sides = [side.answer(sign * outputs) for side, (sign, _) in moves]
        return InteriorMove(x, sides, self.edges.answer(-x[self.edged]))

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

    def longest(self, move: InteriorMove) -> float:
        """Return the longest step, at most 1, that leaves nothing negative."""
        lengths = [s.longest(m) for s, m in zip(self.sides, move.sides, strict=True)]
        return min([*lengths, self.edges.longest(move.edges)])

    def go(self, move: InteriorMove, length: float) -> None:
        """Make a step."""
        self.x = self.x + length * move.x
        for side, part in zip(self.sides, move.sides, strict=True):
            side.go(part, length)
        self.edges.go(move.edges, length)
        self.hessian = None
