"""The rows that lie on the margin, and their linear system as rows come and go.

With E these rows and K their kernel matrix, multipliers a and bias b that keep them there solve ::

    [K  1] [a]   [values]
    [1' 0] [b] = [total ]

Adding a constant to all of K changes b alone, by that constant times the total. The matrix is then
positive definite just when the system has one solution, so its Cholesky factor is what is kept. A
row appends a column to the factor, or turns out to depend on the others; when one leaves, Givens
rotations make the rest triangular again. Either costs rows², not rows³.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr_delete
from scipy.linalg.lapack import dtrtrs

__all__ = ["Elbow"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

DEPENDENT = 1e-11  # share of its length by which a row must differ from combinations of others


class Elbow:
    """The rows on the margin.

    Parameters
    ----------
    square : array of shape (rows, rows)
        Kernel matrix of all rows. Its rows are permuted in place so that those on the margin come
        first, which lets one product with consecutive memory sum over them.
    rounding : float
        What rounding made of its entries.
    """

    def __init__(self, square: Vector, rounding: float) -> None:
        self.square, self.size, self.rounding = square, square.shape[0], rounding
        self.row_at, self.place_of = np.arange(self.size), np.arange(self.size)
        self.shift = max(float(np.mean(np.diagonal(square))), rounding)
        self.clear()

    def clear(self) -> None:
        """Let no row be on the margin."""
        self.ids: Ids = np.empty(0, dtype=np.int64)  # in the order of the factor
        self._factor: Vector = np.empty((0, 0), order="F")

    def row(self, i: int) -> Vector:
        """Return the kernel row of a row of the data."""
        return self.square[self.place_of[i]]

    def product(self, values: Vector) -> Vector:
        """Return sum over E of values times kernel row, for each row of the data."""
        placed = np.empty(self.ids.size)
        placed[self.place_of[self.ids]] = values
        return placed @ self.square[: self.ids.size]

    def product_of_all(self, values: Vector) -> Vector:
        """Return the kernel matrix times a value for each row of the data."""
        return values[self.row_at] @ self.square

    def append(self, i: int) -> Vector | None:
        """Add a row, or return the combination of E that equals it in feature space.

        The combination has the sum one.
        """
        kernel = self.row(i)
        column = kernel[self.ids] + self.shift
        above = self._half_solve(column)
        length = float(kernel[i]) + self.shift
        rest = length - float(above @ above)
        if rest <= max(DEPENDENT * length, self.rounding) and self.ids.size:
            return self._back_solve(above)
        n = self.ids.size
        factor = np.zeros((n + 1, n + 1), order="F")
        factor[:n, :n], factor[:n, n], factor[n, n] = self._factor, above, rest**0.5
        self._factor = factor
        self._move(i, n)
        self.ids = np.append(self.ids, i)
        return None

    def remove(self, i: int) -> None:
        """Take a row out."""
        k, n = int(np.flatnonzero(self.ids == i)[0]), self.ids.size
        rest = np.zeros((n - 1, n - 1), order="F")
        rest[:k, :k], rest[:k, k:] = self._factor[:k, :k], self._factor[:k, k + 1 :]
        if k < n - 1:
            corner = self._factor[k:, k:]
            rotated = qr_delete(np.eye(n - k, order="F"), corner, 0, 1, "col", check_finite=False)
            rest[k:, k:] = rotated[1][:-1]
        self._factor = rest
        self._move(i, n - 1)
        self.ids = np.delete(self.ids, k)

    def solve(self, values: Vector, total: float) -> tuple[Vector, float]:
        """Return multipliers and bias with these outputs on the margin and this sum."""
        ones = self._solve(np.ones(self.ids.size))
        alone = self._solve(values)
        bias = (float(alone.sum()) - total) / float(ones.sum())
        return alone - bias * ones, bias + self.shift * total

    def _solve(self, values: Vector) -> Vector:
        return self._back_solve(self._half_solve(values))

    def _half_solve(self, values: Vector) -> Vector:
        return dtrtrs(self._factor, values, trans=1)[0] if values.size else values

    def _back_solve(self, values: Vector) -> Vector:
        return dtrtrs(self._factor, values)[0] if values.size else values

    def _move(self, i: int, place: int) -> None:
        """Exchange the kernel row of i with the one at a place."""
        here, other = int(self.place_of[i]), int(self.row_at[place])
        if here != place:
            self.square[[here, place]] = self.square[[place, here]]
            self.row_at[here], self.row_at[place] = other, i
            self.place_of[i], self.place_of[other] = place, here
