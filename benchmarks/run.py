"""The comparison: ``python -m benchmarks.run --data FOLDER``.

Each set is fitted by each library in turns, every time in a fresh process on pinned cores, with a
pause until the machine is quiet. Ratios are shown only where `agreement` finds no fault.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import datasets, goals, plot, report
from .rivals import OURS, RIVALS
from .runs import Kept, Runner
from .worker import Request

DEFAULT_OUT = Path("build/benchmarks/result.json")


@dataclass(frozen=True)
class Plan:
    """What to compare."""

    data: Path | None
    sets: Sequence[str]
    rivals: Sequence[str]
    threads: Sequence[int]
    repeats: int
    limit: int
    patience: float


def listed(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def read_arguments(arguments: Sequence[str] | None) -> tuple[Plan, Path, bool]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    published = [dataset.name for dataset in datasets.PUBLISHED]
    parser.add_argument("--data", type=Path, help="folder of the published data sets")
    parser.add_argument("--sets", type=listed, help="names, with commas between them")
    parser.add_argument("--rivals", type=listed, default=[r for r in RIVALS if r != OURS])
    parser.add_argument("--threads", type=listed, default=["1", "2"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit-seconds", type=int, default=300, help="for each fit")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for quiet")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="a .json file")
    parser.add_argument("--resume", action="store_true", help="go on with the runs of --out")
    given = parser.parse_args(arguments)
    sets = given.sets or (published if given.data else [d.name for d in datasets.GENERATED])
    for name, known in ((sets, datasets.TABLE), (given.rivals, RIVALS)):
        if unknown := sorted(set(name) - set(known)):
            parser.error(f"{', '.join(unknown)} is not known; choose from {', '.join(known)}")
    rivals = [OURS]
    for name in given.rivals:
        if RIVALS[name].available():
            rivals += [name] * (name != OURS)
        else:
            sys.stderr.write(f"{name} is not installed and is left out\n")
    plan = Plan(
        given.data, sets, rivals, [int(t) for t in given.threads], given.repeats,
        given.limit_seconds, given.patience,
    )  # fmt: skip
    return plan, given.out, given.resume


def compare(plan: Plan, runner: Runner) -> list[dict[str, Any]]:
    """Return a record of each run."""
    records: list[dict[str, Any]] = []
    for name in plan.sets:
        records += compare_on(name, plan, runner)
    return records


def compare_on(name: str, plan: Plan, runner: Runner) -> list[dict[str, Any]]:
    dataset = datasets.TABLE[name]
    data = str(datasets.cached(name, plan.data))
    # A library that uses one core only runs once for any number of threads.
    tasks = [
        Request(
            rival, data, "csr", dataset.C, dataset.gamma, cores_for(threads), threads,
            limit=plan.limit,
        )
        for rival in plan.rivals
        for threads in (plan.threads if RIVALS[rival].parallel else [1])
    ]  # fmt: skip
    records: list[dict[str, Any]] = []
    too_slow: set[tuple[str, int]] = set()
    for repeat in range(plan.repeats):
        for turn in range(len(tasks)):
            task = tasks[(turn + repeat) % len(tasks)]
            if (task.rival, task.threads) in too_slow:
                continue
            record = measured(name, task, repeat, runner)
            if reason := runner.give_up_form(record, task):
                records.append(record | {"discarded": reason})
                record = measured(name, task, repeat, runner)
            if record["limit"] or "error" in record:
                too_slow.add((task.rival, task.threads))
            records.append(record)
    return records


def measured(name: str, task: Request, repeat: int, runner: Runner) -> dict[str, Any]:
    form = runner.better_form(replace(task, threads=1, cores=cores_for(1)))
    record = {"set": name, "rival": task.rival, "threads": task.threads, "form": form}
    record |= {"repeat": repeat} | runner.judged(replace(task, form=form))
    sys.stderr.write(report.line(record) + "\n")
    return record


def cores_for(threads: int) -> tuple[int, ...]:
    """Return that many of the cores this process may use, the last ones first."""
    return tuple(sorted(os.sched_getaffinity(0), reverse=True)[:threads])


def main(arguments: Sequence[str] | None = None) -> int:
    plan, out, resume = read_arguments(arguments)
    kept = Kept(out.with_suffix(".runs"), resume=resume)
    records = compare(plan, Runner(plan.patience, kept))
    result = {
        "command": " ".join(["python -m benchmarks.run", *(arguments or sys.argv[1:])]),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}",
        "date": time.strftime("%Y-%m-%d"),
        "records": records,
    }
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    comparisons = report.comparisons(records)
    text = report.markdown(result, comparisons) + "\n" + goals.markdown(goals.check(comparisons))
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    plot.draw(comparisons, out.with_suffix(".png"))
    sys.stdout.write(f"\nWritten: {out}, {out.with_suffix('.md')}, {out.with_suffix('.png')}\n")
    return int(any(comparison.faults for comparison in comparisons))


if __name__ == "__main__":
    sys.exit(main())
