"""Memory that does not cost more to touch than the numbers that go there.

The system finds and clears each fresh page when it is first written, which takes as long as
computing the kernel values that fill it. Large pages make that rarer; memory used again avoids it.
"""

import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scratch", "allocate"]

HUGE_PAGE = 2 << 20


def allocate(rows: int, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return zeroed memory that costs nothing until touched, in huge pages if it is large."""
    size = rows * width * dtype.itemsize
    if size < 2 * HUGE_PAGE:
        return np.zeros((rows, width), dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype, rows * width).reshape(rows, width)


class Scratch(threading.local):
    """One matrix for each thread and type that the machines of a fit write over, one by one."""

    def __init__(self) -> None:
        self._held: dict[np.dtype[Any], NDArray[Any]] = {}

    def matrix(self, rows: int, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a matrix with any finite content; the one returned before is lost."""
        held = self._held.get(dtype)
        if held is None or held.size < rows * width:
            held = self._held[dtype] = allocate(1, rows * width, dtype)[0]
        return held[: rows * width].reshape(rows, width)
