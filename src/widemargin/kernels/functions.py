"""Kernels given as a Python function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import FloatArray, Kernel, Rows
from .quantities import as_pair, as_rows, is_sparse

__all__ = ["FunctionKernel"]


@dataclass(repr=False)
class FunctionKernel(Kernel):
    """A function of two blocks of rows, taken as a kernel.

    Prefer it for similarities that are not shipped, also between objects (graphs, time series).
    A function that returns another shape than it should, or values that are not finite, is named in
    one sentence.

    k(A, B) = function(A, B)

    Parameters
    ----------
    function : callable
        Called with `m` and `n` rows, returns their `m` by `n` values; it must be symmetric. Defined
        at the top level of a module, it can be pickled and appears in `repr` by its name.
    accepts_objects : bool
        True: rows reach the function as they are. False: as float32 or float64 array or CSR matrix.
    positive_semidefinite : bool
        Whether the function is known to be an inner product; False lets solvers expect local
        optima.

    Notes
    -----
    Cost: that of the function; the diagonal of `n` rows takes `n` calls with one row each.

    References
    ----------
    shawetaylor2004: J. Shawe-Taylor, N. Cristianini, Kernel Methods for
    Pattern Analysis, 2004, ch. 3.

    Examples
    --------
    >>> from widemargin.kernels import FunctionKernel
    >>> def shared(A, B):
    ...     return [[len(a & b) for b in B] for a in A]
    >>> kernel = FunctionKernel(shared, accepts_objects=True)
    >>> kernel([{"a", "b"}], [{"b"}, {"a", "b", "c"}])
    array([[1., 2.]])
    """

    function: Callable[[Any, Any], Any]
    accepts_objects: bool = False
    positive_semidefinite: bool = True

    def validate(self) -> None:
        """Require something to call and truth values."""
        if not callable(self.function):
            raise ValueError(
                f"FunctionKernel: function must be callable with two blocks of rows, "
                f"found {self.function!r}."
            )
        for name in ("accepts_objects", "positive_semidefinite"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                found = getattr(self, name)
                raise ValueError(f"FunctionKernel: {name} must be True or False, found {found!r}.")

    @property
    def is_positive_semidefinite(self) -> bool:
        """What the author of the function declares."""
        return bool(self.positive_semidefinite)

    def __call__(self, A: Rows, B: Rows) -> FloatArray:
        """Return the checked block that the function computes."""
        if self.accepts_objects:
            return self._block(A, B)
        return self._block(*as_pair(A, B, "FunctionKernel"))

    def diagonal(self, A: Rows) -> FloatArray:
        """Return k(a, a) for each row a of `A`, by one call per row."""
        if not self.accepts_objects:
            A = as_rows(A, "FunctionKernel", "A")
        values = [self._block(row, row)[0, 0] for row in (A[i : i + 1] for i in range(_count(A)))]
        return np.array(values, dtype=_dtype(A, A))

    def _block(self, A: Rows, B: Rows) -> FloatArray:
        result = self.function(A, B)
        name = getattr(self.function, "__qualname__", repr(self.function))
        expected = (_count(A), _count(B))
        try:
            if np.iscomplexobj(result):
                raise TypeError
            block: FloatArray = np.asarray(
                result.toarray() if is_sparse(result) else result, dtype=_dtype(A, B)
            )
        except (TypeError, ValueError):
            raise ValueError(
                f"FunctionKernel: {name} returned {type(result).__name__}, not an array of real "
                f"numbers of shape {expected}."
            ) from None
        if block.shape != expected:
            raise ValueError(
                f"FunctionKernel: {name} returned shape {block.shape} for {expected[0]} and "
                f"{expected[1]} rows, expected {expected}."
            )
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise ValueError(
                f"FunctionKernel: {name} returned {block[row, column]!s} for row {row} of A and "
                f"row {column} of B, expected finite values."
            )
        return block


def _count(rows: Rows) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _dtype(A: Rows, B: Rows) -> Any:
    """Return float32 if both blocks are, else float64."""
    both = getattr(A, "dtype", None) == getattr(B, "dtype", None) == np.float32
    return np.float32 if both else np.float64
