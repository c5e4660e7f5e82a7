"""Building a fitted estimator from the parts of its decision function.

Models that come from files or from other libraries are made here. Every size is checked, so that no
set of parts, whoever made it, leads to a machine that reads beyond its arrays.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import count_rows
from ..kernels import Kernel
from .classifiers import SVC, NuSVC
from .detectors import SVDD, OneClassSVM
from .kernel_base import KernelEstimator
from .kernel_classifier import KernelClassifier
from .regressors import SVR, NuSVR

__all__ = ["KERNEL_MACHINES", "Parts", "assemble"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

KERNEL_MACHINES: dict[str, type[KernelEstimator]] = {
    "SVC": SVC,
    "NuSVC": NuSVC,
    "SVR": SVR,
    "NuSVR": NuSVR,
    "OneClassSVM": OneClassSVM,
    "SVDD": SVDD,
}


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
    estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM or SVDD
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
    group_starts = np.array([0, parts.support.size])
    if classifier:
        classes = parts.classes
        assert classes is not None  # checked just above
        estimator.classes_ = classes
        estimator.class_weight_ = np.ones(len(classes))
        estimator._trained_by = parts.trained_by
        if parts.trained_by == "ovo" and len(classes) > 2:
            group_starts = np.concatenate([[0], np.cumsum(parts.n_support)])
    elif isinstance(estimator, OneClassSVM):
        estimator.offset_ = -intercept
    if parts.n_features is not None:
        estimator.n_features_in_ = parts.n_features
    estimator.fit_status_ = 0
    _give_support(estimator, parts, dual_coef, group_starts)
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
    estimator._group_starts = group_starts
    estimator._open_expansion()


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise ValueError(f"the parts of the model do not fit together: {sentence}")


def _check_parts(parts: Parts, dual_coef: Vector, intercept: Vector, classifier: bool) -> None:
    count = parts.support.size
    _require(parts.support.ndim == 1, "support is not one row of numbers")
    _require(parts.n_rows >= 0 and (parts.n_features is None or parts.n_features >= 1), "sizes")
    inside = count == 0 or (parts.support.min() >= 0 and parts.support.max() < parts.n_rows)
    _require(bool(inside), f"a support vector is not one of {parts.n_rows} rows")
    _require(parts.n_rows < 2**31, "more rows than support_ can count")
    outputs, intercepts, groups = _expected_sizes(parts, classifier)
    _require(
        dual_coef.shape == (outputs, count),
        f"coefficients have shape {dual_coef.shape}, expected {(outputs, count)}",
    )
    _require(
        intercept.shape == (intercepts,),
        f"intercepts have shape {intercept.shape}, expected {(intercepts,)}",
    )
    _require(bool(np.isfinite(dual_coef).all() and np.isfinite(intercept).all()), "not finite")
    _require(
        parts.n_support.shape == (groups,)
        and bool((parts.n_support >= 0).all())
        and int(parts.n_support.sum()) == count,
        f"n_support must hold {groups} numbers that sum to {count}",
    )
    if parts.kernel is None:
        _require(parts.n_features == parts.n_rows, "a kernel matrix has a column for each row")
    else:
        _check_vectors(parts, count)


def _expected_sizes(parts: Parts, classifier: bool) -> tuple[int, int, int]:
    """Return how many rows of coefficients, intercepts and groups of vectors there must be."""
    if not classifier:
        return 1, 1, 1
    classes = parts.classes
    _require(classes is not None and classes.ndim == 1 and len(classes) >= 2, "too few classes")
    assert classes is not None
    k = len(classes)
    _require(len(set(classes.tolist())) == k, "a class occurs twice")
    _require(parts.trained_by in ("ovo", "ovr", "joint"), f"trained by {parts.trained_by!r}")
    if parts.trained_by == "ovo" or k == 2:
        return k - 1, k * (k - 1) // 2, k
    return k, k, k


def _check_vectors(parts: Parts, count: int) -> None:
    vectors, kernel = parts.vectors, parts.kernel
    assert kernel is not None
    _require(vectors is not None and count_rows(vectors) == count, "one vector for each number")
    if kernel.accepts_objects:
        return
    _require(parts.n_features is not None, "the number of features is missing")
    _require(
        vectors.ndim == 2 and vectors.shape[1] == parts.n_features,
        f"vectors have shape {vectors.shape}, expected {(count, parts.n_features)}",
    )
    _require(vectors.dtype in (np.float32, np.float64), f"vectors have dtype {vectors.dtype}")
    values = vectors.data if sp.issparse(vectors) else vectors
    _require(bool(np.isfinite(values).all()), "a support vector is not finite")
    if sp.issparse(vectors):
        vectors.check_format(full_check=True)
        _require(bool(vectors.has_canonical_format), "sparse vectors are not in canonical form")
