"""Kernel matrices: the naive one, and whether a matrix can be one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from .base import Kernel

__all__ = ["KernelTest", "gram", "is_kernel"]

Vector = NDArray[np.float64]


def gram(kernel: Callable[[Any, Any], Any], X: Sequence[Any], Z: Any = None) -> Vector:
    """Return the kernel matrix, one pair of rows after the other: the definition, nothing else.

    Use it for kernels written for two rows, and as the truth in tests; a kernel object called with
    blocks of rows, ``kernel(X, Z)``, gives the same matrix many times faster.

    Parameters
    ----------
    kernel : callable
        A function of two rows that returns a number, or a kernel object.
    X : sequence of n rows
        Arrays of numbers, or any objects that the kernel knows.
    Z : sequence of m rows, default=None
        Other rows; None takes X again, and then half of the values by symmetry.

    Returns
    -------
    numpy.ndarray of shape (n, m)
        k(X[i], Z[j]).

    Notes
    -----
    Cost: n m calls in Python, half of them without Z.

    Examples
    --------
    >>> from widemargin.kernels import gram
    >>> gram(lambda x, z: (x @ z + 1) ** 2, [[0.0, 1.0], [2.0, 0.0]])
    array([[ 4.,  1.],
           [ 1., 25.]])
    """
    left = _rows(X)
    if Z is not None:
        right = _rows(Z)
        return np.array([[_value(kernel, x, z) for z in right] for x in left], dtype=np.float64)
    matrix = np.empty((len(left), len(left)))
    for i, x in enumerate(left):
        for j in range(i + 1):
            matrix[i, j] = matrix[j, i] = _value(kernel, x, left[j])
    return matrix


def _rows(X: Any) -> list[Any]:
    X = X.toarray() if hasattr(X, "toarray") else X
    return [np.asarray(row) if isinstance(row, list | tuple) else row for row in X]


def _value(kernel: Any, x: Any, z: Any) -> float:
    """Return one value; kernel objects and functions of blocks get blocks of one row."""
    value = kernel([x], [z]) if isinstance(kernel, Kernel) else kernel(x, z)
    value = np.asarray(value, dtype=np.float64)
    if value.size != 1:
        raise ValueError(
            f"kernel must return one number for two rows, found an array of shape {value.shape}; "
            "a function of blocks of rows is called with blocks, not by gram"
        )
    return float(value.reshape(()))


@dataclass(frozen=True)
class KernelTest:
    """Whether a matrix is one of inner products, with the proof if it is not.

    Attributes
    ----------
    positive : bool
        Whether the matrix is symmetric and positive semidefinite, up to rounding.
    smallest_eigenvalue : float
        Of its symmetric part.
    tolerance : float
        What rounding may take from an eigenvalue of zero.
    asymmetry : float
        Largest |K_ij − K_ji|.
    pair : tuple of int or None
        Such a pair (i, j), if the matrix is not symmetric.
    witness : array of shape (n,) or None
        A vector a of length one with aᵀKa < 0, which no matrix of inner products has: there it
        would be the squared length of sum_i a_i phi(x_i).
    witness_value : float or None
        aᵀKa, computed from K.
    """

    positive: bool
    smallest_eigenvalue: float
    tolerance: float
    asymmetry: float
    pair: tuple[int, int] | None
    witness: Vector | None
    witness_value: float | None

    def __bool__(self) -> bool:
        """Whether the matrix is positive semidefinite."""
        return self.positive

    def __str__(self) -> str:
        """Return the answer and its proof as a sentence."""
        if self.positive:
            return f"a kernel matrix: its smallest eigenvalue is {self.smallest_eigenvalue:.3g}"
        if self.pair is not None:
            i, j = self.pair
            return f"no kernel matrix: K[{i}, {j}] and K[{j}, {i}] differ by {self.asymmetry:.3g}"
        assert self.witness is not None
        largest = np.argsort(-np.abs(self.witness))[:6]
        listed = ", ".join(f"{self.witness[i]:+.3g} of row {i}" for i in largest)
        more = ", ..." if self.witness.size > 6 else ""
        return (
            f"no kernel matrix: the vector {listed}{more} would have the squared length "
            f"{self.witness_value:.3g}"
        )


def is_kernel(K: Any, *, tolerance: float | None = None) -> KernelTest:
    """Decide whether a matrix holds the inner products of some vectors.

    It does if and only if it is symmetric and positive semidefinite.

    Parameters
    ----------
    K : array-like of shape (n, n)
        The matrix, as from ``kernel(X, X)`` or `gram`.
    tolerance : float, default=None
        How negative an eigenvalue may be, and how different K_ij and K_ji; None is n times the
        rounding of the largest eigenvalue.

    Returns
    -------
    KernelTest
        True or False, with the smallest eigenvalue and a witness.

    Notes
    -----
    Cost: the smallest eigenpair of a symmetric matrix, about 4/3 n³.

    References
    ----------
    mercer1909: J. Mercer, Functions of positive and negative type, 1909; here for finitely many
    points.

    Examples
    --------
    >>> from widemargin.kernels import RBF, is_kernel
    >>> bool(is_kernel(RBF(gamma=1.0)([[0.0], [1.0], [2.0]], [[0.0], [1.0], [2.0]])))
    True
    >>> print(is_kernel([[1.0, 2.0], [2.0, 1.0]]))
    no kernel matrix: the vector +0.707 of row 0, -0.707 of row 1 would have the squared length -1
    """
    matrix = np.asarray(K, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"K must be a square matrix, found an array of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("K contains NaN or infinity; look at the rows it was computed from")
    n = matrix.shape[0]
    single = np.asarray(K).dtype in (np.float32, np.float16)
    rounding = float(np.finfo(np.asarray(K).dtype if single else np.float64).eps)
    both = 0.5 * (matrix + matrix.T)
    values, vectors = scipy.linalg.eigh(both, subset_by_index=[0, 0], check_finite=False)
    smallest, witness = float(values[0]), vectors[:, 0]
    size = max(abs(smallest), float(np.abs(both).sum(axis=1).max()))
    allowed = n * rounding * size if tolerance is None else float(tolerance)
    differences = np.abs(matrix - matrix.T)
    i, j = np.unravel_index(int(np.argmax(differences)), differences.shape)
    asymmetry = float(differences[i, j])
    large = np.abs(witness) >= (1.0 - 1e-9) * float(np.abs(witness).max())
    witness = witness * np.sign(
        witness[np.argmax(large)]
    )  # its sign is free: the first is positive
    negative = smallest < -allowed
    return KernelTest(
        positive=not negative and asymmetry <= allowed,
        smallest_eigenvalue=smallest,
        tolerance=allowed,
        asymmetry=asymmetry,
        pair=(int(min(i, j)), int(max(i, j))) if asymmetry > allowed else None,
        witness=witness if negative else None,
        witness_value=float(witness @ matrix @ witness) if negative else None,
    )
