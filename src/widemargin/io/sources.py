"""Bytes to read from: paths, descriptors and file objects, decompressed by what they contain."""

import bz2
import gzip
import importlib
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["PlainBytes", "Source", "TextBlocks", "open_source", "source_name", "zstd"]

# A path, a file descriptor, or an object with a method ``read`` that returns bytes.
Source: TypeAlias = "str | os.PathLike[str] | int | Any"

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
LONGEST_MAGIC = max(map(len, MAGIC))


def source_name(source: Source) -> str:
    """Return what to call a source in a message."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    if isinstance(source, int):
        return f"file descriptor {source}"
    return str(getattr(source, "name", f"the {type(source).__name__}"))


@contextmanager
def open_source(source: Source) -> Iterator[Any]:
    """Open a source for reading, decompressed if it begins like gzip, bzip2, xz or zstd.

    Parameters
    ----------
    source : str, os.PathLike, int or file object
        A path, a file descriptor, or an object whose ``read`` returns bytes; the last two are left
        open.

    Yields
    ------
    object
        Its ``read(size)`` returns bytes. Damaged compressed data raise ValueError there.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb", buffering=0) as file:
            yield _decompressed(file, source_name(source))
    elif isinstance(source, int):
        with open(source, "rb", buffering=0, closefd=False) as file:
            yield _decompressed(file, source_name(source))
    elif hasattr(source, "read"):
        yield _decompressed(source, source_name(source))
    else:
        raise TypeError(
            f"expected a path, a file descriptor or a binary file object, found {source!r}"
        )


def _decompressed(file: Any, name: str) -> Any:
    begun = file.read(LONGEST_MAGIC)
    if isinstance(begun, str):
        raise TypeError(f"{name} is opened as text; open it in binary mode, 'rb'")
    while begun and len(begun) < LONGEST_MAGIC and (more := file.read(LONGEST_MAGIC - len(begun))):
        begun += more
    raw = PlainBytes(begun or b"", file, name)
    kind = next((kind for magic, kind in MAGIC.items() if raw.begun.startswith(magic)), None)
    if kind is None:
        return raw
    buffered = io.BufferedReader(raw, 1 << 18)
    readers: dict[str, Callable[[Any], Any]] = {
        "gzip": lambda file: gzip.GzipFile(fileobj=file),
        "bzip2": bz2.BZ2File,
        "xz": lzma.LZMAFile,
        "zstd": lambda file: zstd(name).reader(file),
    }
    return _Decompressed(readers[kind](buffered), name, kind)


@dataclass(frozen=True)
class Zstd:
    """How to read and write zstd, by whichever module there is."""

    reader: Callable[[Any], Any]
    writer: Callable[[Any], Any]


def zstd(name: str) -> Zstd:
    """Return how to read and write zstd; `name` is the file that needs it."""
    try:
        module = importlib.import_module("compression.zstd")  # Python 3.14
        return Zstd(module.ZstdFile, lambda file: module.ZstdFile(file, "w"))
    except ImportError:
        pass
    try:
        module = importlib.import_module("zstandard")
    except ImportError:
        raise ImportError(
            f"{name} needs zstd, which this Python lacks; pip install 'widemargin[io]', "
            "or use the program zstd"
        ) from None
    return Zstd(
        lambda file: _ZstdFrames(file, module.ZstdDecompressor().decompressobj),
        lambda file: module.ZstdCompressor().stream_writer(file, closefd=False),
    )


class PlainBytes(io.RawIOBase):
    """A file of which the first bytes have been read already."""

    def __init__(self, begun: bytes, file: Any, name: str) -> None:
        self.begun, self.file, self.name = begun, file, name

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the beginning or the file; return how many bytes."""
        view = memoryview(buffer).cast("B")
        if self.begun:
            count = min(len(view), len(self.begun))
            view[:count] = self.begun[:count]
            self.begun = self.begun[count:]
            return count
        if hasattr(self.file, "readinto"):
            return int(self.file.readinto(view) or 0)
        data = self.file.read(len(view)) or b""
        view[: len(data)] = data
        return len(data)


class _ZstdFrames(io.RawIOBase):
    """Decompressed frames; unlike the reader of `zstandard` it notices an incomplete one."""

    def __init__(self, file: Any, begin: Callable[[], Any]) -> None:
        self.file, self.begin = file, begin
        self.frame = begin()
        self.given = 0  # bytes that the frame has got
        self.ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while not self.ready:
            rest = self.frame.unused_data if self.frame.eof else b""
            if self.frame.eof:
                self.frame, self.given = self.begin(), 0
            data = rest or self.file.read(1 << 17)
            if not data:
                if self.given:
                    raise EOFError("the last frame has no end")
                return 0
            self.given += len(data)
            self.ready = self.frame.decompress(data)
        count = min(len(view), len(self.ready))
        view[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count


class _Decompressed(io.RawIOBase):
    """A decompressing reader whose errors are told in one sentence."""

    def __init__(self, file: Any, name: str, kind: str) -> None:
        self.file, self.name, self.kind = file, name, kind

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return int(self.file.readinto(buffer))
        except OSError as error:
            if error.errno is not None:  # the disk, not the data
                raise
            raise self._damaged(error) from error
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            raise self._damaged(error) from error
        except Exception as error:
            if type(error).__name__ == "ZstdError":  # its module may not be there
                raise self._damaged(error) from error
            raise

    def _damaged(self, error: Exception) -> ValueError:
        return ValueError(f"{self.name} is damaged or incomplete {self.kind} data: {error}")


class TextBlocks:
    """Blocks of whole lines of a stream, each in the same buffer.

    Attributes
    ----------
    buffer : bytearray
        Holds the block, and perhaps the beginning of the next one behind it.
    """

    def __init__(self, stream: Any, size: int) -> None:
        self.stream = stream
        self.buffer = bytearray(size)
        self.filled = 0

    def __iter__(self) -> Iterator[int]:
        """Yield the size of each block in the buffer; the last may lack its newline."""
        while True:
            with memoryview(self.buffer) as view:
                count = self.stream.readinto(view[self.filled :])
            self.filled += count
            if count and self.filled < len(self.buffer):
                continue
            end = self.buffer.rfind(b"\n", 0, self.filled) + 1 if count else self.filled
            if end:
                yield end
                rest = self.buffer[end : self.filled]
                self.buffer[: len(rest)] = rest
                self.filled = len(rest)
            elif count:  # one line fills the buffer
                self.buffer = self.buffer + bytearray(len(self.buffer))
            if not count:
                return
