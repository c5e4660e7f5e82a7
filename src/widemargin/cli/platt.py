"""Probabilities as LIBSVM computes them, for `libsvm-train -b 1` and `libsvm-predict -b 1`.

A pair of classes gets p = 1 / (1 + exp(A f + B)) fitted to held-out decisions f (J. Platt, 1999;
H.-T. Lin, C.-J. Lin, R. C. Weng, 2007), several pairs are coupled (T.-F. Wu, C.-J. Lin, R. C. Weng,
2004), errors of regression get a Laplace law, and one-class machines ten marks of the density of
their decisions. Our own probabilities, which never contradict predictions, are those of `SVC`.
"""

import sys
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..io.atomic import open_target
from ..reductions.calibration import couple_pairs
from .dropin import cross_validated

__all__ = ["calibrate", "predict", "sigmoid_of"]

Vector = NDArray[np.float64]

FOLDS = 5
MARKS = 10
LEAST = 1e-7  # of a pair's probability


def sigmoid_of(decisions: Vector, positive: NDArray[np.bool_]) -> tuple[float, float]:
    """Return A and B of largest likelihood, by Newton steps with halving.

    Targets are smoothed, (n+ + 1) / (n+ + 2) and 1 / (n- + 2), so that both stay finite.
    """
    up, down = int(positive.sum()), int((~positive).sum())
    targets = np.where(positive, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))
    columns = np.column_stack([decisions, np.ones_like(decisions)])

    def loss(point: Vector) -> float:
        z = columns @ point
        return float((targets * z + np.logaddexp(0.0, -z)).sum())

    point = np.array([0.0, np.log((down + 1.0) / (up + 1.0))])
    value = loss(point)
    for _ in range(100):
        p = np.exp(-np.logaddexp(0.0, columns @ point))
        slope = columns.T @ (targets - p)
        if np.abs(slope).max() < 1e-5:
            break
        curvature = (columns.T * (p * (1 - p))) @ columns + 1e-12 * np.eye(2)
        step = np.linalg.solve(curvature, -slope)
        size = 1.0
        while size > 1e-10 and not (
            (new := loss(point + size * step)) < value + 1e-4 * size * (slope @ step)
        ):
            size /= 2
        if size <= 1e-10:
            break
        point, value = point + size * step, new
    return float(point[0]), float(point[1])


def calibrate(
    estimator: Any, make: Callable[[], Any], X: Any, targets: Any, *, quiet: bool
) -> None:
    """Give a fitted estimator the parameters that LIBSVM keeps in its models."""
    if hasattr(estimator, "classes_"):
        _calibrate_pairs(estimator, make, X, targets)
    elif hasattr(estimator, "offset_"):
        _mark_density(estimator, X)
    else:
        gram = estimator.kernel_ is None
        held_out = cross_validated(make, X, targets, FOLDS, classes=False, gram=gram)
        errors = np.abs(targets - held_out)
        spread = np.sqrt(2.0) * errors.mean()
        sigma = float(errors[errors <= 5 * spread].mean())
        estimator.probA_ = np.array([sigma])
        if not quiet:
            print(_laplace(sigma))


def _laplace(sigma: float) -> str:
    return (
        "Prob. model for test data: target value = predicted value + z,\n"
        f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma= {sigma:g}"
    )


def _calibrate_pairs(estimator: Any, make: Callable[[], Any], X: Any, numbers: Any) -> None:
    first, second = [], []
    for a, b in combinations(range(len(estimator.classes_)), 2):
        rows = np.flatnonzero((numbers == a) | (numbers == b))
        inner = X[rows][:, rows] if estimator.kernel_ is None else X[rows]
        decisions = _held_out(make, inner, numbers[rows], a, estimator.kernel_ is None)
        A, B = sigmoid_of(decisions, numbers[rows] == a)
        first.append(A)
        second.append(B)
    estimator.probA_, estimator.probB_ = np.array(first), np.array(second)


def _held_out(make: Callable[[], Any], X: Any, numbers: Any, a: int, gram: bool) -> Vector:
    """Return decisions, positive for class a, of machines that had not seen the row."""
    order = np.random.default_rng(1).permutation(numbers.size)
    decisions = np.empty(numbers.size)
    for k in range(FOLDS):
        outside = np.sort(order[k::FOLDS])
        inside = np.setdiff1d(np.arange(numbers.size), outside)
        labels = np.unique(numbers[inside])
        if labels.size < 2:  # as LIBSVM: sure of the only class that there is
            decisions[outside] = 0.0 if not labels.size else 1.0 if labels[0] == a else -1.0
            continue
        machine = make()
        if getattr(machine, "class_weight", None):
            machine.class_weight = {c: machine.class_weight[int(c)] for c in labels.tolist()}
        if gram:
            machine.fit(X[np.ix_(inside, inside)], numbers[inside])
            values = machine.decision_function(X[np.ix_(outside, inside)])
        else:
            values = machine.fit(X[inside], numbers[inside]).decision_function(X[outside])
        decisions[outside] = values if machine.classes_[1] == a else -values
    return decisions


def _mark_density(estimator: Any, X: Any) -> None:
    """Keep marks that part the decisions of training rows into bins of equal counts, by sign."""
    values = np.sort(np.asarray(estimator.decision_function(X), dtype=np.float64))
    below = int((values < 0).sum())
    above, half = values.size - below, MARKS // 2
    if below < half or above < half:
        print(
            f"WARNING: number of positive or negative decision values <{half}; "
            "too few to do a probability estimation.",
            file=sys.stderr,
        )
        return
    edges = [values[k * below // half] for k in range(half)] + [0.0]
    edges += [values[below - 1 + k * above // half] for k in range(1, half + 1)]
    estimator.prob_density_marks_ = (np.array(edges[:-1]) + np.array(edges[1:])) / 2


def predict(estimator: Any, X: Any, output: str, quiet: bool) -> Vector:
    """Write what ``svm-predict -b 1`` writes, and return the predictions."""
    probabilities: Vector | None = None
    if hasattr(estimator, "classes_") and hasattr(estimator, "probA_"):
        labels, probabilities = estimator.classes_, _class_probabilities(estimator, X)
        guesses = labels[np.argmax(probabilities, axis=1)]
        if len(labels) == 2:  # the file begins with the label that LIBSVM puts first
            labels, probabilities = labels[::-1], probabilities[:, ::-1]
        head = f"labels {' '.join(map(str, labels.tolist()))}\n"
    elif hasattr(estimator, "prob_density_marks_"):
        marks = estimator.prob_density_marks_
        values = np.asarray(estimator.decision_function(X), dtype=np.float64)
        inside = np.clip(np.searchsorted(marks, values, side="right") / MARKS, 0.001, 0.999)
        probabilities, head = np.column_stack([inside, 1 - inside]), "labels normal outlier\n"
        guesses = np.where(values > 0, 1, -1)
    elif hasattr(estimator, "probA_"):
        if not quiet:
            print(_laplace(float(estimator.probA_[0])))
        guesses, head = np.asarray(estimator.predict(X)), ""
    else:
        raise ValueError("Model does not support probabiliy estimates; train it with -b 1")
    lines = [f"{guess:.17g}" for guess in guesses.tolist()]
    if probabilities is not None:
        lines = [
            f"{line} {' '.join(format(p, 'g') for p in row)}"
            for line, row in zip(lines, probabilities.tolist(), strict=True)
        ]
    with open_target(output) as file:
        file.write((head + "".join(f"{line}\n" for line in lines)).encode("ascii"))
    return np.asarray(guesses, dtype=np.float64)


def _class_probabilities(estimator: Any, X: Any) -> Vector:
    k = len(estimator.classes_)
    if k == 2:  # a positive decision means the second class
        decisions = -np.asarray(estimator.decision_function(X), dtype=np.float64)[:, None]
    else:
        shape = estimator.decision_function_shape
        estimator.decision_function_shape = "ovo"
        decisions = np.asarray(estimator.decision_function(X), dtype=np.float64)
        estimator.decision_function_shape = shape
    first = np.exp(-np.logaddexp(0.0, estimator.probA_ * decisions + estimator.probB_))
    first = np.clip(first, LEAST, 1 - LEAST)
    return np.column_stack([first, 1 - first]) if k == 2 else couple_pairs(first, k)
