"""How a fit converged: objective and gap against time or iterations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .style import BLUE, FLOOR, GREEN, GREY, VERMILION, clean, new_axes

__all__ = ["ConvergenceDisplay", "Run"]

Vector = NDArray[np.float64]
FEW = 6  # records, below which all of a run is shown
PANELS = ("objective", "gap", "violation")
AGAINST = ("time", "iterations")


@dataclass(frozen=True)
class Run:
    """The course of one machine's fit; the last entry is the certificate, if there is one.

    Attributes
    ----------
    time, iterations : array
        Seconds since the machine began, and steps.
    primal, dual : array
        The best objectives so far, between which the optimum lies; NaN where not yet known.
    gap, violation : array
        The relative gap, and the largest violation of the optimality conditions.
    certified : bool
        Whether the last entry was recomputed from the solution alone.
    """

    time: Vector
    iterations: Vector
    primal: Vector
    dual: Vector
    gap: Vector
    violation: Vector
    certified: bool

    @classmethod
    def of(cls, history: Sequence[Any], certificate: Any = None) -> "Run":
        """Read a history, and the certificate of where it ended."""
        columns = [
            (r.time, r.iterations, r.dual_objective, r.gap, r.violation) for r in history
        ] or [(0.0, 0, certificate.dual, certificate.relative_gap, certificate.violation)]
        time, iterations, dual, gap, violation = np.array(columns, dtype=np.float64).T
        time = time - time[0]
        primal = _primal(dual, gap)
        if certificate is not None:
            time, iterations = np.append(time, time[-1]), np.append(iterations, iterations[-1])
            primal, dual = np.append(primal, certificate.primal), np.append(dual, certificate.dual)
            gap = np.append(gap, certificate.relative_gap)
            violation = np.append(violation, certificate.violation)
        best = np.fmin.accumulate(primal), np.fmax.accumulate(dual)
        return cls(time, iterations, *best, gap, violation, certificate is not None)


def _primal(dual: Vector, gap: Vector) -> Vector:
    """Return the primal objective p that has this gap (p - d) / p over a positive dual one.

    Of a dual objective that is not positive the gap does not tell it.
    """
    known = (dual > 0) & (gap < 1.0)
    return np.where(known, dual / np.where(known, 1.0 - gap, 1.0), np.nan)


@dataclass(eq=False)
class ConvergenceDisplay:
    """Objectives and gap of a fit against time or iterations.

    Made by ``from_estimator``; ``plot`` draws it again on other axes.

    Attributes
    ----------
    runs : list of Run
        The course of each machine.
    typical : int
        Number of the machine that is drawn in bold: the one of median time.
    name : str
        Name of the estimator.
    axes_, figure_
        What was drawn on, an axes for each panel.

    Examples
    --------
    >>> from widemargin import LinearSVC
    >>> from widemargin.plotting import ConvergenceDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = LinearSVC(loss="hinge").fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> bool(display.runs[0].gap[-1] == model.duality_gap_)
    True
    """

    runs: list[Run]
    typical: int
    name: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, show: str | Sequence[str] = ("objective", "gap"),
        against: str = "time", name: str | None = None, legend: bool = True, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw how a fit converged.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``history_``.
        show : {"objective", "gap", "violation"} or a sequence of these
            Panels to draw.
        against : {"time", "iterations"}, default="time"
            Of the horizontal axis.
        name : str, default=None
            What to call the estimator; None takes its class.
        legend : bool, default=True
            Whether to draw a legend.
        ax : matplotlib axes or array of them, default=None
            Where to draw, an axes for each panel; None makes a figure.

        Returns
        -------
        ConvergenceDisplay
            What was drawn.
        """
        runs = _runs(estimator)
        order = np.argsort([run.time[-1] for run in runs], kind="stable")
        chosen = type(estimator).__name__ if name is None else name
        display = cls(runs, int(order[len(order) // 2]), chosen)
        return display.plot(show=show, against=against, legend=legend, ax=ax)

    def plot(
        self, *, show: str | Sequence[str] = ("objective", "gap"), against: str = "time",
        legend: bool = True, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the panels.

        Parameters
        ----------
        show, against, legend, ax
            As for ``from_estimator``.

        Returns
        -------
        ConvergenceDisplay
            This display.
        """
        panels = (show,) if isinstance(show, str) else tuple(show)
        if not panels or not set(panels) <= set(PANELS):
            raise ValueError(f"show must name some of {', '.join(PANELS)}, found {show!r}")
        if against not in AGAINST:
            raise ValueError(f"against must be 'time' or 'iterations', found {against!r}")
        self.axes_ = np.atleast_1d(new_axes(ax, (5.6, 4.0), len(panels)))
        self.figure_ = self.axes_[0].figure
        for axes, panel in zip(self.axes_, panels, strict=True):
            if panel == "objective":
                self._draw_objective(axes, against)
            else:
                self._draw_log(axes, panel, against)
            axes.set_xlabel(self._unit if against == "time" else "iterations")
            axes.locator_params("x", nbins=6)
            clean(axes, grid="both")
            if legend:
                axes.legend(frameon=False)
        return self

    @property
    def _unit(self) -> str:
        return "seconds" if self.runs[self.typical].time[-1] >= 1.0 else "milliseconds"

    def _axis(self, run: Run, against: str) -> Vector:
        """Return the horizontal coordinates of a run."""
        if against == "iterations":
            return run.iterations
        return run.time if self._unit == "seconds" else 1e3 * run.time

    def _title(self, many: str) -> str:
        count = len(self.runs)
        return self.name if count == 1 else f"{self.name}: {many.format(count)}"

    def _draw_objective(self, ax: Any, against: str) -> None:
        run = self.runs[self.typical]
        x = self._axis(run, against)
        ax.fill_between(x, run.dual, run.primal, color=BLUE, alpha=0.12, linewidth=0)
        mark = "." if len(x) < 60 else ""
        for name, values, color in (("primal", run.primal, VERMILION), ("dual", run.dual, BLUE)):
            ax.plot(x, values, color=color, marker=mark, label=f"{name} objective")
            if run.certified:
                ax.plot(x[-1], values[-1], "o", color=color, markersize=7, markeredgecolor="white")
        _bound(ax, run)
        ax.set_title(self._title("a typical one of {} machines"), loc="left")
        ax.set_ylabel("best so far; the optimum lies between")

    def _draw_log(self, ax: Any, panel: str, against: str) -> None:
        color = BLUE if panel == "gap" else GREEN
        label = "relative duality gap" if panel == "gap" else "largest violation"
        for number, run in enumerate(self.runs):
            bold = number == self.typical
            x, y = self._axis(run, against), np.maximum(getattr(run, panel), FLOOR)
            end = len(x) - run.certified
            style = {"color": color if bold else GREY, "zorder": 3 if bold else 2}
            ax.plot(
                x[:end], y[:end], linewidth=2.0 if bold else 0.7, alpha=1.0 if bold else 0.4,
                label="while running" if bold else None, **style,
            )  # fmt: skip
            if run.certified:
                ax.plot(
                    x[-1], y[-1], "o", markersize=8 if bold else 4, alpha=1.0 if bold else 0.5,
                    markeredgecolor="white", label="certified at the end" if bold else None,
                    **style,
                )  # fmt: skip
        ax.set_yscale("log")
        ax.set_title(self._title("{} machines, a typical one in bold"), loc="left")
        ax.set_ylabel(label)


def _bound(ax: Any, run: Run) -> None:
    """Leave out the first, very far values of the objectives, which would hide the rest."""
    if len(run.dual) < FEW:
        return
    late = slice(len(run.dual) // 3, None)
    low, high = np.nanmin(run.dual[late]), np.nanmax([*run.primal[late], *run.dual[late]])
    span = high - low
    far = max(low - np.nanmin(run.dual), np.nanmax([*run.primal, high]) - high)
    if span > 0 and far > 3.0 * span:
        ax.set_ylim(low - 0.1 * span, high + 0.3 * span)


def _runs(estimator: Any) -> list[Run]:
    parts = getattr(estimator, "machines_", None)
    solutions = (
        [machine.solution for machine in parts]
        if parts is not None
        else getattr(estimator, "solutions_", None)
    )
    if solutions:
        found = [Run.of(s.history, s.certificate) for s in solutions]
    elif not getattr(estimator, "history_", ()):
        raise ValueError(
            f"{type(estimator).__name__} has no history of its fit; fit it here, since files of "
            "other programs do not hold one"
        )
    else:
        found = [Run.of(estimator.history_)]
    if all(np.isnan(run.gap).all() for run in found):
        raise ValueError(
            f"{type(estimator).__name__} has no objective; draw its mistakes with MistakesDisplay"
        )
    return found
