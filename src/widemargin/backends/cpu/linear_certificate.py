"""The certificate of a linear machine: objectives, gap, and where the optimal bias can lie.

For weights w, bias b and any feasible dual variables u_i = costs_i p_i, with v = Xᵀu, ::

    primal  penalty(w, b) + tilt b + sum of costs_i loss(t_i, w.x_i + b)
    dual    sum of costs_i (p_i t_i − conjugate(p_i)) − sum over features of
            max(0, |v_k| − l1)² / (2 l2)

enclose the optimum. Without an l2 penalty |v_k| <= l1 must hold, and with a free bias
sum of u_i = tilt; the dual variables are made to obey before anything is computed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import LinearProblem
from ...solution import Certificate
from .linear_machine import LinearPoint, balancing_shift, dual_bound, noise
from .linear_rows import LinearRows

__all__ = ["balanced", "certify_linear", "evaluate"]

Vector = NDArray[np.float64]

UNBOUNDED = (1, 4)  # the squared losses, whose dual variables have no upper bound


@dataclass(frozen=True)
class Evaluation:
    """Objectives and violation of a point with feasible dual variables."""

    point: LinearPoint
    outputs: Vector
    primal: float
    dual: float
    violation: float


def evaluate(data: LinearRows, problem: LinearProblem, point: LinearPoint) -> Evaluation:
    """Make the dual variables feasible and compute everything from coefficients and them alone."""
    if point.judged is not None:
        judged: Evaluation = point.judged
        return judged
    d, x, costs = data.features, point.x, problem.costs
    l1, l2 = problem.penalties(d)
    free = problem.bias and l1[-1] == 0 and l2[-1] == 0
    assert point.shares is not None
    shares = balanced(point.shares, problem) if free else point.shares
    bias = float(x[-1]) if problem.bias else 0.0
    outputs = np.empty(data.count)
    data.times(np.ascontiguousarray(x[:d]), bias, outputs)
    dual_variables = costs * shares
    v = data.transposed(dual_variables)
    if problem.bias:
        v = np.append(v, 0.0 if free else float(dual_variables.sum()) - problem.tilt)
    hard = (l2 == 0) & (l1 > 0)
    largest = float((np.abs(v[hard]) / l1[hard]).max(initial=0.0))
    if largest > 1:
        shares, v = shares / largest, v / largest
    samples = _core.samples(problem.targets, costs, None)
    loss, dual, rows_off = _core.judge(
        samples, problem.loss.kind, problem.loss.epsilon, outputs, shares, data.threads
    )
    rest = v - l2 * x
    off = np.where(x != 0, np.abs(rest - l1 * np.sign(x)), np.maximum(np.abs(rest) - l1, 0.0))
    return Evaluation(
        point=LinearPoint(x, shares),
        outputs=outputs,
        primal=float(l1 @ np.abs(x) + 0.5 * (l2 * x) @ x) + problem.tilt * bias + loss,
        dual=dual_bound(l1, l2, v, dual),
        violation=max(float(off.max(initial=0.0)), rows_off),
    )


def certify_linear(
    data: LinearRows, problem: LinearProblem, point: LinearPoint
) -> tuple[LinearPoint, Certificate]:
    """Return the point with feasible dual variables, and its certificate in float64."""
    at = evaluate(data, problem, point)
    bias = float(point.x[-1]) if problem.bias else 0.0
    gap = at.primal - at.dual
    if problem.bias and problem.bias_l1 == 0 and problem.bias_l2 == 0:
        span = _bias_range(data, problem, at.outputs, bias, gap)
    else:
        span = _penalised_range(problem, bias, gap)
    certificate = Certificate(
        primal=at.primal,
        dual=at.dual,
        violation=at.violation,
        multipliers=(bias,),
        multiplier_range=(span,),
        noise=noise(data, problem),
    )
    return at.point, certificate


def balanced(shares: Vector, problem: LinearProblem) -> Vector:
    """Return shares, moved a little within their bounds, whose sum is the tilt.

    Shares strictly between their bounds move first, so that the others stay optimal.
    """
    costs = problem.costs
    excess = float(costs @ shares) - problem.tilt
    sign, size = np.sign(excess), np.abs(shares)
    inside = (size > 0) & (size < 1)
    room = np.where(shares * sign > 0, size, 1.0 - size) * inside
    total = float(costs @ room)
    if problem.loss.kind not in UNBOUNDED and total >= abs(excess) > 0:
        return shares - sign * room * (abs(excess) / total)
    room = np.where(shares * sign > 0, size, 0.0)
    if problem.tilt > 0 and excess < 0:
        room = 1.0 - shares  # one class: all shares lie between 0 and 1
    total = float(costs @ room)
    return shares - sign * room * min(1.0, abs(excess) / total) if total > 0 else shares


def _penalised_range(problem: LinearProblem, bias: float, gap: float) -> tuple[float, float]:
    """Return where a penalised bias must lie: the gap is at least ½ bias_l2 (b - b*)²."""
    if not problem.bias:
        return bias, bias
    if problem.bias_l2 <= 0:
        return -np.inf, np.inf
    reach = float(np.sqrt(2.0 * max(gap, 0.0) / problem.bias_l2))
    return bias - reach, bias + reach


def _bias_range(
    data: LinearRows, problem: LinearProblem, outputs: Vector, bias: float, gap: float
) -> tuple[float, float]:
    """Return where the optimal bias must lie.

    The optimal weights are within sqrt(2 gap / l2), so no output is further than that times ||x_i||
    from the optimal one. The best bias falls as outputs rise; so moving all of them up, and down,
    by as much encloses it.
    """
    if problem.l2 <= 0:
        return -np.inf, np.inf
    reach = np.sqrt(2.0 * max(gap, 0.0) / problem.l2 * data.norms())
    widest, total = float(reach.max(initial=0.0)), float(problem.costs.sum())
    samples = _core.samples(problem.targets, problem.costs, None)
    ones = np.ones(data.count)
    loss = (problem.loss.kind, problem.loss.epsilon, 0.0)

    def best(moved: Vector) -> float:
        def along(at: float) -> tuple[float, float, float]:
            return _core.along_ray(samples, *loss, moved, ones, at, data.threads)

        return balancing_shift(along, problem.tilt, total, max(widest, 1e-12))

    low, high = best(outputs + reach), best(outputs - reach)
    return bias + min(low, 0.0) - 1e-12, bias + max(high, 0.0) + 1e-12
