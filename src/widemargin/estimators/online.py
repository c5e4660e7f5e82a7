"""What all online classifiers share: labels, sweeps, continuing, and what a fit leaves behind."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..backends.cpu import CpuKernelData, count_rows, is_sparse, memory_budget, thread_count
from ..backends.cpu.online import KernelLearner, LinearLearner, Rule
from ..kernels import Kernel
from ..solution import Progress, Status
from ..solvers.monitor import Limits, Monitor
from .labels import known_labels, number_labels
from .scores import ScoreClassifier
from .validation import check_flag, check_number, check_rows, check_weights
from .whole import whole_or_nothing

__all__ = ["OnlineClassifier", "nothing", "stack_rows", "take"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]
Learner = LinearLearner | KernelLearner

FITTED = (
    "_weights",
    "_coefficients",
    "_moves",
    "_scale",
    "_machine",
    "_line",
)  # private attributes


class OnlineClassifier(ScoreClassifier, BaseEstimator):
    """Base of the online classifiers. Subclasses list their parameters in ``__init__``."""

    _keeps_moves = False  # whether prediction needs every move
    _forms: tuple[type[LinearLearner], type[KernelLearner]] = LinearLearner, KernelLearner

    def _rule(self, X: Any) -> Rule:
        raise NotImplementedError

    def _kernel(self, X: Any, importance: Vector | None = None) -> Kernel | None:
        """Return the kernel, or None to learn the weights of the features."""
        return None

    def _teach(self, learner: Any, monitor: Monitor, *, whole: bool) -> Status:
        """Sweep over the rows: until the fit is done if they are the whole data, or once."""
        raise NotImplementedError

    def _finish(self, X: Any, labels: Ids) -> None:
        """Complete a fit after its sweeps, and warn of what it did not reach."""
        raise NotImplementedError

    def _check_settings(self) -> None:
        check_number("max_iter", self.max_iter, low=1, whole=True)
        for name in ("shuffle", "fit_intercept"):
            check_flag(name, getattr(self, name))
        if self.max_time is not None:
            check_number("max_time", self.max_time, low=0, open_low=True)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function or None, found {self.callback!r}")

    # --- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Sweep over the rows until none is mistaken, or to a limit.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels of any type.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, None)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_settings()
        with whole_or_nothing(self, FITTED, keep=False):
            X = check_rows(self, X, y, reset=True, objects=self._takes_objects())
            self.classes_, labels, weights = number_labels(type(self).__name__, y, sample_weight)
            self._forget()
            self._learn(X, labels, self._importance(labels, weights, whole=True), whole=True)
        self._finish(X, labels)
        if self.status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt(self.status_.value)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning from one sweep over some more rows.

        Nothing is assumed about where the rows come from, and none but those that moved a kernel
        machine are kept.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed at the first call only.

        Returns
        -------
        self
            The estimator.
        """
        return self._go_on(X, y, classes, None)

    def _go_on(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        self._check_settings()
        with whole_or_nothing(self, FITTED, keep=True):
            X, labels = self._more(X, y, classes)
            weights = check_weights(sample_weight, labels.size)
            self._learn(X, labels, self._importance(labels, weights, whole=False), whole=False)
        if self.status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt(self.status_.value)
        return self

    def _more(self, X: Any, y: Any, classes: Any) -> tuple[Any, Ids]:
        """Return checked rows and class numbers; the first call learns the classes."""
        first = not hasattr(self, "classes_")
        X = check_rows(self, X, y, reset=first, objects=self._takes_objects())
        labels = known_labels(self, y, classes, first=first)
        if first:
            self._forget()
        return X, labels

    def _forget(self) -> None:
        self.t_ = 0
        self.mistakes_ = 0
        for name in ("_weights", "_coefficients", "_moves", "mistake_bound_"):
            if hasattr(self, name):
                delattr(self, name)

    def _importance(self, labels: Ids, weights: Vector, *, whole: bool) -> Vector | None:
        """Return what the moves of each row are multiplied by; None for ones."""
        return None

    def _learn(self, X: Any, labels: Ids, importance: Vector | None, *, whole: bool) -> None:
        """Sweep over the rows and keep the outcome."""
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        kernel = self._kernel(X, importance)
        learner = (
            self._linear_learner(X, labels, outputs, importance)
            if kernel is None
            else self._kernel_learner(X, labels, outputs, kernel, importance)
        )
        monitor = Monitor(self._limits(int(self.max_iter) if whole else 1), self._report)
        learner.pause = _clock(monitor)
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                status = self._teach(learner, monitor, whole=whole)
            except OutOfTimeError:
                status = Status.TIME_LIMIT
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
        self.status_ = status
        self.converged_ = status.converged
        self.n_iter_ = monitor.iterations
        self.history_ = tuple(monitor.history)
        self.mistakes_ += learner.mistakes
        self.t_ = learner.seen
        self._keep(learner, count_rows(X))

    def _limits(self, sweeps: int) -> Limits:
        return Limits(0.0, None, sweeps, self.max_time)

    def _report(self, progress: Progress) -> bool:
        return self.callback is not None and self.callback(progress) is True

    def _sweeper(self, order: Ids, importance: Vector | None) -> dict[str, Any]:
        if importance is not None:  # rows of no weight are left out
            order = order[importance[order] > 0]
        random = None
        if self.shuffle:
            seed = check_random_state(self.random_state).randint(1 << 31)
            random = np.random.default_rng([seed, self.t_])
        return {
            "order": order,
            "random": random,
            "seen": self.t_,
            "keep_moves": self._keeps_moves,
            "importance": importance,
        }

    def _linear_learner(
        self, X: Any, labels: Ids, outputs: int, importance: Vector | None
    ) -> LinearLearner:
        weights, second = getattr(self, "_weights", (None, None))
        order = np.arange(labels.size)
        return self._forms[0](
            X, labels, outputs, self._rule(X), weights=weights, second=second,
            **self._sweeper(order, importance),
        )  # fmt: skip

    def _kernel_learner(
        self, X: Any, labels: Ids, outputs: int, kernel: Kernel, importance: Vector | None
    ) -> KernelLearner:
        """Return the dual form; the support vectors of earlier calls go before the new rows."""
        self.kernel_ = kernel
        coefficients, second = np.zeros((2, labels.size, outputs))
        rows = X
        if hasattr(self, "_coefficients"):
            before = self._coefficients
            rows = stack_rows(self.support_vectors_, X)
            coefficients, second = (
                np.concatenate([old, new])
                for old, new in zip(before, (coefficients, second), strict=True)
            )
            labels = np.concatenate([np.zeros(len(before[0]), dtype=np.int64), labels])
            if importance is not None:
                importance = np.concatenate([np.zeros(len(before[0])), importance])
        count = coefficients.shape[0]
        data = CpuKernelData(
            rows,
            kernel,
            threads=thread_count(self.n_jobs),
            budget=memory_budget(None),
            precision="float64",
        )
        return self._forms[1](
            data, labels, outputs, self._rule(X), coefficients=coefficients, second=second,
            **self._sweeper(np.arange(count - count_rows(X), count), importance),
        )  # fmt: skip

    # --- what a fit leaves behind ---------------------------------------------------------------

    def _keep(self, learner: Learner, rows: int) -> None:
        self.alpha_ = learner.alpha[-rows:]
        if isinstance(learner, LinearLearner):
            self._weights = learner.weights, learner.second
            self._keep_weights(self._chosen(learner))
        else:
            self._keep_coefficients(learner, learner.labels.size - rows)

    def _chosen(self, learner: Learner) -> Vector:
        """Return the weights or coefficients that decide."""
        if learner.rule.averaged:
            return learner.average
        return learner.weights if isinstance(learner, LinearLearner) else learner.coefficients

    def _keep_weights(self, weights: Vector) -> None:
        self._check_weights(weights)
        constant = self._constant()
        self.coef_ = np.ascontiguousarray(weights[:-1].T)
        self.intercept_ = weights[-1] * constant

    def _keep_coefficients(self, learner: KernelLearner, old: int) -> None:
        chosen = self._chosen(learner)
        if not np.isfinite(chosen).all():
            raise ValueError(
                f"kernel values of {type(self).__name__} overflow: the numbers in X are too large "
                "for this kernel; scale the columns (StandardScaler)"
            )
        used = learner.coefficients.any(axis=1) | learner.second.any(axis=1)
        support = np.flatnonzero(used)
        self.support_ = (support[support >= old] - old).astype(np.int32)
        self.support_vectors_ = take(learner.data.X, support)
        self.dual_coef_ = np.ascontiguousarray(chosen[support].T)
        self.intercept_ = self.dual_coef_.sum(axis=1) * self._constant() ** 2
        self._coefficients = learner.coefficients[support], learner.second[support]

    def _constant(self) -> float:
        return 1.0 if self.fit_intercept else 0.0


class OutOfTimeError(Exception):
    """The time limit was passed in the middle of a sweep."""


def _clock(monitor: Monitor) -> Any:
    def pause() -> None:
        if monitor.out_of_budget() is Status.TIME_LIMIT:
            raise OutOfTimeError

    return pause


def nothing() -> None:
    """Do nothing between parts of the work."""


def take(X: Any, ids: Ids) -> Any:
    """Return some rows of an array, a matrix or a list."""
    return X[ids] if hasattr(X, "shape") else [X[i] for i in ids]


def stack_rows(above: Any, below: Any) -> Any:
    """Return the rows of both, one below the other."""
    if not hasattr(below, "shape"):
        return [*above, *below]
    if is_sparse(above) or is_sparse(below):
        return sp.vstack([sp.csr_matrix(above), sp.csr_matrix(below)], format="csr")
    return np.vstack([above, below])
