"""Tables that drive the property tests: kernels, instruction sets, storages, and problems.

Each problem comes with its primal and dual objective as a textbook writes them, in terms of
weights, slack and bias, so that they share nothing with the quadratic program that is solved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin import _core, problem
from widemargin.kernels import (
    RBF,
    ChiSquared,
    Cosine,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    VectorKernel,
)
from widemargin.problem import Problem

Array = NDArray[Any]

INSTRUCTION_SETS: list[str] = _core.instruction_sets()

# One of each formula that the compiled core knows.
KERNELS: dict[str, VectorKernel] = {
    "linear": Linear(),
    "polynomial": Polynomial(degree=3, gamma=0.5, coef0=0.75),
    "rbf": RBF(gamma=0.3),
    "sigmoid": Sigmoid(gamma=0.2, coef0=-0.1),
    "laplacian": Laplacian(gamma=0.1),
    "chi_squared": ChiSquared(gamma=0.2),
    "intersection": Intersection(),
    "cosine": Cosine(),
}


# --- storages ------------------------------------------------------------------------------------


def csr(X: Array, starts: type, columns: type) -> sparse.csr_array:
    """Return `X` in compressed sparse rows with the given integer types."""
    rows = sparse.csr_array(X)
    rows.indptr, rows.indices = rows.indptr.astype(starts), rows.indices.astype(columns)
    return rows


def read_only(X: Array) -> Array:
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X: Array) -> Array:
    """Return `X` as a view with gaps both ways and rows in reverse order in memory."""
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan, dtype=X.dtype)
    view = wide[::-2, 1::3]
    view[...] = X
    return view


STORAGES: dict[str, Callable[[Array], Any]] = {
    "dense": np.ascontiguousarray,
    "columns first": np.asfortranarray,
    "strided": strided,
    "read only": read_only,
    "csr": lambda X: csr(X, np.int32, np.int32),
    "csr wide": lambda X: csr(X, np.int64, np.int64),
    "csr wide starts": lambda X: csr(X, np.int64, np.int32),
}


# --- problems ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Everything a learner may be told about its rows, beside the kernel."""

    signs: Array
    targets: Array
    weights: Array
    diagonal: Array
    nu: float = 0.3
    epsilon: float = 0.1


# Objectives take the task, the kernel matrix, the variables and the multipliers of the groups.
Objective = Callable[[Task, Array, Array, Any], Any]


def half_square(K: Array, coefficients: Array) -> Any:
    """Return ½ |w|² of w = sum_i coefficients_i phi(z_i)."""
    return coefficients @ (K @ coefficients) / 2


def hinge(values: Array) -> Array:
    return np.maximum(values, 0)


def sides(x: Array) -> tuple[Array, Array]:
    """Return how far each row of a regression is pulled up and down, both not negative."""
    up, down = x.reshape(2, -1)
    return up, -down


def c_svc_primal(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    f = K @ x + multipliers[0]
    return half_square(K, x) + task.weights @ hinge(1 - task.signs * f)


def c_svc_dual(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    return abs(x).sum() - half_square(K, x)


def nu_svc_primal(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    bias, rho = (multipliers[0] + multipliers[1]) / 2, (multipliers[1] - multipliers[0]) / 2
    slack = hinge(rho - task.signs * (K @ x + bias))
    return half_square(K, x) - task.nu * rho * task.weights.sum() + task.weights @ slack


def nu_svc_dual(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    return -half_square(K, x)


def epsilon_svr_primal(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    up, down = sides(x)
    f = K @ (up - down) + multipliers[0]
    loss = task.weights @ hinge(abs(task.targets - f) - task.epsilon)
    return half_square(K, up - down) + loss


def epsilon_svr_dual(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    up, down = sides(x)
    pull = up - down
    return task.targets @ pull - task.epsilon * (up + down).sum() - half_square(K, pull)


def nu_svr_primal(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    up, down = sides(x)
    bias, tube = (multipliers[0] + multipliers[1]) / 2, (multipliers[0] - multipliers[1]) / 2
    f = K @ (up - down) + bias
    # Two hinges, for the tube of a point that is not optimal may have a negative width.
    slack = hinge(task.targets - f - tube) + hinge(f - task.targets - tube)
    return half_square(K, up - down) + task.nu * tube * task.weights.sum() + task.weights @ slack


def nu_svr_dual(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    up, down = sides(x)
    return task.targets @ (up - down) - half_square(K, up - down)


def one_class_primal(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    rho = -multipliers[0]
    slack = task.weights @ hinge(rho - K @ x)
    return half_square(K, x) - task.nu * task.weights.sum() * rho + slack


def one_class_dual(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    return -half_square(K, x)


def svdd_primal(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    """Return ½ T² (R² + sum_i weights_i max(0, |phi(z_i) - c|² - R²) / T) with T = nu n."""
    total = task.nu * task.weights.sum()
    centre = x / total
    inner = centre @ (K @ centre)
    radius = inner + 2 * multipliers[0] / total
    outside = hinge(task.diagonal - 2 * (K @ centre) + inner - radius)
    return total * total / 2 * (radius + task.weights @ outside / total)


def svdd_dual(task: Task, K: Array, x: Array, multipliers: Any) -> Any:
    total = task.nu * task.weights.sum()
    centre = x / total
    return total * total / 2 * (centre @ task.diagonal - centre @ (K @ centre))


@dataclass(frozen=True)
class ProblemCase:
    """One learner: how it is stated, and its objectives written naively."""

    state: Callable[[Task], Problem]
    primal: Objective
    dual: Objective


PROBLEMS: dict[str, ProblemCase] = {
    "c_svc": ProblemCase(lambda t: problem.c_svc(t.signs, t.weights), c_svc_primal, c_svc_dual),
    "nu_svc": ProblemCase(
        lambda t: problem.nu_svc(t.signs, t.weights, t.nu), nu_svc_primal, nu_svc_dual
    ),
    "epsilon_svr": ProblemCase(
        lambda t: problem.epsilon_svr(t.targets, t.weights, t.epsilon),
        epsilon_svr_primal,
        epsilon_svr_dual,
    ),
    "nu_svr": ProblemCase(
        lambda t: problem.nu_svr(t.targets, t.weights, t.nu), nu_svr_primal, nu_svr_dual
    ),
    "one_class": ProblemCase(
        lambda t: problem.one_class(t.weights, t.nu), one_class_primal, one_class_dual
    ),
    "svdd": ProblemCase(
        lambda t: problem.svdd(t.diagonal, t.weights, t.nu), svdd_primal, svdd_dual
    ),
}


@dataclass(frozen=True)
class Data:
    """Rows, kernel, and a task on them."""

    X: Array
    kernel: Kernel
    task: Task


def draw_data(
    rows: int,
    *,
    features: int = 5,
    seed: int = 0,
    kernel: VectorKernel = KERNELS["rbf"],
    weights: float | None = None,
    dtype: type = np.float64,
) -> Data:
    """Return noisy rows of two classes; weights are random unless one is given for all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)).astype(dtype)
    if kernel.non_negative:
        X = abs(X)
    surface = X[:, 0] * X[:, -1] + np.sin(X[:, 0])
    targets = surface + 0.3 * rng.normal(size=rows)
    signs = np.where(targets > np.median(targets), 1.0, -1.0)
    drawn = rng.uniform(0.5, 2.0, rows) if weights is None else np.full(rows, float(weights))
    return Data(X, kernel, Task(signs, targets, drawn, np.float64(kernel.diagonal(X))))


def exact_kernel(kernel: VectorKernel, X: Array) -> Array:
    """Return the kernel matrix by the naive formula in extended precision."""
    X = X.astype(np.longdouble)
    base = {"dot": lambda a: X @ a, "l1": lambda a: abs(X - a).sum(axis=1)}[kernel.base]
    norms = (X * X).sum(axis=1)
    return kernel.formula(np.stack([base(a) for a in X]), norms[:, None], norms)
