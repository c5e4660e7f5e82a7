"""What the text formats of models have in common: a header, then a line for each support vector."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.cpu import is_sparse, thread_count
from ..kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from .sources import Source, TextBlocks, open_source, source_name
from .sparse_text import SparseText, TextOptions
from .svmlight_writer import RowText, row_blocks

__all__ = [
    "KernelFacts",
    "ModelText",
    "VectorLines",
    "dense_if_full",
    "kernel_facts",
    "read_vectors",
    "vector_lines",
    "whole_labels",
    "words",
]

DENSE_ABOVE = 0.5  # share of entries that are not zero
MOST_FEATURES = 2**31 - 1
LARGEST_DENSE = 1 << 28  # entries that are made dense without being asked


class ModelText:
    """The text of a model, taken line by line.

    Parameters
    ----------
    source : path or file object
        Where the text is; compressed data are recognised.
    """

    def __init__(self, source: Source) -> None:
        self.name = source_name(source)
        with open_source(source) as stream:
            parts = []
            blocks = TextBlocks(stream, 1 << 20)
            for size in blocks:
                parts.append(bytes(blocks.buffer[:size]))
        self.text = b"".join(parts)
        self.place = 0
        self.line = 0

    def __iter__(self) -> Iterator[str]:
        """Yield the lines not yet taken, without their ends."""
        while (line := self.take()) is not None:
            yield line

    def take(self) -> str | None:
        """Return the next line, or None at the end."""
        if self.place >= len(self.text):
            return None
        end = self.text.find(b"\n", self.place)
        end = len(self.text) if end < 0 else end
        line = self.text[self.place : end].decode("utf-8", "replace").rstrip("\r")
        self.place, self.line = end + 1, self.line + 1
        return line

    def rest(self) -> bytearray:
        """Return all that has not been taken."""
        return bytearray(self.text[self.place :])

    def fail(self, sentence: str) -> ValueError:
        """Return the error that says what is wrong in the line taken last."""
        return ValueError(f"{self.name}, line {self.line}: {sentence}")

    def numbers(self, found: list[str], key: str, kind: type = float) -> Any:
        """Return words of the header as an array of finite numbers."""
        try:
            dtype: Any = np.int64 if kind is int else np.float64
            numbers = np.array([kind(word) for word in found], dtype=dtype)
        except (ValueError, OverflowError):
            sentence = f"{key} must be followed by numbers, found {' '.join(found)[:40]!r}"
            raise self.fail(sentence) from None
        if not np.isfinite(numbers).all():
            raise self.fail(f"{key} must be finite, found {' '.join(found)[:40]!r}")
        return numbers


@dataclass(frozen=True)
class VectorLines:
    """The coefficients and vectors of a model.

    Attributes
    ----------
    coefficients : array of shape (n_vectors, width)
    vectors : CSR matrix of shape (n_vectors, n_features)
    highest : int
        Largest index that occurs; -1 without any.
    """

    coefficients: NDArray[np.float64]
    vectors: Any
    highest: int


def read_vectors(
    model: ModelText, width: int, *, zero_based: bool | str = False, n_features: int | None = None
) -> VectorLines:
    """Read the rest of a model: `width` coefficients and a sparse vector a line.

    Parameters
    ----------
    model : ModelText
        With the header taken.
    width : int
        Coefficients at the start of each line.
    zero_based : bool or "auto"
        Whether indices begin at 0.
    n_features : int or None
        Columns; None for as many as occur.

    Returns
    -------
    VectorLines
        What was read.
    """
    options = TextOptions(
        dtype=np.float64, labels=width, zero_based=zero_based, threads=thread_count(None)
    )
    text = SparseText(options, model.name, model.line + 1)
    body = model.rest()
    if body:
        text.append(body, len(body))
    highest = text.highest
    if max(highest, n_features or 0) >= MOST_FEATURES:
        raise ValueError(
            f"{model.name} has features up to number {max(highest, n_features or 0)}, and machines "
            f"here take less than {MOST_FEATURES}; hash them to fewer"
        )
    vectors = text.matrix(n_features)
    coefficients = np.asarray(text.targets()).reshape(vectors.shape[0], width)
    return VectorLines(coefficients, vectors, highest)


def dense_if_full(vectors: Any) -> Any:
    """Return vectors as an array if most entries are there, else as they are."""
    rows, columns = vectors.shape
    full = vectors.nnz > DENSE_ABOVE * rows * columns
    return vectors.toarray() if full and rows * columns <= LARGEST_DENSE else vectors


def vector_lines(
    coefficients: NDArray[np.float64], vectors: Any, *, shift: int = 1, end: bytes = b"\n"
) -> Iterator[bytes]:
    """Yield the lines of all vectors, exact to the last bit.

    Parameters
    ----------
    coefficients : array of shape (n_vectors, width)
        What stands before each vector.
    vectors : array or CSR matrix
        The vectors.
    shift : int
        Index of the first column.
    end : bytes
        End of each line.

    Yields
    ------
    bytes
        Whole lines.
    """
    if is_sparse(vectors):
        vectors = sp.csr_matrix(vectors)
    text = RowText(
        np.ascontiguousarray(coefficients, dtype=np.float64).ravel(), width=coefficients.shape[1]
    )
    for _, block in row_blocks(vectors, text, shift, None, False, thread_count(None)):
        yield block if end == b"\n" else block.replace(b"\n", end)


def words(numbers: Any) -> str:
    """Return numbers with as many digits as read back as the same ones."""
    return " ".join(repr(float(number)) for number in numbers)


def whole_labels(classes: Any, format_name: str) -> list[int]:
    """Return labels as the whole numbers that LIBSVM and LIBLINEAR know."""
    labels = []
    for label in classes.tolist():
        number = isinstance(label, int | float)
        if not number or label != int(label) or not -(2**31) <= label < 2**31:
            raise ValueError(
                f"{format_name} knows only whole numbers as labels, found {label!r}; "
                "sklearn.preprocessing.LabelEncoder numbers others"
            )
        labels.append(int(label))
    return labels


@dataclass(frozen=True)
class KernelFacts:
    """A kernel as LIBSVM and SVMlight know it.

    Attributes
    ----------
    name : {"linear", "poly", "rbf", "sigmoid", "precomputed"}
        As in the estimators.
    degree, gamma, coef0
        Parameters, with defaults where the kernel has none.
    """

    name: str
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def settings(self) -> dict[str, Any]:
        """Return the settings of an estimator with this kernel."""
        used = {
            "poly": ("degree", "gamma", "coef0"),
            "rbf": ("gamma",),
            "sigmoid": ("gamma", "coef0"),
        }.get(self.name, ())
        return {"kernel": self.name} | {key: getattr(self, key) for key in used}

    def kernel(self) -> Kernel | None:
        """Return the kernel object; None if precomputed."""
        if self.name == "poly":
            return Polynomial(degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        if self.name == "rbf":
            return RBF(gamma=self.gamma)
        if self.name == "sigmoid":
            return Sigmoid(gamma=self.gamma, coef0=self.coef0)
        return Linear() if self.name == "linear" else None


def kernel_facts(kernel: Kernel | None, format_name: str) -> KernelFacts:
    """Return what a format can say of a kernel.

    Parameters
    ----------
    kernel : Kernel or None
        With numbers for all parameters.
    format_name : str
        For the message.

    Raises
    ------
    ValueError
        If the format has no such kernel.
    """
    if kernel is None:
        return KernelFacts("precomputed")
    kind = type(kernel)
    if kind is Linear:
        return KernelFacts("linear")
    if isinstance(kernel, Polynomial) and kind is Polynomial:
        return KernelFacts("poly", int(kernel.degree), float(kernel.gamma), float(kernel.coef0))
    if isinstance(kernel, RBF) and kind is RBF:
        return KernelFacts("rbf", gamma=float(kernel.gamma))
    if isinstance(kernel, Sigmoid) and kind is Sigmoid:
        return KernelFacts("sigmoid", gamma=float(kernel.gamma), coef0=float(kernel.coef0))
    raise ValueError(
        f"{format_name} has no kernel {kernel!r}; it has linear, polynomial, Gaussian and sigmoid "
        'ones. save(estimator, path) keeps every kernel, or give kernel values ("precomputed")'
    )
