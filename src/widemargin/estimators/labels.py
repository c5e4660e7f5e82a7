"""Labels and class weights as classifiers take them."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .validation import check_choice, check_weights

__all__ = ["class_weights", "known_labels", "number_labels"]

SURE_KINDS = "biuUS"  # of NumPy: labels that need no check, which would take as long as a small fit

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


def number_labels(name: str, y: Any, sample_weight: Any) -> tuple[Any, Ids, Vector]:
    """Return the classes of rows with any weight, the class number of each row, and the weights.

    Parameters
    ----------
    name : str
        The estimator's, for messages.
    y : array-like of shape (n_rows,)
        Labels.
    sample_weight : array-like, number or None
        Weights.
    """
    if y is None:
        raise ValueError(
            f"requires y to be passed, but the target y is None: {name} learns from labels"
        )
    if not (isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in SURE_KINDS):
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
    weights = check_weights(sample_weight, y.shape[0])
    classes = np.unique(y[weights > 0])
    if len(classes) < 2:
        if len(np.unique(y)) > 1:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class"
            )
        raise ValueError(
            f"The number of classes has to be greater than one; got {len(classes)} class"
        )
    labels = np.minimum(np.searchsorted(classes, y), len(classes) - 1).astype(np.int64)
    return classes, labels, weights


def known_labels(estimator: Any, y: Any, classes: Any, *, first: bool) -> Ids:
    """Return the class number of each row of a block; the first block names all classes.

    Parameters
    ----------
    estimator
        Whose ``classes_`` are set at the first block.
    y : array-like of shape (n_rows,)
        Labels.
    classes : array-like or None
        All labels that will come.
    first : bool
        Whether this is the first block.
    """
    if first:
        if classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: labels that are not in "
                "this block may come later"
            )
        estimator.classes_ = np.unique(column_or_1d(classes))
        if estimator.classes_.size < 2:
            raise ValueError(f"classes must name at least two labels, found {classes!r}")
    elif classes is not None and not np.array_equal(np.unique(classes), estimator.classes_):
        raise ValueError(
            f"classes={classes!r} is not the same as on the first call to partial_fit, "
            f"which was {estimator.classes_!r}"
        )
    y = column_or_1d(y, warn=True)
    known = np.isin(y, estimator.classes_)
    if not known.all():
        raise ValueError(
            f"y holds {np.unique(y[~known]).tolist()!r}, which the first call to partial_fit did "
            f"not name in classes; they are {estimator.classes_.tolist()!r}"
        )
    return np.searchsorted(estimator.classes_, y).astype(np.int64)


def class_weights(chosen: Any, classes: Any, labels: Ids, weights: Vector) -> Vector:
    """Return the weight of each class; "balanced" gives all classes the same total."""
    if chosen is None:
        return np.ones(len(classes))
    if isinstance(chosen, str):
        check_choice("class_weight", chosen, ("balanced",))
        totals = np.bincount(labels, weights, minlength=len(classes))
        return np.asarray(totals.sum() / (len(classes) * totals))
    if not isinstance(chosen, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, found {chosen!r}")
    known = classes.tolist()
    unknown = [label for label in chosen if label not in known]
    if unknown and not set(known) <= set(chosen):  # rather a slip than an absent class
        raise ValueError(f"class_weight names {unknown!r}, but the classes are {known!r}")
    result = [chosen.get(label, 1.0) for label in known]
    if not all(isinstance(w, Real) and 0 < float(w) < np.inf for w in result):
        raise ValueError(f"class_weight must hold positive numbers, found {chosen!r}")
    return np.array(result, dtype=np.float64)
