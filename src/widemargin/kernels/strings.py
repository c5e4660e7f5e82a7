"""Kernels on strings."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from .base import FloatArray, Kernel, Rows

__all__ = ["Spectrum"]


@dataclass(repr=False)
class Spectrum(Kernel):
    """Inner product of how often each substring of a given length occurs in two strings.

    Prefer it for sequences without a common alignment: proteins, DNA, short texts, log lines.

    A string shorter than `length` is similar to nothing.

    k(s, t) = sum_u count_u(s) count_u(t) over all u of `length` letters, divided by
    sqrt(k(s, s) k(t, t)) if normalised.

    Parameters
    ----------
    length : int
        Letters in a substring; longer ones are more specific and match more rarely.
    normalize : bool
        Whether long strings shall weigh no more than short ones.

    Notes
    -----
    Cost: one dictionary access per letter, then one product of sparse matrices of counts.

    References
    ----------
    leslie2002: C. Leslie, E. Eskin, W. Noble, The spectrum kernel: a string kernel for SVM protein
    classification, 2002.

    Examples
    --------
    >>> from widemargin.kernels import Spectrum
    >>> Spectrum(length=2, normalize=False)(["banana"], ["ananas", "b"])
    array([[8., 0.]])
    """

    length: int = 3
    normalize: bool = True

    accepts_objects = True

    def validate(self) -> None:
        """Require a whole length from 1 and a truth value."""
        whole = isinstance(self.length, Integral) and not isinstance(self.length, bool)
        if not whole or self.length < 1:
            raise ValueError(f"Spectrum: length must be an integer from 1, found {self.length!r}.")
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise ValueError(
                f"Spectrum: normalize must be True or False, found {self.normalize!r}."
            )

    def __call__(self, A: Rows, B: Rows) -> FloatArray:
        """Return the block of kernel values between the strings of `A` and of `B`."""
        columns: dict[str, int] = {}
        counts_a = self._counts(A, "A", columns)
        counts_b = counts_a if B is A else self._counts(B, "B", columns)
        # Only now is the number of different substrings known.
        for counts in (counts_a, counts_b):
            counts.resize(counts.shape[0], len(columns))
        block: FloatArray = (counts_a @ counts_b.T).toarray()
        if self.normalize:
            # 1 for a norm of 0, whose row of the block is 0 anyway.
            norm_a, norm_b = (np.maximum(_squared_norms(c), 1) for c in (counts_a, counts_b))
            block /= np.sqrt(norm_a[:, None] * norm_b)
        return block

    def diagonal(self, A: Rows) -> FloatArray:
        """Return k(s, s) for each string s of `A`."""
        norms = _squared_norms(self._counts(A, "A", {}))
        return (norms > 0).astype(np.float64) if self.normalize else norms

    def _counts(self, strings: Sequence[str], name: str, columns: dict[str, int]) -> Any:
        """Return the CSR matrix of counts, entering new substrings in `columns`."""
        if isinstance(strings, str):
            raise ValueError(f"Spectrum: {name} must be a list of strings, found a single string.")
        length = int(self.length)
        places: list[int] = []
        ends = [0]
        for row, string in enumerate(strings):
            if not isinstance(string, str):
                found = type(string).__name__
                raise ValueError(f"Spectrum: {name}[{row}] must be a string, found {found}.")
            places += [
                columns.setdefault(string[i : i + length], len(columns))
                for i in range(len(string) - length + 1)
            ]
            ends.append(len(places))
        shape = (len(ends) - 1, len(columns))
        counts = sparse.csr_array((np.ones(len(places)), places, ends), shape=shape)
        counts.sum_duplicates()
        return counts


def _squared_norms(counts: Any) -> FloatArray:
    return np.asarray(counts.power(2).sum(axis=1), dtype=np.float64)
