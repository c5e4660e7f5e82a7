"""Sums of kernel values over support vectors, for any rows: what prediction computes.

One blocked pass over the union of all support vectors serves every machine at once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import Kernel
from .sources import NativeSource, is_sparse, open_rows, row_parts, self_similarity

__all__ = ["Expansion"]

Vector = NDArray[np.float64]

MANY_WEIGHTS = 1 << 26  # weights of a linear kernel that are computed however few entries they have
WEIGHTS_FOR_ENTRY = 64  # or so many for each entry of a vector
VALUES_AT_ONCE = 1 << 26  # kernel values computed between two looks at the keyboard


class Expansion:
    """Weighted sums over support vectors.

    Parameters
    ----------
    vectors : array, CSR matrix, list of objects or None
        The support vectors; None if kernel values are given instead of rows.
    kernel : Kernel or None
        Kernel with numeric parameters.
    weights : array of shape (outputs, vectors)
        Coefficients.
    group_starts : array of int
        Bounds of the groups of vectors that have sums of their own, 0 first and their number last.
    threads : int
        Threads to use.
    pack : bool
        Whether to prepare the vectors for the compiled core.
    linear : array of shape (groups, outputs, features) or None
        The sums over vectors of a linear kernel, where they are known better than by adding up.
    """

    def __init__(
        self,
        vectors: Any,
        kernel: Kernel | None,
        weights: Vector,
        group_starts: NDArray[np.int64],
        threads: int,
        pack: bool = True,
        linear: Vector | None = None,
    ) -> None:
        self.vectors, self.kernel, self.threads = vectors, kernel, threads
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.group_starts = np.ascontiguousarray(group_starts, dtype=np.int64)
        self.linear = linear
        self.source: NativeSource | None = None
        spec = None if kernel is None else kernel.native()
        if linear is not None or kernel is None or spec is None or self.weights.shape[1] == 0:
            return
        if spec.kind.name == "LINEAR" and self._is_worth_weights():
            self.linear = self._primal_weights()
            return
        if not pack:
            return
        self.source = NativeSource(
            vectors,
            spec,
            kernel=kernel,
            dtype=np.float64 if vectors.dtype == np.float64 else np.float32,
            threads=threads,
            pack_limit=1 << 62,
        )
        self.source.panels  # noqa: B018  packed now, so that predicting changes nothing

    def _is_worth_weights(self) -> bool:
        """Whether one weight for each feature needs less than memory for a few entries each."""
        weights = self.vectors.shape[1] * self.weights.shape[0] * (self.group_starts.size - 1)
        entries = self.vectors.nnz if is_sparse(self.vectors) else self.vectors.size
        return bool(weights <= max(MANY_WEIGHTS, WEIGHTS_FOR_ENTRY * entries))

    def _primal_weights(self) -> Vector:
        """Return, for a linear kernel, w of each group and output: shape (groups, outputs, d)."""
        bounds = zip(self.group_starts[:-1], self.group_starts[1:], strict=True)
        return np.stack([np.asarray(self.weights[:, a:b] @ self.vectors[a:b]) for a, b in bounds])

    def sums(self, X: Any) -> Vector:
        """Return the sums for each row of `X`, shape (rows, groups, outputs)."""
        groups, outputs = self.group_starts.size - 1, self.weights.shape[0]
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if self.weights.shape[1] == 0:
            return np.zeros((rows, groups, outputs))
        if self.linear is not None:
            flat = self.linear.reshape(groups * outputs, -1)
            return np.asarray(X @ flat.T).reshape(rows, groups, outputs)
        result = np.empty((rows, groups, outputs))
        opened = open_rows(X) if self.source is not None else None
        for part in row_parts(rows, self.weights.shape[1], VALUES_AT_ONCE):
            if self.source is not None:
                ids = np.arange(part.start, part.stop)
                result[part] = self.source.sums_of(opened, ids, self.weights, self.group_starts)
            else:
                block = X[part] if self.kernel is None else self.kernel(X[part], self.vectors)
                result[part] = self._sums_of_block(np.asarray(block, dtype=np.float64))
        return result

    def _sums_of_block(self, block: Vector) -> Vector:
        bounds = zip(self.group_starts[:-1], self.group_starts[1:], strict=True)
        return np.stack([block[:, a:b] @ self.weights[:, a:b].T for a, b in bounds], axis=1)

    def self_similarity(self, X: Any) -> Vector:
        """Return k(z, z) for each row of `X`."""
        if self.kernel is None:
            raise ValueError(
                "the kernel of a row with itself is not part of a precomputed matrix; "
                "bounds on decisions need the rows and a kernel object"
            )
        return self_similarity(self.kernel, X)
