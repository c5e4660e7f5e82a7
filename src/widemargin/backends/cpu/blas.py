"""One thread for small matrices.

The linear algebra library wakes its threads for any product or factor. On matrices of some hundred
rows that saves nothing, and where the cores are busy, because other fits or other programs run,
waiting for one another takes them a hundred times as long as the work.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["threads_for"]

SMALL = 600  # rows of a matrix that one thread factors as fast as several


class _OneThread:
    """Keeps the library to one thread while somebody is inside; several threads may be."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._libraries: ThreadpoolController | None = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                if self._libraries is None:
                    self._libraries = ThreadpoolController()
                self._limit = self._libraries.limit(limits=1, user_api="blas")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_one_thread = _OneThread()


def threads_for(rows: int) -> AbstractContextManager[None]:
    """Surround linear algebra on matrices of so many rows with the threads that it deserves."""
    return _one_thread if rows <= SMALL else nullcontext()
