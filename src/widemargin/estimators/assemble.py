"""Building a fitted estimator from the parts of its decision function.

Models that come from files or from other libraries are made here. Every size is checked, so that no
set of parts, whoever made it, leads to a machine that reads beyond its arrays.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import count_rows
from ..kernels import Kernel
from .detectors import OneClassSVM
from .kernel_classifier import KernelClassifier
from .linear_classifier import LinearClassifier
from .linear_detectors import LinearOneClassSVM

__all__ = [
    "Parts",
    "assemble",
    "assemble_linear",
    "check_linear",
    "check_machine",
    "check_vectors",
    "count_classes",
    "require",
    "require_carried",
]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

LOST = 1e-3  # difference of decisions of which a model file is not worth writing


@dataclass(frozen=True)
class Parts:
    """What the decision function of a kernel machine is made of.

    Attributes
    ----------
    kernel : Kernel or None
        With numbers for all parameters; None for kernel values given by the caller.
    support : array of int of shape (n_SV,)
        Numbers of the training rows that are support vectors, those of each class together.
    vectors : array, CSR matrix, list of objects or None
        The support vectors; None with a precomputed kernel.
    dual_coef : array of shape (n_outputs, n_SV)
        Coefficients, laid out as the attribute ``dual_coef_`` of the estimator.
    intercept : array
        As the attribute ``intercept_``.
    n_support : array of int
        Support vectors of each class; for other tasks their number.
    n_features, n_rows : int
        Columns and rows of the training data.
    classes : array or None
        Labels, of a classifier.
    trained_by : {"ovo", "ovr", "joint"}
        How many classes were turned into machines.
    """

    kernel: Kernel | None
    support: Ids
    vectors: Any
    dual_coef: Vector
    intercept: Vector
    n_support: Ids
    n_features: int | None
    n_rows: int
    classes: NDArray[Any] | None = None
    trained_by: str = "ovo"


def assemble(estimator: Any, parts: Parts) -> Any:
    """Make an estimator a fitted one.

    It then predicts like any other, but has no certificate: ``duality_gap_``, ``status_``,
    ``history_``, ``machines_``, and ``decision_bound`` and ``is_certain``, are missing.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        An estimator with the settings that it shall have.
    parts : Parts
        What it shall be made of.

    Returns
    -------
    estimator
        The same object.

    Raises
    ------
    ValueError
        If the parts do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> from widemargin.estimators.assemble import Parts, assemble
    >>> from widemargin.kernels import Linear
    >>> parts = Parts(
    ...     kernel=Linear(),
    ...     support=np.array([0]),
    ...     vectors=np.array([[1.0, 2.0]]),
    ...     dual_coef=np.array([[0.5]]),
    ...     intercept=np.array([1.0]),
    ...     n_support=np.array([1]),
    ...     n_features=2,
    ...     n_rows=1,
    ... )
    >>> assemble(SVR(kernel="linear"), parts).predict([[2.0, 0.0]])
    array([2.])
    """
    dual_coef = np.ascontiguousarray(parts.dual_coef, dtype=np.float64)
    intercept = np.ascontiguousarray(parts.intercept, dtype=np.float64)
    classifier = isinstance(estimator, KernelClassifier)
    _check_parts(parts, dual_coef, intercept, classifier)
    estimator.intercept_ = intercept
    estimator.n_support_ = parts.n_support.astype(np.int32)
    if classifier:
        classes = parts.classes
        assert classes is not None  # checked just above
        estimator.classes_ = classes
        estimator.class_weight_ = np.ones(len(classes))
        estimator._trained_by = parts.trained_by
    elif isinstance(estimator, OneClassSVM):
        estimator.offset_ = -intercept
    if parts.n_features is not None:
        estimator.n_features_in_ = parts.n_features
    estimator.fit_status_ = 0
    _give_support(estimator, parts, dual_coef, _group_starts(parts, classifier))
    return estimator


def _give_support(estimator: Any, parts: Parts, dual_coef: Vector, group_starts: Ids) -> None:
    estimator.kernel_ = parts.kernel
    estimator.support_ = parts.support.astype(np.int32)
    estimator.support_vectors_ = np.empty((0, 0)) if parts.kernel is None else parts.vectors
    sparse = sp.issparse(parts.vectors)
    estimator.dual_coef_ = sp.csr_matrix(dual_coef) if sparse else dual_coef
    width = () if parts.n_features is None else (parts.n_features,)
    estimator.shape_fit_ = (parts.n_rows, *width)
    estimator._dense_dual_coef = dual_coef
    estimator._plane = None
    estimator._group_starts = group_starts
    estimator._open_expansion()


def assemble_linear(estimator: Any, coef: Any, intercept: Any, classes: Any = None) -> Any:
    """Make a linear estimator a fitted one, without certificate.

    Parameters
    ----------
    estimator : LinearSVC, LogisticRegression, LinearSVR or LinearOneClassSVM
        An estimator with the settings that it shall have.
    coef : array of shape (machines, n_features)
        Weights of the features.
    intercept : array of shape (machines,)
        Intercepts.
    classes : array or None
        Labels, of a classifier; with two a positive decision means the second.

    Returns
    -------
    estimator
        The same object.

    Raises
    ------
    ValueError
        If the parts do not fit together.
    """
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    estimator.intercept_ = np.ascontiguousarray(intercept, dtype=np.float64)
    estimator.n_features_in_ = coef.shape[1]
    if isinstance(estimator, LinearClassifier):
        estimator.classes_ = classes
        estimator.class_weight_ = np.ones(0 if classes is None else len(classes))
        estimator.coef_ = coef
    else:
        estimator.coef_ = coef[0]
    if isinstance(estimator, LinearOneClassSVM):
        estimator.offset_ = -estimator.intercept_
    check_linear(estimator)
    return estimator


def check_machine(estimator: Any) -> None:
    """Require that the attributes of a fitted estimator fit together.

    Raises
    ------
    ValueError
        If sizes contradict each other or a number is not finite.
    """
    precomputed = estimator.kernel_ is None
    classifier = isinstance(estimator, KernelClassifier)
    parts = Parts(
        kernel=estimator.kernel_,
        support=estimator.support_,
        vectors=None if precomputed else estimator.support_vectors_,
        dual_coef=estimator._dense_dual_coef,
        intercept=estimator.intercept_,
        n_support=estimator.n_support_,
        n_features=getattr(estimator, "n_features_in_", None),
        n_rows=estimator.shape_fit_[0],
        classes=estimator.classes_ if classifier else None,
        trained_by=estimator._trained_by if classifier else "ovo",
    )
    _check_parts(parts, parts.dual_coef, parts.intercept, classifier)
    require(np.array_equal(estimator._group_starts, _group_starts(parts, classifier)), "groups")
    plane = getattr(estimator, "_plane", None)
    if plane is not None:
        groups, outputs = estimator._group_starts.size - 1, parts.dual_coef.shape[0]
        require(
            parts.n_features is not None
            and plane.dtype == np.float64
            and plane.shape == (groups, outputs, parts.n_features)
            and bool(np.isfinite(plane).all()),
            "weights of the features",
        )


def require_carried(estimator: Any) -> None:
    """Require that coefficients of support vectors are enough to make the machine anew.

    A hard margin of columns of very different sizes has weights that float64 coefficients lose.

    Raises
    ------
    ValueError
        If the decisions about the support vectors would be others.
    """
    if getattr(estimator, "_plane", None) is None:
        return
    made = copy(estimator)
    made._plane = None
    made._open_expansion()
    if made._expansion.linear is None:  # too many features to add up
        return
    lost = (made._primal_coef() - estimator._primal_coef()).T
    differs = float(np.abs(estimator.support_vectors_ @ lost).max(initial=0.0))
    if differs > LOST:
        raise ValueError(
            "the support vectors and their coefficients, rounded to float64, do not carry the "
            f"weights of this hard margin: decisions would differ by {differs:.2g}; "
            "save(estimator, path) keeps it, or scale the columns of X and fit again"
        )


def _group_starts(parts: Parts, classifier: bool) -> Ids:
    """Return where each group of vectors that has sums of its own begins, and the end."""
    if classifier and parts.trained_by == "ovo" and len(parts.classes) > 2:  # type: ignore[arg-type]
        return np.concatenate([[0], np.cumsum(parts.n_support, dtype=np.int64)])
    return np.array([0, parts.support.size], dtype=np.int64)


def require(condition: bool, sentence: str) -> None:
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ValueError(f"the parts of the model do not fit together: {sentence}")


def _check_parts(parts: Parts, dual_coef: Vector, intercept: Vector, classifier: bool) -> None:
    count = parts.support.size
    require(parts.support.ndim == 1, "support is not one row of numbers")
    require(parts.n_rows >= 0 and (parts.n_features is None or parts.n_features >= 1), "sizes")
    inside = count == 0 or (parts.support.min() >= 0 and parts.support.max() < parts.n_rows)
    require(bool(inside), f"a support vector is not one of {parts.n_rows} rows")
    require(parts.n_rows < 2**31, "more rows than support_ can count")
    outputs, intercepts, groups = _expected_sizes(parts, classifier)
    require(
        dual_coef.shape == (outputs, count),
        f"coefficients have shape {dual_coef.shape}, expected {(outputs, count)}",
    )
    require(
        intercept.shape == (intercepts,),
        f"intercepts have shape {intercept.shape}, expected {(intercepts,)}",
    )
    require(bool(np.isfinite(dual_coef).all() and np.isfinite(intercept).all()), "not finite")
    require(
        parts.n_support.shape == (groups,)
        and bool((parts.n_support >= 0).all())
        and int(parts.n_support.sum()) == count,
        f"n_support must hold {groups} numbers that sum to {count}",
    )
    if parts.kernel is None:
        require(parts.n_features == parts.n_rows, "a kernel matrix has a column for each row")
    else:
        check_vectors(parts.kernel, parts.vectors, count, parts.n_features)


def _expected_sizes(parts: Parts, classifier: bool) -> tuple[int, int, int]:
    """Return how many rows of coefficients, intercepts and groups of vectors there must be."""
    if not classifier:
        return 1, 1, 1
    k = count_classes(parts.classes)
    require(parts.trained_by in ("ovo", "ovr", "joint"), f"trained by {parts.trained_by!r}")
    if parts.trained_by == "ovo" or k == 2:
        return k - 1, k * (k - 1) // 2, k
    return k, k, k


def check_vectors(kernel: Kernel, vectors: Any, count: int, features: int | None) -> None:
    """Require `count` vectors of finite numbers, or objects of a kernel that takes them."""
    require(vectors is not None and count_rows(vectors) == count, "one vector for each number")
    if kernel.accepts_objects:
        return
    require(features is not None, "the number of features is missing")
    require(
        vectors.ndim == 2 and vectors.shape[1] == features,
        f"vectors have shape {vectors.shape}, expected {(count, features)}",
    )
    require(vectors.dtype in (np.float32, np.float64), f"vectors have dtype {vectors.dtype}")
    values = vectors.data if sp.issparse(vectors) else vectors
    require(bool(np.isfinite(values).all()), "a support vector is not finite")
    if sp.issparse(vectors):
        vectors.check_format(full_check=True)
        require(bool(vectors.has_canonical_format), "sparse vectors are not in canonical form")


def check_linear(estimator: Any) -> None:
    """Require weights and intercepts of finite numbers, as many as there are machines."""
    coef, intercept, features = estimator.coef_, estimator.intercept_, estimator.n_features_in_
    values = coef.data if sp.issparse(coef) else coef
    require(values.dtype.kind == "f" and intercept.dtype.kind == "f", "weights are not numbers")
    require(bool(np.isfinite(values).all() and np.isfinite(intercept).all()), "not finite")
    machines = 1
    if isinstance(estimator, LinearClassifier):
        k = count_classes(estimator.classes_)
        machines = 1 if k == 2 else k * (k - 1) // 2 if estimator._multi_class() == "ovo" else k
    else:
        require(coef.ndim == 1 or coef.shape[0] == 1, f"weights have shape {coef.shape}")
    require(
        coef.shape in ((machines, features), (features,)) and intercept.shape == (machines,),
        f"{machines} machines of {features} features have weights of shape {coef.shape} "
        f"and intercepts of shape {intercept.shape}",
    )
    if sp.issparse(coef):
        coef.check_format(full_check=True)


def count_classes(classes: Any) -> int:
    """Return how many classes there are; they must be distinct."""
    require(classes is not None and classes.ndim == 1 and len(classes) >= 2, "too few classes")
    k = len(classes)
    require(len(set(classes.tolist())) == k, "a class occurs twice")
    return k
