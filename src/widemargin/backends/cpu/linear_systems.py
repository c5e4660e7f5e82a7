"""Newton directions of a linear machine: how to solve (L + Xᵀ H X) move = −gradient.

X has a constant feature for the bias here, H holds the curvature of the rows, most of which are
zero for a hinge, and L the l2 penalties. Four ways, by shape:

- few features: the Gram matrix in one pass over the rows, Cholesky;
- few curved rows: the matrix of their dot products, by the Woodbury identity, Cholesky;
- many of both: conjugate gradients inside a trust region, see `linear_conjugate`;
- with an l1 penalty: coordinate descent on the Gram matrix, then Cholesky on the support found.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from .linear_conjugate import TrustRegion, conjugate_direction
from .linear_rows import LinearRows

__all__ = [
    "FEW_FEATURES",
    "FEW_ROWS",
    "by_rows",
    "direction",
    "hessian_of",
    "penalised_direction",
    "solve_positive",
]

Vector = NDArray[np.float64]

FEW_FEATURES = 1500
FEW_ROWS = 1500
FEWER_ROWS = 300  # up to so many their matrix takes less time than conjugate gradients
WORKING_SET = 1500
SWEEPS_WORK = 1e8
LEAST_RIDGE = 1e-12


def direction(
    rows: LinearRows,
    curvature: Vector,
    gradient: Vector,
    l2: Vector,
    curved: int,
    accuracy: float,
    region: TrustRegion,
    exact: bool,
) -> Vector:
    """Return the Newton direction without l1 penalties.

    Parameters
    ----------
    rows : LinearRows
        Data.
    curvature, gradient, l2 : array
        Of each row; of each coefficient (the last is the bias if there is one more than features).
    curved : int
        Rows with a curvature that is not zero.
    accuracy : float
        Share of the gradient that conjugate gradients may leave.
    region : TrustRegion
        Bounds their step.
    exact : bool
        Whether it pays to solve exactly where that takes longer, as for kinks hardly rounded off.
    """
    most = FEW_ROWS if exact else FEWER_ROWS
    few_rows = curved <= most and bool((l2[: rows.features] > 0).all())
    if rows.features <= FEW_FEATURES and not (few_rows and curved < rows.features // 2):
        return _by_features(rows, curvature, gradient, l2)
    if few_rows:
        return by_rows(rows, curvature, gradient, l2)
    return conjugate_direction(rows, curvature, gradient, l2, accuracy, region)


def hessian_of(rows: LinearRows, curvature: Vector, l2: Vector) -> Vector:
    """Return L + Xᵀ H X."""
    size = l2.size
    hessian = np.ascontiguousarray(rows.gram(curvature)[:size, :size])
    diagonal = np.einsum("ii->i", hessian)
    diagonal += l2
    return hessian


def solve_positive(matrix: Vector, right: Vector, threads: int) -> Vector:
    """Solve a positive (semi)definite system; what rounding made indefinite gets a small ridge."""
    solution = right.copy()
    _core.solve_positive(matrix, np.atleast_2d(solution), threads)
    return solution


def _by_features(rows: LinearRows, curvature: Vector, gradient: Vector, l2: Vector) -> Vector:
    return solve_positive(hessian_of(rows, curvature, l2), -gradient, rows.threads)


def by_rows(rows: LinearRows, curvature: Vector, gradient: Vector, l2: Vector) -> Vector:
    """Solve for z = H (X m + n), of which there is one for each curved row.

    The weights then move by m = −L⁻¹(g + Xᵀz), so that (H⁻¹ + X L⁻¹ Xᵀ) z = n − X L⁻¹ g, and the
    move n of the bias follows from its own row of the system, l2 n + sum z = −(its gradient).
    """
    d = rows.features
    ids = np.flatnonzero(curvature)
    chosen = rows.taken(ids)
    inverse = 1.0 / l2[:d]
    weighted: Any = (
        chosen.multiply(inverse).tocsr() if hasattr(chosen, "multiply") else (chosen * inverse)
    )
    products = weighted @ chosen.T
    dense = products.toarray() if hasattr(products, "toarray") else products
    system = np.asarray(dense, dtype=np.float64)
    np.einsum("ii->i", system)[:] += 1.0 / curvature[ids]
    right = -np.asarray(weighted @ gradient[:d], dtype=np.float64)
    if l2.size == d:
        z = solve_positive(system, right, rows.threads) if ids.size else right
        return -inverse * (gradient + np.asarray(chosen.T @ z))
    both, ones = right, np.ones(ids.size)
    if ids.size:
        both, ones = solve_positive(system, np.stack([right, ones]), rows.threads)
    bend = float(l2[d] + ones.sum())
    shift = -(float(gradient[d]) + float(both.sum())) / bend if bend > 0 else 0.0
    z = both + shift * ones
    return np.append(-inverse * (gradient[:d] + np.asarray(chosen.T @ z)), shift)


def penalised_direction(
    rows: LinearRows, curvature: Vector, gradient: Vector, x: Vector, l1: Vector, l2: Vector
) -> Vector:
    """Return the minimiser of the quadratic model with the l1 penalties.

    With many features only those move that are not zero or whose gradient exceeds the penalty, of
    the latter the worst.
    """
    if rows.features <= FEW_FEATURES:
        hessian, at = hessian_of(rows, curvature, l2), np.arange(x.size)
    else:
        excess = np.abs(gradient) - l1
        excess[(x != 0) | (l1 == 0)] = np.inf
        order = np.argsort(-excess, kind="stable")[:WORKING_SET]
        at = np.sort(order[excess[order] > 0])
        hessian = _restricted_hessian(rows, curvature, l2, at)
    diagonal = np.einsum("ii->i", hessian)
    diagonal += LEAST_RIDGE * max(float(diagonal.max(initial=0.0)), LEAST_RIDGE)
    gradient, x, l1 = gradient[at], x[at], l1[at]
    move, product = np.zeros(x.size), np.zeros(x.size)
    sweeps = max(1, min(1000, int(SWEEPS_WORK / max(1, x.size) ** 2)))
    _core.descend_quadratic(hessian, gradient, x, l1, move, product, 1e-12, sweeps)
    whole = np.zeros(l2.size)
    whole[at] = _polished(hessian, gradient, x, l1, move, rows.threads)
    return whole


def _restricted_hessian(
    rows: LinearRows, curvature: Vector, l2: Vector, at: NDArray[np.int64]
) -> Vector:
    """Return the rows and columns `at` of L + Xᵀ H X; the columns are copied for the while."""
    features, ids = at[at < rows.features], np.flatnonzero(curvature)
    few = rows.taken(ids if ids.size < rows.count // 2 else np.arange(rows.count))
    bend = curvature[ids] if ids.size < rows.count // 2 else curvature
    columns = few[:, features]
    scaled = (
        columns.multiply(bend[:, None]).tocsr()
        if hasattr(columns, "multiply")
        else (columns * bend[:, None])
    )
    products = columns.T @ scaled
    dense = products.toarray() if hasattr(products, "toarray") else products
    hessian = np.zeros((at.size, at.size))
    k = features.size
    hessian[:k, :k] = dense
    if at.size > k:
        hessian[:k, k] = hessian[k, :k] = np.asarray(columns.T @ bend).ravel()
        hessian[k, k] = bend.sum()
    np.einsum("ii->i", hessian)[:] += l2[at]
    return hessian


def _polished(
    hessian: Vector, gradient: Vector, x: Vector, l1: Vector, move: Vector, threads: int
) -> Vector:
    """Return the exact minimiser on the support that coordinate descent found, if it is better."""
    support = np.flatnonzero((x + move != 0) | (l1 == 0))
    if support.size == 0:
        return move
    signs = np.sign((x + move)[support])
    rest = np.setdiff1d(np.arange(x.size), support)
    base = np.zeros(x.size)
    base[rest] = -x[rest]
    pull = gradient[support] + hessian[np.ix_(support, rest)] @ base[rest] + l1[support] * signs
    exact = base.copy()
    exact[support] = solve_positive(hessian[np.ix_(support, support)], -pull, threads)
    same = (np.sign((x + exact)[support]) == signs) | (l1[support] == 0)

    def value(candidate: Vector) -> float:
        curve = 0.5 * float(candidate @ (hessian @ candidate))
        return float(gradient @ candidate) + curve + float(l1 @ np.abs(x + candidate))

    return exact if bool(same.all()) and value(exact) <= value(move) else move
