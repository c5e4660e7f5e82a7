"""Tables: CSV, Parquet, Arrow and NumPy files, with the target column chosen by its name.

One of pyarrow, polars and pandas must be installed for the first three (the extra `io`); all are
only used to read columns.
"""

import importlib
import io
import os
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .sources import PlainBytes, Source, open_source, source_name
from .svmlight import load_svmlight

__all__ = ["Table", "data_format", "load_table", "read_table"]

CHUNK = 1 << 16
TARGET_NAMES = ("target", "label", "class", "y")
MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
}
ENDINGS = {".csv": "csv", ".tsv": "csv", ".tab": "csv"}
PACKED = (".gz", ".bz2", ".xz", ".zst")
SVMLIGHT_LINE = re.compile(rb"[^\s:#]*(\s+(qid|sid|cost|\d+):\S+)*\s*(#.*)?")
DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Table:
    """What a data file holds.

    Attributes
    ----------
    X : array or CSR matrix
        The rows.
    y : array or None
        Labels or targets.
    features : list of str or None
        Names of the columns of X.
    """

    X: Any
    y: NDArray[Any] | None
    features: list[str] | None = None


def load_table(source: Source, *, target: str | int | None = None) -> tuple[Any, Any]:
    r"""Read a CSV, Parquet, Arrow (Feather), .npy or .npz file, or text of LIBSVM and SVMlight.

    Parameters
    ----------
    source : str, os.PathLike or file object
        A path, or an object opened in binary mode; the format is recognised and compressed data
        too.
    target : str, int or None, default=None
        Name or number of the column that holds labels; None takes the column called target, label,
        class or y.

    Returns
    -------
    X : numpy.ndarray or scipy.sparse.csr_matrix
        The other columns, in float64.
    y : numpy.ndarray or None
        Labels as they are, numbers or texts; None if `target` is None and no column has one of the
        names above.

    See Also
    --------
    load_svmlight : Has more options for that format.

    Notes
    -----
    CSV, Parquet and Arrow need pyarrow, polars or pandas: ``pip install 'widemargin[io]'``. An .npz
    file holds X and y (or data and target), or a matrix of scipy.sparse.save_npz.

    Examples
    --------
    >>> import io
    >>> from widemargin import load_table
    >>> X, y = load_table(io.BytesIO(b"width,class,height\n1,yes,2\n3,no,4\n"))
    >>> X.tolist(), y.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], ['yes', 'no'])
    """
    table = read_table(source, target=target)
    return table.X, table.y


def read_table(
    source: Source,
    *,
    target: str | int | None = None,
    features: Sequence[str] | None = None,
    **options: Any,
) -> Table:
    """Read a data file of any format; see `load_table`.

    Parameters
    ----------
    source : path or file object
        The file.
    target : str, int or None
        The column of labels.
    features : sequence of str, default=None
        Names that a model has learnt: without `target`, a single further column holds the labels.
    **options
        For `load_svmlight`, if it is such a file.
    """
    name = source_name(source)
    with open_source(source) as stream:
        begun = _beginning(stream)
        found = data_format(begun, name)
        if found == "svmlight":
            if target is not None:
                raise ValueError(
                    f"{name} is LIBSVM or SVMlight text, in which labels come first; "
                    "leave target out"
                )
            again = source
            if not isinstance(source, str | os.PathLike):
                again = PlainBytes(begun, stream, name)
            return Table(*load_svmlight(again, **options))
        data = begun + b"".join(iter(lambda: stream.read(CHUNK), b""))
    if found in ("npy", "npz"):
        return _numpy_table(data, found, target, name)
    columns = _columns(data, found, name)
    if target is None and features is not None:
        others = columns.keys() - set(features)
        target = others.pop() if len(others) == 1 else None
    return _split(columns, target, name)


def _beginning(stream: Any) -> bytes:
    """Return the first bytes, as many as tell the format; a stream may give few at a time."""
    begun = b""
    while len(begun) < CHUNK and (more := stream.read(CHUNK - len(begun))):
        begun += more
    return begun


def data_format(data: bytes, name: str) -> str:
    """Return the format of data: parquet, arrow, npy, npz, csv or svmlight.

    Parameters
    ----------
    data : bytes
        The beginning of the content, decompressed.
    name : str
        Of the file; its ending decides between kinds of text.
    """
    for magic, found in MAGIC.items():
        if data.startswith(magic):
            return found
    endings = [ending.lower() for ending in PurePath(name).suffixes]
    while endings and endings[-1] in PACKED:
        endings.pop()
    if endings and endings[-1] in ENDINGS:
        return ENDINGS[endings[-1]]
    lines = (line.strip() for line in data[:CHUNK].split(b"\n"))
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    if SVMLIGHT_LINE.fullmatch(first) and not (b":" not in first and _delimiter(first)):
        return "svmlight"
    if _delimiter(first):
        return "csv"
    raise ValueError(
        f"{name} is no data file that is known here: LIBSVM or SVMlight text, CSV, Parquet, Arrow, "
        f".npy or .npz; its first line is {first[:40].decode('utf-8', 'replace')!r}"
    )


def _delimiter(line: bytes) -> str:
    """Return the mark that most often divides a line, or nothing."""
    text = line.decode("utf-8", "replace")
    best = max(DELIMITERS, key=text.count)
    return best if best in text else ""


# --- columns -------------------------------------------------------------------------------------


def _split(columns: dict[str, NDArray[Any]], target: str | int | None, name: str) -> Table:
    """Return the target column apart from the others, which must be numbers."""
    names = list(columns)
    chosen = _target_column(names, target, name)
    features = [column for column in names if column != chosen]
    if not features:
        raise ValueError(f"{name} has no column beside the target {chosen!r}")
    X = np.empty((len(columns[names[0]]), len(features)))
    for k, column in enumerate(features):
        values = columns[column]
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"{name}: column {column!r} holds {_example(values)}, not numbers; encode it "
                "(OneHotEncoder of scikit-learn), leave it out, or name it as the target"
            )
        X[:, k] = values
    y = None if chosen is None else _labels(columns[chosen], chosen, name)
    return Table(X, y, features)


def _target_column(names: list[str], target: str | int | None, name: str) -> str | None:
    if target is None:
        known = [column for column in names if column.lower() in TARGET_NAMES]
        return known[0] if known else None
    if str(target) in names:
        return str(target)
    number = int(target) if re.fullmatch(r"-?\d+", str(target)) else None
    if number is not None and -len(names) <= number < len(names):
        return names[number]
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    raise ValueError(f"{name} has no column {target!r}; its columns are {shown}")


def _labels(values: NDArray[Any], column: str, name: str) -> NDArray[Any]:
    if values.dtype.kind == "O":
        if not all(isinstance(value, str) for value in values.tolist()):
            raise ValueError(
                f"{name}: the target column {column!r} has gaps or mixed types, such as "
                f"{_example(values)}; give each row a label"
            )
        return values.astype(str)
    return values


def _example(values: NDArray[Any]) -> str:
    odd = [value for value in values.tolist() if not isinstance(value, float | int | str)]
    return repr((odd or values.tolist() or [""])[0])


def _columns(data: bytes, found: str, name: str) -> dict[str, NDArray[Any]]:
    """Read columns with the first library that is installed."""
    for library, reader in READERS.items():
        try:
            module = importlib.import_module(library)
            if library == "pandas" and found != "csv":
                importlib.import_module("pyarrow")  # which it needs itself
        except ImportError:
            continue
        try:
            columns = reader(module, data, found)
        except Exception as error:  # each library has errors of its own
            sentence = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(f"{name} cannot be read as {found}: {sentence}") from error
        if not columns or not len(next(iter(columns.values()))):
            raise ValueError(f"{name} has no rows")
        return columns
    raise ImportError(
        f"{name} is a {found} file, which needs pyarrow, polars or pandas; "
        "pip install 'widemargin[io]'"
    )


def _csv_shape(data: bytes) -> tuple[str, list[str] | None]:
    """Return the delimiter, and names for the columns if the first line has none."""
    first = data.split(b"\n", 1)[0].rstrip(b"\r")
    delimiter = _delimiter(first) or ","
    fields = first.decode("utf-8", "replace").split(delimiter)
    try:
        for field in fields:
            float(field)
    except ValueError:
        return delimiter, None
    return delimiter, [str(k) for k in range(len(fields))]


def _by_pyarrow(pyarrow: Any, data: bytes, found: str) -> dict[str, NDArray[Any]]:
    buffer = pyarrow.BufferReader(data)
    if found == "csv":
        csv = importlib.import_module("pyarrow.csv")
        delimiter, names = _csv_shape(data)
        table = csv.read_csv(
            buffer,
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(delimiter=delimiter),
        )
    elif found == "parquet":
        table = importlib.import_module("pyarrow.parquet").read_table(buffer)
    else:
        table = importlib.import_module("pyarrow.feather").read_table(buffer)
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        columns[name] = column.to_numpy()
    return columns


def _by_polars(polars: Any, data: bytes, found: str) -> dict[str, NDArray[Any]]:
    if found == "csv":
        delimiter, names = _csv_shape(data)
        table = polars.read_csv(data, separator=delimiter, has_header=names is None)
        if names:
            table.columns = names
    elif found == "parquet":
        table = polars.read_parquet(data)
    else:
        table = polars.read_ipc(data)
    return {name: table[name].to_numpy() for name in table.columns}


def _by_pandas(pandas: Any, data: bytes, found: str) -> dict[str, NDArray[Any]]:
    buffer = io.BytesIO(data)
    if found == "csv":
        delimiter, names = _csv_shape(data)
        table = pandas.read_csv(buffer, sep=delimiter, header=None if names else 0, names=names)
    elif found == "parquet":
        table = pandas.read_parquet(buffer)
    else:
        table = pandas.read_feather(buffer)
    columns = {str(name): table[name] for name in table.columns}
    return {
        name: np.asarray(values, dtype=object if values.dtype.kind not in "biuf" else None)
        for name, values in columns.items()
    }


READERS: dict[str, Callable[[Any, bytes, str], dict[str, NDArray[Any]]]] = {
    "pyarrow": _by_pyarrow,
    "polars": _by_polars,
    "pandas": _by_pandas,
}


# --- NumPy ---------------------------------------------------------------------------------------


def _numpy_table(data: bytes, found: str, target: str | int | None, name: str) -> Table:
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        if found == "npy":
            return _matrix_table(loaded, target, name)
        arrays = {key: loaded[key] for key in loaded.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{name} cannot be read as {found}: {error}") from None
    if "indptr" in arrays:
        return Table(sp.csr_matrix(sp.load_npz(io.BytesIO(data))), None)
    lower = {key.lower(): value for key, value in arrays.items()}
    X = lower.get("x", lower.get("data"))
    y = arrays.get(str(target)) if target is not None else lower.get("y", lower.get("target"))
    if X is None or X.ndim != 2 or (target is not None and y is None):
        raise ValueError(
            f"{name} must hold a matrix X (or data) and perhaps y (or target), "
            f"found {', '.join(arrays) or 'nothing'}"
        )
    return Table(X, y)


def _matrix_table(matrix: Any, target: str | int | None, name: str) -> Table:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold a matrix of numbers, found shape {matrix.shape} "
            f"and dtype {matrix.dtype}"
        )
    if target is None:
        return Table(matrix, None)
    names = [str(k) for k in range(matrix.shape[1])]
    chosen = int(_target_column(names, target, name) or 0)
    return Table(np.delete(matrix, chosen, axis=1), matrix[:, chosen])
