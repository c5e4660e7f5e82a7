"""How well a fitted classifier obeys the conditions of its optimum, row by row."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..reductions.machines import Machine
from ..solution import JointSolution, LinearSolution
from .margin_report import numbered, planes
from .validation import check_rows, check_weights

__all__ = ["KKTReport", "RowConditions", "kkt_report"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

ALMOST = 1e-12  # share of a bound that rounding may take
JOINT = (
    "kkt_report reads machines of two classes, found one of all classes; its kkt_violation_ holds "
    "the total, or fit with multi_class='ovo' or 'ovr'"
)


@dataclass(frozen=True)
class RowConditions:
    """The conditions of one machine with two classes, for each of its rows.

    With alpha the dual variables, m = y f(x) and the slack xi = max(0, 1 − m), the optimum has ::

        alpha = 0  →  m >= 1        0 < alpha < C  →  m = 1        alpha = C  →  m <= 1

    Attributes
    ----------
    name : str
        The classes it separates.
    rows : array of int
        Numbers of the training rows.
    alpha, margin, slack, residual : array of shape (n_rows,)
        alpha, m, xi, and by how much m misses what alpha asks for.
    at_bound : array of bool
        Whether alpha is C.
    stationarity : float
        Largest component of w − sum alpha_i y_i phi(x_i) where w is known by itself, as those of
        linear machines and hard margins of a linear kernel are; 0 by construction otherwise.
    balance : float
        |sum alpha_i y_i|, which a free bias asks to be 0 (a penalised one, to be b).
    primal, dual : float
        Objectives.
    """

    name: str
    rows: Ids
    alpha: Vector
    margin: Vector
    slack: Vector
    residual: Vector
    at_bound: NDArray[np.bool_]
    stationarity: float
    balance: float
    primal: float
    dual: float

    @property
    def worst(self) -> int:
        """The number of the row with the largest residual."""
        return int(self.rows[int(np.argmax(self.residual))])

    def __str__(self) -> str:
        """Return the conditions and how well each holds."""
        support = int(np.count_nonzero(self.alpha))
        bound = int(np.count_nonzero(self.at_bound))
        zero, free = self.alpha == 0, (self.alpha > 0) & ~self.at_bound
        lines = [
            f"{self.name}: {self.rows.size} rows, {support} support vectors "
            f"({support - bound} free, {bound} at the bound)"
        ]
        for text, chosen in (
            ("alpha = 0      asks for y f >= 1", zero),
            ("0 < alpha < C  asks for y f  = 1", free),
            ("alpha = C      asks for y f <= 1", self.at_bound),
        ):
            if chosen.any():
                off = self.residual[chosen]
                row = int(self.rows[chosen][int(np.argmax(off))])
                missed = f"missed by {off.max():.2g} at row {row}" if off.max() > 0 else "holds"
                lines.append(f"  {text}   {missed}")
        lines.append(f"  w = sum of alpha y phi(x)          missed by {self.stationarity:.2g}")
        lines.append(f"  sum of alpha y (and b, penalised)  missed by {self.balance:.2g}")
        gap = (self.primal - self.dual) / max(abs(self.primal), abs(self.dual), 1e-300)
        lines.append(f"  primal {self.primal:.8g}, dual {self.dual:.8g}: relative gap {gap:.2g}")
        return "\n".join(lines)


@dataclass(frozen=True)
class KKTReport:
    """How well the machines of a classifier obey the conditions of their optimum.

    Attributes
    ----------
    machines : tuple of RowConditions
        Each machine, row by row.
    violation : float
        The largest residual of all.
    gap : float
        Relative duality gap of all machines together.
    tolerance : float
        What the verdict allows a residual to be.
    """

    machines: tuple[RowConditions, ...]
    violation: float
    gap: float
    tolerance: float

    @property
    def optimal(self) -> bool:
        """Whether no residual exceeds the tolerance."""
        return self.violation <= self.tolerance

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        share = f"the objective is within {100 * max(self.gap, 0.0):.2g} % of the optimum"
        if self.optimal:
            return f"The conditions hold to {self.violation:.2g}; {share}."
        return (
            f"The conditions are missed by {self.violation:.2g}, more than {self.tolerance:.2g}; "
            f"{share}. Lower tol or gap_tol for a point nearer to it."
        )

    def __str__(self) -> str:
        """Return all machines and the verdict."""
        return "\n".join([*(str(machine) for machine in self.machines), self.verdict])


def kkt_report(
    estimator: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *,
    tolerance: float = 1e-3,
) -> KKTReport:  # fmt: skip
    """Return how well a fitted classifier obeys the conditions of its optimum, row by row.

    Parameters
    ----------
    estimator : SVC, NuSVC, LinearSVC, SubgradientSVC or Pegasos
        Fitted, with two classes, one-vs-one or one-vs-rest; hinge loss.
    X, y : array-like, default=None
        The training rows and labels, which linear machines do not keep.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, if a linear machine was fitted with them.
    tolerance : float, default=1e-3
        The largest residual that the verdict calls optimal.

    Returns
    -------
    KKTReport
        Residuals of each row, totals, and a verdict in plain text.

    Examples
    --------
    >>> from widemargin import SVC, kkt_report
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> report = kkt_report(SVC(kernel="linear", C=0.3).fit(X, y))
    >>> report.optimal, report.machines[0].alpha.round(3)
    (True, array([0.122, 0.3  , 0.3  , 0.122]))
    """
    check_is_fitted(estimator, "classes_")
    if hasattr(estimator, "machines_"):
        machines = [_of_machine(estimator, machine) for machine in estimator.machines_]
    else:
        machines = _of_weights(estimator, X, y, sample_weight)
    violations = [max(float(m.residual.max(initial=0.0)), m.stationarity) for m in machines]
    primal, dual = sum(m.primal for m in machines), sum(m.dual for m in machines)
    gap = (primal - dual) / max(abs(primal), abs(dual), 1e-300)
    return KKTReport(tuple(machines), max(violations), gap, float(tolerance))


def _residual(alpha: Vector, at_bound: Any, margin: Vector) -> Vector:
    short, over = np.maximum(1.0 - margin, 0.0), np.maximum(margin - 1.0, 0.0)
    return np.where(at_bound, 0.0, short) + np.where(alpha > 0, over, 0.0)


def _of_machine(estimator: Any, machine: Machine) -> RowConditions:
    solution = machine.solution
    if isinstance(solution, JointSolution):
        raise ValueError(JOINT)
    named = [str(estimator.classes_[c]) if c >= 0 else "the rest" for c in machine.classes]
    largest = float(np.abs(machine.coefficients).max(initial=0.0))
    scale = float(np.abs(solution.x).max(initial=0.0)) / largest if largest > 0 else 1.0
    f = solution.outputs / scale + machine.bias
    # The class of a row without a coefficient follows from its slack.
    rest = np.where(machine.slacks > 0, 1.0 - machine.slacks, np.abs(f))
    margin = np.where(machine.coefficients != 0, np.sign(machine.coefficients) * f, rest)
    alpha = np.abs(machine.coefficients)
    return RowConditions(
        name=" against ".join(named),
        rows=machine.rows,
        alpha=alpha,
        margin=margin,
        slack=np.maximum(0.0, 1.0 - margin),
        residual=_residual(alpha, machine.bounded, margin),
        at_bound=machine.bounded,
        stationarity=_distance_from_sum(estimator, machine),
        balance=abs(float(machine.coefficients.sum())),
        primal=solution.certificate.primal,
        dual=solution.certificate.dual,
    )


def _distance_from_sum(estimator: Any, machine: Machine) -> float:
    """Return how far w, if it is known by itself, is from the sum that the coefficients make."""
    if machine.weights is None:
        return 0.0
    coefficients = np.zeros(int(estimator.shape_fit_[0]))
    coefficients[machine.rows] = machine.coefficients
    made = estimator.support_vectors_.T @ coefficients[estimator.support_]
    return float(np.abs(machine.weights - np.asarray(made)).max(initial=0.0))


def _of_weights(estimator: Any, X: Any, y: Any, sample_weight: Any) -> list[RowConditions]:
    """Return the conditions of machines that keep weights and dual variables but no rows."""
    name = type(estimator).__name__
    loss, penalty = getattr(estimator, "loss", "hinge"), getattr(estimator, "penalty", "l2")
    if not hasattr(estimator, "duality_gap_") or (loss, penalty) != ("hinge", "l2"):
        raise ValueError(
            f"kkt_report is for support vector classifiers with hinge loss and squared penalty, "
            f"found {name} with loss={loss!r}, penalty={penalty!r}; its kkt_violation_, if any, "
            "holds the total"
        )
    if X is None or y is None:
        raise ValueError(f"{name} keeps no rows: pass the X and y it was fitted with")
    k, labels = len(estimator.classes_), numbered(estimator, y)
    X = check_rows(estimator, X, y, reset=False, objects=hasattr(estimator, "dual_coef_"))
    if hasattr(estimator, "alpha_"):
        weights = check_weights(sample_weight, labels.size) * estimator.class_weight_[labels]
        return [_of_pegasos(estimator, X, labels, weights)]
    if any(isinstance(s, JointSolution) for s in estimator.solutions_):
        raise ValueError(JOINT)
    weights = check_weights(sample_weight, labels.size) * estimator.class_weight_[labels]
    every, kind = np.arange(labels.size), planes(estimator)
    parts = []
    for m, solution in enumerate(estimator.solutions_):
        if k == 2 or kind == "ovr":
            positive, other, rows = (1, 0, every) if k == 2 else (m, -1, every)
        else:
            positive, other = list(combinations(range(k), 2))[m]
            rows = np.flatnonzero((labels == positive) | (labels == other))
        rest = str(estimator.classes_[other]) if other >= 0 else "the rest"
        title = f"{estimator.classes_[positive]} against {rest}"
        signs = np.where(labels[rows] == positive, 1.0, -1.0)
        parts.append(_of_linear(estimator, solution, X, rows, signs, weights[rows], title))
    return parts


def _of_linear(
    estimator: Any, solution: LinearSolution, X: Any, rows: Ids, signs: Vector, weights: Vector,
    title: str,
) -> RowConditions:  # fmt: skip
    factor = estimator._factor(float(weights.sum()))
    hard = estimator.lam is None and np.isinf(float(estimator.C))  # and nothing is at a bound
    share = np.abs(solution.shares)
    pull = factor * weights * solution.shares
    mine = X if rows.size == X.shape[0] else X[rows]
    off = solution.weights - np.asarray(mine.T @ pull, dtype=np.float64)
    total = float(pull.sum())
    reach = float(estimator.intercept_scaling) ** 2 if estimator.penalize_intercept else 0.0
    balance = abs(solution.bias - reach * total) if reach else abs(total)
    margin = signs * (np.asarray(mine @ solution.weights, dtype=np.float64) + solution.bias)
    at_bound = (share >= 1.0 - ALMOST) & (not hard)
    return RowConditions(
        name=title,
        rows=rows,
        alpha=np.abs(pull),
        margin=margin,
        slack=np.maximum(0.0, 1.0 - margin),
        residual=np.where(weights > 0, _residual(share, at_bound, margin), 0.0),
        at_bound=at_bound,
        stationarity=float(np.abs(off).max(initial=0.0)),
        balance=balance if estimator.fit_intercept else 0.0,
        primal=solution.certificate.primal,
        dual=solution.certificate.dual,
    )


def _of_pegasos(estimator: Any, X: Any, labels: Ids, weights: Vector) -> RowConditions:
    alpha = estimator.alpha_
    if alpha.ndim > 1:
        raise ValueError(JOINT)
    signs = np.where(labels == 1, 1.0, -1.0)
    f = np.asarray(estimator.decision_function(X), dtype=np.float64)
    pull, constant = alpha * signs, float(estimator.fit_intercept)
    if hasattr(estimator, "coef_"):
        off = estimator.coef_[0] - np.asarray(X.T @ pull, dtype=np.float64)
        balance = abs(float(estimator.intercept_[0]) - constant * float(pull.sum()))
    else:  # in feature space, where only outputs can be compared
        support = np.flatnonzero(alpha)
        rows = X[support] if hasattr(X, "shape") else [X[i] for i in support]
        off = f - (np.asarray(estimator.kernel_(X, rows)) + constant) @ pull[support]
        balance = 0.0
    costs = weights / (estimator.lam_ * float(weights.sum()))
    at_bound = alpha >= costs * (1.0 - ALMOST)
    margin = signs * f
    return RowConditions(
        name=f"{estimator.classes_[1]} against {estimator.classes_[0]}",
        rows=np.arange(labels.size),
        alpha=alpha,
        margin=margin,
        slack=np.maximum(0.0, 1.0 - margin),
        residual=np.where(weights > 0, _residual(alpha, at_bound, margin), 0.0),
        at_bound=at_bound,
        stationarity=float(np.abs(off).max(initial=0.0)),
        balance=balance,
        primal=estimator.primal_objective_,
        dual=estimator.dual_objective_,
    )
