"""One linear machine on the CPU: the state behind the Newton operations of the solvers."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import LinearProblem
from ...solvers.linear_operations import LinearMeasure
from .linear_conjugate import TrustRegion
from .linear_rows import LinearRows
from .linear_systems import direction, penalised_direction

__all__ = ["CpuLinearMachine", "LinearPoint", "balancing_shift", "dual_bound", "magnitude", "noise"]

Vector = NDArray[np.float64]

ACCURACY = 0.05  # share of the gradient that an inexact Newton step may leave
LINE_SEARCH = 0.1  # share of the slope that may be left at the end of a line search
LINE_STEPS = 40
BALANCE_STEPS = 80
ROUNDING, ROUNDING_OF_SUMS = 1e-15, 1e-12
BALANCED = 1e-11
KNOWN_WIDTH, LEAST_WIDTH = 0.1, 1e-9  # first widths from a known point, in units of the scale
LEAST_TELLING, TELLING = 1000, 10  # rows, and rows for each feature


@dataclass(frozen=True)
class LinearPoint:
    """Coefficients, the bias last if there is one, and signed dual variables over costs.

    `judged` is what ``linear_certificate.evaluate`` said of exactly this point, if it was asked.
    """

    x: Vector
    shares: Vector | None
    judged: Any = field(default=None, repr=False, compare=False)


class CpuLinearMachine:
    """State of one linear problem; implements ``solvers.linear_operations.NewtonOperations``.

    Parameters
    ----------
    data : LinearRows
        Rows.
    problem : LinearProblem
        Loss, targets, costs and penalties.
    start : LinearPoint or None
        Where to start; None for zero.
    """

    def __init__(
        self,
        data: LinearRows,
        problem: LinearProblem,
        start: LinearPoint | None = None,
    ) -> None:
        self.data, self.problem = data, problem
        self.rows, self.smooth = data.count, problem.loss.smooth
        self.telling_rows = LEAST_TELLING + TELLING * data.features
        self.l1, self.l2 = problem.penalties(data.features)
        self.penalised = bool((self.l1 > 0).any())
        self.free_bias = problem.bias and self.l1[-1] == 0 and self.l2[-1] == 0
        self.x = np.zeros(self.l1.size) if start is None else start.x.copy()
        shares = None if start is None else start.shares
        if shares is None and problem.tilt > 0:  # alike: the optimum, where that is zero
            shares = np.full(self.rows, problem.tilt / problem.costs.sum())
        self.scale = _scale(data, problem)
        self.noise = noise(data, problem)
        self.outputs, self.dual = np.zeros(self.rows), np.zeros(self.rows)
        self.curvature, self.moves = np.zeros(self.rows), np.zeros(self.rows)
        self.gradient = np.zeros(self.l1.size)  # Xᵀu, with the sum of u less the tilt last
        self.region = TrustRegion()
        self.width = 0.0 if self.smooth else self.scale * _first_width(start, self.scale)
        self._round_around(shares)
        self._refresh()

    @property
    def bias(self) -> float:
        """The bias b."""
        return float(self.x[-1]) if self.problem.bias else 0.0

    @property
    def shares(self) -> Vector:
        """Dual variables divided by the costs."""
        costs = self.problem.costs
        return np.divide(self.dual, costs, out=np.zeros(self.rows), where=costs > 0)

    @property
    def point(self) -> LinearPoint:
        """Coefficients and dual variables."""
        return LinearPoint(self.x.copy(), self.shares)

    def _round_around(self, shares: Vector | None) -> None:
        self.samples = _core.samples(self.problem.targets, self.problem.costs, shares)

    def _loss(self) -> tuple[int, float, float]:
        return self.problem.loss.kind, self.problem.loss.epsilon, self.width

    def _refresh(self) -> None:
        """Recompute the outputs, so that rounding does not pile up."""
        if self.x.any():
            self.data.times(self.x[: self.data.features], self.bias, self.outputs)
        self._balance()

    # --- where the point stands ------------------------------------------------------------------

    def measure(self) -> LinearMeasure:
        """Return where the point stands, having formed all gradients there."""
        x, d = self.x, self.data.features
        _, loss, dual, total, curved = _core.respond(
            self.samples, *self._loss(), self.outputs, self.dual, self.curvature, self.data.threads
        )
        if not np.isfinite(loss):
            raise FloatingPointError(
                "outputs overflow: the numbers in X are too large; scale the columns "
                "(for example with StandardScaler)"
            )
        self.curved = curved
        self.gradient[:d] = self.data.transposed(self.dual)
        self.gradient[d:] = total - self.problem.tilt
        v, tilt = self.gradient, self.problem.tilt * self.bias
        primal = float(self.l1 @ np.abs(x) + 0.5 * (self.l2 * x) @ x) + loss + tilt
        rounding = 0.0 if self.smooth else max(0.0, loss - dual + float(x @ v) + tilt)
        loose = abs(float(v[-1])) * (abs(self.bias) + self.scale) if self.free_bias else 0.0
        bound = dual_bound(self.l1, self.l2, v, dual)
        return LinearMeasure(
            primal=primal,
            dual=bound,
            gap=primal - bound + loose,
            rounding=rounding,
            violation=max(self._unstationary(), self.width if curved else 0.0),
            curved=curved,
            noise=self.noise,
        )

    def _unstationary(self) -> float:
        """Return the largest distance of Xᵀu from the subdifferential of the penalty."""
        rest = self.gradient - self.l2 * self.x
        off = np.where(
            self.x != 0,
            np.abs(rest - self.l1 * np.sign(self.x)),
            np.maximum(np.abs(rest) - self.l1, 0.0),
        )
        return float(off.max(initial=0.0))

    # --- moving ----------------------------------------------------------------------------------

    def step(self) -> bool:
        """Make a Newton step with a line search; return False if nothing was gained."""
        slope = self.l2 * self.x - self.gradient
        if self.penalised:
            move = penalised_direction(self.data, self.curvature, slope, self.x, self.l1, self.l2)
        else:
            state = (self.data, self.curvature, slope, self.l2, self.curved)
            move = direction(*state, ACCURACY, self.region, exact=self.width > 0)
        if not np.isfinite(move).all() or not move.any():
            return False
        shift = float(move[-1]) if self.problem.bias else 0.0
        self.data.times(move[: self.data.features], shift, self.moves)
        search = self._backtrack if self.penalised else self._root_along
        length = search(move, slope)
        self.region.took(length)
        if length == 0:
            return False
        self.x = self.x + length * move
        self.outputs += length * self.moves
        self._balance()
        return True

    def _along(self, length: float) -> tuple[float, float, float]:
        value, slope, curvature = _core.along_ray(
            self.samples, *self._loss(), self.outputs, self.moves, length, self.data.threads
        )
        return value, slope, curvature

    def _root_along(self, move: Vector, slope: Vector) -> float:
        """Return where the slope along the ray is nearly zero, by Newton steps in a bracket."""
        start = float((self.l2 * self.x) @ move)
        bend = float((self.l2 * move) @ move)
        if self.problem.bias:
            start += self.problem.tilt * float(move[-1])
        enough = LINE_SEARCH * abs(float(slope @ move))
        low, high, at = 0.0, np.inf, 1.0
        for _ in range(LINE_STEPS):
            _, rise, curve = self._along(at)
            rise += start + at * bend
            if abs(rise) <= enough:
                return at
            low, high = (at, high) if rise < 0 else (low, at)
            newton = at - rise / (curve + bend) if curve + bend > 0 else np.inf
            at = (
                newton
                if low < newton < high
                else (2.0 * at if high == np.inf else 0.5 * (low + high))
            )
        return low

    def _backtrack(self, move: Vector, slope: Vector) -> float:
        """Return the first of 1, 1/2, 1/4 ... that gains a tenth of what the model promises.

        What is lost in rounding the objective counts as gained: the gradient is far more exact.
        """
        base = self._along(0.0)[0]
        size = float(self.l1 @ np.abs(self.x))
        promised = float(slope @ move) + float(self.l1 @ np.abs(self.x + move)) - size
        if promised >= 0:
            return 0.0
        start, bend = float((self.l2 * self.x) @ move), float((self.l2 * move) @ move)
        noise, length = ROUNDING * (abs(base) + size), 1.0
        for _ in range(LINE_STEPS):
            smooth = self._along(length)[0] - base + length * start + 0.5 * length**2 * bend
            whole = smooth + float(self.l1 @ np.abs(self.x + length * move)) - size
            if whole <= 0.1 * length * promised + noise:
                return length
            length *= 0.5
        return 0.0

    def _balance(self) -> None:
        """Give a free bias its best value for the weights at hand."""
        if not self.free_bias:
            return
        self.moves.fill(1.0)
        shift = balancing_shift(
            self._along, self.problem.tilt, float(self.problem.costs.sum()), self.scale
        )
        if shift:
            self.x[-1] += shift
            self.outputs += shift

    def narrow(self, factor: float) -> None:
        """Round the kinks off less, around the dual variables of the present point."""
        self.width *= factor
        self.region = TrustRegion()  # lengths were measured by other curvatures
        self._round_around(self.shares)
        self._refresh()

    # --- parts of the rows -----------------------------------------------------------------------

    def coarser(self, step: int) -> "CpuLinearMachine":
        """Return the machine of every step-th row, at the same point."""
        part = self.problem.part(step // 2, step)
        return CpuLinearMachine(self.data.part(step), part, LinearPoint(self.x, None))

    def start_at(self, other: Self) -> None:
        """Go to the point of another machine and take its width."""
        self.x, self.width = other.x.copy(), other.width
        self._refresh()


def _first_width(start: LinearPoint | None, scale: float) -> float:
    """Return how far to round the kinks off at first, in units of the scale.

    As far as any row is from obeying its conditions: within that the dual variables are uncertain.
    """
    if start is None or start.shares is None:
        return 1.0
    if start.judged is None:
        return KNOWN_WIDTH
    return min(KNOWN_WIDTH, max(LEAST_WIDTH, float(start.judged.violation) / scale))


def dual_bound(l1: Vector, l2: Vector, v: Vector, dual: float) -> float:
    """Return the dual objective, for v = Xᵀu and the part of it that the losses contribute.

    Where there is an l1 penalty alone, |v| must not exceed it; scaling u down makes it so, and by
    concavity leaves at least that share of the losses' part.
    """
    hard = (l2 == 0) & (l1 > 0)
    largest = float((np.abs(v[hard]) / l1[hard]).max(initial=0.0))
    share = 1.0 / largest if largest > 1 else 1.0
    soft = l2 > 0
    beyond = np.maximum(np.abs(share * v[soft]) - l1[soft], 0.0)
    return share * dual - 0.5 * float((beyond**2 / l2[soft]).sum())


def balancing_shift(along: Any, tilt: float, total: float, scale: float) -> float:
    """Return the shift of the bias at which the dual variables sum to the tilt.

    The sum falls as the bias rises: Newton steps inside a bracket, halving it when they fail.
    """
    low, high, at, reach = -np.inf, np.inf, 0.0, scale
    for k in range(BALANCE_STEPS):
        _, slope, curvature = along(at)
        excess = slope + tilt
        newton = at - excess / curvature if curvature > 1e-12 * total else np.nan
        if abs(excess) <= BALANCED * total:
            return newton if low < newton < high else at  # one more costs nothing
        low, high = (at, high) if excess < 0 else (low, at)
        if low < newton < high and k < BALANCE_STEPS // 4:
            at = newton
        elif np.isinf(low) or np.isinf(high):
            at += reach if excess < 0 else -reach
            reach *= 2.0
        else:
            at = 0.5 * (low + high)
    return at


def magnitude(data: LinearRows, problem: LinearProblem) -> float:
    """Return the size of the sums that an objective of zero would be the difference of."""
    weight = problem.tilt if problem.tilt > 0 else float(problem.costs.sum())
    return weight * _scale(data, problem)


def noise(data: LinearRows, problem: LinearProblem) -> float:
    """Return a gap that is no more than rounding.

    Only where the optimum can be zero: one class whose rows surround the origin.
    """
    return ROUNDING_OF_SUMS * magnitude(data, problem) if problem.tilt > 0 else 0.0


def _scale(data: LinearRows, problem: LinearProblem) -> float:
    """Return a width, in units of outputs, over which all rows count as being on the kink."""
    if problem.tilt > 0:
        some = np.unique(np.linspace(0, data.count - 1, min(data.count, 256)).astype(np.int64))
        few = data.taken(some)
        squares = few.multiply(few).sum() if hasattr(few, "multiply") else (few**2).sum()
        return max(problem.tilt * float(squares) / some.size / max(problem.l2, 1e-300), 1e-290)
    if problem.loss.kind in (0, 1, 2):
        return 1.0
    weights = problem.costs / max(float(problem.costs.sum()), 1e-300)
    spread = float(weights @ np.abs(problem.targets - float(weights @ problem.targets)))
    return max(2.0 * spread, problem.loss.epsilon, 1e-290)
