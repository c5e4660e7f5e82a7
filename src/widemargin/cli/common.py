"""What all commands share: data and models by name or from a pipe, and answers as text or JSON."""

import json
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..io import export_c, export_onnx, load, save
from ..io.container import looks_like_container
from ..io.models import FORMATS
from ..io.ranges import Ranges
from ..io.tables import Table, read_table

__all__ = [
    "STANDARD",
    "WRITTEN",
    "DataFile",
    "Format",
    "Jobs",
    "Json",
    "ModelFile",
    "Named",
    "RangesFile",
    "Target",
    "answer",
    "format_of",
    "given",
    "hint_at_ranges",
    "own_model",
    "plain_labels",
    "read_data",
    "read_model",
    "task_of",
    "text_target",
    "the_task",
    "to_output",
    "write_model",
]

STANDARD = "-"
EXPORTS: dict[str, Callable[..., None]] = {"onnx": export_onnx, "c": export_c}
WRITTEN = (*FORMATS, *EXPORTS)  # formats of models, the last two for programs that only decide

DataFile = Annotated[str, typer.Argument(help="Data file of any format, or - for standard input.")]
ModelFile = Annotated[
    str, typer.Argument(help="Model file of any format, or - for standard input.")
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="Column with the labels of a table, by name or number."),
]
RangesFile = Annotated[
    str | None,
    typer.Option("--ranges", help="Scale the columns by this file of `widemargin scale`."),
]
Format = Annotated[
    str | None, typer.Option(help=f"Of the model: {', '.join(WRITTEN)}; by the ending.")
]
Json = Annotated[bool, typer.Option("--json", help="Answer in one line of JSON.")]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Threads; all cores by default.")]

MOST_CLASSES = 20  # whole numbers with more values than this are targets, not labels


@dataclass(frozen=True)
class Named:
    """A pipe with a name for messages."""

    file: Any
    name: str

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        return bytes(self.file.read(size))


def given(path: str) -> Any:
    """Return what to read from: a path, or standard input for ``-``."""
    return Named(sys.stdin.buffer, "standard input") if path == STANDARD else path


def text_target(path: str | None) -> Any:
    """Return what to write bytes to: a path, or standard output for ``-`` and None."""
    return sys.stdout.buffer if path in (None, STANDARD) else path


def to_output(path: str | None) -> bool:
    """Whether something is written to standard output, where answers would be in its way."""
    return path in (None, STANDARD)


def read_data(
    path: str,
    target: str | None = None,
    ranges: str | None = None,
    *,
    width: int | None = None,
    features: list[str] | None = None,
) -> Table:
    """Read a data file, scaled if ranges are given.

    Parameters
    ----------
    path : str
        The file.
    target : str or None
        Column with the labels.
    ranges : str or None
        File of ranges.
    width : int or None
        Columns that the model wants, for sparse text that has fewer.
    features : list of str or None
        Names that the model has learnt.
    """
    table = read_table(given(path), target=target, features=features)
    X = table.X
    if X.shape[0] == 0:
        raise ValueError(f"{path} has no rows")
    bad = _rows_with_gaps(X)
    if bad:
        raise ValueError(
            f"{path} holds gaps, nan or inf in {bad} of its {X.shape[0]} rows; "
            f"`widemargin doctor {path}` names the columns"
        )
    if width is not None and X.shape[1] < width and table.features is None:
        X = _widened(X, width)
    if ranges is not None:
        X = Ranges.load(ranges).apply(X)
    return Table(X, None if table.y is None else plain_labels(table.y), table.features)


def _rows_with_gaps(X: Any) -> int:
    if isinstance(X, np.ndarray):
        return int((~np.isfinite(X)).any(axis=1).sum()) if X.dtype.kind == "f" else 0
    entries = np.flatnonzero(~np.isfinite(X.data))
    return int(np.unique(np.searchsorted(X.indptr, entries, side="right")).size)


def _widened(X: Any, width: int) -> Any:
    if isinstance(X, np.ndarray):
        return X  # a table has all its columns: another number of them is a mistake
    X = X.copy()
    X.resize(X.shape[0], width)
    return X


def plain_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels as whole numbers where that changes nothing, so that 1.0 is shown as 1."""
    if y.dtype.kind == "f" and np.isfinite(y).all() and (np.abs(y) < 2**53).all():
        whole = y.astype(np.int64)
        if np.array_equal(whole, y):
            return whole
    return y


def task_of(y: NDArray[Any] | None) -> str:
    """Return the task that targets suggest: classification, regression or detection."""
    if y is None:
        return "detection"
    if y.dtype.kind not in "iuf":
        return "classification"
    if y.dtype.kind == "f":
        return "regression"
    return "classification" if len(np.unique(y)) <= MOST_CLASSES else "regression"


def the_task(estimator: Any) -> str:
    """Return the task of a fitted estimator."""
    if hasattr(estimator, "classes_"):
        return "classification"
    return "detection" if hasattr(estimator, "offset_") else "regression"


def read_model(path: str, *, width: int | None = None, task: str = "classification") -> Any:
    """Read a model of any format.

    Parameters
    ----------
    path : str
        The file.
    width : int or None
        Columns of the data, for formats that do not tell.
    task : str
        For models of SVMlight.
    """
    try:
        model = load(given(path), n_features=width, task=task)
    except ValueError as error:
        if width is None or "n_features" not in str(error):
            raise
        model = load(given(path), task=task)
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} is a {type(model).__name__}, which maps rows and decides nothing")
    return model


def own_model(path: str) -> tuple[Any, list[str] | None]:
    """Return a model of our own format, which needs no data to be read, and names of its features.

    Models of others are not read here, nor those from a pipe.
    """
    if path == STANDARD or not os.path.isfile(path):
        return None, None
    with open(path, "rb") as file:
        if not looks_like_container(file.read(64)):
            return None, None
    model = read_model(path)
    names = getattr(model, "feature_names_in_", None)
    return model, None if names is None else names.tolist()


def format_of(path: str) -> str:
    """Return the format that the ending of a path asks for."""
    ending = path.rpartition(".")[2]
    return ending if ending in EXPORTS else FORMATS[0]


def write_model(estimator: Any, path: str, format: str | None, ranges: str | None = None) -> str:
    """Write a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    path : str
        File, or - for standard output.
    format : str or None
        One of `WRITTEN`; None goes by the ending of the path.
    ranges : str or None
        File of the ranges that rows were scaled with.

    Returns
    -------
    str
        What has to be known of the ranges, a line; empty if there are none.
    """
    format = format or format_of(path)
    if format not in WRITTEN:
        raise typer.BadParameter(f"--format must be one of {', '.join(WRITTEN)}, found {format!r}")
    if format in EXPORTS:
        EXPORTS[format](estimator, text_target(path), ranges=ranges)
        return "" if ranges is None else f"the ranges of {ranges} are built in: give it plain rows"
    save(estimator, text_target(path), format=format)
    return "" if ranges is None else f"rows for it must be scaled too: --ranges {ranges}"


def hint_at_ranges(model: str, ranges: str | None) -> None:
    """Say that `train --easy` wrote ranges beside a model, if they are not used."""
    beside = f"{model}.range"
    if ranges is None and model != STANDARD and os.path.exists(beside):
        print(
            f"{beside} lies beside the model; if its rows were scaled, add --ranges {beside}",
            file=sys.stderr,
        )


def answer(record: dict[str, Any], text: str, as_json: bool, *, aside: bool = False) -> None:
    """Print what a command found.

    Parameters
    ----------
    record : dict
        For programs.
    text : str
        For people.
    as_json : bool
        Which of the two.
    aside : bool
        On standard error, because standard output carries data.
    """
    stream = sys.stderr if aside else sys.stdout
    print(json.dumps(_plain(record), allow_nan=False) if as_json else text, file=stream)


def _plain(value: Any) -> Any:
    """Return what JSON can hold; a number that is not finite becomes null."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
