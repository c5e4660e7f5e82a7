"""What has been measured, kept in one file that grows from run to run."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .judge import Task


@dataclass
class Book:
    """Records of all runs.

    Attributes
    ----------
    bounds : dict
        The largest dual objective known of each problem, recomputed by the judge.
    forms : dict
        The storage in which a library is faster on a set.
    records : list
        A record of each fit.
    """

    bounds: dict[str, float] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path) -> "Book":
        """Return what a file holds, or an empty book."""
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else cls()

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(vars(self), indent=1) + "\n", encoding="utf-8")
        unfinished.replace(path)

    def forget(self, task: Task, rival: str, threads: int) -> None:
        """Drop what an earlier comparison measured."""
        self.records = [r for r in self.records if whose(r) != (task, rival, threads)]

    def raise_bound(self, task: Task, value: float) -> None:
        self.bounds[task.key] = max(value, self.bounds.get(task.key, value))


def whose(record: dict[str, Any]) -> tuple[Task, str, int]:
    """Return problem, library and threads of a record."""
    return task_of(record), record["rival"], record["threads"]


def task_of(record: dict[str, Any]) -> Task:
    return Task(record["set"], record["loss"], record["C"])
