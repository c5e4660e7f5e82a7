"""One file of named arrays with a header: the layout of safetensors, by our own hands.

    8 bytes     length of the header, an unsigned little-endian number
    header      JSON: {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets"}, ...},
                padded with spaces so that the arrays begin at a multiple of 64
    arrays      in C order and little-endian, without gaps, widest numbers first: so each begins at
                a multiple of the size of its numbers and can be used in place

Nothing in a file is ever executed. Reading checks every size before an array is made, and the
checksum over all that follows, so a damaged file leads to a sentence and not to a wrong answer.

https://huggingface.co/docs/safetensors; we differ in that the header says how the numbers are to be
read as a model, under the key "__metadata__" that the layout leaves to its users.
"""

import json
import math
import os
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .atomic import open_target
from .sources import Source, open_source, source_name

__all__ = ["Container", "looks_like_container", "read_container", "write_container"]

DTYPES: dict[str, Any] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
ALIGNMENT = 64
LONGEST_HEADER = 1 << 28
CHECKSUM = "checksum"


@dataclass(frozen=True)
class Container:
    """What a file holds.

    Attributes
    ----------
    metadata : dict of str to str
    arrays : dict of str to array
        Read-only if mapped into memory.
    """

    metadata: dict[str, str]
    arrays: dict[str, NDArray[Any]]


def looks_like_container(begun: bytes) -> bool:
    """Whether a file that begins so may have this layout."""
    return len(begun) > 8 and begun[8:9] == b"{" and _length(begun) <= LONGEST_HEADER


def _length(begun: bytes) -> int:
    return int.from_bytes(begun[:8], "little")


def write_container(
    target: "str | os.PathLike[str] | Any", metadata: dict[str, str], arrays: dict[str, Any]
) -> None:
    """Write arrays and texts; a path is written whole or not at all.

    Parameters
    ----------
    target : path or binary file object
        Where to write.
    metadata : dict of str to str
        Texts; the checksum is added.
    arrays : dict of str to array
        Numbers or truth values.
    """
    ready = {}
    for name, array in arrays.items():
        dtype = array.dtype.newbyteorder("<")
        if dtype not in NAMES:
            raise TypeError(f"{name} holds {array.dtype}, which a file of models cannot")
        ready[name] = array.astype(dtype, order="C", copy=False)
    order = sorted(ready, key=lambda name: (-ready[name].dtype.itemsize, name))
    table: dict[str, Any] = {}
    place = 0
    for name in order:
        array = ready[name]
        table[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    views = [_bytes_of(ready[name]) for name in order]
    metadata = metadata | {CHECKSUM: _checksum(metadata, table, views)}
    header = json.dumps({"__metadata__": metadata} | table, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    with open_target(target) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for view in views:
            file.write(view)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _checksum(metadata: dict[str, str], table: dict[str, Any], views: list[Any]) -> str:
    known = {key: value for key, value in metadata.items() if key != CHECKSUM}
    total = zlib.crc32(json.dumps([known, table], sort_keys=True).encode())
    for view in views:
        total = zlib.crc32(view, total)
    return f"crc32 {total:08x}"


def read_container(source: Source, *, memory_map: bool = False) -> Container:
    """Read a file.

    Parameters
    ----------
    source : path or binary file object
        The file; compressed data are recognised.
    memory_map : bool, default=False
        Leave the arrays in the file, which must be a path and not compressed, until they are used.
        The checksum is then not verified, since that would read everything.

    Returns
    -------
    Container
        Texts and arrays.

    Raises
    ------
    ValueError
        If anything in the file contradicts the layout.
    """
    name = source_name(source)
    if memory_map:
        data: Any = _mapped(source, name)
    else:
        with open_source(source) as stream:
            data = np.frombuffer(bytearray(_all_of(stream)), np.uint8)
    if data.size < 8:
        raise _broken(name, "it ends before its header")
    length = _length(data[:8].tobytes())
    if length > min(LONGEST_HEADER, data.size - 8):
        raise _broken(name, f"a header of {length} bytes in a file of {data.size}")
    metadata, table = _header(data[8 : 8 + length].tobytes(), name)
    body = data[8 + length :]
    arrays, views = {}, []
    place = 0
    for key, (dtype, shape, begin, end) in table.items():
        if begin != place or end > body.size or end - begin != math.prod(shape) * dtype.itemsize:
            raise _broken(name, f"array {key!r} has the wrong size or place")
        view = body[begin:end]
        views.append(view)
        if (8 + length + begin) % dtype.itemsize:
            view = view.copy()  # of another writer, who did not align
        arrays[key] = view.view(dtype).reshape(shape)
        if dtype == np.bool_ and view.size and int(view.max()) > 1:
            raise _broken(name, f"array {key!r} holds bytes that are no truth values")
        place = end
    if place != body.size:
        raise _broken(name, f"{body.size - place} bytes behind the last array")
    if CHECKSUM in metadata and not memory_map:
        shown = {
            key: {"dtype": NAMES[dtype], "shape": list(shape), "data_offsets": [begin, end]}
            for key, (dtype, shape, begin, end) in table.items()
        }
        if metadata[CHECKSUM] != _checksum(metadata, shown, views):
            raise _broken(name, "its checksum is not that of its content")
    return Container(metadata, arrays)


def _all_of(stream: Any) -> bytes:
    parts = []
    while part := stream.read(1 << 20):
        parts.append(part)
    return b"".join(parts)


def _mapped(source: Source, name: str) -> Any:
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"memory_map=True needs a path, found {name}")
    if os.path.getsize(source) < 8:
        raise _broken(name, "it ends before its header")
    return np.memmap(source, np.uint8, "r").view(np.ndarray)


def _broken(name: str, sentence: str) -> ValueError:
    return ValueError(f"{name} is damaged or no model of widemargin: {sentence}")


def _header(text: bytes, name: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return metadata, and for each array by place: dtype, shape, begin and end."""
    try:
        header = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _broken(name, f"its header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise _broken(name, "its header is not a JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _broken(name, "__metadata__ must hold texts")
    table = {key: _entry(key, entry, name) for key, entry in header.items()}
    return metadata, dict(sorted(table.items(), key=lambda item: item[1][2:]))


def _entry(key: str, entry: Any, name: str) -> tuple[Any, tuple[int, ...], int, int]:
    try:
        dtype = DTYPES[entry["dtype"]]
        shape = tuple(entry["shape"])
        begin, end = entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise _broken(name, f"the entry of array {key!r} is not complete") from None
    numbers = (*shape, begin, end)
    if len(shape) > 8 or not all(type(n) is int and 0 <= n < 2**62 for n in numbers):
        raise _broken(name, f"the entry of array {key!r} has impossible sizes")
    return dtype, shape, begin, end
