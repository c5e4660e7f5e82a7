"""The point that follows a regularisation path: multipliers, margins, sets, and the next event.

In signed multipliers a = y alpha, with h = K (y s over margin errors) and E the rows on the margin,
a larger C changes the outputs f = K a + b at the rates ::

    df = K_E da_E + h + db,    df = 0 on E,    sum da_E = - sum of y s over margin errors

At constant C, margins t that turn into ones change them at df = y dt on E, with h = 0.
"""

from collections.abc import Callable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ...problem import c_svc
from .elbow import Elbow

__all__ = ["CpuPath", "Side"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

EPS = float(np.finfo(np.float64).eps)
TIE = 1e-13  # share of C within which events are simultaneous
SHIFT = 1e-11  # of margins that tie
NEAR = 1e-7  # rows this close to the margin may tie


class Side(IntEnum):
    """Where a row is."""

    OUTSIDE = 0  # alpha = 0, y f >= 1
    ERROR = 1  # alpha = C s, y f <= 1
    EDGE = 2  # y f = 1


class CpuPath:
    """Implements ``solvers.path.PathOperations``.

    Parameters
    ----------
    square : array of shape (rows, rows)
        Kernel matrix in float64; it is centred and its rows are permuted.
    signs, costs : array of shape (rows,)
        y and s.
    C : float
        Where the path begins.
    solve : function
        Returns signed multipliers and bias near the solution of a ``Problem``, given a start.
    seed : int
        Of the shifts that tell ties apart.
    """

    def __init__(
        self, square: Vector, signs: Vector, costs: Vector, C: float,
        solve: Callable[..., tuple[Vector, float]], seed: int = 0,
    ) -> None:  # fmt: skip
        self.largest = float(np.diagonal(square).max()) or 1.0
        _centre(square)
        self.elbow = Elbow(square, 32 * EPS * self.largest)
        self.signs, self.costs, self.C, self.solve = signs, costs, C, solve
        self.rows = signs.size
        self.pulls = signs * costs
        self.random = np.random.default_rng(seed)
        self.alpha, self.bias = np.zeros(self.rows), 0.0
        self.side = np.zeros(self.rows, dtype=np.int8)
        self.margin = np.zeros(self.rows)
        self.wanted = np.ones(self.rows)  # t, the margin at which a row counts as on the edge
        self.pull_outputs = np.zeros(self.rows)  # h
        self.exchanges: list[tuple[float, int, int]] = []
        self._cost_left, self._margin_left = 0.0, 0.0
        self._event: tuple[int, Side] | None = None

    # --- certificate ------------------------------------------------------------------------

    @property
    def on_margin(self) -> int:
        """Number of rows on the margin."""
        return int(self.elbow.ids.size)

    @property
    def dual_objective(self) -> float:
        """Sum alpha - ½||w||², where ||w||² = sum alpha y f because sum alpha y = 0."""
        return float(self.alpha.sum() - 0.5 * (self.alpha @ self.margin))

    @property
    def gap(self) -> float:
        """Relative duality gap of the present point, as far as it is feasible."""
        upper = self.C * self.costs
        short = 1.0 - self.margin
        terms = upper * np.maximum(short, 0.0) - self.alpha * short
        beyond = np.maximum(self.alpha - upper, 0.0) + np.maximum(-self.alpha, 0.0)
        gap = float(np.abs(terms).sum() + beyond.sum())
        return gap / max(abs(self.dual_objective) + gap, 1e-300)

    @property
    def rounding(self) -> float:
        """What rounding may make of the gap: of outputs, whose terms cancel, times multipliers."""
        outputs = 8 * EPS * self.largest * float(np.linalg.norm(self.alpha))
        gap = outputs * self.C * float(self.costs[self.elbow.ids].sum())
        return gap / max(abs(self.dual_objective) + gap, 1e-300)

    # --- start and repair ---------------------------------------------------------------------

    def solve_anew(self) -> None:
        """Take over a point near the solution, and the margins for which it is exact."""
        upper = self.C * self.costs
        problem = c_svc(self.signs, upper)
        x, self.bias = self.solve(problem, problem.near(self.signs * self.alpha))
        self.alpha = np.clip(self.signs * x, 0.0, upper)
        before = self.side.copy()
        self.elbow.clear()
        self.side = np.where(self.alpha >= upper, Side.ERROR, Side.OUTSIDE).astype(np.int8)
        self._update_sums()
        inside = np.minimum(self.alpha, upper - self.alpha) / upper
        free = np.flatnonzero((self.alpha > 0) & (self.alpha < upper))
        for i in free[np.argsort(-inside[free], kind="stable")]:
            self._enter(int(i), recorded=False)
        outputs = self.elbow.product_of_all(self.signs * self.alpha)
        on = self.elbow.ids
        if on.size:
            self.bias = float(np.mean(self.signs[on] - outputs[on]))
        self.margin = self.signs * (outputs + self.bias)
        self._record(np.flatnonzero(self.side != before))
        outside = self.side == Side.OUTSIDE
        self.wanted = np.where(outside, np.minimum(self.margin, 1.0), np.maximum(self.margin, 1.0))
        self.wanted[on] = self.margin[on]

    def compute_anew(self) -> None:
        """Compute multipliers, bias and outputs from the sets, with all margins one."""
        self.wanted = np.ones(self.rows)
        self._update_sums()
        on = self.elbow.ids
        a = np.where(self.side == Side.ERROR, self.C * self.pulls, 0.0)
        if on.size:
            values = self.signs[on] - self.C * self.pull_outputs[on]
            a[on], self.bias = self.elbow.solve(values, -float(a.sum()))
        self.alpha = self.signs * a
        self.margin = self.signs * (self.elbow.product_of_all(a) + self.bias)

    def tell_apart(self) -> None:
        """Shift the wanted margins of rows that are near theirs, away from the margin."""
        near = np.flatnonzero((np.abs(self.margin - self.wanted) < NEAR) & (self.side != Side.EDGE))
        shifts = SHIFT * self.random.uniform(1.0, 2.0, near.size)
        self.wanted[near] += np.where(self.side[near] == Side.ERROR, shifts, -shifts)

    def _update_sums(self) -> None:
        errors = np.where(self.side == Side.ERROR, self.pulls, 0.0)
        self.pull_outputs = self.elbow.product_of_all(errors)

    # --- aims -----------------------------------------------------------------------------------

    def aim_at_margins(self) -> None:
        """Let the next steps turn the wanted margins into one, at constant C."""
        self._margin_left, self._cost_left = 1.0, 0.0

    def aim_at_cost(self, largest: float) -> None:
        """Let the next steps enlarge C."""
        self._margin_left, self._cost_left = 0.0, largest - self.C

    @property
    def arrived(self) -> bool:
        """Whether the aim is reached, or no event lies before it."""
        return self._margin_left <= 0.0 and self._cost_left <= 0.0

    # --- the way to the next event ----------------------------------------------------------------

    def step(self) -> bool:
        """Go to the next event or to the aim; return whether the point moved."""
        if not self.on_margin:
            self._slide_bias(1.0)
        at_cost = self._margin_left <= 0.0
        left = self._cost_left if at_cost else self._margin_left
        wanted_rate = 0.0 if at_cost else (1.0 - self.wanted) / left
        upper_rate = self.costs if at_cost else np.zeros(self.rows)
        rates, bias_rate, margin_rate, noise = self._rates(at_cost, wanted_rate)
        length, self._event = self._next_event(
            rates, upper_rate, margin_rate - wanted_rate, noise, left
        )
        if self._event is None:
            length = left
        if not np.isfinite(length):  # the last piece never ends
            self._cost_left = 0.0
            return True
        on = self.elbow.ids
        if at_cost:
            self.C += length
            self._cost_left = 0.0 if self._event is None else left - length
            errors = self.side == Side.ERROR
            self.alpha[errors] = self.C * self.costs[errors]
        else:
            self._margin_left = 0.0 if self._event is None else left - length
            self.wanted = self.wanted + length * wanted_rate
        self.alpha[on] += length * rates
        self.bias += length * bias_rate
        self.margin += length * margin_rate
        self.margin[on] = self.wanted[on]
        return length > TIE * (self.C if at_cost else 1.0) or self._event is None

    def _rates(
        self, at_cost: bool, wanted_rate: Vector | float
    ) -> tuple[Vector, float, Vector, float]:
        """Return the rates of alpha on the edge, of the bias, of all margins, and their noise."""
        on = self.elbow.ids
        if at_cost:
            values = -self.pull_outputs[on]
            total = -float(self.pulls[self.side == Side.ERROR].sum())
        else:
            values, total = (self.signs * wanted_rate)[on], 0.0
        a_rates, bias_rate = self.elbow.solve(values, total)
        outputs = self.elbow.product(a_rates) + bias_rate
        size = float(np.abs(a_rates).sum()) * self.largest + abs(bias_rate)
        if at_cost:
            outputs += self.pull_outputs
            size += float(np.abs(self.pull_outputs).max())
        return self.signs[on] * a_rates, bias_rate, self.signs * outputs, 64 * EPS * size

    def _next_event(
        self, rates: Vector, upper_rate: Vector, rest_rate: Vector, noise: float, left: float
    ) -> tuple[float, tuple[int, Side] | None]:
        """Return how far the next event is, and what happens: which row gets to which side.

        Of events that tie, multipliers come before margins, and the fastest first.
        """
        on, upper = self.elbow.ids, self.C * self.costs
        falling = (self.side == Side.OUTSIDE) & (rest_rate < -noise)
        rising = (self.side == Side.ERROR) & (rest_rate > noise)
        coming = np.flatnonzero(falling | rising)
        rest = (self.margin - self.wanted)[coming]
        arrivals = np.maximum(-rest / rest_rate[coming], 0.0)
        slow = 1e-12 * max(
            float(np.abs(rates).max(initial=0.0)), float(upper_rate[on].max(initial=0.0))
        )
        relative = rates - upper_rate[on]
        with np.errstate(divide="ignore", invalid="ignore"):
            to_zero = np.where(rates < -slow, self.alpha[on] / -rates, np.inf)
            to_upper = np.where(relative > slow, (upper[on] - self.alpha[on]) / relative, np.inf)
        leaving = np.maximum(np.minimum(to_zero, to_upper), 0.0)
        first = min(float(leaving.min(initial=np.inf)), float(arrivals.min(initial=np.inf)))
        if first >= left:
            return left, None
        tied = first + TIE * max(self.C, first)
        if (ties := np.flatnonzero(leaving <= tied)).size:
            k = ties[np.argmax(np.abs(rates[ties]))]
            bound = Side.OUTSIDE if to_zero[k] <= to_upper[k] else Side.ERROR
            return first, (int(on[k]), bound)
        ties = np.flatnonzero(arrivals <= tied)
        k = ties[np.argmax(np.abs(rest_rate[coming[ties]]))]
        return first, (int(coming[k]), Side.EDGE)

    # --- exchanges --------------------------------------------------------------------------------

    def exchange(self) -> None:
        """Let the row of the event change its set."""
        assert self._event is not None
        row, side = self._event
        if side is Side.EDGE:
            self._enter(row)
        else:
            self._leave(row, side)
            if not self.on_margin:
                away = 1.0 if side is Side.OUTSIDE else -1.0
                self._slide_bias(away * self.signs[row])

    def _leave(self, i: int, side: Side, recorded: bool = True) -> None:
        """Let a row leave the edge for a bound."""
        self.elbow.remove(i)
        self._set_side(i, side, recorded)

    def _set_side(self, i: int, side: Side, recorded: bool) -> None:
        change = int(side == Side.ERROR) - int(self.side[i] == Side.ERROR)
        self.side[i] = side
        if change:
            self.pull_outputs += change * self.pulls[i] * self.elbow.row(i)
            if change < 0 and not (self.side == Side.ERROR).any():  # no rounding is to be left
                self.pull_outputs[:] = 0.0
        if side is not Side.EDGE:
            self.alpha[i] = self.C * self.costs[i] if side is Side.ERROR else 0.0
        if recorded:
            self._record(np.array([i]))

    def _record(self, rows: Ids) -> None:
        self.exchanges += [(self.C, int(i), int(self.side[i])) for i in rows]

    def _enter(self, i: int, recorded: bool = True) -> None:
        """Let a row enter the edge; if it depends on those there, it takes the place of one."""
        combination = self.elbow.append(i)
        if combination is None:
            self._set_side(i, Side.EDGE, recorded)
            return
        on, upper = self.elbow.ids, self.C * self.costs
        # Along this line of signed multipliers no output changes.
        line = self.signs[i] * (-1.0 if self.side[i] == Side.ERROR else 1.0)
        rows = np.append(on, i)
        rates = self.signs[rows] * np.append(-line * combination, line)
        with np.errstate(divide="ignore", invalid="ignore"):
            to_zero = np.where(rates < 0, self.alpha[rows] / -rates, np.inf)
            to_upper = np.where(rates > 0, (upper[rows] - self.alpha[rows]) / rates, np.inf)
        lengths = np.maximum(np.minimum(to_zero, to_upper), 0.0)
        ties = np.flatnonzero(lengths <= lengths.min() * (1 + TIE) + EPS * upper[i])
        k = int(ties[np.argmax(np.abs(rates[ties]))])
        self.alpha[rows] += lengths[k] * rates
        side = Side.OUTSIDE if to_zero[k] <= to_upper[k] else Side.ERROR
        if k == on.size:
            self._set_side(i, side, recorded)
            return
        self._leave(int(rows[k]), side, recorded)
        if self.elbow.append(i) is None:
            self._set_side(i, Side.EDGE, recorded)

    def _slide_bias(self, direction: float) -> None:
        """Move the bias, which nothing determines while no row is on the edge, until one is."""
        rest, rate = self.margin - self.wanted, self.signs * direction
        coming = np.where(self.side == Side.OUTSIDE, rate < 0, rate > 0)
        length = np.where(coming, np.maximum(-rest * rate, 0.0), np.inf)
        first = int(np.argmin(length))
        if np.isfinite(length[first]):
            self.bias += direction * length[first]
            self.margin += rate * length[first]
            self._enter(first)


def _centre(square: Vector) -> None:
    """Move the origin of feature space to the mean of the rows.

    Because the multipliers sum to zero this changes the bias alone, and outputs of rows far from
    the origin no longer cancel.
    """
    means = square.mean(axis=1)
    square -= means
    square -= (means - means.mean())[:, None]
