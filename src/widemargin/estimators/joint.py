"""``multi_class="joint"``: all classes learnt in one problem, without bias."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.choice import open_joint_data
from ..reductions.folds import Keys, folds_by_content
from ..reductions.held_out import FOLDS
from ..reductions.machines import Machine
from ..solution import JointSolution, Status
from ..solvers.joint import solve_joint
from ..solvers.monitor import Monitor
from .kernel_base import FitData
from .progress import ProgressLine

__all__ = ["JointMixin"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class JointMixin:
    """Fitting the machine of Crammer and Singer, one column of coefficients for each class."""

    def _fit_joint(self: Any, data: FitData, labels: Ids, costs: Vector) -> None:
        """Fit and keep one machine for all classes."""
        line = ProgressLine(self.tol) if self.verbose else None
        try:
            solution = self._solve_joint(data, labels, costs, self._joint_start(labels), line)
        finally:
            if line is not None:
                line.close()
        k = len(self.classes_)
        self.machines_ = [_column(solution, labels, self.C * costs, c) for c in range(k)]
        self._keep_certificate([solution])
        self._trained_by = "joint"
        coefficients = solution.coefficients.T
        support, starts = self._support(labels, (coefficients != 0).any(axis=0))
        self.intercept_ = np.zeros(k)
        self.n_iter_ = np.full(k, solution.iterations, dtype=np.int32)
        self._keep_support(data, support, coefficients[:, support], starts[[0, -1]])

    def _solve_joint(
        self: Any, data: FitData, labels: Ids, costs: Vector, start: Any, line: Any = None
    ) -> JointSolution:
        schedule = self._schedule(data, line)
        monitor = Monitor(schedule.limits, schedule.reporter, schedule.began)
        costs = float(self.C) * costs
        try:
            return solve_joint(open_joint_data(data.rows), labels, costs, start, monitor)
        except FloatingPointError as overflow:
            raise ValueError(str(overflow)) from None

    def _joint_start(self: Any, labels: Ids) -> Vector:
        """Return the last coefficients with ``warm_start``, else zeros."""
        shape = (labels.size, len(self.classes_))
        if self.warm_start and getattr(self, "_trained_by", "") == "joint":
            last = self.machines_[0].solution.coefficients
            if last.shape == shape:
                return np.asarray(last)
        return np.zeros(shape)

    def _held_out_joint(self: Any, data: FitData, labels: Ids, costs: Vector, keys: Keys) -> Vector:
        """Return the scores of each row by a machine in which it had no weight."""
        whole = self.machines_[0].solution
        scores = whole.outputs.copy()
        folds = folds_by_content(keys, labels, costs, FOLDS)
        for fold in range(FOLDS):
            outside = folds == fold
            rest = np.where(outside, 0.0, costs)
            if np.bincount(labels, rest, minlength=len(self.classes_)).min() > 0:
                part = self._solve_joint(data, labels, rest, whole.coefficients)
                if part.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt
                scores[outside] = part.outputs[outside]
        return scores


def _column(solution: JointSolution, labels: Ids, costs: Vector, c: int) -> Machine:
    """Return the machine of one class: its column of coefficients, and the slack of each row."""
    outputs = solution.outputs
    at = np.arange(labels.size)
    rivals = outputs - outputs[at, labels][:, None] + 1.0
    rivals[at, labels] = 0.0
    coefficients = solution.coefficients[:, c]
    return Machine(
        classes=(c, -1),
        rows=at,
        coefficients=coefficients,
        bias=0.0,
        bias_bound=0.0,
        squared_norm=max(0.0, float((coefficients * outputs[:, c]).sum())),
        weight_bound=float(np.sqrt(2.0 * solution.certificate.gap)),
        slacks=np.maximum(rivals.max(axis=1), 0.0),
        bounded=(labels == c) & (coefficients >= costs),
        solution=solution,
    )
