"""Models as ONNX graphs of plain operators: matrix products, elementwise functions, sums.

No operator of the machine learning domain is used, so that any runtime can take them, on any
device, in float32 or float64.
"""

import importlib
import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.decision_rule import DecisionRule, pair_signs, rule_of
from .atomic import open_target
from .kernel_formula import formula
from .native_models import package_version
from .onnx_graph import Graph, TextPairs, VectorPairs, evaluated
from .ranges import Ranges, scaling_of

__all__ = ["export_onnx"]

OPSET, IR_VERSION = 17, 8  # of 2022: old enough for runtimes in use
LARGEST = 2**31 - 1  # bytes of a file of protobuf
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def export_onnx(
    estimator: Any,
    target: "str | os.PathLike[str] | Any",
    *,
    dtype: Any = np.float32,
    ranges: Any = None,
) -> None:
    r"""Write a fitted estimator as an ONNX graph of plain matrix operators.

    Prefer it to run a model without Python: in a browser, on a phone, in a database, on a GPU. The
    graph computes what `decision_function` and `predict` compute, ::

        decision = K(rows, vectors) weights + offset,   label = the one that the decision means

    from the input ``rows``: of `dtype`, shape (any number, n_features); with a precomputed kernel
    kernel values as `predict` takes them; for kernels on strings int64 code points, a text a row,
    with -1 behind its last letter. Outputs are ``decision`` and ``label``, with labels of the type
    they had in training; for regression only ``prediction``.

    Parameters
    ----------
    estimator : estimator
        Fitted: any of this package.
    target : str, os.PathLike or file object
        A path, which is written whole or not at all; or an object opened in binary mode.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the numbers inside. In float64 decisions agree with ours to about 1e-12 of their
        largest terms, in float32 to about 1e-6.
    ranges : str, os.PathLike or file object, default=None
        A file of ranges, of ``widemargin scale`` or svm-scale, that the rows were scaled with in
        training: the graph then takes rows as they were before, and scales them itself.

    Raises
    ------
    ImportError
        Without the library onnx; ``pip install 'widemargin[onnx]'``.
    TypeError
        If the kernel is a Python function, which no graph can hold.

    See Also
    --------
    export_c : Writes a file of C.
    save : Writes files that `load` reads.

    Notes
    -----
    Cost of the graph: as of `predict`, for inner products. The kernels that compare rows feature by
    feature (Laplacian, chi-squared, intersection) hold a number for each row, vector and feature at
    once; give them few rows at a time. Sparse vectors become dense.

    Examples
    --------
    >>> import io
    >>> from widemargin import SVC, export_onnx
    >>> file = io.BytesIO()
    >>> export_onnx(SVC().fit([[0.0], [1.0]], ["no", "yes"]), file)
    >>> len(file.getvalue()) > 500
    True
    """
    chosen = np.dtype(dtype)
    if chosen not in FLOATS:
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, found {dtype!r}")
    rule = rule_of(estimator)
    size = chosen.itemsize * (rule.weights.size + _entries(rule))
    if size > LARGEST:
        raise ValueError(
            f"the model needs {size:.2g} bytes as dense arrays and ONNX files end at 2 GB; "
            "save(estimator, path) keeps it sparse"
        )
    scaling = scaling_of(rule, Ranges.given(ranges))
    model = _model(_onnx(), rule, chosen, type(estimator).__name__, scaling)
    with open_target(target) as file:
        file.write(model.SerializeToString())


def _onnx() -> Any:
    try:
        return importlib.import_module("onnx")
    except ImportError:
        raise ImportError(
            "export_onnx needs the library onnx; pip install 'widemargin[onnx]'"
        ) from None


def _entries(rule: DecisionRule) -> int:
    if rule.vectors is None or not hasattr(rule.vectors, "shape"):
        return 0
    return int(np.prod(rule.vectors.shape))


def _model(onnx: Any, rule: DecisionRule, dtype: Any, name: str, scaling: Any) -> Any:
    graph = Graph(onnx, dtype)
    given = "rows"
    for kind, numbers in zip(("Sub", "Mul", "Add"), scaling or (), strict=False):
        given = graph.op(kind, given, graph.numbers(numbers))
    scores = _scores(graph, rule, given)
    outputs = _outputs(graph, rule, scores)
    for produced, shown in [(node, shown) for node, shown, *_ in outputs]:
        graph.nodes.append(onnx.helper.make_node("Identity", [produced], [shown]))
    helper = onnx.helper
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    texts = rule.features is None
    rows = helper.make_tensor_value_info(
        "rows",
        onnx.TensorProto.INT64 if texts else number,
        ["n_rows", "letters" if texts else rule.features],
    )
    infos = [
        helper.make_tensor_value_info(shown, number if kind is None else kind, shape)
        for _, shown, kind, shape in outputs
    ]
    whole = helper.make_graph(graph.nodes, name, [rows], infos, graph.constants)
    model = helper.make_model(
        whole,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="widemargin",
        producer_version=package_version(),
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def _scores(graph: Graph, rule: DecisionRule, rows: str) -> str:
    """Append the scores of `rows`, shape (rows, machines)."""
    rule = _two_vectors(rule)
    if rule.columns is not None:
        values = graph.op("Gather", rows, graph.constant(rule.columns), axis=1)
    elif rule.kernel is None:
        values = rows
    else:
        pairs = TextPairs if rule.features is None else VectorPairs
        term = formula(rule.kernel)
        values = evaluated(graph, term, pairs(graph, rows, rule.vectors))
    product = graph.op("MatMul", values, graph.numbers(rule.weights))
    scores = graph.op("Add", product, graph.numbers(rule.offset))
    if rule.self_weight and rule.kernel is not None:
        itself = evaluated(graph, formula(rule.kernel), pairs(graph, rows, None))
        scaled = graph.op("Mul", itself, graph.numbers(rule.self_weight))
        scores = graph.op("Add", scores, scaled)
    return scores


def _two_vectors(rule: DecisionRule) -> DecisionRule:
    """Return the rule with a single vector repeated without weight; see `evaluated`."""
    if rule.kernel is None or rule.weights.shape[0] != 1:
        return rule
    vectors = rule.vectors[[0, 0]] if hasattr(rule.vectors, "shape") else rule.vectors * 2
    weights = np.vstack([rule.weights, np.zeros_like(rule.weights)])
    return replace(rule, vectors=vectors, weights=weights)


# The name that a value has in the graph, that which it shall have, its type if it is no number,
# and its shape.
Output = tuple[str, str, Any, list[Any]]


def _outputs(graph: Graph, rule: DecisionRule, scores: str) -> list[Output]:
    rows = "n_rows"
    if rule.head == "value":
        return [(_flat(graph, scores), "prediction", None, [rows])]
    if rule.head == "inside":
        decision = _flat(graph, scores)
        outside = graph.op("Less", decision, graph.numbers(0.0))
        label = graph.op("Where", outside, graph.whole(-1), graph.whole(1))
        kind = graph.onnx.TensorProto.INT64
        return [(decision, "decision", None, [rows]), (label, "label", kind, [rows])]
    assert rule.labels is not None
    k = len(rule.labels)
    if rule.head == "survivors":
        decision, chosen = _survivors(graph, rule, scores, k)
    elif rule.head == "sign":
        decision = _flat(graph, scores)
        chosen = _above_zero(graph, decision)
    elif rule.head == "largest":
        decision, chosen = scores, _largest(graph, scores)
    else:
        decision, chosen = _voted(graph, rule.head, scores, k)
    labels, kind = label_values(graph.onnx, rule.labels)
    label = graph.op("Gather", graph.constant(labels), chosen)
    shape = [rows] if k == 2 else [rows, k * (k - 1) // 2 if rule.head == "pairs" else k]
    return [(decision, "decision", None, shape), (label, "label", kind, [rows])]


def _flat(graph: Graph, scores: str) -> str:
    return graph.op("Squeeze", scores, graph.whole(1))


def _above_zero(graph: Graph, decision: str) -> str:
    above = graph.op("Greater", decision, graph.numbers(0.0))
    return graph.op("Cast", above, to=graph.onnx.TensorProto.INT64)


def _largest(graph: Graph, scores: str, axis: int = 1) -> str:
    return graph.op("ArgMax", scores, axis=axis, keepdims=0)


def _voted(graph: Graph, head: str, scores: str, k: int) -> tuple[str, str]:
    """Append votes of pairs, and ties broken by the sum of scores squeezed below a vote."""
    first, second = pair_signs(k)
    positive = graph.as_number(graph.op("Greater", scores, graph.numbers(0.0)))
    gained = graph.op("MatMul", positive, graph.numbers(first - second))
    votes = graph.op("Add", gained, graph.numbers(second.sum(axis=0)))
    if head == "pairs":
        return scores, _largest(graph, votes)
    total = graph.op("MatMul", scores, graph.numbers(first - second))
    limit = graph.op("Add", graph.op("Abs", total), graph.numbers(1.0))
    squeezed = graph.op("Div", total, graph.op("Mul", limit, graph.numbers(3.0)))
    decision = graph.op("Add", votes, squeezed)
    return decision, _largest(graph, decision if head == "ties" else votes)


def _survivors(graph: Graph, rule: DecisionRule, scores: str, k: int) -> tuple[str, str]:
    """Append the share of votes of each label; with two labels the difference."""
    assert rule.survival is not None
    if k == 2:
        positive = graph.as_number(graph.op("Greater", scores, graph.numbers(0.0)))
        sides = graph.op("Sub", graph.op("Mul", positive, graph.numbers(2.0)), graph.numbers(1.0))
        shares = graph.op("MatMul", sides, graph.numbers(rule.survival[:, None]))
        decision = _flat(graph, shares)
        return decision, _above_zero(graph, decision)
    machines = graph.op("Reshape", scores, graph.whole(0, -1, k))
    chosen = graph.op("ArgMax", machines, axis=2, keepdims=1)
    votes = graph.as_number(graph.op("Equal", chosen, graph.whole(*range(k))))
    weighed = graph.op("Mul", votes, graph.numbers(rule.survival[None, :, None]))
    decision = graph.sum_over(weighed, 1)
    return decision, _largest(graph, decision)


def label_values(onnx: Any, labels: NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """Return labels as ONNX can hold them, and their type."""
    kind, types = labels.dtype.kind, onnx.TensorProto
    if kind == "b":
        return labels, types.BOOL
    if kind in "iu":
        return labels.astype(np.int64), types.INT64
    if kind == "f":
        return labels.astype(np.float64), types.DOUBLE
    if kind == "U" or all(isinstance(label, str) for label in labels.tolist()):
        return labels.astype(object), types.STRING
    raise TypeError(
        f"labels must be numbers, truth values or texts to be exported, found {labels.tolist()!r}"
    )
