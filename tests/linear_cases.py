"""Problems, losses and naive objectives shared by the tests of linear machines."""

import numpy as np
from sklearn.datasets import make_classification, make_regression

from widemargin import losses
from widemargin.backends.cpu import CpuLinearData
from widemargin.problem import LinearProblem
from widemargin.solvers.linear import LinearOptions, solve_linear
from widemargin.solvers.monitor import Limits, Monitor

LOSSES = {
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "logistic": losses.Logistic(),
    "insensitive": losses.Insensitive(0.2),
    "squared_insensitive": losses.SquaredInsensitive(0.2),
    "one_class": losses.OneClass(),
}
PENALTIES = {"l2": (0.0, 1.0), "l1": (1.0, 0.0), "elastic": (0.5, 0.5)}


def naive_loss(name, f, t):
    """The loss of one row as a formula with branches."""
    if name == "logistic":
        return np.log1p(np.exp(-t * f)) if t * f > -30 else -t * f
    slack = {"one_class": -f}.get(name, 1 - t * f if "hinge" in name else abs(t - f) - 0.2)
    return max(0.0, slack) ** (2 if "squared" in name else 1)


def naive_objective(problem, name, w, b):
    X, total = problem[0], 0.0
    stated = problem[1]
    for x, t, c in zip(X, stated.targets, stated.costs, strict=True):
        total += c * naive_loss(name, float(x @ w) + b, t)
    weights = stated.l1 * np.abs(w).sum() + 0.5 * stated.l2 * (w @ w)
    bias = stated.bias_l1 * abs(b) + 0.5 * stated.bias_l2 * b * b + stated.tilt * b
    return weights + bias + total


def classes(n=120, d=6, seed=0, noise=0.1):
    X, y = make_classification(
        n, d, n_informative=max(2, d // 2), flip_y=noise, random_state=seed, n_redundant=0
    )
    return np.ascontiguousarray(X), np.where(y > 0, 1.0, -1.0)


def numbers(n=120, d=6, seed=0):
    X, y = make_regression(n, d, noise=5.0, random_state=seed)
    return np.ascontiguousarray(X), y / 50.0


def rows_and_problem(name, penalty="l2", *, n=120, d=6, seed=0, C=1.0, **more):
    X, t = numbers(n, d, seed) if "insensitive" in name else classes(n, d, seed)
    costs = C * np.random.default_rng(seed).integers(1, 4, n).astype(float)
    l1, l2 = PENALTIES[penalty]
    if name == "one_class":
        X, t = X + 2.0, np.zeros(n)
        more["tilt"] = 0.3 * costs.sum()
    return X, LinearProblem(LOSSES[name], t, costs, l1=l1, l2=l2, **more)


def solve(X, problem, *, gap=1e-9, solver="auto", threads=1, start=None, **limits):
    monitor = Monitor(Limits(0.0, gap, **limits))
    data = CpuLinearData(X, threads)
    return solve_linear(data, problem, start, monitor, LinearOptions(solver))
