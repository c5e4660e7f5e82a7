"""A picture of any fitted machine: how the fit converged, and what it does with data."""

from typing import Any

import numpy as np

from .convergence import ConvergenceDisplay
from .decision_regions import DecisionRegionsDisplay
from .margins import MarginDisplay
from .mistakes import MistakesDisplay
from .style import BLUE, clean, require_matplotlib

__all__ = ["model_picture"]


def model_picture(model: Any, X: Any = None, y: Any = None) -> Any:
    """Draw the history of a fit and, with data, its decisions.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array-like or CSR matrix of shape (n_rows, n_features), default=None
        Rows to show decisions of: with two features as regions of the plane, else as a histogram
        of margins or decision values, or predictions against targets.
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
    require_matplotlib()
    from matplotlib.figure import Figure

    history = getattr(model, "history_", ())
    if not history and X is None:
        raise ValueError(
            f"{type(model).__name__} has no history of its fit, since it comes from a file of "
            "another program; give data to show its decisions"
        )
    panels = bool(history) + (X is not None)
    figure = Figure(figsize=(6.4 * panels, 4.4), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, panels)))
    if history and hasattr(model, "mistakes_"):
        MistakesDisplay.from_estimator(model, ax=axes.pop(0))
    elif history:
        ConvergenceDisplay.from_estimator(model, show="gap", ax=axes.pop(0))
    if X is not None:
        X = np.asarray(X) if not hasattr(X, "tocsr") else X.tocsr()
        _draw_data(axes[0], model, X, None if y is None else np.asarray(y))
    return figure


def _draw_data(ax: Any, model: Any, X: Any, y: Any) -> None:
    classifies = hasattr(model, "classes_")
    known = y is not None and classifies and bool(np.isin(y, model.classes_).all())
    detects = not classifies and hasattr(model, "decision_function")
    if X.shape[1] == 2:
        labels = y if known or (detects and y is not None and np.isin(y, (-1, 1)).all()) else None
        DecisionRegionsDisplay.from_estimator(model, X, labels, ax=ax)
    elif known:
        MarginDisplay.from_estimator(model, X, y, ax=ax)
    elif classifies or detects:
        values = np.asarray(model.decision_function(X))
        if values.ndim == 2:  # how far the best class is ahead of the second
            ranked = np.sort(values, axis=1)
            values = ranked[:, -1] - ranked[:, -2]
        _histogram(ax, values, "decision value" if detects else "lead of the predicted class")
    elif y is None:
        _histogram(ax, np.asarray(model.predict(X)), "prediction")
    else:
        _draw_predictions(ax, np.asarray(model.predict(X)), y)


def _histogram(ax: Any, values: Any, name: str) -> None:
    ax.hist(values, bins=40, color=BLUE, edgecolor="white", linewidth=0.4)
    ax.set_xlabel(name)
    ax.set_ylabel("rows")
    clean(ax, grid="y")


def _draw_predictions(ax: Any, predicted: Any, y: Any) -> None:
    ax.scatter(y, predicted, s=12, color=BLUE, alpha=0.6, edgecolors="none")
    ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
    ax.plot(ends, ends, color="#222222", linewidth=1)
    ax.set_xlabel("target")
    ax.set_ylabel("prediction")
    clean(ax, grid="both")
