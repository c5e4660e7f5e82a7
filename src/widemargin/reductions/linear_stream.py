"""Learning from a stream: each block of rows is solved exactly, those before it stay as they are.

Problem     the one that a fit to all rows of the stream would solve, with a squared penalty, in its
            dual variables u: maximise gains(u) − ½||v||², v = sum of u_i x_i.
Update      block coordinate ascent in one pass: the variables of the new rows go to their optimum,
            those of earlier rows keep the values they got. In the weights that is ::

                minimise  ½||w − v||² + sum over the block of costs_i loss(t_i, w.x_i + b)

            so that a block of one row is a step of the passive-aggressive algorithm and a block of
            all rows is a fit. The dual objective of the whole stream never falls and needs no
            earlier row: it is known.
Intercept   moves around its last value as the weight of a constant feature as large as the rows.
Papers      K. Crammer et al., Online passive-aggressive algorithms, JMLR 7 (2006); B. Kulis,
            P. Bartlett, Implicit online learning, ICML 2010; S. Shalev-Shwartz, T. Zhang, JMLR 14
            (2013) for the dual view.
"""

from dataclasses import replace

import numpy as np

from ..backends.cpu.linear_data import CpuLinearData
from ..backends.cpu.linear_stream import CpuLinearStream, StreamPoint
from ..problem import LinearProblem
from ..solution import Status
from ..solvers.dual_descent import dual_descent
from ..solvers.monitor import Limits, Monitor

__all__ = ["StreamPoint", "dual_objective", "learn_block", "thinned"]


def learn_block(
    data: CpuLinearData,
    problem: LinearProblem,
    factor: float,
    before: StreamPoint,
    limits: Limits,
) -> tuple[StreamPoint, Status]:
    """Return the weights after a block of rows, and how its descent ended.

    Parameters
    ----------
    data : CpuLinearData
        The rows of the block.
    problem : LinearProblem
        What a fit to these rows alone would solve.
    factor : float
        Cost of a row of weight one.
    before : StreamPoint
        What is kept of the rows so far.
    limits : Limits
        When to end; the gap is that of the block's own problem.
    """
    machine, monitor = CpuLinearStream(data.rows, problem, before), Monitor(limits)
    status = dual_descent(machine, monitor)
    return machine.after(factor), status


def thinned(point: StreamPoint, share: float, bias: bool) -> StreamPoint:
    """Return the point after every cost so far has been multiplied by a share.

    Dual variables divided by costs stay; so the weights shrink by the share, and so does the bias
    if it is one of the weights.
    """
    return replace(
        point, weights=share * point.weights, bias=share * point.bias if bias else point.bias
    )


def dual_objective(point: StreamPoint, factor: float) -> float:
    """Return a lower bound of what a fit to all rows so far would end at.

    For an intercept that is penalised, by b² / (2 reach), or that is not there.
    """
    bent = point.bias**2 / point.reach if point.reach > 0 else 0.0
    return factor * point.gains - 0.5 * (float(np.dot(point.weights, point.weights)) + bent)
