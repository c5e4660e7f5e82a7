"""The rows of a machine that are being worked on, and where their kernel columns come from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import Problem
from .row_cache import RowCache
from .sources import Source

__all__ = ["Segment", "View"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Segment:
    """Consecutive rows of a machine whose kernel columns one source computes.

    Rows of a dear kernel are kept in a cache; those of a cheap one are computed again each time
    they move, and go from the registers into the outputs. A machine whose block is all of its
    variables needs neither and has no segments.
    """

    source: Source
    cache: RowCache | None
    first: int
    last: int


class View:
    """The rows being worked on, with everything the operations need laid out for them alone."""

    def __init__(
        self, problem: Problem, rows: Ids, ids: Ids, segments: list[Segment], x: Vector, out: Vector
    ) -> None:
        n = problem.rows
        variables = np.concatenate([rows + side * n for side in range(problem.sides)])
        self.rows, self.ids, self.segments, self.variables = rows, ids, segments, variables
        self.x, self.outputs = x[variables], out[rows]
        self.linear = problem.linear[variables]
        self.lower, self.upper = problem.lower[variables], problem.upper[variables]
        self.group = problem.group[variables]
        self.taken = np.zeros(variables.size, dtype=np.uint8)
        self.box = _core.box(
            self.outputs,
            self.linear,
            self.lower,
            self.upper,
            self.x,
            self.group,
            problem.groups,
        )
        self.sides, self.groups = problem.sides, problem.groups

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.rows.size)

    def row_of(self, variables: Ids) -> Ids:
        """Return the row, counted in this view, that each variable belongs to."""
        return variables % self.size

    def totals(self) -> Vector:
        """Return the coefficient of each row."""
        return self.x if self.sides == 1 else self.x.reshape(self.sides, -1).sum(axis=0)
