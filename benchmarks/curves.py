"""Curves of training time: ``python -m benchmarks.curves --data FOLDER --sets a9a``.

Time against the gap reached, for tolerances of each library from loose to tight, and time against
the number of rows learnt from, for one thread and for two. Runs are those of `benchmarks.run`:
fresh processes, pinned cores, each fit judged in float64.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import datasets
from .plot import STYLES
from .report import unique
from .rivals import OURS, RIVALS
from .run import cores_for, listed
from .runs import Kept, Runner
from .worker import Request

DEFAULT_OUT = Path("build/benchmarks/curves.json")
SETS = ["a9a"]
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
TOLERANCE = 1e-3  # of the runs with fewer rows
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of the rows; all of them are among the tolerances


@dataclass(frozen=True)
class Curve:
    """How the axis of a curve is called, and where its runs stand on it."""

    title: str
    label: str
    field: str


GAP = Curve("time against gap", "relative duality gap", "gap")
ROWS = Curve("time against rows", "rows learnt from", "rows")


def requests(name: str, rivals: Sequence[str], data: Path | None, limit: int) -> Iterator[Request]:
    """Yield the runs of one set: every tolerance on all rows, one tolerance on fewer rows."""
    dataset = datasets.TABLE[name]
    file = datasets.cached(name, data)
    rows = datasets.load(file).y.size
    for rival in rivals:
        for threads in (1, 2) if RIVALS[rival].parallel else (1,):
            whole = Request(
                rival, str(file), "csr", dataset.C, dataset.gamma, cores_for(threads), threads,
                limit=limit, predict=False,
            )  # fmt: skip
            for tol in TOLERANCES:
                yield replace(whole, tol=tol)
            for share in SHARES:
                yield replace(whole, rows=int(share * rows), tol=TOLERANCE)


def measured(name: str, request: Request, runner: Runner) -> dict[str, Any]:
    """Return the record of one run, in the storage that suits the library better."""
    form = runner.better_form(replace(request, threads=1, cores=cores_for(1), rows=None))
    result = runner.judged(replace(request, form=form))
    rows = request.rows or datasets.load(Path(request.data)).y.size
    record = {"set": name, "rival": request.rival, "threads": request.threads, "form": form}
    return record | {"tol": request.tol, "rows": rows, "all_rows": request.rows is None} | result


def points(records: Sequence[dict[str, Any]], curve: Curve) -> list[tuple[float, float]]:
    """Return where the finished runs of one library and number of threads stand on a curve."""
    found = []
    for record in records:
        on_curve = record["all_rows"] if curve is GAP else record["tol"] == TOLERANCE
        if on_curve and "fit_seconds" in record and "quality" in record:
            place = record["quality"]["gap"] if curve is GAP else record["rows"]
            found.append((float(place), float(record["fit_seconds"])))
    return sorted(found)


def draw(records: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw a row of panels for each set: each curve for one thread and for two."""
    from matplotlib.figure import Figure

    sets = unique(record["set"] for record in records)
    figure = Figure(figsize=(15, 4 * len(sets)), dpi=120, layout="constrained")
    grid = figure.subplots(len(sets), 4, sharey="row", squeeze=False)
    for line, name in zip(grid, sets, strict=True):
        panels = [(curve, threads) for curve in (GAP, ROWS) for threads in (1, 2)]
        for axes, (curve, threads) in zip(line, panels, strict=True):
            panel(axes, [r for r in records if r["set"] == name], curve, threads)
            noun = "thread" if threads == 1 else "threads"
            axes.set_title(f"{name}: {curve.title}, {threads} {noun}", loc="left", fontsize=10)
        line[0].set_ylabel("seconds to fit")
    grid[0][0].legend(frameon=False)
    figure.savefig(path)


def panel(axes: Any, records: Sequence[dict[str, Any]], curve: Curve, threads: int) -> None:
    for rival in RIVALS:
        wanted = threads if RIVALS[rival].parallel else 1
        runs = [r for r in records if (r["rival"], r["threads"]) == (rival, wanted)]
        if found := points(runs, curve):
            colour, mark = STYLES[rival]
            axes.plot(*zip(*found, strict=True), marker=mark, color=colour, label=rival)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(curve.label)
    if curve is GAP:
        axes.invert_xaxis()  # to the right means more exact
    axes.grid(True, color="#e5e5e5")
    axes.spines[["top", "right"]].set_visible(False)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the published data sets")
    parser.add_argument("--sets", type=listed, default=SETS)
    parser.add_argument("--rivals", type=listed, default=[r for r in RIVALS if r != OURS])
    parser.add_argument("--limit-seconds", type=int, default=300, help="for each fit")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for quiet")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="a .json file")
    parser.add_argument("--resume", action="store_true", help="go on with the runs of --out")
    given = parser.parse_args(arguments)
    rivals = [OURS, *(r for r in given.rivals if r != OURS and RIVALS[r].available())]
    kept = Kept(given.out.with_suffix(".runs"), resume=given.resume)
    runner, records = Runner(given.patience, kept), []
    for name in given.sets:
        for request in requests(name, rivals, given.data, given.limit_seconds):
            records.append(measured(name, request, runner))
            sys.stderr.write(f"{records[-1]}\n")
    given.out.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    draw(records, given.out.with_suffix(".png"))
    sys.stdout.write(f"Written: {given.out}, {given.out.with_suffix('.png')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
