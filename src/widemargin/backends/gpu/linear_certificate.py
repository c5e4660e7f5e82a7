"""The certificate of a linear machine whose rows are on the GPU, in float64.

The formulas are those of `backends.cpu.linear_certificate`; everything is computed anew from
coefficients and dual variables.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...problem import LinearProblem
from ...solution import Certificate
from ..cpu.linear_certificate import balanced
from ..cpu.linear_machine import LinearPoint, balancing_shift, dual_bound
from .linear_launches import Samples
from .linear_machine import off_subdifferential
from .linear_rows import GpuLinearRows

__all__ = ["Evaluation", "certify_linear", "evaluate", "sent"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """Objectives and violation of a point with feasible dual variables."""

    point: LinearPoint
    samples: Samples
    outputs: Any
    primal: float
    dual: float
    violation: float


def sent(device: Any, problem: LinearProblem) -> LinearProblem:
    """Return the problem with targets and costs on the device."""
    upload = device.upload
    return replace(problem, targets=upload(problem.targets), costs=upload(problem.costs))


def evaluate(data: GpuLinearRows, problem: LinearProblem, point: LinearPoint) -> Evaluation:
    """Make the dual variables feasible and compute everything from coefficients and them alone.

    Targets and costs of the problem are arrays of the device.
    """
    device, d, x = data.device, data.features, point.x
    l1, l2 = problem.penalties(d)
    free = problem.bias and l1[-1] == 0 and l2[-1] == 0
    shares: Any = device.upload(point.shares, np.float64)
    if free:
        shares = balanced(shares, problem)
    bias = float(x[-1]) if problem.bias else 0.0
    outputs, dual_variables = data.times(x[:d], bias), problem.costs * shares
    v = data.transposed(dual_variables)
    if problem.bias:
        v = np.append(v, 0.0 if free else float(dual_variables.sum()) - problem.tilt)
    hard = (l2 == 0) & (l1 > 0)
    largest = float((np.abs(v[hard]) / l1[hard]).max(initial=0.0))
    if largest > 1:
        shares, v = shares / largest, v / largest
    samples = Samples(problem.targets, problem.costs, device.xp.zeros(data.count))
    loss, dual, rows_off = device.judge(samples, problem.loss, outputs, shares)
    return Evaluation(
        point=LinearPoint(x, shares),
        samples=samples,
        outputs=outputs,
        primal=float(l1 @ np.abs(x) + 0.5 * (l2 * x) @ x) + problem.tilt * bias + loss,
        dual=dual_bound(l1, l2, v, dual),
        violation=max(off_subdifferential(x, v, l1, l2), rows_off),
    )


def certify_linear(
    data: GpuLinearRows, problem: LinearProblem, point: LinearPoint
) -> tuple[LinearPoint, Certificate]:
    """Return the point with feasible dual variables, and its certificate."""
    at = evaluate(data, sent(data.device, problem), point)
    bias = float(point.x[-1]) if problem.bias else 0.0
    span = bias, bias
    if problem.bias:
        span = _bias_range(data, problem, at, bias)
    judged = LinearPoint(at.point.x, at.point.shares, at)
    return judged, Certificate(
        primal=at.primal,
        dual=at.dual,
        violation=at.violation,
        multipliers=(bias,),
        multiplier_range=(span,),
    )


def _bias_range(
    data: GpuLinearRows, problem: LinearProblem, at: Evaluation, bias: float
) -> tuple[float, float]:
    """Return where the optimal bias must lie, by the bounds of the CPU's certificate."""
    gap = max(at.primal - at.dual, 0.0)
    if problem.bias_l1 > 0 or problem.bias_l2 > 0:
        if problem.bias_l2 <= 0:
            return -np.inf, np.inf
        room = float(np.sqrt(2.0 * gap / problem.bias_l2))
        return bias - room, bias + room
    if problem.l2 <= 0:
        return -np.inf, np.inf
    device = data.device
    reach = device.xp.sqrt(2.0 * gap / problem.l2 * data.norms())
    widest, total = float(reach.max()), float(problem.costs.sum())
    ones = device.xp.ones(data.count)

    def best(moved: Any) -> float:
        def along(length: float) -> tuple[float, float, float]:
            value, slope, bend = device.along(at.samples, problem.loss, 0.0, moved, ones, length)
            return float(value), float(slope), float(bend)

        return balancing_shift(along, problem.tilt, total, max(widest, 1e-12))

    low, high = best(at.outputs + reach), best(at.outputs - reach)
    return bias + min(low, 0.0) - 1e-12, bias + max(high, 0.0) + 1e-12
