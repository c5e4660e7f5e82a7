"""Distances in feature space: of rows from the planes between classes, and across the margin."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..reductions.multiclass import oriented

__all__ = ["MarginMixin"]

Vector = NDArray[np.float64]


class MarginMixin:
    """Geometric margins of a kernel classifier."""

    def margin(self: Any, X: Any, y: Any) -> Vector:
        """Return how far each row lies on its class's side of the planes that bound the class.

        With two classes this is y f(x) / ||w||, in feature space. With more it is the least over
        the planes between the row's class and each other one (one-vs-one: of their machines; joint:
        (f_k - f_j) / ||w_k - w_j||), or the distance from the one plane around the class
        (one-vs-rest). Negative rows are on the wrong side of a plane.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Their labels, all of ``classes_``.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            Distances.
        """
        check_is_fitted(self, "support_")
        y = np.asarray(y)
        labels = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if y.ndim != 1 or not np.array_equal(self.classes_[labels], y):
            raise ValueError(
                f"y must hold one of the labels {self.classes_.tolist()} for each row; "
                "the margin of a row of another class has no meaning"
            )
        k, norms = len(self.classes_), self._plane_norms()
        if k == 2:
            lead = self._class_scores(X)[:, 0] * np.where(labels == 1, 1.0, -1.0)
            return _share(lead, norms[0])
        if self._trained_by == "ovr":
            scores = self._class_scores(X)
            return _share(scores[np.arange(labels.size), labels], norms[labels])
        pairs = list(combinations(range(k), 2))
        if self._trained_by == "ovo":
            leads = self._pair_decisions(X)
        else:
            scores = self._class_scores(X)
            leads = np.stack([scores[:, a] - scores[:, b] for a, b in pairs], axis=1)
        least = np.full(labels.size, np.inf)
        for column, (a, b) in enumerate(pairs):
            distance = _share(leads[:, column], norms[column])
            least = np.where(labels == a, np.minimum(least, distance), least)
            least = np.where(labels == b, np.minimum(least, -distance), least)
        return least

    @property
    def margin_width_(self: Any) -> Any:
        """Width of the margin, 2 / ||w||: a number, or one for each pair or class."""
        check_is_fitted(self, "support_")
        widths = _share(np.asarray(2.0), self._plane_norms())
        return float(widths[0]) if len(self.classes_) == 2 else widths

    def _plane_norms(self: Any) -> Vector:
        """Return ||w|| of each plane: each pair's (of w_a - w_b if joint), or each class's."""
        k = len(self.classes_)
        if self._trained_by == "joint":
            solution = self.machines_[0].solution
            inner = solution.coefficients.T @ solution.outputs  # w_a . w_b
            pairs = combinations(range(k), 2)
            squares = [inner[a, a] + inner[b, b] - 2.0 * inner[a, b] for a, b in pairs]
        elif self._trained_by == "ovo":
            squares = [machine.squared_norm for machine, _, _ in oriented(self.machines_)]
        else:
            ordered = sorted(self.machines_, key=lambda machine: machine.classes)
            squares = [machine.squared_norm for machine in ordered]
        return np.sqrt(np.maximum(squares, 0.0))


def _share(length: Vector, norm: Any) -> Vector:
    """Return length / norm, infinite with the sign of the length where there is no plane."""
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.asarray(length / norm)
    return np.where(np.isnan(distance), 0.0, distance)
