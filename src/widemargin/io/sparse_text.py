"""Parsing LIBSVM and SVMlight text into growing arrays, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from .sources import TextBlocks

__all__ = ["SparseText", "TextOptions", "block_bytes"]

LARGEST_NARROW = np.iinfo(np.int32).max
NUMPY_HUGE_PAGES = 1 << 22  # bytes of an array from which numpy asks the system for huge pages
WORTH_HUGE_PAGES = 1 << 20  # below it the pages are few; what is not used is given back at the end
LONGEST_WORD = 40  # characters of a bad word to show
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

HINTS = {
    "the row has no label before its first index:value pair": (
        "each line begins with its label; write 0 where there is none"
    ),
    "the label is not a number": "several labels need multilabel=True; names must be numbered",
    "the label is not finite": "non_finite=True keeps it",
    "the value is not finite": "non_finite=True keeps it",
    "index 0 in a file whose indices begin at 1": "zero_based=True reads it",
    "indices must rise from entry to entry of a row": "sort them and merge repeated ones",
}


@dataclass(frozen=True)
class TextOptions:
    """How to read text, and what beside rows and labels to keep.

    Attributes
    ----------
    dtype : numpy.dtype
        float32 or float64.
    zero_based : bool or "auto"
        Whether the first column has index 0; "auto": if index 0 occurs.
    multilabel : bool
        Whether rows have any number of labels, separated by commas.
    labels : int
        Otherwise how many numbers stand at the start of each row.
    non_finite : bool
        Whether nan and inf are read.
    query_id, slack_id, cost, comments : bool
        What to keep.
    threads : int
        Threads to use.
    """

    dtype: Any = np.float64
    zero_based: bool | str = "auto"
    multilabel: bool = False
    labels: int = 1
    non_finite: bool = False
    query_id: bool = False
    slack_id: bool = False
    cost: bool = False
    comments: bool = False
    threads: int = 1

    @property
    def shift(self) -> int:
        """What is taken off each index while reading."""
        return 0 if self.zero_based is True else 1


class _Column:
    """An array that grows at its end."""

    def __init__(self, dtype: Any) -> None:
        self.array: NDArray[Any] = np.empty(0, dtype)
        self.used = 0

    def room(self, count: int, estimate: int) -> NDArray[Any]:
        """Return the place behind what is used; the whole may be estimated better than doubled."""
        need = self.used + count
        if need > self.array.size:
            size = max(need, estimate, self.array.size + self.array.size // 2)
            if self.used:
                # Copies nothing where the system can map memory elsewhere. No view outlives a block
                self.array.resize(size, refcheck=False)
            else:
                width = self.array.dtype.itemsize
                if size * width >= WORTH_HUGE_PAGES:
                    size = max(size, NUMPY_HUGE_PAGES // width)
                self.array = np.empty(size, self.array.dtype)
        return self.array[self.used : need]

    def widen(self) -> None:
        """Turn 32-bit into 64-bit integers."""
        self.array = self.array.astype(np.int64)

    def finish(self) -> NDArray[Any]:
        self.array.resize(self.used, refcheck=False)
        return self.array


class SparseText:
    """Rows read so far.

    Parameters
    ----------
    options : TextOptions
        How to read.
    name : str
        What to call the source in messages.
    """

    def __init__(self, options: TextOptions, name: str, first_line: int = 1) -> None:
        self.options, self.name, self.line = options, name, first_line
        self.rows = 0
        self.lowest = self.highest = -1
        self.values = _Column(options.dtype)
        self.columns = _Column(np.int32)
        self.row_ends = _Column(np.int64)
        self.labels = _Column(np.float64)
        self.label_ends = _Column(np.int64) if options.multilabel else None
        self.query_id = _Column(np.int64) if options.query_id else None
        self.slack_id = _Column(np.int64) if options.slack_id else None
        self.cost = _Column(np.float64) if options.cost else None
        self.comments: list[str] = []

    def read(self, blocks: TextBlocks, expected: int | None = None) -> None:
        """Append all rows of the blocks, of which `expected` bytes are to come."""
        done = 0
        for size in blocks:
            done += size
            self.append(blocks.buffer, size, 1.0 if expected is None else expected / done)

    def append(self, buffer: bytearray, size: int, growth: float = 1.0) -> None:
        """Append the rows of a block, which is 1 / `growth` of what has been seen and will be."""
        if self.line == 1 and buffer.startswith(BYTE_ORDER_MARK):
            buffer[: len(BYTE_ORDER_MARK)] = b" " * len(BYTE_ORDER_MARK)
        text = _core.text(np.frombuffer(buffer, np.uint8, size), self.options.threads)
        if not self._parse(text, buffer, size, growth):
            self.columns.widen()
            self._parse(text, buffer, size, growth)
        self.line += text.totals[0]

    def _parse(self, text: Any, buffer: bytearray, size: int, growth: float) -> bool:
        """Parse a block; return False if an index needs 64 bits."""
        options = self.options
        lines, colons, commas = text.totals

        def room(column: _Column, count: int) -> NDArray[Any]:
            return column.room(count, int(1.02 * growth * (column.used + count)))

        def wanted(column: _Column | None) -> NDArray[Any] | None:
            return None if column is None else room(column, lines)

        all_labels = lines + commas if options.multilabel else lines * options.labels
        row_ends = np.empty(lines, self.columns.array.dtype)
        label_ends = wanted(self.label_ends)
        comments = np.empty(2 * lines, np.int64) if options.comments else None
        rows, entries, labels, lowest, highest, fault, place, wide = text.parse(
            room(self.values, colons),
            room(self.columns, colons),
            row_ends,
            room(self.labels, all_labels),
            label_ends,
            wanted(self.query_id),
            wanted(self.slack_id),
            wanted(self.cost),
            comments,
            width=options.labels,
            non_finite=options.non_finite,
            zero_based=options.zero_based is not False,
            shift=options.shift,
            threads=options.threads,
        )
        if wide and self.columns.array.dtype != np.int64:
            return False
        if fault:
            raise ValueError(self._complaint(buffer[:size], fault, place))
        np.add(row_ends[:rows], self.values.used, out=room(self.row_ends, rows))
        if label_ends is not None:
            label_ends[:rows] += self.labels.used
        if comments is not None:
            self._keep_comments(buffer, comments[: 2 * rows])
        self._advance(rows, entries, labels)
        if lowest >= 0:
            self.lowest = lowest if self.lowest < 0 else min(self.lowest, lowest)
        self.highest = max(self.highest, highest)
        return True

    def forget(self) -> None:
        """Forget the rows, but not which indices occurred."""
        self.rows = 0
        self.comments = []
        for column in (self.values, self.columns, self.labels, *self._per_row()):
            column.used = 0

    def _per_row(self) -> list[_Column]:
        every = (self.row_ends, self.label_ends, self.query_id, self.slack_id, self.cost)
        return [column for column in every if column is not None]

    def _advance(self, rows: int, entries: int, labels: int) -> None:
        self.rows += rows
        self.values.used += entries
        self.columns.used += entries
        self.labels.used += labels
        for column in self._per_row():
            column.used += rows

    def _keep_comments(self, buffer: bytearray, bounds: NDArray[np.int64]) -> None:
        pairs = bounds.reshape(-1, 2).tolist()
        self.comments += [buffer[a:b].decode("utf-8", "replace") for a, b in pairs]

    def _complaint(self, text: bytearray, fault: str, place: int) -> str:
        line = self.line + text.count(b"\n", 0, place)
        column = place - text.rfind(b"\n", 0, place)
        word = bytes(text[place : place + LONGEST_WORD]).split(b"\n")[0].split()
        found = f", found {word[0].decode('utf-8', 'replace')!r}" if word else ""
        hint = f"; {HINTS[fault]}" if fault in HINTS else ""
        return f"{self.name}, line {line}, column {column}: {fault}{found}{hint}"

    # --- what was read -----------------------------------------------------------------------

    @property
    def zero_based(self) -> bool:
        """Whether the first column had index 0."""
        if isinstance(self.options.zero_based, bool):
            return self.options.zero_based
        return self.highest < 0 or self.lowest == 0

    @property
    def features(self) -> int:
        """Columns that the entries need; at least one, as in scikit-learn."""
        return max(1, self.highest + self.zero_based)

    def matrix(self, n_features: int | None = None) -> Any:
        """Return all rows as a CSR matrix; the arrays are its own from then on."""
        if n_features is not None and n_features < self.features:
            raise ValueError(
                f"{self.name} has index {self.highest}, so {self.features} columns, but "
                f"n_features={n_features}; give at least {self.features} or leave it out"
            )
        width = self.features if n_features is None else n_features
        values, columns = self.values.finish(), self.columns.finish()
        row_ends = self.row_ends.finish()
        if self.options.shift == 1 and self.zero_based:
            columns += 1
        large = max(values.size, width) > LARGEST_NARROW or columns.dtype == np.int64
        index = np.int64 if large else np.int32
        starts: NDArray[Any] = np.zeros(self.rows + 1, index)
        starts[1:] = row_ends
        parts: Any = (values, columns.astype(index, copy=False), starts)
        matrix: Any = sp.csr_matrix(parts, shape=(self.rows, width))
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def targets(self) -> Any:
        """Return labels: one array, rows of several numbers, or a list of sorted tuples."""
        labels = self.labels.finish()
        if self.label_ends is None:
            return labels if self.options.labels == 1 else labels.reshape(self.rows, -1)
        every, ends = labels.tolist(), [0, *self.label_ends.finish().tolist()]
        return [tuple(sorted(every[a:b])) for a, b in pairwise(ends)]

    def extras(self) -> Iterator[Any]:
        """Yield what else was asked for, in the order of the options."""
        for column in (self.query_id, self.slack_id, self.cost):
            if column is not None:
                yield column.finish()
        if self.options.comments:
            yield self.comments


def block_bytes(threads: int) -> int:
    """Return how much text to parse at a time."""
    return (8 << 20) * min(8, max(1, threads))
