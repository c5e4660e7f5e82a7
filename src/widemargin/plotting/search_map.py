"""A map of a search over C and gamma: where the good points are."""

from collections.abc import Sequence
from typing import Any

__all__ = ["search_map"]


def search_map(points: Sequence[tuple[float, float | None, float]], measure: str) -> Any:
    """Draw the score of each point of a search.

    Parameters
    ----------
    points : sequence of (log2 C, log2 gamma or None, score)
        What was found.
    measure : str
        What the score is; of an error the smallest is best.

    Returns
    -------
    matplotlib.figure.Figure
        A map with contours where both parameters vary, else a curve; a star marks the best point.

    Examples
    --------
    >>> from widemargin.plotting import search_map
    >>> figure = search_map([(0, -1, 0.8), (2, -1, 0.9), (0, 1, 0.7)], "accuracy")
    >>> figure.axes[0].get_xlabel()
    'log2 C'
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.add_subplot()
    xs, ys, values = zip(*points, strict=True)
    best = (min if "error" in measure else max)(range(len(values)), key=values.__getitem__)
    axes.set_xlabel("log2 C")
    if any(y is None for y in ys):
        order = sorted(range(len(xs)), key=xs.__getitem__)
        axes.plot([xs[k] for k in order], [values[k] for k in order], "o-", color="#0072B2")
        axes.plot(xs[best], values[best], "*", color="#D55E00", markersize=16)
        axes.set_ylabel(measure)
    else:
        flat = len(set(xs)) < 2 or len(set(ys)) < 2
        if not flat and len(points) > 3 and min(values) < max(values):
            filled = axes.tricontourf(xs, ys, values, levels=12, cmap="viridis", alpha=0.8)
            figure.colorbar(filled, ax=axes, label=measure)
        axes.scatter(xs, ys, c="black", s=8)
        axes.plot(xs[best], ys[best], "*", color="#D55E00", markersize=16)
        axes.set_ylabel("log2 gamma")
    axes.set_title(f"best {measure} {values[best]:.6g}")
    return figure
