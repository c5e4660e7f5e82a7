"""The exact path of a machine over C: multipliers and errors between the breakpoints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .style import BLUE, COLORS, VERMILION, clean, new_axes

__all__ = ["PathDisplay"]

Vector = NDArray[np.float64]
PANELS = ("alpha", "error")
BEYOND = 1.5  # factor by which the picture goes further than the breakpoints
BETWEEN = 3  # further values of C between two breakpoints, where shares of C are curved
MOST = 600  # values of C in all
MARKED = 80  # breakpoints, above which their ticks would be a solid bar


@dataclass(eq=False)
class PathDisplay:
    """Multipliers and errors of every soft-margin machine, from the smallest C to the largest.

    Made by ``from_path``; ``plot`` draws it again on other axes.

    Attributes
    ----------
    breakpoints : array
        The values of C where the path bends.
    C : array
        The values of C that are drawn: breakpoints and some between them.
    shares : array of shape (n_C, n_rows)
        alpha_i / C, between 0 and 1.
    errors : dict of str to array of shape (n_C,)
        Share of wrong rows, "training" and possibly "test".
    axes_, figure_
        What was drawn on, an axes for each panel.
    """

    breakpoints: Vector
    C: Vector
    shares: Vector
    errors: dict[str, Vector]

    @classmethod
    def from_path(
        cls, path: Any, X_test: Any = None, y_test: Any = None, *,
        show: str | Sequence[str] = PANELS, rows: Sequence[int] | None = None, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw a path.

        Parameters
        ----------
        path : object
            What ``svm_path`` returns.
        X_test, y_test : array-like, default=None
            Rows whose error is drawn too.
        show : {"alpha", "error"} or a sequence of these
            Panels to draw.
        rows : sequence of int, default=None
            Rows whose multipliers are drawn; None draws all.
        ax : matplotlib axes or array of them, default=None
            Where to draw, an axes for each panel; None makes a figure.

        Returns
        -------
        PathDisplay
            What was drawn.
        """
        breakpoints = np.unique(np.asarray(path.C, dtype=np.float64))
        C = _between(
            _with_ends(breakpoints, getattr(path, "largest_C", breakpoints.max(initial=0)))
        )
        alphas = np.stack([np.asarray(path.alpha(c), dtype=np.float64) for c in C])
        shares = np.abs(alphas) / C[:, None]
        chosen = slice(None) if rows is None else np.asarray(rows)
        errors = {"training": np.array([float(path.error(c)) for c in C])}
        if X_test is not None:
            errors["test"] = np.array([float(path.error(c, X_test, y_test)) for c in C])
        return cls(breakpoints, C, shares[:, chosen], errors).plot(show=show, ax=ax)

    def plot(self, *, show: str | Sequence[str] = PANELS, ax: Any = None) -> Self:
        """Draw the panels.

        Parameters
        ----------
        show, ax
            As for ``from_path``.

        Returns
        -------
        PathDisplay
            This display.
        """
        panels = (show,) if isinstance(show, str) else tuple(show)
        if not panels or not set(panels) <= set(PANELS):
            raise ValueError(f"show must name some of {', '.join(PANELS)}, found {show!r}")
        self.axes_ = np.atleast_1d(new_axes(ax, (5.6, 4.0), len(panels)))
        self.figure_ = self.axes_[0].figure
        for axes, panel in zip(self.axes_, panels, strict=True):
            (self._draw_alpha if panel == "alpha" else self._draw_error)(axes)
            axes.set_xscale("log")
            axes.set_xlabel("C")
            axes.set_xlim(self.C[0], self.C[-1])
            clean(axes, grid="y")
            if self.breakpoints.size <= MARKED:
                place = axes.get_xaxis_transform()
                axes.vlines(
                    self.breakpoints, 0.0, 0.025, transform=place, color=VERMILION, linewidth=1.2
                )
        return self

    def _draw_alpha(self, ax: Any) -> None:
        many = self.shares.shape[1] > len(COLORS)
        for k, values in enumerate(self.shares.T):
            ax.plot(
                self.C, values, color=BLUE if many else COLORS[k % len(COLORS)],
                linewidth=0.8 if many else 1.8, alpha=0.5 if many else 1.0,
            )  # fmt: skip
        ax.set_ylim(-0.03, 1.03)
        ax.set_ylabel("multiplier as a share of its bound, α / C")
        ax.set_title(f"{self.breakpoints.size} breakpoints", loc="left")

    def _draw_error(self, ax: Any) -> None:
        for (name, values), color in zip(self.errors.items(), (BLUE, VERMILION), strict=False):
            ax.plot(self.C, 100 * values, color=color, linewidth=1.8, label=f"{name} rows")
        ax.set_ylim(bottom=0.0)
        ax.set_ylabel("wrong rows, %")
        ax.legend(frameon=False)


def _with_ends(breakpoints: Vector, largest: float) -> Vector:
    """Return the breakpoints between a C below them and one above, as far as the path is known."""
    knots = breakpoints if breakpoints.size else np.array([min(1.0, largest)])
    return np.unique([knots[0] / BEYOND, *knots, min(knots[-1] * BEYOND, largest)])


def _between(breakpoints: Vector) -> Vector:
    """Return the breakpoints and some values between them, as many as a picture can show."""
    if breakpoints.size > MOST:
        kept = np.linspace(0, breakpoints.size - 1, MOST).round().astype(np.int64)
        return breakpoints[np.unique(kept)]
    logs = np.log(breakpoints)
    between = int(np.clip(MOST // breakpoints.size, BETWEEN, 100))
    at = np.linspace(0.0, breakpoints.size - 1.0, between * (breakpoints.size - 1) + 1)
    C = np.exp(np.interp(at, np.arange(breakpoints.size), logs))
    return np.clip(C, breakpoints[0], breakpoints[-1])  # which rounding might leave
