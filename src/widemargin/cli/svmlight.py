"""SVMlight's programs svm_learn and svm_classify, for classification and regression.

Without -c the cost is 1 / r², where r is the mean distance of the rows from the origin in feature
space, as SVMlight chooses it. `cost:` in a line multiplies the cost of its row, -j that of positive
ones. Machines are solved to -e or further.
"""

import warnings
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..estimators import SVC, SVR, LinearSVC, LinearSVR
from ..io.atomic import open_target
from ..io.model_text import KernelFacts
from ..io.svmlight import load_svmlight
from ..io.svmlight_models import read_svmlight_model, write_svmlight_model
from ..kernels import Kernel
from .dropin import parse, read_text, write_lines

__all__ = ["CLASSIFY_HELP", "LEARN_HELP", "classify", "learn"]

LEARN_HELP = """svm_learn of SVMlight: the same options and defaults.

\b
widemargin svmlight-learn [options] example_file model_file
widemargin svmlight-learn -c 10 -t 2 -g 0.5 train.dat model
\b
-z c|r   classification or regression (c)     -c cost (1 / mean |x|^2)
-w epsilon of regression (0.1)                -j cost of positive rows times this (1)
-b 1|0   with or without threshold (1; 0 with -t 0 only)
-t kernel  0 linear, 1 polynomial (s a.b + r)^d, 2 exp(-g |a-b|^2), 3 tanh(s a.b + r)  (0)
-d degree (3)  -g gamma (1)  -s factor (1)  -r offset (1)  -e tolerance (0.001)
-a file  write alpha times label of each row        -v level  0 prints nothing (1)
-q -n -m -h -f -# are accepted: they do not change what is learnt
"""
CLASSIFY_HELP = """svm_classify of SVMlight: the same files and closing lines.

\b
widemargin svmlight-classify [-v level] [-f 0|1] example_file model_file [output_file]
\b
-f 1 writes decision values (default), -f 0 both labels with their values
"""
KERNELS = ("linear", "poly", "rbf", "sigmoid")
OPTIONS: dict[str, tuple[Any, Any]] = {
    "z": (str, "c"), "c": (float, 0.0), "w": (float, 0.1), "j": (float, 1.0), "b": (int, 1),
    "t": (int, 0), "d": (int, 3), "g": (float, 1.0), "s": (float, 1.0), "r": (float, 1.0),
    "e": (float, 1e-3), "v": (int, 1), "q": (int, 10), "n": (int, 10), "m": (int, 40),
    "h": (int, 100), "f": (int, 1), "#": (int, 100000), "a": (str, None),
}  # fmt: skip
HINTS = {
    "i": "inconsistent rows are left to `widemargin doctor`",
    "x": "leave-one-out: `widemargin tune` cross-validates",
    "o": "bounds of the error: `widemargin tune` cross-validates",
    "k": "bounds of the error: `widemargin tune` cross-validates",
    "l": "transduction is not part of this program",
    "y": "a fit here needs no start",
    "p": "transduction is not part of this program",
    "u": "kernels of one's own are Python objects of widemargin.kernels",
}
ROWS_AT_ONCE = 4096


def learn(context: typer.Context) -> None:
    """Learn as svm_learn does."""
    given = parse("svm_learn", context.args, OPTIONS, hints=HINTS)
    values = given.values
    if not 1 <= len(given.files) <= 2:
        raise typer.BadParameter("svm_learn needs example_file and perhaps model_file")
    if values["z"] not in ("c", "r"):
        raise typer.BadParameter("svm_learn: -z must be c or r; ranking is not part of it")
    if values["t"] not in range(4):
        raise typer.BadParameter("svm_learn: -t must be 0, 1, 2 or 3")
    if values["b"] == 0 and values["t"] != 0:
        raise typer.BadParameter("svm_learn: -b 0 needs -t 0 here")
    X, y, cost = load_svmlight(given.files[0], zero_based=False, cost=True)
    facts = KernelFacts(
        KERNELS[values["t"]],
        values["d"],
        values["g"] if values["t"] == 2 else values["s"],
        values["r"],
    )
    C = values["c"] or default_cost(X, facts.kernel())
    weights = cost.copy()
    if values["z"] == "c":
        if not np.isin(y, (-1.0, 0.0, 1.0)).all() or (y == 0).any():
            raise ValueError(
                f"{given.files[0]}: labels must be 1 and -1 (0 means transduction, which is not "
                f"part of this program), found {np.unique(y)[:5].tolist()}"
            )
        weights[y > 0] *= values["j"]
        y = y.astype(np.int64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* stopped")
        estimator = _machine(values, facts, C).fit(X, y, sample_weight=weights)
    write_svmlight_model(estimator, given.files[1] if len(given.files) == 2 else "svm_model")
    if values["a"] is not None:
        write_lines(values["a"], _alphas(estimator, X))
    if values["v"] > 0:
        print("\n".join(_report(estimator, X, y, None if values["c"] else C)))


def default_cost(X: Any, kernel: Kernel | None) -> float:
    """Return 1 / r² with r the mean of sqrt(k(x, x) - 2 k(x, 0) + k(0, 0))."""
    assert kernel is not None
    origin = X[:1] * 0.0
    total, rows = 0.0, X.shape[0]
    for first in range(0, rows, ROWS_AT_ONCE):
        part = X[first : first + ROWS_AT_ONCE]
        squares = kernel.diagonal(part) - 2 * kernel(part, origin)[:, 0] + kernel.diagonal(origin)
        total += float(np.sqrt(np.maximum(squares, 0.0)).sum())
    return (rows / total) ** 2 if total > 0 else 1.0


def _machine(values: dict[str, Any], facts: KernelFacts, C: float) -> Any:
    classification = values["z"] == "c"
    if values["b"] == 0:
        if classification:
            return LinearSVC(loss="hinge", C=C, fit_intercept=False)
        return LinearSVR(epsilon=values["w"], C=C, fit_intercept=False)
    settings = facts.settings() | {"C": C, "tol": values["e"]}
    return SVC(**settings) if classification else SVR(**settings, epsilon=values["w"])


def _alphas(estimator: Any, X: Any) -> NDArray[np.float64]:
    """Return the coefficient of each training row."""
    if not hasattr(estimator, "support_"):
        raise typer.BadParameter("svm_learn: -a needs the threshold, -b 1")
    alphas = np.zeros(X.shape[0])
    alphas[estimator.support_] = estimator._dense_dual_coef[0]
    return alphas


def _report(estimator: Any, X: Any, y: NDArray[Any], default: float | None) -> list[str]:
    """Return the lines that svm_learn prints, as far as they have a meaning here."""
    lines = [
        "Scanning examples...done",
        f"Reading examples into memory...OK. ({X.shape[0]} examples read)",
    ]
    if default is not None:
        lines.append(f"Setting default regularization parameter C={default:.4f}")
    seconds = max((record.time for record in estimator.history_), default=0.0)
    wrong = ""
    if hasattr(estimator, "classes_"):
        wrong = f"{int((estimator.predict(X) != y).sum())} misclassified, "
    lines += [
        f"Optimizing...done. ({int(np.sum(estimator.n_iter_))} iterations)",
        f"Optimization finished ({wrong}maxdiff={estimator.kkt_violation_:.5f}).",
        f"Runtime in cpu-seconds: {seconds:.2f}",
    ]
    if hasattr(estimator, "support_"):
        machine = estimator.machines_[0]
        at_bound = int((machine.bounded & (machine.coefficients != 0)).sum())
        lines += [
            f"Number of SV: {estimator.support_.size} (including {at_bound} at upper bound)",
            f"L1 loss: loss={float(machine.slacks.sum()):.5f}",
            f"Norm of weight vector: |w|={np.sqrt(machine.squared_norm):.5f}",
        ]
    lines += [f"relative duality gap = {estimator.duality_gap_:g}", "Writing model file...done"]
    return lines


def classify(context: typer.Context) -> None:
    """Predict as svm_classify does."""
    given = parse("svm_classify", context.args, {"v": (int, 2), "f": (int, 1)})
    if not 2 <= len(given.files) <= 3:
        raise typer.BadParameter("svm_classify needs example_file, model_file, perhaps output_file")
    data, model = given.files[:2]
    output = given.files[2] if len(given.files) == 3 else "svm_predictions"
    first = read_svmlight_model(model, task="regression")
    X, y = read_text(data, width=first.n_features_in_)
    estimator = read_svmlight_model(model, n_features=X.shape[1], task="regression")
    values = np.asarray(estimator.predict(X), dtype=np.float64)
    if given.values["f"] == 0:
        _write_both(output, values)
    else:
        write_lines(output, values, 8)
    if given.values["v"] > 0:
        print(_closing_lines(values, y))


def _write_both(path: str, values: NDArray[np.float64]) -> None:
    """Write both labels with their values, the larger first, as version 1 did."""
    rows = ((abs(v), "+1" if v > 0 else "-1", "-1" if v > 0 else "+1") for v in values.tolist())
    text = "".join(f"{size:.8g}:{first} {-size:.8g}:{second}\n" for size, first, second in rows)
    with open_target(path) as file:
        file.write(text.encode("ascii"))


def _closing_lines(values: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    positive, wanted = values > 0, y > 0
    right = int((positive == wanted).sum())
    hits = int((positive & wanted).sum())
    precision = 100 * hits / positive.sum() if positive.any() else float("nan")
    recall = 100 * hits / wanted.sum() if wanted.any() else float("nan")
    return (
        f"Accuracy on test set: {100 * right / len(y):.2f}% ({right} correct, "
        f"{len(y) - right} incorrect, {len(y)} total)\n"
        f"Precision/recall on test set: {precision:.2f}%/{recall:.2f}%"
    )
