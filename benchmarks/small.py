"""What takes moments: ``python -m benchmarks.small``.

Importing the package, fits of few rows, and the decision of one row, beside scikit-learn; with
``--data FOLDER`` also the problem of few rows and huge costs.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.preprocessing import scale

import widemargin

from . import datasets, goals
from .report import table

REPEATS = 7
IMPORTS = {"scikit-learn": "import sklearn.svm", "widemargin": "import widemargin"}


def best(work: Callable[[], object], repeats: int = REPEATS, at_once: int = 20) -> float:
    """Return the least mean time of some calls."""
    work()
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(at_once):
            work()
        spent.append((time.perf_counter() - began) / at_once)
    return min(spent)


def importing(statement: str) -> float:
    """Return the seconds that a statement takes in a fresh interpreter."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def hard(data: Path) -> list[float]:
    """Return the least seconds of either library at C = 1e6, in turns."""
    rows = datasets.load(datasets.cached("a9a", data), "dense", 8000)
    settings = {"C": 1e6, "gamma": 0.05, "tol": 1e-6, "cache_size": 4000}
    spent: list[list[float]] = [[], []]
    for _ in range(2):
        for module, times in zip((sklearn.svm, widemargin), spent, strict=True):
            began = time.perf_counter()
            module.SVC(**settings).fit(rows.X, rows.y)
            times.append(time.perf_counter() - began)
    return [min(times) for times in spent]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the published data sets")
    given = parser.parse_args(arguments)
    rows = [["what", "scikit-learn", "widemargin"]]
    ratios: dict[str, float] = {}

    def add(what: str, theirs: float, ours: float, unit: str = "ms") -> None:
        factor = {"ms": 1e3, "us": 1e6}[unit]
        rows.append([f"{what}, {unit}", f"{theirs * factor:.3g}", f"{ours * factor:.3g}"])
        ratios[what] = theirs / ours

    add("import", *(importing(statement) for statement in IMPORTS.values()))
    for name, load in (("iris", load_iris), ("breast cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        for scaled in (False, True):
            data = (scale(X) if scaled else X, y)
            times = [best(lambda m=m, d=data: m.SVC().fit(*d)) for m in (sklearn.svm, widemargin)]
            add(f"fit {name}{', scaled' * scaled}", *times)
    X, y = (part[:1257] for part in load_digits(return_X_y=True))
    digits = {"C": 10, "gamma": 0.05}
    models = [module.SVC(**digits) for module in (sklearn.svm, widemargin)]
    times = [best(lambda m=m: m.fit(X / 16, y), at_once=5) for m in models]
    add("fit digits, 45 pairs", *times)
    X, y = make_classification(2000, 20, n_informative=10, flip_y=0.3, random_state=0)
    X = scale(X)
    models = [module.SVC(gamma=0.05).fit(X, y) for module in (sklearn.svm, widemargin)]
    row = np.ascontiguousarray(X[:1])
    support = models[1].support_.size
    add(
        f"decision of one row, {support} support vectors",
        *(best(lambda m=m: m.decision_function(row), at_once=500) for m in models),
        unit="us",
    )
    model = models[1]
    checks = best(lambda: model._prediction_rows(row), at_once=500)
    rows.append(["of it checks of the row, us", "", f"{checks * 1e6:.3g}"])
    if given.data:
        add("8,000 rows of a9a, C=1e6, tol=1e-6", *hard(given.data))
    sys.stdout.write(table(rows) + "\n\n" + goals.single("small", ratios))


if __name__ == "__main__":
    main()
