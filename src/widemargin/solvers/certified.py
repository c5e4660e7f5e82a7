"""Solve, certify, and solve on in higher precision until the certificate holds.

Kernel values in float32 take half the memory and half the time. What is reported, however, is
recomputed in float64 from the coefficients alone. Where the optimality conditions then do not hold
to the tolerance, the outputs recomputed in float64 replace the running ones and the fit goes on:
from here float32 values multiply only small moves, so each such correction wins several digits
(iterative refinement). If that does not suffice, the kernel values themselves become float64.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from ..problem import Problem
from ..solution import Certificate, Solution, Status
from .block_smo import Trust, block_smo
from .monitor import Monitor

__all__ = ["SMALL_ROWS", "KernelData", "Options", "aim", "solve_certified"]

STEPS_AT_ONCE = 200_000
CORRECTIONS = 4
FINAL = (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED, Status.STOPPED)
SMALL_ROWS = 256  # so few rows are solved to rounding, in float64: it costs next to nothing


class KernelData(Protocol):
    """Rows and kernel on some backend."""

    precisions: tuple[str, ...]
    trust: Trust

    @property
    def side_by_side(self) -> int:
        """Variables up to which machines are solved beside one another."""
        ...

    @property
    def small(self) -> Any:
        """What solves small machines in one crossing (`small.SmallData`), or None."""
        ...

    @property
    def at_once(self) -> int:
        """Machines that are solved at the same time."""
        ...

    def on_threads(self, threads: int) -> Self:
        """Return the same data for use by that many threads."""
        ...

    def working(self) -> AbstractContextManager[None]:
        """Surround all that one thread does with the data."""
        ...

    def machine(
        self,
        problem: Problem,
        segments: list[Any],
        start: Any,
        precision: str,
        stop: Callable[[], object],
    ) -> Any:
        """Return the state of a machine.

        Its exact solution of a block, which may take long, asks `stop` now and then.
        """
        ...

    def certify(
        self,
        problem: Problem,
        segments: list[Any],
        x: Any,
        machine: Any = None,
        hurried: bool = False,
    ) -> tuple[Any, Certificate]:
        """Return outputs and certificate of a point, computed in float64.

        Nothing of the machine's running state is used but kernel values that it holds in float64;
        after Ctrl-C, however, what takes long may be taken from there.
        """
        ...

    def in_weights(self, problem: Problem, segments: list[Any]) -> Any:
        """Return the machine stated in weights, if that is possible and faster, else None."""
        ...


@dataclass(frozen=True)
class Options:
    """Settings of one solver run that are not limits."""

    shrinking: bool = True
    exact: bool = False
    weights: bool = False  # whether a linear kernel may be solved in the weights of the features
    precise: bool = False  # whether to begin with the most precise kernel values


def solve_certified(
    data: KernelData,
    problem: Problem,
    segments: list[Any],
    start: Any,
    monitor: Monitor,
    options: Options,
) -> Solution:
    """Return the certified solution of one machine over the rows of some segments of the data."""
    x, indefinite = start, False
    best: tuple[Any, Any, Certificate] | None = None
    precise = options.precise or problem.rows <= SMALL_ROWS
    precisions = data.precisions[-1:] if precise else data.precisions
    for precision in precisions:
        machine = data.machine(problem, segments, x, precision, monitor.out_of_budget)
        rough = precision != precisions[-1]
        for _ in range(CORRECTIONS):
            trust = data.trust if rough else None  # after float64 there is no correction
            status = _run(machine, problem, precision, monitor, options, rough, trust)
            x, indefinite = machine.x, indefinite or machine.indefinite
            hurried = status is Status.INTERRUPTED
            outputs, certificate = data.certify(problem, segments, x, machine, hurried)
            reached = monitor.certified(status, certificate.violation, certificate.relative_gap)
            final = reached or status in FINAL
            data.trust.earned = data.trust.earned and bool(final)
            if best is None or reached or _better(certificate, best[-1], indefinite):
                best = x.copy(), outputs, certificate
            if final or precision == "float64":
                break
            if rough and status is Status.STALLED:
                options = replace(options, exact=True)
                break
            machine.correct(outputs)
        assert best is not None
        x, outputs, certificate = best
        if final:
            break
    return Solution(
        x=x,
        outputs=outputs,
        certificate=certificate,
        status=reached or (Status.STALLED if status.converged else status),
        iterations=monitor.iterations,
        indefinite=indefinite,
        history=tuple(monitor.history),
    )


def _run(
    machine: Any,
    problem: Problem,
    precision: str,
    monitor: Monitor,
    options: Options,
    rough: bool,
    trust: Trust | None,
) -> Status:
    """Run the solver from the machine's state to a tolerance that the certificate should meet."""
    asked = monitor.limits
    monitor.limits = replace(asked, tolerance=aim(asked.tolerance, problem, precision))
    try:
        return block_smo(
            machine,
            monitor,
            shrinking=options.shrinking,
            steps=STEPS_AT_ONCE,
            exact=options.exact,
            rough=rough,
            trust=trust,
        )
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    finally:
        monitor.limits = asked


def _better(new: Certificate, old: Certificate, indefinite: bool) -> bool:
    """Say which of two points to keep where numbers at their limit made a later one worse."""
    return new.dual >= old.dual if indefinite else new.gap <= old.gap


def aim(tolerance: float, problem: Problem, precision: str) -> float:
    """Return the tolerance to work to, so that the certificate will meet the one asked for."""
    if precision == "float32":
        return 0.9 * tolerance
    return min(tolerance, 1e-10) if problem.rows <= SMALL_ROWS else 0.999 * tolerance
