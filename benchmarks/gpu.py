"""Time training on an NVIDIA GPU: ``python -m benchmarks.gpu --data FOLDER``.

Data in the memory of the host to fitted model, warm: the first fit of each set, which compiles and
allocates, is not counted. The certificate is computed in float64; the objective is compared
with that of the CPU if ``--compare`` is given.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from widemargin import SVC

from . import datasets


@dataclass(frozen=True)
class GpuSet:
    """A set of `datasets.py`, or some of its rows, with other settings and the goal in seconds."""

    name: str
    C: float
    gamma: float
    goal: float
    rows: int | None = None
    memory_limit: str | None = None

    @property
    def title(self) -> str:
        return self.name if self.rows is None else f"{self.name}, {self.rows} rows"


SETS = [
    GpuSet("a9a", 100, 0.5, 0.10),
    GpuSet("ijcnn1", 32, 2, 0.07),
    GpuSet("w8a", 10, 0.5, 0.13),
    GpuSet("covtype", 3, 1, 0.22, 100_000),
    GpuSet("mnist", 10, 0.125, 1.5),
    GpuSet("covtype", 3, 1, 20.0, 500_000, "20GB"),
]


def rows_of(given: GpuSet, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in float32, and labels."""
    if given.name != "covtype":
        split = datasets.load(datasets.cached(given.name, folder))
        return split.X.astype(np.float32), split.y
    files = [folder / name for name in datasets.TABLE["covtype"].files]
    whole = datasets.svmlight(files, datasets.TABLE["covtype"].features)
    chosen = np.random.default_rng(0).permutation(whole.y.size)[: given.rows]
    X = whole.X[chosen].toarray()
    low, high = X.min(axis=0), X.max(axis=0)
    return ((X - low) / np.where(high > low, high - low, 1)).astype(np.float32), whole.y[chosen]


def measure(given: GpuSet, X: np.ndarray, y: np.ndarray, repeats: int = 2) -> SVC:
    """Fit once to warm up, then some times; print the times and the certificate."""
    times = []
    for _ in range(repeats + 1):
        model = SVC(
            C=given.C, gamma=given.gamma, device="cuda", memory_limit=given.memory_limit,
            max_time=120,
        )  # fmt: skip
        began = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - began)
    steps = int(np.sum(model.n_iter_))
    print(
        f"{given.title:24s} first {times[0]:7.3f} s, then {min(times[1:]):7.3f} s "
        f"(goal {given.goal:g})  {steps} steps  dual {model.dual_objective_:.8g}  "
        f"gap {model.duality_gap_:.1e}  violation {model.kkt_violation_:.1e}  "
        f"{len(model.support_)} support vectors  {model.status_.name}",
        flush=True,
    )
    return model


def measure_prediction(model: SVC, X: np.ndarray) -> None:
    """Predict three times; print the last time."""
    for _ in range(3):
        began = time.perf_counter()
        model.predict(X)
        last = time.perf_counter() - began
    print(f"{'':24s} predict {len(X)} rows {last:.3f} s", flush=True)


def compare(given: GpuSet, model: SVC, X: np.ndarray, y: np.ndarray) -> None:
    """Fit on the CPU; print by how much the objectives differ."""
    reference = SVC(C=given.C, gamma=given.gamma, device="cpu").fit(X, y)
    apart = model.dual_objective_ / reference.dual_objective_ - 1
    print(f"{'':24s} dual objective against the CPU's: {apart:+.1e}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", help="names, with commas between them")
    parser.add_argument("--compare", action="store_true", help="fit on the CPU too")
    asked = parser.parse_args(arguments)
    for given in SETS:
        if asked.sets and given.name not in asked.sets.split(","):
            continue
        X, y = rows_of(given, asked.data)
        model = measure(given, X, y)
        measure_prediction(model, X[:10_000])
        if asked.compare:
            compare(given, model, X, y)


if __name__ == "__main__":
    main()
