"""The largest margin of separable rows, as the shortest vector of a convex hull.

A hyperplane through the origin separates rows z_i = y_i (phi(x_i), constant) with the largest
margin if its normal is the shortest vector of their convex hull ::

    minimise ½ ||sum_i a_i z_i||²   subject to  a >= 0, sum a = 1

which is the problem of a one-class machine whose bounds never bind. The length of that vector is
the margin; it is 0 if no hyperplane separates the rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import CpuKernelData, is_sparse, memory_budget
from ..kernels import Kernel, Linear
from ..problem import one_class
from ..solution import Status
from ..solvers.certified import Options, solve_certified
from ..solvers.monitor import Limits, Monitor

__all__ = ["HomogeneousMargin", "homogeneous_margin"]

Vector = NDArray[np.float64]

ZERO = 1e-7  # a margin below this share of the radius is taken for none
PRECISION = 1e-6  # relative gap


@dataclass(frozen=True)
class HomogeneousMargin:
    """Margin and radius of rows in homogeneous coordinates (phi(x), constant).

    Attributes
    ----------
    margin : float
        Smallest y (w.phi(x) + b) / ||(w, b)|| of the best hyperplane found, 0 if none separates.
    radius : float
        Largest ||(phi(x), constant)||.
    """

    margin: float
    radius: float

    @property
    def mistake_bound(self) -> float:
        """(R / gamma)², which bounds the mistakes of a perceptron; infinite without a margin."""
        return (self.radius / self.margin) ** 2 if self.margin > 0 else float("inf")


def homogeneous_margin(
    X: Any, kernel: Kernel | None, signs: Vector, constant: float, threads: int
) -> HomogeneousMargin:
    """Return the largest margin.

    Parameters
    ----------
    X : array, CSR matrix or list of objects
        Rows; with `kernel` None the rows themselves are the features.
    kernel : Kernel or None
        Kernel with numeric parameters.
    signs : array of ±1
        The class of each row.
    constant : float
        Value of the constant feature, 0 for none.
    threads : int
        Threads to use.
    """
    if kernel is None:
        rows, used = _signed_rows(X, signs, constant), Linear()
    else:
        gram = np.asarray(kernel(X, X), dtype=np.float64) + constant**2
        rows, used = gram * signs[:, None] * signs, None
    data = CpuKernelData(
        rows, used, threads=threads, budget=memory_budget(None), precision="float64"
    )
    problem = one_class(np.ones(signs.size), 1.0 / signs.size)
    radius = float(np.max(data.diagonal)) ** 0.5
    limits = Limits(tolerance=(ZERO * radius) ** 2, gap=PRECISION)
    solution = solve_certified(
        data, problem, [np.arange(signs.size)], problem.start, Monitor(limits), Options()
    )
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    length = max(0.0, float(solution.x @ solution.outputs)) ** 0.5
    margin = float(solution.outputs.min()) / length if length > ZERO * radius else 0.0
    return HomogeneousMargin(max(0.0, margin), radius)


def _signed_rows(X: Any, signs: Vector, constant: float) -> Any:
    column = np.full((signs.size, 1), constant)
    if is_sparse(X):
        wide = sp.hstack([X.astype(np.float64), sp.csr_matrix(column)], format="csr")
        return sp.csr_matrix(wide.multiply(signs[:, None]))
    return np.hstack([X.astype(np.float64), column]) * signs[:, None]
