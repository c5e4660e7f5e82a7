"""Hinge losses of outputs, two classes or many, and what shares of a dual point leave undone."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["hinge_losses", "row_violations"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

ALL = 1.0 - 1e-12  # of a share, but for rounding


def hinge_losses(scores: Vector, labels: Ids) -> Vector:
    """Return max_k (f_k + [k != y]) − f_y of each row; max(0, 1 − y f) with one output."""
    if scores.shape[1] == 1:
        return np.asarray(np.maximum(_shortfall(scores[:, 0], labels), 0.0))
    return np.asarray(_shortfalls(scores, labels).max(axis=1))


def row_violations(
    scores: Vector, labels: Ids, shares: Vector, whole: Vector | float = 1.0
) -> Vector:
    """Return by how much a class with a share falls short of the largest loss of its row.

    What is left of a row's shares, which are `whole` together, belongs to its own class, at which
    nothing is lost.
    """
    if scores.shape[1] == 1:
        short, share = _shortfall(scores[:, 0], labels), np.abs(shares[:, 0])
        rising = np.where(share < ALL * whole, np.maximum(short, 0.0), 0.0)
        return rising + np.where(share > 0.0, np.maximum(-short, 0.0), 0.0)
    losses, parts = _shortfalls(scores, labels), -shares
    own = np.arange(labels.size), labels
    parts[own] = whole + parts[own]
    off = losses.max(axis=1, keepdims=True) - losses
    least = np.broadcast_to((1.0 - ALL) * whole, labels.shape)[:, None]
    return np.asarray(np.where(parts > least, off, 0.0).max(axis=1))


def _shortfall(f: Vector, labels: Ids) -> Vector:
    """Return 1 − y f."""
    return 1.0 - f * (2.0 * labels - 1.0)


def _shortfalls(scores: Vector, labels: Ids) -> Vector:
    """Return f_k + [k != y] − f_y."""
    own = np.arange(labels.size), labels
    short = scores + 1.0 - scores[own][:, None]
    short[own] = 0.0
    return short
