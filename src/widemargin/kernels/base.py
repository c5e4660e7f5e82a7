"""What every kernel can do: parameters, values, blocks, and the algebra of sums and products.

A kernel is a symmetric function k(x, z) that is an inner product in some feature space. Sums,
products and positive multiples of kernels are kernels, so ``RBF(0.5) + 2 * Linear()`` is one too.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .native import NativeSpec
from .parameters import Parametrized, check_number

__all__ = ["FloatArray", "Kernel", "Product", "Rows", "Scaled", "Sum"]

FloatArray: TypeAlias = NDArray[np.floating[Any]]

# NumPy array or SciPy CSR for a kernel on vectors, any sequence for a kernel on objects.
Rows: TypeAlias = Any


class Kernel(Parametrized, ABC):
    """A similarity of two rows that is an inner product in some feature space.

    Attributes
    ----------
    accepts_objects : bool
        True if rows are arbitrary Python objects such as strings; False if they are numeric
        vectors.
    """

    accepts_objects: bool = False

    # NumPy scalars then leave ``numpy.float64(2) * kernel`` to our operators.
    __array_ufunc__ = None

    @abstractmethod
    def __call__(self, A: Rows, B: Rows) -> FloatArray:
        """Return the block of kernel values between the rows of `A` and of `B`.

        Parameters
        ----------
        A, B : array, CSR matrix or sequence of objects
            Rows to compare, `m` and `n` of them.

        Returns
        -------
        numpy.ndarray of shape (m, n)
            In float32 if both inputs are float32, else in float64; always dense.
        """

    @abstractmethod
    def diagonal(self, A: Rows) -> FloatArray:
        """Return k(a, a) for each row a of `A` without computing the whole block."""

    @property
    def is_positive_semidefinite(self) -> bool:
        """Whether every matrix k(A, A) is known to have no negative eigenvalue."""
        return True

    def native(self) -> NativeSpec | None:
        """Return the description that the compiled core understands, or None."""
        return None

    def resolve(self, n_features: int, variance: float) -> Self:
        """Return this kernel with ``gamma="scale"`` and ``gamma="auto"`` replaced by numbers.

        Parameters
        ----------
        n_features : int
            Number of columns of the training data.
        variance : float
            Variance of all entries of the training data, zeros included.

        Returns
        -------
        Kernel
            The kernel itself if nothing depends on the data.
        """
        changed = {}
        for name, value in self.get_params(deep=False).items():
            if (
                isinstance(value, Kernel)
                and (new := value.resolve(n_features, variance)) is not value
            ):
                changed[name] = new
        return self.copy(**changed) if changed else self

    def __add__(self, other: "Kernel") -> "Sum":
        """Return the kernel k(x, z) + other(x, z)."""
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self.copy(), other.copy())

    def __mul__(self, other: "Kernel | float") -> "Product | Scaled":
        """Return the product with another kernel or with a positive number."""
        if isinstance(other, Kernel):
            return Product(self.copy(), other.copy())
        return self.__rmul__(other)

    def __rmul__(self, other: float) -> "Scaled":
        """Return the multiple of this kernel by a positive number."""
        if not isinstance(other, Real):
            return NotImplemented
        return Scaled(self.copy(), other)


class _Composite(Kernel):
    """A kernel made of others; what it accepts and guarantees follows from theirs."""

    def parts(self) -> list[Kernel]:
        """Return the kernels inside."""
        return [
            value for value in self.get_params(deep=False).values() if isinstance(value, Kernel)
        ]

    @property
    def accepts_objects(self) -> bool:  # type: ignore[override]  # derived here, stored elsewhere
        """Whether rows are arbitrary Python objects."""
        return self.parts()[0].accepts_objects

    @property
    def is_positive_semidefinite(self) -> bool:
        """Whether all kernels inside are positive semidefinite."""
        return all(part.is_positive_semidefinite for part in self.parts())

    def validate(self) -> None:
        """Require kernels that all take vectors or all take objects."""
        name = type(self).__name__
        for key in ("left", "right", "kernel"):
            part = getattr(self, key, self)
            if not isinstance(part, Kernel):
                raise ValueError(f"{name}: {key} must be a kernel object, found {part!r}.")
        first, *others = self.parts()
        for other in others:
            if first.accepts_objects != other.accepts_objects:
                objects, vectors = (first, other) if first.accepts_objects else (other, first)
                raise ValueError(
                    f"{name}: {objects!r} compares objects and {vectors!r} compares vectors; "
                    "combine kernels that take the same kind of rows."
                )


@dataclass(repr=False)
class Sum(_Composite):
    """Sum of two kernels: a row may be similar in either sense.

    Prefer it when two views of the data each carry signal, e.g. a linear trend plus local
    structure. The feature space is the two spaces side by side.

    k(x, z) = left(x, z) + right(x, z)

    Parameters
    ----------
    left, right : Kernel
        The terms.

    Notes
    -----
    Cost: both blocks. ``left + right`` stores copies; the constructor stores what it is given.

    References
    ----------
    shawetaylor2004: J. Shawe-Taylor, N. Cristianini, Kernel Methods for
    Pattern Analysis, 2004, ch. 3.

    Examples
    --------
    >>> from widemargin.kernels import RBF, Linear
    >>> kernel = RBF(gamma=0.5) + Linear()
    >>> kernel
    Sum(left=RBF(gamma=0.5), right=Linear())
    >>> kernel([[1.0]], [[1.0], [3.0]]).round(3)
    array([[2.   , 3.135]])
    """

    left: Kernel
    right: Kernel

    def __call__(self, A: Rows, B: Rows) -> FloatArray:
        """Return the sum of the two blocks."""
        return self.left(A, B) + self.right(A, B)

    def diagonal(self, A: Rows) -> FloatArray:
        """Return the sum of the two diagonals."""
        return self.left.diagonal(A) + self.right.diagonal(A)


@dataclass(repr=False)
class Product(_Composite):
    """Product of two kernels: rows must be similar in both senses.

    Prefer it to let one similarity gate another, e.g. a polynomial that acts locally. The features
    are all products of a feature of each factor.

    k(x, z) = left(x, z) right(x, z)

    Parameters
    ----------
    left, right : Kernel
        The factors.

    Notes
    -----
    Cost: both blocks. The product is positive semidefinite by Schur's theorem.

    References
    ----------
    shawetaylor2004: J. Shawe-Taylor, N. Cristianini, Kernel Methods for
    Pattern Analysis, 2004, ch. 3.

    Examples
    --------
    >>> from widemargin.kernels import RBF, Linear
    >>> (RBF(gamma=0.5) * Linear())([[1.0]], [[1.0], [3.0]]).round(3)
    array([[1.   , 0.406]])
    """

    left: Kernel
    right: Kernel

    def __call__(self, A: Rows, B: Rows) -> FloatArray:
        """Return the elementwise product of the two blocks."""
        return self.left(A, B) * self.right(A, B)

    def diagonal(self, A: Rows) -> FloatArray:
        """Return the product of the two diagonals."""
        return self.left.diagonal(A) * self.right.diagonal(A)


@dataclass(repr=False)
class Scaled(_Composite):
    """Positive multiple of a kernel.

    Prefer it to weigh the terms of a sum; alone it acts like a change of C, the penalty of the
    machine.

    k(x, z) = factor kernel(x, z)

    Parameters
    ----------
    kernel : Kernel
        The kernel to scale.
    factor : float
        A positive number: a negative multiple is not a kernel.

    Notes
    -----
    Cost: the block of `kernel`.

    References
    ----------
    shawetaylor2004: J. Shawe-Taylor, N. Cristianini, Kernel Methods for
    Pattern Analysis, 2004, ch. 3.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> (3 * Linear())([[2.0]], [[1.0]])
    array([[6.]])
    """

    kernel: Kernel
    factor: float

    def validate(self) -> None:
        """Require a kernel and a positive factor."""
        super().validate()
        check_number("Scaled", "factor", self.factor)

    def __call__(self, A: Rows, B: Rows) -> FloatArray:
        """Return the scaled block."""
        return self.kernel(A, B) * float(self.factor)

    def diagonal(self, A: Rows) -> FloatArray:
        """Return the scaled diagonal."""
        return self.kernel.diagonal(A) * float(self.factor)
