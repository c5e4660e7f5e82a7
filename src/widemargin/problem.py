"""The one quadratic program behind every kernel machine, and the six ways to state it.

With K the kernel matrix of the rows and x the signed coefficients of the rows, all six learners ::

    minimise    ½ xᵀ K x + linearᵀ x
    subject to  lower <= x <= upper,   sum of x over each group = its sum at the start

so that the decision function is f(z) = sum_i x_i k(z, z_i) + bias, where the bias is the
multiplier of the group's sum. A classifier has one variable for each row, with x_i = y_i alpha_i;
regression has two (a row may be pulled up or down), the second after all the first.

References: chang2011 (C.-C. Chang, C.-J. Lin, LIBSVM, ACM TIST 2, 2011), scholkopf2000 (nu),
tax2004 (SVDD).
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .losses import Hinge, Insensitive, Loss, OneClass

__all__ = [
    "LEAST_WAY",
    "LinearProblem",
    "Problem",
    "c_svc",
    "epsilon_svr",
    "hulls",
    "nu_svc",
    "nu_svr",
    "one_class",
    "svdd",
]

Vector = NDArray[np.float64]

LEAST_RHO = 1e-6
LEAST_WAY = 1e-12  # rho of hulls that are apart, as a share of the largest k(x, x)
ROUNDING = 1e-14
ALMOST = 1e-6  # below the largest nu that is feasible, so that the bias is still determined


@dataclass(frozen=True)
class Problem:
    """A quadratic program over a box with one fixed sum for each group of variables.

    Attributes
    ----------
    linear, lower, upper : array of shape (sides * n_rows,)
        Linear term and bounds of each variable.
    group : array of int8
        The group, 0 or 1, whose sum the variable belongs to.
    start : array
        A point that satisfies every constraint; its group sums are the ones to keep.
    sides : int
        Variables for each row: 1, or 2 for regression.
    groups : int
        Number of groups, 1 or 2.
    rho_range : tuple of float or None
        If the decision function is divided by rho, half the distance of the two multipliers: how
        small and how large a rho violations are divided by.
    loss : Loss or None
        The loss of each row if the problem is the dual of ½||w||² + sum of losses + tilt b.
    """

    linear: Vector
    lower: Vector
    upper: Vector
    group: NDArray[np.int8]
    start: Vector
    sides: int = 1
    groups: int = 1
    rho_range: tuple[float, float] | None = None
    loss: Loss | None = None

    def scale(self, multipliers: Sequence[float]) -> float:
        """Return what violations are divided by, so that a tolerance speaks of decision values.

        The machine of nu-SVC is divided by rho in the end; without doing the same to violations a
        tolerance of 1e-3 may be larger than all decision values together.
        """
        if self.rho_range is None:
            return 1.0
        least, largest = self.rho_range
        return min(largest, max(least, 0.5 * (multipliers[1] - multipliers[0])))

    @property
    def rows(self) -> int:
        """Number of rows of the data."""
        return self.linear.size // self.sides

    def coefficients(self, x: Vector) -> Vector:
        """Return the coefficient of each row in the decision function."""
        return x if self.sides == 1 else x.reshape(self.sides, -1).sum(axis=0)

    def in_weights(self) -> "LinearProblem | None":
        """Return the same machine stated in weights of features, as a linear kernel allows."""
        if self.loss is None:
            return None
        linear = self.linear.reshape(self.sides, -1).mean(axis=0)  # epsilon, on both sides, cancels
        return LinearProblem(
            loss=self.loss,
            targets=0.0 - linear,
            costs=(self.upper - self.lower)[: self.rows],
            tilt=float(self.start.sum()),
        )

    def of_rows(self, coefficients: Vector) -> Vector:
        """Return the variables of least size that give each row its coefficient."""
        x = coefficients
        if self.sides == 2:
            x = np.concatenate([np.maximum(x, 0.0), np.minimum(x, 0.0)])
        return np.clip(x, self.lower, self.upper)

    def near(self, x: Vector) -> Vector:
        """Return the feasible point that clipping `x` and restoring the group sums leads to."""
        x = np.clip(x, self.lower, self.upper)
        for g in range(self.groups):
            members = np.flatnonzero(self.group == g)
            excess = float(x[members].sum() - self.start[members].sum())
            room = x[members] - (self.lower if excess > 0 else self.upper)[members]
            total = float(room.sum())
            if abs(total) < abs(excess):
                return self.start.copy()
            if abs(excess) > ROUNDING * abs(
                total
            ):  # else rows would leave their bounds for nothing
                x[members] -= room * (excess / total)
        return np.clip(x, self.lower, self.upper)


def _one_group(size: int) -> NDArray[np.int8]:
    return np.zeros(size, dtype=np.int8)


def c_svc(signs: Vector, costs: Vector) -> Problem:
    """State C-SVC: ½||w||² + sum_i costs_i max(0, 1 - signs_i f(z_i))."""
    return Problem(
        linear=-signs,
        lower=np.where(signs > 0, 0.0, -costs),
        upper=np.where(signs > 0, costs, 0.0),
        group=_one_group(signs.size),
        start=np.zeros(signs.size),
        loss=Hinge(),
    )


def nu_svc(signs: Vector, weights: Vector, nu: float) -> Problem:
    """State nu-SVC, where nu bounds the share of margin errors; two groups, the classes.

    No point is feasible if the lighter class has less than nu / 2 of all weight. Then nu is lowered
    to (almost) the largest that is possible, with a warning, and before any kernel is computed.
    """
    total = float(weights.sum())
    half = nu * total / 2.0
    lightest = min(float(weights[signs > 0].sum()), float(weights[signs < 0].sum()))
    if half > lightest * (1 + 1e-12):
        warnings.warn(
            f"specified nu is infeasible: nu={nu:g}, but the lighter class allows at most "
            f"{2 * lightest / total:.6g}, which is used instead; lower nu or use SVC",
            UserWarning,
            stacklevel=2,
        )
        half = lightest * (1 - ALMOST)
    start = np.zeros(signs.size)
    for sign in (1.0, -1.0):
        members = np.flatnonzero(signs == sign)
        start[members] = sign * _fill(weights[members], half)
    return Problem(
        linear=np.zeros(signs.size),
        lower=np.where(signs > 0, 0.0, -weights),
        upper=np.where(signs > 0, weights, 0.0),
        group=(signs < 0).astype(np.int8),
        start=start,
        groups=2,
        rho_range=(LEAST_RHO, 1.0),
    )


def hulls(signs: Vector, largest: float) -> Problem:
    """State the hard margin: the shortest way between the hulls of two classes.

    The variables are convex weights of each class, whose bounds of two bind nowhere.

    Parameters
    ----------
    signs : array of ±1
        Classes.
    largest : float
        Largest k(x, x), in units of which a margin may be small.
    """
    problem = nu_svc(signs, np.full(signs.size, 2.0), 1.0 / signs.size)
    return replace(problem, rho_range=(LEAST_WAY * largest, np.inf))


def epsilon_svr(targets: Vector, costs: Vector, epsilon: float) -> Problem:
    """State epsilon-SVR: ½||w||² + sum_i costs_i max(0, |targets_i - f(z_i)| - epsilon)."""
    zero = np.zeros(targets.size)
    return Problem(
        linear=np.concatenate([epsilon - targets, -epsilon - targets]),
        lower=np.concatenate([zero, -costs]),
        upper=np.concatenate([costs, zero]),
        group=_one_group(2 * targets.size),
        start=np.zeros(2 * targets.size),
        sides=2,
        loss=Insensitive(epsilon),
    )


def nu_svr(targets: Vector, costs: Vector, nu: float) -> Problem:
    """State nu-SVR, where nu bounds the share of rows outside a tube that is learnt too."""
    zero = np.zeros(targets.size)
    start = _fill(costs, nu * float(costs.sum()) / 2.0)
    return Problem(
        linear=np.concatenate([-targets, -targets]),
        lower=np.concatenate([zero, -costs]),
        upper=np.concatenate([costs, zero]),
        group=np.repeat(np.array([0, 1], dtype=np.int8), targets.size),
        start=np.concatenate([start, -start]),
        sides=2,
        groups=2,
    )


def one_class(weights: Vector, nu: float) -> Problem:
    """State the one-class machine: ½||w||² - nu n rho + sum_i weights_i max(0, rho - w.z_i)."""
    return Problem(
        linear=np.zeros(weights.size),
        lower=np.zeros(weights.size),
        upper=weights,
        group=_one_group(weights.size),
        start=_fill(weights, nu * float(weights.sum())),
        loss=OneClass(),
    )


def svdd(diagonal: Vector, weights: Vector, nu: float) -> Problem:
    """State support vector data description: the smallest ball around all but a share nu of rows.

    In the variables nu n alpha, so that the bounds are those of `one_class`.
    """
    total = nu * float(weights.sum())
    return Problem(
        linear=-0.5 * total * diagonal,
        lower=np.zeros(weights.size),
        upper=weights,
        group=_one_group(weights.size),
        start=_fill(weights, total),
    )


def _fill(limits: Vector, total: float) -> Vector:
    """Return values up to their limits, the first ones full, that sum to `total`."""
    before = np.cumsum(limits) - limits
    return np.clip(total - before, 0.0, limits)


@dataclass(frozen=True)
class LinearProblem:
    """The problem of every linear machine.

    In the weights w of the features and the bias b ::

        minimise  l1 |w|₁ + ½ l2 ||w||² + bias_l1 |b| + ½ bias_l2 b² + tilt b
                  + sum_i costs_i loss(targets_i, w.x_i + b)

    Attributes
    ----------
    loss : Loss
        Loss of one row.
    targets, costs : array of shape (n_rows,)
        ±1 or numbers; price of each row's loss.
    l1, l2 : float
        Penalties of the weights.
    bias : bool
        Whether there is a bias; without one b = 0.
    bias_l1, bias_l2 : float
        Penalties of the bias, 0 for a free one.
    tilt : float
        Pull on the bias; only of one-class machines, whose plane it pushes away from the origin.
    """

    loss: Loss
    targets: Vector
    costs: Vector
    l1: float = 0.0
    l2: float = 1.0
    bias: bool = True
    bias_l1: float = 0.0
    bias_l2: float = 0.0
    tilt: float = 0.0

    def penalties(self, features: int) -> tuple[Vector, Vector]:
        """Return the l1 and the l2 penalty of each coefficient, the bias being the last."""
        l1, l2 = np.full(features, self.l1), np.full(features, self.l2)
        if not self.bias:
            return l1, l2
        return np.append(l1, self.bias_l1), np.append(l2, self.bias_l2)

    def part(self, offset: int, step: int) -> "LinearProblem":
        """Return the problem of every step-th row, each of which stands for step rows."""
        return replace(
            self,
            targets=np.ascontiguousarray(self.targets[offset::step]),
            costs=self.costs[offset::step] * step,
        )
