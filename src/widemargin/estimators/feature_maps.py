"""Feature maps written out: polynomials whose inner product is a kernel."""

from math import comb, factorial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.validation import check_is_fitted

from ..kernels import Polynomial
from .validation import check_number, check_rows

__all__ = ["PolynomialMap", "SquaresMap"]

Vector = NDArray[np.float64]

MOST_FEATURES = 20_000_000
MOST_DEGREE = 100


class _Map(TransformerMixin, BaseEstimator):
    """Base of both: rows of any storage and precision, of which only the columns are counted."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the features; nothing else is learnt.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : ignored
            For pipelines.

        Returns
        -------
        self
            The fitted map.
        """
        self._check_settings()
        check_rows(self, X, reset=True, objects=False)
        self._find_terms()
        return self

    def _check_settings(self) -> None:
        """Require parameters that are of use; there may be none."""

    def _find_terms(self) -> None:
        """Find what the columns are mapped to, if that is not the same for all data."""


class PolynomialMap(_Map):
    """All products of up to ``degree`` features, weighed so that they form a polynomial kernel.

    Prefer it to the kernel where a linear machine is to learn from many rows with few features, or
    to look at the weights of the products. The inner product of two mapped rows is ::

        phi(x).phi(z) = (gamma x.z + coef0)^degree

    and phi(x) has, for every choice of exponents a with |a| <= degree, the entry ::

        sqrt(degree! / (a₁! ... a_d! r!) gamma^|a| coef0^r) x₁^a₁ ... x_d^a_d,   r = degree − |a|

    The quadratic maps of the textbooks are ``PolynomialMap(2)``, with the inner product
    (1 + x.z)², and ``PolynomialMap(2, coef0=0.0)``: (x₁², √2 x₁x₂, x₂²).

    Parameters
    ----------
    degree : int, default=2
        Degree of the kernel.
    gamma : float, default=1.0
        Factor of x.z.
    coef0 : float, default=1.0
        Constant of the kernel, not negative; with 0 there are only products of exactly ``degree``
        features.

    Attributes
    ----------
    powers_ : array of shape (n_features_out, n_features)
        Exponents a of each entry.
    factors_ : array of shape (n_features_out,)
        The square roots.

    Notes
    -----
    Cost: C(d + degree, degree) entries for each row, against d products for a kernel value: that
    difference is the kernel trick. Sparse rows give sparse rows for a degree up to 3.

    References
    ----------
    boser1992: B. Boser, I. Guyon, V. Vapnik, A training algorithm for optimal margin classifiers,
    1992.

    Examples
    --------
    >>> from widemargin import PolynomialMap
    >>> PolynomialMap(2, coef0=0.0).fit_transform([[1.0, 2.0]]).round(4)
    array([[1.    , 2.8284, 4.    ]])
    >>> PolynomialMap(2).fit([[1.0, 2.0]]).kernel()
    Polynomial(degree=2, gamma=1.0, coef0=1.0)
    """

    def __init__(self, degree: int = 2, *, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _check_settings(self) -> None:
        check_number("degree", self.degree, low=1, high=MOST_DEGREE, whole=True)
        check_number("gamma", self.gamma, low=0, open_low=True)
        check_number("coef0", self.coef0, low=0)

    def _find_terms(self) -> None:
        self._size()
        self._open_terms()
        self.factors_ = np.sqrt([self._weight(powers) for powers in self.powers_])

    def _size(self) -> int:
        """Return how many entries an image has."""
        d, degree = int(self.n_features_in_), int(self.degree)
        size = comb(d + degree, degree) if self.coef0 > 0 else comb(d + degree - 1, degree)
        if size > MOST_FEATURES:
            raise ValueError(
                f"degree={degree} makes {size} entries of {d} features, above {MOST_FEATURES}; "
                "lower degree or use the kernel itself"
            )
        return size

    def _open_terms(self) -> None:
        """Make what computes products of features, which follows from the settings."""
        least = 0 if self.coef0 > 0 else int(self.degree)
        self._terms = PolynomialFeatures((least, int(self.degree)), include_bias=least == 0)
        self._terms.fit(np.zeros((1, self.n_features_in_)))

    @property
    def powers_(self) -> Any:
        """Exponents a of each entry."""
        return self._terms.powers_

    def _weight(self, powers: Any) -> float:
        degree, used = int(self.degree), int(powers.sum())
        ways = factorial(degree) // factorial(degree - used)
        for power in powers[powers > 1]:
            ways //= factorial(int(power))
        rest = degree - used
        return ways * float(self.gamma) ** used * float(self.coef0) ** rest

    def transform(self, X: Any) -> Any:
        """Map rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        array or CSR matrix of shape (n_rows, n_features_out)
            Their images.
        """
        check_is_fitted(self, "factors_")
        X = check_rows(self, X, reset=False, objects=False)
        terms = self._terms.transform(X)
        factors = self.factors_.astype(terms.dtype, copy=False)
        return sp.csr_array(terms.multiply(factors)) if sp.issparse(terms) else terms * factors

    def kernel(self) -> Polynomial:
        """Return the kernel whose values are the inner products of mapped rows.

        Returns
        -------
        Polynomial
            The kernel.
        """
        return Polynomial(degree=int(self.degree), gamma=float(self.gamma), coef0=float(self.coef0))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return a name for each entry, such as ``"x0 x1^2"``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features; None takes those of the fit, or x0, x1, ...

        Returns
        -------
        numpy.ndarray of str
            Names.
        """
        check_is_fitted(self, "factors_")
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", None)
        return self._terms.get_feature_names_out(input_features)


class SquaresMap(_Map):
    """Every feature and its square: (x, x²).

    Prefer it to `PolynomialMap` where classes differ in how far features are from a centre and
    products of two of them do not matter: there are 2 d entries only. The inner product of two
    mapped rows is x.z + sum_k x_k² z_k².

    Examples
    --------
    >>> from widemargin import SquaresMap
    >>> SquaresMap().fit_transform([[1.0, -2.0]])
    array([[ 1., -2.,  1.,  4.]])
    """

    def transform(self, X: Any) -> Any:
        """Map rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        array or CSR matrix of shape (n_rows, 2 n_features)
            Their images.
        """
        check_is_fitted(self, "n_features_in_")
        X = check_rows(self, X, reset=False, objects=False)
        if sp.issparse(X):
            return sp.csr_array(sp.hstack([X, X.multiply(X)], format="csr"))
        return np.hstack([X, X * X])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the features, and with "^2" those of their squares.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features; None takes those of the fit, or x0, x1, ...

        Returns
        -------
        numpy.ndarray of str
            Names.
        """
        check_is_fitted(self, "n_features_in_")
        if input_features is None:
            given = [f"x{k}" for k in range(self.n_features_in_)]
            input_features = getattr(self, "feature_names_in_", given)
        names = [str(name) for name in input_features]
        return np.array(names + [f"{name}^2" for name in names], dtype=object)
