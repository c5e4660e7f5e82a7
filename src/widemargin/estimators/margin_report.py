"""Margins of any classifier: y f(x), and distances in feature space."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .validation import check_rows

__all__ = ["Margins", "margins", "numbered", "planes"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Margins:
    """How far rows are on the right side.

    Attributes
    ----------
    functional : array of shape (n_rows,)
        m = y f(x), which is not a distance: scaling f changes it. With many classes, by how much
        the row's class is ahead of the next, or its own machine's decision (one-vs-rest).
    geometric : array of shape (n_rows,)
        z = m / ||w||, the signed distance from the plane in feature space; with many classes that
        to the nearest plane of the row's class.
    width : float or None
        2 / ||w||: the width of the margin of a machine with two classes.
    """

    functional: Vector
    geometric: Vector
    width: float | None

    @property
    def margin(self) -> float:
        """The margin of the classifier on these rows: the smallest distance."""
        return float(self.geometric.min())

    def __str__(self) -> str:
        """Return the smallest margin and the number of errors as a sentence."""
        wrong = int(np.count_nonzero(self.functional <= 0))
        return (
            f"smallest margin {self.margin:.3g} (y f(x) = {self.functional.min():.3g}), "
            f"{wrong} of {self.functional.size} rows on the wrong side"
        )


def margins(estimator: Any, X: Any, y: Any) -> Margins:
    """Return the margins of rows.

    Parameters
    ----------
    estimator : classifier
        Fitted: a kernel machine or anything with ``coef_`` and ``intercept_``.
    X : array-like or CSR matrix of shape (n_rows, n_features)
        Rows.
    y : array-like of shape (n_rows,)
        Their labels.

    Returns
    -------
    Margins
        y f(x), distances in feature space, and the width of the margin.

    Examples
    --------
    >>> from widemargin import SVC, margins
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> found = margins(SVC(kernel="linear", C=10.0).fit(X, y), X, y)
    >>> found.functional.round(3), found.geometric.round(3), round(found.width, 3)
    (array([2., 1., 1., 2.]), array([2., 1., 1., 2.]), 2.0)
    """
    check_is_fitted(estimator, "classes_")
    labels = numbered(estimator, y)
    if hasattr(estimator, "machines_"):
        functional = _leads(estimator, X, labels)
        geometric = np.asarray(estimator.margin(X, y), dtype=np.float64)
        width = estimator.margin_width_ if len(estimator.classes_) == 2 else None
        return Margins(functional, geometric, width)
    if not hasattr(estimator, "coef_"):
        raise ValueError(
            f"{type(estimator).__name__} has neither machines_ nor coef_, so that nothing is known "
            "of ||w||; margins are for kernel machines and linear classifiers"
        )
    coef = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else estimator.coef_
    X = check_rows(estimator, X, reset=False, objects=False)
    scores = np.asarray(X @ coef.T, dtype=np.float64) + estimator.intercept_
    kind, k = planes(estimator), len(estimator.classes_)
    if k == 2:
        functional = np.where(labels == 1, scores[:, 0], -scores[:, 0])
        norm = float(np.linalg.norm(coef[0]))
        width = 2.0 / norm if norm > 0 else np.inf
        return Margins(functional, _over(functional, norm), width)
    if kind == "ovr":
        own = scores[np.arange(labels.size), labels]
        return Margins(own, _over(own, np.linalg.norm(coef, axis=1)[labels]), None)
    pairs = list(combinations(range(k), 2))
    if kind == "joint":
        scores = np.stack([scores[:, a] - scores[:, b] for a, b in pairs], axis=1)
        coef = np.stack([coef[a] - coef[b] for a, b in pairs])
    least, nearest = np.full((2, labels.size), np.inf)
    for (a, b), lead, w in zip(pairs, scores.T, coef, strict=True):
        for one, side in ((a, 1.0), (b, -1.0)):
            mine = labels == one
            distance = _over(side * lead, float(np.linalg.norm(w)))
            least = np.where(mine, np.minimum(least, side * lead), least)
            nearest = np.where(mine, np.minimum(nearest, distance), nearest)
    return Margins(least, nearest, None)


def planes(estimator: Any) -> str:
    """Say what the rows of ``coef_`` separate: pairs, a class from the rest, or all jointly."""
    kind = getattr(estimator, "multi_class", "joint")
    return {"crammer_singer": "joint", "multinomial": "joint"}.get(kind, kind)


def _over(length: Vector, norm: Any) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.asarray(length / norm, dtype=np.float64)
    return np.where(np.isnan(distance), 0.0, distance)


def numbered(estimator: Any, y: Any) -> Ids:
    """Return the number of the class of each label."""
    y, classes = column_or_1d(y), estimator.classes_
    labels = np.minimum(np.searchsorted(classes, y), len(classes) - 1).astype(np.int64)
    known = classes[labels] == y
    if not known.all():
        raise ValueError(
            f"y holds the label {y[~known][0]!s}, which is none of the classes {classes.tolist()}"
        )
    return labels


def _leads(estimator: Any, X: Any, labels: Ids) -> Vector:
    """Return y f(x) of kernel machines, by the planes that `margin` measures."""
    k, at = len(estimator.classes_), np.arange(labels.size)
    if k == 2:
        f = estimator._class_scores(X)[:, 0]
        return np.where(labels == 1, f, -f)
    if estimator._trained_by == "ovr":
        return np.asarray(estimator._class_scores(X)[at, labels])
    pairs = list(combinations(range(k), 2))
    if estimator._trained_by == "ovo":
        leads = estimator._pair_decisions(X)
    else:
        scores = estimator._class_scores(X)
        leads = np.stack([scores[:, a] - scores[:, b] for a, b in pairs], axis=1)
    least = np.full(labels.size, np.inf)
    for (a, b), lead in zip(pairs, leads.T, strict=True):
        least = np.where(labels == a, np.minimum(least, lead), least)
        least = np.where(labels == b, np.minimum(least, -lead), least)
    return least
