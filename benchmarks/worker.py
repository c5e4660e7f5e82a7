"""One timed run in a process of its own: ``python -m benchmarks.worker`` with a request as input.

A request is a JSON object on the standard input; the answer is one JSON object for each thing
measured, a line each, so that what was measured before a limit struck is not lost.
"""

import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import datasets
from .rivals import RIVALS, Model, Rival, Settings

AT_LEAST = 0.3  # seconds of prediction, by repeating, so that the clock does not matter
REPEATS = 5


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes
    ----------
    rival, data, form : str
        Library, .npz of the set, and storage.
    C, gamma, tol, threads, cache_mb
        See `Settings`.
    cores : tuple of int
        Cores the process may use.
    limit : int
        Seconds that the fit, and then the prediction, may take.
    rows : int or None
        Learn from the first rows only.
    predict : bool
        Whether to time prediction on the test part.
    expansion : str
        File for support vectors and coefficients; empty for none.
    """

    rival: str
    data: str
    form: str
    C: float
    gamma: float
    cores: tuple[int, ...]
    threads: int = 1
    tol: float = 1e-3
    cache_mb: int = 4000
    limit: int = 300
    rows: int | None = None
    predict: bool = True
    expansion: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def environment(threads: int) -> dict[str, str]:
    """Return the variables by which libraries are told how many threads to use."""
    names = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB")
    return {f"{name}_NUM_THREADS": str(threads) for name in names} | {"PYTHONWARNINGS": "ignore"}


def warm_up(rival: Rival, form: str, settings: Settings) -> None:
    """Load and start everything lazy, on a problem that takes no time."""
    split = datasets.tiny([], 8)
    csr = form == "csr"
    X, X_test = (datasets.sp.csr_matrix(part) if csr else part for part in (split.X, split.X_test))
    model = rival.fit(rival.prepare(X), split.y, settings)
    model.predict(rival.prepare(X_test))


def alarmed(limit: int) -> None:
    """Let the system end this process after `limit` seconds; 0 takes it back.

    No Python code could do that while a library holds the interpreter.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limit)


def say(**values: Any) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def peak_megabytes() -> int | None:
    """Return the most memory this process held; getrusage would count the one that started it."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    found = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(found[0]) // 1024 if found else None


def run(request: Request) -> None:
    os.sched_setaffinity(0, request.cores)
    rival = RIVALS[request.rival]()
    settings = Settings(request.C, request.gamma, request.tol, request.threads, request.cache_mb)
    split = datasets.load(Path(request.data), request.form, request.rows)
    warm_up(rival, request.form, settings)
    rows = rival.prepare(split.X)
    where = sys.modules[rival.module].__file__
    alarmed(request.limit)
    began = time.perf_counter()
    model = rival.fit(rows, split.y, settings)
    seconds = time.perf_counter() - began
    alarmed(0)
    expansion = model.expansion()
    if request.expansion:
        expansion.save(request.expansion)
    say(
        fit_seconds=seconds,
        support=int(expansion.support.size),
        dual_objective=model.dual_objective,
        peak_mb=peak_megabytes(),
        version=rival.version(),
        module=where,
    )
    if request.predict and split.X_test is not None:
        predict(rival, model, split, request.limit)


def predict(rival: Rival, model: Model, split: datasets.Split, limit: int) -> None:
    """Time prediction of the whole test part; the best of a few, as the first fills caches."""
    rows = rival.prepare(split.X_test)
    spent: list[float] = []
    alarmed(limit)
    while sum(spent) < AT_LEAST and len(spent) < REPEATS:
        began = time.perf_counter()
        labels = model.predict(rows)
        spent.append(time.perf_counter() - began)
    alarmed(0)
    say(
        predict_seconds=min(spent),
        test_rows=int(labels.size),
        accuracy=float(np.mean(labels == split.y_test)),
    )


if __name__ == "__main__":
    values = json.loads(sys.stdin.read())
    run(Request(**(values | {"cores": tuple(values["cores"])})))
