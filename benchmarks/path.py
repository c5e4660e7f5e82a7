"""Time of the exact path over C: ``python -m benchmarks.path [ROWS]``."""

import sys
import time

from sklearn.datasets import make_classification, make_moons

from widemargin import svm_path


def sets(rows):
    """Yield a name, data, and the kernel."""
    columns = {"n_features": 20, "n_informative": 10, "random_state": 0}
    yield "Gaussian, moons", make_moons(rows, noise=0.3, random_state=0), "rbf"
    yield "Gaussian, 20 columns", make_classification(rows, **columns), "rbf"
    yield "linear, 20 columns", make_classification(rows, flip_y=0.1, **columns), "linear"


def main(rows):
    for name, (X, y), kernel in sets(rows):
        began = time.perf_counter()
        path = svm_path(X, y, kernel=kernel, max_time=100.0)
        seconds = time.perf_counter() - began
        widest = max(progress.active for progress in path.history)
        gap = max(path.gap(C) for C in path.C[:: max(1, path.C.size // 20)])
        print(
            f"{rows} rows, {name}: {path.C.size} breakpoints, {widest} on the margin, "
            f"{seconds:.2f} s, {path.status.name}, largest gap {gap:.1e}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
