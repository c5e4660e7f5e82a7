"""Models in files: one door for our own format and those of LIBSVM, LIBLINEAR and SVMlight."""

import io
import os
from typing import Any

from .container import looks_like_container
from .liblinear_models import read_liblinear, write_liblinear
from .libsvm_models import read_libsvm, write_libsvm
from .native_models import read_native, write_native
from .sources import Source, open_source, source_name
from .svmlight_models import FIRST_LINE, read_svmlight_model, write_svmlight_model

__all__ = ["FORMATS", "load", "model_format", "save"]

FORMATS = ("widemargin", "libsvm", "liblinear", "svmlight")
MARKS = {b"svm_type": "libsvm", b"solver_type": "liblinear", FIRST_LINE[:17].encode(): "svmlight"}
PEEK = 64


def model_format(begun: bytes, name: str) -> str:
    """Return the format of a model from its first bytes.

    Parameters
    ----------
    begun : bytes
        At least the first 64.
    name : str
        What to call the file in messages.
    """
    if looks_like_container(begun):
        return "widemargin"
    for mark, found in MARKS.items():
        if begun.startswith(mark):
            return found
    if begun.startswith(b"\x80"):
        raise ValueError(
            f"{name} is a pickle, which could run anything; if you trust it, pickle.load reads it, "
            "and save(estimator, path) writes a file without code"
        )
    raise ValueError(
        f"{name} is no model of widemargin, LIBSVM, LIBLINEAR or SVMlight; "
        "load_svmlight reads data, from_sklearn takes estimators of scikit-learn"
    )


def load(
    source: Source,
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    task: str = "classification",
    memory_map: bool = False,
) -> Any:
    """Read a model file of this package, LIBSVM, LIBLINEAR or SVMlight; the format is recognised.

    Nothing in a file is executed.

    Parameters
    ----------
    source : str, os.PathLike or file object
        A path, or an object opened in binary mode. Compressed data are recognised.
    n_features : int, default=None
        Columns of the data, for files of LIBSVM and SVMlight, which do not tell; by default as many
        as their support vectors have.
    zero_based : bool or "auto", default="auto"
        Whether a LIBSVM file gives the first column index 0, or 1; "auto": if index 0 occurs.
    task : {"classification", "regression"}, default="classification"
        What a model of SVMlight is for, which its file does not tell.
    memory_map : bool, default=False
        Leave the arrays of our own format in the file until they are used: many processes then
        share one copy. Sizes are checked, the checksum is not.

    Returns
    -------
    estimator
        Fitted. Models of others have no certificate.

    See Also
    --------
    save : Writes these formats.
    from_sklearn : Converts estimators of scikit-learn.

    Notes
    -----
    Cost: one pass over the file.

    Examples
    --------
    >>> import io
    >>> from widemargin import SVC, load, save
    >>> file = io.BytesIO()
    >>> save(SVC(C=2.0).fit([[0.0], [1.0]], ["no", "yes"]), file)
    >>> model = load(io.BytesIO(file.getvalue()))
    >>> model.predict([[0.9]]), model.duality_gap_ < 1e-6
    (array(['yes'], dtype='<U3'), True)
    """
    name = source_name(source)
    if not isinstance(source, str | os.PathLike):
        with open_source(source) as stream:
            source = io.BytesIO(stream.read())
    with open_source(source) as stream:
        found = model_format(_first_bytes(stream), name)
    if isinstance(source, io.BytesIO):
        source.seek(0)
    if found == "widemargin":
        return read_native(source, memory_map=memory_map)
    if memory_map:
        raise ValueError(f"memory_map=True needs a file of our own format, found one of {found}")
    if found == "libsvm":
        return read_libsvm(source, n_features=n_features, zero_based=zero_based)
    if found == "svmlight":
        return read_svmlight_model(source, n_features=n_features, task=task)
    return read_liblinear(source)


def _first_bytes(stream: Any) -> bytes:
    """Return the first bytes; a stream may give fewer at a time than asked for."""
    begun = b""
    while len(begun) < PEEK and (more := stream.read(PEEK - len(begun))):
        begun += more
    return begun


def save(
    estimator: Any,
    target: "str | os.PathLike[str] | Any",
    *,
    format: str = "widemargin",
    zero_based: bool = False,
) -> None:
    r"""Write a fitted estimator to a file.

    Our own format keeps everything: parameters, label types, names of features, kernels and the
    certificate. It is the layout of safetensors, one file of arrays behind a JSON header, which
    runs no code when read. The others keep the decision function, to the last digit.

    Parameters
    ----------
    estimator : estimator
        Fitted; a `callback` is not kept.
    target : str, os.PathLike or file object
        A path, which is written whole or not at all and compressed if it ends in .gz, .bz2, .xz or
        .zst; or an object opened in binary mode.
    format : {"widemargin", "libsvm", "liblinear", "svmlight"}, default="widemargin"
        Who shall read it.
    zero_based : bool, default=False
        Give the first column index 0 in a LIBSVM file, for data files that have it so.

    See Also
    --------
    load : Reads these formats.

    Notes
    -----
    Cost: one pass over the arrays.

    Examples
    --------
    >>> import io
    >>> from widemargin import SVC, save
    >>> file = io.BytesIO()
    >>> save(SVC(kernel="linear").fit([[0.0], [1.0]], [-1, 1]), file, format="libsvm")
    >>> print(file.getvalue().decode().split("SV\n")[0], end="")
    svm_type c_svc
    kernel_type linear
    nr_class 2
    total_sv 2
    rho 0.5
    label 1 -1
    nr_sv 1 1
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, found {format!r}")
    if format == "libsvm":
        write_libsvm(estimator, target, zero_based=zero_based)
    elif format == "liblinear":
        write_liblinear(estimator, target)
    elif format == "svmlight":
        write_svmlight_model(estimator, target)
    else:
        write_native(estimator, target)
