"""What takes moments: ``python -m benchmarks.small``.

Importing the package, fits of few rows, and the decision of one row, beside scikit-learn.
"""

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.preprocessing import scale

import widemargin

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


def main() -> None:
    rows = [["what", "scikit-learn", "widemargin"]]

    def add(what: str, theirs: float, ours: float, unit: float = 1e3) -> None:
        rows.append([what, f"{theirs * unit:.3g}", f"{ours * unit:.3g}"])

    add("import, ms", *(importing(statement) for statement in IMPORTS.values()))
    for name, load in (("iris", load_iris), ("breast cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        for scaled in (False, True):
            data = (scale(X) if scaled else X, y)
            times = [best(lambda m=m, d=data: m.SVC().fit(*d)) for m in (sklearn.svm, widemargin)]
            add(f"fit {name}{', scaled' * scaled}, ms", *times)
    X, y = make_classification(2000, 20, n_informative=10, flip_y=0.3, random_state=0)
    X = scale(X)
    models = [module.SVC(gamma=0.05).fit(X, y) for module in (sklearn.svm, widemargin)]
    row = np.ascontiguousarray(X[:1])
    support = models[1].support_.size
    add(
        f"decision of one row, {support} support vectors, us",
        *(best(lambda m=m: m.decision_function(row), at_once=500) for m in models),
        unit=1e6,
    )
    model = models[1]
    checks = best(lambda: model._prediction_rows(row), at_once=500)
    rows.append(["of it checks of the row, us", "", f"{checks * 1e6:.3g}"])
    sys.stdout.write(table(rows) + "\n")


if __name__ == "__main__":
    main()
