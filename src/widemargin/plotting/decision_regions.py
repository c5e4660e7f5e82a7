"""What a machine decides in a plane: regions, the band of the margin, support vectors in rings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .plane import Plane, choose_plane
from .reading import dense_labels, number_classes, shows_margin
from .style import (
    BLUE,
    GREY,
    VERMILION,
    class_color,
    class_mark,
    legend_outside,
    new_axes,
    tint,
)

__all__ = ["DecisionRegionsDisplay"]

Matrix = NDArray[np.float64]

LIGHT, FAINT = 0.38, 0.16  # strength of a region's colour beyond the margin and within it
ON_MARGIN = 1e-3  # rows this close to the margin count as on it


@dataclass(eq=False)
class DecisionRegionsDisplay:
    """Decision regions with the margin band and ringed support vectors.

    Made by ``from_estimator``; ``plot`` draws it again on other axes.

    Attributes
    ----------
    grid : tuple of two arrays of shape (resolution, resolution)
        Coordinates of the points where the machine was asked.
    values : array of shape (resolution, resolution) or (n_classes, resolution, resolution)
        Two classes, detectors and regressors: the decision value. More classes: by how much each
        class is ahead of the best other one, positive in its region.
    points : array of shape (n_rows, 2)
        The rows, in the coordinates of the plane.
    numbers : array of int of shape (n_rows,) or None
        The class of each row.
    classes : array or None
        Labels.
    support : array of shape (n_support, 2)
        The rows that are ringed.
    plane : Plane
        The plane, which tells what each point stands for.
    margin : bool
        Whether decision values of -1 and 1 bound a margin.
    agreement : float or None
        Share of the rows that lie in the region of their own prediction; 1 with two features.
    ax_, figure_
        What was drawn on.

    Examples
    --------
    >>> from widemargin import SVC
    >>> from widemargin.plotting import DecisionRegionsDisplay
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0, 1, 1]
    >>> display = DecisionRegionsDisplay.from_estimator(SVC(C=10).fit(X, y), X, y)
    >>> display.support.shape, display.margin
    ((3, 2), True)
    """

    grid: tuple[Matrix, Matrix]
    values: Matrix
    points: Matrix
    numbers: NDArray[np.int64] | None
    classes: Any
    support: Matrix
    plane: Plane
    margin: bool
    agreement: float | None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, features: Sequence[Any] | None = None,
        projection: Any = None, margin: bool | None = None, support: bool = True,
        resolution: int = 200, legend: bool = True, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw what a fitted estimator decides.

        Parameters
        ----------
        estimator : estimator
            Fitted: a classifier, a detector, or a regressor, which is drawn by its values.
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows to show; they bound the picture.
        y : array-like of shape (n_rows,), default=None
            Their labels.
        features : pair of int or str, default=None
            Two columns to show; all others stay at their median.
        projection : {"weights", "pca"} or array of shape (2, n_features), default=None
            Directions of a plane through the mean. "weights" lays the first along the weights of a
            linear machine, so that each row is seen at its true distance from the boundary; "pca"
            takes the principal ones. None shows two features as they are, and of more takes
            "weights" where it can.
        margin : bool, default=None
            Whether to draw the margin band; None draws it for support vector machines.
        support : bool, default=True
            Whether to ring support vectors.
        resolution : int, default=200
            Points a side at which the estimator is asked.
        legend : bool, default=True
            Whether to draw a legend, beside the axes.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        DecisionRegionsDisplay
            What was drawn.
        """
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        plane = choose_plane(estimator, X, features, projection)
        points = plane.place(X)
        grid = _grid(points, resolution)
        flat = np.column_stack([side.ravel() for side in grid])
        classes, numbers, found = _classes(estimator, y)
        values = _values(estimator, plane, flat, found)
        with_margin = shows_margin(estimator) if margin is None else margin
        ringed = _ringed(estimator, plane, X, numbers, with_margin) if support else np.empty((0, 2))
        display = cls(
            grid=grid,
            values=values.reshape(*values.shape[:-1], resolution, resolution),
            points=points,
            numbers=numbers,
            classes=classes,
            support=ringed,
            plane=plane,
            margin=bool(with_margin and values.ndim == 1),
            agreement=_agreement(estimator, plane, X, points) if found is not None else None,
        )
        return display.plot(ax=ax, legend=legend)

    def plot(self, *, ax: Any = None, legend: bool = True) -> Self:
        """Draw the regions.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Whether to draw a legend, beside the axes.

        Returns
        -------
        DecisionRegionsDisplay
            This display.
        """
        ax = new_axes(ax, (6.6, 4.6))
        self.ax_, self.figure_ = ax, ax.figure
        if self.values.ndim == 3:
            self._draw_classes(ax)
        elif self.classes is None:
            shown = ax.contourf(*self.grid, self.values, levels=20, cmap="viridis")
            ax.figure.colorbar(shown, ax=ax, label="prediction")
        else:
            self._draw_two(ax)
        self._draw_points(ax)
        ax.set_xlim(self.grid[0].min(), self.grid[0].max())
        ax.set_ylim(self.grid[1].min(), self.grid[1].max())
        ax.locator_params(nbins=6)
        ax.set_xlabel(self.plane.names[0])
        ax.set_ylabel(self.plane.names[1])
        if legend and self.classes is not None:
            legend_outside(ax)
        return self

    def _draw_two(self, ax: Any) -> None:
        """Draw the regions of two classes, and the lines where the decision is -1, 0 and 1."""
        levels = (-1.0, 0.0, 1.0) if self.margin else (0.0,)
        within = (FAINT,) * (len(levels) // 2)
        colors = [
            *(tint(BLUE, s) for s in (LIGHT, *within)),
            *(tint(VERMILION, s) for s in (*within, LIGHT)),
        ]
        low, high = self.values.min(), self.values.max()
        edges = [min(low, levels[0]) - 1.0, *levels, max(high, levels[-1]) + 1.0]
        ax.contourf(*self.grid, self.values, levels=edges, colors=colors)
        for level in levels:
            if low < level < high:
                boundary = level == 0
                ax.contour(
                    *self.grid, self.values, levels=[level], colors="#222222",
                    linewidths=1.8 if boundary else 1.0, linestyles="-" if boundary else "--",
                )  # fmt: skip
        ax.plot([], [], color="#222222", linewidth=1.8, label="decision boundary")
        if self.margin:
            ax.plot([], [], color="#222222", linewidth=1.0, linestyle="--", label="margin")

    def _draw_classes(self, ax: Any) -> None:
        for k, lead in enumerate(self.values):
            if lead.max() <= 0:
                continue
            ax.contourf(
                *self.grid, lead, levels=[0.0, lead.max() + 1.0],
                colors=[tint(class_color(k), LIGHT)],
            )  # fmt: skip
            if lead.min() < 0:
                ax.contour(*self.grid, lead, levels=[0.0], colors="#222222", linewidths=1.0)

    def _draw_points(self, ax: Any) -> None:
        size = float(np.clip(9000 / max(1, len(self.points)), 7, 42))
        style = {"s": size, "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        if self.numbers is None:
            ax.scatter(*self.points.T, color=GREY, **style)
        else:
            for k, label in enumerate(self.classes):
                rows = self.points[self.numbers == k]
                color, mark = class_color(k), class_mark(k)
                ax.scatter(*rows.T, color=color, marker=mark, label=f"class {label}", **style)
        if len(self.support):
            ax.scatter(
                *self.support.T, s=2.6 * size + 18, facecolors="none", edgecolors="#222222",
                linewidths=1.0, zorder=4, label=f"{len(self.support)} support vectors",
            )  # fmt: skip


def _grid(points: Matrix, resolution: int) -> tuple[Matrix, Matrix]:
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.08 * np.maximum(high - low, 1e-9)
    sides = [np.linspace(a, b, resolution) for a, b in zip(low - room, high + room, strict=True)]
    first, second = np.meshgrid(*sides)
    return first, second


def _classes(estimator: Any, y: Any) -> tuple[Any, NDArray[np.int64] | None, Any]:
    """Return the labels to show, the class number of each row, and the estimator's own labels."""
    own = getattr(estimator, "classes_", None)
    if own is None and not hasattr(estimator, "decision_function"):
        return None, None, None
    own = np.array([-1, 1]) if own is None else np.asarray(own)  # of a detector: outside, inside
    numbers = None if y is None else number_classes(dense_labels(y), own)
    return own, numbers, own


def _values(estimator: Any, plane: Plane, flat: Matrix, classes: Any) -> Matrix:
    """Return decision values (two classes), leads (more), or predictions (regressors)."""
    if classes is None:
        return np.asarray(plane.evaluate(estimator.predict, flat), dtype=np.float64)
    chosen = number_classes(plane.evaluate(estimator.predict, flat), classes)
    decide = getattr(estimator, "decision_function", None)
    scores = None if decide is None else np.asarray(plane.evaluate(decide, flat), dtype=np.float64)
    if len(classes) == 2:
        return np.where(chosen == 1, 1.0, -1.0) if scores is None else scores
    fits = scores is not None and scores.shape == (len(flat), len(classes))
    if fits and scores is not None and np.array_equal(np.argmax(scores, axis=1), chosen):
        ranked = np.sort(scores, axis=1)
        best, second = ranked[:, -1:], ranked[:, -2:-1]
        return np.where(scores == best, scores - second, scores - best).T
    return np.where(chosen[None, :] == np.arange(len(classes))[:, None], 0.5, -0.5)


def _ringed(
    estimator: Any, plane: Plane, X: Any, numbers: NDArray[np.int64] | None, margin: bool
) -> Matrix:
    """Return where the support vectors are, or the rows on the margin and beyond it."""
    vectors = getattr(estimator, "support_vectors_", None)
    shape: tuple[int, ...] = getattr(vectors, "shape", ())
    if vectors is not None and len(shape) == 2 and shape[1] == plane.origin.size:
        return plane.place(vectors)
    if vectors is not None or not margin or numbers is None:
        return np.empty((0, 2))
    scores = np.asarray(estimator.decision_function(X))
    if scores.ndim != 1:
        return np.empty((0, 2))
    lead = np.where(numbers == 1, scores, -scores)
    return plane.place(X[np.flatnonzero(lead <= 1.0 + ON_MARGIN)])


def _agreement(estimator: Any, plane: Plane, X: Any, points: Matrix) -> float:
    """Return how many rows have the same prediction as the point they are shown at."""
    if plane.origin.size == 2:
        return 1.0
    return float(np.mean(plane.evaluate(estimator.predict, points) == estimator.predict(X)))
