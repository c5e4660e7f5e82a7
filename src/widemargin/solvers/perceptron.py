"""The perceptron and its relatives: sweep over the rows, learn from mistakes, stop when clean.

Problem     find (w, b) with y_i (w.x_i + b) > 0 for every row.
Update      on a mistake w += eta y_i x_i, b += eta y_i (perceptron); the smallest move that gives
            the row the margin one (passive-aggressive); w_k *= factor^(y_i x_ik) (Winnow). Many
            classes: the class of the row gains what the best wrong class loses (ultraconservative).
            The dual form counts moves instead: alpha_i += eta, w = sum_i alpha_i y_i phi(x_i).
Stop        at a clean sweep. If the rows can be separated with a margin gamma and lie in a ball of
            radius R, that happens after at most (R / gamma)² mistakes; otherwise when the mistakes
            of a sweep have not fallen for some sweeps, or at a limit.
Papers      rosenblatt1958; novikoff1962 (the bound); freund1999 (votes and averages);
            crammer2003 (many classes); crammer2006 (passive-aggressive); littlestone1988 (Winnow).

Where this differs from them:
1. Many orders of the rows are possible; without shuffling they are visited as they come.
2. The average is kept by one more vector, not by all intermediate ones.
"""

from typing import Protocol

from ..solution import Progress, Status
from .monitor import Monitor

__all__ = ["SweepOperations", "perceptron"]


class SweepOperations(Protocol):
    """Rows and weights that a sweep over the rows changes."""

    rows: int

    def sweep(self) -> int:
        """Visit every row once, moving the weights; return the number of mistakes."""
        ...


def perceptron(
    machine: SweepOperations, monitor: Monitor, *, tolerance: float | None, patience: int
) -> Status:
    """Sweep until no row is mistaken, or to the monitor's limits.

    Parameters
    ----------
    machine : SweepOperations
        Rows and weights.
    monitor : Monitor
        Limits, history and reports; an iteration is a sweep.
    tolerance : float or None
        Share of the rows by which the mistakes of a sweep must fall to count as better; None goes
        on until a limit.
    patience : int
        That many sweeps in a row that are not better end the fit.
    """
    fewest, idle = float("inf"), 0
    while True:
        mistakes = machine.sweep()
        monitor.iterations += 1
        stopped = monitor.observe(_progress(machine, monitor, mistakes))
        if mistakes == 0:
            return Status.SEPARATED
        better = mistakes < fewest - (tolerance or 0.0) * machine.rows
        idle = 0 if better else idle + 1
        fewest = min(fewest, mistakes)
        if tolerance is not None and idle >= patience:
            return Status.NO_BETTER
        if status := stopped or monitor.out_of_budget():
            return status


def _progress(machine: SweepOperations, monitor: Monitor, mistakes: int) -> Progress:
    """Return the state after a sweep; the violation is the share of mistaken rows."""
    return Progress(
        time=monitor.elapsed(),
        iterations=monitor.iterations,
        dual_objective=float("nan"),
        gap=float("nan"),
        violation=mistakes / machine.rows,
        active=mistakes,
        rows=machine.rows,
    )
