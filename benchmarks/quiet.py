"""Waiting for a machine that does nothing else.

The load average remembers for minutes what ran before, our own last run included, so the
processor times of the kernel are read twice, a moment apart.
"""

import os
import time
from pathlib import Path

MOMENT = 0.5
QUIET = 0.15  # busy cores


def busy_cores(moment: float = MOMENT) -> float:
    """Return how many cores other work keeps busy, measured over a moment."""
    before = processor_times()
    if before is None:
        return os.getloadavg()[0]
    time.sleep(moment)
    after = processor_times()
    total, idle = (late - early for late, early in zip(after, before, strict=True))
    return (os.cpu_count() or 1) * (1.0 - idle / total) if total > 0 else 0.0


def processor_times() -> tuple[float, float] | None:
    """Return all ticks so far and the idle ones, or None where the system does not tell."""
    try:
        words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    except OSError:
        return None
    ticks = [float(word) for word in words[1:9]]  # user nice system idle iowait irq softirq steal
    return sum(ticks), ticks[3] + ticks[4]


def wait_until_quiet(limit: float) -> float:
    """Wait for a quiet machine, at most `limit` seconds; return the busy cores found last."""
    end = time.monotonic() + limit
    while (busy := busy_cores()) > QUIET and time.monotonic() < end:
        time.sleep(1.0)
    return busy
