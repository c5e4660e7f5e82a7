"""Rows and labels as commands write them: LIBSVM text, or arrays in an .npz file."""

import io
from pathlib import PurePath
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..io import dump_svmlight
from ..io.atomic import open_target
from .common import text_target

__all__ = ["sample", "write_rows"]

OTHERS = (".csv", ".tsv", ".parquet", ".feather", ".arrow", ".npy")


def write_rows(X: Any, y: NDArray[Any] | None, output: str | None) -> str:
    """Write rows and labels, 0 where there are none.

    Parameters
    ----------
    X : array or CSR matrix
        Rows.
    y : array or None
        Labels; texts are numbered in their order.
    output : str or None
        A file, or - or None for standard output; arrays if it ends in .npz, else text.

    Returns
    -------
    str
        Which number each text became, a line; empty if labels are numbers.
    """
    ending = "" if output is None else PurePath(output).suffix.lower()
    if ending in OTHERS:
        raise typer.BadParameter(
            f"{output}: rows are written as LIBSVM text, or as arrays if the file ends in .npz"
        )
    labels = np.zeros(X.shape[0], dtype=np.int64) if y is None else y
    if ending == ".npz":
        buffer = io.BytesIO()
        np.savez(buffer, X=X.toarray() if hasattr(X, "toarray") else X, y=labels)
        with open_target(str(output)) as file:
            file.write(buffer.getvalue())
        return ""
    note = ""
    if labels.dtype.kind not in "biuf":
        names, labels = np.unique(labels, return_inverse=True)
        numbers = ", ".join(f"{name} = {k}" for k, name in enumerate(names.tolist()))
        note = f"labels are numbered: {numbers}"
    dump_svmlight(X, np.ravel(labels), text_target(output))
    return note


def sample(y: Any, rows: int, seed: int) -> Any:
    """Return the numbers of some rows, in order; each class keeps its share, as far as it goes."""
    if rows > len(y):
        raise ValueError(f"--rows {rows} of data that have {len(y)}")
    chance = np.random.default_rng(seed)
    if y.dtype.kind == "f" or len(np.unique(y)) > rows:
        return np.sort(chance.permutation(len(y))[:rows])
    # Deal the rows of each class out evenly over (0, 1); those that come first are taken.
    numbers = np.unique(y, return_inverse=True)[1]
    place = np.empty(len(y))
    for k in range(int(numbers.max()) + 1):
        members = chance.permutation(np.flatnonzero(numbers == k))
        place[members] = (np.arange(members.size) + chance.random()) / members.size
    return np.sort(np.argsort(place, kind="stable")[:rows])
