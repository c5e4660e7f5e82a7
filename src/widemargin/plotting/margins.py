"""How far rows lie on the right side: a histogram of their margins."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .reading import dense_labels, leads, number_classes, shows_margin, weight_norm
from .style import COLORS, class_color, clean, legend_outside, new_axes

__all__ = ["MarginDisplay"]

Vector = NDArray[np.float64]
SHORT = 1e-3  # rows on the margin itself are within this share of it


@dataclass(eq=False)
class MarginDisplay:
    """Histogram of the margins of rows, a colour for each class.

    Made by ``from_estimator``; ``plot`` draws it again on other axes.

    Attributes
    ----------
    margins : array of shape (n_rows,)
        y f(x); or, geometric, the signed distance from the boundary.
    numbers : array of int of shape (n_rows,)
        The class of each row.
    classes : array
        Labels.
    edge : float or None
        Where the margin ends: 1, or geometric 1 / ||w||; None if there is none.
    geometric : bool
        Whether margins are distances.
    counts : array of shape (n_classes, n_bins)
        Rows of each class in each bin.
    edges : array of shape (n_bins + 1,)
        Bounds of the bins.
    ax_, figure_
        What was drawn on.

    Examples
    --------
    >>> from widemargin import SVC
    >>> from widemargin.plotting import MarginDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = SVC(kernel="linear", C=10.0).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, X, y)
    >>> display.margins.round(2)
    array([3., 1., 1., 3.])
    """

    margins: Vector
    numbers: NDArray[np.int64]
    classes: Any
    edge: float | None
    geometric: bool
    counts: Vector
    edges: Vector

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, geometric: bool | None = None, bins: int = 40,
        legend: bool = True, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the margins of rows.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Their labels.
        geometric : bool, default=None
            Whether to show distances in feature space, y f(x) / ||w||, instead of y f(x). None
            shows them for more than two classes where the estimator has ``margin``, since machines
            for pairs of classes have no other common scale.
        bins : int, default=40
            Number of bins.
        legend : bool, default=True
            Whether to draw a legend, beside the axes.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        MarginDisplay
            What was drawn.
        """
        X = X if hasattr(X, "tocsr") else np.asarray(X)
        classes = np.asarray(estimator.classes_)
        numbers = number_classes(dense_labels(y), classes)
        many = len(classes) > 2
        if geometric is None:
            geometric = many and hasattr(estimator, "margin")
        margins = (
            _distances(estimator, X, y, numbers) if geometric else leads(estimator, X, numbers)
        )
        edge = None
        if shows_margin(estimator) and not many:
            edge = 0.5 * _width(estimator) if geometric else 1.0
        low, high = min(0.0, margins.min()), max(edge or 0.0, margins.max())
        edges = _bins(low, high, bins)
        counts = np.stack(
            [np.histogram(margins[numbers == k], edges)[0] for k in range(len(classes))]
        )
        display = cls(margins, numbers, classes, edge, geometric, counts.astype(float), edges)
        return display.plot(ax=ax, legend=legend)

    def plot(self, *, ax: Any = None, legend: bool = True) -> Self:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Whether to draw a legend, beside the axes.

        Returns
        -------
        MarginDisplay
            This display.
        """
        ax = new_axes(ax, (6.6, 4.0))
        self.ax_, self.figure_ = ax, ax.figure
        self._draw_bars(ax)
        ax.axvline(0.0, color="#222222", linewidth=1.8, label="boundary")
        wrong = int((self.margins < 0).sum())
        title = f"{wrong} of {self.margins.size} rows on the wrong side"
        if self.edge is not None:
            ax.axvline(self.edge, color="#222222", linewidth=1.2, linestyle="--", label="margin")
            short = int((self.margins < self.edge * (1 - SHORT)).sum())
            title += f", {short} short of the margin"
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set_xlim(self.edges[0], self.edges[-1])
        if self.geometric:
            ax.set_xlabel("distance from the boundary")
        elif len(self.classes) > 2:
            ax.set_xlabel("lead of the true class")
        else:
            ax.set_xlabel("margin  y f(x)")
        ax.set_ylabel("rows")
        clean(ax, grid="y")
        if legend:
            legend_outside(ax)
        return self

    def _draw_bars(self, ax: Any) -> None:
        """Draw the bars: of each class, if there are not more than colours."""
        many = len(self.classes) > len(COLORS)
        stacked = self.counts.sum(axis=0, keepdims=True) if many else self.counts
        below = np.zeros(self.counts.shape[1])
        for k, count in enumerate(stacked):
            ax.bar(
                self.edges[:-1], count, np.diff(self.edges), bottom=below, align="edge",
                color=class_color(k), edgecolor="white", linewidth=0.4,
                label="all classes" if many else f"class {self.classes[k]}",
            )  # fmt: skip
            below = below + count


def _bins(low: float, high: float, count: int) -> Vector:
    """Return bin edges of which one is zero, so that no bar holds rows of both sides."""
    width = max(high - low, 1e-12) / count
    first, last = int(np.floor(low / width)), int(np.ceil(high / width))
    edges = np.asarray(width * np.arange(first, last + 1), dtype=np.float64)
    return edges if edges[-1] > high else np.append(edges, edges[-1] + width)


def _distances(estimator: Any, X: Any, y: Any, numbers: NDArray[np.int64]) -> Vector:
    if hasattr(estimator, "margin"):
        return np.asarray(estimator.margin(X, y), dtype=np.float64)
    norm = weight_norm(estimator)
    if norm is None:
        raise ValueError(
            f"geometric=True needs the length of w, which {type(estimator).__name__} does not "
            "tell; set geometric=False"
        )
    return leads(estimator, X, numbers) / max(norm, np.finfo(np.float64).tiny)


def _width(estimator: Any) -> float:
    if hasattr(estimator, "margin_width_"):
        return float(estimator.margin_width_)
    return 2.0 / max(weight_norm(estimator) or 0.0, np.finfo(np.float64).tiny)
