"""One solved problem read as a decision function f(z) = sum_i c_i k(z, z_i) + bias.

The multipliers of a problem's groups mean something else for each learner; here each is read off
from the optimality conditions of its free variables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from ..problem import LEAST_WAY, Problem
from ..solution import JointSolution, Solution, Status

__all__ = ["Machine", "NotSeparableError", "read_machine", "read_nu_svc", "require_separated"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

SHOWN = 6  # rows of each class that an error names
MEETING = 10.0  # times the smallest rho: squared distance of hulls of which one cannot tell more
EPS = 1e-15  # rounding of a squared distance, in units of the largest k(x, x)
LAST_DIGIT = 1e-15  # share of the multipliers below which their difference is none
LEAST_SQUARE = 1e-300
NEARLY_ALL = 1 - 1e-5  # of what the lighter class can carry: nu has been lowered


class NotSeparableError(ValueError):
    """No margin errors were allowed, but the classes cannot be separated; it carries the proof.

    Parameters
    ----------
    sentence : str
        What the user reads.
    rows, weights : array
        Numbers of training rows of both classes, and convex weights of each class with which the
        two have the same mean in feature space. That point lies in the hulls of both.

    Examples
    --------
    >>> from widemargin import SVC, NotSeparableError
    >>> try:
    ...     SVC(kernel="linear", C=float("inf")).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    ... except NotSeparableError as error:
    ...     print(error.rows, error.weights)
    [0 1 2] [0.5 1.  0.5]
    """

    def __init__(self, sentence: str, rows: object = (), weights: object = ()) -> None:
        super().__init__(sentence)
        self.rows, self.weights = np.asarray(rows, dtype=np.int64), np.asarray(weights, dtype=float)


@dataclass(frozen=True)
class Machine:
    """A decision function over some rows of the training data, with its certificate.

    Attributes
    ----------
    classes : tuple of int
        Positive and negative class number; (class, -1) against the rest; empty for other tasks.
    rows : array of int
        Numbers of the training rows this machine saw.
    coefficients : array
        c_i of each of these rows.
    bias, bias_bound : float
        The bias, and how far it can be from an optimal one.
    squared_norm : float
        ||w||².
    weight_bound : float
        A bound on ||w - w*||: the square root of twice the absolute gap.
    slacks : array
        How much each row falls short of its margin (or leaves the tube, or the ball).
    bounded : array of bool
        Support vectors whose variable is at its bound.
    solution : Solution
        Objectives, gap, status and history.
    weights : array or None
        w, where the coefficients in float64 may not carry it.
    """

    classes: tuple[int, ...]
    rows: Ids
    coefficients: Vector
    bias: float
    bias_bound: float
    squared_norm: float
    weight_bound: float
    slacks: Vector
    bounded: NDArray[np.bool_]
    solution: Solution | JointSolution
    weights: Vector | None = None

    @property
    def support(self) -> Ids:
        """Numbers of the rows with a coefficient that is not zero."""
        return self.rows[self.coefficients != 0]

    @property
    def free(self) -> Ids:
        """Numbers of the support vectors strictly between their bounds."""
        return self.rows[(self.coefficients != 0) & ~self.bounded]


def read_machine(
    problem: Problem, solution: Solution, rows: Ids, classes: tuple[int, ...] = ()
) -> Machine:
    """Read any problem but nu-SVC; with two groups (nu-SVR) the bias is between the multipliers."""
    certificate = solution.certificate
    bias = fmean(certificate.multipliers)
    lows, highs = zip(*certificate.multiplier_range, strict=True)
    bound = max(bias - fmean(lows), fmean(highs) - bias)
    return _machine(problem, solution, rows, classes, bias, bound, 1.0)


def read_nu_svc(
    problem: Problem, solution: Solution, rows: Ids, classes: tuple[int, ...]
) -> Machine:
    """Read nu-SVC, whose machine is divided by rho so that the margin is at one, as LIBSVM does.

    A free variable of the first group has K x = rho - bias, one of the second K x = -rho - bias;
    their multipliers are the negatives of these, and the bias is half their sum.

    Where nu had to be lowered, the lighter class is all margin errors and its own margin could lie
    anywhere beyond them. The boundary then divides the room between the two margins by weight, so
    that a class of no weight gets none of it.
    """
    first, second = solution.certificate.multipliers
    (low1, high1), (low2, high2) = solution.certificate.multiplier_range
    if solution.plane is not None:  # the way between hulls is 2 w / ||w||²
        w, bias = solution.plane
        bound = max(first - low1, high1 - first, second - low2, high2 - second)
        scale = 2.0 / max(float(w @ w), LEAST_SQUARE)
        return _machine(problem, solution, rows, classes, bias, bound / scale, scale)
    rho = 0.5 * (second - first)
    rounding = LAST_DIGIT * max(abs(first), abs(second))
    scale = rho if rho > rounding and rho**2 > 0 else 1.0
    share = _share_of_first(problem)
    rest = 1.0 - share
    bias = share * first + rest * second
    bound = max(bias - (share * low1 + rest * low2), share * high1 + rest * high2 - bias)
    return _machine(problem, solution, rows, classes, bias / scale, bound / scale, scale)


def require_separated(
    problem: Problem, solution: Solution, rows: Ids, names: Sequence[object]
) -> None:
    """Require that the hulls of two classes, whose shortest connection was sought, do not meet.

    Where the connection found has one class on each side, it separates them. The variables are
    convex weights of the rows of each class; where the weighted means are as near as rounding lets
    one see, they are the proof that no hyperplane separates the classes. Where rounding has left
    both open, that is an error too: a machine with mistakes is not what was asked for.
    """
    outputs, positive = solution.outputs, problem.upper > 0
    low, high = float(outputs[positive].min()), float(outputs[~positive].max())
    unfinished = not (solution.status.converged or solution.status is Status.STALLED)
    apart = low > high if solution.plane is None else solution.certificate.primal < 0
    if apart or unfinished:
        return
    assert problem.rho_range is not None
    squared, largest = float(solution.x @ outputs), problem.rho_range[0] / LEAST_WAY
    if solution.indefinite or squared > MEETING * LEAST_WAY * largest:
        reason = (
            "the kernel is not positive semidefinite, so that hulls have no shortest distance"
            if solution.indefinite
            else "the kernel values are rounded too much to find a margin or prove that none is"
        )
        raise ValueError(
            f"C=inf allows no margin errors, but for class {names[0]!s} against {names[1]!s} "
            f"{reason} (relative gap {solution.certificate.relative_gap:.2g}); scale the columns "
            "of X, choose another kernel or give a finite C"
        )
    means = []
    for name, share in zip(names, (solution.x, -solution.x), strict=True):
        used = np.argsort(-share, kind="stable")[:SHOWN]
        used = used[share[used] > 0]
        listed = ", ".join(f"{share[i]:.3g} of row {rows[i]}" for i in used)
        more = ", ..." if np.count_nonzero(share > 0) > SHOWN else ""
        means.append(f"{listed}{more} (class {name!s})")
    used = np.flatnonzero(solution.x)
    used = used[np.argsort(rows[used])]
    raise NotSeparableError(
        "C=inf allows no margin errors, but the classes cannot be separated by these kernel "
        f"values: in feature space the mean of {means[0]} is also the mean of {means[1]}, but for "
        f"{max(squared / largest, EPS) ** 0.5:.1e} of the longest row; give a finite C or another "
        "kernel",
        rows[used],
        np.abs(solution.x[used]),
    )


def _share_of_first(problem: Problem) -> float:
    """Return the weight of the first multiplier in the bias of nu-SVC."""
    widths = problem.upper - problem.lower
    first, second = (float(widths[problem.group == g].sum()) for g in (0, 1))
    used = float(problem.start[problem.group == 0].sum())
    return 0.5 if used < NEARLY_ALL * min(first, second) else second / (first + second)


def _machine(
    problem: Problem,
    solution: Solution,
    rows: Ids,
    classes: tuple[int, ...],
    bias: float,
    bound: float,
    scale: float,
) -> Machine:
    x = solution.x
    coefficients = problem.coefficients(x)
    at_bound = ((x <= problem.lower) & (problem.lower < 0)) | (
        (x >= problem.upper) & (problem.upper > 0)
    )
    if solution.plane is None:
        squared = max(0.0, float(coefficients @ solution.outputs)) / scale**2
    else:
        squared = float(solution.plane[0] @ solution.plane[0])
    if problem.sides > 1:
        at_bound = np.asarray(at_bound.reshape(problem.sides, -1).any(axis=0))
    return Machine(
        classes=classes,
        rows=rows,
        coefficients=coefficients / scale,
        bias=bias,
        bias_bound=bound,
        squared_norm=squared,
        weight_bound=sqrt(max(0.0, 2.0 * solution.certificate.gap)) / scale,
        slacks=_slacks(problem, solution) / scale,
        bounded=at_bound,
        solution=solution,
        weights=None if solution.plane is None else solution.plane[0],
    )


def _slacks(problem: Problem, solution: Solution) -> Vector:
    """Return how far each row's residual violates the side on which its variable is at a bound.

    With r = gradient + multiplier, a row's loss grows with -r for a variable that may rise from
    zero, and with r for one that may fall from it.
    """
    outputs = solution.outputs
    r = problem.linear + (outputs if problem.sides == 1 else np.tile(outputs, problem.sides))
    r += np.asarray(solution.certificate.multipliers)[problem.group]
    loss = np.maximum(-r, 0.0) * (problem.upper > 0)
    loss += np.maximum(r, 0.0) * (problem.lower < 0)
    return loss if problem.sides == 1 else np.asarray(loss.reshape(problem.sides, -1).sum(axis=0))
