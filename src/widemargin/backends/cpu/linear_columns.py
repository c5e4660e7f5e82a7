"""One linear machine on the CPU: the state behind working sets of columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...problem import LinearProblem
from ...solution import LinearSolution
from ...solvers.linear_operations import LinearMeasure
from .linear_certificate import evaluate
from .linear_machine import CpuLinearMachine, LinearPoint
from .linear_rows import LinearRows
from .linear_systems import FEW_FEATURES

__all__ = ["CpuLinearColumns"]

FIRST_COLUMNS, MORE_COLUMNS = 400, 200
BEYOND = 1e-9  # share of the penalty by which a slope must exceed it


class CpuLinearColumns:
    """State of one problem with an l1 penalty; implements ``ColumnOperations``.

    Parameters
    ----------
    data : LinearRows
        Rows.
    problem : LinearProblem
        Loss, targets, costs and penalties.
    start : LinearPoint or None
        Where to start; None for zero.
    part_of : function
        Makes the data of a solver of rows that are given.
    """

    def __init__(
        self,
        data: LinearRows,
        problem: LinearProblem,
        start: LinearPoint | None,
        part_of: Callable[[Any], Any],
    ) -> None:
        self.data, self.problem, self.rows = data, problem, data.count
        if start is None or start.shares is None:
            machine = CpuLinearMachine(data, problem, start)
            machine.measure()
            start = machine.point
        self.point = start
        self.chosen: NDArray[np.int64] = np.flatnonzero(start.x[: data.features])
        self.part: Any = None
        self._part_of = part_of

    def measure(self) -> LinearMeasure:
        """Return where the point stands, over all columns."""
        at = evaluate(self.data, self.problem, self.point)
        gap = at.primal - at.dual
        return LinearMeasure(at.primal, at.dual, gap, 0.0, at.violation, self.chosen.size)

    def grow(self) -> bool:
        """Take in the columns that would gain most; return False if none would."""
        shares = self.point.shares
        assert shares is not None
        slopes = np.abs(self.data.transposed(self.problem.costs * shares))
        slopes[self.chosen] = 0.0
        outside = np.flatnonzero(slopes > (1.0 + BEYOND) * self.problem.l1)
        support = np.flatnonzero(self.point.x[: self.data.features])
        room = max(MORE_COLUMNS, support.size // 2) if support.size else FIRST_COLUMNS
        if outside.size > room:
            outside = outside[np.argsort(-slopes[outside], kind="stable")[:room]]
        if outside.size or self.part is None:
            kept = self.chosen
            if kept.size + outside.size > FEW_FEATURES:
                kept = support
                outside = outside[: max(MORE_COLUMNS, FEW_FEATURES - kept.size)]
            self.chosen = np.sort(np.concatenate([kept, outside]))
            self.part = self._part_of(self.data.columns(self.chosen))
        return bool(outside.size)

    @property
    def point_of_part(self) -> LinearPoint:
        """The point, of the columns at work alone."""
        d = self.data.features
        x = np.concatenate([self.point.x[:d][self.chosen], self.point.x[d:]])
        return LinearPoint(x, self.point.shares)

    def take(self, solution: LinearSolution) -> None:
        """Go to the solution of the columns at work."""
        d = self.data.features
        x = np.zeros(self.point.x.size)
        x[self.chosen] = solution.weights
        x[d:] = solution.bias
        self.point = LinearPoint(x, solution.shares)
