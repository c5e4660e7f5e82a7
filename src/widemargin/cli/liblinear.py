"""LIBLINEAR's programs train and predict: same options, defaults, files and closing lines.

Where LIBLINEAR offers a primal and a dual solver for one problem (-s 1 and 2, 0 and 7, 11 and 12)
the answer is the same here, since the solver is chosen by us; the model says which was asked for.
"""

import warnings
from typing import Any

import numpy as np
import typer

from ..estimators.assemble import assemble_linear
from ..io.atomic import open_target
from ..io.liblinear_models import SOLVERS, read_liblinear, write_liblinear
from . import liblinear_search
from .dropin import cross_validated, default_model, numbered, parse, read_text, write_lines
from .libsvm import squared_correlation

__all__ = ["PREDICT_HELP", "TRAIN_HELP", "predict", "train"]

TRAIN_HELP = """train of LIBLINEAR: the same options, defaults and output.

\b
widemargin liblinear-train [options] training_set_file [model_file]
widemargin liblinear-train -s 2 -c 0.5 -B 1 rcv1 rcv1.model
\b
-s type  0 7 logistic, 1 2 squared hinge, 3 hinge, 4 all classes together,
         5 squared hinge with l1, 6 logistic with l1, 11 12 13 regression,
         21 one-class  (1)
-c cost (1)    -p epsilon of SVR (0.1)    -n nu (0.5)    -e tolerance
-B bias  a column with this value; none if negative (-1)
-R       do not penalise the bias; needs -B 1
-wi weight  cost of class i times weight    -v n  cross-validation    -q  quiet
-C       search C by cross-validation, -s 0 and 2; C and p, -s 11
"""
PREDICT_HELP = """predict of LIBLINEAR: the same options, files and closing line.

\b
widemargin liblinear-predict [-b 0|1] [-q] test_file model_file output_file
"""
TYPES = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 21), SOLVERS, strict=True))
OPTIONS: dict[str, tuple[Any, Any]] = {
    "s": (int, None), "c": (float, None), "p": (float, None), "n": (float, 0.5), "e": (float, None),
    "B": (float, -1.0), "v": (int, 0), "m": (int, None),
}  # fmt: skip
PRIMAL, SPARSE, WITH_SUPPORT = (0, 2, 5, 6, 11), (5, 6), (1, 3, 12, 13, 21)
DEFAULTS = {"s": 1, "c": 1.0, "p": 0.1}


def train(context: typer.Context) -> None:
    """Train as LIBLINEAR's train does."""
    given = parse("train", context.args, OPTIONS, flags="qRC", weighted=True)
    if not 1 <= len(given.files) <= 2:
        raise typer.BadParameter("train needs training_set_file and perhaps model_file")
    begin = liblinear_search.start(given) if "C" in given.flags else None
    for letter, value in DEFAULTS.items():
        if given.values[letter] is None:
            given.values[letter] = value
    kind, bias = given.values["s"], given.values["B"]
    if kind not in TYPES:
        raise typer.BadParameter(f"train: -s must be one of {', '.join(map(str, TYPES))}")
    if "R" in given.flags and bias != 1:
        raise typer.BadParameter("train: -R needs -B 1")
    X, y = read_text(given.files[0])
    labels, targets = numbered(y) if kind < 10 else (None, y)

    def make() -> Any:
        return _machine(given, labels)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* stopped")
        if begin is not None:
            liblinear_search.search(begin, given, make, X, targets)
            return
        if given.values["v"]:
            folds = given.values["v"]
            guesses = cross_validated(make, X, targets, folds, classes=kind < 10, gram=False)
            _report_folds(targets, guesses, kind)
            return
        if given.weights and labels is not None and len(labels) > 2 and kind != 4:
            estimator = _weighted_rests(make(), X, targets)
        else:
            estimator = make().fit(X, targets)
    if "q" not in given.flags:
        _report_fit(estimator, kind)
    if labels is not None:
        estimator.classes_ = labels
    model = given.files[1] if len(given.files) == 2 else default_model(given.files[0])
    write_liblinear(estimator, model)


def _machine(given: Any, labels: Any) -> Any:
    """Return the estimator that the options ask for."""
    values = given.values
    kind, settings = SOLVERS[TYPES[values["s"]]]
    settings = dict(settings) | {"tol": values["e"], "n_jobs": values["m"]}
    if values["s"] == 21:
        return kind(**settings, nu=values["n"])
    bias = values["B"]
    settings |= {"C": values["c"], "fit_intercept": bias > 0}
    if bias > 0:
        settings |= {"intercept_scaling": bias, "penalize_intercept": "R" not in given.flags}
    if values["s"] == 4 and len(labels) == 2:
        # Of ½|w1|² + ½|w2|² only w = w1 - w2 counts, and w2 = -w1: ¼|w|², so C is twice as dear.
        settings |= {"C": 2 * values["c"], "loss": "hinge"}
    if values["s"] > 10:
        settings["epsilon"] = values["p"]
    elif given.weights:
        settings["class_weight"] = {
            k: given.weights.get(float(label), 1.0) for k, label in enumerate(labels)
        }
    return kind(**settings)


def _weighted_rests(whole: Any, X: Any, targets: Any) -> Any:
    """Fit each class against the rest as LIBLINEAR weighs them: only the rows of the class.

    In our own machines a weight belongs to a row, whichever class is being told apart.
    """
    weights = whole.class_weight
    parts = []
    for k in weights:
        own = targets == k
        one = clone_with(whole, class_weight=None)
        parts.append(one.fit(X, own, sample_weight=np.where(own, weights[k], 1.0)))
    coef = np.vstack([part.coef_ for part in parts])
    assemble_linear(
        whole, coef, np.concatenate([p.intercept_ for p in parts]), np.array([*weights])
    )
    whole._keep_solutions([solution for part in parts for solution in part.solutions_])
    return whole


def clone_with(estimator: Any, **changed: Any) -> Any:
    """Return a new estimator with the parameters of another, some of them changed."""
    return type(estimator)(**(estimator.get_params(deep=False) | changed))


def _report_fit(estimator: Any, kind: int) -> None:
    """Print what train prints of each machine: dual objectives, but of its primal solvers."""
    weights = np.atleast_2d(estimator.coef_)
    for k, solution in enumerate(estimator.solutions_):
        certificate = solution.certificate
        value = certificate.primal if kind in PRIMAL else -certificate.dual
        if kind == 4 and len(estimator.classes_) == 2:
            value /= 2  # see `_machine`
        print(f"*\noptimization finished, #iter = {solution.iterations}")
        print(f"Objective value = {value:f}")
        if kind in WITH_SUPPORT:
            print(f"nSV = {int(np.count_nonzero(solution.shares))}")
        if kind == 21:
            print(f"rho = {float(np.ravel(estimator.offset_)[0]):f}")
        if kind in SPARSE:
            used = int(np.count_nonzero(weights[k]))
            print(f"#nonzeros/#features = {used}/{weights.shape[1]}")


def _report_folds(targets: Any, guesses: Any, kind: int) -> None:
    if 10 < kind < 20:
        print(f"Cross Validation Mean squared error = {np.mean((guesses - targets) ** 2):g}")
        correlation = squared_correlation(guesses, targets)
        print(f"Cross Validation Squared correlation coefficient = {correlation:g}")
        return
    print(f"Cross Validation Accuracy = {100 * np.mean(guesses == targets):g}%")


def predict(context: typer.Context) -> None:
    """Predict as LIBLINEAR's predict does."""
    given = parse("predict", context.args, {"b": (int, 0)}, flags="q")
    if len(given.files) != 3:
        raise typer.BadParameter("predict needs test_file, model_file and output_file")
    data, model, output = given.files
    estimator = read_liblinear(model)
    X, y = read_text(data, width=estimator.n_features_in_)
    X = X[:, : estimator.n_features_in_]  # it takes no notice of columns that it has not learnt
    guesses = np.asarray(estimator.predict(X), dtype=np.float64)
    if given.values["b"]:
        _write_probabilities(estimator, X, guesses, output)
    else:
        write_lines(output, guesses)
    if "q" in given.flags:
        return
    if hasattr(estimator, "classes_") or hasattr(estimator, "offset_"):
        right = int((guesses == y).sum())
        print(f"Accuracy = {100 * right / len(y):g}% ({right}/{len(y)})")
    else:
        print(f"Mean squared error = {np.mean((guesses - y) ** 2):g} (regression)")
        correlation = squared_correlation(guesses, y)
        print(f"Squared correlation coefficient = {correlation:g} (regression)")


def _write_probabilities(estimator: Any, X: Any, guesses: Any, output: str) -> None:
    if not hasattr(estimator, "predict_proba"):
        raise ValueError("probability output is only supported for logistic regression")
    probabilities, labels = estimator.predict_proba(X), estimator.classes_
    if len(labels) == 2:  # the file begins with the label that LIBLINEAR puts first
        probabilities, labels = probabilities[:, ::-1], labels[::-1]
    lines = [f"labels {' '.join(map(str, labels.tolist()))}"]
    for guess, row in zip(guesses.tolist(), probabilities.tolist(), strict=True):
        lines.append(f"{guess:g} {' '.join(format(p, 'g') for p in row)}")
    with open_target(output) as file:
        file.write(("\n".join(lines) + "\n").encode("ascii"))
