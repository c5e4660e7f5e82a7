"""The hard margin of linear machines: decided by a linear program, then found as a soft one.

A separating (w0, b0) with margins of at least one bounds the penalty of the best one; and that is
the sum of the dual variables of the largest margin. A cost above it binds none of them: the soft
margin of such a cost *is* the hard one, and the linear program has proven that there is one.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import LinearPoint, is_sparse, take_rows
from ..losses import Hinge
from ..reductions.linear import LinearJob
from ..solution import LinearSolution
from .separability import Separability, separate

__all__ = ["hard_job", "hard_solution"]

Vector = NDArray[np.float64]

ROOM = 2.0  # above the smallest cost that binds nothing
SHORT = 1e-5  # of the margin, which is made up for


def hard_job(job: LinearJob) -> LinearJob:
    """Return the soft-margin problem whose solution is the hard margin.

    Raises
    ------
    ValueError
        With the proof, if no hyperplane separates the classes.
    """
    data: Any = job.data
    problem = job.problem
    used = np.flatnonzero(problem.costs > 0)
    found = _separate(take_rows(data.rows.X, used), problem.targets[used], problem.bias)
    if not found.separable:
        raise ValueError(
            "C=inf allows no margin errors, but the classes cannot be separated: "
            f"{_with_numbers(found, used, problem.bias)}; give a finite C"
        )
    assert found.coef is not None
    assert found.margin is not None
    assert found.intercept is not None
    length = max(found.margin * float(np.linalg.norm(found.coef)), 1e-150)
    w, b = found.coef / length, found.intercept / length
    cost = ROOM * (problem.l2 * float(w @ w) + problem.bias_l2 * b * b)
    costs = np.where(problem.costs > 0, cost, 0.0)
    return replace(job, problem=replace(problem, loss=Hinge(), costs=costs))


def _separate(X: Any, signs: Vector, bias: bool) -> Separability:
    """Decide; without a bias each row has a mirror image in the other class."""
    if bias:
        return separate(X, signs)
    both = sp.vstack([X, -X], format="csr") if is_sparse(X) else np.vstack([X, -X])
    return separate(both, np.concatenate([signs, -signs]))


def _with_numbers(found: Separability, used: NDArray[np.int64], bias: bool) -> str:
    """Return the proof, with the numbers that the rows have in X."""
    assert found.weights is not None
    weights = found.weights if bias else found.weights[: used.size] + found.weights[used.size :]
    spread = np.zeros(int(used[-1]) + 1)
    spread[used] = weights
    mirrored = "" if bias else " (and their mirror images, as there is no intercept)"
    return str(replace(found, weights=spread)).removeprefix("not separable: ") + mirrored


def hard_solution(job: LinearJob, solution: LinearSolution) -> LinearSolution:
    """Return the solution stretched so that no row falls short of the margin."""
    data: Any = job.data
    problem, used = job.problem, job.problem.costs > 0
    outputs = data.outputs(solution.weights, solution.bias)
    least = float((problem.targets * outputs)[used].min())
    if least < 1.0 - SHORT:  # not converged; the status says so
        return solution
    w, b = solution.weights / least, solution.bias / least
    point = LinearPoint(np.append(w, b) if problem.bias else w, solution.shares)
    point, certificate = data.certify(problem, point)
    return replace(solution, weights=w, bias=b, shares=point.shares, certificate=certificate)
