"""The hard margin of a linear kernel, found in the weights of the features.

A kernel machine's w is a sum over rows, and its solver sees products of rows alone: where columns
differ in size, or lie far from zero, the digits that decide are lost in both. So w is found as
`LinearSVC` finds it, and the dual variables beside it. As for other kernels, the solution is stated
as the shortest way from hull to hull, with v the vector between two points of the hulls ::

    largest distance d(w) between the classes along w   <=   d*   <=   length of v = X'x

whose two sides are computed apart: the gap is one of w and x, and not of X'x alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.cpu import CpuLinearData, is_sparse, take_rows
from ..losses import Hinge
from ..problem import LinearProblem
from ..reductions.jobs import Job, Schedule
from ..reductions.linear import LinearJob, run_linear_jobs
from ..solution import Certificate, LinearSolution, Progress, Solution, Status
from ..solvers.linear import LinearOptions
from ..solvers.monitor import Limits
from .hard_linear import HardJob, deadline_of, hard_job, hard_solution
from .separability import column_scale, near_origin

__all__ = ["needs_weights", "solve_hard"]

Vector = NDArray[np.float64]

SMALL = 100_000  # entries of rows whose linear program takes no time
UNEVEN = 1e3  # between the sizes of columns
GAP = 1e-9  # of the soft margin that is the hard one
NO_DOUBT = 1e-5  # relative gap of hulls that are surely apart
LEAST_SQUARE = 1e-300
MOST_CORRECTED = 10_000_000  # numbers of a least-squares system
CORRECTIONS = 3


def needs_weights(X: Any) -> bool:
    """Return whether products of rows lose the digits that decide, or the other way is as fast."""
    if X.shape[0] * X.shape[1] <= SMALL:
        return True
    moved, centre = near_origin(X)
    scale = column_scale(moved)
    return bool(centre.any() or scale.max() > UNEVEN * scale.min())


def solve_hard(X: Any, jobs: Sequence[Job], schedule: Schedule, threads: int) -> list[Solution]:
    """Return the solution of each job, whose problem is that of hulls, with a linear kernel.

    Raises
    ------
    NotSeparableError
        With the proof, if no hyperplane separates the classes of a job.
    """
    limits = Limits(0.0, GAP, -1, schedule.limits.seconds)
    deadline = deadline_of(schedule.limits)
    hard = [hard_job(_stated(X, job, threads), deadline) for job in jobs]
    found = run_linear_jobs(hard, limits, LinearOptions(), schedule.reporter, threads)
    return [
        _between_hulls(part, hard_solution(part, solution), schedule.limits)
        for part, solution in zip(hard, found, strict=True)
    ]


def _stated(X: Any, job: Job, threads: int) -> LinearJob:
    ids = np.concatenate(job.segments)
    signs = np.where(job.problem.upper > 0, 1.0, -1.0)
    problem = LinearProblem(Hinge(), signs, np.ones(ids.size))
    return LinearJob(problem, CpuLinearData(take_rows(X, ids), threads), numbers=ids)


def _between_hulls(job: HardJob, found: LinearSolution, limits: Limits) -> Solution:
    """Return the same solution as convex weights x of each class and the way v between them."""
    data: Any = job.data
    Z, signs = data.rows.X, job.problem.targets  # moved and scaled, as is all that follows
    w = found.weights / job.factor
    v = 2.0 * w / max(float(w @ w), LEAST_SQUARE)
    outputs = np.asarray(Z @ v)
    low, high = _ends(outputs, signs)
    margins = np.full(signs.size, np.inf)  # how far beyond its margin each row is
    if low > high:
        margins = signs * (2.0 * outputs - low - high) / (low - high) - 1.0
    x = _convex(signs, np.abs(found.shares), margins, limits.tolerance)
    x = _corrected(Z, x, v)
    dual = -0.5 * _length(Z, x) ** 2
    primal = max(dual, -0.5 * max(0.0, low - high) ** 2 / max(float(v @ v), LEAST_SQUARE))
    reach = np.sqrt(2.0 * (primal - dual)) * (
        np.sqrt(_squares(Z)) + job.factor * float(np.linalg.norm(job.centre))
    )
    shift, unit = job.factor * float(v @ job.centre), job.factor**-2.0
    ends = [_ends(part + shift, signs) for part in (outputs - reach, outputs, outputs + reach)]
    certificate = Certificate(
        primal=primal * unit,
        dual=dual * unit,
        violation=float(margins[x != 0].max(initial=0.0)),
        multipliers=tuple(-unit * end for end in ends[1]),
        multiplier_range=tuple(
            (-unit * b, -unit * a) for a, b in zip(ends[0], ends[2], strict=True)
        ),
    )
    return Solution(
        x=x,
        outputs=(outputs + shift) * unit,
        certificate=certificate,
        status=_status(found.status, certificate, limits),
        iterations=found.iterations,
        history=tuple(_in_hull_units(record, job.factor) for record in found.history),
        plane=(found.weights, found.bias),
    )


def _ends(outputs: Vector, signs: Vector) -> tuple[float, float]:
    """Return the smallest output of the first class and the largest of the second."""
    return float(outputs[signs > 0].min()), float(outputs[signs < 0].max())


def _convex(signs: Vector, shares: Vector, margins: Vector, tolerance: float) -> Vector:
    """Return signed weights that sum to one in each class, none of a row beyond its margin."""
    x = np.zeros(signs.size)
    for sign in (1.0, -1.0):
        members = np.flatnonzero(signs == sign)
        near = members[margins[members] <= tolerance]
        chosen = near if float(shares[near].sum()) > 0 else members
        total = float(shares[chosen].sum())
        x[chosen] = sign * (shares[chosen] / total if total > 0 else 1.0 / chosen.size)
    return x


def _corrected(Z: Any, x: Vector, v: Vector) -> Vector:
    """Return x with Z'x nearer to v, by steps of least squares on the support vectors.

    Columns of very different sizes cost the dual variables digits that their weights have kept.
    """
    used = np.flatnonzero(x)
    if used.size * v.size > MOST_CORRECTED:
        return x
    rows = Z[used].toarray() if is_sparse(Z) else Z[used]
    signs = np.sign(x[used])
    sums = np.stack([signs > 0, signs < 0]).astype(np.float64)
    matrix = np.vstack([rows.T, np.abs(rows).max(initial=1.0) * sums])
    for _ in range(CORRECTIONS):
        rest = np.append(v - rows.T @ x[used], [0.0, 0.0])
        moved = x[used] + np.linalg.lstsq(matrix, rest, rcond=None)[0]
        if not (np.isfinite(moved).all() and (moved * signs >= 0).all()):
            break
        for side in (signs > 0, signs < 0):
            moved[side] /= abs(float(moved[side].sum()))
        other = np.zeros(x.size)
        other[used] = moved
        if _length(Z, other) >= _length(Z, x):
            break
        x = other
    return x


def _length(Z: Any, x: Vector) -> float:
    return float(np.linalg.norm(Z.T @ x))


def _squares(Z: Any) -> Vector:
    squares = Z.multiply(Z).sum(axis=1) if is_sparse(Z) else np.einsum("ij,ij->i", Z, Z)
    return np.asarray(squares, dtype=np.float64).ravel()


def _status(status: Status, certificate: Certificate, limits: Limits) -> Status:
    if not (status.converged or status is Status.STALLED):
        return status
    if certificate.violation <= limits.tolerance and certificate.relative_gap <= NO_DOUBT:
        return Status.CONVERGED
    reached = certificate.relative_gap <= (NO_DOUBT if limits.gap is None else limits.gap)
    return Status.GAP_REACHED if reached else Status.STALLED


def _in_hull_units(record: Progress, factor: float) -> Progress:
    """Return a record of the soft margin; its objective D is that of hulls sqrt(2 / D) apart."""
    dual = record.dual_objective
    apart = -1.0 / (dual * factor**2) if dual > 0 else -np.inf
    return replace(record, dual_objective=apart)
