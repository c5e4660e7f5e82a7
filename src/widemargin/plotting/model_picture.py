"""A picture of any fitted machine: how the fit converged, and what it does with data."""

from typing import Any

import numpy as np

__all__ = ["model_picture"]

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777")
GRID = 200  # points a side of a map of the plane
FLOOR = 1e-16  # a logarithmic axis shows no zero


def model_picture(model: Any, X: Any = None, y: Any = None) -> Any:
    """Draw the history of a fit and, with data, its decisions.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array-like or CSR matrix of shape (n_rows, n_features), default=None
        Rows to show decisions of: with two features as a map of the plane, else as the distribution
        of decision values, or predictions against targets.
    y : array-like of shape (n_rows,), default=None
        Their labels or targets.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; ``savefig`` writes it to a file.

    Examples
    --------
    >>> from widemargin import SVC
    >>> from widemargin.plotting import model_picture
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0, 1, 1]
    >>> len(model_picture(SVC().fit(X, y), X, y).axes)
    2
    """
    from matplotlib.figure import Figure

    history = getattr(model, "history_", ())
    if not history and X is None:
        raise ValueError(
            f"{type(model).__name__} has no history of its fit, since it comes from a file of "
            "another program; give data to show its decisions"
        )
    panels = bool(history) + (X is not None)
    figure = Figure(figsize=(5.5 * panels, 4.5), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, panels)))
    if history:
        _draw_history(axes.pop(0), model)
    if X is not None:
        X = np.asarray(X) if not hasattr(X, "tocsr") else X.tocsr()
        y = None if y is None else np.asarray(y)
        if X.shape[1] == 2:
            _draw_plane(axes[0], model, X.toarray() if hasattr(X, "toarray") else X, y)
        elif hasattr(model, "decision_function"):
            _draw_decisions(axes[0], model, X, y)
        else:
            _draw_predictions(axes[0], model, X, y)
    return figure


def _draw_history(axes: Any, model: Any) -> None:
    history = model.history_
    seconds = [record.time for record in history]
    for name, color in (("gap", COLORS[0]), ("violation", COLORS[1])):
        values = [max(FLOOR, getattr(record, name)) for record in history]
        axes.plot(seconds, values, ".-", color=color, label=name)
    axes.set_yscale("log")
    axes.set_xlabel("seconds")
    axes.set_title(f"{type(model).__name__}: relative gap {model.duality_gap_:.2g}")
    axes.legend()


def _draw_plane(axes: Any, model: Any, X: Any, y: Any) -> None:
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.1 * np.maximum(high - low, 1e-9)
    sides = [np.linspace(a, b, GRID) for a, b in zip(low - room, high + room, strict=True)]
    first, second = np.meshgrid(*sides)
    plane = np.column_stack([first.ravel(), second.ravel()])
    labels = model.predict(plane)
    classes = getattr(model, "classes_", None)
    if classes is None and not hasattr(model, "decision_function"):
        shown = axes.contourf(first, second, labels.reshape(first.shape), levels=20)
        axes.figure.colorbar(shown, ax=axes)
    else:
        classes = np.unique(labels) if classes is None else classes
        numbers = np.searchsorted(classes, labels) if np.all(classes[:-1] < classes[1:]) else (
            np.argmax(labels[:, None] == classes, axis=1)
        )  # fmt: skip
        for k in range(len(classes)):
            inside = (numbers == k).reshape(first.shape).astype(float)
            color = COLORS[k % len(COLORS)]
            axes.contourf(first, second, inside, levels=[0.5, 1.5], colors=[color], alpha=0.25)
    _scatter(axes, X, y)
    axes.set_title("regions")


def _scatter(axes: Any, X: Any, y: Any) -> None:
    if y is None or (y.dtype.kind == "f" and len(np.unique(y)) > len(COLORS)):
        axes.scatter(X[:, 0], X[:, 1], s=10, c="black" if y is None else y)
        return
    for k, label in enumerate(np.unique(y)):
        rows = y == label
        axes.scatter(*X[rows].T, s=10, color=COLORS[k % len(COLORS)], label=str(label))
    axes.legend()


def _draw_decisions(axes: Any, model: Any, X: Any, y: Any) -> None:
    values = np.asarray(model.decision_function(X))
    title = "decision values"
    if values.ndim == 2:  # how far the best class is ahead of the second
        ranked = np.sort(values, axis=1)
        values, title = ranked[:, -1] - ranked[:, -2], "lead of the predicted class"
    bins = np.linspace(values.min(), values.max() + 1e-12, 40)
    groups = [(None, slice(None))] if y is None else [(label, y == label) for label in np.unique(y)]
    for k, (label, rows) in enumerate(groups):
        name = None if label is None else str(label)
        axes.hist(values[rows], bins=bins, alpha=0.6, color=COLORS[k % len(COLORS)], label=name)
    axes.axvline(0.0, color="black", linewidth=1)
    axes.set_title(title)
    axes.set_ylabel("rows")
    if y is not None:
        axes.legend()


def _draw_predictions(axes: Any, model: Any, X: Any, y: Any) -> None:
    predicted = np.asarray(model.predict(X))
    if y is None:
        axes.hist(predicted, bins=40, color=COLORS[0])
        axes.set_title("predictions")
        return
    axes.scatter(y, predicted, s=10, color=COLORS[0])
    ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
    axes.plot(ends, ends, color="black", linewidth=1)
    axes.set_xlabel("target")
    axes.set_ylabel("prediction")
    axes.set_title("predictions")
