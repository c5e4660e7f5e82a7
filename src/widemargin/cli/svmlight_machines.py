"""The machines of svm_learn: with a threshold (-b 1) or without, and its default cost.

A machine without threshold is trained as one with a threshold, on twice the rows. Beside each row
with image phi and label y goes the mirrored one, with -phi and -y, each at half the cost. If (w, b)
is an optimum of that problem so is (w, -b), hence (w, 0) by convexity, and there both halves lose
the same::

    sum_i C_i/2 [ l(y_i, w.phi_i) + l(-y_i, -w.phi_i) ] = sum_i C_i l(y_i, w.phi_i)

With coefficients c_i and c'_i of the two rows, w = sum_i (c_i - c'_i) phi_i. Cost: that of a fit to
2 n rows.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import is_sparse, values_computed
from ..estimators import SVC, SVR
from ..io.model_text import KernelFacts
from ..io.svmlight_models import expansion
from ..kernels import Kernel
from ..kernels.base import FloatArray, Rows

__all__ = ["Learnt", "Task", "default_cost", "learnt", "squared_distances"]

Vector = NDArray[np.float64]
ROWS_AT_ONCE = 4096
AT_BOUND = 1 - 1e-9


@dataclass(frozen=True)
class Task:
    """What shall be learnt.

    Attributes
    ----------
    facts : KernelFacts
        The kernel.
    costs : array
        C of each row.
    tol : float
        Violation of the optimality conditions that is allowed.
    classes : bool
        Whether y are labels -1 and 1; else they are numbers.
    epsilon : float
        Error that is free, of numbers.
    biased : bool
        Whether the machine has a threshold.
    """

    facts: KernelFacts
    costs: Vector
    tol: float
    classes: bool
    epsilon: float
    biased: bool


@dataclass(frozen=True)
class Learnt:
    """A machine and how it came about.

    Attributes
    ----------
    estimator : SVC or SVR
        Which decides and is written.
    trained : SVC or SVR
        Which has the certificate; another one if there is no threshold.
    alphas : array
        Signed coefficient of each row.
    at_bound : array of bool
        The rows whose coefficient is as large as their cost allows.
    values : array
        The function of each row, with threshold.
    seconds : float
        Of the processors.
    evaluations : int
        Kernel values that the fit computed: none for a linear kernel, solved for its weights.
    """

    estimator: Any
    trained: Any
    alphas: Vector
    at_bound: NDArray[np.bool_]
    values: Vector
    seconds: float
    evaluations: int

    @property
    def norm(self) -> float:
        """Length of w: its square is the sum of alpha_i (f(x_i) - threshold)."""
        bias = float(self.estimator.intercept_[0])
        return max(float(self.alphas @ (self.values - bias)), 0.0) ** 0.5


def learnt(task: Task, X: Any, y: NDArray[Any], kept: NDArray[np.bool_] | None = None) -> Learnt:
    """Train on the rows `kept`, or on all; the others get coefficient 0."""
    kept = np.ones(X.shape[0], dtype=bool) if kept is None else kept
    rows, targets, costs = X[kept], y[kept], task.costs[kept]
    began, counted = time.process_time(), values_computed()
    if task.biased:
        trained = _machine(task, **task.facts.settings()).fit(rows, targets, sample_weight=costs)
        estimator, some = trained, _coefficients(trained, len(targets))
    else:
        trained, some = _without_threshold(task, rows, targets, costs)
        support = np.flatnonzero(some)
        classes = np.array([-1, 1]) if task.classes else None
        estimator = expansion(
            task.facts, rows[support], some[support], 0.0, documents=len(targets), classes=classes
        )
    seconds, evaluations = time.process_time() - began, values_computed() - counted
    alphas = np.zeros(X.shape[0])
    alphas[kept] = some
    return Learnt(
        estimator=estimator,
        trained=trained,
        alphas=alphas,
        at_bound=(np.abs(alphas) >= task.costs * AT_BOUND) & (alphas != 0),
        values=getattr(estimator, "decision_function", estimator.predict)(X),
        seconds=seconds,
        evaluations=evaluations,
    )


def _machine(task: Task, **kernel: Any) -> Any:
    settings = {"C": 1.0, "tol": task.tol} | kernel
    return SVC(**settings) if task.classes else SVR(**settings, epsilon=task.epsilon)


def _coefficients(machine: Any, rows: int) -> Vector:
    coefficients = np.zeros(rows)
    coefficients[machine.support_] = machine._dense_dual_coef[0]
    return coefficients


def _without_threshold(task: Task, X: Any, y: NDArray[Any], costs: Vector) -> tuple[Any, Vector]:
    """Return the machine of the rows and their mirror images, and the coefficients of the rows."""
    stack = sp.vstack if is_sparse(X) else np.vstack
    if task.facts.name == "linear":
        rows, machine = stack([X, -X]), _machine(task, kernel="linear")
    else:
        # A kernel has no mirrored row, so a last column says what sign the image of a row has.
        signs = np.concatenate([np.ones(len(y)), -np.ones(len(y))])[:, None]
        beside = sp.hstack if is_sparse(X) else np.hstack
        rows = beside([stack([X, X]), signs])
        kernel = task.facts.kernel()
        assert kernel is not None
        machine = _machine(task, kernel=_Mirrored(kernel))
    rows = sp.csr_matrix(rows) if is_sparse(rows) else rows
    machine.fit(rows, np.concatenate([y, -y]), sample_weight=np.tile(costs / 2, 2))
    both = _coefficients(machine, 2 * len(y))
    return machine, both[: len(y)] - both[len(y) :]


@dataclass(repr=False)
class _Mirrored(Kernel):
    """A kernel of rows whose last column is the sign of their image."""

    kernel: Kernel

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.kernel.is_positive_semidefinite

    def __call__(self, A: Rows, B: Rows) -> FloatArray:
        signs = [
            np.ravel(rows[:, -1:].toarray() if is_sparse(rows) else rows[:, -1]) for rows in (A, B)
        ]
        values: FloatArray = self.kernel(A[:, :-1], B[:, :-1]) * np.outer(*signs)
        return values

    def diagonal(self, A: Rows) -> FloatArray:
        return self.kernel.diagonal(A[:, :-1])


def squared_distances(X: Any, kernel: Kernel) -> Vector:
    """Return k(x, x) - 2 k(x, 0) + k(0, 0), the squared distance of each row from the origin."""
    origin = X[:1] * 0.0
    squares = np.empty(X.shape[0])
    for first in range(0, X.shape[0], ROWS_AT_ONCE):
        part = X[first : first + ROWS_AT_ONCE]
        squares[first : first + ROWS_AT_ONCE] = (
            kernel.diagonal(part) - 2 * kernel(part, origin)[:, 0] + kernel.diagonal(origin)
        )
    return np.maximum(squares, 0.0)


def default_cost(X: Any, kernel: Kernel) -> float:
    """Return 1 / r² with r the mean of sqrt(k(x, x) - 2 k(x, 0) + k(0, 0))."""
    radius = float(np.sqrt(squared_distances(X, kernel)).mean())
    return radius**-2 if radius > 0 else 1.0
