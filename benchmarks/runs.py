"""Starting timed runs and collecting what they say."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
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


@dataclass
class Runner:
    """Runs requests one at a time, and judges each fit once.

    Attributes
    ----------
    patience : float
        Seconds to wait for a quiet machine before each run.
    """

    patience: float = 60.0
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
                for form in forms:
                    result = self.run(replace(sample, form=form))
                    seconds[form] = result.get("fit_seconds", float("inf"))
            self._forms[key] = min(seconds, key=seconds.__getitem__) if seconds else forms[0]
        return self._forms[key]
