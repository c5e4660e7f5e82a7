"""Model files of LIBLINEAR, read into fitted linear estimators and written so that it reads them.

A file holds one row of weights for each feature and, if there is a bias, one more whose product
with the bias is our intercept. Of two classes a positive decision means the first label there and
the second class here, so signs are turned while reading and writing.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import LinearOneClassSVM, LinearSVC, LinearSVR, LogisticRegression
from ..estimators.assemble import assemble_linear
from .atomic import open_target
from .model_text import ModelText, whole_labels, words
from .sources import Source

__all__ = ["SOLVERS", "read_liblinear", "write_liblinear"]

Vector = NDArray[np.float64]

# What each solver minimises, in our words; `dual` tells apart two ways to the same optimum.
SOLVERS: dict[str, tuple[type, dict[str, Any]]] = {
    "L2R_LR": (LogisticRegression, {"penalty": "l2", "dual": False}),
    "L2R_L2LOSS_SVC_DUAL": (LinearSVC, {"penalty": "l2", "loss": "squared_hinge", "dual": True}),
    "L2R_L2LOSS_SVC": (LinearSVC, {"penalty": "l2", "loss": "squared_hinge", "dual": False}),
    "L2R_L1LOSS_SVC_DUAL": (LinearSVC, {"penalty": "l2", "loss": "hinge", "dual": True}),
    "MCSVM_CS": (LinearSVC, {"multi_class": "crammer_singer"}),
    "L1R_L2LOSS_SVC": (LinearSVC, {"penalty": "l1", "loss": "squared_hinge", "dual": False}),
    "L1R_LR": (LogisticRegression, {"penalty": "l1", "dual": False}),
    "L2R_LR_DUAL": (LogisticRegression, {"penalty": "l2", "dual": True}),
    "L2R_L2LOSS_SVR": (LinearSVR, {"loss": "squared_epsilon_insensitive", "dual": False}),
    "L2R_L2LOSS_SVR_DUAL": (LinearSVR, {"loss": "squared_epsilon_insensitive", "dual": True}),
    "L2R_L1LOSS_SVR_DUAL": (LinearSVR, {"loss": "epsilon_insensitive", "dual": True}),
    "ONECLASS_SVM": (LinearOneClassSVM, {}),
}
KINDS = {"nr_class": int, "nr_feature": int, "bias": float, "rho": float, "label": int}


def read_liblinear(source: Source) -> Any:
    """Read a model file of LIBLINEAR.

    Parameters
    ----------
    source : path or file object
        The file.

    Returns
    -------
    LinearSVC, LogisticRegression, LinearSVR or LinearOneClassSVM
        Fitted, without certificate. Two classes are sorted; more keep the order of the file, so
        that ties are broken as LIBLINEAR breaks them.
    """
    model = ModelText(source)
    header = _header(model)
    kind, settings = SOLVERS[header["solver_type"]]
    weights = _weights(model, header)
    bias = header["bias"]
    if kind is LinearOneClassSVM:
        return assemble_linear(LinearOneClassSVM(), weights, -np.atleast_1d(header["rho"]))
    estimator = kind(**settings, fit_intercept=bias >= 0, penalize_intercept=bias >= 0)
    intercept = np.zeros(weights.shape[0])
    if bias >= 0:
        weights, intercept = weights[:, :-1], weights[:, -1] * bias
    labels = header.get("label")
    if labels is None:
        return assemble_linear(estimator, weights, intercept)
    if labels.size == 2:
        order = np.argsort(labels)
        if weights.shape[0] == 2:  # of all classes together: one decision says as much
            weights, intercept = weights[:1] - weights[1:], intercept[:1] - intercept[1:]
        if order[0] == 0:
            weights, intercept = -weights, -intercept
        labels = labels[order]
    return assemble_linear(estimator, weights, intercept, labels)


def _header(model: ModelText) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in model:
        key, *rest = line.split() or [""]
        if key == "w":
            break
        if key in found:
            raise model.fail(f"{key} occurs twice")
        if key == "solver_type":
            if len(rest) != 1 or rest[0] not in SOLVERS:
                raise model.fail(
                    f"solver_type must be one of {', '.join(SOLVERS)}, found {' '.join(rest)!r}"
                )
            found[key] = rest[0]
        elif key in KINDS:
            values = model.numbers(rest, key, KINDS[key])
            if key != "label" and values.size != 1:
                raise model.fail(f"{key} must be followed by one number, found {line[:40]!r}")
            found[key] = values if key == "label" else KINDS[key](values[0])
        else:
            raise model.fail(f"LIBLINEAR models have no line {line[:40]!r}")
    else:
        raise model.fail("the line w is missing: the file is not complete")
    needed = {"solver_type", "nr_class", "nr_feature", "bias"}
    if found.get("solver_type") == "ONECLASS_SVM":
        needed |= {"rho"}
    if missing := sorted(needed - found.keys()):
        raise model.fail(f"{missing[0]} is missing")
    _check_header(model, found)
    return found


def _check_header(model: ModelText, header: dict[str, Any]) -> None:
    kind = SOLVERS[header["solver_type"]][0]
    if kind in (LinearSVC, LogisticRegression):
        if "label" not in header or header["label"].size != header["nr_class"]:
            raise model.fail(f"label must list {header['nr_class']} labels, as nr_class says")
        if header["nr_class"] < 2:
            raise model.fail("a model of one class; it answers every row with that class")
    elif "label" in header:
        raise model.fail(f"{header['solver_type']} has no labels")
    if header["nr_feature"] < 1:
        raise model.fail(f"nr_feature must be at least 1, found {header['nr_feature']}")


def _weights(model: ModelText, header: dict[str, Any]) -> Vector:
    """Return the weights, one row for each machine."""
    joint = header["solver_type"] == "MCSVM_CS"
    classes = header["nr_class"] if "label" in header else 2
    machines = 1 if classes == 2 and not joint else classes
    rows = header["nr_feature"] + (header["bias"] >= 0)
    body = bytes(model.rest()).split()
    if len(body) != rows * machines:
        raise ValueError(
            f"{model.name} has {len(body)} weights, but {rows} features and {machines} machines "
            f"need {rows * machines}: the file is not complete"
        )
    try:
        weights = np.array(body).astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{model.name}: a weight is not a number: {error}") from None
    return weights.reshape(rows, machines).T


# --- writing -------------------------------------------------------------------------------------


def write_liblinear(estimator: Any, target: "str | os.PathLike[str] | Any") -> None:
    """Write a fitted linear estimator as a model file of LIBLINEAR.

    Parameters
    ----------
    estimator : LinearSVC, LogisticRegression, LinearSVR or LinearOneClassSVM
        Fitted; classifiers with whole numbers as labels and not one-vs-one.
    target : path or file object
        Where to write.
    """
    name = _solver_name(estimator)
    coef = estimator.coef_
    coef = np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else coef)
    intercept = np.atleast_1d(estimator.intercept_)
    lines = [f"solver_type {name}"]
    if SOLVERS[name][0] in (LinearSVC, LogisticRegression):
        labels = whole_labels(estimator.classes_, "LIBLINEAR")
        if len(labels) == 2:
            labels = labels[::-1]
            if name == "MCSVM_CS":  # the format wants a row for each class
                coef = np.vstack([coef, -coef]) / 2
                intercept = np.concatenate([intercept, -intercept]) / 2
        lines += [f"nr_class {len(labels)}", f"label {' '.join(map(str, labels))}"]
    else:
        lines.append("nr_class 2")
    lines.append(f"nr_feature {coef.shape[1]}")
    if name == "ONECLASS_SVM":
        lines += ["bias -1", f"rho {words(-intercept)}"]
    elif np.any(intercept):
        lines.append("bias 1")
        coef = np.column_stack([coef, intercept])
    else:
        lines.append("bias -1")
    lines.append("w")
    with open_target(target) as file:
        file.write(("\n".join(lines) + "\n").encode("ascii"))
        for row in coef.T.tolist():
            file.write((" ".join(map(repr, row)) + " \n").encode("ascii"))


def _solver_name(estimator: Any) -> str:
    """Return the solver of LIBLINEAR that minimises what this estimator minimised."""
    kind = type(estimator)
    of_classes = getattr(estimator, "multi_class", "ovr")
    matches = []
    for name, (theirs, settings) in SOLVERS.items():
        wanted = {"penalty": "l2"} | settings
        if name != "MCSVM_CS" and of_classes != "ovo":
            wanted["multi_class"] = "ovr"
        compared = wanted.keys() & estimator.get_params(deep=False).keys() - {"dual"}
        if kind is theirs and all(getattr(estimator, key) == wanted[key] for key in compared):
            matches.append(name)
    if not matches or (of_classes == "ovo" and len(estimator.classes_) > 2):
        raise ValueError(
            f"LIBLINEAR has no model like {estimator!r}; save(estimator, path) keeps it"
        )
    dual = getattr(estimator, "dual", None)
    preferred = [name for name in matches if SOLVERS[name][1].get("dual") is dual]
    return (preferred or matches)[0]
