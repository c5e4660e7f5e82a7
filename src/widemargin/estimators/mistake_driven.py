"""What the perceptron's family adds to online classifiers: when to stop, and the mistake bound."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..backends.cpu import thread_count
from ..reductions.hard_margin import homogeneous_margin
from ..solution import Status
from ..solvers.monitor import Monitor
from ..solvers.perceptron import perceptron
from .online import OnlineClassifier
from .validation import check_flag, check_number

__all__ = ["MistakeDriven"]

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]


class MistakeDriven(OnlineClassifier):
    """Base of the classifiers that sweep until no row is mistaken."""

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.tol is not None:
            check_number("tol", self.tol, low=0)
        check_number("n_iter_no_change", self.n_iter_no_change, low=1, whole=True)
        check_flag("mistake_bound", self.mistake_bound)

    def _learn(self, X: Any, labels: Ids, importance: Vector | None, *, whole: bool) -> None:
        if whole:
            self._check_bound()
        super()._learn(X, labels, importance, whole=whole)

    def _teach(self, learner: Any, monitor: Monitor, *, whole: bool) -> Status:
        tolerance, patience = self.tol if whole else None, int(self.n_iter_no_change)
        return perceptron(learner, monitor, tolerance=tolerance, patience=patience)

    def _finish(self, X: Any, labels: Ids) -> None:
        if self.mistake_bound and self.status_ is not Status.INTERRUPTED:
            self.mistake_bound_ = self._bound(X, labels)
        if self.status_ in (Status.ITERATION_LIMIT, Status.TIME_LIMIT) and self.tol is not None:
            warnings.warn(
                f"{type(self).__name__} {self.status_.value} after {self.mistakes_} mistakes on "
                f"{self.t_} rows seen. Raise max_iter or max_time, or set tol to stop when the "
                "mistakes no longer fall.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_bound(self) -> None:
        if self.mistake_bound and len(self.classes_) > 2:
            raise ValueError(
                f"mistake_bound=True needs two classes, found {len(self.classes_)}; "
                "fit one class against the rest"
            )

    def _bound(self, X: Any, labels: Ids) -> float:
        kernel, constant = self._kernel(X), self._constant()
        signs = np.where(labels == 1, 1.0, -1.0)
        found = homogeneous_margin(X, kernel, signs, constant, thread_count(self.n_jobs))
        return found.mistake_bound
