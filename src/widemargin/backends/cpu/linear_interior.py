"""One linear machine on the CPU: the state behind the interior-point steps of the solvers.

A loss is a sum of hinges, cost · max(0, −slack) with slack = sign f − aim, or of their squares: one
for each row, or two for the two sides of a tube. The l1 penalty of a coefficient x is
l1 |x| = 2 l1 max(0, x) − l1 x, a hinge again with slack = −x. All are `Boxes`.
"""

import numpy as np
from numpy.typing import NDArray

from ...losses import Insensitive, Logistic, Loss, OneClass, SquaredHinge, SquaredInsensitive
from ...problem import LinearProblem
from ...solvers.linear_operations import LinearMeasure
from .linear_boxes import Boxes, LogisticBoxes, OpenBoxes
from .linear_certificate import evaluate
from .linear_machine import LinearPoint, noise
from .linear_rows import LinearRows
from .linear_steps import InteriorSteps
from .linear_systems import FEW_FEATURES, FEW_ROWS, by_rows, hessian_of, solve_positive

__all__ = ["CpuLinearInterior"]

Vector = NDArray[np.float64]

INSIDE = 1e-9  # share of the cost that a dual variable must be away from its bounds
LEAST = 1e-290


class CpuLinearInterior(InteriorSteps):
    """State of one problem; implements ``InteriorOperations``.

    Parameters
    ----------
    data : LinearRows
        Rows.
    problem : LinearProblem
        Loss, targets, costs and penalties.
    start : LinearPoint
        Whose coefficients to start from.
    """

    def __init__(self, data: LinearRows, problem: LinearProblem, start: LinearPoint) -> None:
        self.data, self.problem, self.rows = data, problem, data.count
        self.l1, self.l2 = problem.penalties(data.features)
        self.x = start.x.copy()
        self.used = np.flatnonzero(problem.costs > 0)
        self.hinges = _hinges(problem, self.used)
        costs, outputs = problem.costs[self.used], self._outputs(self.x)
        loss = problem.loss
        kind = Boxes if _bounded(loss) else OpenBoxes
        if isinstance(loss, Logistic):
            kind = LogisticBoxes
        self.sides = [kind(costs, sign * outputs - aim) for sign, aim in self.hinges]
        self.edged = np.flatnonzero(self.l1 > 0)
        self.edges = Boxes(2.0 * self.l1[self.edged], -self.x[self.edged])
        self.norms = np.sqrt(self._squares())
        self.hessian: Vector | None = None
        self.point, self.least_gap = start, np.inf
        self.noise = noise(data, problem)

    def _squares(self) -> Vector:
        squares = self.data.weighted_squares(np.ones(self.rows))
        return np.append(squares, self.rows) if self.problem.bias else squares

    def _outputs(self, x: Vector) -> Vector:
        """Return X w + b of the rows that cost anything."""
        outputs = np.empty(self.rows)
        bias = float(x[-1]) if self.problem.bias else 0.0
        self.data.times(np.ascontiguousarray(x[: self.data.features]), bias, outputs)
        return outputs[self.used]

    def _everywhere(self, values: Vector) -> Vector:
        whole = np.zeros(self.rows)
        whole[self.used] = values
        return whole

    def _sums(self, dual: Vector) -> Vector:
        """Return Xᵀu, with the sum of u last if there is a bias."""
        sums = self.data.transposed(self._everywhere(dual))
        return np.append(sums, dual.sum()) if self.problem.bias else sums

    def _signed(self, values: list[Vector]) -> Vector:
        pairs = zip(self.hinges, values, strict=True)
        return np.asarray(sum(sign * value for (sign, _), value in pairs))

    # --- where the point stands ------------------------------------------------------------------

    def _present(self) -> LinearPoint:
        """Return coefficients, those that an l1 penalty presses to zero set to it, and shares."""
        x, shares = self.x.copy(), np.zeros(self.rows)
        dual = self._signed([side.value for side in self.sides])
        shares[self.used] = dual / self.problem.costs[self.used]
        part = np.abs(x) * self.norms
        room = np.minimum(self.edges.value, self.edges.room) / self.l1[self.edged]
        x[self.edged[part[self.edged] < room * float(part.max(initial=0.0))]] = 0.0
        return LinearPoint(x, shares)

    def measure(self) -> LinearMeasure:
        """Return where the machine stands, and keep the point if its gap is the smallest."""
        return self._judge(self._present())

    def _judge(self, point: LinearPoint) -> LinearMeasure:
        at = evaluate(self.data, self.problem, point)
        gap = at.primal - at.dual
        if gap < self.least_gap:
            self.point, self.least_gap = point, gap
        return LinearMeasure(at.primal, at.dual, gap, 0.0, at.violation, self.used.size, self.noise)

    def polish(self) -> LinearMeasure:
        """Move the dual variables inside their bounds until the kept point is stationary.

        By least squares over them, which loses fewer digits than the systems of the steps do. The
        outcome is kept if it lowers the gap.
        """
        x, shares = self.point.x, self.point.shares
        assert shares is not None
        size = np.abs(shares)
        room = 1.0 - size if _bounded(self.problem.loss) else np.full(self.rows, np.inf)
        reach = np.minimum(size, room) * self.problem.costs
        resting = np.minimum(size, room) <= INSIDE
        whole, reach[resting] = np.where(resting, np.round(shares), shares), 0.0
        inside, dual = np.flatnonzero(reach), whole * self.problem.costs
        support = np.flatnonzero((x != 0) | (self.l1 == 0))
        if 0 < inside.size <= FEW_ROWS and 0 < support.size <= FEW_FEATURES:
            wanted = self.l2 * x + self.l1 * np.sign(x) - self._sums(dual[self.used])
            if self.problem.bias:
                wanted[-1] += self.problem.tilt
            columns = self._columns(inside)[:, support] * reach[inside, None]
            scale = np.maximum(np.abs(columns).max(axis=0), LEAST)
            move = np.linalg.lstsq((columns / scale).T, wanted[support] / scale, rcond=None)[0]
            dual[inside] += reach[inside] * np.clip(move, -1.0, 1.0)
        moved = np.divide(dual, self.problem.costs, out=np.zeros(self.rows), where=dual != 0)
        return self._judge(LinearPoint(x, moved))

    def _solve(self, stiff: Vector, right: Vector) -> Vector:
        curvature = self._everywhere(np.asarray(sum(1.0 / side.softness for side in self.sides)))
        if self.data.features > FEW_FEATURES:
            return by_rows(self.data, curvature, -right, stiff)
        if self.hessian is None:
            self.hessian = hessian_of(self.data, curvature, stiff)
        return solve_positive(self.hessian, right, self.data.threads)


def _bounded(loss: Loss) -> bool:
    """Return whether the dual variables have upper bounds."""
    return not isinstance(loss, SquaredHinge | SquaredInsensitive)


def _hinges(problem: LinearProblem, used: NDArray[np.int64]) -> list[tuple[Vector, Vector]]:
    """Return sign and aim of the hinges cost · max(0, aim − sign f) that the loss consists of."""
    targets = problem.targets[used]
    one = np.ones(targets.size)
    if isinstance(problem.loss, Insensitive | SquaredInsensitive):
        epsilon = problem.loss.epsilon
        return [(one, targets - epsilon), (-one, -targets - epsilon)]
    if isinstance(problem.loss, OneClass):
        return [(one, 0.0 * one)]
    if isinstance(problem.loss, Logistic):
        return [(targets, 0.0 * one)]
    return [(targets, one)]
