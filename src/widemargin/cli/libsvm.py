"""LIBSVM's programs svm-train and svm-predict: same options, defaults, files and closing lines.

What differs: cross-validation deals rows out in a fixed order, so that its result can be repeated;
machines are solved far beyond -e, so that models agree with LIBSVM's within its own tolerance.
"""

import warnings
from typing import Any

import numpy as np
import typer

from .. import estimators
from ..io.libsvm_models import read_libsvm, write_libsvm
from . import platt
from .dropin import Given, cross_validated, default_model, numbered, parse, read_text, write_lines

__all__ = ["PREDICT_HELP", "TRAIN_HELP", "predict", "squared_correlation", "train"]

TRAIN_HELP = """svm-train of LIBSVM: the same options, defaults and output.

\b
widemargin libsvm-train [options] training_set_file [model_file]
widemargin libsvm-train -s 0 -t 2 -c 10 -g 0.5 heart_scale heart.model
\b
-s type     0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR  (0)
-t kernel   0 linear, 1 polynomial, 2 Gaussian, 3 sigmoid, 4 precomputed  (2)
-d degree (3)    -g gamma (1/num_features)    -r coef0 (0)    -c cost (1)
-n nu (0.5)      -p epsilon of SVR (0.1)      -m cache, without effect
-e tolerance (0.001)    -h shrinking (1)      -b probabilities (0)
-wi weight  C of class i times weight    -v n  n-fold cross-validation    -q  quiet
"""
PREDICT_HELP = """svm-predict of LIBSVM: the same options, files and closing line.

\b
widemargin libsvm-predict [-b 0|1] [-q] test_file model_file output_file
"""
MACHINES = ("SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR")
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
OPTIONS: dict[str, tuple[Any, Any]] = {
    "s": (int, 0), "t": (int, 2), "d": (int, 3), "g": (float, 0.0), "r": (float, 0.0),
    "c": (float, 1.0), "n": (float, 0.5), "p": (float, 0.1), "m": (float, 100.0),
    "e": (float, 1e-3), "h": (int, 1), "b": (int, 0), "v": (int, 0),
}  # fmt: skip


def train(context: typer.Context) -> None:
    """Train as svm-train does."""
    given = parse("svm-train", context.args, OPTIONS, flags="q", weighted=True)
    if not 1 <= len(given.files) <= 2:
        raise typer.BadParameter("svm-train needs training_set_file and perhaps model_file")
    kind, kernel = given.values["s"], given.values["t"]
    if kind not in range(5) or kernel not in range(5):
        raise typer.BadParameter("svm-train: -s and -t are numbers from 0 to 4")
    X, y = read_text(given.files[0], zero_based=kernel == 4)
    if kernel == 4:
        X = _gram(X, given.files[0])
    labels, targets = numbered(y) if kind < 2 else (None, y)

    def make() -> Any:
        return _machine(given, X.shape[1], labels)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* stopped")
        if given.values["v"]:
            folds = given.values["v"]
            guesses = cross_validated(make, X, targets, folds, classes=kind < 2, gram=kernel == 4)
            _report_folds(targets, guesses, kind)
            return
        estimator = make().fit(X, targets)
        if "q" not in given.flags:
            _report_fit(estimator, given, labels)
        if given.values["b"]:
            platt.calibrate(estimator, make, X, targets, quiet="q" in given.flags)
    if labels is not None:
        estimator.classes_ = labels
    model = given.files[1] if len(given.files) == 2 else default_model(given.files[0])
    write_libsvm(estimator, model)


def _gram(X: Any, name: str) -> Any:
    """Return the kernel matrix of a file whose rows begin with 0:serial_number."""
    dense = X.toarray()
    serial, matrix = dense[:, 0], dense[:, 1:]
    if matrix.shape[0] != matrix.shape[1] or not np.array_equal(
        serial, np.arange(1, len(serial) + 1)
    ):
        raise ValueError(
            f"{name}: with -t 4 line i must be: label 0:i 1:K(i,1) ... L:K(i,L), for all L lines"
        )
    return np.ascontiguousarray(matrix)


def _machine(given: Given, features: int, labels: Any) -> Any:
    """Return the estimator that the options ask for."""
    values = given.values
    kind = MACHINES[values["s"]]
    settings: dict[str, Any] = {
        "kernel": KERNELS[values["t"]],
        "degree": values["d"],
        "gamma": values["g"] or 1.0 / features,
        "coef0": values["r"],
        "tol": values["e"],
        "shrinking": bool(values["h"]),
    }
    settings |= {"C": values["c"]} if kind in ("SVC", "SVR", "NuSVR") else {}
    settings |= {"nu": values["n"]} if kind in ("NuSVC", "OneClassSVM", "NuSVR") else {}
    settings |= {"epsilon": values["p"]} if kind == "SVR" else {}
    if kind == "SVC" and given.weights:
        unknown = [w for w in given.weights if labels is None or w not in labels]
        for label in unknown:
            warnings.warn(
                f"class label {label:g} specified in weight is not found", UserWarning, stacklevel=2
            )
        settings["class_weight"] = {
            k: given.weights.get(float(label), 1.0) for k, label in enumerate(labels)
        }
    return getattr(estimators, kind)(**settings)


def _report_folds(targets: Any, guesses: Any, kind: int) -> None:
    if kind >= 3:
        print(f"Cross Validation Mean squared error = {np.mean((guesses - targets) ** 2):g}")
        correlation = squared_correlation(guesses, targets)
        print(f"Cross Validation Squared correlation coefficient = {correlation:g}")
        return
    print(f"Cross Validation Accuracy = {100 * np.mean(guesses == targets):g}%")


def squared_correlation(p: Any, t: Any) -> float:
    """Return the squared correlation of predictions and targets; nan if one is constant."""
    n = len(t)
    top = (n * (p @ t) - p.sum() * t.sum()) ** 2
    bottom = (n * (p @ p) - p.sum() ** 2) * (n * (t @ t) - t.sum() ** 2)
    return float(top / bottom) if bottom else float("nan")


def _report_fit(estimator: Any, given: Given, labels: Any) -> None:
    """Print what svm-train prints of each machine."""
    kind, cost = given.values["s"], given.values["c"]
    for machine in estimator.machines_:
        solution = machine.solution
        used = np.abs(machine.coefficients)
        objective = -solution.certificate.dual
        sign = (
            -1.0 if len(machine.classes) == 2 and machine.classes[0] > machine.classes[1] else 1.0
        )
        if labels is not None and len(labels) == 2:
            sign = -sign
        print(f"*\noptimization finished, #iter = {solution.iterations}")
        if kind == 1:
            r = float(np.abs(solution.x).max() / used.max())
            objective /= r * r
            print(f"C = {1 / r:f}")
        elif kind == 3 or (kind == 0 and not given.weights):
            print(f"nu = {used.sum() / (cost * used.size):f}")
        bounded = int((machine.bounded & (used > 0)).sum())
        print(f"obj = {objective:f}, rho = {-sign * machine.bias:f}")
        print(f"nSV = {int((used > 0).sum())}, nBSV = {bounded}")
    if kind < 2:
        print(f"Total nSV = {estimator.support_.size}")


def predict(context: typer.Context) -> None:
    """Predict as svm-predict does."""
    given = parse("svm-predict", context.args, {"b": (int, 0)}, flags="q")
    if len(given.files) != 3:
        raise typer.BadParameter("svm-predict needs test_file, model_file and output_file")
    data, model, output = given.files
    quiet = "q" in given.flags
    estimator = read_libsvm(model)
    precomputed = estimator.kernel_ is None
    X, y = read_text(data, zero_based=precomputed)
    if precomputed:
        X = X.toarray()[:, 1:]
        estimator = read_libsvm(model, n_features=X.shape[1])
    else:
        width = max(X.shape[1], estimator.n_features_in_)
        X, y = read_text(data, width=width)
        estimator = read_libsvm(model, n_features=width, zero_based=False)
    if given.values["b"]:
        guesses = platt.predict(estimator, X, output, quiet)
    else:
        if not quiet and any(hasattr(estimator, a) for a in ("probA_", "prob_density_marks_")):
            print("Model supports probability estimates, but disabled in prediction.")
        guesses = np.asarray(estimator.predict(X), dtype=np.float64)
        write_lines(output, guesses)
    if quiet:
        return
    if hasattr(estimator, "classes_") or hasattr(estimator, "offset_"):
        right = int((guesses == y).sum())
        print(f"Accuracy = {100 * right / len(y):g}% ({right}/{len(y)}) (classification)")
    else:
        print(f"Mean squared error = {np.mean((guesses - y) ** 2):g} (regression)")
        print(f"Squared correlation coefficient = {squared_correlation(guesses, y):g} (regression)")
