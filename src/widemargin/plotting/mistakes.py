"""The mistakes of a perceptron, sweep by sweep, against what Novikoff's theorem allows."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .style import BLUE, GREY, VERMILION, clean, legend_outside, new_axes

__all__ = ["MistakesDisplay"]

FAR = 20.0  # a bound so many times above the mistakes needs a logarithmic axis


@dataclass(eq=False)
class MistakesDisplay:
    """Mistakes of an online learner and the bound (R / gamma)² on them.

    Made by ``from_estimator``; ``plot`` draws it again on other axes.

    Attributes
    ----------
    sweeps : array of int
        1, 2, ...
    mistakes : array of int
        Mistakes made in each sweep.
    total : array of int
        Mistakes made up to the end of each sweep.
    bound : float or None
        The most that can be made in all; None if it is not known or there is none.
    name : str
        Name of the learner.
    ax_, figure_
        What was drawn on.

    Examples
    --------
    >>> from widemargin import Perceptron
    >>> from widemargin.plotting import MistakesDisplay
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [-1, -1, 1, 1]
    >>> model = Perceptron(shuffle=False, mistake_bound=True).fit(X, y)
    >>> display = MistakesDisplay.from_estimator(model)
    >>> int(display.total[-1]) == model.mistakes_ <= display.bound
    True
    """

    sweeps: NDArray[np.int64]
    mistakes: NDArray[np.int64]
    total: NDArray[np.int64]
    bound: float | None
    name: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, legend: bool = True, ax: Any = None
    ) -> Self:
        """Draw the mistakes of a fit.

        Parameters
        ----------
        estimator : online learner
            Fitted; with ``mistake_bound=True`` the bound is drawn too.
        name : str, default=None
            What to call it; None takes its class.
        legend : bool, default=True
            Whether to draw a legend, beside the axes.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        MistakesDisplay
            What was drawn.
        """
        if not hasattr(estimator, "mistakes_") or not getattr(estimator, "history_", ()):
            raise ValueError(
                f"{type(estimator).__name__} counts no mistakes; pass a fitted online learner such "
                "as Perceptron, or draw this one with ConvergenceDisplay"
            )
        mistakes = np.array([record.active for record in estimator.history_], dtype=np.int64)
        sweeps = np.array([record.iterations for record in estimator.history_], dtype=np.int64)
        total = _totals(sweeps, mistakes, int(estimator.mistakes_))
        bound = getattr(estimator, "mistake_bound_", None)
        bound = float(bound) if bound is not None and np.isfinite(bound) else None
        chosen = type(estimator).__name__ if name is None else name
        return cls(sweeps, mistakes, total, bound, chosen).plot(ax=ax, legend=legend)

    def plot(self, *, ax: Any = None, legend: bool = True) -> Self:
        """Draw the mistakes.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Whether to draw a legend, beside the axes.

        Returns
        -------
        MistakesDisplay
            This display.
        """
        ax = new_axes(ax, (6.6, 4.0))
        self.ax_, self.figure_ = ax, ax.figure
        most = int(self.total[-1])
        ax.bar(self.sweeps, self.mistakes, width=0.8, color=GREY, alpha=0.45, label="in this sweep")
        mark = "o" if len(self.sweeps) < 40 else ""
        ax.plot(
            self.sweeps, self.total, color=BLUE, marker=mark, markersize=4, linewidth=2.0,
            label=f"in all: {most}",
        )  # fmt: skip
        top = float(max(most, 1))
        if self.bound is not None:
            ax.axhline(
                self.bound, color=VERMILION, linestyle="--", linewidth=1.6,
                label=f"bound (R / γ)²: {self.bound:.4g}",
            )  # fmt: skip
            top = max(top, self.bound)
        if top > FAR * max(most, 1):
            ax.set_yscale("log")
            ax.set_ylim(0.8, 2.0 * top)
        else:
            ax.set_ylim(0.0, 1.08 * top)
        ax.set_xlim(self.sweeps[0] - 0.6, self.sweeps[-1] + 0.6)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("sweep over the rows")
        ax.set_ylabel("mistakes")
        ax.set_title(self.name, loc="left")
        clean(ax, grid="y")
        if legend:
            legend_outside(ax, title="mistakes")
        return self


def _totals(sweeps: NDArray[np.int64], mistakes: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """Return the mistakes made up to each sweep, of which the last is known.

    Mistakes of earlier calls come first. A long history is thinned: the sweeps between two records
    then count like the later one, scaled to end at the number known.
    """
    steps = np.diff(sweeps, prepend=0)
    total = np.cumsum(mistakes * steps)
    if np.all(steps == 1):
        return total + (last - total[-1])
    return np.rint(total * (last / max(1, int(total[-1])))).astype(np.int64)
