"""One library on one problem, in a process of its own, at ever smaller tolerances.

``python -m benchmarks.linear.worker`` takes a request as a JSON object on the standard input and
answers with an object for each fit, a line each, so that a limit that strikes loses none before it.
"""

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import datasets
from ..worker import alarmed, peak_megabytes, say
from .judge import Task, dual, excess, primal
from .rivals import RIVALS, Point, Rival

SAME = 1e-12  # relative difference of two objectives that counts as none


@dataclass(frozen=True)
class Request:
    """What to run.

    Attributes
    ----------
    rival, variant, data, form : str
        Library, its solver, .npz of the set, and storage.
    set, loss, C
        See `Task`.
    cores : tuple of int
        Cores the process may use.
    bound : float or None
        Lower bound of the objective, if one is known.
    target : float
        Relative distance from the bound at which a library without dual variables is done.
    tolerance : float or None
        The only one to try; None for those of the library.
    limit : int
        Seconds that a fit may take.
    """

    rival: str
    variant: str
    data: str
    form: str
    set: str
    loss: str
    C: float
    cores: tuple[int, ...]
    bound: float | None = None
    target: float = 1e-6
    tolerance: float | None = None
    limit: int = 60

    @property
    def task(self) -> Task:
        return Task(self.set, self.loss, self.C)

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def warm_up(rival: Rival, request: Request) -> None:
    """Load and start everything lazy, on a problem that takes no time."""
    split = datasets.indicators([], 10)
    X = split.X[:200] if request.form == "dense" else datasets.sp.csr_matrix(split.X[:200])
    signs = 2.0 * (split.y[:200] > 0) - 1.0
    task = Task("", request.loss, 1.0)
    rows = rival.prepare(X, signs)
    rival.fit(rows, task, request.variant, next(rival.tolerances(request.variant)), 1)


def run(request: Request) -> None:
    os.sched_setaffinity(0, request.cores)
    rival, task, threads = RIVALS[request.rival](), request.task, len(request.cores)
    split = datasets.load(Path(request.data), request.form)
    if request.form == "csr":
        split.X.sort_indices()  # products of SciPy leave rows in disorder, vectorisers do not
    warm_up(rival, request)
    rows = rival.prepare(split.X, split.y)
    tolerances = rival.tolerances(request.variant)
    if request.tolerance is not None:
        tolerances = iter((request.tolerance,))
    last = float("inf")
    for tolerance in tolerances:
        alarmed(request.limit)
        began = time.perf_counter()
        point = rival.fit(rows, task, request.variant, tolerance, threads)
        seconds = time.perf_counter() - began
        alarmed(0)
        value = primal(split.X, split.y, point.weights, point.bias, task)
        say(tolerance=tolerance, seconds=seconds, primal=value, peak_mb=peak_megabytes(),
            **told(split, point, task))  # fmt: skip
        if point.dual is not None:
            continue  # each of its tolerances is a gap of its own
        if request.bound is not None and excess(value, request.bound) <= request.target:
            break
        if abs(value - last) <= SAME * abs(value):
            break  # it has come to its limit of iterations
        last = value


def told(split: datasets.Split, point: Point, task: Task) -> dict[str, Any]:
    """Return the dual objective where the library tells its variables, and what it claims."""
    found = {} if point.dual is None else {"dual": dual(split.X, split.y, point.dual, task)}
    return found | {"claims": point.claims}


if __name__ == "__main__":
    values = json.loads(sys.stdin.read())
    run(Request(**(values | {"cores": tuple(values["cores"])})))
