"""What all pictures share: axes, colours, marks and where a legend may stand."""

from typing import Any

import numpy as np

__all__ = [
    "BLUE",
    "COLORS",
    "FLOOR",
    "GREEN",
    "GREY",
    "MARKS",
    "VERMILION",
    "class_color",
    "class_mark",
    "clean",
    "legend_outside",
    "new_axes",
    "require_matplotlib",
    "tint",
]

# Told apart with every kind of colour vision (M. Okabe, K. Ito, Color Universal Design, 2002).
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"
COLORS = (BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#777777", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")  # one less, so that pairs of both are 56
FLOOR = 1e-16  # a logarithmic axis shows no zero


def require_matplotlib() -> Any:
    """Return matplotlib's pyplot, or say what to install."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(
            "matplotlib is needed to draw and is not installed; "
            'install it with: pip install "widemargin[plot]"'
        ) from None
    return pyplot


def new_axes(ax: Any, size: tuple[float, float] = (6.0, 4.6), columns: int = 1) -> Any:
    """Return the given axes, or those of a new figure: one, or an array of `columns`."""
    pyplot = require_matplotlib()
    if ax is None:
        figure = pyplot.figure(figsize=(size[0] * columns, size[1]), layout="constrained")
        ax = figure.subplots(1, columns, squeeze=False)[0]
        return ax[0] if columns == 1 else ax
    if columns > 1 and np.size(ax) != columns:
        raise ValueError(f"ax must hold {columns} axes, one for each panel, found {np.size(ax)}")
    return ax


def class_color(number: int) -> str:
    """Return the colour of a class."""
    return COLORS[number % len(COLORS)]


def class_mark(number: int) -> str:
    """Return the mark of a class, for those who print without colours."""
    return MARKS[number % len(MARKS)]


def tint(color: str, strength: float) -> tuple[float, float, float]:
    """Return the colour mixed with white; a strength of 1 leaves it as it is."""
    channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (1.0 - strength * (1.0 - value) for value in channels)
    return red, green, blue


def clean(ax: Any, *, grid: str | None = None) -> None:
    """Take away the frame's upper and right side; draw a faint grid along an axis, or "both"."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(True, axis=grid, which="major", color="#e5e5e5", linewidth=0.8)
        ax.set_axisbelow(True)


def legend_outside(ax: Any, handles: Any = None, title: str | None = None) -> Any:
    """Put the legend beside the axes, where it hides no data."""
    chosen = {} if handles is None else {"handles": handles}
    return ax.legend(
        **chosen, title=title, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0,
        frameon=False, alignment="left",
    )  # fmt: skip
