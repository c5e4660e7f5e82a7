"""Online learners on the CPU: weights of features, or coefficients of rows, that sweeps change."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from .kernel_data import CpuKernelData
from .machine import whole
from .sources import is_sparse, open_rows

__all__ = ["KernelLearner", "LinearLearner", "Moves", "Rule", "RuleKind", "vote"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

ENTRIES_AT_ONCE = 1e7  # numbers read between two looks at the clock
BLOCK = 512  # rows whose kernel values are computed at once
GRAM_ROWS = 4096  # with so few rows the whole kernel matrix is kept
VOTES_AT_ONCE = 1 << 26


class RuleKind(IntEnum):
    """When a row moves the weights; see ``cpp/solve/online_types.hpp``."""

    PERCEPTRON = 0
    AGGRESSIVE = 1
    AGGRESSIVE_SQUARED = 2
    PEGASOS = 3
    WINNOW = 4
    BALANCED_WINNOW = 5


@dataclass(frozen=True)
class Rule:
    """An update rule with its numbers.

    Attributes
    ----------
    kind : RuleKind
    rate : float
        Step of the perceptron, C of the passive-aggressive rules, lambda of Pegasos, logarithm of
        Winnow's factor.
    constant : float
        Value of the constant feature that carries the bias; 0 for none.
    offset : float
        Added to the decision of two classes.
    batch : int
        Rows that are judged by the same weights.
    project : bool
        Whether Pegasos keeps ||w|| <= 1 / sqrt(lambda).
    averaged : bool
        Whether the sum over time is kept too.
    """

    kind: RuleKind
    rate: float
    constant: float = 1.0
    offset: float = 0.0
    batch: int = 1
    project: bool = False
    averaged: bool = False


class Moves:
    """Every move in order: row, class that lost, amount, and rows seen before.

    A part's moves count from one assignment on, so that Ctrl-C leaves all four of equal length.
    """

    def __init__(self) -> None:
        self.count = 0
        self._row, self._rival, self._time = np.empty((3, 1024), dtype=np.int64)
        self._amount = np.empty(1024)

    def add(self, row: Ids, rival: Ids, amount: Vector, time: Ids) -> None:
        """Append the moves of a part."""
        last = self.count + row.size
        if last > self._row.size:
            room = 2 * last
            self._row, self._rival, self._amount, self._time = (
                _longer(values, self.count, room) for values in self._all()
            )
        for values, new in zip(self._all(), (row, rival, amount, time), strict=True):
            values[self.count : last] = new
        self.count = last

    def joined(self) -> tuple[Ids, Ids, Vector, Ids]:
        """Return the four as arrays."""
        row, rival, amount, time = self._all()
        count = self.count
        return row[:count], rival[:count], amount[:count], time[:count]

    def _all(self) -> tuple[Ids, Ids, Vector, Ids]:
        return self._row, self._rival, self._amount, self._time


def _longer(values: Any, count: int, room: int) -> Any:
    """Return an array with more room that begins with the first values of another."""
    longer = np.empty(room, dtype=values.dtype)
    longer[:count] = values[:count]
    return longer


class _Sweeper:
    """What both forms share: the order of the rows, the count of mistakes, the record of moves.

    Parameters
    ----------
    labels : array of int
        Class of each row; 0 and 1 with one output.
    outputs : int
        1 for two classes, else their number.
    rule : Rule
        The update.
    order : array of int
        Rows to visit, in this order unless `random` shuffles them before each sweep.
    random : Generator or None
        Shuffles.
    seen : int
        Rows seen before, by earlier calls.
    keep_moves : bool
        Whether to record every move.
    importance : array or None
        What each row's amount is multiplied by; None for ones.
    """

    def __init__(
        self,
        labels: Ids,
        outputs: int,
        rule: Rule,
        *,
        order: Ids,
        random: np.random.Generator | None = None,
        seen: int = 0,
        keep_moves: bool = False,
        importance: Vector | None = None,
    ) -> None:
        self.importance = importance
        self.labels, self.outputs, self.rule = labels, outputs, rule
        self.order, self.random, self.seen = order, random, seen
        self.rows = int(order.size)
        self.mistakes = self.moved = 0
        self.alpha = np.zeros(labels.size)
        self.scale = np.array([1.0, 0.0, float(seen)])  # of the weights; squared norm; clock
        self.moves = Moves() if keep_moves else None
        self.pause: Callable[[], None] = _nothing

    def _new_log(self, room: int) -> None:
        self._row, self._rival, self._time = np.empty((3, room), dtype=np.int64)
        self._amount = np.empty(room)

    def _open(
        self, labels: Ids, importance: Vector | None, weights: Vector, second: Vector | None
    ) -> Any:
        rule = self.rule
        return _core.learner(
            int(rule.kind), rule.rate, self.outputs, rule.offset, rule.constant, rule.batch,
            rule.project, labels, importance, weights, second, self.scale,
            self._row, self._rival, self._amount, self._time,
        )  # fmt: skip

    def _record(self, moves: int, rows: Ids) -> None:
        """Add the last call's moves to alpha and to the record; `rows` numbers its rows."""
        row, amount = rows[self._row[:moves]], self._amount[:moves]
        self.alpha[row] += amount  # no row occurs twice within a part
        self.moved += moves
        if self.moves is not None:
            self.moves.add(row, self._rival[:moves], amount, self._time[:moves])

    def sweep(self) -> int:
        """Visit every row once, moving the weights; return the number of mistakes."""
        order = self.order if self.random is None else self.random.permutation(self.order)
        before = self.mistakes
        for part in self._parts(order):
            self.pause()
            self._visit(part)
        return self.mistakes - before

    def _parts(self, order: Ids) -> Iterator[Ids]:
        raise NotImplementedError

    def _visit(self, part: Ids) -> None:
        raise NotImplementedError

    def _total(self, last: Vector, second: Vector) -> Vector:
        """Return the sum of the weights after each row seen so far."""
        return last * self.scale[2] - second

    @property
    def total(self) -> Vector:
        """The sum of the weights, or coefficients, after each row seen so far."""
        raise NotImplementedError

    @property
    def average(self) -> Vector:
        """The mean of the weights, or coefficients, after each row seen so far."""
        return self.total / max(1, self.seen)


class LinearLearner(_Sweeper):
    """Weights of features; implements ``SweepOperations``.

    Parameters
    ----------
    X : C-contiguous array or CSR matrix
        Rows.
    weights, second : array of shape (features + 1, outputs), optional
        Where to begin; kept up to date in place. The last row belongs to the constant feature.
    **sweeper
        Of the base.
    """

    def __init__(
        self, X: Any, labels: Ids, outputs: int, rule: Rule, *, weights: Vector | None = None,
        second: Vector | None = None, **sweeper: Any,
    ) -> None:  # fmt: skip
        super().__init__(labels, outputs, rule, **sweeper)
        X = X if is_sparse(X) else np.ascontiguousarray(X)
        shape = (X.shape[1] + 1, outputs)
        winnow = rule.kind in (RuleKind.WINNOW, RuleKind.BALANCED_WINNOW)
        start = 1.0 if rule.kind is RuleKind.WINNOW else 0.0
        self.weights = np.full(shape, start) if weights is None else weights
        self.second = second
        if second is None and (winnow or rule.averaged):
            self.second = np.zeros(shape)
        self._X, self._opened = X, open_rows(X)
        entries = X.nnz / max(1, X.shape[0]) if is_sparse(X) else X.shape[1]
        size = max(64, int(ENTRIES_AT_ONCE / max(1.0, entries * outputs)))
        self._size = -(-size // rule.batch) * rule.batch
        self._new_log(min(self._size, self.rows))
        flat = None if self.second is None else self.second.reshape(-1)
        self._learner = self._open(labels, self.importance, self.weights.reshape(-1), flat)

    def _parts(self, order: Ids) -> Iterator[Ids]:
        for first in range(0, order.size, self._size):
            yield order[first : first + self._size]

    def _visit(self, part: Ids) -> None:
        moves, mistakes = _core.sweep(self._opened, self._learner, part, float(self.seen))
        self.seen += part.size  # before the moves are recorded: none is later than all rows seen
        self.mistakes += mistakes
        self._record(moves, np.arange(self.labels.size))

    @property
    def total(self) -> Vector:
        """The sum of the weights after each row seen so far."""
        assert self.second is not None
        return self._total(self.weights, self.second)


class KernelLearner(_Sweeper):
    """Coefficients of rows, the dual form; implements ``SweepOperations``.

    A block of rows is judged at once: its scores from all coefficients before, and its own kernel
    matrix, from which the core goes through the block row by row. So no row waits for another
    row's kernel values, and memory stays small.

    Parameters
    ----------
    data : CpuKernelData
        Rows and kernel.
    coefficients, second : array of shape (rows, outputs), optional
        Where to begin; kept up to date in place.
    **sweeper
        Of the base.
    """

    def __init__(
        self, data: CpuKernelData, labels: Ids, outputs: int, rule: Rule, *,
        coefficients: Vector | None = None, second: Vector | None = None, **sweeper: Any,
    ) -> None:  # fmt: skip
        super().__init__(labels, outputs, rule, **sweeper)
        shape = (data.rows, outputs)
        self.coefficients = np.zeros(shape) if coefficients is None else coefficients
        self.second = np.zeros(shape) if second is None else second
        self.data = data
        self._size = -(-BLOCK // rule.batch) * rule.batch
        self._new_log(self._size)
        self._gram: Vector | None = None
        if data.rows <= GRAM_ROWS:
            self._gram = self._block(np.arange(data.rows))

    def _block(self, ids: Ids) -> Vector:
        """Return the kernel matrix of some rows, the constant feature included."""
        square = np.empty((ids.size, _core.padded(ids.size)))
        self.data.source.square_into(ids, square)
        return np.ascontiguousarray(square[:, : ids.size]) + self.rule.constant**2

    def _parts(self, order: Ids) -> Iterator[Ids]:
        for first in range(0, order.size, self._size):
            yield order[first : first + self._size]

    def _visit(self, part: Ids) -> None:
        if self._gram is None:
            base, gram = self._scores(part), self._block(part)
        else:
            base, gram = self._gram[part] @ self.coefficients, self._gram[np.ix_(part, part)]
        weights, second = np.zeros((2, part.size, self.outputs))
        importance = None if self.importance is None else self.importance[part]
        learner = self._open(self.labels[part], importance, weights.reshape(-1), second.reshape(-1))
        moves, mistakes = _core.sweep_block(
            learner, base + self.rule.offset, gram, float(self.seen)
        )
        self.seen += part.size  # before the moves are recorded: none is later than all rows seen
        self.mistakes += mistakes
        self.coefficients[part] += weights
        self.second[part] += second
        self._record(moves, part)

    def _scores(self, ids: Ids) -> Vector:
        return self._sums(ids, self.coefficients)

    def _sums(self, ids: Ids, coefficients: Vector) -> Vector:
        """Return the outputs of some rows by any coefficients."""
        support = np.flatnonzero(coefficients.any(axis=1))
        result = np.zeros((ids.size, coefficients.shape[1]))
        if not support.size:
            return result
        weights = np.ascontiguousarray(coefficients[support].T)
        source = self.data.source.restrict(support)
        for first in range(0, ids.size, BLOCK):
            self.pause()
            part = slice(first, first + BLOCK)
            result[part] = source.sums(ids[part], weights, whole(support.size))[:, 0]
        return result + self.rule.constant**2 * weights.sum(axis=1)

    def product(self, coefficients: Vector) -> Vector:
        """Return the kernel matrix, the constant feature included, times coefficients."""
        if self._gram is not None:
            return self._gram @ coefficients
        return self._sums(np.arange(self.data.rows), coefficients)

    @property
    def total(self) -> Vector:
        """The sum of the coefficients after each row seen so far."""
        return self._total(self.coefficients, self.second)


def vote(
    block: Callable[[slice], Vector], rows: int, moves: tuple[Ids, Ids, Ids, Vector, Vector],
    outputs: int, threads: int,
) -> Vector:  # fmt: skip
    """Return the survival of the intermediate machines that chose each class, for each row.

    Parameters
    ----------
    block : callable
        Gives the kernel values between some rows and the columns that the moves name.
    rows : int
        Number of rows.
    moves : arrays
        Column, winner, loser, amount and survival of each move, in order.
    outputs : int
        1 for two classes, else their number.
    threads : int
        Threads to use.
    """
    votes = np.zeros((rows, max(2, outputs)))
    columns = max(1, moves[0].size)
    step = max(1, min(BLOCK, VOTES_AT_ONCE // (columns * outputs)))
    for first in range(0, rows, step):
        part = slice(first, min(first + step, rows))
        kernel = np.ascontiguousarray(block(part), dtype=np.float64)
        _core.vote(kernel, *moves, outputs, votes[part], threads)
    return votes


def _nothing() -> None:
    """Do nothing between parts."""
