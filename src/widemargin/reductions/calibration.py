"""Probabilities that agree with predictions.

A pair of classes gets p = sigmoid(a f) with one slope a > 0 for positive decisions f and another
for negative ones, each by maximum likelihood on decisions of machines that did not see the row.
Unlike the sigmoid(a f + b) of Platt (1999), p = 1/2 exactly where f = 0, so that the more probable
class is the predicted one. Several pairs are coupled into class probabilities (T.-F. Wu, C.-J. Lin,
R. C. Weng, JMLR 5, 2004, second method); scores of one-vs-rest and joint machines go through a
softmax with one temperature. Where coupling and votes disagree, the predicted class is raised to
the largest probability: the nearest probabilities that agree with the prediction.
"""

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "agree_with",
    "couple_pairs",
    "fit_slopes",
    "fit_temperature",
    "fold_numbers",
    "pair_probabilities",
    "softmax",
]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

LEAST_SLOPE, LARGEST_SLOPE = 1e-3, 1e3
ROWS_AT_ONCE = 1 << 14


def fold_numbers(labels: Ids, folds: int) -> Ids:
    """Return a fold for each row: the rows of each class are dealt out in turn."""
    numbers = np.empty(labels.size, dtype=np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        numbers[members] = np.arange(members.size) % folds
    return numbers


def fit_slopes(decisions: Vector, positive: NDArray[np.bool_], weights: Vector) -> Vector:
    """Return the slopes for negative and for positive decisions, shape (2,).

    Targets are smoothed as Platt proposed, so that slopes stay finite on separable data.
    """
    up, down = float(weights[positive].sum()), float(weights[~positive].sum())
    targets = np.where(positive, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))
    slopes = []
    for side in ((weights > 0) & (decisions <= 0), (weights > 0) & (decisions > 0)):
        slopes.append(_fit_scale(decisions[side], targets[side], weights[side]))
    return np.array(slopes)


def _fit_scale(f: Vector, targets: Vector, weights: Vector) -> float:
    """Return the scale a that maximises the likelihood of sigmoid(a f), by safeguarded Newton."""
    if not f.size or not np.any(f):
        return 1.0

    def slope_and_curvature(a: float) -> tuple[float, float]:
        p = _sigmoid(a * f)
        return float(weights @ ((p - targets) * f)), float(weights @ (p * (1 - p) * f * f))

    return _root(slope_and_curvature)


def fit_temperature(scores: Vector, labels: Ids, weights: Vector) -> float:
    """Return the scale a that maximises the likelihood of softmax(a scores)."""
    own = scores[np.arange(labels.size), labels]

    def slope_and_curvature(a: float) -> tuple[float, float]:
        p = softmax(a * scores)
        mean = (p * scores).sum(axis=1)
        spread = (p * scores**2).sum(axis=1) - mean**2
        return float(weights @ (mean - own)), float(weights @ spread)

    return _root(slope_and_curvature)


def _root(slope_and_curvature: Callable[[float], tuple[float, float]]) -> float:
    """Return where the increasing function crosses zero, within the bounds on slopes."""
    low, high = LEAST_SLOPE, LARGEST_SLOPE
    a = 1.0
    for _ in range(100):
        slope, curvature = slope_and_curvature(a)
        low, high = (low, a) if slope > 0 else (a, high)
        step = a - slope / curvature if curvature > 0 else low
        new = step if low < step < high else float(np.sqrt(low * high))
        if abs(new - a) <= 1e-12 * a:
            return new
        a = new
    return a


def _sigmoid(x: Vector) -> Vector:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def softmax(scores: Vector) -> Vector:
    """Return exp(scores) scaled to sum to one in each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def pair_probabilities(decisions: Vector, slopes: Vector) -> Vector:
    """Return the probability of the first class of each pair.

    Parameters
    ----------
    decisions : array of shape (rows, pairs)
        Positive for the first class of the pair.
    slopes : array of shape (pairs, 2)
        For negative and positive decisions.
    """
    return _sigmoid(decisions * np.where(decisions > 0, slopes[:, 1], slopes[:, 0]))


def couple_pairs(first: Vector, classes: int) -> Vector:
    """Return class probabilities p that fit all pairs: minimal sum of (r_ba p_a - r_ab p_b)²."""
    result = np.empty((first.shape[0], classes))
    for begin in range(0, first.shape[0], ROWS_AT_ONCE):
        part = first[begin : begin + ROWS_AT_ONCE]
        r = np.zeros((part.shape[0], classes, classes))
        for column, (a, b) in enumerate(combinations(range(classes), 2)):
            clipped = np.clip(part[:, column], 1e-7, 1 - 1e-7)
            r[:, a, b], r[:, b, a] = clipped, 1.0 - clipped
        q = -np.swapaxes(r, 1, 2) * r
        diagonal = np.arange(classes)
        q[:, diagonal, diagonal] = (np.swapaxes(r, 1, 2) ** 2).sum(axis=2)
        bordered = np.ones((part.shape[0], classes + 1, classes + 1))
        bordered[:, :classes, :classes] = q
        bordered[:, classes, classes] = 0.0
        right = np.zeros((part.shape[0], classes + 1, 1))
        right[:, classes] = 1.0
        p = np.linalg.solve(bordered, right)[:, :classes, 0]
        p = np.maximum(p, 0.0)
        result[begin : begin + ROWS_AT_ONCE] = p / p.sum(axis=1, keepdims=True)
    return result


def agree_with(probabilities: Vector, chosen: Ids) -> Vector:
    """Return the nearest probabilities whose largest entry is the chosen class.

    The classes above the chosen one share their mean with it (the projection on the cone of such
    vectors), and the chosen one is then ahead by a hair.
    """
    result = probabilities.copy()
    at = np.arange(chosen.size)
    for row in np.flatnonzero(np.argmax(result, axis=1) != chosen):
        p, c = result[row], chosen[row]
        above = np.argsort(-p, kind="stable")
        pooled, total = [c], p[c]
        for k in above:
            if k == c or p[k] <= total / len(pooled):
                continue
            pooled.append(k)
            total += p[k]
        p[pooled] = total / len(pooled)
    hair = 4 * np.finfo(np.float64).eps
    level = result.max(axis=1) == result[at, chosen]
    tied = level & ((result == result.max(axis=1, keepdims=True)).sum(axis=1) > 1)
    result[tied] *= 1 - hair
    result[at[tied], chosen[tied]] += hair
    return result
