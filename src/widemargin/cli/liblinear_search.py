"""LIBLINEAR's -C: cost, and epsilon of regression, with the best cross-validation.

`search_cost` of the estimators does it; here are LIBLINEAR's words and limits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

from ..estimators.linear_search import CostSearch
from .dropin import Given

__all__ = ["Start", "search", "start"]

SEARCHED = (0, 2, 11)
LARGEST_C = 1024.0
LARGEST_C_OF_SVR = 1048576.0
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
    print(f"Doing parameter search with {folds}-fold cross validation.")
    limits = {
        "cv": folds,
        "start": begin.C,
        "largest": LARGEST_C if kind < 10 else LARGEST_C_OF_SVR,
    }
    machine = make()
    one_tube = kind < 10 or begin.epsilon is not None
    look = machine.search_cost if one_tube else machine.search_cost_and_epsilon
    found = look(X, targets, **limits)
    if "q" not in given.flags:
        _tell(found)
    if kind < 10:
        print(f"Best C = {found.C:g}  CV accuracy = {100 * found.score:g}%")
    else:
        print(f"Best C = {found.C:g} Best p = {found.epsilon:g}  CV MSE = {-found.score:g}")


def _tell(found: CostSearch) -> None:
    for C, score in zip(found.Cs, found.scores, strict=True):
        if found.epsilon is None:
            print(f"log2c={np.log2(C):7.2f}\trate={100 * score:g}")
        else:
            print(f"log2c={np.log2(C):7.2f}\tp={found.epsilon:7.2f}\tMean squared error={-score:g}")
