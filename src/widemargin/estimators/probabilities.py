"""``probability=True``: class probabilities whose largest entry is the predicted class."""

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..reductions.calibration import (
    agree_with,
    couple_pairs,
    fit_slopes,
    fit_temperature,
    pair_probabilities,
    softmax,
)
from ..reductions.folds import Keys, row_keys
from ..reductions.held_out import held_out_decisions
from ..reductions.jobs import Schedule
from ..reductions.multiclass import oriented
from .kernel_base import FitData

__all__ = ["ProbabilityMixin"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


def _asked_for(estimator: Any) -> bool:
    if not estimator._gives_probabilities():
        raise AttributeError(
            "predict_proba is not available when probability=False; "
            "fit with probability=True or use CalibratedClassifierCV"
        )
    return True


class ProbabilityMixin:
    """Calibration at the end of a fit, and probabilities from it."""

    def _gives_probabilities(self: Any) -> bool:
        return self.probability is True or self.probability == 1

    def _forget_calibration(self: Any) -> None:
        """Remove what an earlier fit calibrated."""
        for name in ("slopes_", "temperature_"):
            vars(self).pop(name, None)

    def _calibrate(self: Any, data: FitData, labels: Ids, costs: Vector) -> None:
        """Fit slopes or a temperature on decisions of machines that had not seen the rows."""
        warnings.warn(
            "The `probability` parameter was deprecated in scikit-learn 1.9; "
            f"`CalibratedClassifierCV({type(self).__name__}(), ensemble=False)` does the same",
            FutureWarning,
            stacklevel=3,
        )
        schedule = self._schedule(data)
        keys = row_keys(data.X, costs, gram=data.kernel is None)
        if self._trained_by == "joint":
            scores = self._held_out_joint(data, labels, costs, keys)
            self.temperature_ = fit_temperature(scores, labels, data.weights)
        else:
            self._calibrate_pairs(data, labels, costs, keys, schedule)
        limit = schedule.limits.seconds
        if not self.fit_status_ and limit and time.perf_counter() - data.began >= limit:
            warnings.warn(
                f"{type(self).__name__} converged, but calibrating stopped at max_time: its "
                "probabilities rest in part on rows that the machines had seen. Raise max_time",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _calibrate_pairs(
        self: Any, data: FitData, labels: Ids, costs: Vector, keys: Keys, schedule: Schedule
    ) -> None:
        """Fit slopes for each pair of classes, or a temperature for the classes' scores."""
        k = len(self.classes_)
        decisions = held_out_decisions(
            data.rows, self.machines_, labels, costs, keys, self._problem, self._read, schedule
        )
        if self._trained_by == "ovr":
            scores = np.zeros((labels.size, k))
            for machine, values in zip(self.machines_, decisions, strict=True):
                scores[machine.rows, machine.classes[0]] = values
            self.temperature_ = fit_temperature(scores, labels, data.weights)
            return
        slopes = {}
        for machine, values in zip(self.machines_, decisions, strict=True):
            weights = data.weights[machine.rows]
            positive = labels[machine.rows] == machine.classes[0]
            found = fit_slopes(values, positive, weights)
            pair = (min(machine.classes), max(machine.classes))
            slopes[pair] = found if machine.classes == pair else found[::-1]
        self.slopes_ = np.array([slopes[pair] for _, _, pair in oriented(self.machines_)])

    @available_if(_asked_for)  # type: ignore[untyped-decorator]
    def predict_proba(self: Any, X: Any) -> Vector:
        """Return the probability of each class.

        Deterministic, and the most probable class is always the one that ``predict`` returns.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        check_is_fitted(self, "support_")
        if not (hasattr(self, "slopes_") or hasattr(self, "temperature_")):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False; fit again"
            )
        k = len(self.classes_)
        if self._trained_by != "ovo":
            p = softmax(self.temperature_ * self._class_scores(X))
        else:
            decisions = self._class_scores(X) * -1.0 if k == 2 else self._pair_decisions(X)
            first = pair_probabilities(decisions, self.slopes_)
            p = np.column_stack([first, 1.0 - first]) if k == 2 else couple_pairs(first, k)
        return agree_with(p, self._predicted(X))

    @available_if(_asked_for)  # type: ignore[untyped-decorator]
    def predict_log_proba(self: Any, X: Any) -> Vector:
        """Return the logarithm of ``predict_proba``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows, n_classes)
            Log-probabilities.
        """
        return np.log(self.predict_proba(X))
