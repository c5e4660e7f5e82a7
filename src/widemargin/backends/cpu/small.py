"""Machines so small that each is one block, in one crossing to the core for all of them.

Of a machine with a hundred rows, Python around the solver takes longer than the solver.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem import Problem
from ...solvers.certified import SMALL_ROWS
from ...solvers.small import SmallMachine, SmallOutcome
from .certificate import certificate_of
from .machine import measured
from .sources import NativeSource

__all__ = ["SmallMachines"]

Vector = NDArray[np.float64]

LARGEST, LARGEST_OF_MANY = 1024, 512  # variables; where float32 would come first


class SmallMachines:
    """Solves small machines over the rows of a fit.

    Parameters
    ----------
    source : NativeSource
        Kernel of the rows.
    diagonal : array
        k(z, z) of each row.
    precisions : tuple of str
        In which machines may be solved, the first one to begin with; here it is float64.
    largest : int
        Variables whose kernel matrix there is memory for.
    threads : int
        Threads to use.
    block_sizes : list of int
        The variables of each machine solved are added to it.
    """

    def __init__(
        self,
        source: NativeSource,
        diagonal: Vector,
        precisions: tuple[str, ...],
        largest: int,
        threads: int,
        block_sizes: list[int],
    ) -> None:
        self.source, self.diagonal, self.threads = source, diagonal, threads
        self.precisions, self.largest, self.block_sizes = precisions, largest, block_sizes

    def takes(self, problem: Problem) -> bool:
        """Say whether the problem is small enough, and of a kind, for `solve`.

        A linear kernel over more rows may be faster in weights; nu-SVC changes the scale of its
        tolerance on the way.
        """
        if self.precisions[-1] != "float64" or problem.rho_range is not None:
            return False
        if problem.rows > SMALL_ROWS and self.source.spec.kind.name == "LINEAR":
            return False
        most = LARGEST if self.precisions[0] == "float64" else LARGEST_OF_MANY
        return problem.linear.size <= min(most, self.largest)

    def solve(self, machines: Sequence[SmallMachine], limit: int) -> list[SmallOutcome]:
        """Return where each machine ended, after at most `limit` steps."""

        def joined(parts: Sequence[Any]) -> Any:
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        problems = [machine.problem for machine in machines]
        ids = joined([part for machine in machines for part in machine.segments])
        x = np.concatenate([machine.start for machine in machines])
        outputs = np.empty(ids.size)
        told = _core.solve_small(
            self.source.rows,
            int(self.source.spec.kind),
            self.source.spec.gamma,
            self.source.spec.coef0,
            self.source.spec.degree,
            self.source.centre,
            self.source.sparse,
            self.diagonal,
            ids,
            joined([p.linear for p in problems]),
            joined([p.lower for p in problems]),
            joined([p.upper for p in problems]),
            joined([p.group for p in problems]),
            x,
            outputs,
            np.array([(p.rows, p.sides, p.groups) for p in problems]),
            np.array([machine.tolerance for machine in machines]),
            limit,
            self.threads,
        )
        outcomes, row, at = [], 0, 0
        for p, (violation, dual, gap, steps, indefinite, sums) in zip(problems, told, strict=True):
            end = certificate_of(p, sums)
            outcomes.append(
                SmallOutcome(
                    x=x[at : at + p.linear.size],
                    outputs=outputs[row : row + p.rows],
                    first=measured(violation, gap, dual),
                    last=measured(end.violation, end.gap, end.dual),
                    certificate=end,
                    iterations=steps,
                    indefinite=indefinite,
                )
            )
            self.block_sizes.append(p.linear.size)
            row, at = row + p.rows, at + p.linear.size
        return outcomes
