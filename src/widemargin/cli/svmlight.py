"""SVMlight's programs svm_learn and svm_classify, for classification and regression.

Without -c the cost is 1 / r², where r is the mean distance of the rows from the origin in feature
space, as SVMlight chooses it. `cost:` in a line multiplies the cost of its row, -j that of positive
ones. Machines are solved to -e or further. Leave-one-out (-x 1) is exact: where svm_learn skips
the rows that -o says are safe, here only those are skipped whose outcome is proven.
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
from .svmlight_estimates import (
    Fit,
    left_out,
    rates,
    squared_distances,
    without_inconsistent,
    xi_alpha,
)

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
-o rho of the XiAlpha estimates (1)                 -i 1  drop rows at their bound, fit again (0)
-x 1  leave-one-out, exact: a fit for each row that is in doubt (0)
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
    "i": (int, 0), "x": (int, 0), "o": (float, 1.0), "k": (int, 0),
}  # fmt: skip
HINTS = {
    "l": "it belongs to transductive learning from unlabelled rows, which is not here yet",
    "p": "it belongs to transductive learning from unlabelled rows, which is not here yet",
    "y": "a fit here needs no start",
    "u": "kernels of one's own are Python objects of widemargin.kernels",
}


def learn(context: typer.Context) -> None:
    """Learn as svm_learn does."""
    given = parse("svm_learn", context.args, OPTIONS, hints=HINTS)
    values = given.values
    if not 1 <= len(given.files) <= 2:
        raise typer.BadParameter("svm_learn needs example_file and perhaps model_file")
    _check(values)
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

    def fit(kept: NDArray[np.bool_]) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".* stopped")
            machine = _machine(values, facts, C)
            return machine.fit(X[kept], y[kept], sample_weight=weights[kept])

    kept = np.ones(len(y), dtype=bool)
    if values["i"]:
        estimator, kept = without_inconsistent(fit, y)
    else:
        estimator = fit(kept)
    write_svmlight_model(estimator, given.files[1] if len(given.files) == 2 else "svm_model")
    if values["a"] is not None:
        alphas = np.zeros(len(y))
        alphas[kept] = _alphas(estimator, int(kept.sum()))
        write_lines(values["a"], alphas)
    if values["v"] > 0:
        lines = _report(estimator, X[kept], y[kept], None if values["c"] else C, len(y))
        if values["z"] == "c":
            lines += _estimates(values, estimator, facts.kernel(), fit, X, y)
        print("\n".join([*lines, "Writing model file...done"]))


def _check(values: dict[str, Any]) -> None:
    """Refuse values and combinations that mean nothing here."""
    if values["z"] not in ("c", "r"):
        raise typer.BadParameter("svm_learn: -z must be c or r; ranking is not part of it")
    if values["t"] not in range(4):
        raise typer.BadParameter("svm_learn: -t must be 0, 1, 2 or 3")
    if values["b"] == 0 and values["t"] != 0:
        raise typer.BadParameter("svm_learn: -b 0 needs -t 0 here")
    if values["k"] != 0:
        raise typer.BadParameter(
            "svm_learn: the extended XiAlpha estimates of -k above 0 are not here; -x 1 is exact"
        )
    if not values["o"] > 0:
        raise typer.BadParameter(f"svm_learn: -o must be above 0, found {values['o']:g}")
    for letter in "ix":
        if values[letter] not in (0, 1):
            raise typer.BadParameter(f"svm_learn: -{letter} must be 0 or 1, found {values[letter]}")
        if values[letter] and values["z"] == "r":
            raise typer.BadParameter(f"svm_learn: -{letter} 1 is for classification, -z c")
    if values["i"] and values["x"]:
        raise typer.BadParameter("svm_learn: -x 1 estimates for all rows, so not with -i 1")
    if values["i"] and values["b"] == 0:
        raise typer.BadParameter("svm_learn: -i 1 needs the threshold, -b 1")


def default_cost(X: Any, kernel: Kernel | None) -> float:
    """Return 1 / r² with r the mean of sqrt(k(x, x) - 2 k(x, 0) + k(0, 0))."""
    assert kernel is not None
    radius = float(np.sqrt(squared_distances(X, kernel)).mean())
    return radius**-2 if radius > 0 else 1.0


def _machine(values: dict[str, Any], facts: KernelFacts, C: float) -> Any:
    classification = values["z"] == "c"
    if values["b"] == 0:
        if classification:
            return LinearSVC(loss="hinge", C=C, fit_intercept=False)
        return LinearSVR(epsilon=values["w"], C=C, fit_intercept=False)
    settings = facts.settings() | {"C": C, "tol": values["e"]}
    return SVC(**settings) if classification else SVR(**settings, epsilon=values["w"])


def _alphas(estimator: Any, rows: int) -> NDArray[np.float64]:
    """Return the coefficient of each training row."""
    if not hasattr(estimator, "support_"):
        raise typer.BadParameter("svm_learn: -a needs the threshold, -b 1")
    alphas = np.zeros(rows)
    alphas[estimator.support_] = estimator._dense_dual_coef[0]
    return alphas


def _report(estimator: Any, X: Any, y: NDArray[Any], default: float | None, read: int) -> list[str]:
    """Return the lines that svm_learn prints, as far as they have a meaning here."""
    lines = [
        "Scanning examples...done",
        f"Reading examples into memory...OK. ({read} examples read)",
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
        removed = f"plus {read - len(y)} inconsistent examples"
        bounds = removed if read > len(y) else f"including {at_bound} at upper bound"
        lines += [
            f"Number of SV: {estimator.support_.size} ({bounds})",
            f"L1 loss: loss={float(machine.slacks.sum()):.5f}",
            f"Norm of weight vector: |w|={np.sqrt(machine.squared_norm):.5f}",
        ]
    return [*lines, f"relative duality gap = {estimator.duality_gap_:g}"]


def _estimates(
    values: dict[str, Any], estimator: Any, kernel: Any, fit: Fit, X: Any, y: NDArray[Any]
) -> list[str]:
    """Return the lines on new rows: XiAlpha where there are alphas, and leave-one-out by -x 1."""
    if values["i"]:
        return []
    lines = []
    margins = y * estimator.decision_function(X)
    if hasattr(estimator, "support_"):
        squared_radius = float(squared_distances(X, kernel).max())
        alphas = np.abs(_alphas(estimator, len(y)))
        bounds = rates(xi_alpha(alphas, margins, squared_radius, values["o"]), y)
        signs = ("error: error<=", "recall: recall=>", "precision: precision=>")
        mark = f"(rho={values['o']:.2f},depth=0)"
        lines = [f"Norm of longest example vector: |x|={np.sqrt(squared_radius):.5f}"]
        lines += [
            f"XiAlpha-estimate of the {sign}{bound:.2f}% {mark}"
            for sign, bound in zip(signs, bounds, strict=True)
        ]
    if values["x"]:
        wrong, fits = left_out(fit, X, y, margins, values["e"])
        lines += [
            f"Leave-one-out estimate of the {name}: {name}={rate:.2f}%"
            for name, rate in zip(("error", "recall", "precision"), rates(wrong, y), strict=True)
        ]
        lines.append(f"Actual leave-one-outs computed:  {fits} (rho={values['o']:.2f})")
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
