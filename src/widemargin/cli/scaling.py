"""``widemargin scale``: bring all columns to one range, and remember how."""

from typing import Annotated

import typer

from ..io.ranges import Ranges
from .common import DataFile, Json, Target, answer, read_data, to_output
from .rows import write_rows

__all__ = ["HELP", "scale"]

HELP = """Bring all columns to one range, and remember how.

\b
widemargin scale train.csv -o train.svm --save ranges
widemargin scale test.csv -o test.svm --restore ranges
widemargin scale counts.svm -o scaled.svm --lower 0 --save ranges   (keeps sparse data sparse)

Kernels measure distances, so a column with large numbers would drown the others. Test data must be
scaled by the ranges of the training data. The output is LIBSVM text, or arrays if it ends in .npz.
"""


def scale(
    data: DataFile,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File; standard output by default.")
    ] = None,
    save: Annotated[str | None, typer.Option(help="Write the ranges to this file.")] = None,
    restore: Annotated[str | None, typer.Option(help="Use the ranges of this file.")] = None,
    lower: Annotated[float, typer.Option(help="Smallest value of each column.")] = -1.0,
    upper: Annotated[float, typer.Option(help="Largest value of each column.")] = 1.0,
    target: Target = None,
    as_json: Json = False,
) -> None:
    """Bring all columns to one range, and remember how."""
    table = read_data(data, target)
    ranges = Ranges.of(table.X, lower, upper) if restore is None else Ranges.load(restore)
    X = ranges.apply(table.X)
    note = write_rows(X, table.y, output)
    if save is not None:
        ranges.save(save)
    varying = int((ranges.largest > ranges.least).sum())
    constant = ranges.least.size - varying
    record = {"rows": X.shape[0], "columns": X.shape[1], "constant_columns": constant}
    text = f"{X.shape[0]} rows, {varying} columns scaled to [{ranges.lower:g}, {ranges.upper:g}]"
    if constant:
        text += f", {constant} constant columns set to zero"
    text += f"; {note}" if note else ""
    answer(record, text, as_json, aside=to_output(output))
