"""Whether a hyperplane separates two classes, decided with a proof either way.

One linear program, solved by HiGHS, asks for the hyperplane of largest slack ::

    maximise delta   subject to   y_i (w.x_i + b) >= delta,   |w_k| <= 1,   delta <= 1

A positive delta is a separating hyperplane, which is checked row by row against what rounding could
hide. For delta = 0 the multipliers of the rows are convex weights of both classes with one and the
same mean: a point in both hulls, which no hyperplane can have on both sides. The weights are solved
for anew in rational arithmetic. Where floating point leaves both proofs open, and the problem is
not too large, the simplex method in rational arithmetic decides.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.utils import check_X_y

from ..backends.cpu import is_sparse
from .labels import number_labels

__all__ = [
    "Separability",
    "column_scale",
    "linear_separability",
    "near_origin",
    "separate",
    "widest",
]

Vector = NDArray[np.float64]
Row = list[Fraction]

MOST_SUPPORT = 64  # rows whose weights are solved for in rational numbers
MOST_ENTRIES = 20_000  # of a rational tableau
OUT_OF_TIME = 1  # status of scipy.optimize.linprog
LEAST_SECONDS = 1e-3
POLL_SECONDS = 0.1
SEEN = 1e-9  # multipliers above this share of the largest are taken for positive


@dataclass(frozen=True)
class Separability:
    """The answer and its proof.

    Attributes
    ----------
    separable : bool
        Whether w.x + b > 0 for all rows of the second class and < 0 for all of the first, for some
        (w, b).
    coef : array of shape (n_features,) or None
        Such a w.
    intercept : float or None
        Such a b.
    margin : float or None
        Smallest distance of a row from that hyperplane; `SVC` with ``C=inf`` finds the largest.
    weights : array of shape (n_rows,) or None
        Convex weights of each class, by which both classes have the same mean.
    exact : bool
        Whether the proof holds for the very numbers given, rounding included. If not, the answer is
        that of a linear program in floating point.
    """

    separable: bool
    coef: Vector | None
    intercept: float | None
    margin: float | None
    weights: Vector | None
    exact: bool

    def __str__(self) -> str:
        """Return the answer and its proof as a sentence."""
        if self.separable:
            return f"separable: a hyperplane passes all rows at a distance of {self.margin:.3g}"
        assert self.weights is not None
        rows = np.flatnonzero(self.weights)
        listed = ", ".join(f"{i} ({self.weights[i]:.3g})" for i in rows[:12])
        more = f" and {rows.size - 12} more" if rows.size > 12 else ""
        return (
            f"not separable: with the weights in brackets, rows {listed}{more} have the same mean "
            "in both classes"
        )


def linear_separability(X: Any, y: Any) -> Separability:
    """Decide whether a hyperplane separates two classes, with a proof.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_rows, n_features)
        Rows.
    y : array-like of shape (n_rows,)
        Labels of two classes.

    Returns
    -------
    Separability
        The answer, and a separating hyperplane or a point in both convex hulls.

    Notes
    -----
    Cost: one linear program with n_rows constraints; a proof in rational numbers only for up to 64
    rows of positive weight, or 20,000 numbers in all.

    Examples
    --------
    >>> from widemargin import linear_separability
    >>> found = linear_separability([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> found.separable, found.exact
    (False, True)
    >>> print(found.weights)
    [0.5 0.5 0.5 0.5]
    """
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    classes, labels, _ = number_labels("linear_separability", y, None)
    if len(classes) != 2:
        raise ValueError(
            f"y must hold two classes, found {len(classes)}; ask for each class against the rest"
        )
    return separate(X, np.where(labels == 1, 1.0, -1.0))


def separate(X: Any, signs: Vector, deadline: float | None = None) -> Separability:
    """Decide for rows of checked type and classes given as ±1.

    Raises
    ------
    TimeoutError
        If the clock of `time.perf_counter` passes `deadline` first.
    """
    X, centre = near_origin(X)
    scale = column_scale(X)
    w, weights = _linear_program(_scaled(X, scale), signs, deadline)
    found = _separating(X, signs, w / scale) or _meeting(X, signs, weights)
    if found is None and X.shape[0] * (X.shape[1] + 2) <= MOST_ENTRIES:
        found = _rational_simplex(_dense(X), signs)
    if found is None:
        return Separability(False, None, None, None, weights, exact=False)
    return found if found.coef is None else _moved_back(found, centre)


def near_origin(X: Any) -> tuple[Any, Vector]:
    """Return the rows with columns moved towards zero where that rounds nothing, and the moves.

    Two numbers of one sign have an exact difference if neither is more than twice the other, and a
    column that is further from zero than that loses the most digits to its distance.
    """
    centre = np.zeros(X.shape[1])
    if is_sparse(X):
        return X, centre
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    far = (high <= 2.0 * low) | (low >= 2.0 * high)
    centre[far] = 0.5 * low[far] + 0.5 * high[far]
    return (X - centre, centre) if far.any() else (X, centre)


def widest(
    X: Any, signs: Vector, found: Separability, deadline: float | None = None
) -> Separability:
    """Return a hyperplane of nearly the largest margin, of rows that one was found for.

    The linear program with |w_k| <= 1 for the columns as they are finds the largest margin but for
    a factor of sqrt(n_features), if the numbers allow; for scaled columns it may be far from it.
    """
    X, centre = near_origin(X)
    scale = column_scale(X)
    if scale.min() == scale.max():
        return found
    w, _ = _linear_program(_scaled(X, np.full(scale.size, scale.max())), signs, deadline)
    other = _separating(X, signs, w)
    assert found.margin is not None
    if other is None or other.margin is None or other.margin <= found.margin:
        return found
    return _moved_back(other, centre)


def _moved_back(found: Separability, centre: Vector) -> Separability:
    assert found.coef is not None
    assert found.intercept is not None
    return replace(found, intercept=found.intercept - float(found.coef @ centre))


def _scaled(X: Any, scale: Vector) -> Any:
    return X @ sp.diags_array(1.0 / scale) if is_sparse(X) else X / scale


def _dense(X: Any) -> Vector:
    return X.toarray() if is_sparse(X) else X


def column_scale(X: Any) -> Vector:
    """Return powers of two, which scale without rounding, near the largest entry of each column."""
    largest = np.asarray(abs(X).max(axis=0).toarray() if is_sparse(X) else abs(X).max(axis=0))
    exponent = np.ceil(np.log2(np.where(largest > 0, largest, 1.0)))
    return np.exp2(exponent).ravel()


def _linear_program(X: Any, signs: Vector, deadline: float | None = None) -> tuple[Vector, Vector]:
    """Return w and the convex weights of both classes."""
    n, d = X.shape
    options = {}
    if deadline is not None:
        options["time_limit"] = max(deadline - time.perf_counter(), LEAST_SECONDS)
    columns = [-sp.diags_array(signs) @ sp.csr_array(X), -signs[:, None], np.ones((n, 1))]
    bounds = [(-1.0, 1.0)] * d + [(None, None), (0.0, 1.0)]
    answer = _interruptible(
        lambda: linprog(
            np.append(np.zeros(d + 1), -1.0),
            A_ub=sp.hstack(columns, format="csr"),
            b_ub=np.zeros(n),
            bounds=bounds,
            method="highs",
            options=options,
        )
    )
    if answer.status == OUT_OF_TIME and options:
        raise TimeoutError(
            "the time was over before a linear program could tell whether the classes can be "
            "separated; give it more time (max_time), or a finite C"
        )
    if answer.status != 0:
        raise ValueError(f"the linear program could not be solved: {answer.message}")
    weights = np.maximum(-answer.ineqlin.marginals, 0.0)
    weights[weights <= SEEN * weights.max(initial=0.0)] = 0.0
    for side in (signs > 0, signs < 0):
        total = weights[side].sum()
        weights[side] = weights[side] / total if total > 0 else 1.0 / side.sum()
    return np.asarray(answer.x[:d]), weights


def _interruptible(work: Callable[[], Any]) -> Any:
    """Return what a long call returns; Ctrl-C is heard meanwhile and leaves it to end by itself.

    It cannot be stopped, and Python waits for it before it exits: C++ that is still at work then
    would abort the process.
    """
    answer: Future[Any] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run).start()
    while not wait([answer], timeout=POLL_SECONDS).done:
        pass
    return answer.result()


def _separating(X: Any, signs: Vector, w: Vector) -> Separability | None:
    """Return the proof that w separates, if it does whatever rounding may hide."""
    outputs = np.asarray(X @ w)
    low, high = float(outputs[signs > 0].min()), float(outputs[signs < 0].max())
    rounding = (X.shape[1] + 4) * np.finfo(np.float64).eps * float((abs(X) @ abs(w)).max())
    if not low - high > 4 * rounding:
        return None
    length = float(np.linalg.norm(w))
    return Separability(True, w, -0.5 * (low + high), 0.5 * (low - high) / length, None, exact=True)


def _meeting(X: Any, signs: Vector, weights: Vector) -> Separability | None:
    """Return the proof that the hulls meet, from the rows that have weights."""
    support = np.flatnonzero(weights)
    if support.size > MOST_SUPPORT:
        return None
    table = _hull_equations(_dense(X[support]), signs[support])
    solution = _solve(table, support.size)
    if solution is None or min(solution) < 0:
        return None
    exact = np.zeros(signs.size)
    exact[support] = [float(value) for value in solution]
    return Separability(False, None, None, None, exact, exact=True)


def _hull_equations(X: Vector, signs: Vector) -> list[Row]:
    """Return the rows of: sum of +-weights x = 0, weights of each class sum to one."""
    exact = [[Fraction(float(value)) for value in row] for row in X]
    sides = [int(s) for s in signs]
    table = [
        [s * row[k] for s, row in zip(sides, exact, strict=True)] + [Fraction(0)]
        for k in range(X.shape[1])
    ]
    for side in (1, -1):
        table.append([Fraction(int(s == side)) for s in sides] + [Fraction(1)])
    return table


def _solve(table: list[Row], columns: int) -> Row | None:
    """Return a solution of the equations by Gauss-Jordan elimination, or None if there is none."""
    pivots: list[int] = []
    for column in range(columns):
        at = next((r for r in range(len(pivots), len(table)) if table[r][column]), None)
        if at is None:
            continue
        table[len(pivots)], table[at] = table[at], table[len(pivots)]
        _eliminate(table, len(pivots), column)
        pivots.append(column)
    if any(row[-1] for row in table[len(pivots) :]):
        return None
    solution = [Fraction(0)] * columns
    for row, column in enumerate(pivots):
        solution[column] = table[row][-1]
    return solution


def _eliminate(table: list[Row], at: int, column: int) -> None:
    """Make the column a unit vector."""
    pivot = table[at][column]
    table[at] = [value / pivot for value in table[at]]
    for r, row in enumerate(table):
        if r != at and (factor := row[column]):
            table[r] = [a - factor * b for a, b in zip(row, table[at], strict=True)]


def _rational_simplex(X: Vector, signs: Vector) -> Separability:
    """Decide by the first phase of the simplex method in rational numbers, with Bland's rule.

    Artificial variables start as the basis of the hull equations. If their sum falls to zero the
    hulls meet; otherwise the multipliers of the equations are a separating (w, b).
    """
    n, d = X.shape
    table = _hull_equations(X, signs)
    m = d + 2
    table = [row[:-1] + [Fraction(int(r == k)) for k in range(m)] + row[-1:]
             for r, row in enumerate(table)]  # fmt: skip
    cost = [-sum(column) for column in zip(*table, strict=True)]
    for k in range(m):
        cost[n + k] = Fraction(0)
    table.append(cost)
    basis = list(range(n, n + m))
    while (enters := next((j for j in range(n) if table[-1][j] < 0), None)) is not None:
        ratios = [
            (row[-1] / row[enters], basis[r], r)
            for r, row in enumerate(table[:-1])
            if row[enters] > 0
        ]
        _, _, leaves = min(ratios)
        _eliminate(table, leaves, enters)
        basis[leaves] = enters
    if table[-1][-1] == 0:
        weights = np.zeros(n)
        for r, column in enumerate(basis):
            if column < n:
                weights[column] = float(table[r][-1])
        return Separability(False, None, None, None, weights, exact=True)
    # The reduced costs of the rows, which are not negative, are y_i w.x_i plus one number for each
    # class; those numbers have a negative sum, so that w separates.
    w = np.array([float(table[-1][n + k] - 1) for k in range(d)])
    outputs = X @ w
    low, high = float(outputs[signs > 0].min()), float(outputs[signs < 0].max())
    length = float(np.linalg.norm(w))
    margin = max(0.0, 0.5 * (low - high)) / length
    return Separability(True, w, -0.5 * (low + high), margin, None, exact=True)
