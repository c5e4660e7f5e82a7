"""The goals of goals.toml, and which of them a comparison reaches."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .datasets import PUBLISHED
from .report import Comparison, geometric_mean, table

FILE = Path(__file__).with_name("goals.toml")
PUBLISHED_NAMES = [dataset.name for dataset in PUBLISHED]
STATISTICS = {"geometric mean": geometric_mean, "least": min}


@dataclass(frozen=True)
class Goal:
    """One entry of goals.toml; the fields are explained there."""

    name: str
    measure: str
    threads: int
    against: str
    statistic: str
    at_least: float
    sets: tuple[str, ...] = ()
    rival_needs: float = 0.0

    def ratios(self, items: Sequence[Comparison]) -> dict[str, float]:
        """Return the ratio on each set that counts and was measured."""
        result = {}
        for item in items:
            if item.threads != self.threads or item.set not in (self.sets or PUBLISHED_NAMES):
                continue
            if self.against == "fastest":
                ratio = item.fastest_ratio(self.measure)
            else:
                ratio = item.ratio(self.against, self.measure)
                entry = item.entries.get(self.against)
                if entry and entry.seconds.get(self.measure, 0.0) < self.rival_needs:
                    continue
            if ratio is not None:
                result[item.set] = ratio
        return result


@dataclass(frozen=True)
class Outcome:
    """What was measured for a goal; `value` is None if nothing was."""

    goal: Goal
    value: float | None
    sets: tuple[str, ...]

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        return "reached" if self.value >= self.goal.at_least else "missed"


def read(file: Path = FILE) -> list[Goal]:
    """Return the goals of a file."""
    goals = []
    for entry in tomllib.loads(file.read_text(encoding="utf-8"))["goal"]:
        goals.append(Goal(**(entry | {"sets": tuple(entry.get("sets", ()))})))
    return goals


def check(items: Sequence[Comparison], goals: Sequence[Goal] | None = None) -> list[Outcome]:
    """Return the outcome of each goal."""
    outcomes = []
    for goal in read() if goals is None else goals:
        ratios = goal.ratios(items)
        value = STATISTICS[goal.statistic](list(ratios.values())) if ratios else None
        outcomes.append(Outcome(goal, value, tuple(ratios)))
    return outcomes


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Return a table of goals."""
    rows = [["goal", "asked", "measured", "verdict", "sets"]]
    for outcome in outcomes:
        measured = "" if outcome.value is None else f"{outcome.value:.2f}"
        asked = f"{outcome.goal.statistic} >= {outcome.goal.at_least:g}"
        rows.append([outcome.goal.name, asked, measured, outcome.verdict, ", ".join(outcome.sets)])
    return "## Goals\n\n" + table(rows) + "\n"


def single(command: str, measured: dict[str, float], file: Path = FILE) -> str:
    """Return a table of the goals of a command that measures one number for each."""
    rows = [["goal", "asked", "measured", "verdict"]]
    for entry in tomllib.loads(file.read_text(encoding="utf-8"))["single"]:
        if entry["command"] != command:
            continue
        name, least, value = entry["measure"], entry["at_least"], measured.get(entry["measure"])
        verdict = "not measured" if value is None else "reached" if value >= least else "missed"
        found = "" if value is None else f"{value:.2f}"
        rows.append([name, f">= {least:g}", found, verdict])
    return "## Goals\n\n" + table(rows) + "\n"
