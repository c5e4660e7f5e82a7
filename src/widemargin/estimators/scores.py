"""Classifiers that decide by the largest of a few scores: weights, decisions and labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .validation import check_rows

__all__ = ["ScoreClassifier"]

Vector = NDArray[np.float64]


class ScoreClassifier(ClassifierMixin):
    """What online learners and baselines share: scores x.w_k + b_k, one for two classes.

    Subclasses set ``classes_`` and, unless they compute scores otherwise, ``coef_`` and
    ``intercept_``.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _takes_objects(self) -> bool:
        return False

    def _check_weights(self, *weights: Vector) -> None:
        """Require weights that are finite, and whose squares are."""
        with np.errstate(over="ignore", invalid="ignore"):
            finite = all(np.isfinite(np.vdot(values, values)) for values in weights)
        if not finite:
            raise ValueError(
                f"the weights of {type(self).__name__} overflow: the numbers in X are too large; "
                "scale the columns (StandardScaler, MaxAbsScaler)"
            )

    def _scores(self, X: Any) -> Vector:
        """Return the score of each output, shape (rows, outputs)."""
        product = X @ self.coef_.T
        return np.asarray(product, dtype=np.float64) + self.intercept_

    def decision_function(self, X: Any) -> Any:
        """Return the decision values.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray
            Two classes: shape (n_rows,), positive for ``classes_[1]``; otherwise one column for
            each class, the largest of which is the predicted one.
        """
        check_is_fitted(self, "classes_")
        X = check_rows(self, X, reset=False, objects=self._takes_objects())
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Return the label of each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            Labels.
        """
        decisions = self.decision_function(X)
        if len(self.classes_) == 2:
            return self.classes_[(decisions > 0).astype(np.int64)]
        return self.classes_[np.argmax(decisions, axis=1)]
