"""``estimate_cost``: what a fit will take, from fits of small parts of the data."""

import time
import tracemalloc
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ..backends.cpu import CpuKernelData

__all__ = ["CostEstimate", "CostMixin"]

SHARE = 4  # the larger part has one row in so many
LEAST_ROWS = 3000  # of the larger part, so that it is solved as all rows are
WHOLE, BLOCK = 3072, 2048  # up to so many variables at once; else blocks of so many
KERNEL_VALUE = 4  # bytes
SHORT, TRIES = 0.1, 3  # so short a fit, in seconds, is timed so often


@dataclass(frozen=True)
class CostEstimate:
    """What a fit is expected to take.

    Attributes
    ----------
    seconds : float
        Time on this machine, with the estimator's ``n_jobs``.
    memory : int
        Bytes beyond the data, of the computer; those of a GPU are not told.
    support_vectors : int
        Rows in the model; predicting takes time in proportion.
    rows_tried : int
        Rows of the largest part that was fitted to find out.
    """

    seconds: float
    memory: int
    support_vectors: int
    rows_tried: int


@dataclass(frozen=True)
class _Trial:
    """A fit of a part: seconds, support vectors, and bytes by what they grow with."""

    rows: int
    seconds: float
    support: int
    kernel_bytes: int  # kernel rows, which grow with rows x support vectors
    packed_bytes: int  # packed rows
    block: int  # variables of the largest block
    side_by_side: int  # machines solved at the same time


class CostMixin:
    """Time and memory of a kernel machine before it is fitted."""

    def estimate_cost(self: Any, X: Any, y: Any = None) -> CostEstimate:
        """Estimate time and memory of ``fit(X, y)`` from fits of a fourth and an eighth of it.

        Support vectors are taken to grow by the power of the rows that the two fits show, and the
        time beyond what does not depend on the rows by one power more: each support vector meets
        each row. It takes some percent of the time of the fit, all of it where rows are few, and is
        within a factor of two on the sets of the benchmarks; data with an order in them (time, for
        instance) are tried evenly.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; with ``kernel="precomputed"`` their kernel matrix.
        y : array-like of shape (n_samples,), default=None
            Labels or targets; detectors need none.

        Returns
        -------
        CostEstimate
            Seconds, bytes and support vectors. The estimator itself is not fitted.
        """
        rows = _num_samples(X)
        larger = min(rows, max(rows // SHARE, LEAST_ROWS))
        small, large = (_tried(self, X, y, size) for size in (max(2, larger // 2), larger))
        return _extrapolated(small, large, _bytes_of_rows(self, X, y, small.rows), rows)


def _part(estimator: Any, X: Any, y: Any, size: int) -> tuple[Any, Any]:
    """Return that many of the rows, spread evenly over the targets, and their targets."""
    rows = _num_samples(X)
    order = np.arange(rows) if y is None else np.argsort(np.asarray(y), kind="stable")
    chosen = np.sort(order[np.arange(size) * rows // size])
    part = _safe_indexing(X, chosen)
    if isinstance(estimator.kernel, str) and estimator.kernel == "precomputed":
        part = np.asarray(part)[:, chosen]
    return part, None if y is None else np.asarray(y)[chosen]


def _tried(estimator: Any, X: Any, y: Any, size: int) -> _Trial:
    part, targets = _part(estimator, X, y, size)
    seconds: list[float] = []
    while len(seconds) < TRIES and sum(seconds) < SHORT:
        began = time.perf_counter()
        trial, data = _fitted(estimator, part, targets)
        seconds.append(time.perf_counter() - began)
    if not isinstance(data, CpuKernelData):
        return _Trial(size, min(seconds), trial.support_.size, 0, 0, 0, 0)
    kernel_bytes, packed_bytes = data.held()
    source = trial._expansion.source
    packed_bytes += 0 if source is None else source.nbytes
    blocks = data.block_sizes
    beside = min(len(blocks), data.threads)
    support = trial.support_.size
    return _Trial(size, min(seconds), support, kernel_bytes, packed_bytes, max(blocks), beside)


def _bytes_of_rows(estimator: Any, X: Any, y: Any, size: int) -> int:
    """Return the most that NumPy and Python hold at once while they fit that many rows."""
    part, targets = _part(estimator, X, y, size)
    tracemalloc.start()
    try:
        _fitted(estimator, part, targets)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _fitted(estimator: Any, X: Any, y: Any) -> tuple[Any, CpuKernelData]:
    """Return a fitted copy, and the backend's data that it was fitted on."""
    trial = clone(estimator).set_params(verbose=False, callback=None, warm_start=False)
    opened: list[CpuKernelData] = []
    open_data = trial._open

    def open_and_keep(*arguments: Any) -> Any:
        data = open_data(*arguments)
        opened.append(data.rows)
        return data

    trial._open = open_and_keep
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trial.fit(X, y)
    return trial, opened[0]


def _extrapolated(small: _Trial, large: _Trial, row_bytes: int, rows: int) -> CostEstimate:
    """Continue a + b n^p in seconds, and the growth of support vectors and memory."""
    times, ratio = rows / large.rows, large.rows / small.rows
    growth = np.log(max(large.support, 1) / max(small.support, 1)) / np.log(ratio)
    growth = float(np.clip(growth, 0.0, 1.0))
    power = 1.0 + growth
    slope = max(large.seconds - small.seconds, 0.0) / (ratio**power - 1.0)
    slope = slope or large.seconds / ratio**power
    rest = max(0.0, large.seconds - slope * ratio**power)
    memory = large.kernel_bytes * times**power + large.packed_bytes * times
    whole = large.block * times
    memory += KERNEL_VALUE * (BLOCK**2 if whole > WHOLE else large.side_by_side * whole**2)
    return CostEstimate(
        seconds=rest + slope * (rows / small.rows) ** power,
        memory=int(memory + row_bytes * rows / small.rows),
        support_vectors=int(large.support * times**growth),
        rows_tried=large.rows,
    )
