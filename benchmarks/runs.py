"""Starting timed runs and collecting what they say."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from . import datasets
from .agreement import unsolved
from .certificate import Expansion, Quality, certify
from .quiet import wait_until_quiet
from .rivals import RIVALS
from .worker import Request, environment

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = 4000  # rows on which the two storages are compared
LOADING = 120  # seconds for start, loading and warm-up, beyond the limits


class Kept:
    """Answers of runs, written down as soon as they are there, so that a comparison can go on.

    Parameters
    ----------
    path : Path
        A file with a line for each answer.
    resume : bool
        Whether what is there counts; otherwise the file begins anew.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path
        self._answers: dict[str, dict[str, Any]] = {}
        self._asked: Counter[str] = Counter()
        path.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            path.unlink(missing_ok=True)
        elif path.exists():
            whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
            for line in filter(None, whole.split("\n")):  # a last line without an end was cut off
                self._answers |= json.loads(line)
            path.write_text(whole + "\n" * bool(whole), encoding="utf-8")

    def answer(self, request: Request, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what the run says, or said the n-th time if it is now asked for the n-th time."""
        asked = request.to_json()
        name = f"{self._asked[asked]} {asked}"
        self._asked[asked] += 1
        if name not in self._answers:
            self._answers[name] = run()
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({name: self._answers[name]}) + "\n")
        return self._answers[name]


@dataclass
class Runner:
    """Runs requests one at a time, and judges each fit once.

    Attributes
    ----------
    patience : float
        Seconds to wait for a quiet machine before each run.
    kept : Kept or None
        Where answers are kept.
    """

    patience: float = 60.0
    kept: Kept | None = None
    _qualities: dict[tuple[str, str], Quality] = field(default_factory=dict)
    _forms: dict[tuple[str, str], str] = field(default_factory=dict)
    _given_up: set[tuple[str, str]] = field(default_factory=set)

    def run(self, request: Request, path: str | None = None) -> dict[str, Any]:
        """Return what one run measured; ``limit`` tells whether it was ended by its limit.

        Packages are looked for in the folder `path` first.
        """
        busy = wait_until_quiet(self.patience)
        variables = os.environ | environment(request.threads)
        if path is not None:
            variables["PYTHONPATH"] = path
        limit = 2 * request.limit + LOADING
        try:
            process = subprocess.run(
                [sys.executable, "-m", "benchmarks.worker"],
                input=request.to_json(),
                capture_output=True,
                text=True,
                cwd=ROOT,
                env=variables,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"busy_cores": round(busy, 2), "limit": 0, "error": f"no end after {limit} s"}
        result: dict[str, Any] = {"busy_cores": round(busy, 2), "limit": 0}
        for line in process.stdout.splitlines():
            if line.startswith("{"):
                result |= json.loads(line)
        if process.returncode == -14:
            result["limit"] = request.limit
        elif process.returncode != 0:
            result["error"] = process.stderr.strip().rpartition("\n")[2] or str(process.returncode)
        return result

    def judged(self, request: Request, path: str | None = None) -> dict[str, Any]:
        """Run a request and judge the fit on its own, after the clock has stopped."""
        return self._answered(request, lambda: self._judged(request, path))

    def _answered(self, request: Request, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        return run() if self.kept is None else self.kept.answer(request, run)

    def _judged(self, request: Request, path: str | None) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "expansion.npz"
            result = self.run(replace(request, expansion=str(file)), path)
            if file.exists():
                result["quality"] = self._judge(request, file).to_json()
        return result

    def _judge(self, request: Request, file: Path) -> Quality:
        key = request.data, hashlib.sha256(file.read_bytes()).hexdigest()
        if key not in self._qualities:
            split = datasets.load(Path(request.data), "dense", request.rows)
            self._qualities[key] = certify(
                split.X, split.y, Expansion.load(file), C=request.C, gamma=request.gamma
            )
        return self._qualities[key]

    def give_up_form(self, result: dict[str, Any], request: Request) -> str:
        """Turn to the other storage if a fit in this one was no solution; return why."""
        if "quality" not in result:
            return ""
        values = result["quality"]
        reason = unsolved(Quality(**{k: values[k] for k in values if k != "gap"}), request.tol)
        others = [form for form in RIVALS[request.rival].forms if form != result["form"]]
        key = request.rival, request.data
        if not reason or not others or key in self._given_up:
            return ""
        self._given_up.add(key)
        self._forms[key] = others[0]
        return f"stored as {result['form']}, {reason}; {others[0]} is used instead"

    def better_form(self, request: Request) -> str:
        """Return the storage in which a library fits a sample of the set faster."""
        key = request.rival, request.data
        if key not in self._forms:
            forms = RIVALS[request.rival].forms
            if "dense" in forms and datasets.density(Path(request.data)) > datasets.ALMOST_DENSE:
                forms = ("dense",)
            seconds = {}
            if len(forms) > 1:
                sample = replace(request, rows=SAMPLE, predict=False)
                for one in (replace(sample, form=form) for form in forms):
                    result = self._answered(one, partial(self.run, one))
                    seconds[one.form] = result.get("fit_seconds", float("inf"))
            self._forms[key] = min(seconds, key=seconds.__getitem__) if seconds else forms[0]
        return self._forms[key]
