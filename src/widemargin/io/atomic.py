"""Files that appear whole or not at all."""

import bz2
import gzip
import lzma
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .sources import zstd

__all__ = ["atomic_file", "open_target"]


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a file for writing bytes that gets its name only when it is complete.

    It is written beside its final place under another name, synced to the disk and renamed; if
    anything fails, that name is removed and what was at `path` stays. A device or pipe is written
    to directly.

    Parameters
    ----------
    path : str or os.PathLike
        Where the file shall be; links are followed.

    Yields
    ------
    file object
        To write bytes to.
    """
    final = Path(os.path.realpath(path))
    known = final.stat().st_mode if final.exists() else None
    if known is not None and not stat.S_ISREG(known):
        with open(final, "wb") as direct:
            yield direct
        return
    beside = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        file = open(beside, "xb")  # noqa: SIM115  closed below, before it is renamed
    except FileNotFoundError:
        message = f"there is no folder {final.parent} to write {final.name} in"
        raise FileNotFoundError(message) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if known is not None:
            os.chmod(beside, stat.S_IMODE(known))
        os.replace(beside, final)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _sync_folder(final.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a crash, where the system lets folders be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def open_target(target: Any) -> Iterator[Any]:
    """Open a path, compressed by its ending, or take a binary file object as it is.

    Parameters
    ----------
    target : str, os.PathLike or file object
        A path ending in .gz, .bz2, .xz or .zst is compressed; an object stays open.

    Yields
    ------
    file object
        To write bytes to.
    """
    if not isinstance(target, str | os.PathLike):
        if not hasattr(target, "write"):
            raise TypeError(f"expected a path or a binary file object, found {target!r}")
        yield target
        return
    with atomic_file(target) as file:
        ending = Path(target).suffix.lower()
        if ending == ".gz":
            # Neither name nor time, so that equal data give equal files.
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as compressed:
                yield compressed
        elif ending in (".bz2", ".xz"):
            kind = bz2.BZ2File if ending == ".bz2" else lzma.LZMAFile
            with kind(file, "wb") as compressed:
                yield compressed
        elif ending == ".zst":
            with zstd(os.fspath(target)).writer(file) as compressed:
                yield compressed
        else:
            yield file
