"""Writing the text format of LIBSVM, LIBLINEAR and SVMlight."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..backends.cpu import is_sparse, thread_count
from ..backends.cpu.sources import open_rows
from .atomic import open_target

__all__ = ["RowText", "dump_svmlight", "row_blocks"]

ENTRIES_AT_ONCE = 1 << 19  # entries between two looks at the keyboard


def dump_svmlight(
    X: Any,
    y: Any,
    target: "str | os.PathLike[str] | Any",
    *,
    zero_based: bool = False,
    multilabel: bool = False,
    query_id: Any = None,
    slack_id: Any = None,
    cost: Any = None,
    comments: Sequence[str] | None = None,
    digits: int | None = None,
    zeros: bool = False,
    non_finite: bool = False,
    n_jobs: int | None = None,
) -> None:
    """Write rows and labels as text that LIBSVM, LIBLINEAR and SVMlight read.

    Numbers are written with as few digits as read back as the same number. A path is written
    whole or not at all.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The rows. Of a sparse matrix all stored entries are written, of an array those not zero.
    y : array-like of shape (n_rows,)
        Labels: numbers. With `multilabel` a sequence of numbers for each row, or an array of 0 and
        1 of shape (n_rows, n_labels) that stands for the numbers of its columns.
    target : str, os.PathLike or file object
        A path, compressed if it ends in .gz, .bz2, .xz or .zst; or an object opened in binary mode.
    zero_based : bool, default=False
        Begin indices at 0. The programs want 1; scikit-learn writes 0 by default.
    multilabel : bool, default=False
        Write several labels for each row, separated by commas.
    query_id, slack_id : array-like of int, default=None
        Numbers to write behind ``qid:`` and ``sid:``.
    cost : array-like of float, default=None
        Numbers to write behind ``cost:``.
    comments : sequence of str, default=None
        What to write behind ``#`` at the end of each row; nothing where empty.
    digits : int, default=None
        Significant digits of all numbers, 1 to 17; None for as many as needed.
    zeros : bool, default=False
        Write the zeros of an array too, as LIBSVM wants precomputed kernel values.
    non_finite : bool, default=False
        Write nan and inf, which few programs read; by default they are errors.
    n_jobs : int, default=None
        Threads; None means every core the process may use.

    See Also
    --------
    load_svmlight : Reads the format.

    Examples
    --------
    >>> import io
    >>> from widemargin import dump_svmlight
    >>> file = io.BytesIO()
    >>> dump_svmlight([[0.5, 0], [0, 1e-7]], [1, -1], file)
    >>> print(file.getvalue().decode(), end="")
    1 1:0.5
    -1 2:1e-07
    """
    if digits is not None and not (isinstance(digits, int) and 1 <= digits <= 17):
        raise ValueError(f"digits must be a whole number from 1 to 17 or None, found {digits!r}")
    X = _matrix(X, non_finite)
    rows = X.shape[0]
    text = RowText(
        *_labels(y, rows, multilabel, non_finite),
        query_id=_per_row("query_id", query_id, rows, np.int64),
        slack_id=_per_row("slack_id", slack_id, rows, np.int64),
        cost=_per_row("cost", cost, rows, np.float64),
    )
    if comments is not None:
        comments = _checked_comments(comments, rows)
    threads = thread_count(n_jobs)
    with open_target(target) as file:
        for first, block in row_blocks(X, text, 0 if zero_based else 1, digits, zeros, threads):
            file.write(block if comments is None else _commented(block, comments, first))


@dataclass(frozen=True)
class RowText:
    """What is written beside the entries of each row.

    Attributes
    ----------
    labels : array of float64 or int64
        `width` numbers for each row, or as many as `label_ends` tells.
    label_ends : array of int64 or None
        Labels up to the end of each row.
    query_id, slack_id, cost : array or None
        One number for each row.
    width : int
        Numbers at the start of each row.
    """

    labels: NDArray[Any]
    label_ends: NDArray[np.int64] | None = None
    query_id: NDArray[np.int64] | None = None
    slack_id: NDArray[np.int64] | None = None
    cost: NDArray[np.float64] | None = None
    width: int = 1


def row_blocks(
    X: Any, text: RowText, shift: int, digits: int | None, zeros: bool, threads: int
) -> Iterator[tuple[int, bytes]]:
    """Yield the first row and the text of one block of rows after the other.

    Parameters
    ----------
    X : numpy.ndarray or scipy.sparse.csr_matrix
        Rows in float32 or float64.
    text : RowText
        What to write beside the entries.
    shift : int
        What to add to each column.
    digits : int or None
        Significant digits.
    zeros : bool
        Whether to write zeros of an array.
    threads : int
        Threads to use.

    Yields
    ------
    tuple of int and bytes
        Number of the first row, and whole lines.
    """
    opened = open_rows(X)
    entries = X.nnz if is_sparse(X) else X.size
    step = max(1, ENTRIES_AT_ONCE * threads * X.shape[0] // max(1, entries))
    for first in range(0, X.shape[0], step):
        last = min(first + step, X.shape[0])

        def part(array: NDArray[Any] | None, a: int = first, b: int = last) -> Any:
            return None if array is None else array[a:b]

        ends = text.label_ends
        before = 0 if ends is None or first == 0 else int(ends[first - 1])
        if ends is None:
            labels = text.labels[first * text.width : last * text.width]
        else:
            labels = text.labels[before : int(ends[last - 1])]
        whole = labels.dtype.kind == "i"
        yield (
            first,
            _core.write_rows(
                opened,
                first,
                last,
                labels=None if whole else labels,
                whole_labels=labels if whole else None,
                label_ends=None if ends is None else part(ends) - before,
                width=text.width,
                queries=part(text.query_id),
                slacks=part(text.slack_id),
                costs=part(text.cost),
                shift=shift,
                digits=digits or 0,
                zeros=zeros,
                threads=threads,
            ),
        )


def _matrix(X: Any, non_finite: bool) -> Any:
    if is_sparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, found {X.ndim}")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, found dtype {X.dtype}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not non_finite and not np.isfinite(X.data if is_sparse(X) else X).all():
        raise ValueError(
            "X contains nan or inf, which few programs read; non_finite=True writes it"
        )
    return X


def _per_row(name: str, values: Any, rows: int, dtype: Any) -> Any:
    if values is None:
        return None
    array = np.asarray(values)
    kinds = "biu" if np.dtype(dtype).kind == "i" else "biuf"
    if array.shape != (rows,) or array.dtype.kind not in kinds:
        noun = "whole number" if kinds == "biu" else "number"
        raise ValueError(
            f"{name} must hold one {noun} for each of the {rows} rows, "
            f"found shape {array.shape} and dtype {array.dtype}"
        )
    return np.ascontiguousarray(array, dtype=dtype)


def _labels(
    y: Any, rows: int, multilabel: bool, non_finite: bool
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Return labels in one array, and where those of each row end if there may be several."""
    ends = None
    if multilabel:
        lists = [np.atleast_1d(np.asarray(labels)) for labels in _label_lists(y)]
        if len(lists) != rows:
            raise ValueError(f"y has labels for {len(lists)} rows, but X has {rows}")
        ends = np.cumsum([labels.size for labels in lists], dtype=np.int64)
        y = np.concatenate(lists) if lists else np.empty(0)
    labels = np.asarray(y)
    if labels.size == 0:
        labels = np.empty(labels.shape)
    if not multilabel and labels.shape != (rows,):
        raise ValueError(
            f"y must hold one label for each of the {rows} rows, found shape {labels.shape}; "
            "multilabel=True writes several"
        )
    if labels.dtype.kind not in "biuf":
        raise ValueError(
            f"labels must be numbers, found dtype {labels.dtype}; "
            "sklearn.preprocessing.LabelEncoder numbers others"
        )
    if labels.dtype.kind == "f" and not non_finite and not np.isfinite(labels).all():
        raise ValueError("y contains nan or inf; non_finite=True writes it")
    kind: Any = np.float64 if labels.dtype.kind == "f" else np.int64
    return np.ascontiguousarray(labels, dtype=kind), ends


def _label_lists(y: Any) -> Any:
    """Return the labels of each row; columns of an indicator matrix are labels."""
    if is_sparse(y):
        y = y.toarray()
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return [np.flatnonzero(row) for row in y]
    return y


def _checked_comments(comments: Sequence[str], rows: int) -> Sequence[str]:
    if len(comments) != rows:
        raise ValueError(f"comments has {len(comments)} entries, but X has {rows} rows")
    for row, comment in enumerate(comments):
        if "\n" in comment or "\r" in comment:
            raise ValueError(f"comments[{row}] has a line break; a comment must fit in its line")
    return comments


def _commented(block: bytes, comments: Sequence[str], first: int) -> bytes:
    lines = block.split(b"\n")
    for k in range(len(lines) - 1):
        if comment := comments[first + k]:
            lines[k] += b" #" + comment.encode()
    return b"\n".join(lines)
