"""How sure a classifier's decisions are, given the duality gap of its fit."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..reductions.multiclass import oriented

__all__ = ["CertaintyMixin"]

Vector = NDArray[np.float64]


class CertaintyMixin:
    """Bounds on decision values, and the labels that they leave no doubt about."""

    def decision_bound(self: Any, X: Any) -> Vector:
        """Return how far each machine's decision value can be from that of the exact optimum.

        From the duality gap, |f(x) - f*(x)| <= sqrt(2 gap) ||phi(x)|| plus what the bias may vary.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray
            Shape (n_rows,) for two classes, else one column for each pair (in the order of
            ``decision_function_shape="ovo"``) or class.
        """
        check_is_fitted(self, "support_")
        if self._trained_by == "ovo":
            bounds = self._bounds(X, [machine for machine, _, _ in oriented(self.machines_)])
        else:
            ordered = sorted(self.machines_, key=lambda machine: machine.classes)
            bounds = self._bounds(X, ordered)
        return bounds[:, 0] if len(self.classes_) == 2 else bounds

    def is_certain(self: Any, X: Any) -> NDArray[np.bool_]:
        """Say for which rows the exact optimum predicts the same label, whatever the gap hides.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of bool, shape (n_rows,)
            True where the label cannot change.
        """
        bounds = self.decision_bound(X)
        if len(self.classes_) == 2:
            return np.asarray(np.abs(self._class_scores(X)[:, 0]) > bounds)
        chosen = self._predicted(X)
        at = np.arange(chosen.size)
        if self._trained_by != "ovo":
            scores = self._class_scores(X)
            least = scores[at, chosen] - bounds[at, chosen]
            most = scores + bounds
            most[at, chosen] = -np.inf
            return np.asarray(least > most.max(axis=1))
        decisions = self._pair_decisions(X)
        k = len(self.classes_)
        least_votes, most_votes = np.zeros((2, chosen.size, k), dtype=np.int64)
        for column, (a, b) in enumerate(combinations(range(k), 2)):
            value, bound = decisions[:, column], bounds[:, column]
            least_votes[:, a] += value > bound
            least_votes[:, b] += -value >= bound
            most_votes[:, a] += value > -bound
            most_votes[:, b] += -value >= -bound
        least = least_votes[at, chosen]
        most_votes[at, chosen] = -1
        return np.asarray(least > most_votes.max(axis=1))
