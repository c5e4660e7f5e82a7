"""The picture of a comparison: time against set, a mark for each library."""

from collections.abc import Sequence
from pathlib import Path

from .report import Comparison, unique
from .rivals import OURS, RIVALS

# Told apart with every kind of colour vision (M. Okabe, K. Ito, Color Universal Design, 2002).
STYLES = {
    "widemargin": ("#0072B2", "o"),
    "sklearn": ("#D55E00", "s"),
    "sklearnex": ("#009E73", "^"),
    "libsvm": ("#CC79A7", "D"),
    "thundersvm": ("#E69F00", "v"),
}


def draw(items: Sequence[Comparison], path: Path) -> None:
    """Draw the times of fitting into a file, a panel for each number of threads."""
    from matplotlib.figure import Figure

    counts = unique(item.threads for item in items)
    figure = Figure(figsize=(1.5 + 5.5 * len(counts), 5), dpi=150, layout="constrained")
    grid = figure.subplots(1, len(counts), sharey=True, squeeze=False)[0]
    for axes, threads in zip(grid, counts, strict=True):
        panel(axes, [item for item in items if item.threads == threads])
        axes.set_title(f"{threads} thread" + "s" * (threads > 1), loc="left", fontweight="bold")
    grid[0].set_ylabel("seconds to fit")
    figure.savefig(path)


def panel(axes, items: Sequence[Comparison]) -> None:
    order = sorted(items, key=lambda i: max(e.seconds.get("fit", 0) for e in i.entries.values()))
    for rival in RIVALS:
        places, seconds, bounds = [], [], []
        for place, item in enumerate(order):
            entry = item.entries.get(rival)
            if entry is None or "fit" not in entry.seconds:
                continue
            places.append(place)
            seconds.append(entry.seconds["fit"])
            bounds.append("fit" in entry.at_limit)
        if not places:
            continue
        colour, mark = STYLES[rival]
        ours = rival == OURS
        axes.plot(
            places, seconds, mark, color=colour, label=rival, markersize=9 if ours else 6.5,
            linestyle="none", zorder=3 if ours else 2,
        )  # fmt: skip
        for place, value, bound in zip(places, seconds, bounds, strict=True):
            if bound:
                axes.annotate("not finished", (place, value), xytext=(0, 6), fontsize=7,
                              textcoords="offset points", ha="center", color=colour)  # fmt: skip
    axes.set_yscale("log")
    axes.set_xticks(range(len(order)), [item.set for item in order], rotation=35, ha="right")
    axes.grid(True, axis="y", color="#e5e5e5")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
