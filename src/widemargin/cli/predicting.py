"""``widemargin predict`` and ``widemargin evaluate``."""

from typing import Annotated, Any

import numpy as np
import typer

from ..io.atomic import open_target
from .common import (
    DataFile,
    Json,
    ModelFile,
    RangesFile,
    Target,
    answer,
    hint_at_ranges,
    own_model,
    read_data,
    read_model,
    text_target,
    the_task,
    to_output,
)
from .scores import scores, scores_text

__all__ = ["EVALUATE_HELP", "PREDICT_HELP", "evaluate", "predict"]

PREDICT_HELP = """Predict a label or number for each row, one a line.

\b
widemargin predict new.csv iris.model
widemargin predict test.svm data.model -o labels.txt --ranges data.model.range
cat test.svm | widemargin predict - data.model --scores > scores.txt

If the data have labels, the accuracy (or error) is printed on standard error.
"""
EVALUATE_HELP = """Say how good a model is on data with labels.

\b
widemargin evaluate test.csv iris.model
widemargin evaluate test.svm their.libsvm.model --json
"""

Regression = Annotated[
    bool, typer.Option("--regression", help="A model of SVMlight is for regression.")
]


def _read(
    data: str, model: str, target: str | None, ranges: str | None, regression: bool
) -> tuple[Any, Any, Any]:
    """Return model, rows and labels; a model that does not know its columns takes the data's."""
    hint_at_ranges(model, ranges)
    estimator, features = own_model(model)
    table = read_data(data, target, ranges, features=features)
    if estimator is None:
        task = "regression" if regression else "classification"
        estimator = read_model(model, width=table.X.shape[1], task=task)
    width = getattr(estimator, "n_features_in_", table.X.shape[1])
    X = table.X
    if X.shape[1] < width and table.features is None and not isinstance(X, np.ndarray):
        X = X.copy()
        X.resize(X.shape[0], width)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        if table.features is not None and table.features != names.tolist():
            raise ValueError(
                f"{data} has columns {table.features}, but the model learnt {names.tolist()}"
            )
        del estimator.feature_names_in_  # the names agree; rows without names are no surprise now
    return estimator, X, table.y


def _has_classes(y: Any) -> bool:
    """Whether labels are others than those of a detector, which nothing can be compared with."""
    return not np.isin(y, (-1, 1)).all()


def predict(
    data: DataFile,
    model: ModelFile,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File; standard output by default.")
    ] = None,
    show_scores: Annotated[
        bool, typer.Option("--scores", help="Decision values instead of labels.")
    ] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Probability of each class instead.")
    ] = False,
    target: Target = None,
    ranges: RangesFile = None,
    regression: Regression = False,
    as_json: Json = False,
) -> None:
    """Predict a label or number for each row, one a line."""
    estimator, X, y = _read(data, model, target, ranges, regression)
    if probabilities:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{model} gives no probabilities; train SVC or NuSVC with --set probability=true, "
                "or --machine LogisticRegression"
            )
        values = np.asarray(estimator.predict_proba(X))
    elif show_scores:
        values = np.asarray(getattr(estimator, "decision_function", estimator.predict)(X))
    else:
        values = np.asarray(estimator.predict(X))
    record: dict[str, Any] = {"rows": int(values.shape[0])}
    plain = not (probabilities or show_scores)
    if y is not None and plain and not (the_task(estimator) == "detection" and _has_classes(y)):
        record |= scores(the_task(estimator), y, values)
    if as_json and to_output(output):
        answer(record | {"predictions": values.tolist()}, "", True)
        return
    rows = values[:, None] if values.ndim == 1 else values
    text = "\n".join(" ".join(map(str, row)) for row in rows.tolist())
    with open_target(text_target(output)) as file:
        file.write((text + "\n").encode())
        file.flush()
    if len(record) > 1:
        name = "accuracy" if "accuracy" in record else "mean_squared_error"
        answer(record, f"{name.replace('_', ' ')} {record[name]:.6g}", as_json, aside=True)
    elif as_json:
        answer(record, "", True)


def evaluate(
    data: DataFile,
    model: ModelFile,
    target: Target = None,
    ranges: RangesFile = None,
    regression: Regression = False,
    as_json: Json = False,
) -> None:
    """Say how good a model is on data with labels."""
    estimator, X, y = _read(data, model, target, ranges, regression)
    if y is None:
        raise ValueError(f"{data} has no labels to compare with; --target names their column")
    found = scores(the_task(estimator), y, np.asarray(estimator.predict(X)))
    answer(found, scores_text(found), as_json)
