"""Decisions on rows that the machine did not see, by cross-validation within each machine.

The folds' machines start from the full solution, restricted to their rows, so that together they
cost about as much as the fit itself. Which fold a row is in follows from its content.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from ..solution import Solution, Status
from .folds import Keys, distinct_rows, folds_by_content
from .jobs import Interrupted, Job, Schedule, run_jobs
from .machines import Machine

__all__ = ["held_out_decisions"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

FOLDS = 5

ProblemOf = Callable[[Vector, Vector], Problem]
ReadMachine = Callable[..., Machine]


def held_out_decisions(
    data: Any,
    machines: Sequence[Machine],
    labels: Ids,
    weights: Vector,
    keys: Keys,
    problem_of: ProblemOf,
    read: ReadMachine,
    schedule: Schedule,
) -> list[Vector]:
    """Return, for each machine, the decision of each of its rows by a machine that had not seen it.

    A machine with fewer than two different rows of a class judges its own training rows.
    """
    result = []
    for machine in machines:
        rows, sides = machine.rows, labels[machine.rows] == machine.classes[0]
        folds = _folds(keys[rows], labels[rows], sides, weights[rows])
        if folds is None:
            result.append(machine.solution.outputs + machine.bias)
            continue
        jobs, kept = [], []
        for fold in range(int(folds.max()) + 1):
            inside = np.flatnonzero(folds != fold)
            problem = problem_of(np.where(sides[inside], 1.0, -1.0), weights[rows[inside]])
            assert isinstance(machine.solution, Solution)  # not a joint one
            start = problem.near(machine.solution.x[inside])
            jobs.append(Job(problem, [rows[inside]], start))
            kept.append(inside)
        decisions = np.empty(rows.size)
        for fold, solution in enumerate(run_jobs(data, jobs, schedule)):
            if solution.status is Status.INTERRUPTED:
                raise Interrupted
            part = read(jobs[fold].problem, solution, rows[kept[fold]], machine.classes)
            outside = np.flatnonzero(folds == fold)
            decisions[outside] = part.bias + data.outputs_at(
                rows[outside], part.rows, part.coefficients
            )
        result.append(decisions)
    return result


def _folds(keys: Keys, labels: Ids, sides: NDArray[np.bool_], weights: Vector) -> Ids | None:
    """Return the folds of a machine's rows, by class if each fold's machine then has both sides."""
    smallest = min(distinct_rows(keys[side], weights[side]) for side in (sides, ~sides))
    if smallest < 2:
        return None
    count = min(FOLDS, smallest)
    folds = folds_by_content(keys, labels, weights, count)
    if all(len(np.unique(folds[side])) > 1 for side in (sides, ~sides)):
        return folds
    return folds_by_content(keys, sides.astype(np.int64), weights, count)
