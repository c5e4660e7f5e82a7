"""Kernels of the inner product: linear, polynomial, Gaussian, sigmoid and cosine."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np

from .base import FloatArray, Rows
from .native import Kind, NativeSpec
from .parameters import check_number
from .quantities import squared_distances
from .vectors import GammaKernel, VectorKernel

__all__ = ["RBF", "Cosine", "Linear", "Polynomial", "Sigmoid"]


@dataclass(repr=False)
class Linear(VectorKernel):
    """Inner product: the machine is a hyperplane in the input space.

    Prefer it for many features (text, indicator variables) and wherever coefficients are to be
    read.

    k(x, z) = x.z

    Notes
    -----
    Cost: one multiplication per feature that is not zero.

    References
    ----------
    vapnik1998: V. Vapnik, Statistical Learning Theory, 1998.

    Examples
    --------
    >>> from widemargin.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[11.,  2.]])
    """

    kind = Kind.LINEAR

    def formula(self, base: Any, norm_a: Any, norm_b: Any, xp: Any = np) -> Any:
        """Return x.z."""
        return base


@dataclass(repr=False)
class Polynomial(GammaKernel):
    """Inner product of all products of up to `degree` features.

    Prefer it when interactions of a known order matter, as of pixels or words.

    k(x, z) = (gamma x.z + coef0)^degree

    Parameters
    ----------
    degree : int
        Highest order of the interactions.
    gamma : float or {"scale", "auto"}
        Factor of the inner product.
    coef0 : float
        Weight of the lower orders; 0 keeps the highest order alone, below 0 it is no longer a
        kernel.

    Notes
    -----
    Cost: as `Linear`, plus one power. The feature map itself would have binom(d + degree, degree)
    terms for d features.

    References
    ----------
    boser1992: B. Boser, I. Guyon, V. Vapnik, A training algorithm for optimal margin
    classifiers, 1992.

    Examples
    --------
    >>> from widemargin.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 3
    gamma: float | str = 1.0
    coef0: float = 0.0
    kind = Kind.POLYNOMIAL

    def validate(self) -> None:
        """Require a whole degree, and numbers."""
        super().validate()
        whole = isinstance(self.degree, Integral) and not isinstance(self.degree, bool)
        if not whole or not 0 <= self.degree < 2**31:
            raise ValueError(
                f"Polynomial: degree must be an integer from 0 below 2^31, found {self.degree!r}."
            )
        check_number("Polynomial", "coef0", self.coef0, positive=False)

    @property
    def is_positive_semidefinite(self) -> bool:
        """Whether no lower order enters with a negative weight."""
        return bool(self.coef0 >= 0)

    def formula(self, base: Any, norm_a: Any, norm_b: Any, xp: Any = np) -> Any:
        """Return (gamma x.z + coef0)^degree."""
        return (self.numeric_gamma * base + float(self.coef0)) ** int(self.degree)

    def native(self) -> NativeSpec | None:
        """Return kind and parameters for the compiled core."""
        return NativeSpec(self.kind, self.numeric_gamma, float(self.coef0), int(self.degree))


@dataclass(repr=False)
class RBF(GammaKernel):
    """Gaussian of the distance: rows are similar if they are near.

    The one to try first for up to some hundred scaled features: it can fit any labelling of
    distinct points, and gamma alone says how local the machine is.

    k(x, z) = exp(-gamma |x - z|^2)

    Parameters
    ----------
    gamma : float or {"scale", "auto"}
        Inverse squared reach. The other two parametrisations in use have constructors: `from_sigma`
        for exp(-|x - z|^2 / (2 sigma^2)) and `from_width` for exp(-|x - z|^2 / s^2).

    Notes
    -----
    Cost: as `Linear`, plus one exponential. Close pairs are computed from x - z itself, so values
    never exceed 1 and equal rows give exactly 1.

    References
    ----------
    boser1992: B. Boser, I. Guyon, V. Vapnik, A training algorithm for optimal margin
    classifiers, 1992.

    Examples
    --------
    >>> from widemargin.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.3679]])
    >>> RBF.from_sigma(1.0)
    RBF(gamma=0.5)
    """

    gamma: float | str = "scale"
    kind = Kind.RBF

    @classmethod
    def from_sigma(cls, sigma: float) -> Self:
        """Return exp(-|x - z|^2 / (2 sigma^2)), `sigma` as in the normal law."""
        check_number(cls.__name__, "sigma", sigma)
        return cls(gamma=1.0 / (2.0 * float(sigma) ** 2))

    @classmethod
    def from_width(cls, width: float) -> Self:
        """Return exp(-|x - z|^2 / width^2)."""
        check_number(cls.__name__, "width", width)
        return cls(gamma=1.0 / float(width) ** 2)

    def formula(self, base: Any, norm_a: Any, norm_b: Any, xp: Any = np) -> Any:
        """Return exp(-gamma |x - z|^2), the distance from the three inner products."""
        return xp.exp(-self.numeric_gamma * xp.maximum(norm_a + norm_b - 2 * base, 0))

    def _block(self, A: Rows, B: Rows, dtype: Any) -> Any:
        # Half the accurate distance, negated, stands for the inner product of rows of norm zero.
        base = -0.5 * squared_distances(A, B)
        with np.errstate(over="ignore"):  # a distance beyond float32 is infinite, its kernel 0
            return self.formula(base.astype(dtype, copy=False), 0, 0)


@dataclass(repr=False)
class Sigmoid(GammaKernel):
    """Hyperbolic tangent of the inner product, the activation of an early neural network.

    Here for compatibility: it is not positive semidefinite, so the dual may have many optima.
    Prefer `RBF`, which it resembles where it works.

    k(x, z) = tanh(gamma x.z + coef0)

    Parameters
    ----------
    gamma : float or {"scale", "auto"}
        Factor of the inner product.
    coef0 : float
        Offset; small and negative is the usable range.

    Notes
    -----
    Cost: as `Linear`, plus one hyperbolic tangent.

    References
    ----------
    lin2003: H.-T. Lin, C.-J. Lin, A study on sigmoid kernels for SVM and the training of
    non-PSD kernels by SMO-type methods, 2003.

    Examples
    --------
    >>> from widemargin.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5).is_positive_semidefinite
    False
    """

    gamma: float | str = "scale"
    coef0: float = 0.0
    kind = Kind.SIGMOID

    def validate(self) -> None:
        """Require numbers."""
        super().validate()
        check_number("Sigmoid", "coef0", self.coef0, positive=False)

    @property
    def is_positive_semidefinite(self) -> bool:
        """False: for any parameters some data give a negative eigenvalue."""
        return False

    def formula(self, base: Any, norm_a: Any, norm_b: Any, xp: Any = np) -> Any:
        """Return tanh(gamma x.z + coef0)."""
        return xp.tanh(self.numeric_gamma * base + float(self.coef0))

    def native(self) -> NativeSpec | None:
        """Return kind and parameters for the compiled core."""
        return NativeSpec(self.kind, self.numeric_gamma, float(self.coef0))


@dataclass(repr=False)
class Cosine(VectorKernel):
    """Cosine of the angle between two rows: their lengths do not count.

    Prefer it for counts of words and other rows whose size is an accident of how much was observed;
    a row of zeros, such as an empty document, is similar to nothing.

    k(x, z) = x.z / (|x| |z|)

    Notes
    -----
    Cost: as `Linear`, plus one square root and one division. Equal to `Linear` on rows of length 1.

    References
    ----------
    manning2008: C. Manning, P. Raghavan, H. Schuetze, Introduction to Information
    Retrieval, 2008, ch. 6.

    Examples
    --------
    >>> from widemargin.kernels import Cosine
    >>> Cosine()([[3.0, 4.0]], [[6.0, 8.0], [0.0, 0.0], [5.0, 0.0]])
    array([[1. , 0. , 0.6]])
    """

    kind = Kind.COSINE

    def formula(self, base: Any, norm_a: Any, norm_b: Any, xp: Any = np) -> Any:
        """Return x.z / (|x| |z|), where 1 replaces a length of 0."""
        return base / (xp.sqrt(norm_a + (norm_a == 0)) * xp.sqrt(norm_b + (norm_b == 0)))

    def diagonal(self, A: Rows) -> FloatArray:
        """Return 1 for each row, 0 for rows of zeros."""
        lengths = super().diagonal(A)
        return (lengths > 0).astype(lengths.dtype)
