"""The comparison of linear machines: ``python -m benchmarks.linear --data FOLDER``.

Each problem is solved by each library in turns, in fresh processes on pinned cores, at ever smaller
tolerances of its own. What counts is the least time of a fit whose objective is within the asked
share of the largest lower bound known. Records are kept in one file, so that the comparison can be
made in pieces; the report is about all of them.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..quiet import wait_until_quiet
from ..run import cores_for, listed
from ..runs import LOADING, ROOT
from ..worker import environment
from . import report, sets
from .judge import POWERS, Task
from .record import Book
from .rivals import OURS, RIVALS
from .worker import Request

DEFAULT_OUT = Path("build/benchmarks/linear.json")
REFERENCE_GAP = 1e-8
REFERENCE_LIMIT = 600


@dataclass(frozen=True)
class Plan:
    """What to compare."""

    data: Path | None
    tasks: Sequence[Task]
    rivals: Sequence[str]
    threads: Sequence[int]
    repeats: int
    limit: int
    patience: float
    target: float


class Comparison:
    """Runs a plan and keeps its records in a book."""

    def __init__(self, plan: Plan, book: Book, out: Path) -> None:
        self.plan, self.book, self.out = plan, book, out

    def run(self) -> None:
        for task in self.plan.tasks:
            self._reference(task)
            entrants = list(self._entrants(task))
            for rival, threads in entrants:
                self.book.forget(task, rival, threads)
            out_of_time: set[tuple[str, int, str]] = set()
            for repeat in range(self.plan.repeats):
                for turn in range(len(entrants)):
                    rival, threads = entrants[(turn + repeat) % len(entrants)]
                    self._compete(task, rival, threads, repeat, out_of_time)
                self.book.save(self.out)

    def _entrants(self, task: Task) -> Iterator[tuple[str, int]]:
        for name in self.plan.rivals:
            kind = RIVALS[name]
            if task.loss in kind.losses:
                yield from ((name, t) for t in (self.plan.threads if kind.parallel else [1]))

    def _reference(self, task: Task) -> None:
        """Find a lower bound of the objective, once for all runs of a problem."""
        if task.key in self.book.bounds:
            return
        request = replace(
            self._request(task, OURS, "", len(cores_for(2))),
            tolerance=REFERENCE_GAP,
            limit=REFERENCE_LIMIT,
        )
        for found in self._process(request):
            if "dual" in found:
                self.book.raise_bound(task, found["dual"])
        if task.key not in self.book.bounds:
            raise SystemExit(f"no lower bound of {task.key} within {REFERENCE_LIMIT} seconds")
        self.book.save(self.out)

    def _compete(
        self, task: Task, rival: str, threads: int, repeat: int, out_of_time: set[Any]
    ) -> None:
        for variant in RIVALS[rival]().variants(task):
            if (rival, threads, variant) in out_of_time:
                continue
            request = self._request(task, rival, variant, threads)
            request = replace(
                request, bound=self.book.bounds[task.key], target=self.plan.target
            )  # fmt: skip
            for found in self._process(request):
                head = {"set": task.set, "loss": task.loss, "C": task.C, "rival": rival}
                head |= {"variant": variant, "threads": threads, "repeat": repeat}
                record = head | {"form": request.form} | found
                if "limit" in found or "error" in found:
                    out_of_time.add((rival, threads, variant))
                if "dual" in found:
                    self.book.raise_bound(task, found["dual"])
                self.book.records.append(record)
                sys.stderr.write(report.line(record, self.book.bounds[task.key]) + "\n")

    def _request(self, task: Task, rival: str, variant: str, threads: int) -> Request:
        data = sets.cached(task.set, self.plan.data)
        form = self._form(task, rival, data)
        return Request(
            rival, variant, str(data), form, task.set, task.loss, task.C, cores_for(threads),
            limit=self.plan.limit,
        )  # fmt: skip

    def _form(self, task: Task, rival: str, data: Path) -> str:
        """Return the storage in which a library is faster on a set, at its coarsest tolerance."""
        key, choice = f"{rival} {task.set}", sets.forms(data, RIVALS[rival].forms)
        if key not in self.book.forms and len(choice) > 1:
            adapter, seconds = RIVALS[rival](), {}
            easy = Task(task.set, "hinge", 1.0)
            variant = adapter.variants(easy)[0]
            coarsest = next(adapter.tolerances(variant))
            for form in choice:
                request = Request(
                    rival, variant, str(data), form, easy.set, easy.loss, easy.C, cores_for(1),
                    tolerance=coarsest, limit=self.plan.limit,
                )  # fmt: skip
                times = [found.get("seconds", float("inf")) for found in self._process(request)]
                seconds[form] = min(times)
            self.book.forms[key] = min(seconds, key=seconds.__getitem__)
        return self.book.forms.get(key, choice[0])

    def _process(self, request: Request) -> list[dict[str, Any]]:
        """Run a request; the last record tells of a limit or an error."""
        busy = round(wait_until_quiet(self.plan.patience), 2)
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.linear.worker"],
            input=request.to_json(),
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=os.environ | environment(len(request.cores)),
            timeout=20 * request.limit + LOADING,
            check=False,
        )
        lines = [json.loads(s) for s in process.stdout.splitlines() if s.startswith("{")]
        found: list[dict[str, Any]] = [{"busy": busy} | values for values in lines]
        if process.returncode == -14:
            found.append({"busy": busy, "limit": request.limit})
        elif process.returncode != 0:
            reason = process.stderr.strip().rpartition("\n")[2] or str(process.returncode)
            found.append({"busy": busy, "error": reason})
        return found


def read_arguments(arguments: Sequence[str] | None) -> tuple[Plan, Path]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the published data sets")
    parser.add_argument("--sets", type=listed, help="names, with commas between them")
    parser.add_argument("--losses", type=listed, default=list(POWERS))
    parser.add_argument("--C", type=listed, default=["0.01", "1", "100"])
    parser.add_argument("--rivals", type=listed, default=list(RIVALS))
    parser.add_argument("--threads", type=listed, default=["1", "2"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit-seconds", type=int, default=60, help="for each fit")
    parser.add_argument("--target", type=float, default=1e-6, help="the smallest gap to reach")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for quiet")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="a .json file that grows")
    parser.add_argument("--report", action="store_true", help="only write the report anew")
    given = parser.parse_args(arguments)
    names = given.sets or (sets.PUBLISHED if given.data else ["indicators"])
    known = ((names, sets.SETS), (given.rivals, RIVALS), (given.losses, POWERS))
    for asked, table in known:
        if unknown := sorted(set(asked) - set(table)):
            parser.error(f"{', '.join(unknown)} is not known; choose from {', '.join(table)}")
    rivals = [name for name in given.rivals if RIVALS[name].available()]
    for name in set(given.rivals) - set(rivals):
        sys.stderr.write(f"{name} is not installed and is left out\n")
    tasks = [Task(s, loss, float(C)) for s in names for loss in given.losses for C in given.C]
    plan = Plan(
        given.data, [] if given.report else tasks, rivals, [int(t) for t in given.threads],
        given.repeats, given.limit_seconds, given.patience, given.target,
    )  # fmt: skip
    return plan, given.out


def main(arguments: Sequence[str] | None = None) -> int:
    plan, out = read_arguments(arguments)
    book = Book.open(out)
    Comparison(plan, book, out).run()
    text = report.markdown(book)
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    sys.stdout.write(text + f"\nWritten: {out}, {out.with_suffix('.md')}\n")
    return int(bool(report.faults(book)))


if __name__ == "__main__":
    sys.exit(main())
