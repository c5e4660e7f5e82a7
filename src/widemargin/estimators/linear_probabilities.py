"""Probabilities of linear classifiers: direct from a logistic loss, else by ``calibrate``."""

from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..losses import Logistic, Loss
from ..reductions.calibration import (
    agree_with,
    couple_pairs,
    fit_slopes,
    fit_temperature,
    pair_probabilities,
    softmax,
)
from ..reductions.folds import distinct_rows, folds_by_content, row_keys
from .linear_search import LinearSearch
from .validation import check_number, check_weights

__all__ = ["LinearProbabilities"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

CALIBRATED = ("slopes_", "temperature_")


def _gives_probabilities(estimator: Any) -> bool:
    if not (estimator._logistic() or any(hasattr(estimator, name) for name in CALIBRATED)):
        raise AttributeError(
            "predict_proba is not available: give loss='logistic', or call calibrate(X, y) after "
            "the fit, with rows that it has not seen or with cv=5"
        )
    return True


class LinearProbabilities(ClassifierMixin, LinearSearch):
    """Linear classifiers that tell probabilities, the largest being that of ``predict``."""

    classes_: Any

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _multi_class(self) -> str:
        return str(self.multi_class) if len(self.classes_) > 2 else "ovr"

    def _logistic(self) -> bool:
        """Whether each machine's decision is the logarithm of odds."""
        return isinstance(self._loss(), Logistic) and self.multi_class != "crammer_singer"

    def _drop_calibration(self) -> None:
        for name in CALIBRATED:
            self.__dict__.pop(name, None)

    def calibrate(
        self, X: Any, y: Any, sample_weight: Any = None, *, cv: int | None = None
    ) -> Self:
        """Learn how decisions become probabilities; the machines stay as they are.

        A pair of classes gets p = sigmoid(a f), with one slope a for each sign of the decision f;
        several classes against the rest get a softmax of their decisions with one temperature.
        Both keep the most probable class the predicted one.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows: such as the fit has not seen, or those of the fit together with ``cv``.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        cv : int, default=None
            If given, decisions come from so many machines, each fitted without its part of X:
            equal rows of a class are in the same part, wherever they stand.

        Returns
        -------
        self
            The estimator, which now has ``predict_proba``; the next fit takes it away.
        """
        check_is_fitted(self, "coef_")
        X = self._rows(X, y, reset=False)
        y = column_or_1d(y, warn=True)
        weights = check_weights(sample_weight, y.size)
        strange = ~np.isin(y, self.classes_) & (weights > 0)
        if strange.any():
            found = np.unique(y[strange]).tolist()
            raise ValueError(f"y holds {found!r}, which the fit has not seen; leave such rows out")
        labels = np.searchsorted(self.classes_, y).astype(np.int64)
        labels = np.minimum(labels, len(self.classes_) - 1)  # of rows without weight
        scores = self._scores(X) if cv is None else self._held_out(X, y, labels, weights, cv)
        self._drop_calibration()
        if len(self.classes_) > 2 and self._multi_class() != "ovo":
            self.temperature_ = fit_temperature(scores, labels, weights)
        else:
            self.slopes_ = self._fit_slopes(scores, labels, weights)
        return self

    def _held_out(self, X: Any, y: Any, labels: Ids, weights: Vector, cv: int) -> Vector:
        """Return scores of machines that gave the row no weight."""
        check_number("cv", cv, low=2, whole=True)
        keys = row_keys(X, weights)
        members = [labels == c for c in range(len(self.classes_))]
        fewest = min(distinct_rows(keys[rows], weights[rows]) for rows in members)
        if fewest < 2:
            raise ValueError(
                f"cv={cv} needs at least 2 different rows of each class, found {fewest}; calibrate "
                "without cv on other rows"
            )
        folds = folds_by_content(keys, labels, weights, min(int(cv), fewest))
        scores = None
        for fold in range(int(folds.max()) + 1):
            one = clone(self).fit(X, y, np.where(folds == fold, 0.0, weights))
            found = one._scores(X)
            scores = found if scores is None else scores
            scores[folds == fold] = found[folds == fold]
        assert scores is not None
        return scores

    def _fit_slopes(self, scores: Vector, labels: Ids, weights: Vector) -> Vector:
        """Return two slopes for each pair of classes, or of the one machine of two classes."""
        k = len(self.classes_)
        if k == 2:
            return fit_slopes(scores[:, 0], labels == 1, weights)[None]
        slopes = []
        for column, (a, b) in enumerate(combinations(range(k), 2)):
            rows = (labels == a) | (labels == b)
            slopes.append(fit_slopes(scores[rows, column], labels[rows] == a, weights[rows]))
        return np.array(slopes)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Vector:
        """Return the probability of each class; the largest is that of the predicted one.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows, n_classes)
            1 / (1 + exp(−f)) of a machine with logistic loss, divided by their sum where each class
            stands against the rest and coupled where each pair does; or what ``calibrate`` learnt.
        """
        scores, k = self._scores(X), len(self.classes_)
        if hasattr(self, "temperature_"):
            p = softmax(self.temperature_ * scores)
        elif k == 2 or self._multi_class() == "ovo":
            slopes = getattr(self, "slopes_", np.ones((scores.shape[1], 2)))
            first = pair_probabilities(scores, slopes)
            p = np.column_stack([1.0 - first, first]) if k == 2 else couple_pairs(first, k)
        else:
            shares = np.exp(-np.logaddexp(0.0, -scores))
            p = shares / shares.sum(axis=1, keepdims=True)
        return agree_with(p, self._chosen(scores))

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Vector:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows, n_classes)
            log of ``predict_proba``, without underflow for two classes of a logistic loss.
        """
        check_is_fitted(self, "coef_")
        if len(self.classes_) == 2 and not hasattr(self, "slopes_"):
            scores = self._scores(X)[:, 0]
            return -np.logaddexp(0.0, np.stack([scores, -scores], axis=1))
        return np.log(self.predict_proba(X))

    def _chosen(self, scores: Vector) -> Ids:
        """Return the class number that the scores of a row predict."""
        raise NotImplementedError
