"""The hard margin of linear machines: decided by a linear program, then found as a soft one.

A separating (w0, b0) with margins of at least one bounds the penalty of the best one; and that is
the sum of the dual variables of the largest margin. A cost above it binds none of them: the soft
margin of such a cost *is* the hard one, and the linear program has proven that there is one.

Neither a shift of the rows nor a power of two that multiplies them rounds anything. So the rows are
first moved near the origin, if a free bias allows it, and scaled until the margin is about one.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import CpuLinearData, LinearPoint, is_sparse, take_rows
from ..losses import Hinge
from ..problem import LinearProblem
from ..reductions.linear import LinearJob
from ..reductions.machines import NotSeparableError
from ..solution import Certificate, LinearSolution
from ..solvers.monitor import Limits
from .separability import Separability, near_origin, separate, widest

__all__ = ["HardJob", "deadline_of", "hard_job", "hard_solution"]

Vector = NDArray[np.float64]

ROOM = 2.0  # above the smallest cost that binds nothing
SHORT = 1e-5  # of the margin, which is made up for


@dataclass(frozen=True)
class HardJob(LinearJob):
    """The soft-margin problem whose solution is the hard margin, of rows (x - centre) factor.

    `weights` are those of the rows before, which here are the same for all that count.
    """

    centre: Any = 0.0
    factor: float = 1.0
    weights: Any = None


def deadline_of(limits: Limits) -> float | None:
    """Return the time of `time.perf_counter` at which a fit that begins now has to end."""
    return None if limits.seconds is None else time.perf_counter() + limits.seconds


def hard_job(job: LinearJob, deadline: float | None) -> HardJob:
    """Return the soft-margin problem whose solution is the hard margin.

    Raises
    ------
    NotSeparableError
        With the proof, if no hyperplane separates the classes.
    TimeoutError
        If the clock of `time.perf_counter` passes `deadline` before that is known.
    """
    data: Any = job.data
    problem = job.problem
    used = np.flatnonzero(problem.costs > 0)
    X, centre = data.rows.X, np.zeros(data.features)
    if problem.bias and problem.bias_l2 == 0:
        X, centre = near_origin(X)
    numbers = used if job.numbers is None else job.numbers[used]
    w, b = _separating(take_rows(X, used), problem, used, numbers, deadline)
    factor = 2.0 ** np.round(np.log2(np.linalg.norm(w)))  # of X; of w its reciprocal
    w = w / factor
    bias_l2 = problem.bias_l2 / factor**2
    cost = ROOM * (problem.l2 * float(w @ w) + bias_l2 * b * b)
    costs = np.where(problem.costs > 0, cost, 0.0)
    scaled = replace(problem, loss=Hinge(), costs=costs, bias_l2=bias_l2)
    moved = CpuLinearData(X * factor, data.rows.threads)
    return HardJob(scaled, moved, None, job.numbers, centre, float(factor), problem.costs)


def _separating(
    X: Any,
    problem: LinearProblem,
    used: NDArray[np.int64],
    numbers: NDArray[np.int64],
    deadline: float | None,
) -> tuple[Vector, float]:
    """Return a hyperplane (w, b) with margins of at least one; or raise, with the proof."""
    signs = problem.targets[used]
    if not problem.bias:  # each row has a mirror image in the other class
        X = sp.vstack([X, -X], format="csr") if is_sparse(X) else np.vstack([X, -X])
        signs = np.concatenate([signs, -signs])
    found = separate(X, signs, deadline)
    if not found.separable:
        raise _refusal(found, numbers, mirrored=not problem.bias)
    found = widest(X, signs, found, deadline)
    assert found.coef is not None
    assert found.margin is not None
    assert found.intercept is not None
    length = max(found.margin * float(np.linalg.norm(found.coef)), 1e-150)
    return found.coef / length, found.intercept / length


def _refusal(
    found: Separability, numbers: NDArray[np.int64], *, mirrored: bool
) -> NotSeparableError:
    """Return the error with the proof, in the numbers that the rows have in X."""
    assert found.weights is not None
    n, mirrors = numbers.size, ""
    weights = found.weights[:n]
    if mirrored:
        weights = weights + found.weights[n:]
        mirrors = " (and their mirror images, as there is no intercept)"
    spread = np.zeros(int(numbers.max()) + 1)
    spread[numbers] = weights
    proof = str(replace(found, weights=spread)).removeprefix("not separable: ")
    rows = np.flatnonzero(spread)
    return NotSeparableError(
        f"C=inf allows no margin errors, but the classes cannot be separated: {proof}{mirrors}; "
        "give a finite C",
        rows,
        spread[rows],
    )


def hard_solution(job: HardJob, solution: LinearSolution) -> LinearSolution:
    """Return the solution for the rows as they were, stretched so that none is short of a margin.

    Its dual variables are shares of the rows' weights: the cost has no part in them.
    """
    data: Any = job.data
    problem, used = job.problem, job.problem.costs > 0
    outputs = data.outputs(solution.weights, solution.bias)
    least = float((problem.targets * outputs)[used].min())
    w, b, shares, certificate = (
        solution.weights, solution.bias, solution.shares, solution.certificate
    )  # fmt: skip
    if least >= 1.0 - SHORT:  # otherwise not converged; the status says so
        w, b = w / least, b / least
        point = LinearPoint(np.append(w, b) if problem.bias else w, shares)
        point, certificate = data.certify(problem, point)
        assert point.shares is not None
        shares = point.shares
    weights = np.where(used, job.weights, 1.0)
    return replace(
        solution,
        weights=w * job.factor,
        bias=b - float(w @ job.centre) * job.factor,
        shares=problem.costs * job.factor**2 * shares / weights,
        certificate=_of_rows_before(certificate, job, w),
    )


def _of_rows_before(certificate: Certificate, job: HardJob, w: Vector) -> Certificate:
    """Return the certificate in the units of the rows before they were moved and scaled."""
    unit = job.factor**2
    shift = float(w @ job.centre) * job.factor
    ((low, high),) = certificate.multiplier_range
    reach = float(np.sqrt(2.0 * max(certificate.gap, 0.0))) * job.factor
    reach *= float(np.linalg.norm(job.centre))
    return replace(
        certificate,
        primal=unit * certificate.primal,
        dual=unit * certificate.dual,
        multipliers=(certificate.multipliers[0] - shift,),
        multiplier_range=((low - shift - reach, high - shift + reach),),
    )
