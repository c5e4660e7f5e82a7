"""Our own model files: `container` holds the arrays, JSON beside them says what they are.

Version 1: ``__metadata__`` of the container has

    format   "widemargin"
    version  "1"
    made_by  the version of the package that wrote the file
    model    JSON {"estimator": class, "parameters": values, "fitted": values}, values as in `tree`

A reader refuses versions that it does not know. Every version that was released stays readable; a
file of each is kept among the tests.
"""

import json
import os
from importlib import metadata as installed
from typing import Any

from .. import estimators
from ..estimators.state import MAPS, restore, state_of
from .container import Container, read_container, write_container
from .sources import Source, source_name
from .tree import decode, encode

__all__ = ["ESTIMATORS", "package_version", "read_native", "write_native"]

FORMAT = "widemargin"
VERSION = "1"
ESTIMATORS: dict[str, Any] = {  # the machines
    name: kind
    for name in estimators.__all__
    if isinstance(kind := getattr(estimators, name), type) and hasattr(kind, "predict")
}
KEPT = ESTIMATORS | {kind.__name__: kind for kind in MAPS}


def write_native(estimator: Any, target: "str | os.PathLike[str] | Any") -> None:
    """Write a fitted estimator with all that fitting left behind, the certificate included.

    Parameters
    ----------
    estimator : estimator of this package
        Fitted; a `callback` is not kept.
    target : path or file object
        Where to write.
    """
    kind = type(estimator)
    if KEPT.get(kind.__name__) is not kind:
        raise TypeError(
            f"only machines and feature maps of widemargin can be saved, found {kind.__name__}; "
            "from_sklearn converts those of scikit-learn, and pickle keeps anything you trust"
        )
    parameters, attributes = state_of(estimator)
    text, arrays = encode({"parameters": parameters, "fitted": attributes})
    model = {"estimator": kind.__name__, **text}
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": package_version(),
        "model": json.dumps(model, separators=(",", ":")),
    }
    write_container(target, metadata, arrays)


def package_version() -> str:
    """Return the version of this package, to be written into files."""
    try:
        return installed.version("widemargin")
    except installed.PackageNotFoundError:  # run from a source tree
        return "unknown"


def read_native(source: Source, *, memory_map: bool = False) -> Any:
    """Read a model file of this package.

    Parameters
    ----------
    source : path or file object
        The file.
    memory_map : bool, default=False
        Leave arrays in the file until they are used; see `read_container`.

    Returns
    -------
    estimator
        As it was saved.
    """
    name = source_name(source)
    container = read_container(source, memory_map=memory_map)
    found = container.metadata.get("format"), container.metadata.get("version")
    if found[0] != FORMAT or "model" not in container.metadata:
        raise ValueError(f"{name} holds arrays, but no model of widemargin")
    if found[1] != VERSION:
        raise ValueError(
            f"{name} has version {found[1]} of the model format, and this package reads version "
            f"{VERSION}; install the newest widemargin"
        )
    try:
        return _restored(container)
    except ValueError as error:
        raise ValueError(f"{name} is damaged or no model of widemargin: {error}") from None


def _restored(container: Container) -> Any:
    model = json.loads(container.metadata["model"])
    kind = model.get("estimator") if isinstance(model, dict) else None
    if not isinstance(kind, str) or kind not in KEPT:
        raise ValueError("it names no estimator of this package")
    values = decode(model, container.arrays)
    parameters, fitted = (_named(values.get(key)) for key in ("parameters", "fitted"))
    return restore(KEPT[kind], parameters, fitted)


def _named(values: Any) -> dict[str, Any]:
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ValueError("parameters or attributes are missing")
    return values
