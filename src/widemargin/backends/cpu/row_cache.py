"""Kernel rows kept in memory, as many as the budget allows; the rest is computed again."""

import time

import numpy as np
from numpy.typing import NDArray

from ... import _core
from .memory import HUGE_PAGE, allocate
from .sources import Source

__all__ = ["RowCache"]

Ids = NDArray[np.int64]

SECONDS_PER_FILL = 0.1
PATIENCE = 6  # rounds after which an unused row may make place although memory is left
DEAR = 1.5  # a fresh row is dear if it takes so many times as long as one written over an old one


class RowCache:
    """Rows of one source, by row number; the least recently used make place for new ones.

    Memory that the process has never touched may cost several times more than the kernel values
    that go there (the system must find and clear it). So both are measured, and where fresh memory
    is dear, rows not used for a few rounds are written over before new memory is taken.
    """

    def __init__(self, source: Source, data_rows: int, slots: int) -> None:
        self.source = source
        self.width = _core.padded(source.columns.size)
        self.arena = allocate(slots, self.width, source.dtype)
        self.slot_of = np.full(data_rows, -1, dtype=np.int64)
        self.owner = np.full(slots, -1, dtype=np.int64)
        self.last_use = np.zeros(slots, dtype=np.int64)
        self.clock = 0
        self.used = 0
        self.rows_at_once = 32
        self.fresh_time = self.reuse_time = float("inf")  # seconds a row, best seen

    def missing(self, ids: Ids) -> Ids:
        """Return those of the rows that are not in memory."""
        return ids[self.slot_of[ids] < 0]

    def slots(self, ids: Ids) -> Ids:
        """Return where the rows lie; all must be present."""
        return self.slot_of[ids]

    def load_some(self, ids: Ids) -> bool:
        """Compute some of the missing rows, a tenth of a second's worth; say if any remain."""
        self.clock += 1
        present = self.slot_of[ids]
        self.last_use[present[present >= 0]] = self.clock
        wanted = ids[present < 0]
        now = wanted[: self.rows_at_once]
        if now.size:
            used = self.used
            slots = self._claim(now)
            began = time.perf_counter()
            self.source.rows_into(now, self.arena, slots)
            per_row = max(time.perf_counter() - began, 1e-7) / now.size
            if now.size >= 16 and self.used == used:
                self.reuse_time = min(self.reuse_time, per_row)
            elif now.size >= 16 and self.used - used == now.size:
                self.fresh_time = per_row
            self.rows_at_once = max(1, min(int(SECONDS_PER_FILL / per_row), 8 * now.size + 32))
        return wanted.size > now.size

    def _claim(self, ids: Ids) -> Ids:
        """Give each row a slot: an unused one first, then those used longest ago."""
        fresh = min(ids.size, self.owner.size - self.used)
        if self._fresh_is_dear():
            idle = int(np.count_nonzero(self.last_use[: self.used] < self.clock - PATIENCE))
            fresh = min(fresh, max(0, ids.size - idle))
        slots = np.arange(self.used, self.used + fresh)
        self.used += fresh
        if fresh < ids.size:
            need = ids.size - fresh
            oldest = np.argpartition(self.last_use[: self.used - fresh], need - 1)[:need]
            self.slot_of[self.owner[oldest]] = -1
            slots = np.concatenate([slots, oldest])
        self.owner[slots] = ids
        self.slot_of[ids] = slots
        self.last_use[slots] = self.clock
        return slots

    def _fresh_is_dear(self) -> bool:
        """Say whether to write over idle rows; once many rows are held, one fill finds out."""
        if not np.isfinite(self.reuse_time):
            return self.used * self.width * self.arena.itemsize > 64 * HUGE_PAGE
        return self.fresh_time > DEAR * self.reuse_time

    def inherit(self, other: "RowCache", ids: Ids, columns: Ids, threads: int) -> None:
        """Take over rows that another cache holds, keeping only some of its columns."""
        held = ids[other.slot_of[ids] >= 0]
        recent = np.argsort(other.last_use[other.slot_of[held]], kind="stable")[::-1]
        held = held[recent[: self.owner.size]]
        slots = self._claim(held)
        targets = np.arange(columns.size)
        _core.gather_block(
            other.arena, other.slot_of[held], columns, targets, self.arena[slots[0] :], threads
        ) if held.size else None
