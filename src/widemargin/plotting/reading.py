"""What pictures ask of any fitted estimator: labels, decision values, whether there is a margin."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["dense_labels", "leads", "number_classes", "shows_margin", "weight_norm"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


def dense_labels(y: Any) -> NDArray[Any]:
    """Return labels as an array of one dimension."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must hold one label for each row, found an array of shape {y.shape}")
    return y


def number_classes(labels: Any, classes: Any) -> Ids:
    """Return the number of each label among the classes, which may be in any order."""
    labels, classes = np.asarray(labels), np.asarray(classes)
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes[order], labels), len(classes) - 1)
    numbers = order[place]
    if not np.array_equal(classes[numbers], labels):
        unknown = labels[classes[numbers] != labels].tolist()[0]
        raise ValueError(
            f"y holds the label {unknown!r}, which is none of the classes {classes.tolist()}; "
            "show rows of classes the estimator has learnt"
        )
    return numbers


def shows_margin(estimator: Any) -> bool:
    """Whether decision values of -1 and 1 are the margin of a support vector machine."""
    if not hasattr(estimator, "classes_"):
        return False
    if hasattr(estimator, "n_support_"):
        return True
    certified = hasattr(estimator, "duality_gap_") and not hasattr(estimator, "predict_proba")
    return certified and getattr(estimator, "loss", "hinge") != "logistic"


def leads(estimator: Any, X: Any, numbers: Ids) -> Vector:
    """Return y f(x) of two classes; of more by how much the row's class leads the best other."""
    scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        return np.where(numbers == 1, scores, -scores)
    count = len(estimator.classes_)
    if scores.shape[1] != count:
        raise ValueError(
            f"decision_function gives {scores.shape[1]} columns for {count} classes, expected one "
            'for each class; set decision_function_shape="ovr"'
        )
    at = np.arange(numbers.size)
    own = scores[at, numbers]
    rest = scores.copy()
    rest[at, numbers] = -np.inf
    return own - rest.max(axis=1)


def weight_norm(estimator: Any) -> float | None:
    """Return ||w|| of a linear machine of two classes, or None."""
    coef = getattr(estimator, "coef_", None)
    if coef is None:
        return None
    w = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
    return float(np.linalg.norm(w)) if w.size == w.shape[-1] else None
