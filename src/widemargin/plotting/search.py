"""Where the good points of a search are: a heat map over two parameters, or a curve over one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .style import BLUE, VERMILION, clean, new_axes

__all__ = ["SearchDisplay"]

Vector = NDArray[np.float64]
MOST_NUMBERS = 150  # cells in which the score is written


@dataclass(eq=False)
class SearchDisplay:
    """Scores of a search over one or two parameters.

    Made by ``from_estimator``, of a grid search, or ``from_points``; ``plot`` draws it again.

    Attributes
    ----------
    names : tuple of str
        The parameters, one or two.
    points : array of shape (n_points, 1 or 2)
        Their values.
    scores : array of shape (n_points,)
        What was reached.
    spread : array of shape (n_points,) or None
        Standard deviation over the folds.
    measure : str
        What the score is.
    best : int
        Number of the best point.
    ax_, figure_
        What was drawn on.

    Examples
    --------
    >>> from widemargin.plotting import SearchDisplay
    >>> points = [(1, 0.1), (1, 1.0), (10, 0.1), (10, 1.0)]
    >>> display = SearchDisplay.from_points(points, [0.8, 0.7, 0.9, 0.6], names=("C", "gamma"))
    >>> display.points[display.best]
    array([10. ,  0.1])
    """

    names: tuple[str, ...]
    points: Vector
    scores: Vector
    spread: Vector | None
    measure: str
    best: int

    @classmethod
    def from_estimator(
        cls, search: Any, *, parameters: Sequence[str] | None = None, measure: str | None = None,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw a search of scikit-learn.

        Parameters
        ----------
        search : GridSearchCV, RandomizedSearchCV or alike
            Fitted.
        parameters : sequence of str, default=None
            One or two parameters to show; at equal values the best score counts. None takes those
            that vary, if they are numbers and not more than two.
        measure : str, default=None
            What to call the score.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SearchDisplay
            What was drawn.
        """
        results = getattr(search, "cv_results_", None)
        if results is None:
            raise ValueError(
                f"{type(search).__name__} has no cv_results_; fit the search before drawing it"
            )
        settings = results["params"]
        names = _varying(settings) if parameters is None else tuple(parameters)
        if not 1 <= len(names) <= 2:
            raise ValueError(
                f"parameters must name one or two, found {len(names)}: {', '.join(names)}"
            )
        points = np.array([[float(s[name]) for name in names] for s in settings])
        scores = np.asarray(results["mean_test_score"], dtype=np.float64)
        spread = np.asarray(results["std_test_score"], dtype=np.float64)
        kept = _best_of_equal(points, scores)
        scoring = getattr(search, "scoring", None)
        name = measure or (scoring if isinstance(scoring, str) else "score")
        return cls.from_points(
            points[kept], scores[kept], names=_short(names), spread=spread[kept],
            measure=f"{name}, cross-validated".replace("_", " "), ax=ax,
        )  # fmt: skip

    @classmethod
    def from_points(
        cls, points: Any, scores: Any, *, names: Sequence[str], spread: Any = None,
        measure: str = "score", larger_is_better: bool = True, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw any points with their scores.

        Parameters
        ----------
        points : array-like of shape (n_points, 1 or 2)
            Values of the parameters.
        scores : array-like of shape (n_points,)
            What was reached.
        names : sequence of str
            Names of the parameters.
        spread : array-like of shape (n_points,), default=None
            Standard deviations, drawn as a band over one parameter.
        measure : str, default="score"
            What the score is.
        larger_is_better : bool, default=True
            Whether the largest score is the best; False for an error.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SearchDisplay
            What was drawn.
        """
        points = np.asarray(points, dtype=np.float64)
        points = points.reshape(len(points), -1)
        scores = np.asarray(scores, dtype=np.float64)
        if points.shape != (scores.size, len(names)) or len(names) not in (1, 2):
            raise ValueError(
                f"points must have a row for each of the {scores.size} scores and a column for "
                f"each of the names {tuple(names)}, one or two, found shape {points.shape}"
            )
        best = int(np.nanargmax(scores if larger_is_better else -scores))
        spread = None if spread is None else np.asarray(spread, dtype=np.float64)
        return cls(tuple(names), points, scores, spread, measure, best).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the search.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        SearchDisplay
            This display.
        """
        ax = new_axes(ax)
        self.ax_, self.figure_ = ax, ax.figure
        at = ", ".join(
            f"{n}={v:.4g}" for n, v in zip(self.names, self.points[self.best], strict=True)
        )
        ax.set_title(f"best {self.scores[self.best]:.4g} at {at}", loc="left")
        if len(self.names) == 1:
            self._draw_curve(ax)
        else:
            values = [np.unique(self.points[:, k]) for k in range(2)]
            full = values[0].size * values[1].size == len(self.points)
            if full and len(np.unique(self.points, axis=0)) == len(self.points):
                self._draw_grid(ax, values)
            else:
                self._draw_scattered(ax)
        return self

    def _draw_curve(self, ax: Any) -> None:
        order = np.argsort(self.points[:, 0], kind="stable")
        x, y = self.points[order, 0], self.scores[order]
        if self.spread is not None:
            band = self.spread[order]
            ax.fill_between(x, y - band, y + band, color=BLUE, alpha=0.15, linewidth=0)
        ax.plot(x, y, "o-", color=BLUE)
        ax.plot(self.points[self.best, 0], self.scores[self.best], "*", **_star())
        if _is_logarithmic(x):
            ax.set_xscale("log")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.measure)
        clean(ax, grid="both")

    def _draw_grid(self, ax: Any, values: Sequence[Vector]) -> None:
        first, second = values
        table = np.full((second.size, first.size), np.nan)
        columns = np.searchsorted(first, self.points[:, 0])
        rows = np.searchsorted(second, self.points[:, 1])
        table[rows, columns] = self.scores
        shown = ax.imshow(table, origin="lower", cmap="cividis", aspect="auto")
        ax.figure.colorbar(shown, ax=ax, label=self.measure)
        ax.set_xticks(range(first.size), [f"{v:.3g}" for v in first])
        ax.set_yticks(range(second.size), [f"{v:.3g}" for v in second])
        if first.size > 8:
            ax.tick_params("x", rotation=45)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        if table.size <= MOST_NUMBERS:
            middle = 0.5 * (np.nanmin(table) + np.nanmax(table))
            for i, j in np.argwhere(np.isfinite(table)):
                color = "black" if table[i, j] > middle else "white"
                text = f"{table[i, j]:.3f}" if abs(table[i, j]) < 10 else f"{table[i, j]:.4g}"
                ax.text(j, i, text, ha="center", va="center", fontsize=8, color=color)
        from matplotlib.patches import Rectangle

        corner = columns[self.best] - 0.5, rows[self.best] - 0.5
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=VERMILION, linewidth=2.5))

    def _draw_scattered(self, ax: Any) -> None:
        x, y = self.points.T
        logarithmic = _is_logarithmic(x), _is_logarithmic(y)
        wide = len(np.unique(x)) > 1 and len(np.unique(y)) > 1 and len(x) > 3
        if wide and self.scores.min() < self.scores.max():
            flat = [np.log(v) if log else v for v, log in zip((x, y), logarithmic, strict=True)]
            shown = self._contours(ax, flat, (x, y))
            ax.figure.colorbar(shown, ax=ax, label=self.measure)
        ax.scatter(x, y, c="black", s=9, zorder=3)
        ax.plot(x[self.best], y[self.best], "*", **_star())
        for axis, log in zip("xy", logarithmic, strict=True):
            if log:
                getattr(ax, f"set_{axis}scale")("log")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])

    def _contours(self, ax: Any, flat: Sequence[Vector], shown: tuple[Vector, Vector]) -> Any:
        """Fill between the points, whose triangles are chosen on the scales of the axes."""
        from matplotlib.tri import Triangulation

        triangles = Triangulation(*flat).triangles
        return ax.tricontourf(
            Triangulation(*shown, triangles=triangles), self.scores, levels=12, cmap="cividis"
        )


def _star() -> dict[str, Any]:
    return {"color": VERMILION, "markersize": 17, "markeredgecolor": "white", "zorder": 4}


def _is_logarithmic(values: Vector) -> bool:
    """Whether the values span so many orders of magnitude that a linear axis would hide most."""
    return bool(values.min() > 0 and values.max() >= 30 * values.min())


def _varying(settings: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Return the parameters that are numbers, and not the same in all settings."""
    names = sorted({name for setting in settings for name in setting})
    columns = {name: [setting.get(name) for setting in settings] for name in names}
    return tuple(
        name for name, values in columns.items() if all(map(_is_number, values))
        and len(set(values)) > 1
    )  # fmt: skip


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _short(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names without the steps of a pipeline, where that leaves them different."""
    short = tuple(name.rpartition("__")[2] for name in names)
    return short if len(set(short)) == len(short) else tuple(names)


def _best_of_equal(points: Vector, scores: Vector) -> NDArray[np.int64]:
    """Return, of the rows with the same point, the one with the best score."""
    order = np.argsort(-scores, kind="stable")
    _, first = np.unique(points[order], axis=0, return_index=True)
    return np.sort(order[first])
