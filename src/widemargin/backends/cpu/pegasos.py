"""Pegasos on the CPU: sweeps, the averaged point of a window of them, and a dual point.

In the form with C = 1 / (lam n), in which all objectives of the library are stated, ::

    primal  ½||w||² + C sum_i loss_i(w)
    dual    C sum_i p_i − ½||u||²,   u = C sum_i p_i y_i x_i,   0 <= p_i <= 1

with p_i at most the row's importance, and its loss times as much, where rows have weights; and, for
many classes, a share p_ij for each class j but the row's own, which pulls w_j down and the
row's class up, with sum_j p_ij <= 1. The shares are those of passes over the rows: the margin
errors of a row, divided by its visits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...solution import Certificate
from ...solvers.pegasos import PegasosMeasure
from .hinge import hinge_losses, row_violations
from .linear_rows import LinearRows
from .online import KernelLearner, LinearLearner, _Sweeper

__all__ = ["CpuPegasos", "KernelPegasos", "LinearPegasos"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

STRIP = 1 << 14  # numbers that stay in the cache from one operation to the next
SMALL_SCALE = 0.5
MOST_SHRINKING = 14.0  # logarithm of what the scale may lose before it is multiplied in


def _strips(*arrays: Vector) -> Iterator[list[Vector]]:
    """Yield the same small part of each array, so that memory is read once for many operations."""
    rows = len(arrays[0])
    step = max(1, STRIP * rows // max(1, arrays[0].size))
    for first in range(0, rows, step):
        yield [array[first : first + step] for array in arrays]


class _Projected(_Sweeper):
    """What both forms add to a learner: a scale that the projection may shrink towards zero."""

    _size: int  # rows of a part
    log_scale = 0.0  # logarithm of all scales that were multiplied in

    def sum_over_time(self, wanted: bool) -> None:
        """Say whether the next rows count for an average."""

    def start_total(self, ratio: float, point: Vector) -> None:
        """Make the sum of the iterates so far a multiple of a point."""
        weights, second, _ = self._held()
        assert second is not None
        clock = float(self.scale[2])
        for sums, raw, part in _strips(second, weights, point):
            np.multiply(raw, clock, out=sums)
            if ratio:
                sums -= ratio * part

    def total_into(self, point: Vector, factor: float) -> None:
        """Write a multiple of the sum of the iterates."""
        weights, second, _ = self._held()
        assert second is not None
        clock = float(self.scale[2])
        for part, raw, sums in _strips(point, weights, second):
            np.multiply(raw, clock, out=part)
            part -= sums
            part *= factor

    @property
    def _largest(self) -> float:
        raise NotImplementedError  # squared norm of a row, but for the constant

    @property
    def importances(self) -> Vector | float:
        """What each row's loss is multiplied by."""
        return 1.0 if self.importance is None else self.importance

    def _held(self) -> tuple[Vector, Vector | None, list[Vector]]:
        """Return weights, their second vector, and what else is in the same units."""
        raise NotImplementedError

    def _after_part(self) -> None:
        """Multiply a small scale into the weights; the sum over time stays as it is."""
        scale, clock = float(self.scale[0]), float(self.scale[2])
        if scale >= SMALL_SCALE:
            return
        weights, second, others = self._held()
        if second is not None:
            second -= weights * clock
        for values in (weights, self.alpha, *others):
            values *= scale
        self.log_scale += float(np.log(scale))
        self.scale[0], self.scale[2] = 1.0, 0.0

    def _parts(self, order: Ids) -> Iterator[Ids]:
        """Cut the order so that the scale, and with it the precision of sums, survives a part.

        With R the largest norm of a row, the t-th shrinks w by no more than about
        exp(−R / (sqrt(lam) t)).
        """
        first, batch, last = 0, self.rule.batch, 0
        while first < order.size:
            last = first + self._size
            if self.rule.project:
                norm = max((self._largest + self.rule.constant**2) ** 0.5, 1e-300)
                norm *= max(1.0, float(np.max(self.importances)))
                rows = MOST_SHRINKING * self.rule.rate**0.5 * self.seen / norm
                last = first + min(self._size, max(1, int(rows / batch)) * batch)
            yield order[first:last]
            first = last

    def _visit(self, part: Ids) -> None:
        super()._visit(part)
        self._after_part()


class LinearPegasos(_Projected, LinearLearner):
    """Pegasos in the weights of the features."""

    threads = 1  # of the measures

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._pulls = np.zeros((self.labels.size, self.outputs if self.outputs > 1 else 0))
        self._with_sum = self._learner
        self._without = self._open(self.labels, self.importance, self.weights.reshape(-1), None)

    def sum_over_time(self, wanted: bool) -> None:
        """Say whether the next rows count for an average, which doubles what a move writes."""
        self._learner = self._with_sum if wanted else self._without

    @cached_property
    def _rows(self) -> LinearRows:
        return LinearRows(self._X, self.threads)

    @cached_property
    def _signs(self) -> Vector:
        return np.where(self.labels == 1, 1.0, -1.0)

    @property
    def raw(self) -> Vector:
        """The plain sum of the margin errors, but for the scale."""
        return self.weights

    @property
    def pulls(self) -> Vector:
        """The part of each row in that sum, shape (rows, outputs)."""
        if self.outputs > 1:
            return self._pulls
        return (self.alpha * self._signs)[:, None]

    def _held(self) -> tuple[Vector, Vector | None, list[Vector]]:
        return self.weights, self.second, [self._pulls]

    @cached_property
    def _largest(self) -> float:
        return float(self._rows.norms().max(initial=0.0))

    def _record(self, moves: int, rows: Ids) -> None:
        super()._record(moves, rows)
        if self.outputs > 1:
            row, amount = self._row[:moves], self._amount[:moves]
            self._pulls[row, self.labels[row]] += amount
            self._pulls[row, self._rival[:moves]] -= amount

    # --- the space of the points -----------------------------------------------------------------

    def embed(self, *points: Vector) -> list[Vector]:
        """Return points of the space of w: the points themselves."""
        return list(points)

    def inner(self, a: Vector, b: Vector) -> float:
        """Return the inner product of two points."""
        return float(np.vdot(a, b))

    def scores(self, point: Vector) -> Vector:
        """Return the outputs of all rows, shape (rows, outputs)."""
        rows = self._rows
        rows.pause = self.pause
        scores = np.empty((self.outputs, rows.count))
        for weights, output in zip(point.T, scores, strict=True):
            bias = self.rule.constant * float(weights[-1])
            rows.times(np.ascontiguousarray(weights[:-1]), bias, output)
        return scores.T

    def apart(self, a: Vector, b: Vector) -> float:
        """Return how far two points differ, in units of weights."""
        return float(np.abs(a - b).max(initial=0.0))

    def of_rows(self, pulls: Vector) -> Vector:
        """Return the point that is such a sum over the rows."""
        rows = self._rows
        rows.pause = self.pause
        sums = [rows.transposed(np.ascontiguousarray(column)) for column in pulls.T]
        last = self.rule.constant * pulls.sum(axis=0)
        return np.vstack([np.stack(sums, axis=1), last])


class KernelPegasos(_Projected, KernelLearner):
    """Pegasos in the coefficients of the rows. A point of its space is (c, K c)."""

    @property
    def raw(self) -> Vector:
        """The coefficients, but for the scale."""
        return self.coefficients

    @property
    def pulls(self) -> Vector:
        """The part of each row, shape (rows, outputs)."""
        return self.coefficients

    def _held(self) -> tuple[Vector, Vector | None, list[Vector]]:
        return self.coefficients, self.second, []

    @cached_property
    def _largest(self) -> float:
        return float(np.max(self.data.diagonal))

    # --- the space of the points -----------------------------------------------------------------

    def embed(self, *points: Vector) -> list[Vector]:
        """Return points with their outputs, for one computation of the kernel values."""
        outputs = self.product(np.hstack(points))
        return [
            np.stack([point, output])
            for point, output in zip(points, np.hsplit(outputs, len(points)), strict=True)
        ]

    def inner(self, a: Vector, b: Vector) -> float:
        """Return the inner product of two points."""
        return float(np.vdot(a[0], b[1]))

    def scores(self, point: Vector) -> Vector:
        """Return the outputs of all rows, shape (rows, outputs)."""
        return point[1]

    def apart(self, a: Vector, b: Vector) -> float:
        """Return how far two points differ, in units of outputs."""
        return float(np.abs(a[1] - b[1]).max(initial=0.0))

    def of_rows(self, pulls: Vector) -> Vector:
        """Return the point that is such a sum over the rows."""
        return self.embed(pulls)[0]


Learner = LinearPegasos | KernelPegasos


@dataclass
class _Mark:
    """Where the sweeps since the last measure began. Its arrays are written over by the next."""

    seen: int
    pulls: Vector
    place: Vector
    log_scale: float


class CpuPegasos:
    """Sweeps of one learner, and what they amount to; implements ``PegasosOperations``.

    Parameters
    ----------
    learner : LinearPegasos or KernelPegasos
        Rows and weights, at the start.
    averaged : bool
        Whether the point is an average rather than the last iterate.
    whole : bool
        Whether the rows are the whole data, over which objectives are measured; if not, the average
        is that over all rows ever seen.
    """

    def __init__(self, learner: Learner, *, averaged: bool, whole: bool) -> None:
        self.learner, self.averaged, self.whole = learner, averaged, whole
        self.rows, self.errors, self.measured = learner.rows, 0, False
        self.cost = 1.0 / (learner.rule.rate * self.rows)
        self.point = np.zeros_like(learner.raw)
        self._scores: Vector | None = None  # of the point, once they are known
        (place,) = learner.embed(self.point)
        self._bound = np.zeros_like(place)  # u, the dual point
        self._squared = 0.0  # its length
        self.shares = np.zeros_like(learner.pulls)  # p, signed
        self._mark = _Mark(0, self.shares.copy(), np.zeros_like(place), learner.log_scale)
        self._since, self._opened = 0, True  # the average: rows seen before it; whether it goes on

    def sweep(self) -> None:
        """Visit every row once."""
        before = self.learner.moved
        self.learner.sweep()
        self.errors = self.learner.moved - before

    def measure(self) -> PegasosMeasure:
        """Form the point from the window, and return where it stands."""
        learner, mark, scale = self.learner, self._mark, float(self.learner.scale[0])
        self.measured, self._scores = True, None
        self.point = self._formed()
        self.close_window()
        place, now = learner.embed(learner.raw, self.point)
        lost = float(np.exp(learner.log_scale - mark.log_scale))
        visits = max(1, -(-(learner.seen - mark.seen) // self.rows))
        pulls = learner.pulls
        for then, value, factor in (
            (mark.pulls, pulls, scale / visits), (mark.place, place, self.cost * scale / visits)
        ):  # fmt: skip
            for part, new in _strips(then, value):
                part *= -lost
                part += new
                part *= factor
        self._improve(mark.pulls, mark.place)
        np.copyto(mark.pulls, pulls)
        np.copyto(mark.place, place)
        mark.seen, mark.log_scale = learner.seen, learner.log_scale
        dual = self._gain(self.shares) - 0.5 * self._squared
        scores = self._scores = learner.scores(now)
        return PegasosMeasure(self._primal(now, scores), dual)

    def settled(self) -> Vector:
        """Return the point at the end; part of a pass since the last measure adds nothing."""
        if not self.whole:
            self.point = self._formed()
        elif not self.measured:
            self.measure()
        if self.whole and self.averaged:  # a stream goes on as if all iterates had this average
            self.learner.start_total(self._steps(0), self.point)
        return self.point

    def _formed(self) -> Vector:
        if self.learner.seen == self._since or (self._mark.seen and not self._opened):
            return self.point
        if not (self._opened and self.averaged):  # or stopped before a window was opened
            return self._last()
        self.learner.total_into(self.point, 1.0 / self._steps(self._since))
        return self.point  # the average, weighted by t, of the iterates of the window

    def _last(self) -> Vector:
        steps = self.learner.rule.rate * self.learner.seen
        return self.learner.raw * (float(self.learner.scale[0]) / steps)

    def open_window(self) -> None:
        """Begin anew to average the iterates."""
        self._since, self._opened = self.learner.seen, True
        if self.averaged:
            self.learner.start_total(0.0, self.point)
            self.learner.sum_over_time(True)

    def close_window(self) -> None:
        """Average nothing until a window is opened."""
        if self.averaged and self.whole:
            self._opened = False
            self.learner.sum_over_time(False)

    def _steps(self, since: int) -> float:
        """Return the sum of lam t over the rows since then."""
        seen = self.learner.seen
        return 0.5 * self.learner.rule.rate * (seen * (seen + 1.0) - since * (since + 1.0))

    def _improve(self, shares: Vector, point: Vector) -> None:
        """Move the dual point to the best between itself and another one, which is used up."""
        learner, own = self.learner, self._squared
        both, other = learner.inner(self._bound, point), learner.inner(point, point)
        rise = self._gain(shares) - self._gain(self.shares) - both + own
        bend = other - 2.0 * both + own
        step = min(1.0, max(0.0, rise / bend)) if bend > 0 else 1.0
        for mine, theirs in ((self.shares, shares), (self._bound, point)):
            for own_part, other_part in _strips(mine, theirs):
                other_part *= step
                own_part *= 1.0 - step
                own_part += other_part
        self._squared = (1 - step) ** 2 * own + 2 * step * (1 - step) * both + step**2 * other

    def _gain(self, shares: Vector) -> float:
        sides = 1 if self.learner.outputs == 1 else 2
        return self.cost * float(np.abs(shares).sum()) / sides

    def _primal(self, point: Vector, scores: Vector) -> float:
        losses = hinge_losses(scores, self.learner.labels) * self.learner.importances
        return 0.5 * self.learner.inner(point, point) + self.cost * float(losses.sum())

    def certificate(self) -> Certificate:
        """Return the certificate of the point, computed from it and the shares alone."""
        learner = self.learner
        (point,) = learner.embed(self.point)
        bound = learner.of_rows(self.cost * self.shares)
        scores = learner.scores(point) if self._scores is None else self._scores
        off = row_violations(scores, learner.labels, self.shares, learner.importances)
        off = np.where(np.asarray(learner.importances) > 0, off, 0.0)
        return Certificate(
            primal=self._primal(point, scores),
            dual=self._gain(self.shares) - 0.5 * learner.inner(bound, bound),
            violation=max(float(off.max(initial=0.0)), learner.apart(point, bound)),
            multipliers=(),
            multiplier_range=(),
        )
