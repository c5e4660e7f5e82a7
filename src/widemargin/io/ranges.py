"""Ranges of columns and how to map them to common ones, kept in files of svm-scale.

A column that holds values from a to b is mapped by l + (u - l) (x - a) / (b - a); a column with one
value carries nothing and becomes zero. The ranges of the training data must be used for test data
too, which is why they have a file of their own ::

    y                       only if targets are scaled
    l u
    a b
    x
    l u
    index a b               one line for each column that varies, the first index being 1
"""

import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import is_sparse
from ..backends.cpu.resources import available_memory
from ..estimators.decision_rule import DecisionRule
from .atomic import open_target
from .sources import Source, open_source, source_name

__all__ = ["Ranges", "scaling_of"]

Vector = NDArray[np.float64]

COPIES = 3  # of all rows, made while they are scaled
WIDEST = 1 << 24  # columns of a file with few lines
SPARSEST = 64  # or so many for each line


@dataclass(frozen=True)
class Ranges:
    """The ranges of columns, and the ones to map them to.

    Attributes
    ----------
    lower, upper : float
        Where columns are mapped to.
    least, largest : array of shape (n_features,)
        Smallest and largest value of each column.
    target : tuple of float or None
        Lower and upper end to map targets to, their smallest and their largest value.
    """

    lower: float
    upper: float
    least: Vector
    largest: Vector
    target: tuple[float, float, float, float] | None = None

    @classmethod
    def of(cls, X: Any, lower: float = -1.0, upper: float = 1.0) -> Self:
        """Return the ranges of the columns of X; what a sparse matrix leaves out is zero."""
        if not lower < upper:
            raise ValueError(f"lower must be below upper, found {lower:g} and {upper:g}")
        if is_sparse(X):
            ends = (np.asarray(X.min(axis=0).todense()), np.asarray(X.max(axis=0).todense()))
            least, largest = (np.asarray(end, dtype=np.float64).ravel() for end in ends)
        else:
            X = np.asarray(X, dtype=np.float64)
            least, largest = X.min(axis=0), X.max(axis=0)
        return cls(lower, upper, least, largest)

    def affine(self, width: int) -> tuple[Vector, Vector, Vector]:
        """Return a, f and l of each of `width` columns: (x - a) f + l is the column mapped.

        Columns that do not vary, or that the ranges do not know, become zero.
        """
        least, factor, start = np.zeros(width), np.zeros(width), np.zeros(width)
        varies = np.flatnonzero(self.largest > self.least)
        if varies.size and varies[-1] >= width:
            raise ValueError(
                f"the ranges are those of {varies[-1] + 1} columns, but the model has {width}"
            )
        least[varies] = self.least[varies]
        factor[varies] = (self.upper - self.lower) / (self.largest[varies] - self.least[varies])
        start[varies] = self.lower
        return least, factor, start

    def apply(self, X: Any) -> Any:
        """Return X with its columns mapped; sparse as long as zeros stay zeros.

        Columns that the ranges do not know become zero.
        """
        known = self.least.size
        width = max(known, X.shape[1])
        factor, shift = np.zeros(width), np.zeros(width)
        varies = np.flatnonzero(self.largest > self.least)
        span = self.largest[varies] - self.least[varies]
        factor[varies] = (self.upper - self.lower) / span
        shift[varies] = self.lower - self.least[varies] * factor[varies]
        if is_sparse(X):
            X = sp.csr_matrix(X)
            X.resize(X.shape[0], width)
            if not shift.any():  # the columns of a row stay in order, as files must have them
                scaled = X.copy()
                scaled.data = X.data * factor[X.indices]
                scaled.eliminate_zeros()
                return scaled
            _check_size(X.shape)
            X = X.toarray()
        elif width > X.shape[1]:
            X = np.pad(X, ((0, 0), (0, width - X.shape[1])))
        # In the order of svm-scale, so that both ends are met exactly.
        part = X[:, varies] - self.least[varies]
        part /= span
        part *= self.upper - self.lower
        part += self.lower
        part[X[:, varies] == self.largest[varies]] = self.upper
        if varies.size == width:
            return part
        result = np.zeros((X.shape[0], width))
        result[:, varies] = part
        return result

    def apply_target(self, y: Vector) -> Vector:
        """Return targets mapped to their range; unchanged if there is none."""
        if self.target is None:
            return y
        lower, upper, least, largest = self.target
        return lower + (upper - lower) * (np.asarray(y) - least) / (largest - least)

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write a file that svm-scale reads."""
        lines = []
        if self.target is not None:
            lower, upper, least, largest = (format(v, ".17g") for v in self.target)
            lines += ["y", f"{lower} {upper}", f"{least} {largest}"]
        lines += ["x", f"{self.lower:.17g} {self.upper:.17g}"]
        for k in np.flatnonzero(self.largest > self.least).tolist():
            lines.append(f"{k + 1} {self.least[k]:.17g} {self.largest[k]:.17g}")
        with open_target(path) as file:
            file.write(("\n".join(lines) + "\n").encode("ascii"))

    @classmethod
    def given(cls, ranges: "Self | Source | None") -> "Self | None":
        """Return ranges that are given as such, as a file, or not at all."""
        return ranges if ranges is None or isinstance(ranges, cls) else cls.load(ranges)

    @classmethod
    def load(cls, source: Source) -> Self:
        """Read a file of svm-scale."""
        name = source_name(source)
        with open_source(source) as stream:
            lines = [line.split() for line in stream.read().decode("utf-8", "replace").splitlines()]
        try:
            target = None
            if lines[0] == ["y"]:
                target = (*_numbers(lines[1], 2), *_numbers(lines[2], 2))
                lines = lines[3:]
            if lines[0] != ["x"]:
                raise ValueError(f"expected a line 'x', found {' '.join(lines[0])!r}")
            lower, upper = _numbers(lines[1], 2)
            columns = [_numbers(line, 3) for line in lines[2:] if line]
        except (IndexError, ValueError) as error:
            raise ValueError(f"{name} is no file of ranges: {error}") from None
        width = max((int(index) for index, _, _ in columns), default=1)
        if any(index < 1 or index != int(index) for index, _, _ in columns) or width >= 2**31:
            raise ValueError(f"{name} is no file of ranges: an index is no whole number from 1")
        if width > max(WIDEST, SPARSEST * len(columns)):
            raise ValueError(
                f"{name} is no file of ranges: {len(columns)} lines tell of columns up to {width}"
            )
        least, largest = np.zeros(width), np.zeros(width)
        for index, a, b in columns:
            least[int(index) - 1], largest[int(index) - 1] = a, b
        return cls(lower, upper, least, largest, target)  # type: ignore[arg-type]


def scaling_of(rule: DecisionRule, ranges: Ranges | None) -> tuple[Vector, Vector, Vector] | None:
    """Return least value, factor and start of each column; None if rows stay as they are."""
    if ranges is None:
        return None
    if rule.features is None or rule.columns is not None:
        raise TypeError("ranges are those of columns of numbers, and this model has no such rows")
    return ranges.affine(rule.features)


def _check_size(shape: tuple[int, int]) -> None:
    """Refuse to fill in zeros that leave no memory for anything else."""
    need = COPIES * 8 * shape[0] * shape[1]
    if need > available_memory():
        raise ValueError(
            f"scaling would fill in the zeros of {shape[0]} rows and {shape[1]} columns, "
            f"{need / 1e9:.3g} GB; a lower end of 0 keeps them if no column lies wholly above 0"
        )


def _numbers(words: list[str], count: int) -> tuple[float, ...]:
    if len(words) != count:
        raise ValueError(f"expected {count} numbers, found {' '.join(words)!r}")
    values = tuple(float(word) for word in words)
    if not np.isfinite(values).all():
        raise ValueError(f"numbers must be finite, found {' '.join(words)!r}")
    return values
