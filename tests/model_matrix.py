"""A table of what each file format keeps of each kind of model.

    python -m tests.model_matrix           (prints it; --write puts it into docs/models.md)

Each entry is the largest difference of decisions after the way there and back (or, for ONNX and C,
of what onnxruntime and the compiled program decide), relative where decisions exceed one; `-` where
the format has no such model and says so. The second table is of models that LIBSVM and LIBLINEAR
themselves have trained: their decisions beside ours, and beside theirs after we have written them.
"""

import contextlib
import io
import itertools
import pickle
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from liblinear import liblinearutil
from libsvm import svmutil
from model_cases import CASES, classes, decisions, farthest, fitted, numbers
from scipy import sparse
from test_io_export import by_c, by_onnx
from test_io_models import KERNEL_OPTIONS, SOLVERS, TYPES, libsvm_trained, through
from their_tools import liblinear_decisions, libsvm_decisions

import widemargin as wm

FORMATS = ("widemargin", "pickle", "libsvm", "liblinear", "svmlight", "scikit-learn", "onnx 64",
           "onnx 32", "C")  # fmt: skip


def difference(mine, theirs):
    mine = np.reshape(mine, theirs.shape)
    return float(np.max(np.abs(mine - theirs) / np.maximum(1.0, np.abs(theirs)), initial=0.0))


def difference_by(name, format):
    """Return the largest difference of a model of ours after a trip, or None if there is none."""
    estimator, X = fitted(name)
    task = "regression" if CASES[name].regression else "classification"
    if format == "pickle":
        return farthest(estimator, pickle.loads(pickle.dumps(estimator)), X)
    if format == "scikit-learn":
        return farthest(estimator, wm.from_sklearn(wm.to_sklearn(estimator)), X)
    if format == "widemargin":
        file = io.BytesIO()
        wm.save(estimator, file)
        return farthest(estimator, wm.load(io.BytesIO(file.getvalue())), X)
    if format in ("libsvm", "liblinear", "svmlight"):
        return farthest(estimator, through(estimator, format, X, task=task), X)
    if format == "C":
        with tempfile.TemporaryDirectory() as folder:
            found = by_c(estimator, X, Path(folder))
    else:
        found = by_onnx(estimator, X, np.float64 if format == "onnx 64" else np.float32)
    return difference(found.get("decision", found.get("prediction")), decisions(estimator, X))


def show_ours():
    print(f"| model | {' | '.join(FORMATS)} |\n{'|---' * (len(FORMATS) + 1)}|")
    for name in CASES:
        cells = []
        for format in FORMATS:
            try:
                cells.append(f"{difference_by(name, format):.0e}")
            except (TypeError, ValueError):
                cells.append("-")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def libsvm_row(type_name, kernel):
    """Return the difference to LIBSVM, of its model here and of ours there."""
    model, X, given, _ = libsvm_trained(TYPES[type_name], kernel)
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("theirs", "ours")]
        svmutil.svm_save_model(paths[0], model)
        ours = wm.load(paths[0], n_features=X.shape[1])
        wm.save(ours, paths[1], format="libsvm")
        if hasattr(ours, "decision_function_shape"):
            ours.decision_function_shape = "ovo"
        found = []
        for path in paths:
            _, values = libsvm_decisions(svmutil.svm_load_model(path), given, kernel)
            found.append(difference(decisions(ours, X), values))
    return found


def liblinear_row(solver, bias, k):
    """Return the difference to LIBLINEAR, of its model here and of ours there."""
    X, y = numbers() if solver > 10 else classes(k)
    problem = liblinearutil.problem(y, sparse.csr_matrix(X))
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("theirs", "ours")]
        model = liblinearutil.train(problem, f"-s {solver} -B {bias} -q")
        liblinearutil.save_model(paths[0], model)
        ours = wm.load(paths[0])
        wm.save(ours, paths[1], format="liblinear")
        found = []
        for path in paths:
            theirs = liblinearutil.load_model(path)
            _, values = liblinear_decisions(theirs, X)
            if solver == 4 and k == 2:
                values = values[:, :1] - values[:, 1:]
            labels = theirs.get_labels() if solver < 10 else [1, 0]
            sign = -1 if k == 2 and labels[0] < labels[1] else 1
            found.append(difference(decisions(ours, X), sign * values))
    return found


def show_maps():
    """Show our own format and pickle on the feature maps, which decide nothing."""
    X, _ = classes()
    for made in (wm.PolynomialMap(3), wm.SquaresMap()):
        feature_map = made.fit(X)
        file = io.BytesIO()
        wm.save(feature_map, file)
        cells = [
            f"{difference(back.transform(X), feature_map.transform(X)):.0e}"
            for back in (
                wm.load(io.BytesIO(file.getvalue())),
                pickle.loads(pickle.dumps(feature_map)),
            )
        ]
        print(f"| {type(made).__name__} | {' | '.join(cells + ['-'] * (len(FORMATS) - 2))} |")


def show_theirs():
    print("\n| trained by | its model here | ours there |\n|---|---|---|")
    for type_name in TYPES:
        show_worst(
            f"LIBSVM {type_name}, {len(KERNEL_OPTIONS)} kernels",
            [libsvm_row(type_name, kernel) for kernel in KERNEL_OPTIONS],
        )
    for solver in SOLVERS:
        biases = (-1,) if solver == 21 else (-1, 2.5)
        counts = (2,) if solver > 10 else (2, 3)
        show_worst(
            f"LIBLINEAR -s {solver}, {len(biases) * len(counts)} models",
            [liblinear_row(solver, bias, k) for bias, k in itertools.product(biases, counts)],
        )


def show_worst(name, rows):
    here, there = np.max(rows, axis=0)
    print(f"| {name} | {here:.0e} | {there:.0e} |", flush=True)


PAGE = Path(__file__).parents[1] / "docs" / "models.md"
MARK = "<!-- written by python -m tests.model_matrix --write -->\n"


def main():
    warnings.simplefilter("ignore")
    text = io.StringIO()
    with contextlib.redirect_stdout(text if "--write" in sys.argv else sys.stdout):
        show_ours()
        show_maps()
        show_theirs()
    if "--write" in sys.argv:
        before = PAGE.read_text(encoding="utf-8").split(MARK)[0]
        PAGE.write_text(before + MARK + "\n" + text.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    main()
