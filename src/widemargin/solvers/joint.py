"""The joint multiclass machine of Crammer and Singer: one problem for all classes, no bias.

Problem     minimise ½ sum_k ||w_k||² + sum_i C_i max_k (w_k.φ_i - w_{y_i}.φ_i + [k != y_i]),
            in its dual: ½ sum_k a_kᵀ K a_k + sum_i sum_{k != y_i} a_ik over a_ik <= C_i [k = y_i]
            with sum_k a_ik = 0 in each row, where w_k = sum_i a_ik φ_i.
Update      block decomposition as in `block_smo`, a block being the coefficients of some rows. In
            it the row of largest violation moves to its own minimum, again and again.
Stop        no violation exceeds the tolerance, or the relative duality gap is small enough. With
            g_ik = w_k.φ_i + [k != y_i], the violation of row i is the largest g_ik less the
            smallest one of a coefficient below its bound.
Papers      K. Crammer, Y. Singer, On the algorithmic implementation of multiclass kernel-based
            vector machines, JMLR 2 (2001); S. S. Keerthi et al., A sequential dual method for
            large scale multi-class linear SVMs, KDD 2008.

Where this differs from them:
1. A working set of many rows, whose outputs for all other rows are brought up to date at once.
2. A block on which row steps go on for too long (large C) is finished by Newton steps.
3. Solved on until the certificate, computed in float64, holds; see `certified`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from ..solution import Certificate, JointSolution, Status
from .block_smo import block_smo
from .certified import CORRECTIONS, FINAL, SMALL_ROWS, STEPS_AT_ONCE
from .monitor import Monitor

__all__ = ["JointData", "solve_joint"]


class JointData(Protocol):
    """Rows and kernel on some backend."""

    precisions: tuple[str, ...]

    def machine(
        self,
        labels: Any,
        costs: Any,
        start: Any,
        precision: str,
        stop: Callable[[], object],
    ) -> Any:
        """Return the state of a machine: ``BlockOperations`` with coefficients and `correct`.

        Its exact solution of a block, which may take long, asks `stop` now and then.
        """
        ...

    def certify(self, labels: Any, costs: Any, a: Any) -> tuple[Any, Certificate]:
        """Return outputs and certificate of a point, computed in float64."""
        ...


def solve_joint(
    data: JointData, labels: Any, costs: Any, start: Any, monitor: Monitor
) -> JointSolution:
    """Return the certified solution of the joint machine over all rows of the data.

    Parameters
    ----------
    data : JointData
        Rows and kernel.
    labels : int64 array of shape (rows,)
        The class of each row, counted from 0.
    costs : float64 array of shape (rows,)
        C_i, the price of the row's loss; a row with cost 0 has no influence.
    start : array of shape (rows, classes) or None
        Coefficients near which to begin, also when costs have changed; None for zero and as many
        classes as the labels tell.
    monitor : Monitor
        Limits, history and reports.
    """
    a = start
    for precision in data.precisions:
        machine = data.machine(labels, costs, a, precision, monitor.out_of_budget)
        for _ in range(CORRECTIONS):
            status = _run(machine, precision, monitor)
            a = machine.coefficients
            outputs, certificate = data.certify(labels, costs, a)
            reached = monitor.certified(status, certificate.violation, certificate.relative_gap)
            final = reached or status in FINAL
            if final or precision == "float64":
                break
            machine.correct(outputs)
        if final:
            break
    return JointSolution(
        coefficients=a,
        outputs=outputs,
        certificate=certificate,
        status=reached or (Status.STALLED if status.converged else status),
        iterations=monitor.iterations,
        history=tuple(monitor.history),
    )


def _run(machine: Any, precision: str, monitor: Monitor) -> Status:
    """Run the solver from the machine's state to a tolerance that the certificate should meet."""
    asked = monitor.limits
    aim = asked.tolerance * (0.9 if precision == "float32" else 0.999)
    if machine.rows <= SMALL_ROWS:
        aim = min(asked.tolerance, 1e-10)
    monitor.limits = replace(asked, tolerance=aim)
    try:
        return block_smo(machine, monitor, shrinking=False, steps=STEPS_AT_ONCE)
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    finally:
        monitor.limits = asked
