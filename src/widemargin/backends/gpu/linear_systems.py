"""Newton directions on the GPU: how to solve (L + Xᵀ H X) move = −gradient.

The ways are those of `backends.cpu.linear_systems`: by the Gram matrix of the features where they
are few, by that of the curved rows where these are, else by conjugate gradients; with an l1 penalty
coordinate descent on the Gram matrix, which is small and the host's.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cpu.linear_systems import penalised_direction as penalised_on_host
from .linear_rows import FEW_FEATURES, GpuLinearRows

__all__ = ["by_rows", "direction", "hessian_of", "penalised_direction"]

Vector = NDArray[np.float64]

FEW_ROWS = 1500
CG_STEPS = 250
LEAST_RIDGE = 1e-12


def hessian_of(rows: GpuLinearRows, curvature: Any, l2: Vector, curved: int) -> Any:
    """Return L + Xᵀ H X, on the device."""
    size = l2.size
    hessian = rows.gram(curvature, curved)[:size, :size]
    return hessian + rows.device.xp.diag(rows.device.upload(l2))


def solve(rows: GpuLinearRows, matrix: Any, right: Any) -> Any:
    """Solve a positive system with right sides as rows."""
    return rows.device.solve_positive(matrix, right, rows.threads)


def direction(
    rows: GpuLinearRows, curvature: Any, gradient: Vector, l2: Vector, curved: int, accuracy: float
) -> Vector:
    """Return the Newton direction without l1 penalties; parameters as on the CPU."""
    few_rows = curved <= FEW_ROWS and bool((l2[: rows.features] > 0).all())
    if rows.features <= FEW_FEATURES and not (few_rows and curved < rows.features // 2):
        hessian = hessian_of(rows, curvature, l2, curved)
        right = rows.device.upload(-gradient[None, :])
        return np.asarray(rows.device.download(solve(rows, hessian, right)))[0]
    if few_rows:
        return by_rows(rows, curvature, gradient, l2)
    return _by_conjugate_gradients(rows, curvature, gradient, l2, accuracy)


def by_rows(rows: GpuLinearRows, curvature: Any, gradient: Vector, l2: Vector) -> Vector:
    """Solve for z = H (X m + n), of which there is one for each curved row.

    (H⁻¹ + X L⁻¹ Xᵀ) z = n − X L⁻¹ g, then m = −L⁻¹(g + Xᵀz), and l2 n + sum z = −(the gradient of
    the bias) tells n.
    """
    device, d, soft = rows.device, rows.features, float(l2[0])
    ids = device.xp.flatnonzero(curvature)
    count, pull = int(ids.size), device.upload(gradient[:d])
    if not count:
        shift = -gradient[d:] / np.where(l2[d:] > 0, l2[d:], np.inf)
        return np.append(-gradient[:d] / soft, shift)
    chosen = rows.chosen(ids)
    products = chosen @ chosen.T
    system = (products.toarray() if rows.sparse else products) / soft
    system += device.xp.diag(1.0 / curvature[ids])
    right = -(chosen @ pull) / soft
    found = solve(rows, system, device.xp.stack([right, device.xp.ones(count)]))
    z, shift = found[0], np.zeros(0)
    if l2.size > d:
        bend = float(l2[d] + float(found[1].sum()))
        shift = np.array([-(float(gradient[d]) + float(z.sum())) / bend if bend > 0 else 0.0])
        z = z + float(shift[0]) * found[1]
    move = -(pull + chosen.T @ z) / soft
    return np.append(device.download(move), shift)


def _by_conjugate_gradients(
    rows: GpuLinearRows, curvature: Any, gradient: Vector, l2: Vector, accuracy: float
) -> Vector:
    """Solve roughly; the bias is the last coefficient, every step two passes over the rows."""
    xp, upload, d = rows.device.xp, rows.device.upload, rows.features
    ridge, biased = upload(l2), l2.size > d
    diagonal = ridge.copy()
    diagonal[:d] += rows.squares(curvature)
    if biased:
        diagonal[d] += curvature.sum()
    inverse = 1.0 / xp.maximum(diagonal, LEAST_RIDGE)
    move, residual = xp.zeros(l2.size), upload(-gradient)
    along = inverse * residual
    strength = float(residual @ along)
    enough = accuracy**2 * strength
    for _ in range(CG_STEPS):
        outputs = curvature * rows.times(along[:d], float(along[d]) if biased else 0.0)
        bent = ridge * along
        bent[:d] += rows.sums(outputs)
        if biased:
            bent[d] += outputs.sum()
        bend = float(along @ bent)
        if bend <= 0:
            break
        length = strength / bend
        move += length * along
        residual -= length * bent
        whitened = inverse * residual
        before, strength = strength, float(residual @ whitened)
        if strength <= enough:
            break
        along = whitened + (strength / before) * along
    return np.asarray(rows.device.download(move))


class _FromDevice:
    """The Gram matrix of the device for what the host makes of it."""

    def __init__(self, rows: GpuLinearRows, curved: int) -> None:
        self.rows, self.curved = rows, curved
        self.features, self.threads = rows.features, rows.threads

    def gram(self, curvature: Any) -> Vector:
        gram = self.rows.device.download(self.rows.gram(curvature, self.curved))
        return np.asarray(gram, dtype=np.float64)


def penalised_direction(
    rows: GpuLinearRows,
    curvature: Any,
    gradient: Vector,
    x: Vector,
    l1: Vector,
    l2: Vector,
    curved: int,
) -> Vector:
    """Return the minimiser of the quadratic model with the l1 penalties."""
    host: Any = _FromDevice(rows, curved)
    return penalised_on_host(host, curvature, gradient, x, l1, l2)
