"""One picture of a fitted classifier: how the fit converged, and how sure its answers are."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .style import BLUE, FLOOR, GREEN, GREY, VERMILION, require_matplotlib

__all__ = ["Duel", "closest_duels", "fit_report"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

COLUMNS, ROWS = 6, 2  # pictures of each kind


@dataclass(frozen=True)
class Duel:
    """The closest decision that each row's label depends on.

    Attributes
    ----------
    chosen, rival : array of int
        Numbers of the predicted class and of the one that came nearest to it.
    margin : array
        The decision between the two, positive for the predicted class.
    bound : array
        How far the exact optimum's decision can be from it.
    certain : array of bool
        Whether the exact optimum is proven to predict the same label.
    """

    chosen: Ids
    rival: Ids
    margin: Vector
    bound: Vector
    certain: NDArray[np.bool_]


def closest_duels(model: Any, X: Any) -> Duel:
    """Return the closest decision of each row.

    Parameters
    ----------
    model : SVC or NuSVC
        Fitted; one against one, with ``decision_function_shape="ovo"`` if it has more than two
        classes.
    X : array-like or CSR matrix of shape (n_rows, n_features)
        Rows.

    Returns
    -------
    Duel
        Predicted class, nearest rival, margin and bound of each row.
    """
    classes = len(model.classes_)
    pairs = list(combinations(range(classes), 2))
    decisions = np.asarray(model.decision_function(X), dtype=np.float64)
    decisions = -decisions[:, None] if classes == 2 else decisions
    if decisions.shape[1] != len(pairs):
        raise ValueError(
            f"decision_function gives {decisions.shape[1]} columns for {classes} classes, expected "
            f'{len(pairs)}, one for each pair; set decision_function_shape="ovo"'
        )
    bounds = np.asarray(model.decision_bound(X)).reshape(decisions.shape)
    chosen = np.searchsorted(model.classes_, model.predict(X))
    margins = np.full((chosen.size, classes), np.inf)
    widths = np.zeros((chosen.size, classes))
    for column, (a, b) in enumerate(pairs):
        for one, other, sign in ((a, b, 1.0), (b, a, -1.0)):
            rows = np.flatnonzero(chosen == one)
            margins[rows, other] = sign * decisions[rows, column]
            widths[rows, other] = bounds[rows, column]
    rival = np.argmin(margins, axis=1)
    at = np.arange(chosen.size)
    return Duel(
        chosen, rival, margins[at, rival], widths[at, rival], np.asarray(model.is_certain(X))
    )


def fit_report(model: Any, X: Any, y: Any, *, image_shape: tuple[int, int]) -> Any:
    """Draw the history of a fit beside the rows it is least and most sure of.

    Parameters
    ----------
    model : SVC or NuSVC
        Fitted, one against one.
    X : array of shape (n_rows, n_features)
        Rows to classify; each of them is drawn as a picture.
    y : array of shape (n_rows,)
        Their true labels.
    image_shape : tuple of int
        Height and width of the pictures.

    Returns
    -------
    matplotlib.figure.Figure
        The picture; ``savefig`` writes it to a file.

    Raises
    ------
    ImportError
        If matplotlib is missing; the sentence says what to install.
    """
    figure = _figure((13.0, 6.2))
    left, right = figure.subfigures(1, 2, width_ratios=(0.42, 0.58))
    _draw_history(left.subplots(), model)
    duel = closest_duels(model, X)
    order = np.argsort(duel.margin, kind="stable")
    count = min(ROWS * COLUMNS, order.size)
    least, most = right.subfigures(2, 1)
    may_change = f"{int((~duel.certain).sum())} of {order.size} may change"
    _draw_rows(
        least,
        f"Least certain: margin ± how far the optimum can be ({may_change})",
        (model, duel, order[:count], X, y, image_shape),
    )
    _draw_rows(most, "Most certain", (model, duel, order[::-1][:count], X, y, image_shape))
    return figure


def _figure(size: tuple[float, float]) -> Any:
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=size, dpi=150, layout="constrained")


def _draw_history(axes: Any, model: Any) -> None:
    """Draw gap and violation of each machine against the time since that machine began."""
    histories = [_History.of(machine) for machine in model.machines_]
    many = len(histories) > 1
    order = np.argsort([h.time[-1] for h in histories])
    typical = int(order[len(order) // 2])
    series = (
        ("relative duality gap", "gap", BLUE, "o"),
        ("KKT violation", "violation", VERMILION, "s"),
    )
    for label, name, colour, mark in series:
        for number, history in enumerate(histories):
            values = getattr(history, name)
            bold = number == typical
            style = {"color": colour, "zorder": 3 if bold else 2, "alpha": 1.0 if bold else 0.25}
            axes.plot(history.time, values[:-1], linewidth=2.4 if bold else 0.8, **style)
            axes.plot(
                history.time[-1], values[-1], mark, markersize=9 if bold else 4.5, **style,
                markeredgecolor="white", markeredgewidth=0.8, label=label if bold else None,
            )  # fmt: skip
    axes.axhline(model.tol, color=GREY, linestyle="--", linewidth=1)
    axes.annotate(
        f"asked for: tol = {model.tol:g}", (1, model.tol), xycoords=("axes fraction", "data"),
        xytext=(-4, 4), textcoords="offset points", ha="right", color=GREY,
    )  # fmt: skip
    axes.set_yscale("log")
    # A machine that waited for a core would squeeze all others to the left.
    last = histories[int(order[int(0.75 * (len(order) - 1))])].time[-1]
    axes.set_xlim(0, 1.3 * max(float(last), 1e-3))
    axes.set_xlabel("milliseconds since the machine began")
    axes.grid(True, which="major", color="#e5e5e5", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(
        f"{len(histories)} machines, one for each pair of classes" if many else "One machine",
        loc="left", fontweight="bold",
    )  # fmt: skip
    note = "lines: while running; marks: certified in float64"
    legend = axes.legend(
        loc="upper right", edgecolor="none", framealpha=0.85,
        title=note + ("\nbold: a typical one" if many else ""),
    )  # fmt: skip
    legend.get_title().set_color(GREY)
    legend.get_title().set_multialignment("right")


@dataclass(frozen=True)
class _History:
    """Milliseconds, and the gap and violation then; one more of each from the certificate."""

    time: Vector
    gap: Vector
    violation: Vector

    @classmethod
    def of(cls, machine: Any) -> "_History":
        history, certificate = machine.solution.history, machine.solution.certificate
        time = np.array([p.time for p in history] or [0.0])
        gap = [p.gap for p in history] or [certificate.relative_gap]
        violation = [p.violation for p in history] or [certificate.violation]
        return cls(
            1e3 * (time - time[0]),
            np.maximum([*gap, certificate.relative_gap], FLOOR),
            np.maximum([*violation, certificate.violation], FLOOR),
        )


def _draw_rows(panel: Any, title: str, what: tuple[Any, Duel, Ids, Any, Any, Any]) -> None:
    """Draw some rows as pictures, each with its label, its margin and what the bound allows."""
    model, duel, rows, X, y, image_shape = what
    panel.suptitle(title, x=0.01, ha="left", fontweight="bold")
    names = model.classes_
    grid = panel.subplots(ROWS, COLUMNS, squeeze=False).ravel()
    for axes in grid:
        axes.set_axis_off()
    for axes, row in zip(grid, rows, strict=False):
        axes.imshow(np.reshape(X[row], image_shape), cmap="Greys", interpolation="nearest")
        label, truth = names[duel.chosen[row]], y[row]
        right = bool(label == truth)
        head = f"{label}" if right else f"{label} (is {truth})"
        axes.set_title(
            f"{head}, not {names[duel.rival[row]]}",
            color=GREEN if right else VERMILION, fontsize=9.5, fontweight="bold", pad=3,
        )  # fmt: skip
        state = "certain" if duel.certain[row] else "may change"
        axes.text(
            0.5, -0.06, f"{_number(duel.margin[row])} ± {duel.bound[row]:.3f}\n{state}",
            transform=axes.transAxes, ha="center", va="top", fontsize=8, color="#333333",
        )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "\N{MINUS SIGN}")
