"""The steps of an interior-point method for linear machines, wherever the rows lie.

A machine holds the boxes of its rows (`sides`, with sign and aim in `hinges`) and of its penalties
(`edges`, of the coefficients `edged`), on the host or on a device; what follows asks no more of
their numbers than arithmetic. How rows are summed and systems solved is each machine's own.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...problem import LinearProblem
from .linear_boxes import Boxes, BoxMove

__all__ = ["InteriorMove", "InteriorSteps"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class InteriorMove:
    """A step of the coefficients, and of the boxes of the rows and of the penalties."""

    x: Vector
    sides: list[BoxMove]
    edges: BoxMove


class InteriorSteps(ABC):
    """What the machines of all backends do alike; their rows are `data`."""

    data: Any
    problem: LinearProblem
    x: Vector
    l1: Vector
    l2: Vector
    hinges: list[tuple[Any, Any]]
    sides: list[Boxes]
    edges: Boxes
    edged: Any
    hessian: Any

    @abstractmethod
    def _outputs(self, x: Vector) -> Any:
        """Return the outputs of the rows that count."""

    @abstractmethod
    def _sums(self, dual: Any) -> Vector:
        """Return Xᵀ times dual variables of the rows that count."""

    @abstractmethod
    def _signed(self, values: list[Any]) -> Any:
        """Return the sum over the sides of sign times value."""

    @abstractmethod
    def _solve(self, stiff: Vector, right: Vector) -> Vector:
        """Solve (stiff + Xᵀ H X) x = right, where H is one over the softness of the rows."""

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
