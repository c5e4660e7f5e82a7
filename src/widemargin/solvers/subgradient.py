"""Batch subgradient descent on the soft margin, with a line search.

Problem     minimise F(w, b) = ½||w||² + sum_i c_i max(0, 1 - y_i (w.x_i + b)), perhaps with b = 0.
Update      with E the margin errors, y_i (w.x_i + b) < 1 ::

                g = w - sum over E of c_i y_i x_i,     g_b = - sum over E of c_i y_i
                (w, b) <- (w, b) - r (g, g_b),         r = ½, halved while F would rise

            which reads: shrink w, add the margin errors. Armijo's rule halves r until F falls by a
            share of r ||g||².
Stop        F falls by less than tol in a step, and by no more if a free bias then takes its best
            value; relative duality gap small enough.
Papers      shor1985 (subgradients); armijo1966.

Where this differs from them:
1. A step along the ray costs one pass, however often r is halved: outputs move linearly.
2. It is certified: at times the dual variables ascend by an epoch of coordinate descent, beside
   the weights, and bound the optimum from below.
3. Since F is not smooth, the descent may come to rest above the optimum: the gap then says so.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from ..solution import LinearSolution, Progress, Status
from .monitor import Monitor

__all__ = ["SubgradientOperations", "SubgradientOptions", "solve_subgradient"]

FIRST_LENGTH = 0.5
LEAST_LENGTH = 2.0**-50
SUFFICIENT = 1e-4  # Armijo's share
SETTLING = 30  # epochs of the dual variables after the descent, at most
SETTLED_GAP = 1e-3  # that ends them
GROWTH = 0.25  # the gap costs as much as a step: it is looked at after a quarter more steps


@dataclass(frozen=True)
class SubgradientOptions:
    """Settings of a descent that are not limits.

    Attributes
    ----------
    decrease : float
        The least fall of F in a step that goes on.
    armijo : bool
        Whether a step must lower F by a share of what its slope promises.
    """

    decrease: float
    armijo: bool = False


class SubgradientOperations(Protocol):
    """A linear machine that moves along subgradients."""

    rows: int
    errors: int

    @property
    def point(self) -> Any:
        """Coefficients, and the best dual variables so far."""
        ...

    def objective(self) -> float:
        """Return F at the point, and find its margin errors."""
        ...

    def aim(self) -> float:
        """Form the subgradient; return its squared length."""
        ...

    def objective_at(self, length: float) -> float:
        """Return F after a step of that length."""
        ...

    def go(self, length: float) -> None:
        """Make the step."""
        ...

    def centre(self) -> float:
        """Give a free bias its best value for the weights at hand; return F there."""
        ...

    def measure(self) -> float:
        """Improve the dual variables; return the best lower bound of the optimum so far."""
        ...


def solve_subgradient(
    data: Any, machine: SubgradientOperations, problem: Any, monitor: Monitor,
    options: SubgradientOptions,
) -> LinearSolution:  # fmt: skip
    """Return the certified outcome of a descent.

    Parameters
    ----------
    data : LinearData
        Rows.
    machine : SubgradientOperations
        The state at the start.
    problem : LinearProblem
        Hinge loss with a squared penalty.
    monitor : Monitor
        Limits, history and reports; an iteration is a step.
    options : SubgradientOptions
        Settings.
    """

    def pause() -> None:
        if monitor.out_of_budget() is Status.TIME_LIMIT:
            raise OutOfTimeError

    data.pause = pause
    try:
        status = _descend(machine, monitor, options)
    except OutOfTimeError:
        status = Status.TIME_LIMIT
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    data.pause = _nothing
    point, certificate = data.certify(problem, machine.point)
    reached = monitor.certified(status, certificate.violation, certificate.relative_gap)
    return data.solution(point, certificate, reached or status, monitor)


def _descend(
    machine: SubgradientOperations, monitor: Monitor, options: SubgradientOptions
) -> Status:
    value, bound, next_measure = machine.objective(), 0.0, 0
    while True:
        if monitor.iterations >= next_measure:
            bound = machine.measure()
            next_measure = monitor.iterations + max(1, int(GROWTH * monitor.iterations))
        gap = (value - bound) / value if value > 0 else 0.0
        stopped = monitor.observe(_progress(machine, monitor, bound, gap))
        reached = monitor.reached(float("inf"), gap)
        if status := reached or stopped or monitor.out_of_budget():
            machine.centre()
            return status
        length = _search(machine, value, machine.aim(), options.armijo)
        monitor.iterations += 1
        machine.go(length)
        before, value = value, machine.objective()
        if before - value >= options.decrease:
            continue
        value = machine.centre()
        if before - value < options.decrease:
            return _settle(machine, monitor, value)


def _settle(machine: SubgradientOperations, monitor: Monitor, value: float) -> Status:
    """Improve the bound while that is worth it; the descent itself has come to rest."""
    bound = machine.measure()
    for _ in range(SETTLING):
        gap = (value - bound) / value if value > 0 else 0.0
        stopped = monitor.observe(_progress(machine, monitor, bound, gap))
        if stopped or monitor.out_of_budget() or gap <= SETTLED_GAP:
            break
        bound = machine.measure()
    return Status.SETTLED


def _search(machine: SubgradientOperations, value: float, slope: float, armijo: bool) -> float:
    """Return the first of ½, ¼, ... after which F has not risen; 0 if there is none."""
    length = FIRST_LENGTH
    while length >= LEAST_LENGTH:
        fall = SUFFICIENT * length * slope if armijo else 0.0
        if machine.objective_at(length) <= value - fall:
            return length
        length *= 0.5
    return 0.0


def _progress(
    machine: SubgradientOperations, monitor: Monitor, bound: float, gap: float
) -> Progress:
    """Return the state before a step; the violation is known at the end only."""
    return Progress(
        time=monitor.elapsed(),
        iterations=monitor.iterations,
        dual_objective=bound,
        gap=gap,
        violation=float("nan"),
        active=machine.errors,
        rows=machine.rows,
    )


class OutOfTimeError(Exception):
    """The time limit was passed in the middle of an operation."""


def _nothing() -> None:
    """Do nothing between parts of the work."""
