"""Fitted estimators of scikit-learn turned into ours, and ours into theirs."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm
from sklearn.utils.validation import check_is_fitted

from ..kernels import RBF, Kernel, Linear, Polynomial, Sigmoid, from_name
from .assemble import Parts, assemble, assemble_linear, require_carried
from .classifiers import SVC, NuSVC
from .detectors import OneClassSVM
from .linear_regressors import LinearSVR
from .linear_svc import LinearSVC
from .regressors import SVR, NuSVR

__all__ = ["from_sklearn", "to_sklearn"]

KERNEL_CLASSES: dict[type, type] = {
    svm.SVC: SVC,
    svm.NuSVC: NuSVC,
    svm.SVR: SVR,
    svm.NuSVR: NuSVR,
    svm.OneClassSVM: OneClassSVM,
}
LINEAR_CLASSES: dict[type, type] = {svm.LinearSVC: LinearSVC, svm.LinearSVR: LinearSVR}
THEIRS = {ours: theirs for theirs, ours in (KERNEL_CLASSES | LINEAR_CLASSES).items()}
NAMES = ("feature_names_in_", "n_iter_")


def from_sklearn(estimator: Any) -> Any:
    """Turn a fitted estimator of scikit-learn into ours, without fitting again.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC or LinearSVR of scikit-learn
        Fitted. Probabilities are not taken over: scikit-learn's may contradict its predictions.

    Returns
    -------
    estimator
        Ours, of the same name, with the same decisions; without certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn import svm
    >>> from widemargin import from_sklearn
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 0, 1])
    >>> theirs = svm.SVC(kernel="linear").fit(X, y)
    >>> ours = from_sklearn(theirs)
    >>> np.allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-12)
    True
    """
    check_is_fitted(estimator)
    theirs = type(estimator)
    given = estimator.get_params(deep=False)
    if theirs in LINEAR_CLASSES:
        kind = LINEAR_CLASSES[theirs]
        ours = kind(**_shared(given, kind), penalize_intercept=bool(estimator.fit_intercept))
        intercept = np.broadcast_to(estimator.intercept_, np.atleast_2d(estimator.coef_).shape[:1])
        classes = getattr(estimator, "classes_", None)
        assemble_linear(ours, np.atleast_2d(_dense(estimator.coef_)), intercept, classes)
    elif theirs in KERNEL_CLASSES:
        kind = KERNEL_CLASSES[theirs]
        ours = assemble(kind(**_shared(given, kind)), _parts_of(estimator))
    else:
        raise TypeError(
            f"from_sklearn takes {', '.join(k.__name__ for k in KERNEL_CLASSES | LINEAR_CLASSES)} "
            f"of scikit-learn, found {theirs.__module__}.{theirs.__name__}"
        )
    for name in NAMES:
        if hasattr(estimator, name):
            setattr(ours, name, getattr(estimator, name))
    if getattr(estimator, "class_weight_", None) is not None:
        ours.class_weight_ = np.array(estimator.class_weight_, dtype=np.float64)
    return ours


def _shared(given: dict[str, Any], kind: type) -> dict[str, Any]:
    """Return the parameters that both have; tolerances keep the meaning of our own."""
    known = kind().get_params(deep=False)
    skipped = {"probability", "max_iter"} if "gap_tol" in known and "penalty" in known else {
        "probability"
    }  # fmt: skip
    if "penalty" in known:
        skipped.add("tol")
    return {name: v for name, v in given.items() if name in known and name not in skipped}


def _dense(values: Any) -> Any:
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def _parts_of(estimator: Any) -> Parts:
    kernel = estimator.kernel
    if callable(kernel):
        raise ValueError(
            "scikit-learn keeps no support vectors with a kernel function, so they cannot be taken "
            f"over; fit {type(estimator).__name__} of widemargin with the same kernel"
        )
    classes = getattr(estimator, "classes_", None)
    precomputed = kernel == "precomputed"
    vectors = estimator.support_vectors_
    if not precomputed and sp.issparse(vectors):
        vectors = sp.csr_matrix(vectors)
        vectors.sum_duplicates()
    return Parts(
        kernel=None
        if precomputed
        else from_name(
            kernel,
            gamma=float(estimator._gamma),
            degree=int(estimator.degree),
            coef0=float(estimator.coef0),
        ),
        support=np.asarray(estimator.support_, dtype=np.int64),
        vectors=None if precomputed else vectors,
        dual_coef=_dense(estimator.dual_coef_),
        intercept=np.asarray(estimator.intercept_),
        n_support=np.asarray(estimator.n_support_)[: 1 if classes is None else None],
        n_features=int(estimator.n_features_in_),
        n_rows=int(estimator.shape_fit_[0]),
        classes=classes,
    )


def to_sklearn(estimator: Any) -> Any:
    """Turn one of our fitted estimators into that of scikit-learn, without fitting again.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC or LinearSVR
        Fitted; with more than two classes trained as scikit-learn trains them, and with a kernel
        that scikit-learn has.

    Returns
    -------
    estimator
        scikit-learn's, of the same name, with the same decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR, to_sklearn
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.5, 1.0])
    >>> ours = SVR().fit(X, y)
    >>> theirs = to_sklearn(ours)
    >>> type(theirs).__module__.split(".")[0], np.allclose(ours.predict(X), theirs.predict(X))
    ('sklearn', True)
    """
    check_is_fitted(estimator)
    if type(estimator) not in THEIRS:
        raise TypeError(
            f"scikit-learn has no {type(estimator).__name__} with the same decisions; "
            "save(estimator, path) keeps it"
        )
    kind = THEIRS[type(estimator)]
    known = kind().get_params(deep=False)
    given = estimator.get_params(deep=False)
    shared = {name: given[name] for name in known if name in given}
    if shared.get("probability") == "deprecated":  # the default of scikit-learn since 1.9
        shared["probability"] = known["probability"]
    linear = isinstance(estimator, LinearSVC | LinearSVR)
    if linear:
        shared |= {name: known[name] for name in ("tol", "max_iter") if shared[name] in (None, -1)}
        if getattr(estimator, "multi_class", "ovr") == "ovo" and len(estimator.classes_) > 2:
            raise ValueError("scikit-learn's LinearSVC has no multi_class='ovo'; use SVC")
    theirs = kind(**shared)
    names = ("classes_", "class_weight_", "n_features_in_", "coef_", "intercept_", "offset_")
    for name in (*NAMES, *(names if linear else (n for n in names if n != "coef_"))):
        if hasattr(estimator, name):
            setattr(theirs, name, getattr(estimator, name))
    if not linear:
        _fill_machine(theirs, estimator)
    return theirs


def _fill_machine(theirs: Any, ours: Any) -> None:
    """Set what scikit-learn's kernel machines predict with, public and private."""
    classes = getattr(ours, "classes_", None)
    if classes is not None and len(classes) > 2 and ours._trained_by != "ovo":
        raise ValueError(
            f"scikit-learn has only one-vs-one machines, found multi_class={ours.multi_class!r}"
        )
    require_carried(ours)
    kernel: Kernel | None = ours.kernel_
    names = {Linear: "linear", Polynomial: "poly", RBF: "rbf", Sigmoid: "sigmoid"}
    if kernel is not None and type(kernel) not in names:
        raise ValueError(f"scikit-learn has no kernel {kernel!r}; save(estimator, path) keeps it")
    chosen = "precomputed" if kernel is None else names[type(kernel)]
    used: dict[str, Any] = {} if kernel is None else kernel.get_params(deep=False)
    settings = {key: used[key] for key in ("gamma", "degree", "coef0") if key in used}
    theirs.set_params(kernel=chosen, **settings)
    sparse = sp.issparse(ours.support_vectors_)
    vectors = ours.support_vectors_
    theirs._sparse = sparse
    theirs._gamma = float(used.get("gamma", 0.0))
    theirs.support_ = ours.support_
    # LIBSVM inside scikit-learn reads float64 in C order.
    theirs.support_vectors_ = (
        vectors.astype(np.float64) if sparse else np.ascontiguousarray(vectors, dtype=np.float64)
    )
    counts = ours.n_support_ if classes is not None else np.array([ours.support_.size, 0])
    theirs._n_support = counts.astype(np.int32)
    theirs.fit_status_ = 0
    theirs.shape_fit_ = ours.shape_fit_
    dual_coef = _with_zeros(ours._dense_dual_coef) if sparse else ours._dense_dual_coef.copy()
    theirs.dual_coef_ = dual_coef
    turned = classes is not None and len(classes) == 2
    theirs._dual_coef_ = -dual_coef if turned else dual_coef
    theirs._intercept_ = -ours.intercept_ if turned else ours.intercept_
    theirs._probA = theirs._probB = np.empty(0)
    theirs._effective_probability = False


def _with_zeros(values: Any) -> Any:
    """Return a CSR matrix that stores every entry, as scikit-learn's decision function assumes."""
    rows, columns = values.shape
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    starts = columns * np.arange(rows + 1, dtype=np.int32)
    return sp.csr_matrix((values.ravel(), indices, starts), shape=values.shape)
