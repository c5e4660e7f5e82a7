"""Many classes by several machines of two: one against one, or one against the rest.

Classes are numbered here by first appearance in the training data, and of a pair the one that
appeared first is the positive one. So the answer cannot depend on what the labels are called or
how they sort.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from .jobs import Job
from .machines import Machine

__all__ = [
    "first_appearance",
    "one_vs_one",
    "one_vs_rest",
    "pair_votes",
    "shape_votes",
]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]
# (signs, weights) -> problem
ProblemOf = Callable[[Vector, Vector], Problem]


def first_appearance(labels: Ids, classes: int) -> list[int]:
    """Return the class numbers in the order in which they first appear."""
    first = np.full(classes, labels.size)
    np.minimum.at(first, labels, np.arange(labels.size))
    return [int(c) for c in np.argsort(first, kind="stable")]


def one_vs_one(
    labels: Ids, weights: Vector, classes: int, problem_of: ProblemOf
) -> tuple[list[tuple[int, int]], list[Job]]:
    """Return the pairs (positive, negative) and a job for each; rows of no weight are left out."""
    members = [np.flatnonzero((labels == c) & (weights > 0)) for c in range(classes)]
    pairs = list(combinations(first_appearance(labels[weights > 0], classes), 2))
    jobs = []
    for positive, negative in pairs:
        segments = [members[positive], members[negative]]
        signs = np.concatenate([np.ones(segments[0].size), -np.ones(segments[1].size)])
        problem = problem_of(signs, np.concatenate([weights[s] for s in segments]))
        jobs.append(Job(problem, segments, problem.start))
    return pairs, jobs


def one_vs_rest(
    labels: Ids, weights: Vector, classes: int, problem_of: ProblemOf
) -> tuple[list[tuple[int, int]], list[Job]]:
    """Return (class, -1) and a job for each class; all machines share the same kernel rows."""
    rows = np.flatnonzero(weights > 0)
    pairs, jobs = [], []
    for positive in first_appearance(labels[rows], classes):
        signs = np.where(labels[rows] == positive, 1.0, -1.0)
        problem = problem_of(signs, weights[rows])
        pairs.append((positive, -1))
        jobs.append(Job(problem, [rows], problem.start))
    return pairs, jobs


def oriented(machines: Sequence[Machine]) -> list[tuple[Machine, float, tuple[int, int]]]:
    """Return machines by pair of classes, each with the sign that makes the smaller positive."""
    result = []
    for machine in machines:
        positive, negative = machine.classes
        pair = (min(positive, negative), max(positive, negative))
        result.append((machine, 1.0 if positive == pair[0] else -1.0, pair))
    return sorted(result, key=lambda item: item[2])


def pair_votes(decisions: Vector, classes: int) -> Ids:
    """Return the votes of each class, from decisions of shape (rows, pairs).

    A positive decision is a vote for the smaller class number of the pair.
    """
    votes = np.zeros((decisions.shape[0], classes), dtype=np.int64)
    for column, (a, b) in enumerate(combinations(range(classes), 2)):
        first = decisions[:, column] > 0
        votes[:, a] += first
        votes[:, b] += ~first
    return votes


def shape_votes(decisions: Vector, classes: int) -> Vector:
    """Return a value for each class: its votes, ties broken by the sum of its decisions.

    The sum is squeezed into (-1/3, 1/3), so that it never outweighs a vote.
    """
    confidences = np.zeros((decisions.shape[0], classes))
    for column, (a, b) in enumerate(combinations(range(classes), 2)):
        confidences[:, a] += decisions[:, column]
        confidences[:, b] -= decisions[:, column]
    squeezed = confidences / (3.0 * (np.abs(confidences) + 1.0))
    return pair_votes(decisions, classes) + squeezed
