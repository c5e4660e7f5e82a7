"""How many cores and how much memory this process may use."""

import os
from math import inf
from numbers import Real

from ... import _core

__all__ = ["available_memory", "memory_budget", "thread_count"]

LONGEST = 4096  # bytes that are read of a file of the system


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for an ``n_jobs`` argument.

    None means every core the process may use: the affinity mask, the container's quota, and the
    limits set by threadpoolctl, joblib or OMP_NUM_THREADS are all respected. Negative numbers
    count from that many cores, as in scikit-learn: -1 means all.
    """
    usable = max(1, min(_core.thread_limit(), _affinity(), _quota()))
    if n_jobs is None:
        return usable
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use None for all usable cores")
    return n_jobs if n_jobs > 0 else max(1, usable + 1 + n_jobs)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota() -> int:
    """Return the whole cores of the cgroup's processor quota, or a large number without one."""
    words = _read("/sys/fs/cgroup/cpu.max").split()
    if len(words) == 2 and words[0] != "max":
        return max(1, -(-int(words[0]) // int(words[1])))
    return 1 << 20


def available_memory() -> int:
    """Return the bytes that can be allocated without swapping, as far as the system tells."""
    free = _meminfo_available()
    limit, used = _read("/sys/fs/cgroup/memory.max"), _read("/sys/fs/cgroup/memory.current")
    if limit.strip().isdigit() and used.strip().isdigit():
        free = min(free, max(0, int(limit) - int(used)))
    return free


def _meminfo_available() -> int:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return 4 << 30


def _read(path: str) -> str:
    try:
        file = os.open(path, os.O_RDONLY)  # a tenth of the time of a file object
    except OSError:
        return ""
    try:
        return os.read(file, LONGEST).decode("ascii")
    except OSError:
        return ""
    finally:
        os.close(file)


_UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


def memory_budget(memory_limit: int | float | str | None) -> int:
    """Return the bytes that a fit may allocate beyond its data.

    Parameters
    ----------
    memory_limit : int, float, str or None
        Bytes, or a text such as "500MB" or "2GiB"; None takes half of what is free.
    """
    if memory_limit is None:
        return available_memory() // 2
    if isinstance(memory_limit, str):
        text = memory_limit.strip().upper().replace(" ", "")
        number = text.rstrip("KMGTIB")
        unit = text[len(number) :]
        try:
            return _positive(float(number) * _UNITS[unit], memory_limit)
        except (ValueError, KeyError):
            raise ValueError(
                f"memory_limit={memory_limit!r} is not a size; "
                "give bytes as a number or a text such as '500MB' or '2GiB'"
            ) from None
    return _positive(memory_limit, memory_limit)


def _positive(size: float, found: object) -> int:
    if not isinstance(size, Real) or isinstance(size, bool) or not 0 < size < inf:
        raise ValueError(f"memory_limit must be a positive number of bytes, found {found!r}")
    return int(size)
