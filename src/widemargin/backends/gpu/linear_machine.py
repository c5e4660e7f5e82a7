"""One linear machine on the GPU: the state behind the Newton operations of the solvers.

Coefficients are the host's, what each row has is the device's; a Newton step is a few launches and
as few numbers that come back.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...problem import LinearProblem
from ...solvers.linear_operations import LinearMeasure
from ..cpu.linear_machine import LinearPoint, balancing_shift, dual_bound, magnitude
from .linear_launches import Samples
from .linear_rows import GpuLinearRows
from .linear_systems import direction, penalised_direction

__all__ = ["GpuLinearMachine", "off_subdifferential"]

Vector = NDArray[np.float64]

ACCURACY = 0.05  # share of the gradient that an inexact Newton step may leave
LINE_SEARCH = 0.1  # share of the slope that may be left at the end of a line search
LINE_STEPS = 40
ROUNDING = 1e-15
KNOWN_WIDTH, LEAST_WIDTH = 0.1, 1e-9  # first widths from a known point, in units of the scale
LEAST_TELLING, TELLING = 1000, 10  # rows, and rows for each feature


class GpuLinearMachine:
    """State of one linear problem; implements ``solvers.linear_operations.NewtonOperations``.

    Parameters
    ----------
    data : GpuLinearRows
        Rows.
    problem : LinearProblem
        Loss, targets, costs and penalties, on the host.
    start : LinearPoint or None
        Where to start; None for zero.
    """

    def __init__(
        self, data: GpuLinearRows, problem: LinearProblem, start: LinearPoint | None = None
    ) -> None:
        self.data, self.problem, self.device = data, problem, data.device
        self.rows, self.smooth = data.count, problem.loss.smooth
        self.telling_rows = LEAST_TELLING + TELLING * data.features
        self.l1, self.l2 = problem.penalties(data.features)
        self.penalised = bool((self.l1 > 0).any())
        self.free_bias = problem.bias and self.l1[-1] == 0 and self.l2[-1] == 0
        self.x = np.zeros(self.l1.size) if start is None else start.x.copy()
        self.total = float(problem.costs.sum())
        weight = problem.tilt if problem.tilt > 0 else self.total
        host: Any = data
        self.scale = magnitude(host, problem) / max(weight, 1e-300)
        upload, xp = self.device.upload, self.device.xp
        zeros = xp.zeros(self.rows)
        self.samples = Samples(upload(problem.targets), upload(problem.costs), zeros)
        self.outputs, self.dual, self.curvature = zeros.copy(), zeros.copy(), zeros.copy()
        self.ones, self.curved = xp.ones(self.rows), 0
        self.gradient = np.zeros(self.l1.size)  # Xᵀu, with the sum of u less the tilt last
        self.width = 0.0 if self.smooth else self.scale * self._first_width(start)
        if start is not None and start.shares is not None:
            self._round_around(upload(start.shares))
        self._refresh()

    def _first_width(self, start: LinearPoint | None) -> float:
        """Return how far to round the kinks off at first, in units of the scale.

        As far as any row is from obeying its conditions: within that dual variables are uncertain.
        """
        if start is None or start.shares is None:
            return 1.0
        if start.judged is None:
            return KNOWN_WIDTH
        return min(KNOWN_WIDTH, max(LEAST_WIDTH, float(start.judged.violation) / self.scale))

    @property
    def bias(self) -> float:
        """The bias b."""
        return float(self.x[-1]) if self.problem.bias else 0.0

    @property
    def shares(self) -> Any:
        """Dual variables divided by the costs."""
        costs = self.samples.cost
        return self.dual / self.device.xp.where(costs > 0, costs, 1.0)

    @property
    def point(self) -> LinearPoint:
        """Coefficients and dual variables."""
        return LinearPoint(self.x.copy(), self.shares)

    def _round_around(self, shares: Any) -> None:
        self.samples = Samples(self.samples.target, self.samples.cost, shares)

    def _refresh(self) -> None:
        """Recompute the outputs, so that rounding does not pile up."""
        if self.x.any():
            self.outputs = self.data.times(self.x[: self.data.features], self.bias)
        self._balance()

    # --- where the point stands ------------------------------------------------------------------

    def measure(self) -> LinearMeasure:
        """Return where the point stands, having formed all gradients there."""
        x, d, loss = self.x, self.data.features, self.problem.loss
        _, lost, dual, total, curved = (
            float(part)
            for part in self.device.respond(
                self.samples, loss, self.width, self.outputs, self.dual, self.curvature
            )
        )
        if not np.isfinite(lost):
            raise FloatingPointError(
                "outputs overflow: the numbers in X are too large; scale the columns "
                "(for example with StandardScaler)"
            )
        self.curved = int(curved)
        self.gradient[:d] = self.data.transposed(self.dual)
        self.gradient[d:] = total - self.problem.tilt
        v, tilt = self.gradient, self.problem.tilt * self.bias
        primal = float(self.l1 @ np.abs(x) + 0.5 * (self.l2 * x) @ x) + lost + tilt
        rounding = 0.0 if self.smooth else max(0.0, lost - dual + float(x @ v) + tilt)
        loose = abs(float(v[-1])) * (abs(self.bias) + self.scale) if self.free_bias else 0.0
        bound = dual_bound(self.l1, self.l2, v, dual)
        unstationary = off_subdifferential(x, v, self.l1, self.l2)
        return LinearMeasure(
            primal=primal,
            dual=bound,
            gap=primal - bound + loose,
            rounding=rounding,
            violation=max(unstationary, self.width if curved else 0.0),
            curved=self.curved,
        )

    # --- moving ----------------------------------------------------------------------------------

    def step(self) -> bool:
        """Make a Newton step with a line search; return False if nothing was gained."""
        slope, curved = self.l2 * self.x - self.gradient, self.curved
        if self.penalised:
            move = penalised_direction(
                self.data, self.curvature, slope, self.x, self.l1, self.l2, curved
            )
        else:
            move = direction(self.data, self.curvature, slope, self.l2, curved, ACCURACY)
        if not np.isfinite(move).all() or not move.any():
            return False
        shift = float(move[-1]) if self.problem.bias else 0.0
        moves = self.data.times(move[: self.data.features], shift)
        search = self._backtrack if self.penalised else self._root_along
        length = search(move, moves, slope)
        if length == 0:
            return False
        self.x = self.x + length * move
        self.outputs += length * moves
        self._balance()
        return True

    def _along(self, moves: Any, length: float) -> tuple[float, float, float]:
        value, slope, curvature = self.device.along(
            self.samples, self.problem.loss, self.width, self.outputs, moves, length
        )
        return float(value), float(slope), float(curvature)

    def _root_along(self, move: Vector, moves: Any, slope: Vector) -> float:
        """Return where the slope along the ray is nearly zero, by Newton steps in a bracket."""
        start = float((self.l2 * self.x) @ move)
        bend = float((self.l2 * move) @ move)
        if self.problem.bias:
            start += self.problem.tilt * float(move[-1])
        enough = LINE_SEARCH * abs(float(slope @ move))
        low, high, at = 0.0, np.inf, 1.0
        for _ in range(LINE_STEPS):
            _, rise, curve = self._along(moves, at)
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

    def _backtrack(self, move: Vector, moves: Any, slope: Vector) -> float:
        """Return the first of 1, 1/2, 1/4 ... that gains a tenth of what the model promises.

        What is lost in rounding the objective counts as gained: the gradient is far more exact.
        """
        base = self._along(moves, 0.0)[0]
        size = float(self.l1 @ np.abs(self.x))
        promised = float(slope @ move) + float(self.l1 @ np.abs(self.x + move)) - size
        if promised >= 0:
            return 0.0
        start, bend = float((self.l2 * self.x) @ move), float((self.l2 * move) @ move)
        noise, length = ROUNDING * (abs(base) + size), 1.0
        for _ in range(LINE_STEPS):
            smooth = self._along(moves, length)[0] - base
            smooth += length * start + 0.5 * length**2 * bend
            whole = smooth + float(self.l1 @ np.abs(self.x + length * move)) - size
            if whole <= 0.1 * length * promised + noise:
                return length
            length *= 0.5
        return 0.0

    def _balance(self) -> None:
        """Give a free bias its best value for the weights at hand."""
        if not self.free_bias:
            return

        def along(length: float) -> tuple[float, float, float]:
            return self._along(self.ones, length)

        shift = balancing_shift(along, self.problem.tilt, self.total, self.scale)
        if shift:
            self.x[-1] += shift
            self.outputs += shift

    def narrow(self, factor: float) -> None:
        """Round the kinks off less, around the dual variables of the present point."""
        self.width *= factor
        self._round_around(self.shares)
        self._refresh()

    # --- parts of the rows -----------------------------------------------------------------------

    def coarser(self, step: int) -> "GpuLinearMachine":
        """Return the machine of every step-th row, at the same point."""
        part = self.problem.part(step // 2, step)
        return GpuLinearMachine(self.data.part(step), part, LinearPoint(self.x, None))

    def start_at(self, other: Self) -> None:
        """Go to the point of another machine and take its width."""
        self.x, self.width = other.x.copy(), other.width
        self._refresh()


def off_subdifferential(x: Vector, v: Vector, l1: Vector, l2: Vector) -> float:
    """Return the largest distance of v = Xᵀu from the subdifferential of the penalty."""
    rest = v - l2 * x
    off = np.where(x != 0, np.abs(rest - l1 * np.sign(x)), np.maximum(np.abs(rest) - l1, 0.0))
    return float(off.max(initial=0.0))
