"""Launching the block solver, for one block or for several rounds of block decomposition on end.

The state of a machine stays on the device. A round is four launches: choose a block, gather its
kernel matrix, solve it, and bring the outputs of all rows up to date. None waits for the host,
which looks at the outcome only after several rounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CudaRounds",
    "CudaRoundsOfRows",
    "Launch",
    "Outcome",
    "State",
    "places",
    "solve_one_block",
    "solver_scratch",
]

Launch = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]

EACH = 4  # variables of a thread of the block solver
STEP = 32 * EACH  # a block has a multiple of this many places
LARGEST = 8 * STEP  # MOST_WARPS of them
FEW = 1 << 13  # variables that a few lanes to a segment look through at once
REACHING = 1056  # thread blocks that look through all variables
COLUMNS = 32  # of a thread block of add_rows
RESULT = np.dtype(
    [
        ("iterations", np.int64),
        ("violation", np.float64),
        ("exhausted", np.int32),
        ("negative", np.int32),
        ("moved", np.int32),
        ("rounds", np.int32),
    ]
)


@dataclass(frozen=True)
class Outcome:
    """What some rounds did."""

    iterations: int
    exhausted: bool  # a block ran out of its steps
    negative: bool  # a pair of negative curvature was met
    rounds: int


@dataclass(frozen=True)
class State:
    """Arrays of one machine on the device, float64 but for the groups (int8)."""

    outputs: Any
    x: Any
    linear: Any
    lower: Any
    upper: Any
    group: Any
    groups: int
    box: Any = None  # addresses and sizes, as `struct Box`

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.outputs.size)


def places(variables: int) -> int:
    """Return the places of a block that holds so many variables."""
    return -(-variables // STEP) * STEP


def solver_scratch(dtype: np.dtype[Any]) -> int:
    """Return the bytes of shared memory that the block solver takes; the rest of it is cache."""
    return LARGEST * (24 + 6 * dtype.itemsize) + 1024


def solve_one_block(
    device: Any,
    kernel: Any,
    diagonal: NDArray[np.float64],
    gradient: NDArray[np.float64],
    x: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    group: NDArray[np.int8],
    groups: int,
    tolerance: float,
    limit: int,
) -> tuple[NDArray[np.float64], int, float, bool]:
    """Return the variables of a block after solving its problem, steps, violation, and a flag.

    All arrays are of the host but the kernel matrix, which is on the device. Its order is that of
    `places`, the values beyond the block's variables being of no account.
    """
    xp, m, size = device.xp, x.size, len(kernel)
    block = np.full(size, -1, dtype=np.int32)
    block[:m] = np.arange(m)
    ends = np.zeros(size, dtype=kernel.dtype)
    ends[:m] = diagonal
    state = device.state((gradient, x, np.zeros(m), lower, upper), group, groups)
    result = device.upload(np.zeros(1, dtype=RESULT).view(np.int64))
    device.kernel("solve_block", kernel.dtype)(
        (1,),
        (size // EACH,),
        (kernel, np.int32(size), device.upload(block), device.upload(ends),
         state.box, np.int32(groups), np.intp(0), np.intp(0), np.float64(0),
         np.float64(tolerance), np.float64(0), np.int64(limit), np.int64(limit),
         xp.empty(size, dtype=np.int32), xp.empty(size), result),
    )  # fmt: skip
    found = device.download(result).view(RESULT)[0]
    moved = device.download(state.x)
    return moved, int(found["iterations"]), float(found["violation"]), bool(found["negative"])


class CudaRounds:
    """Rounds of block decomposition on a kernel matrix that is on the device.

    Parameters
    ----------
    device : Device
    state : State
        The machine's arrays, which the rounds change.
    matrix : array
        Kernel matrix of all rows of the data.
    ids : int32 array on the device
        The machine's rows, as rows of the matrix.
    diagonal : array of the matrix' type
        Of the machine's rows.
    small : bool
        Whether a block has half as many variables as it may.
    """

    def __init__(
        self, device: Any, state: State, matrix: Any, ids: Any, diagonal: Any, small: bool = False
    ) -> None:
        xp = device.xp
        self.device, self.state, self.matrix, self.ids = device, state, matrix, ids
        self.diagonal, dtype = diagonal, diagonal.dtype
        self.size = LARGEST // 2 if small else LARGEST
        self.blocks = [device.upload(np.full(self.size, -1, dtype=np.int32)) for _ in range(2)]
        self.kernel = xp.empty((self.size, self.size), dtype=dtype)
        self.entered = device.upload(np.full(state.x.size, -1, dtype=np.int32))
        self.moved_rows = xp.empty(self.size, dtype=np.int32)
        self.moves = xp.empty(self.size)
        self.reaches = [xp.zeros(2 * state.groups, dtype=np.uint64) for _ in range(2)]
        self.round = 0
        names = ("choose_block", "gather_block", "solve_block", "add_rows")
        self.launch = {name: device.kernel(name, self.kernel.dtype) for name in names}

    def forget(self) -> None:
        """Begin with a new block next time: the outputs have been changed from outside."""
        self.round += 1  # what entered in the last one may be chosen
        for block in self.blocks:
            self.device.write(block, np.full(self.size, -1))

    def go(
        self, count: int, share: float, tolerance: float, enough: float, limit: int, steps: int
    ) -> Outcome:
        """Make up to `count` rounds.

        Parameters
        ----------
        count : int
            Rounds; those after the end change nothing.
        share, tolerance : float
            A block is solved to that share of the violation, at least to the tolerance.
        enough : float
            Violation at which to end.
        limit, steps : int
            Steps in all, and on one block.
        """
        result = self.device.upload(np.zeros(1, dtype=RESULT).view(np.int64))
        reach, _ = self.reaches
        self.device.write(reach, np.zeros(reach.size))
        self._add_rows(result, reach)
        for _ in range(count):
            self._one(result, share, tolerance, enough, limit, steps)
        found = self.device.download(result).view(RESULT)[0]
        return Outcome(
            int(found["iterations"]),
            bool(found["exhausted"]),
            bool(found["negative"]),
            int(found["rounds"]),
        )

    def _one(
        self, result: Any, share: float, tolerance: float, enough: float, limit: int, steps: int
    ) -> None:
        state, size, groups = self.state, self.size, np.int32(self.state.groups)
        self.round += 1
        self.blocks.reverse()
        block, previous = self.blocks
        reach, following = self.reaches
        lanes = 8 if state.x.size < FEW else 32
        threads = size // 4 * lanes
        self.launch["choose_block"](
            (threads // 128,),
            (128,),
            (state.box, reach, groups, previous, block, np.int32(size), np.int32(lanes),
             self.entered, np.int32(self.round)),
        )  # fmt: skip
        self._gather(block)
        self.launch["solve_block"](
            (1,),
            (size // EACH,),
            (self.kernel, np.int32(size), block, self.diagonal, state.box, groups, reach, following,
             np.float64(share), np.float64(tolerance), np.float64(enough), np.int64(limit),
             np.int64(steps), self.moved_rows, self.moves, result),
        )  # fmt: skip
        self._add_rows(result, following)
        self.reaches.reverse()

    def _gather(self, block: Any) -> None:
        """Bring the kernel matrix of the block together."""
        self.launch["gather_block"](
            (self.size // 128, self.size // 4),
            (128,),
            (self.matrix, np.int64(self.matrix.shape[1]), self.ids, self.state.box, block,
             np.int32(self.size), self.kernel),
        )  # fmt: skip

    def _add_rows(self, result: Any, reach: Any) -> None:
        """Bring the outputs up to date with the moves, and find how far the gradients reach."""
        state = self.state
        self.launch["add_rows"](
            (-(-state.rows // COLUMNS),),
            (256,),
            (self.matrix, np.int64(self.matrix.shape[1]), self.ids, state.box,
             np.int32(state.groups), self.moved_rows, self.moves, result, reach),
        )  # fmt: skip


class CudaRoundsOfRows(CudaRounds):
    """The same rounds where the kernel matrix is not on the device, but the rows are.

    Parameters
    ----------
    device : Device
    state : State
    rows : Operand
        All rows of the data, dense, as the kernel wants them.
    spec : NativeSpec
        A kernel of inner products.
    ids, diagonal : array of the device
        As for `CudaRounds`.
    """

    def __init__(
        self, device: Any, state: State, rows: Any, spec: Any, ids: Any, diagonal: Any
    ) -> None:
        super().__init__(device, state, None, ids, diagonal)
        self.rows, self.spec = rows, spec
        self.block_rows = device.xp.empty(self.size, dtype=np.int32)
        names = ("look_up_rows", "find_reach")
        self.launch |= {name: device.kernel(name, diagonal.dtype) for name in names}

    def _look_up(self, variables: Any, result: Any) -> None:
        self.launch["look_up_rows"](
            (self.size // 128,),
            (128,),
            (self.state.box, self.ids, variables, np.int32(self.size), result, self.block_rows),
        )

    def _gather(self, block: Any) -> None:
        self._look_up(block, np.intp(0))
        rows, chosen = (self.rows.raw, self.rows.norms), (self.block_rows, self.size)
        self.device.kernel_values(rows, rows, self.spec, self.kernel, chosen, chosen)

    def _add_rows(self, result: Any, reach: Any) -> None:
        state, rows = self.state, (self.rows.raw, self.rows.norms)
        self._look_up(self.moved_rows, result)
        self.device.kernel_sums(
            rows, rows, self.moves, state.outputs, self.spec,
            (self.block_rows, self.size), (self.ids, state.rows), result,
        )  # fmt: skip
        self.launch["find_reach"](
            (min(REACHING, -(-state.x.size // 256)),),
            (256,),
            (state.box, np.int32(state.groups), reach),
        )
