"""A plane through the rows, on which machines of many features can be drawn.

A point (a, b) of the plane stands for the row origin + a u + b v, and a row is shown at its
coordinates along u and v. With two features the plane is all there is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Plane", "choose_plane"]

Matrix = NDArray[np.float64]
MOST_ENTRIES = 4_000_000  # of the grid's rows at once
PROJECTIONS = ("weights", "pca")


@dataclass(frozen=True)
class Plane:
    """An origin and two directions, with the names of the axes.

    Attributes
    ----------
    origin : array of shape (n_features,)
        The row at the coordinates (0, 0).
    directions : array of shape (2, n_features)
        Orthonormal.
    names : tuple of str
        What the axes are called.
    """

    origin: Matrix
    directions: Matrix
    names: tuple[str, str]

    def place(self, X: Any) -> Matrix:
        """Return the coordinates of rows, shape (n_rows, 2)."""
        return np.asarray(X @ self.directions.T) - self.origin @ self.directions.T

    def lift(self, points: Matrix) -> Matrix:
        """Return the rows that points of the plane stand for."""
        return self.origin + points @ self.directions

    def evaluate(self, function: Any, points: Matrix) -> Any:
        """Return the function of the rows that the points stand for, a part at a time."""
        step = max(1, MOST_ENTRIES // self.origin.size)
        parts = [
            np.asarray(function(self.lift(points[i : i + step])))
            for i in range(0, len(points), step)
        ]
        return np.concatenate(parts)


def choose_plane(estimator: Any, X: Any, features: Sequence[Any] | None, projection: Any) -> Plane:
    """Return the plane to draw on.

    Parameters
    ----------
    estimator : estimator
        Fitted; a linear one of two classes is drawn along its weights.
    X : array or CSR matrix of shape (n_rows, n_features)
        Rows.
    features : pair of int or str, or None
        Two columns; all others stay at their median.
    projection : {"weights", "pca"}, array of shape (2, n_features) or None
        Directions; None chooses.
    """
    names = _feature_names(estimator, X.shape[1])
    if features is not None and projection is not None:
        raise ValueError("features and projection exclude each other; give only one of them")
    if features is not None:
        return _columns(X, _column_numbers(features, names), names)
    if projection is None:
        if X.shape[1] == 2:
            return Plane(np.zeros(2), np.eye(2), (names[0], names[1]))
        if X.shape[1] == 1:
            raise ValueError("X has one column, and a plane needs two; draw the margins instead")
        projection = "weights" if _weights(estimator) is not None else "pca"
    if isinstance(projection, str):
        return _named(estimator, X, projection)
    return _given(X, np.asarray(projection, dtype=np.float64))


def _feature_names(estimator: Any, count: int) -> list[str]:
    given = getattr(estimator, "feature_names_in_", None)
    return [f"feature {k}" for k in range(count)] if given is None else [str(n) for n in given]


def _column_numbers(features: Sequence[Any], names: list[str]) -> tuple[int, int]:
    numbers = []
    for feature in features:
        number = names.index(feature) if feature in names else feature
        if isinstance(number, str) or not 0 <= number < len(names):
            raise ValueError(
                f"features must name two of the {len(names)} columns of X, found {feature!r}"
            )
        numbers.append(int(number))
    if len(numbers) != 2 or numbers[0] == numbers[1]:
        raise ValueError(f"features must name two different columns, found {list(features)}")
    return numbers[0], numbers[1]


def _columns(X: Any, chosen: tuple[int, int], names: list[str]) -> Plane:
    dense = X.toarray() if hasattr(X, "toarray") else X
    origin = np.median(np.asarray(dense, dtype=np.float64), axis=0)
    origin[list(chosen)] = 0.0
    directions = np.zeros((2, len(names)))
    directions[[0, 1], list(chosen)] = 1.0
    return Plane(origin, directions, (names[chosen[0]], names[chosen[1]]))


def _weights(estimator: Any) -> Matrix | None:
    """Return w of a linear machine of two classes, or None."""
    coef = getattr(estimator, "coef_", None)
    if coef is None:
        return None
    w = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64)
    w = np.atleast_2d(w)
    return w[0] if w.shape[0] == 1 and np.any(w) else None


def _named(estimator: Any, X: Any, projection: str) -> Plane:
    if projection not in PROJECTIONS:
        raise ValueError(
            f"projection must be 'weights', 'pca' or two directions, found {projection!r}"
        )
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    if projection == "pca":
        directions, shares = _principal(X, mean, 2)
        first, second = (f"({100 * share:.0f} % of variance)" for share in shares)
        return Plane(
            mean, directions, (f"principal direction 1 {first}", f"principal direction 2 {second}")
        )
    w = _weights(estimator)
    if w is None:
        raise ValueError(
            "projection='weights' needs a linear machine of two classes; use projection='pca'"
        )
    along = w / np.linalg.norm(w)
    across, _ = _principal(X, mean, 1, against=along)
    names = ("along the weights", "direction of most variance across")
    return Plane(mean, np.vstack([along, across]), names)


def _principal(
    X: Any, mean: Matrix, count: int, against: Matrix | None = None
) -> tuple[Matrix, Matrix]:
    """Return principal directions, orthogonal to `against`, and their shares of the variance.

    Orthogonal iteration, since X may be sparse and have very many columns; it starts from fixed
    random numbers and each direction points to its largest entry, so that pictures are the same
    each time.
    """
    columns = X.shape[1]
    fixed = np.empty((columns, 0)) if against is None else against[:, None]
    block = min(columns - fixed.shape[1], count + 8)
    V = np.random.default_rng(0).normal(size=(columns, block))

    def orthonormal(V: Matrix) -> Matrix:
        # Behind the fixed direction all others are orthogonal to it, even those of no variance.
        return np.linalg.qr(np.hstack([fixed, V]))[0][:, fixed.shape[1] :]

    def centred(V: Matrix) -> Matrix:
        return np.asarray(X @ V) - mean @ V

    for _ in range(12):
        V = orthonormal(V)
        Z = centred(V)
        V = np.asarray(X.T @ Z) - np.outer(mean, Z.sum(axis=0))
    V = orthonormal(V)
    _, lengths, turn = np.linalg.svd(centred(V), full_matrices=False)
    directions = (V @ turn.T).T[:count]
    largest = np.argmax(np.abs(directions), axis=1)
    directions *= np.sign(directions[np.arange(count), largest])[:, None]
    squares = X.multiply(X).sum() if hasattr(X, "multiply") else np.square(X, dtype=float).sum()
    total = float(squares) - X.shape[0] * float(mean @ mean)
    shares = np.square(lengths[:count]) / max(total, np.finfo(np.float64).tiny)
    return directions, np.minimum(shares, 1.0)


def _given(X: Any, directions: Matrix) -> Plane:
    if directions.shape != (2, X.shape[1]):
        raise ValueError(
            f"projection must have shape (2, {X.shape[1]}), a direction in each row, found "
            f"{directions.shape}"
        )
    orthonormal, triangle = np.linalg.qr(directions.T)
    if not np.all(np.abs(np.diag(triangle)) > 1e-12 * np.abs(triangle).max()):
        raise ValueError("the two directions of projection are parallel; give another one")
    orthonormal = orthonormal * np.sign(np.diag(triangle))
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    return Plane(mean, orthonormal.T, ("projection 1", "projection 2"))
