"""LIBLINEAR's -C: cost, and epsilon of regression, with the best cross-validation.

Costs go up by factors of two from one so small that the weights are nearly zero, as LIBLINEAR's do;
epsilon goes down in twenty steps from the largest target.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

from ..backends.cpu import is_sparse
from .dropin import Given, cross_validated

__all__ = ["Start", "search", "start"]

SEARCHED = (0, 2, 11)
LARGEST_C = 1024.0
STEPS_OF_EPSILON = 20
FOLDS = 5


@dataclass(frozen=True)
class Start:
    """Where a search begins, as far as the command line says.

    Attributes
    ----------
    C, epsilon : float or None
        None for what follows from the data.
    """

    C: float | None
    epsilon: float | None


def start(given: Given) -> Start:
    """Return where to begin; without -s the solver is 2, the only one here that is for classes."""
    values = given.values
    if values["s"] is None:
        print("Solver not specified. Using -s 2")
        values["s"] = 2
    if values["s"] not in SEARCHED:
        raise typer.BadParameter(
            "train: -C searches for -s 0, -s 2 and -s 11 only; `widemargin tune` searches for all"
        )
    return Start(values["c"], values["p"])


def search(begin: Start, given: Given, make: Callable[[], Any], X: Any, targets: Any) -> None:
    """Search, and print the best point in LIBLINEAR's words; no model is written."""
    kind, folds = given.values["s"], given.values["v"] or FOLDS
    classes, quiet = kind < 10, "q" in given.flags
    print(f"Doing parameter search with {folds}-fold cross validation.")
    best: tuple[float, float, float | None] | None = None
    for epsilon in _epsilons(begin.epsilon, targets) if kind == 11 else [None]:
        for C in _costs(begin.C, X, kind):

            def machine(C: float = C, epsilon: float | None = epsilon) -> Any:
                made = make().set_params(C=C)
                return made if epsilon is None else made.set_params(epsilon=epsilon)

            guesses = cross_validated(machine, X, targets, folds, classes=classes, gram=False)
            error = np.mean(guesses != targets) if classes else np.mean((guesses - targets) ** 2)
            if not quiet:
                _tell(C, epsilon, float(error))
            if best is None or error < best[0]:
                best = float(error), C, epsilon
    assert best is not None
    error, C, epsilon = best
    if classes:
        print(f"Best C = {C:g}  CV accuracy = {100 * (1 - error):g}%")
    else:
        print(f"Best C = {C:g} Best p = {epsilon:g}  CV MSE = {error:g}")


def _tell(C: float, epsilon: float | None, error: float) -> None:
    if epsilon is None:
        print(f"log2c={np.log2(C):7.2f}\trate={100 * (1 - error):g}")
    else:
        print(f"log2c={np.log2(C):7.2f}\tp={epsilon:7.2f}\tMean squared error={error:g}")


def _costs(first: float | None, X: Any, kind: int) -> Iterator[float]:
    """Yield costs; by default from the power of two below 1 / (n max |x|²), half of it for -s 2."""
    if first is None:
        squares = X.multiply(X).sum(axis=1) if is_sparse(X) else (X**2).sum(axis=1)
        largest = float(np.max(squares)) or 1.0
        first = 2.0 ** np.floor(-np.log2(X.shape[0] * largest * (1.0 if kind == 0 else 2.0)))
    C = float(first)
    last = max(LARGEST_C, C)
    while last >= C:
        yield C
        C *= 2.0


def _epsilons(given: float | None, targets: Any) -> list[float]:
    """Return the epsilon that the user gave, or even steps down from the largest target to 0."""
    if given is not None:
        return [given]
    largest = float(np.max(np.abs(targets)))
    return [largest * k / STEPS_OF_EPSILON for k in reversed(range(STEPS_OF_EPSILON))]
