"""What svm_learn says about new rows: XiAlpha and leave-one-out estimates, and its option -i.

Leaving row i out makes an error only if the fit to all rows has::

    rho alpha_i R² + xi_i >= 1,    R = the largest distance of a row from the origin

With rho = 2 this is a theorem for kernels that are not negative; rho = 1, the default of svm_learn,
is what data show. d rows like this give error <= d / n; counted by class they bound recall and
precision. Cost: one decision value a row.

References
----------
T. Joachims, "Estimating the generalization performance of an SVM efficiently", ICML 2000.

Examples
--------
>>> import numpy as np
>>> from widemargin.cli.svmlight_estimates import rates
>>> y = np.array([1, 1, 1, 1, -1, -1, -1, -1])
>>> wrong = np.array([True, False, False, False, True, False, False, False])
>>> rates(wrong, y)  # 2 of 8 rows; 3 of 4 positive ones found; 3 of 4 found ones positive
(25.0, 75.0, 75.0)
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel

__all__ = [
    "left_out",
    "rates",
    "squared_distances",
    "without_inconsistent",
    "xi_alpha",
]

ROWS_AT_ONCE = 4096
Fit = Callable[[NDArray[np.bool_]], Any]


def squared_distances(X: Any, kernel: Kernel) -> NDArray[np.float64]:
    """Return k(x, x) - 2 k(x, 0) + k(0, 0), the squared distance of each row from the origin."""
    origin = X[:1] * 0.0
    squares = np.empty(X.shape[0])
    for first in range(0, X.shape[0], ROWS_AT_ONCE):
        part = X[first : first + ROWS_AT_ONCE]
        squares[first : first + ROWS_AT_ONCE] = (
            kernel.diagonal(part) - 2 * kernel(part, origin)[:, 0] + kernel.diagonal(origin)
        )
    return np.maximum(squares, 0.0)


def xi_alpha(
    alphas: NDArray[np.float64], margins: NDArray[np.float64], squared_radius: float, rho: float
) -> NDArray[np.bool_]:
    """Return the rows with rho alpha R² + xi >= 1, where xi = max(0, 1 - margin)."""
    return np.asarray(rho * alphas * squared_radius + np.maximum(1 - margins, 0.0) >= 1.0)


def rates(wrong: NDArray[np.bool_], y: NDArray[Any]) -> tuple[float, float, float]:
    """Return error, recall and precision in per cent, if the rows `wrong` are errors."""
    positive = y > 0
    found = int((positive & ~wrong).sum())
    false = int((~positive & wrong).sum())
    precision = 100 * found / (found + false) if found + false else float("nan")
    return 100 * float(wrong.mean()), 100 * found / int(positive.sum()), precision


def left_out(
    fit: Fit, X: Any, y: NDArray[Any], margins: NDArray[np.float64], tol: float
) -> tuple[NDArray[np.bool_], int]:
    """Return which rows are wrong by the machine of all others, and how many fits it took.

    Two kinds of rows need no fit. A row of margin above 1 has alpha = 0: without it the optimum
    is the same. A row of margin below 0 stays wrong: f minimises F + l and f' minimises F, so
    F(f') <= F(f) and F(f) + l(f) <= F(f') + l(f'); hence its loss l(f') >= l(f) > 1. The bound of
    `xi_alpha` is no reason to skip a row here: with rho < 2 it is no proof.

    Parameters
    ----------
    fit : callable
        Returns the machine of the rows that are marked.
    X, y
        All rows, labels 1 and -1.
    margins : array
        y f(x) by the machine of all rows.
    tol : float
        To which the margins are known.
    """
    wrong = margins < -tol
    open_rows = np.flatnonzero((margins >= -tol) & (margins <= 1 + tol))
    fits = 0
    for row in open_rows.tolist():
        kept = np.ones(len(y), dtype=bool)
        kept[row] = False
        if (y[kept] != y[row]).all():
            wrong[row] = True
            continue
        wrong[row] = y[row] * fit(kept).decision_function(X[row : row + 1])[0] <= 0
        fits += 1
    return wrong, fits


def without_inconsistent(fit: Fit, y: NDArray[Any]) -> tuple[Any, NDArray[np.bool_]]:
    """Fit, drop the rows whose coefficients are at their bounds, and fit again until none is.

    Returns
    -------
    estimator
        The last machine: it has the rows that were kept on the right side with margin 1.
    kept : array of bool
        Its rows.
    """
    kept = np.ones(len(y), dtype=bool)
    while True:
        estimator = fit(kept)
        machine = estimator.machines_[0]
        at_bound = machine.rows[machine.bounded & (machine.coefficients != 0)]
        if not len(at_bound):
            return estimator, kept
        kept[np.flatnonzero(kept)[at_bound]] = False
        if len(np.unique(y[kept])) < 2:
            raise ValueError(
                f"svm_learn: -i 1 would remove all rows of one class, since {len(at_bound)} "
                "coefficients are at their bound; give a larger cost with -c"
            )
