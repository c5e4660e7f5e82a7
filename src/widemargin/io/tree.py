"""Values as JSON and arrays, and back: numbers, texts, lists, kernels, certificates; nothing else.

Only the types named here come back, each by its own constructor, so reading cannot run anything
that a file brings along.
"""

import math
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import kernels
from ..backends.cpu import is_sparse
from ..kernels import FunctionKernel, Kernel
from ..reductions.machines import Machine
from ..solution import (
    Certificate,
    JointSolution,
    LinearSolution,
    Progress,
    Solution,
    Status,
)

__all__ = ["decode", "encode"]

RECORDS: dict[str, type] = {
    kind.__name__: kind for kind in (Machine, Solution, JointSolution, LinearSolution, Certificate)
}
KERNELS: dict[str, type[Kernel]] = {
    name: kind
    for name in kernels.__all__
    if isinstance(kind := getattr(kernels, name), type)
    and issubclass(kind, Kernel)
    and not getattr(kind, "__abstractmethods__", None)
    and kind is not FunctionKernel
}
PROGRESS = [field.name for field in fields(Progress)]


class Encoder:
    """Turns values into JSON; the same array or record twice is written once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.records: list[Any] = []
        self._array_names: dict[int, str] = {}
        self._record_numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no number of an object is used twice

    def encode(self, value: Any, name: str) -> Any:
        """Return the JSON of a value; `name` says where it is, for messages and arrays."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            return {"$": "scalar", "value": self._array(np.array(value), name)}
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$": "float", "text": repr(value)}
        if isinstance(value, Status):
            return {"$": "status", "name": value.name}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if is_sparse(value):
            return self._sparse(value, name)
        if isinstance(value, Kernel):
            return self._kernel(value, name)
        if type(value).__name__ in RECORDS and type(value) is RECORDS[type(value).__name__]:
            return self._record(value, name)
        if isinstance(value, tuple) and value and all(isinstance(v, Progress) for v in value):
            table = [[float(getattr(v, key)) for key in PROGRESS] for v in value]
            return {"$": "history", "table": self._array(np.array(table), name)}
        if isinstance(value, list | tuple):
            items = [self.encode(item, f"{name}.{k}") for k, item in enumerate(value)]
            return items if isinstance(value, list) else {"$": "tuple", "items": items}
        if isinstance(value, dict):
            pairs = [
                [self.encode(k, name), self.encode(v, f"{name}.{k}")] for k, v in value.items()
            ]
            return {"$": "dict", "items": pairs}
        raise TypeError(
            f"{name} is {value!r}, which a model file cannot hold; pickle can, if you trust it"
        )

    def _array(self, value: NDArray[Any], name: str) -> Any:
        if value.dtype.kind in "OU":
            items = [self.encode(item, f"{name}[]") for item in value.ravel().tolist()]
            dtype = "object" if value.dtype.kind == "O" else value.dtype.str
            return {"$": "items", "dtype": dtype, "shape": list(value.shape), "items": items}
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise TypeError(f"{name} holds {value.dtype}, which a model file cannot")
        if id(value) not in self._array_names:
            if value.dtype == np.float16:
                value = value.astype(np.float32)
            key, count = name, 1
            while key in self.arrays:
                key, count = f"{name}.{count}", count + 1
            self.arrays[key] = value
            self._array_names[id(value)] = key
            self._alive.append(value)
        return {"$": "array", "name": self._array_names[id(value)]}

    def _sparse(self, value: Any, name: str) -> Any:
        csr = value.tocsr()
        parts = {
            key: self._array(getattr(csr, key), f"{name}.{key}")
            for key in ("data", "indices", "indptr")
        }
        kind = "array" if isinstance(value, sp.sparray) else "matrix"
        return {"$": "csr", "kind": kind, "shape": list(value.shape)} | parts

    def _kernel(self, value: Kernel, name: str) -> Any:
        kind = type(value).__name__
        if KERNELS.get(kind) is not type(value):
            raise TypeError(
                f"{name} is {value!r}: a kernel that is a Python function cannot be kept in a file "
                "that never runs code; save the kernel values, or pickle the estimator"
            )
        given = value.get_params(deep=False)
        return {
            "$": "kernel",
            "type": kind,
            "parameters": {key: self.encode(v, f"{name}.{key}") for key, v in given.items()},
        }

    def _record(self, value: Any, name: str) -> Any:
        if id(value) not in self._record_numbers:
            content = {
                f.name: self.encode(getattr(value, f.name), f"{name}.{f.name}")
                for f in fields(value)
            }
            self.records.append({"type": type(value).__name__, "fields": content})
            self._record_numbers[id(value)] = len(self.records) - 1
            self._alive.append(value)
        return {"$": "record", "number": self._record_numbers[id(value)]}


class Decoder:
    """Turns JSON and arrays back into values.

    Parameters
    ----------
    records : list
        As `Encoder.records`; each may refer to earlier ones.
    arrays : dict of str to array
        As `Encoder.arrays`.
    """

    def __init__(self, records: Any, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays
        self.records: list[Any] = []
        for entry in records:
            kind = RECORDS[entry["type"]]
            content = {key: self.decode(value) for key, value in entry["fields"].items()}
            self.records.append(kind(**content))

    def decode(self, value: Any) -> Any:
        """Return the value of some JSON."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        return getattr(self, f"_{READERS[value['$']]}")(value)

    def _float(self, value: Any) -> float:
        return float(str(value["text"]))

    def _status(self, value: Any) -> Status:
        return Status[value["name"]]

    def _scalar(self, value: Any) -> Any:
        return self.decode(value["value"])[()]

    def _array(self, value: Any) -> NDArray[Any]:
        return self.arrays[value["name"]]

    def _items(self, value: Any) -> NDArray[Any]:
        items = [self.decode(item) for item in value["items"]]
        if value["dtype"] == "object":
            array: NDArray[Any] = np.empty(len(items), object)
            array[:] = items
        else:
            if not all(isinstance(item, str) for item in items):
                raise ValueError("a text that is none")
            array = np.array(items, dtype=f"<U{int(value['dtype'][2:])}")
        return array.reshape(tuple(value["shape"]))

    def _csr(self, value: Any) -> Any:
        kind = {"array": sp.csr_array, "matrix": sp.csr_matrix}[value["kind"]]
        parts = tuple(self.decode(value[key]) for key in ("data", "indices", "indptr"))
        if any(part.ndim != 1 for part in parts) or any(p.dtype.kind != "i" for p in parts[1:]):
            raise ValueError("a sparse matrix without its three arrays")
        matrix = kind(parts, shape=tuple(value["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _kernel(self, value: Any) -> Kernel:
        given = {key: self.decode(item) for key, item in value["parameters"].items()}
        return KERNELS[value["type"]](**given)

    def _record(self, value: Any) -> Any:
        return self.records[int(value["number"])]

    def _history(self, value: Any) -> tuple[Progress, ...]:
        whole = {"iterations", "active", "rows"}
        rows = [
            dict(zip(PROGRESS, row, strict=True)) for row in self.decode(value["table"]).tolist()
        ]
        return tuple(
            Progress(**{key: int(v) if key in whole else v for key, v in row.items()})
            for row in rows
        )

    def _tuple(self, value: Any) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in value["items"])

    def _dict(self, value: Any) -> dict[Any, Any]:
        return {self.decode(key): self.decode(item) for key, item in value["items"]}


READERS = {
    tag: tag
    for tag in (
        "float", "status", "scalar", "array", "items", "csr", "kernel", "record", "history",
        "tuple", "dict",
    )
}  # fmt: skip


def encode(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the JSON of named values, and the arrays that it refers to.

    Parameters
    ----------
    values : dict of str to object
        Numbers, texts, arrays, CSR matrices, kernels, certificates, and lists, tuples and dicts of
        them.

    Returns
    -------
    tuple of dict
        JSON and arrays.

    Raises
    ------
    TypeError
        For any other type.
    """
    encoder = Encoder()
    named = {name: encoder.encode(value, name) for name, value in values.items()}
    return {"records": encoder.records, "values": named}, encoder.arrays


def decode(text: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the named values of `encode`.

    Parameters
    ----------
    text : object
        Parsed JSON.
    arrays : dict of str to array
        The arrays that it refers to.

    Raises
    ------
    ValueError
        If it is not what `encode` returns.
    """
    try:
        decoder = Decoder(text["records"], arrays)
        return {name: decoder.decode(value) for name, value in text["values"].items()}
    except (
        AttributeError,
        IndexError,
        KeyError,
        OverflowError,
        RecursionError,
        TypeError,
    ) as error:
        raise ValueError(f"unknown content: {type(error).__name__} {error}") from None
