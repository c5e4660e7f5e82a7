"""Model files of LIBSVM, read into fitted estimators and written so that LIBSVM reads them.

Our features and coefficients are written with as many digits as needed, so nothing is lost either
way; LIBSVM itself writes features with eight digits.
"""

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import is_sparse
from ..estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from ..estimators.assemble import Parts, assemble, require_carried
from .atomic import open_target
from .model_text import (
    KernelFacts,
    ModelText,
    dense_if_full,
    kernel_facts,
    read_vectors,
    vector_lines,
    whole_labels,
    words,
)
from .sources import Source

__all__ = ["read_libsvm", "write_libsvm"]

Vector = NDArray[np.float64]

TASKS: dict[str, type] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
KERNELS = {
    "linear": "linear",
    "polynomial": "poly",
    "rbf": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}
NUMBERS = {"degree": int, "gamma": float, "coef0": float, "nr_class": int, "total_sv": int}
LISTS = {
    "rho": float,
    "label": int,
    "probA": float,
    "probB": float,
    "prob_density_marks": float,
    "nr_sv": int,
}


def read_libsvm(
    source: Source, *, n_features: int | None = None, zero_based: bool | str = "auto"
) -> Any:
    """Read a model file of LIBSVM.

    Parameters
    ----------
    source : path or file object
        The file.
    n_features : int, default=None
        Columns of the data, which the file does not tell; by default as many as occur in support
        vectors. With a precomputed kernel, the number of training rows.
    zero_based : bool or "auto", default="auto"
        Whether the first column has index 0; "auto": if index 0 occurs.

    Returns
    -------
    SVC, NuSVC, OneClassSVM, SVR or NuSVR
        Fitted, without certificate. Two classes are sorted; more keep the order of the file, so
        that ties of votes are broken as LIBSVM breaks them. Parameters of probabilities are kept
        as ``probA_``, ``probB_`` and ``prob_density_marks_``.
    """
    model = ModelText(source)
    header = _header(model)
    facts = _kernel(model, header)
    classifier = header["svm_type"] in ("c_svc", "nu_svc")
    k = header["nr_class"]
    _check_lengths(model, header, classifier)
    precomputed = facts.name == "precomputed"
    lines = read_vectors(
        model,
        k - 1 if classifier else 1,
        zero_based=True if precomputed else zero_based,
        n_features=None if precomputed else n_features,
    )
    rows = lines.vectors.shape[0]
    if rows != header["total_sv"]:
        raise ValueError(
            f"{model.name} has {rows} support vectors, but total_sv is {header['total_sv']}: "
            "the file is not complete"
        )
    estimator = TASKS[header["svm_type"]](**facts.settings())
    coefficients = lines.coefficients.T
    support, vectors = np.arange(coefficients.shape[1]), dense_if_full(lines.vectors)
    if precomputed:
        support, vectors = _serial_numbers(model, lines.vectors), None
    width = lines.vectors.shape[1]
    if precomputed:
        width = max(int(support.max(initial=0)) + 1, n_features or 1)
    parts = Parts(
        kernel=facts.kernel(),
        support=support,
        vectors=vectors,
        dual_coef=coefficients,
        intercept=-header["rho"],
        n_support=header["nr_sv"] if classifier else np.array([support.size]),
        n_features=width,
        n_rows=width if precomputed else support.size,
        classes=header["label"] if classifier else None,
    )
    if classifier and k == 2:
        parts = _sorted_pair(parts)
    assemble(estimator, parts)
    _keep_probabilities(estimator, header)
    return estimator


def _header(model: ModelText) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in model:
        key, *rest = line.split() or [""]
        if key == "SV":
            break
        if key in found:
            raise model.fail(f"{key} occurs twice")
        if key in ("svm_type", "kernel_type"):
            choices = TASKS if key == "svm_type" else KERNELS
            if len(rest) != 1 or rest[0] not in choices:
                raise model.fail(
                    f"{key} must be one of {', '.join(choices)}, found {' '.join(rest)!r}"
                )
            found[key] = rest[0]
        elif key in NUMBERS:
            if len(rest) != 1:
                raise model.fail(f"{key} must be followed by one number, found {line!r}")
            found[key] = NUMBERS[key](model.numbers(rest, key, NUMBERS[key])[0])
        elif key in LISTS:
            found[key] = model.numbers(rest, key, LISTS[key])
        else:
            raise model.fail(f"LIBSVM models have no line {line[:40]!r}")
    else:
        raise model.fail("the line SV is missing: the file is not complete")
    for key in ("svm_type", "kernel_type", "nr_class", "total_sv", "rho"):
        if key not in found:
            raise model.fail(f"{key} is missing")
    return found


def _kernel(model: ModelText, header: dict[str, Any]) -> KernelFacts:
    given = {key: header[key] for key in ("degree", "gamma", "coef0") if key in header}
    facts = KernelFacts(KERNELS[header["kernel_type"]], **given)
    try:
        facts.kernel()
    except ValueError as error:
        raise model.fail(str(error)) from None
    return facts


def _check_lengths(model: ModelText, header: dict[str, Any], classifier: bool) -> None:
    k = header["nr_class"]
    if classifier and k < 2:
        raise model.fail("a model of one class; it answers every row with that class")
    pairs = k * (k - 1) // 2 if classifier else 1
    lengths = {"rho": pairs, "label": k, "nr_sv": k, "probA": pairs, "probB": pairs}
    for key in ("rho", "label", "nr_sv") if classifier else ("rho",):
        if key not in header:
            raise model.fail(f"{key} is missing")
    for key, length in lengths.items():
        if key in header and header[key].size != length:
            raise model.fail(f"{key} has {header[key].size} numbers, not {length}")
    if not classifier and (odd := header.keys() & {"label", "nr_sv", "probB"}):
        raise model.fail(f"{header['svm_type']} has no {min(odd)}")


def _serial_numbers(model: ModelText, vectors: Any) -> Any:
    """Return the training rows that precomputed support vectors stand for."""
    serial = vectors.data
    whole = vectors.nnz == vectors.shape[0] and vectors.shape[1] == 1
    if not whole or not ((serial >= 1) & (serial == np.floor(serial)) & (serial < 2**31)).all():
        raise ValueError(
            f"{model.name}: with a precomputed kernel each support vector is 0:number, "
            "the number of its training row"
        )
    return serial.astype(np.int64) - 1


def _sorted_pair(parts: Parts) -> Parts:
    """Return two classes in ascending order, a positive decision meaning the second.

    In the file it means the first.
    """
    classes = parts.classes
    assert classes is not None
    order = np.argsort(classes, kind="stable")
    sign = 1.0 if order[0] == 1 else -1.0
    first = int(parts.n_support[0])
    rows = np.arange(parts.support.size)
    if sign > 0:
        rows = np.concatenate([rows[first:], rows[:first]])
    precomputed = parts.vectors is None
    return Parts(
        kernel=parts.kernel,
        support=parts.support[rows] if precomputed else parts.support,
        vectors=None if precomputed else parts.vectors[rows],
        dual_coef=sign * parts.dual_coef[:, rows],
        intercept=sign * parts.intercept,
        n_support=parts.n_support[order],
        n_features=parts.n_features,
        n_rows=parts.n_rows,
        classes=classes[order],
    )


def _keep_probabilities(estimator: Any, header: dict[str, Any]) -> None:
    """Keep what LIBSVM knows of probabilities, for pairs (a, b) with positive decisions for a."""
    if "probA" in header:
        estimator.probA_ = header["probA"]
    if "probB" in header:
        turned = header["nr_class"] == 2 and header["label"][0] > header["label"][1]
        estimator.probB_ = -header["probB"] if turned else header["probB"]
    if "prob_density_marks" in header:
        estimator.prob_density_marks_ = header["prob_density_marks"]


# --- writing -------------------------------------------------------------------------------------


def write_libsvm(
    estimator: Any, target: "str | os.PathLike[str] | Any", *, zero_based: bool = False
) -> None:
    """Write a fitted estimator as a model file of LIBSVM.

    Parameters
    ----------
    estimator : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        Fitted; classifiers one-vs-one and with whole numbers as labels.
    target : path or file object
        Where to write.
    zero_based : bool, default=False
        Give the first column index 0, for data files that have it so.
    """
    names = [name for name, kind in TASKS.items() if type(estimator) is kind]
    if not names:
        raise ValueError(
            f"LIBSVM has no model like {type(estimator).__name__}; save(estimator, path) keeps it"
        )
    require_carried(estimator)
    facts = kernel_facts(estimator.kernel_, "LIBSVM")
    classifier = names[0] in ("c_svc", "nu_svc")
    lines = [f"svm_type {names[0]}", *_kernel_lines(facts)]
    coefficients, order = estimator._dense_dual_coef, np.arange(estimator.support_.size)
    rho = -estimator.intercept_
    k = len(estimator.classes_) if classifier else 2
    if classifier:
        labels = _labels(estimator)
        counts = estimator.n_support_
        if k == 2:  # a positive decision means the first label there, the second here
            labels, counts = labels[::-1], counts[::-1]
            order = np.concatenate([order[counts[1] :], order[: counts[1]]])
    lines += [f"nr_class {k}", f"total_sv {order.size}", f"rho {words(rho)}"]
    if classifier:
        lines.append(f"label {' '.join(map(str, labels))}")
    lines += _probability_lines(estimator, k, classifier)
    if classifier:
        lines.append(f"nr_sv {' '.join(str(int(c)) for c in counts)}")
    vectors, shift = _vectors(estimator, order), 0 if zero_based else 1
    if facts.name == "precomputed":
        shift = 0
    with open_target(target) as file:
        file.write(("\n".join(lines) + "\nSV\n").encode("ascii"))
        for block in vector_lines(coefficients[:, order].T, vectors, shift=shift, end=b" \n"):
            file.write(block)


def _kernel_lines(facts: KernelFacts) -> list[str]:
    names = {ours: theirs for theirs, ours in KERNELS.items()}
    lines = [f"kernel_type {names[facts.name]}"]
    if facts.name == "poly":
        lines.append(f"degree {facts.degree}")
    if facts.name in ("poly", "rbf", "sigmoid"):
        lines.append(f"gamma {facts.gamma!r}")
    if facts.name in ("poly", "sigmoid"):
        lines.append(f"coef0 {facts.coef0!r}")
    return lines


def _labels(estimator: Any) -> list[int]:
    if estimator._trained_by != "ovo":
        raise ValueError(
            f"LIBSVM has only one-vs-one models, and this one has multi_class="
            f"{estimator._trained_by!r}; save(estimator, path) keeps it"
        )
    return whole_labels(estimator.classes_, "LIBSVM")


def _probability_lines(estimator: Any, k: int, classifier: bool) -> list[str]:
    lines = []
    first, second = (getattr(estimator, name, None) for name in ("probA_", "probB_"))
    if first is not None and np.size(first):
        lines.append(f"probA {words(first)}")
    if second is not None and np.size(second):
        turned = classifier and k == 2
        lines.append(f"probB {words(-second if turned else second)}")
    marks = getattr(estimator, "prob_density_marks_", None)
    if marks is not None:
        lines.append(f"prob_density_marks {words(marks)}")
    return lines


def _vectors(estimator: Any, order: Any) -> Any:
    if estimator.kernel_ is None:
        return sp.csr_matrix(estimator.support_[order, None].astype(np.float64) + 1.0)
    vectors = estimator.support_vectors_
    if not (is_sparse(vectors) or isinstance(vectors, np.ndarray)):
        raise ValueError("LIBSVM models hold vectors of numbers, not objects")
    return vectors[order]
