"""Building a graph of ONNX operators, and the quantities of kernels as such operators."""

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels import Spectrum
from .kernel_formula import Term

__all__ = ["Graph", "TextPairs", "VectorPairs", "evaluated"]

END = np.iinfo(np.int64).max
BINARY = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow",
          "maximum": "Max"}  # fmt: skip
UNARY = {"exp": "Exp", "tanh": "Tanh", "sqrt": "Sqrt"}


class Graph:
    """Operators and constants, each with the name of its outcome.

    Parameters
    ----------
    onnx : module
        The library.
    dtype : numpy.dtype
        float32 or float64, of all numbers that are not whole.
    """

    def __init__(self, onnx: Any, dtype: Any) -> None:
        self.onnx, self.dtype = onnx, np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Append an operator and return the name of its outcome."""
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def numbers(self, values: Any) -> str:
        """Return the name of an array of numbers."""
        return self.constant(np.ascontiguousarray(values, dtype=self.dtype))

    def whole(self, *values: int) -> str:
        """Return the name of a vector of whole numbers."""
        return self.constant(np.array(values, dtype=np.int64))

    def constant(self, values: Any) -> str:
        """Return the name of an array of any type; texts are an array of objects."""
        name = f"constant_{len(self.constants)}"
        if values.dtype.kind in "OU":
            texts = [str(text).encode("utf-8") for text in values.tolist()]
            kind = self.onnx.TensorProto.STRING
            tensor = self.onnx.helper.make_tensor(name, kind, [len(texts)], texts)
        else:
            tensor = self.onnx.numpy_helper.from_array(values, name)
        self.constants.append(tensor)
        return name

    def as_number(self, name: str) -> str:
        """Turn truth values or whole numbers into numbers."""
        return self.op("Cast", name, to=self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype))

    def sum_over(self, name: str, axis: int, *, keep: bool = False) -> str:
        """Sum over an axis."""
        return self.op("ReduceSum", name, self.whole(axis), keepdims=int(keep))


def evaluated(graph: Graph, term: Term, pairs: Any) -> str:
    """Append a formula and return the name of its value; `pairs` knows the quantities.

    Numbers are repeated for each vector: onnxruntime merges a product with a single number into the
    matrix product beside it, where it becomes a float32 whatever the type of the model.
    """
    if term.operation == "quantity":
        return str(pairs.quantity(term.parts[0]))
    if term.operation == "number":
        return graph.numbers(np.full((1, pairs.width), term.parts[0]))
    names = [evaluated(graph, part, pairs) for part in term.parts]
    if term.operation == "equal":
        return graph.as_number(graph.op("Equal", *names))
    return graph.op((BINARY | UNARY)[term.operation], *names)


class VectorPairs:
    """The quantities of each row and each vector; or of each row with itself, without vectors.

    Parameters
    ----------
    graph : Graph
        What to append to.
    rows : str
        Name of the rows.
    vectors : array, CSR matrix or None
        Vectors.
    """

    def __init__(self, graph: Graph, rows: str, vectors: Any) -> None:
        self.graph, self.rows = graph, rows
        dense = vectors.toarray() if sp.issparse(vectors) else vectors
        self.vectors = None if dense is None else np.asarray(dense, dtype=np.float64)
        self.width = 1 if self.vectors is None else len(self.vectors)
        self.quantity = cache(self._quantity)

    def _quantity(self, name: str) -> str:
        if self.vectors is None:
            return self._with_itself(name)
        return str(getattr(self, f"_{name}")(self.vectors))

    def _with_itself(self, name: str) -> str:
        graph = self.graph
        if name in ("dot", "norm_x", "norm_z"):
            return self._norm_x(None)
        total = graph.sum_over(self.rows, 1, keep=True)
        return total if name == "min" else graph.op("Mul", total, graph.numbers(0.0))

    def _dot(self, vectors: Any) -> str:
        return self.graph.op("MatMul", self.rows, self.graph.numbers(vectors.T))

    def _norm_x(self, _: Any) -> str:
        return self.graph.sum_over(self.graph.op("Mul", self.rows, self.rows), 1, keep=True)

    def _norm_z(self, vectors: Any) -> str:
        return self.graph.numbers((vectors**2).sum(axis=1)[None])

    def _distance(self, vectors: Any) -> str:
        """Return squared distances, from a center near which inner products cancel little."""
        graph = self.graph
        center = vectors.mean(axis=0).astype(graph.dtype)
        around = vectors - center
        x = graph.op("Sub", self.rows, graph.numbers(center))
        norm_x = graph.sum_over(graph.op("Mul", x, x), 1, keep=True)
        norms = graph.op("Add", norm_x, graph.numbers((around**2).sum(axis=1)[None]))
        twice = graph.op("MatMul", x, graph.numbers(2.0 * around.T))
        return graph.op("Max", graph.op("Sub", norms, twice), graph.numbers(0.0))

    def _l1(self, vectors: Any) -> str:
        return self.graph.sum_over(self.graph.op("Abs", self._difference(vectors)), 2)

    def _chi2(self, vectors: Any) -> str:
        graph, difference = self.graph, self._difference(vectors)
        total = graph.op("Add", self._spread(), graph.numbers(vectors[None]))
        empty = graph.as_number(graph.op("Equal", total, graph.numbers(0.0)))
        share = graph.op("Div", difference, graph.op("Add", total, empty))
        return graph.sum_over(graph.op("Mul", difference, share), 2)

    def _min(self, vectors: Any) -> str:
        graph = self.graph
        return graph.sum_over(graph.op("Min", self._spread(), graph.numbers(vectors[None])), 2)

    def _difference(self, vectors: Any) -> str:
        return self.graph.op("Sub", self._spread(), self.graph.numbers(vectors[None]))

    def _spread(self) -> str:
        """Return the rows with an axis for the vectors in between."""
        return self.graph.op("Unsqueeze", self.rows, self.graph.whole(1))


class TextPairs:
    """The quantities of texts, which are rows of code points with -1 behind the last letter.

    Parameters
    ----------
    graph : Graph
        What to append to.
    rows : str
        Name of the texts.
    texts : list of str or None
        What they are compared with; None for a text with itself.
    """

    def __init__(self, graph: Graph, rows: str, texts: Any) -> None:
        self.graph, self.rows, self.texts = graph, rows, texts
        self.width = 1 if texts is None else len(texts)
        self.quantity = cache(self._quantity)

    def _quantity(self, name: str) -> str:
        what, _, length = name.rpartition("_")
        if what == "letters_x" or self.texts is None:
            return self._with_itself(int(length))
        columns: dict[str, int] = {}
        counts = Spectrum(int(length))._counts(self.texts, "texts", columns).toarray()
        if what == "letters_z":
            return self.graph.numbers((counts**2).sum(axis=1)[None])
        return self._common(counts, list(columns), int(length))

    def _letters(self, place: int, length: int) -> str:
        """Return the letter at a place of every window of `length` letters."""
        graph, behind = self.graph, length - 1 - place
        return graph.op(
            "Slice", self.rows, graph.whole(place), graph.whole(-behind if behind else END),
            graph.whole(1),
        )  # fmt: skip

    def _common(self, counts: Any, substrings: list[str], length: int) -> str:
        graph = self.graph
        known = np.array([[ord(c) for c in s] for s in substrings], dtype=np.int64)
        known = known.reshape(-1, length)
        same = [
            graph.op("Equal", self._column(self._letters(k, length)), graph.constant(known[:, k]))
            for k in range(length)
        ]
        found = graph.sum_over(graph.as_number(self._all(same)), 1)
        return graph.op("MatMul", found, graph.numbers(counts[:, : len(substrings)].T))

    def _with_itself(self, length: int) -> str:
        graph = self.graph
        letters = [self._letters(k, length) for k in range(length)]
        same = [
            graph.op("Equal", self._column(name), graph.op("Unsqueeze", name, graph.whole(1)))
            for name in letters
        ]
        inside = graph.op("Greater", self._column(letters[-1]), graph.whole(-1))
        total = graph.as_number(self._all([*same, inside]))
        count = graph.op("ReduceSum", total, graph.whole(1, 2), keepdims=0)
        return graph.op("Unsqueeze", count, graph.whole(1))

    def _column(self, name: str) -> str:
        return self.graph.op("Unsqueeze", name, self.graph.whole(2))

    def _all(self, names: list[str]) -> str:
        whole = names[0]
        for name in names[1:]:
            whole = self.graph.op("And", whole, name)
        return whole
