"""What a solver gives back: the coefficients, the certificate, and a sentence on how it ended."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Certificate",
    "JointSolution",
    "LinearSolution",
    "Progress",
    "Reporter",
    "Solution",
    "Status",
]


class Status(Enum):
    """How a fit ended; the value is the sentence the user reads."""

    CONVERGED = "converged: no violation of the optimality conditions exceeds tol"
    GAP_REACHED = "converged: the relative duality gap is at most gap_tol"
    STATIONARY = (
        "converged to a stationary point: the kernel is not positive semidefinite, "
        "so the gap does not bound the distance from the optimum"
    )
    SEPARATED = "converged: a whole sweep over the rows without a mistake"
    NO_BETTER = "stopped: the mistakes of a sweep have ceased to fall"
    SETTLED = "converged: the objective fell by less than tol in a step"
    TIME_LIMIT = "stopped at max_time before reaching tol"
    ITERATION_LIMIT = "stopped at max_iter before reaching tol"
    INTERRUPTED = "interrupted before reaching tol; on many rows the objectives are running values"
    STOPPED = "stopped by the callback before reaching tol"
    ROUNDED = "finished, but rounding has left a relative gap far above gap_tol in places"
    STALLED = "stopped: rounding allows no further progress, tol is below what the numbers carry"

    @property
    def converged(self) -> bool:
        """Whether what was asked for was reached."""
        return self in (
            Status.CONVERGED,
            Status.GAP_REACHED,
            Status.STATIONARY,
            Status.SEPARATED,
            Status.SETTLED,
        )


@dataclass(frozen=True)
class Progress:
    """The state of a fit after an outer iteration.

    Attributes
    ----------
    time : float
        Seconds since the fit began.
    iterations : int
        Inner steps so far, as LIBSVM counts them.
    dual_objective, gap, violation : float
        Running values; `gap` is relative.
    active : int
        Rows that are still being worked on.
    rows : int
        Rows in all.
    """

    time: float
    iterations: int
    dual_objective: float
    gap: float
    violation: float
    active: int
    rows: int


# Called after each outer iteration; returning True stops the fit.
Reporter = Callable[[Progress], object]


@dataclass(frozen=True)
class Certificate:
    """Bounds recomputed in float64 from the coefficients alone.

    Attributes
    ----------
    primal, dual : float
        Objectives; the optimum lies between them if the kernel is positive semidefinite.
    violation : float
        Largest violation of the optimality conditions.
    multipliers : tuple of float
        The multiplier of each group's sum: the bias, or what the estimator makes of it.
    multiplier_range : tuple of pairs
        Where each optimal multiplier must lie, given the gap.
    noise : float
        So small a gap is rounding, the optimum being zero or nearly so, and counts as none.
    """

    primal: float
    dual: float
    violation: float
    multipliers: tuple[float, ...]
    multiplier_range: tuple[tuple[float, float], ...]
    noise: float = 0.0

    @property
    def gap(self) -> float:
        """Primal minus dual objective: neither is further than this from the optimum."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the larger objective."""
        scale = max(abs(self.primal), abs(self.dual))
        return self.gap / scale if scale > 0 and self.gap > self.noise else 0.0


@dataclass(frozen=True)
class Solution:
    """The outcome of one kernel machine.

    Attributes
    ----------
    x : array
        The variables of the problem.
    outputs : array
        K x: the decision value of each row without the bias.
    certificate : Certificate
    status : Status
    iterations : int
    indefinite : bool
        The kernel was found not to be positive semidefinite: the point satisfies the optimality
        conditions, but the gap bounds nothing.
    history : tuple of Progress
    plane : tuple of array and float, or None
        (w, b) of the features, where it was found beside x rather than as X'x.
    """

    x: NDArray[np.float64]
    outputs: NDArray[np.float64]
    certificate: Certificate
    status: Status
    iterations: int
    indefinite: bool = False
    history: tuple[Progress, ...] = field(default=(), repr=False)
    plane: tuple[NDArray[np.float64], float] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class JointSolution:
    """The outcome of a machine that learns all classes in one problem.

    Attributes
    ----------
    coefficients : array of shape (rows, classes)
        The variables a_ik, with w_k = sum_i a_ik φ_i.
    outputs : array of shape (rows, classes)
        K a: the decision value w_k.φ_i of each row and class.
    certificate : Certificate
    status : Status
    iterations : int
    history : tuple of Progress
    """

    coefficients: NDArray[np.float64]
    outputs: NDArray[np.float64]
    certificate: Certificate
    status: Status
    iterations: int
    history: tuple[Progress, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class LinearSolution:
    """The outcome of one linear machine.

    Attributes
    ----------
    weights : array of shape (features,)
        w.
    bias : float
        b; 0 without one.
    shares : array of shape (rows,)
        Dual variable of each row divided by its cost, signed: w = sum_i costs_i shares_i x_i for a
        squared penalty of one.
    certificate : Certificate
        The one multiplier is the bias.
    status : Status
    iterations : int
    history : tuple of Progress
    """

    weights: NDArray[np.float64]
    bias: float
    shares: NDArray[np.float64]
    certificate: Certificate
    status: Status
    iterations: int
    history: tuple[Progress, ...] = field(default=(), repr=False)
