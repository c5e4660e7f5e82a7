"""What svm_learn says about new rows: XiAlpha and leave-one-out estimates, and its option -i.

Leaving row i out makes an error only if the fit to all rows has::

    rho alpha_i R² + xi_i >= 1,    R = the largest distance of a row from the origin

With rho = 2 this is a theorem for kernels that are not negative; rho = 1, the default of svm_learn,
is what data show. d rows like this give error <= d / n; counted by class they bound recall and
precision. Cost: one decision value a row.

The extended estimate (-k above 0) puts a distance of the row's own in the place of R. The share
alpha_i that leaves the solution with the row may go to rows that are not at their bound; where
their mean m is near phi_i, little changes. A row is cleared if::

    alpha_i |phi_i - m|² + xi_i < 1

for the mean m of 1, ..., k such rows, each chosen as the one that brings m nearest. Cost: k + 1
rows of kernel values for each row that R did not clear.

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
from .svmlight_machines import Learnt

__all__ = ["left_out", "rates", "without_inconsistent", "xi_alpha", "xi_alpha_extended"]

Vector = NDArray[np.float64]
Rows = NDArray[np.bool_]
Fit = Callable[[Rows], Learnt]


def xi_alpha(sizes: Vector, margins: Vector, squared_radius: float, rho: float) -> Rows:
    """Return the rows with rho alpha R² + xi >= 1, where xi = max(0, 1 - margin)."""
    return np.asarray(rho * sizes * squared_radius + np.maximum(1 - margins, 0.0) >= 1.0)


def xi_alpha_extended(
    wrong: Rows, sizes: Vector, margins: Vector, free: Rows, X: Any, kernel: Kernel, depth: int
) -> Rows:
    """Return the rows of `wrong` that means of up to `depth` free rows do not clear.

    Parameters
    ----------
    wrong : array of bool
        The rows that `xi_alpha` found.
    sizes, margins : array
        alpha and y f(x) of each row.
    free : array of bool
        Rows with 0 < alpha < C.
    X : array or CSR matrix
        All rows.
    kernel : Kernel
        Of phi.
    depth : int
        The most rows in a mean, at least 1.
    """
    chosen = np.flatnonzero(free)
    vectors, squares = X[chosen], kernel.diagonal(X[chosen])
    left = wrong.copy()
    for row in np.flatnonzero(wrong).tolist():
        itself = X[row : row + 1]
        nearest = _squared_distance(
            kernel, kernel(itself, vectors)[0], vectors, squares, chosen != row, depth
        )
        xi = max(1 - margins[row], 0.0)
        left[row] = sizes[row] * (kernel.diagonal(itself)[0] + nearest) + xi >= 1.0
    return left


def _squared_distance(
    kernel: Kernel, products: Any, vectors: Any, squares: Any, allowed: Rows, depth: int
) -> float:
    """Return the least |m|² - 2 <phi, m> over the greedily growing means m, or 0 without any."""
    open_rows, least = allowed.copy(), np.inf
    inside = np.zeros(len(squares))  # sum over the chosen p of k(p, j)
    total, linear = 0.0, 0.0  # sum over the chosen p, q of k(p, q); and of <phi, p>
    for count in range(1, depth + 1):
        if not open_rows.any():
            break
        values = (total + squares + 2 * inside) / count**2 - 2 * (linear + products) / count
        best = int(np.argmin(np.where(open_rows, values, np.inf)))
        least = min(least, float(values[best]))
        total += squares[best] + 2 * inside[best]
        linear += products[best]
        inside += kernel(vectors[best : best + 1], vectors)[0]
        open_rows[best] = False
    return 0.0 if np.isinf(least) else least


def rates(wrong: NDArray[np.bool_], y: NDArray[Any]) -> tuple[float, float, float]:
    """Return error, recall and precision in per cent, if the rows `wrong` are errors."""
    positive = y > 0
    found = int((positive & ~wrong).sum())
    false = int((~positive & wrong).sum())
    precision = 100 * found / (found + false) if found + false else float("nan")
    return 100 * float(wrong.mean()), 100 * found / int(positive.sum()), precision


def left_out(
    fit: Fit, y: NDArray[Any], whole: Learnt, squared_radius: float, rho: float
) -> tuple[Rows, int]:
    """Return which rows are wrong by the machine of all others, and how many fits it took.

    Two kinds of rows need no fit. One that `xi_alpha` clears is taken as right, as svm_learn takes
    it: with rho = 2 that is proven, and a row with alpha = 0 changes nothing when it leaves. A row
    of margin below 0 stays wrong: f minimises F + l and f' minimises F, so F(f') <= F(f) and
    F(f) + l(f) <= F(f') + l(f'); hence its loss l(f') >= l(f) > 1.

    Parameters
    ----------
    fit : callable
        Returns the machine of the rows that are marked.
    y : array
        Labels 1 and -1.
    whole : Learnt
        The machine of all rows.
    squared_radius, rho : float
        As in `xi_alpha`.
    """
    margins = y * whole.values
    wrong = xi_alpha(np.abs(whole.alphas), margins, squared_radius, rho)
    open_rows = np.flatnonzero(wrong & (margins >= 0))
    for row in open_rows.tolist():
        kept = np.ones(len(y), dtype=bool)
        kept[row] = False
        wrong[row] = y[row] * fit(kept).values[row] <= 0
    return wrong, len(open_rows)


def without_inconsistent(fit: Fit, y: NDArray[Any]) -> tuple[Learnt, Rows]:
    """Fit, drop the rows whose coefficients are at their bounds, and fit again until none is.

    Returns
    -------
    Learnt
        The last machine: it has the rows that were kept on the right side with margin 1.
    kept : array of bool
        Its rows.
    """
    kept = np.ones(len(y), dtype=bool)
    while True:
        found = fit(kept)
        if not found.at_bound.any():
            return found, kept
        kept &= ~found.at_bound
        if len(np.unique(y[kept])) < 2:
            raise ValueError(
                f"svm_learn: -i 1 would remove all rows of one class, since "
                f"{int(found.at_bound.sum())} coefficients are at their bound; give a larger cost "
                "with -c"
            )
