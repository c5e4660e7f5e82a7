"""What OneClassSVM and SVDD share."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from ..problem import Problem
from ..reductions.jobs import Job
from ..reductions.machines import Machine, read_machine
from .kernel_base import FitData, KernelEstimator
from .validation import check_number, check_weights

__all__ = ["KernelDetector"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class KernelDetector(OutlierMixin, KernelEstimator):
    """Base of the kernel detectors."""

    def _problem(self, data: FitData, rows: Ids, weights: Vector) -> Problem:
        raise NotImplementedError

    def _keep(self, data: FitData, problem: Problem, machine: Machine) -> None:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows; with ``kernel="precomputed"`` their kernel matrix.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: 2 counts as the row twice, 0 as the row left out.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_settings()
        with self._whole_or_nothing():
            X, sample_weight = self._arrive(X, sample_weight)
            X = self._rows(X, reset=True)
            weights = check_weights(sample_weight, X.shape[0] if hasattr(X, "shape") else len(X))
            data = self._open(X, weights)
            rows = np.flatnonzero(weights > 0)
            problem = self._problem(data, rows, weights[rows])
            (solution,) = self._solve(data, [Job(problem, [rows], self._start(problem, ()))])
            machine = read_machine(problem, solution, rows)
            self.machines_ = [machine]
            self._keep_certificate([solution])
            self.n_iter_ = solution.iterations
            self._keep(data, problem, machine)
        self._warn_or_stop()
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("nu", self.nu, low=0, high=1, open_low=True)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 for rows like the training rows and -1 for outliers.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            +1 where the decision value is at least zero, else -1.
        """
        return np.where(np.asarray(self.decision_function(X)) >= 0, 1, -1)

    def score_samples(self, X: Any) -> Any:
        """Return the decision value before the offset is taken off; larger is more usual.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            ``decision_function(X) + offset_``.
        """
        return self.decision_function(X) + self._like(np.asarray(self.offset_), X)

    @staticmethod
    def _nudge(machine: Machine) -> float:
        """Return how much the boundary moves out so that the rows on it count as inside.

        Rows between their bounds lie on the boundary, but only as exactly as it is known; without
        this rounding would decide which of them are called outliers.
        """
        return 2.0 * machine.solution.certificate.violation + 1e-11 * abs(machine.bias)

    def _coefficients(self, machine: Machine) -> tuple[Ids, Vector]:
        support = machine.support
        self.n_support_ = np.array([support.size], dtype=np.int32)
        return support, machine.coefficients[machine.coefficients != 0][None]
