"""``widemargin inspect``, ``convert`` and ``plot``: look at models, and change their form."""

import os
from typing import Annotated, Any

import numpy as np
import typer

from ..io.container import looks_like_container
from ..io.models import MARKS
from ..io.tables import Table
from .common import (
    STANDARD,
    WRITTEN,
    Json,
    ModelFile,
    RangesFile,
    Target,
    answer,
    format_of,
    hint_at_ranges,
    read_data,
    read_model,
    the_task,
    write_model,
)
from .machines import certificate_of
from .rows import sample, write_rows

__all__ = ["CONVERT_HELP", "INSPECT_HELP", "PLOT_HELP", "convert", "inspect", "plot"]

INSPECT_HELP = """Print the facts of a model.

\b
widemargin inspect iris.model
widemargin inspect their.libsvm.model --json
"""
CONVERT_HELP = """Change the format of a model, or of data, or take some rows of data.

\b
widemargin convert iris.model iris.libsvm.model --format libsvm
widemargin convert their.model ours.model
widemargin convert iris.model iris.onnx
widemargin convert iris.model iris.c --ranges iris.model.range    (code that scales its rows)
widemargin convert table.csv table.svm         (data)
widemargin convert data.svm train.svm --rows 1000 --rest test.svm

Data become LIBSVM text, or arrays if the file ends in .npz. --rows takes a sample in which every
class keeps its share, --rest is for the other rows.
"""
PLOT_HELP = """Draw a model: how its fit converged and, with data, what it decides.

\b
widemargin plot iris.model -o fit.png
widemargin plot iris.model iris.csv -o decisions.pdf
"""


def facts_of(estimator: Any) -> dict[str, Any]:
    """Return what there is to know of a fitted estimator."""
    facts: dict[str, Any] = {"machine": type(estimator).__name__, "task": the_task(estimator)}
    if hasattr(estimator, "kernel_"):
        facts["kernel"] = "precomputed" if estimator.kernel_ is None else repr(estimator.kernel_)
    if hasattr(estimator, "classes_"):
        facts["classes"] = estimator.classes_.tolist()
    facts["features"] = getattr(estimator, "n_features_in_", None)
    if hasattr(estimator, "support_"):
        facts["support_vectors"] = int(estimator.support_.size)
    if hasattr(estimator, "n_support_"):
        facts["support_vectors_of_groups"] = np.asarray(estimator.n_support_).tolist()
        facts["training_rows"] = int(estimator.shape_fit_[0])
    elif hasattr(estimator, "coef_"):
        coef = estimator.coef_
        facts["nonzero_weights"] = int(coef.nnz if hasattr(coef, "nnz") else np.count_nonzero(coef))
    if hasattr(estimator, "intercept_"):
        facts["intercepts"] = np.atleast_1d(estimator.intercept_).tolist()
    if hasattr(estimator, "status_"):
        facts["certificate"] = certificate_of(estimator)
    plain = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    facts["settings"] = {k: repr(v) for k, v in given.items() if repr(v) != repr(plain[k])}
    return facts


def inspect(model: ModelFile, as_json: Json = False) -> None:
    """Print the facts of a model."""
    facts = facts_of(read_model(model))
    lines = []
    for name, value in facts.items():
        shown = value
        if isinstance(value, dict):
            shown = (
                ", ".join(
                    f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v}" for k, v in value.items()
                )
                or "all as they are by default"
            )
        elif isinstance(value, list) and len(value) > 12:
            shown = f"[{', '.join(map(str, value[:12]))}, ...] ({len(value)})"
        lines.append(f"{name.replace('_', ' '):26} {shown}")
    answer(facts, "\n".join(lines), as_json)


def is_model(path: str) -> bool:
    """Whether a file is a model rather than data."""
    if path == STANDARD or not os.path.isfile(path):
        return True
    with open(path, "rb") as file:
        begun = file.read(64)
    return looks_like_container(begun) or any(begun.startswith(mark) for mark in MARKS)


def convert(
    source: Annotated[str, typer.Argument(help="Model or data, or - for a model from a pipe.")],
    output: Annotated[str, typer.Argument(help="File to write; - for standard output.")],
    format: Annotated[
        str | None, typer.Option(help=f"{', '.join(WRITTEN)}; by the ending.")
    ] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Of data: how many rows to take.")] = None,
    rest: Annotated[str | None, typer.Option(help="Of data: file for the other rows.")] = None,
    seed: Annotated[int, typer.Option(help="Of the sample of rows.")] = 0,
    regression: Annotated[
        bool, typer.Option("--regression", help="A model of SVMlight is for regression.")
    ] = False,
    target: Target = None,
    ranges: RangesFile = None,
    as_json: Json = False,
) -> None:
    """Change the format of a model, or of data, or take some rows of data."""
    if rows is not None or not is_model(source):
        if rest is not None and rows is None:
            raise typer.BadParameter("--rest takes the rows that --rows leaves; give --rows too")
        _convert_data(read_data(source, target, ranges), output, rows, rest, seed, as_json)
        return
    estimator = read_model(source, task="regression" if regression else "classification")
    chosen = format or format_of(output)
    hint_at_ranges(source, ranges)
    note = write_model(estimator, output, chosen, ranges)
    record = {"machine": type(estimator).__name__, "format": chosen, "output": output}
    text = f"{record['machine']} written to {output} as {chosen}"
    text += f"; {note}" if note else ""
    answer(record, text, as_json, aside=output == STANDARD)


def _convert_data(
    table: Table, output: str, rows: int | None, rest: str | None, seed: int, as_json: bool
) -> None:
    """Write data, or some of their rows and perhaps the others."""
    X, y = table.X, table.y
    labels = np.zeros(X.shape[0], dtype=np.int64) if y is None else y
    taken = np.ones(X.shape[0], dtype=bool)
    if rows is not None:
        taken[:] = False
        taken[sample(labels, rows, seed)] = True
    note = write_rows(X[taken], labels[taken], output)
    count = int(taken.sum())
    record = {"rows": count, "columns": X.shape[1], "output": output}
    text = f"{count} rows and {X.shape[1]} columns written to {output}"
    if rest is not None:
        write_rows(X[~taken], labels[~taken], rest)
        record |= {"rest": rest, "rows_of_rest": X.shape[0] - count}
        text += f", the other {X.shape[0] - count} rows to {rest}"
    text += f"; {note}" if note else ""
    answer(record, text, as_json, aside=output == STANDARD)


def plot(
    model: ModelFile,
    data: Annotated[str | None, typer.Argument(help="Data to show decisions of.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="PNG, PDF or SVG.")] = "model.png",
    target: Target = None,
    ranges: RangesFile = None,
    as_json: Json = False,
) -> None:
    """Draw a model: how its fit converged and, with data, what it decides."""
    from ..plotting import model_picture

    estimator = read_model(model)
    X = y = None
    if data is not None:
        hint_at_ranges(model, ranges)
        width = getattr(estimator, "n_features_in_", None)
        names = getattr(estimator, "feature_names_in_", np.array([])).tolist() or None
        table = read_data(data, target, ranges, width=width, features=names)
        X, y = table.X, table.y
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_  # rows come without names
    model_picture(estimator, X, y).savefig(output, dpi=150)
    answer({"output": output}, f"picture written to {output}", as_json)
