"""Reading the text format of LIBSVM, LIBLINEAR and SVMlight."""

import os
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..backends.cpu import thread_count
from .sources import PlainBytes, Source, TextBlocks, open_source, source_name
from .sparse_text import SparseText, TextOptions, block_bytes

__all__ = ["iter_svmlight", "load_svmlight"]


def load_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    dtype: Any = np.float64,
    multilabel: bool = False,
    zero_based: bool | str = "auto",
    query_id: bool = False,
    slack_id: bool = False,
    cost: bool = False,
    comments: bool = False,
    non_finite: bool = False,
    n_jobs: int | None = None,
) -> Any:
    r"""Read a file of LIBSVM, LIBLINEAR or SVMlight: a label and ``index:value`` pairs a line.

    Lines may end as on any system, the last one may lack its end, and empty lines and those with
    only a comment are left out. Numbers may have any notation of C. Many threads give the same
    result as one.

    Parameters
    ----------
    source : str, os.PathLike, int or file object
        A path, a file descriptor, or an object opened in binary mode. Compressed data (gzip,
        bzip2, xz, zstd) are recognised by what they begin with, whatever they are called.
    n_features : int, default=None
        Columns of X; by default as many as there are in the file. Give it to read test data with
        the columns of training data.
    dtype : {numpy.float64, numpy.float32}
        Type of the values of X; labels are float64.
    multilabel : bool, default=False
        Rows begin with any number of labels separated by commas.
    zero_based : bool or "auto", default="auto"
        Whether the first column has index 0, or 1. "auto" takes 0 if index 0 occurs.
    query_id, slack_id, cost, comments : bool, default=False
        Also return, in this order, the numbers after ``qid:`` (0 where there is none), ``sid:`` (0)
        and ``cost:`` (1), and what stands behind ``#``.
    non_finite : bool, default=False
        Read nan and inf; by default they are errors, since most learners cannot use them.
    n_jobs : int, default=None
        Threads; None means every core the process may use.

    Returns
    -------
    X : scipy.sparse.csr_matrix of shape (n_rows, n_features)
        The rows, with 32-bit indices where these suffice. Entries written as 0 are kept.
    y : numpy.ndarray of shape (n_rows,) or list of tuples
        Labels; with `multilabel` the sorted labels of each row.
    query_id, slack_id : numpy.ndarray of int64
        Only if asked for.
    cost : numpy.ndarray of float64
        Only if asked for.
    comments : list of str
        Only if asked for; "" where there is none.

    Raises
    ------
    ValueError
        If the text is not in this format; the message tells line, column and what was found.

    See Also
    --------
    iter_svmlight : Reads blocks of rows, for files larger than memory.
    dump_svmlight : Writes the format.

    Examples
    --------
    >>> import io
    >>> from widemargin import load_svmlight
    >>> X, y = load_svmlight(io.BytesIO(b"+1 1:0.5 3:2\n-1 2:1 # the second\n"))
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    >>> y
    array([ 1., -1.])
    """
    threads = thread_count(n_jobs)
    options = TextOptions(
        dtype=_float_type(dtype),
        zero_based=_base(zero_based),
        multilabel=multilabel,
        non_finite=non_finite,
        query_id=query_id,
        slack_id=slack_id,
        cost=cost,
        comments=comments,
        threads=threads,
    )
    _check_features(n_features)
    text = _read(source, options)
    return text.matrix(n_features), text.targets(), *text.extras()


def iter_svmlight(
    source: Source,
    rows_per_block: int = 10_000,
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    dtype: Any = np.float64,
    multilabel: bool = False,
    query_id: bool = False,
    slack_id: bool = False,
    cost: bool = False,
    comments: bool = False,
    non_finite: bool = False,
    n_jobs: int | None = None,
) -> Iterator[Any]:
    r"""Read a file in blocks of rows, with memory for a few blocks and some megabytes of text.

    The blocks one after the other are what `load_svmlight` returns. Where `n_features` or
    `zero_based` is left open, a path is therefore read twice, the first time only to find out.

    Parameters
    ----------
    source : str, os.PathLike, int or file object
        As for `load_svmlight`. Of anything but a path, `n_features` and `zero_based` must be given,
        since it may not be readable twice.
    rows_per_block : int
        Rows of each block but the last.
    n_features : int, default=None
        Columns of X.
    zero_based : bool or "auto", default="auto"
        Whether the first column has index 0, or 1.
    dtype, multilabel, query_id, slack_id, cost, comments, non_finite, n_jobs
        As for `load_svmlight`.

    Yields
    ------
    tuple
        X, y and what else was asked for, as `load_svmlight` returns it.

    Examples
    --------
    >>> import io
    >>> from widemargin import iter_svmlight
    >>> file = io.BytesIO(b"1 1:1\n2 2:1\n3 1:3\n")
    >>> for X, y in iter_svmlight(file, 2, n_features=2, zero_based=False):
    ...     print(X.shape, y)
    (2, 2) [1. 2.]
    (1, 2) [3.]
    """
    if rows_per_block < 1:
        raise ValueError(f"rows_per_block must be at least 1, found {rows_per_block!r}")
    threads = thread_count(n_jobs)
    options = TextOptions(
        dtype=_float_type(dtype),
        zero_based=_base(zero_based),
        multilabel=multilabel,
        non_finite=non_finite,
        query_id=query_id,
        slack_id=slack_id,
        cost=cost,
        comments=comments,
        threads=threads,
    )
    _check_features(n_features)
    if n_features is None or options.zero_based == "auto":
        if not isinstance(source, str | os.PathLike):
            raise ValueError(
                f"give n_features and zero_based=True or False: {source_name(source)} "
                "cannot be read twice to find them out"
            )
        n_features, options = _look_ahead(source, options, n_features)
    return _blocks(source, options, rows_per_block, n_features)


def _float_type(dtype: Any) -> Any:
    found = np.dtype(dtype)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, found {dtype!r}")
    return found


def _base(zero_based: object) -> bool | str:
    if isinstance(zero_based, str) and zero_based == "auto":
        return "auto"
    if isinstance(zero_based, bool | np.bool_):
        return bool(zero_based)
    raise ValueError(f"zero_based must be True, False or 'auto', found {zero_based!r}")


def _check_features(n_features: object) -> None:
    if n_features is not None and not (isinstance(n_features, Integral) and int(n_features) >= 1):
        raise ValueError(f"n_features must be a whole number from 1 or None, found {n_features!r}")


def _read(source: Source, options: TextOptions) -> SparseText:
    text = SparseText(options, source_name(source))
    with open_source(source) as stream:
        size, expected = block_bytes(options.threads), _plain_size(source, stream)
        if expected is not None:
            size = min(size, expected + 1)  # one more, to see that it ends
        text.read(TextBlocks(stream, size), expected)
    return text


def _plain_size(source: Source, stream: Any) -> int | None:
    """Return how many bytes will come, if that is known."""
    if isinstance(source, str | os.PathLike) and isinstance(stream, PlainBytes):
        return os.stat(source).st_size
    return None


def _look_ahead(
    source: Source, options: TextOptions, n_features: int | None
) -> tuple[int, TextOptions]:
    """Read a file only to learn how many columns it has and where indices begin."""
    text = SparseText(options, source_name(source))
    with open_source(source) as stream:
        blocks = TextBlocks(stream, block_bytes(1))
        for size in blocks:
            text.append(blocks.buffer, size)
            text.forget()
    return (
        text.features if n_features is None else n_features,
        replace(options, zero_based=text.zero_based),
    )


def _blocks(
    source: Source, options: TextOptions, rows_per_block: int, n_features: int
) -> Iterator[Any]:
    waiting: list[Any] = []
    line = 1
    with open_source(source) as stream:
        blocks = TextBlocks(stream, block_bytes(1))
        for size in blocks:
            text = SparseText(options, source_name(source), line)
            text.append(blocks.buffer, size)
            line = text.line
            waiting.append((text.matrix(n_features), text.targets(), *text.extras()))
            del text
            if sum(part[0].shape[0] for part in waiting) >= rows_per_block:
                whole: Any = _joined(waiting)
                waiting, first, rows = [], 0, whole[0].shape[0]
                while first + rows_per_block <= rows:
                    block = _rows(whole, first, first + rows_per_block)
                    first += rows_per_block
                    if first + rows_per_block > rows:
                        waiting, whole = [_rows(whole, first, rows)], None
                    yield block
                    del block  # the reader's own by now
    if waiting and (last := _joined(waiting))[0].shape[0]:
        yield last


def _joined(parts: list[Any]) -> tuple[Any, ...]:
    if len(parts) == 1:
        return tuple(parts[0])
    return tuple(_stacked(same) for same in zip(*parts, strict=True))


def _stacked(parts: tuple[Any, ...]) -> Any:
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    if isinstance(parts[0], list):
        return [item for part in parts for item in part]
    return np.concatenate(parts)


def _rows(whole: tuple[Any, ...], first: int, last: int) -> tuple[Any, ...]:
    return tuple(part[first:last] for part in whole)
