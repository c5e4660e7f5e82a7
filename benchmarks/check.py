"""Whether a change made training slower: ``make bench-check BASE=revision``.

The sources of the revision are built in a temporary folder, and both versions fit a few sets in
turns, in fresh processes. Slower by more than the allowed share on any set is a failure; since a
busy machine can do that too, a slow set is measured a second time before it counts.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import datasets
from .agreement import differences
from .certificate import Quality
from .report import table
from .rivals import OURS
from .run import cores_for, listed
from .runs import ROOT, Runner
from .worker import Request

SETS = ["digits", "overlapping", "indicators"]
SETS_OF_FILES = ["satimage", "usps", "ijcnn1"]
ALLOWED = 1.15
THREADS = 2


@dataclass(frozen=True)
class Outcome:
    """Least seconds of both versions on one set, and signs that they solved different problems."""

    set: str
    before: float
    now: float
    differences: list[str]

    @property
    def ratio(self) -> float:
        """How many times as long the present version takes."""
        return self.now / self.before


def build(revision: str, folder: Path) -> Path:
    """Build a revision; return the folder from which it can be imported."""
    tree, target = folder / "tree", folder / "packages"
    tree.mkdir()
    # An export leaves the repository as it is; a second work tree would have to be taken back.
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE)
    if archive.returncode:
        raise SystemExit(f"BASE={revision} is no revision of this repository")
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options]
    subprocess.run([*install, str(tree)], check=True)
    return target


def fit(runner: Runner, request: Request, path: Path | None) -> dict[str, Any]:
    result = runner.judged(request, str(path) if path else None)
    if "fit_seconds" not in result:
        raise SystemExit(f"a fit did not finish: {result.get('error', 'over the limit')}")
    inside = path is not None and Path(result["module"]).is_relative_to(path)
    if inside != (path is not None):
        raise SystemExit(
            f"{result['module']} was measured instead of the revision in {path}; an editable "
            "installation hides it, use an environment without one"
        )
    return result


def compare(name: str, data: Path | None, base: Path, runner: Runner, repeats: int) -> Outcome:
    """Fit one set with both versions in turns."""
    dataset = datasets.TABLE[name]
    file = datasets.cached(name, data)
    threads = min(THREADS, len(cores_for(THREADS)))
    request = Request(
        OURS, str(file), "dense", dataset.C, dataset.gamma, cores_for(threads), threads,
        predict=False,
    )  # fmt: skip
    runs: dict[Path | None, list[dict[str, Any]]] = {base: [], None: []}
    for attempt in range(2):
        for repeat in range(repeats):
            for path in (base, None) if repeat % 2 else (None, base):
                runs[path].append(fit(runner, request, path))
        before, now = (min(run["fit_seconds"] for run in runs[path]) for path in (base, None))
        if now <= ALLOWED * before or attempt:
            break
    qualities = [runs[path][0]["quality"] for path in (None, base)]
    ours, theirs = (Quality(**{k: q[k] for k in q if k != "gap"}) for q in qualities)
    return Outcome(name, before, now, differences(ours, theirs))


def text(revision: str, outcomes: Sequence[Outcome]) -> str:
    rows = [["set", f"{revision} (s)", "now (s)", "now / then", "verdict"]]
    for outcome in outcomes:
        verdict = "slower" if outcome.ratio > ALLOWED else "fine"
        verdict = "; ".join(outcome.differences) or verdict
        rows.append(
            [outcome.set, f"{outcome.before:.4f}", f"{outcome.now:.4f}",
             f"{outcome.ratio:.2f}", verdict]
        )  # fmt: skip
    return table(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description=__doc__)
    parser.add_argument("base", help="the revision to compare with")
    parser.add_argument("--data", type=Path, help="folder of the published data sets")
    parser.add_argument("--sets", type=listed, help="names, with commas between them")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--patience", type=float, default=20, help="seconds to wait for quiet")
    given = parser.parse_args(arguments)
    sets = given.sets or SETS + (SETS_OF_FILES if given.data else [])
    runner = Runner(given.patience)
    with tempfile.TemporaryDirectory(prefix="widemargin-base-") as folder:
        base = build(given.base, Path(folder))
        outcomes = [compare(name, given.data, base, runner, given.repeats) for name in sets]
    sys.stdout.write(text(given.base, outcomes) + "\n")
    return int(any(o.ratio > ALLOWED or o.differences for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
