"""Pegasos: stochastic subgradient steps 1/(lam t), certified by the dual point that they form.

Problem     minimise lam/2 ||w||² + (1/n) sum_i max(0, 1 - y_i w.x_i); the bias, if any, is the
            weight of a constant feature. Many classes: the loss is max_k (w_k.x + [k != y])
            - w_y.x.
Update      at the t-th row w <- (1 - 1/t) w, plus y_i x_i / (lam t) if y_i w.x_i < 1; a batch of
            rows is judged by the same w. Optionally w is then shrunk to ||w|| <= 1/sqrt(lam).
Stop        relative duality gap small enough.
Papers      shalevshwartz2011 (Pegasos); bach2015 (such steps are conditional gradients in the
            dual); lacostejulien2012 (averages weighted by t).

Where this differs from them:
1. lam t w is a plain sum of margin errors, so nothing is shrunk: the rule is a perceptron's whose
   margin grows.
2. The result is the average, weighted by t, of the iterates of the last epoch and not of all: what
   the first epochs got wrong is forgotten.
3. Rows come in shuffled passes. Hence the margin errors of whole passes, each counted 1/n and
   divided by the passes, are dual variables between their bounds. The best convex combination of
   those of all windows is a dual point, and its objective a lower bound of the optimum.
"""

from dataclasses import dataclass
from typing import Protocol

from ..solution import Progress, Status
from .monitor import Monitor

__all__ = ["PegasosMeasure", "PegasosOperations", "pegasos"]

GROWTH = 2  # a measure costs more than an epoch on sparse rows: epochs 2, 4, 8, ... and the last


@dataclass(frozen=True)
class PegasosMeasure:
    """Objectives of the present point and of the best dual point; the optimum is between them."""

    primal: float
    dual: float

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal objective."""
        return (self.primal - self.dual) / self.primal if self.primal > 0 else 0.0


class PegasosOperations(Protocol):
    """Rows and weights that a sweep over the rows changes."""

    rows: int
    errors: int  # rows of the last sweep that moved the weights

    def sweep(self) -> None:
        """Visit every row once."""
        ...

    def open_window(self) -> None:
        """Begin anew to average the iterates."""
        ...

    def close_window(self) -> None:
        """Average nothing until a window is opened."""
        ...

    def measure(self) -> PegasosMeasure:
        """Form the point from the window, and return where it stands."""
        ...


def pegasos(machine: PegasosOperations, monitor: Monitor, *, watched: bool = True) -> Status:
    """Sweep to the monitor's limits; an iteration is a sweep.

    Parameters
    ----------
    machine : PegasosOperations
        Rows and weights.
    monitor : Monitor
        Limits, history and reports.
    watched : bool
        Whether anybody wants to know the gap before the end.
    """
    next_measure: float = GROWTH if watched else float("inf")
    if not watched:
        machine.close_window()
    while True:
        if monitor.iterations + 1 in (next_measure, monitor.limits.iterations):
            machine.open_window()
        machine.sweep()
        monitor.iterations += 1
        spent = monitor.out_of_budget()
        if monitor.iterations < next_measure and spent is None:
            continue
        now = machine.measure()
        stopped = monitor.observe(_progress(machine, monitor, now))
        if status := monitor.reached(float("inf"), now.relative_gap) or stopped or spent:
            return status
        next_measure = GROWTH * monitor.iterations


def _progress(machine: PegasosOperations, monitor: Monitor, now: PegasosMeasure) -> Progress:
    """Return the state after a sweep; the violation is known at the end only."""
    return Progress(
        time=monitor.elapsed(),
        iterations=monitor.iterations,
        dual_objective=now.dual,
        gap=now.relative_gap,
        violation=float("nan"),
        active=machine.errors,
        rows=machine.rows,
    )
