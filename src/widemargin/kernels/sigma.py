"""Rules of thumb for the reach of a Gaussian kernel, exp(−|x − z|² / (2 sigma²))."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Reach", "sigma_heuristic"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

AT_ONCE = 1 << 22  # distances held at once
PAIRS = 1 << 21  # distances whose median is taken


@dataclass(frozen=True)
class Reach:
    """A sigma and where it comes from.

    Attributes
    ----------
    sigma : float
        Of exp(−|x − z|² / (2 sigma²)).
    gamma : float
        1 / (2 sigma²), the same as the parameter of `RBF` and `SVC`.
    pair : tuple of int or None
        The closest rows with different labels, if that is the rule.
    """

    sigma: float
    pair: tuple[int, int] | None = None

    @property
    def gamma(self) -> float:
        """1 / (2 sigma²)."""
        return 0.5 / self.sigma**2


def sigma_heuristic(X: Any, y: Any = None, *, rule: str = "closest", seed: int = 0) -> Reach:
    """Return a sigma to begin a search with.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
        Rows.
    y : array-like of shape (n,), default=None
        Labels, for ``rule="closest"``.
    rule : {"closest", "median", "scale"}, default="closest"
        The smallest distance that is not zero between rows with different labels, at which a
        Gaussian can still tell them apart; the median distance of two rows; or sqrt(d v / 2) with v
        the variance of all entries, which is what ``gamma="scale"`` means.
    seed : int, default=0
        Draws the pairs whose median is taken, where there are more than two million.

    Returns
    -------
    Reach
        sigma, gamma, and the closest pair.

    Notes
    -----
    Cost: "closest" computes the distances of all rows with different labels, d n² / 2 products in
    blocks; the others one pass. Distances of the closest rows are computed from x − z itself.

    References
    ----------
    jaakkola1999: T. Jaakkola, M. Diekhans, D. Haussler, Using the Fisher kernel method to detect
    remote protein homologies, ISMB 1999 (median distance to the other class).

    Examples
    --------
    >>> from widemargin.kernels import sigma_heuristic
    >>> X, y = [[0.0], [1.0], [4.0], [9.0]], [0, 0, 1, 1]
    >>> sigma_heuristic(X, y)
    Reach(sigma=3.0, pair=(1, 2))
    >>> sigma_heuristic(X, rule="median").sigma
    4.5
    """
    X = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] < 2:
        raise ValueError(f"X must have two rows or more, found an array of shape {X.shape}")
    if not np.isfinite(X.data if sp.issparse(X) else X).all():
        raise ValueError("X contains NaN or infinity; remove or impute these rows")
    if rule == "closest":
        return _closest(X, y)
    if rule == "median":
        return Reach(_positive(_median(X, seed)))
    if rule == "scale":
        mean = float(X.mean())
        squares = X.multiply(X).mean() if sp.issparse(X) else np.square(X - mean).mean() + mean**2
        variance = max(0.0, float(squares) - mean**2)
        return Reach(_positive((0.5 * X.shape[1] * variance) ** 0.5))
    raise ValueError(f"rule must be one of 'closest', 'median', 'scale', found {rule!r}")


def _positive(sigma: float) -> float:
    if sigma > 0:
        return sigma
    raise ValueError("no sigma follows from X: the rows are (nearly) all equal")


def _closest(X: Any, y: Any) -> Reach:
    if y is None:
        raise ValueError("rule='closest' needs y, found None; pass labels, or rule='median'")
    y = np.asarray(y)
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must hold one label for each of {X.shape[0]} rows, found {y.shape}")
    labels = np.unique(y, return_inverse=True)[1]
    if labels.max() == 0:
        raise ValueError("y must hold two labels or more, found one; or set rule='median'")
    best, pair = np.inf, (0, 0)
    for first, distances, slack in _blocks(X):
        rows = slice(first, first + distances.shape[0])
        distances[labels[rows, None] == labels] = np.inf
        # What rounding may hide is computed anew, from the difference of the rows.
        clear = np.where(distances > slack, distances, np.inf)
        at = np.unravel_index(int(clear.argmin()), clear.shape)
        near = float(clear[at]) + 2.0 * slack if np.isfinite(clear[at]) else slack
        i, j = np.nonzero(distances <= min(near, best**2 + slack))
        exact = _distances(X, first + i, j)
        exact[exact == 0] = np.inf
        if exact.size and exact.min() < best:
            k = int(exact.argmin())
            best, pair = float(exact[k]), (first + int(i[k]), int(j[k]))
    if not np.isfinite(best):
        raise ValueError("no sigma follows from X and y: rows with different labels are all equal")
    return Reach(best, (min(pair), max(pair)))


def _blocks(X: Any) -> Iterator[tuple[int, Vector, float]]:
    """Yield squared distances of some rows to all, and how far rounding may have moved them."""
    if not sp.issparse(X):
        X = X - X.mean(axis=0)
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    norms = np.asarray(squares, dtype=np.float64).ravel()
    slack = 4 * (X.shape[1] + 4) * float(np.finfo(np.float64).eps) * float(norms.max())
    step = max(1, AT_ONCE // X.shape[0])
    for first in range(0, X.shape[0], step):
        part = X[first : first + step]
        products = part @ X.T
        products = products.toarray() if sp.issparse(products) else products
        yield first, norms[first : first + step, None] + norms - 2.0 * products, slack


def _distances(X: Any, i: Ids, j: Ids) -> Vector:
    """Return the distance of each pair of rows."""
    step = max(1, AT_ONCE // max(1, X.shape[1]))
    distances = np.empty(i.size)
    for first in range(0, i.size, step):
        part = slice(first, first + step)
        difference = X[i[part]] - X[j[part]]
        squares = difference.multiply(difference) if sp.issparse(difference) else difference**2
        distances[part] = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    return distances


def _median(X: Any, seed: int) -> float:
    n = X.shape[0]
    if n * (n - 1) // 2 <= PAIRS:
        i, j = np.triu_indices(n, 1)
    else:
        random = np.random.default_rng(seed)
        i = random.integers(0, n, PAIRS)
        j = (i + random.integers(1, n, PAIRS)) % n  # another row
    return float(np.median(_distances(X, i, j)))
