"""The regularisation path of one machine: how it is found, and what is kept of it.

Kept are the sets alone: which row was outside, on or inside the margin from which C on. The
multipliers at any C are then the solution of one linear system, as exact as at the breakpoints.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from ..backends.cpu import CpuKernelData, CpuPath, Side, kernel_square
from ..problem import Problem, c_svc
from ..solution import Certificate, Progress, Status
from ..solvers.certified import Options, solve_certified
from ..solvers.monitor import Limits, Monitor
from ..solvers.path import follow_path

__all__ = ["PathRecord", "trace_path"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

AT_BOUND = 1e-12  # share of its bound by which a multiplier may differ from it by rounding
SAME = 1e-12  # share by which breakpoints differ at least
APPROXIMATION = 1e-9  # violation of points that the path starts from
APART = 1e-8  # share of their length by which rows differ at least to give their own scale
MARGIN = 1e-12  # beyond which rows are moved where none is an error
EPS = float(np.finfo(np.float64).eps)
REFRESH = 50
TOO_MUCH = 0.1  # to move a margin by
ROUNDED = 1000.0  # times the tolerance is a gap that one must be told of, though unavoidable
JUDGED = 20  # breakpoints, at most
BEYOND = 10.0  # times the last one is a point that is judged too
COPIES = 3  # of the kernel matrix, at most


@dataclass(eq=False)
class PathRecord:
    """Sets of rows along the path.

    Attributes
    ----------
    signs, costs : array of shape (rows,)
        y and s.
    largest : float
        C up to which the path is known.
    status : Status
        How the path ended.
    worst_gap : float
        The largest relative gap that was met.
    history : tuple of Progress
        An entry for some of the exchanges.
    """

    data: CpuKernelData
    ids: Ids
    signs: Vector
    costs: Vector
    first_sides: NDArray[np.int8]
    exchanges: tuple[Vector, Ids, NDArray[np.int8]]  # C, row, new side; in order
    largest: float
    status: Status
    worst_gap: float
    history: tuple[Progress, ...]

    def __post_init__(self) -> None:
        self._piece: tuple[int, Vector, Vector] | None = None

    @property
    def breakpoints(self) -> Vector:
        """The values of C where the path bends."""
        C = self.exchanges[0]
        return C[np.append(True, np.diff(C) > SAME * C[1:])] if C.size else C

    def sides(self, C: float) -> NDArray[np.int8]:
        """Return the set of each row."""
        return self._sides_after(self._exchanges_before(C))

    def multipliers(self, C: float) -> Vector:
        """Return the signed multipliers of the solution at C."""
        count, upper = self._exchanges_before(C), C * self.costs
        if self._piece is None or self._piece[0] != count:
            self._piece = count, *self._line(self._sides_after(count))
        _, start, slope = self._piece
        alpha = self.signs * (start + C * slope)
        sides = self.sides(C)
        largest = float(np.abs(alpha).max(initial=0.0))
        low, high = AT_BOUND * np.minimum(upper, largest), (1.0 - AT_BOUND) * upper
        while (
            beyond := np.flatnonzero((sides == Side.EDGE) & ((alpha < low) | (alpha > high)))
        ).size:
            # At a breakpoint, and by rounding: such rows are at their bound, of which the others
            # have to know, because the sum is fixed.
            sides[beyond] = np.where(alpha[beyond] < low[beyond], Side.OUTSIDE, Side.ERROR)
            start, slope = self._line(sides)
            alpha = self.signs * (start + C * slope)
        x = self.signs * alpha
        if not (sides == Side.ERROR).any():
            stretched = self._stretched(x)
            x = stretched if (np.abs(stretched) <= upper).all() else x
        return x

    def certified(self, C: float) -> tuple[Vector, Vector, Certificate]:
        """Return the signed multipliers at C, their outputs, and their certificate."""
        x, problem = self.multipliers(C), c_svc(self.signs, C * self.costs)
        return x, *self.data.certify(problem, [self.ids], x)

    def _exchanges_before(self, C: float) -> int:
        return int(np.searchsorted(self.exchanges[0], C, side="right"))

    def _sides_after(self, count: int) -> NDArray[np.int8]:
        _, rows, sides = self.exchanges
        found = self.first_sides.copy()
        found[rows[:count]] = sides[:count]  # of a row that is named often, the last one holds
        return found

    def _line(self, sides: NDArray[np.int8]) -> tuple[Vector, Vector]:
        """Return start and slope of the signed multipliers of one piece, linear in C."""
        start = np.zeros(self.signs.size)
        slope = np.where(sides == Side.ERROR, self.signs * self.costs, 0.0)
        on = np.flatnonzero(sides == Side.EDGE)
        if on.size:
            outputs = self.data.outputs_at(self.ids[on], self.ids, slope)
            square = kernel_square(self.data, self.ids[on])
            start[on], slope[on] = _on_margin(square, self.signs[on], outputs, float(slope.sum()))
        return start, slope

    def _stretched(self, x: Vector) -> Vector:
        """Return multipliers of a piece without margin errors that rounding leaves without any.

        A row short of its margin by rounding alone costs C times as much; and C may be anything.
        """
        on = np.flatnonzero(x)
        outputs = self.data.outputs_at(self.ids, self.ids, x)
        margin = 0.5 * float(outputs[self.signs > 0].min() - outputs[self.signs < 0].max())
        size = np.abs(kernel_square(self.data, self.ids[on])) @ np.abs(x[on])
        noise = MARGIN + 8 * EPS * float(size.max(initial=0.0))
        if noise > TOO_MUCH or abs(margin - 1.0) > TOO_MUCH:
            return x
        return x * ((1.0 + noise) / margin)


def _on_margin(
    square: Vector, signs: Vector, outputs: Vector, total: float
) -> tuple[Vector, Vector]:
    """Return start and slope of multipliers that keep rows on the margin.

    The origin of feature space goes to the mean of these rows, and then so far away at right angles
    that the matrix is positive definite. Both change the bias alone, because all multipliers,
    those of the margin errors being `total`, sum to zero.
    """
    means = square.mean(axis=1)
    outputs = outputs - means * total
    scale = float(np.diagonal(square).max()) or 1.0
    square = square - means[:, None] - means + means.mean()
    spread = float(np.trace(square)) / signs.size
    square += spread if spread > APART * scale else scale
    right = np.stack([np.ones(signs.size), signs, -outputs], axis=1)
    try:
        ones, start, slope = cho_solve(cho_factor(square, lower=True), right).T
    except LinAlgError:  # rows that depend on one another but for rounding
        ones, start, slope = lstsq(square, right)[0].T
    share = ones / ones.sum()
    return start - start.sum() * share, slope - (slope.sum() + total) * share


def trace_path(
    data: CpuKernelData, segments: list[Ids], signs: Vector, costs: Vector, *,
    largest: float, tolerance: float, monitor: Monitor,
) -> PathRecord:  # fmt: skip
    """Follow the path from where all C are alike to the largest.

    Parameters
    ----------
    data : CpuKernelData
        Rows and kernel.
    segments : list of arrays
        Numbers of the rows, a part at a time.
    signs, costs : array
        y and s of these rows.
    largest : float
        C to end at.
    tolerance : float
        Relative gap that each point has at most.
    monitor : Monitor
        Limits, history and reports.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    """
    ids = np.concatenate(segments)
    needed = COPIES * 8 * ids.size**2
    if needed > data.budget:
        raise ValueError(
            f"the path of {ids.size} rows needs {needed / 1e9:.2g} GB, but memory_limit leaves "
            f"{data.budget / 1e9:.2g} GB; raise memory_limit or give fewer rows"
        )
    square = kernel_square(data, ids)
    begin = min(_first_cost(square, signs, costs), largest)

    def solve(problem: Problem, start: Vector) -> tuple[Vector, float]:
        seconds = monitor.limits.seconds
        left = None if seconds is None else max(0.01, seconds - monitor.elapsed())
        inner = Monitor(Limits(APPROXIMATION, seconds=left))
        found = solve_certified(data, problem, segments, start, inner, Options())
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if found.indefinite:
            raise ValueError(
                "the kernel is not positive semidefinite, so that the solution is not a path in C; "
                "choose another kernel, or fit SVC for each C"
            )
        return found.x, found.certificate.multipliers[0]

    machine = CpuPath(square, signs, costs, begin, solve)
    end = follow_path(machine, monitor, largest=largest, tolerance=tolerance, refresh=REFRESH)
    known = largest if end.status is Status.CONVERGED else machine.C if begin < machine.C else 0.0
    C, rows, sides = (np.array(part) for part in zip(*machine.exchanges, strict=True))
    first = int(np.searchsorted(C, begin, side="right"))
    first_sides = np.full(ids.size, Side.OUTSIDE, dtype=np.int8)
    first_sides[rows[:first]] = sides[:first]
    exchanges = C[first:], rows[first:].astype(np.int64), sides[first:].astype(np.int8)
    record = PathRecord(
        data, ids, signs, costs, first_sides, exchanges, known, end.status, end.worst_gap,
        tuple(monitor.history),
    )  # fmt: skip
    return _judged(record, tolerance) if end.status is Status.CONVERGED else record


def _judged(record: PathRecord, tolerance: float) -> PathRecord:
    """Return the record with the gaps of some breakpoints, the last among them, computed anew.

    The path knows the kernel values it follows, but not what rounding has made of them.
    """
    C = record.breakpoints
    if C.size:
        C = np.append(C, min(record.largest, BEYOND * C[-1]))
    chosen = C[np.unique(np.linspace(0, C.size - 1, JUDGED).astype(np.int64))] if C.size else C
    worst = max([record.worst_gap, *(record.certified(c)[2].relative_gap for c in chosen)])
    status = Status.CONVERGED if worst <= ROUNDED * tolerance else Status.ROUNDED
    return replace(record, status=status, worst_gap=worst)


def _first_cost(square: Vector, signs: Vector, costs: Vector) -> float:
    """Return a C so small that the class of less weight has margin errors alone.

    Outputs of rows at a distance D in feature space differ by at most ||w|| D, and w is C times
    that class's weight times a difference of points in the hulls, no longer than the largest D. An
    error of that class needs outputs that differ by less than two.
    """
    weight = min(float(costs[signs > 0].sum()), float(costs[signs < 0].sum()))
    means = square.mean(axis=1)
    radius = float(np.max(np.diagonal(square) - 2.0 * means)) + float(means.mean())
    scale = max(radius, 1e-12 * float(np.max(np.diagonal(square))))
    return 1.0 / (8.0 * weight * scale) if scale > 0 else 1.0 / weight
