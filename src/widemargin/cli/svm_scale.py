"""LIBSVM's program svm-scale: same options, files and numbers."""

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
import typer

from ..io.ranges import Ranges
from ..io.svmlight_writer import RowText, row_blocks
from .dropin import parse, read_text

__all__ = ["HELP", "scale"]

HELP = """svm-scale of LIBSVM: the same options, the result on standard output.

\b
widemargin libsvm-scale [options] data_filename > scaled
widemargin libsvm-scale -l -1 -u 1 -s ranges train > train.scale
widemargin libsvm-scale -r ranges test > test.scale
\b
-l lower (-1)    -u upper (1)    -y lower upper  scale targets too
-s file  save the ranges         -r file  use saved ranges
"""
OPTIONS: dict[str, tuple[Any, Any]] = {
    "l": (float, -1.0), "u": (float, 1.0), "s": (str, None), "r": (str, None),
}  # fmt: skip
DIGITS = 6  # of the values, as printf's %g


def scale(context: typer.Context) -> None:
    """Scale as svm-scale does."""
    arguments = list(context.args)
    target = None
    if "-y" in arguments:  # the only option with two values
        at = arguments.index("-y")
        try:
            target = (float(arguments[at + 1]), float(arguments[at + 2]))
        except (IndexError, ValueError):
            raise typer.BadParameter("svm-scale: -y needs two numbers") from None
        del arguments[at : at + 3]
    given = parse("svm-scale", arguments, OPTIONS)
    if len(given.files) != 1:
        raise typer.BadParameter("svm-scale needs one data_filename")
    if given.values["s"] and given.values["r"]:
        raise typer.BadParameter("svm-scale: cannot use -r and -s simultaneously")
    X, y = read_text(given.files[0])
    if given.values["r"]:
        ranges = Ranges.load(given.values["r"])
    else:
        ranges = Ranges.of(X, given.values["l"], given.values["u"])
        if target is not None:
            ends = (float(y.min()), float(y.max()))
            ranges = Ranges(ranges.lower, ranges.upper, ranges.least, ranges.largest, target + ends)
    if given.values["s"]:
        ranges.save(given.values["s"])
    scaled = sp.csr_matrix(ranges.apply(X))
    if scaled.nnz > X.nnz and ranges.lower != 0:
        print(
            f"WARNING: original #nonzeros {X.nnz}\n         new      #nonzeros {scaled.nnz}\n"
            "If feature values are non-negative and sparse, use -l 0 rather than the default -l -1",
            file=sys.stderr,
        )
    _write(scaled, ranges.apply_target(y))


def _write(X: Any, y: Any) -> None:
    """Write rows with six digits and labels with seventeen, each line with a blank at its end."""
    text = RowText(np.zeros(X.shape[0], dtype=np.int64))
    labels = [format(value, ".17g").encode() for value in y.tolist()]
    for first, block in row_blocks(X, text, 1, DIGITS, False, 1):
        lines = block.split(b"\n")[:-1]
        whole = (labels[first + k] + line[1:] + b" \n" for k, line in enumerate(lines))
        sys.stdout.buffer.write(b"".join(whole))
    sys.stdout.buffer.flush()
