"""What a fitted estimator computes, as a few arrays: for programs that decide without this package.

Every estimator here decides by scores

    S = K(x, vectors) weights + offset [+ self_weight k(x, x)],

where K is x itself for a linear machine, and then by one of the steps of `HEADS`.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..backends.cpu import is_sparse
from ..kernels import Kernel, Linear
from .detectors import SVDD
from .kernel_base import KernelEstimator
from .kernel_classifier import KernelClassifier
from .kernel_perceptrons import VotedPerceptron
from .linear_classifier import LinearClassifier

__all__ = ["HEADS", "DecisionRule", "pair_signs", "rule_of"]

Vector = NDArray[np.float64]

# From scores to decision and label.
HEADS = {
    "value": "the score is the number predicted",
    "inside": "one score: 1 if it is at least 0, else -1",
    "sign": "one score: the second label if it is above 0, else the first",
    "largest": "a score for each label, the largest of which wins",
    "pairs": "a score for each pair of labels: the label with most votes; the scores decide",
    "votes": "the same; decisions are votes, ties broken by the sum of scores",
    "ties": "the same, and the label is that of the largest decision",
    "survivors": "a score for each of many machines, which vote, each with its weight",
}


@dataclass(frozen=True)
class DecisionRule:
    """A decision function without its estimator.

    Attributes
    ----------
    head : str
        One of `HEADS`.
    weights : array of shape (n, machines)
        For each vector, or for each feature if there are none, its part in each score.
    offset : array of shape (machines,)
        Added to the scores.
    features : int or None
        Numbers in a row; None if rows are texts.
    kernel : Kernel or None
        None for a linear machine and for kernel values given by the caller.
    vectors : array, CSR matrix, list of str or None
        What rows are compared with.
    columns : array of int or None
        Of kernel values given by the caller, those that are used.
    self_weight : float
        Factor of k(x, x).
    labels : array or None
        Of a classifier.
    survival : array or None
        Of the head "survivors": the weight of each machine.
    """

    head: str
    weights: Vector
    offset: Vector
    features: int | None
    kernel: Kernel | None = None
    vectors: Any = None
    columns: NDArray[np.int64] | None = None
    self_weight: float = 0.0
    labels: NDArray[Any] | None = None
    survival: Vector | None = None


def rule_of(estimator: Any) -> DecisionRule:
    """Return how a fitted estimator decides.

    Parameters
    ----------
    estimator : estimator of this package
        Fitted.

    Raises
    ------
    TypeError
        If it decides in another way than those of `HEADS`.
    """
    if not isinstance(estimator, BaseEstimator):
        raise TypeError(f"expected a fitted estimator of widemargin, found {estimator!r}")
    check_is_fitted(estimator)
    if isinstance(estimator, KernelEstimator):
        return _kernel_rule(estimator)
    if isinstance(estimator, VotedPerceptron):
        return _voted_rule(estimator)
    labels = getattr(estimator, "classes_", None)
    head = _linear_head(estimator, labels)
    features = getattr(estimator, "n_features_in_", None)
    if hasattr(estimator, "dual_coef_") and not hasattr(estimator, "coef_"):
        weights, offset = np.asarray(estimator.dual_coef_).T, np.asarray(estimator.intercept_)
        rule = DecisionRule(
            head, weights, offset, features, estimator.kernel_, estimator.support_vectors_,
            labels=labels,
        )  # fmt: skip
        return _without_linear_kernel(rule)
    if not hasattr(estimator, "coef_"):
        raise TypeError(
            f"{type(estimator).__name__} has no weights or support vectors to export: "
            "only machines that predict have them"
        )
    coef = estimator.coef_
    dense = np.atleast_2d(coef.toarray() if is_sparse(coef) else coef)
    offset = np.broadcast_to(np.asarray(estimator.intercept_, np.float64), dense.shape[:1])
    weights = np.ascontiguousarray(dense.T, dtype=np.float64)
    return DecisionRule(head, weights, offset, features, labels=labels)


def pair_signs(classes: int) -> tuple[Vector, Vector]:
    """Return, for each pair and class, 1 where a positive (and where another) score is its vote."""
    pairs = list(combinations(range(classes), 2))
    first, second = np.zeros((2, len(pairs), classes))
    for row, (a, b) in enumerate(pairs):
        first[row, a] = second[row, b] = 1.0
    return first, second


def _linear_head(estimator: Any, labels: Any) -> str:
    if labels is None:
        return "inside" if hasattr(estimator, "offset_") else "value"
    if len(labels) == 2:
        return "sign"
    ovo = isinstance(estimator, LinearClassifier) and estimator._multi_class() == "ovo"
    return "ties" if ovo else "largest"


def _kernel_rule(estimator: Any) -> DecisionRule:
    labels = getattr(estimator, "classes_", None)
    head, weights = "value", estimator._dense_dual_coef.T
    if isinstance(estimator, KernelClassifier):
        head = "sign" if len(estimator.classes_) == 2 else "largest"
        if estimator._trained_by == "ovo" and head == "largest":
            weights = _pair_weights(estimator)
            shape = estimator.decision_function_shape
            head = "pairs" if shape == "ovo" else "ties" if estimator.break_ties else "votes"
    elif hasattr(estimator, "offset_"):
        head = "inside"
    ball = isinstance(estimator, SVDD)
    given = estimator.kernel_ is None
    if getattr(estimator, "_plane", None) is not None:
        product = np.ascontiguousarray(estimator._primal_coef().T)
        features = estimator.n_features_in_
        return DecisionRule(head, product, estimator.intercept_, features, labels=labels)
    return _without_linear_kernel(
        DecisionRule(
            head=head,
            weights=np.ascontiguousarray(2.0 * weights if ball else weights),
            offset=estimator.intercept_,
            features=_width(estimator) if given else getattr(estimator, "n_features_in_", None),
            kernel=estimator.kernel_,
            vectors=None if given else estimator.support_vectors_,
            columns=_columns(estimator) if given else None,
            self_weight=-1.0 if ball else 0.0,
            labels=labels,
        )
    )


def _pair_weights(estimator: Any) -> Vector:
    """Return the coefficients of each vector in the machine of each pair, mostly zeros."""
    dual_coef, starts = estimator._dense_dual_coef, estimator._group_starts
    pairs = list(combinations(range(len(estimator.classes_)), 2))
    weights = np.zeros((dual_coef.shape[1], len(pairs)))
    for column, (a, b) in enumerate(pairs):
        of_a, of_b = (slice(starts[c], starts[c + 1]) for c in (a, b))
        weights[of_a, column] = dual_coef[b - 1, of_a]
        weights[of_b, column] = dual_coef[a, of_b]
    return weights


def _width(estimator: Any) -> int:
    supports_only = estimator.gram_columns == "support"
    return int(estimator.support_.size if supports_only else estimator.n_features_in_)


def _columns(estimator: Any) -> NDArray[np.int64]:
    count = estimator.support_.size
    chosen = np.arange(count) if estimator.gram_columns == "support" else estimator.support_
    return chosen.astype(np.int64)


def _without_linear_kernel(rule: DecisionRule) -> DecisionRule:
    """Return the rule with the weights of the features in place of a linear kernel."""
    if type(rule.kernel) is not Linear or rule.self_weight:
        return rule
    vectors = rule.vectors
    product = np.asarray((vectors.T @ rule.weights), dtype=np.float64)
    return DecisionRule(
        rule.head, product, rule.offset, rule.features, labels=rule.labels, survival=rule.survival
    )


def _voted_rule(estimator: VotedPerceptron) -> DecisionRule:
    """Return all machines that there were after each move, one after the other."""
    column, winner, loser, amount, time = estimator._moves
    k = len(estimator.classes_)
    outputs = 1 if k == 2 else k
    count = column.size
    steps = np.zeros((estimator.support_vectors_.shape[0], count, outputs))
    at = np.arange(count)
    if outputs == 1:
        steps[column, at, 0] = np.where(winner, amount, -amount)
    else:
        np.add.at(steps, (column, at, winner), amount)
        np.add.at(steps, (column, at, loser), -amount)
    weights = np.cumsum(steps, axis=1).reshape(-1, count * outputs)
    offset = weights.sum(axis=0) * estimator._constant() ** 2
    survival = np.diff(np.append(time, estimator.t_)) / max(1, estimator.t_)
    vectors = estimator.support_vectors_
    return _without_linear_kernel(
        DecisionRule(
            head="survivors",
            weights=weights,
            offset=offset,
            features=estimator.n_features_in_,
            kernel=estimator.kernel_,
            vectors=sp.csr_matrix(vectors) if is_sparse(vectors) else np.asarray(vectors),
            labels=estimator.classes_,
            survival=survival.astype(np.float64),
        )
    )
