"""From records of fits to times, ratios and goals."""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..goals import FILE
from ..report import geometric_mean, table, unique
from .judge import Task, excess
from .record import Book, task_of
from .rivals import OURS, RIVALS

GAPS = (1e-3, 1e-6)
ROUNDING = 1e-10  # what two ways of summing an objective may differ by
STATISTICS = {"geometric mean": geometric_mean, "least": min}


@dataclass(frozen=True)
class Time:
    """Least seconds to a gap; a lower bound where the library never came so near."""

    seconds: float
    reached: bool

    def __str__(self) -> str:
        return f"{'' if self.reached else '> '}{self.seconds:.3g}"


def time_to(book: Book, task: Task, rival: str, threads: int, gap: float) -> Time | None:
    """Return the least time in which a library came within `gap` of the lower bound."""
    wanted = threads if RIVALS[rival].parallel else 1
    runs = [
        r
        for r in book.records
        if (r["rival"], r["threads"]) == (rival, wanted) and task_of(r) == task
    ]
    enough = [r["seconds"] for r in runs if "primal" in r and near(book, r) <= gap + ROUNDING]
    if enough:
        return Time(min(enough), True)
    spent = [r.get("seconds", r.get("limit", 0.0)) for r in runs]
    return Time(float(max(spent)), False) if spent else None


def near(book: Book, record: dict[str, Any]) -> float:
    """Return how far a fit's objective is above the largest lower bound known.

    A library that tells dual variables has to prove it by its own bound.
    """
    return excess(record["primal"], record.get("dual", book.bounds[task_of(record).key]))


def ratio(book: Book, task: Task, rival: str, threads: int, gap: float) -> float | None:
    """Return how many times faster than a rival we are; a lower bound if it never got there."""
    ours, theirs = (time_to(book, task, name, threads, gap) for name in (OURS, rival))
    if ours is None or theirs is None or not ours.reached or not theirs.seconds:
        return None
    return theirs.seconds / ours.seconds


def tasks(book: Book) -> list[Task]:
    return unique(task_of(record) for record in book.records)


def threads(book: Book) -> list[int]:
    return sorted(unique(record["threads"] for record in book.records))


def faults(book: Book) -> list[str]:
    """Return where we missed the gap that we were asked for, by the judge's own sums."""
    found = []
    for record in book.records:
        if record["rival"] != OURS or "error" in record:
            if "error" in record:
                found.append(f"{record['rival']} on {task_of(record).key}: {record['error']}")
            continue
        if "primal" not in record:
            found.append(f"{task_of(record).key}: not finished within {record['limit']} s")
            continue
        gap = excess(record["primal"], record["dual"])
        if gap > record["tolerance"] * (1 + 1e-6) + ROUNDING:
            found.append(
                f"{task_of(record).key}: gap {gap:.1e} where {record['tolerance']:g} was asked for"
            )
    return unique(found)


# --- goals ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Goal:
    """One entry ``[[linear]]`` of goals.toml; the fields are explained there."""

    name: str
    threads: int
    at_least: float
    against: str = ""
    statistic: str = "least"
    gaps: tuple[float, ...] = GAPS
    sets: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    C: tuple[float, ...] = ()

    def _counts(self, task: Task) -> bool:
        asked = ((self.sets, task.set), (self.losses, task.loss), (self.C, task.C))
        return task.set != "indicators" and all(not some or own in some for some, own in asked)

    def values(self, book: Book) -> list[float]:
        """Return the ratio of each problem and gap that counts and was measured."""
        found = []
        for task in filter(self._counts, tasks(book)):
            for gap in self.gaps:
                ours = time_to(book, task, OURS, self.threads, gap)
                if self.against == "seconds":
                    value = None if ours is None or not ours.reached else 1.0 / ours.seconds
                elif self.against == "one thread":
                    one = time_to(book, task, OURS, 1, gap)
                    value = one.seconds / ours.seconds if one and ours else None
                else:
                    value = ratio(book, task, self.against, self.threads, gap)
                found += [] if value is None else [value]
        return found


def goals() -> list[Goal]:
    """Return the goals of linear machines."""
    lists = ("gaps", "sets", "losses", "C")
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))["linear"]
    return [
        Goal(**{k: tuple(v) if k in lists else v for k, v in entry.items()}) for entry in entries
    ]


# --- text ----------------------------------------------------------------------------------------


def line(record: dict[str, Any], bound: float) -> str:
    """Tell of one fit as soon as it is over."""
    name = f"{record['rival']} {record['variant']}".strip()
    head = f"{task_of(record).key:32} {name:18} {record['threads']} threads  "
    if "error" in record:
        return head + record["error"]
    if "limit" in record:
        return head + f"stopped at {record['limit']} s"
    gap = excess(record["primal"], bound)
    return head + f"{record['tolerance']:8.0e} {record['seconds']:9.3f} s  above bound {gap:.1e}"


def markdown(book: Book) -> str:
    """Return the report."""
    parts = [
        "# Linear machines: seconds to a relative gap\n\nThe least of the repeats; `>` where a "
        "library stopped, or was stopped, before it came so near; in brackets how many times "
        "longer than ours."
    ]
    for count in threads(book):
        for gap in GAPS:
            title = f"## Gap {gap:g}, {count} thread{'s' * (count > 1)}\n\n"
            parts.append(title + time_table(book, count, gap))
    wrong = faults(book)
    parts.append("## Faults\n\n" + ("\n".join(f"- {w}" for w in wrong) if wrong else "None."))
    parts.append("## Goals\n\n" + goal_table(book))
    return "\n\n".join(parts) + "\n"


def time_table(book: Book, count: int, gap: float) -> str:
    present = unique(record["rival"] for record in book.records)
    rivals = [name for name in RIVALS if name != OURS and name in present]
    rows = [["set, loss, C", OURS, *rivals]]
    ratios: dict[str, list[float]] = {name: [] for name in rivals}
    for task in tasks(book):
        ours = time_to(book, task, OURS, count, gap)
        row = [task.key, str(ours) if ours else ""]
        for name in rivals:
            theirs, value = time_to(book, task, name, count, gap), None
            if theirs is not None:
                value = ratio(book, task, name, count, gap)
            ratios[name] += [] if value is None else [value]
            text = "" if theirs is None else str(theirs)
            row.append(text + (f" ({value:.2f})" if value is not None else ""))
        rows.append(row)
    means = [f"({geometric_mean(r):.2f})" if r else "" for r in ratios.values()]
    return table([*rows, ["geometric mean", "", *means]])


def goal_table(book: Book) -> str:
    rows = [["goal", "asked", "measured", "verdict", "problems and gaps"]]
    for goal in goals():
        values: Sequence[float] = goal.values(book)
        value = STATISTICS[goal.statistic](values) if values else math.nan
        verdict = "reached" if value >= goal.at_least else "missed" if values else "not measured"
        measured = f"{value:.2f}" if values else ""
        asked = f"{goal.statistic} >= {goal.at_least:g}"
        rows.append([goal.name, asked, measured, verdict, str(len(values))])
    return table(rows)
