"""Model files of SVMlight, read into fitted estimators and written so that SVMlight reads them.

The decision is sum_i c_i k(x_i, x) - b, with c_i = alpha_i y_i at the start of each line. A file
does not tell classification from regression: both are one real function. SVMlight reads values in
single precision; we write all digits.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import is_sparse
from ..estimators import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NuSVC,
    NuSVR,
)
from ..estimators.assemble import Parts, assemble, assemble_linear, require_carried
from .atomic import open_target
from .model_text import (
    KernelFacts,
    ModelText,
    dense_if_full,
    kernel_facts,
    read_vectors,
    vector_lines,
)
from .sources import Source

__all__ = ["FIRST_LINE", "expansion", "read_svmlight_model", "write_svmlight_model"]

Vector = NDArray[np.float64]

FIRST_LINE = "SVM-light Version V6.02"
WIDEST = 1 << 24  # features of weights that are made dense without being asked
SPARSEST = 16  # or so many for each number in the file
KERNELS = ("linear", "poly", "rbf", "sigmoid")
HEADER = (
    "kernel type",
    "kernel parameter -d",
    "kernel parameter -g",
    "kernel parameter -s",
    "kernel parameter -r",
    "kernel parameter -u",
    "highest feature index",
    "number of training documents",
    "number of support vectors plus 1",
    "threshold b, each following line is a SV (starting with alpha*y)",
)


@dataclass(frozen=True)
class _Header:
    """The ten numbers at the start of a model."""

    facts: KernelFacts
    highest: int
    documents: int
    vectors: int
    threshold: float


def read_svmlight_model(
    source: Source, *, n_features: int | None = None, task: str = "classification"
) -> Any:
    """Read a model file of SVMlight.

    Parameters
    ----------
    source : path or file object
        The file.
    n_features : int, default=None
        Columns of the data; by default the highest feature index in the file.
    task : {"classification", "regression"}, default="classification"
        What the model is for, which the file does not tell. Classes are -1 and 1.

    Returns
    -------
    SVC, SVR, LinearSVC or LinearSVR
        Fitted, without certificate; a linear one if the file holds the weights themselves, as one
        support vector.
    """
    if task not in ("classification", "regression"):
        raise ValueError(f"task must be 'classification' or 'regression', found {task!r}")
    model = ModelText(source)
    header = _header(model)
    width = max(1, header.highest) if n_features is None else n_features
    lines = read_vectors(model, 1, zero_based=False, n_features=width)
    found = lines.vectors.shape[0]
    if found != header.vectors:
        raise ValueError(
            f"{model.name} has {found} support vectors, but its header says {header.vectors}: "
            "the file is not complete"
        )
    classes = np.array([-1, 1]) if task == "classification" else None
    coefficients = lines.coefficients[:, 0]
    if header.facts.name == "linear" and found == 1 and _fits(lines.vectors):
        weights = coefficients[0] * lines.vectors.toarray()
        kind: Any = LinearSVC if classes is not None else LinearSVR
        return assemble_linear(kind(), weights, np.array([-header.threshold]), classes)
    return expansion(
        header.facts,
        dense_if_full(lines.vectors),
        coefficients,
        -header.threshold,
        documents=max(found, header.documents),
        classes=classes,
    )


def expansion(
    facts: KernelFacts,
    vectors: Any,
    coefficients: Vector,
    bias: float,
    *,
    documents: int,
    classes: NDArray[Any] | None,
) -> Any:
    """Return the fitted SVC, or SVR without classes, that decides by sum_i c_i k(x_i, x) + bias.

    Parameters
    ----------
    facts : KernelFacts
        The kernel.
    vectors, coefficients
        x_i, the rows of an array or CSR matrix, and c_i.
    bias : float
        Added to each sum.
    documents : int
        Rows of the training data.
    classes : array of two labels or None
        The second is that of positive sums.
    """
    order = np.argsort(coefficients > 0, kind="stable") if classes is not None else slice(None)
    found, positive = len(coefficients), int((coefficients > 0).sum())
    parts = Parts(
        kernel=facts.kernel(),
        support=np.arange(found),
        vectors=vectors[order],
        dual_coef=coefficients[order][None],
        intercept=np.array([bias]),
        n_support=np.array([found - positive, positive] if classes is not None else [found]),
        n_features=vectors.shape[1],
        n_rows=documents,
        classes=classes,
    )
    kind: Any = SVC if classes is not None else SVR
    return assemble(kind(**facts.settings()), parts)


def _fits(vector: Any) -> bool:
    """Whether a sparse vector may become one number for each feature, as weights are kept."""
    width: int = vector.shape[1]
    return width <= max(WIDEST, SPARSEST * vector.nnz)


def _header(model: ModelText) -> _Header:
    first = model.take()
    if first is None or not first.startswith("SVM-light Version"):
        raise model.fail("a model of SVMlight begins with 'SVM-light Version'")
    numbers = []
    for meaning in HEADER:
        line = model.take()
        if line is None:
            raise model.fail(f"the line '# {meaning}' is missing: the file is not complete")
        word = line.split("#")[0].strip()
        if meaning.endswith("-u"):  # free text for kernels of the user's own
            continue
        numbers.append(float(model.numbers([word], meaning)[0]))
    code, degree, gamma, factor, offset, highest, documents, vectors, threshold = numbers
    if code not in range(len(KERNELS)):
        raise model.fail(
            f"kernel type {code:g} is a kernel of the user's own, which the file does not describe"
        )
    if min(highest, documents) < 0 or vectors < 1 or max(highest, documents, vectors) >= 2**53:
        raise model.fail("a count in the header is negative or too large")
    name = KERNELS[int(code)]
    facts = KernelFacts(
        name, int(degree) if name == "poly" else 3, gamma if name == "rbf" else factor, offset
    )
    try:
        facts.kernel()
    except ValueError as error:
        raise model.fail(str(error)) from None
    return _Header(facts, int(highest), int(documents), int(vectors) - 1, threshold)


def write_svmlight_model(estimator: Any, target: "str | os.PathLike[str] | Any") -> None:
    """Write a fitted estimator as a model file of SVMlight.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, LinearSVC, LogisticRegression or LinearSVR
        Fitted; classifiers with two classes, the second of which is the positive one.
    target : path or file object
        Where to write.
    """
    classes = getattr(estimator, "classes_", None)
    if classes is not None and len(classes) != 2:
        raise ValueError(
            f"SVMlight knows two classes, and this model has {len(classes)}; "
            'format="libsvm" or save(estimator, path) keeps it'
        )
    if isinstance(estimator, SVC | NuSVC | SVR | NuSVR):
        require_carried(estimator)
        facts = kernel_facts(estimator.kernel_, "SVMlight")
        coefficients = estimator._dense_dual_coef[0]
        vectors, documents = estimator.support_vectors_, estimator.shape_fit_[0]
    elif isinstance(estimator, LinearSVC | LogisticRegression | LinearSVR):
        facts = KernelFacts("linear")
        coef = estimator.coef_
        vectors = np.atleast_2d(coef.toarray() if is_sparse(coef) else coef)
        coefficients, documents = np.ones(1), 1
    else:
        raise ValueError(
            f"SVMlight has no model like {type(estimator).__name__}; save(estimator, path) keeps it"
        )
    if facts.name == "precomputed" or not (is_sparse(vectors) or isinstance(vectors, np.ndarray)):
        raise ValueError("SVMlight models hold vectors of numbers; save(estimator, path) keeps all")
    head = _header_lines(facts, vectors.shape[1], documents, coefficients.size)
    head.append(f"{-float(estimator.intercept_[0])!r} # {HEADER[-1]}")
    with open_target(target) as file:
        file.write(("\n".join(head) + "\n").encode("ascii"))
        vectors = sp.csr_matrix(vectors)
        for block in vector_lines(coefficients[:, None], vectors, end=b" #\n"):
            file.write(block)


def _header_lines(facts: KernelFacts, features: int, documents: int, vectors: int) -> list[str]:
    values = (
        KERNELS.index(facts.name) if facts.name in KERNELS else 4,
        facts.degree,
        repr(facts.gamma) if facts.name == "rbf" else 1,
        repr(facts.gamma) if facts.name in ("poly", "sigmoid") else 1,
        repr(facts.coef0) if facts.name in ("poly", "sigmoid") else 1,
        "empty",
        features,
        documents,
        vectors + 1,
    )
    lines = [f"{value} # {meaning}" for value, meaning in zip(values, HEADER, strict=False)]
    return [FIRST_LINE, *lines]
