"""The GPU: the one place that imports CuPy, and the kernels of the folder `cuda`.

Everything else of this backend asks a `Device` for its array library and for the few things that no
array library has. A double of it made of NumPy, in the tests, runs the same code without a GPU.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import NativeSpec
from .linear_launches import LinearLaunches
from .rounds import (
    EACH,
    LARGEST,
    CudaRounds,
    CudaRoundsOfRows,
    Launch,
    State,
    solve_one_block,
    solver_scratch,
)
from .tiles import TileLaunches, formula

__all__ = ["Device", "gpu_is_usable", "open_device"]

TEXTS = (
    "common.cu",
    "maps.cu",
    "measure.cu",
    "pair_steps.cu",
    "block_solver.cu",
    "rounds.cu",
    "linear.cu",
)
TEXTS_OF_KIND = ("common.cu", "maps.cu", "tile.cu")
THREADS = 256
MOST_BLOCKS = 65535  # along the second axis of a grid
MEASURING = 264  # thread blocks that pass over all variables: two on each multiprocessor
TILE_SCRATCH = 96 << 10  # bytes of shared memory
PAIRS = 64  # rows and columns that one thread block of `pairwise` computes

INSTALL = (
    "device='cuda' needs an NVIDIA GPU and the package CuPy: install widemargin[gpu], or the CuPy "
    "made for your CUDA version (https://docs.cupy.dev/en/stable/install.html), or use device='cpu'"
)


class Device(LinearLaunches, TileLaunches):
    """One NVIDIA GPU, the current one of CuPy."""

    name = "cuda"

    def __init__(self) -> None:
        # Streams beyond this number would wait for one another; read when CUDA starts.
        os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
        import cupy
        import cupyx.lapack
        import cupyx.scipy.sparse

        cupy.cuda.runtime.getDevice()
        if cupy.cuda.runtime.getDeviceCount() < 1:
            raise RuntimeError("no device")
        self.xp: Any = cupy
        self.cupyx: Any = cupyx
        self.sparse: Any = cupyx.scipy.sparse
        self._modules: dict[tuple[np.dtype[Any], int | None], Any] = {}
        self._compiling = threading.Lock()
        self._idle_streams: list[Any] = []

    def kernel(self, name: str, dtype: Any, kind: int | None = None) -> Launch:
        """Return what launches a kernel, compiled for this GPU at its first use and cached.

        Parameters
        ----------
        name : str
            Of the kernel.
        dtype : type
            Of kernel values.
        kind : int or None
            Code of the formula that is compiled in, of those of `tile.cu`.
        """
        dtype = np.dtype(dtype)
        with self._compiling:
            if (dtype, kind) not in self._modules:
                self._modules[dtype, kind] = self._compiled(dtype, kind)
            launch = self._modules[dtype, kind].get_function(name)
            if name != "solve_block" and kind is None:
                return launch
            scratch = TILE_SCRATCH if kind is not None else solver_scratch(dtype)
            launch.max_dynamic_shared_size_bytes = scratch
            return partial(launch, shared_mem=scratch)

    def _compiled(self, dtype: np.dtype[Any], kind: int | None) -> Any:
        names = TEXTS if kind is None else TEXTS_OF_KIND
        folder = files(__package__) / "cuda"
        text = "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
        real = "double" if dtype == np.float64 else "float"
        options = (
            "--std=c++17",
            f"-DREAL={real}",
            f"-DREAL_IS_DOUBLE={int(real == 'double')}",
            f"-DEACH={EACH}",
            f"-DMOST_WARPS={LARGEST // EACH // 32}",
            f"-DKIND={kind or 0}",
        )
        return self.xp.RawModule(code=text, options=options)

    # --- arrays ------------------------------------------------------------------------------

    def upload(self, values: Any, dtype: Any = None) -> Any:
        """Return an array of the host on the device."""
        return self.xp.asarray(values, dtype=dtype)

    def download(self, values: Any) -> NDArray[Any]:
        """Return an array of the device on the host."""
        return self.xp.asnumpy(values)

    def upload_csr(self, X: Any) -> Any:
        """Return a CSR matrix of the host on the device."""
        parts = (self.upload(X.data), *(self.upload(a, np.int32) for a in (X.indices, X.indptr)))
        return self.sparse.csr_matrix(parts, shape=X.shape)

    def upload_dense(self, X: Any) -> Any:
        """Return a CSR matrix of the host as a dense array of the device."""
        dense = self.xp.zeros(X.shape, dtype=X.dtype)
        if X.nnz:
            data, columns = self.upload(X.data), self.upload(X.indices, np.int32)
            self.kernel("fill_dense", X.dtype)(
                (-(-X.shape[0] // (THREADS // 32)),),
                (THREADS,),
                (data, columns, self.upload(X.indptr, np.int64), *map(np.int64, X.shape), dense),
            )
        return dense

    def all_finite(self, values: Any) -> bool:
        """Tell whether a C-contiguous array holds neither infinities nor NaN."""
        spoilt = self.upload(np.zeros(1, dtype=np.int32))
        self.kernel("look_for_spoilt", values.dtype)(
            (MEASURING,), (THREADS,), (values, np.int64(values.size), spoilt)
        )
        return not self.download(spoilt)[0]

    def free_memory(self) -> int:
        """Return the bytes that can be allocated, with those that CuPy holds but does not use."""
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())

    def held_memory(self) -> int:
        """Return the bytes that CuPy holds, in use or not."""
        return int(self.xp.get_default_memory_pool().total_bytes())

    def give_back(self) -> None:
        """Give back the memory that CuPy holds but does not use."""
        self.xp.get_default_memory_pool().free_all_blocks()

    def synchronize(self) -> None:
        """Wait until all that was asked for on this thread's stream is done."""
        self.xp.cuda.get_current_stream().synchronize()

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Let what this thread asks for run beside what others ask for.

        Streams are used again, because CuPy keeps the memory of each for itself.
        """
        try:
            stream = self._idle_streams.pop()
        except IndexError:
            stream = self.xp.cuda.Stream(non_blocking=True)
        try:
            with stream:
                yield
                stream.synchronize()
        finally:
            self._idle_streams.append(stream)

    # --- what no array library has -----------------------------------------------------------

    def map_products(self, values: Any, norms_a: Any, norms_b: Any, spec: NativeSpec) -> None:
        """Turn inner products into kernel values, in place; the array is C-contiguous."""
        rows, columns = values.shape
        if values.size:
            grid = (-(-columns // THREADS), min(rows, MOST_BLOCKS))
            sizes = (np.int64(rows), np.int64(columns))
            self.kernel("map_products", values.dtype)(
                grid, (THREADS,), (values, *sizes, norms_a, norms_b, *formula(spec, values))
            )

    def map_and_add(
        self,
        products: Any,
        norms_a: Any,
        norms_b: Any,
        moves: Any,
        outputs: Any,
        spec: NativeSpec,
    ) -> None:
        """Add sum_i moves[i] k(i, j) to outputs[j], from inner products."""
        rows, columns = products.shape
        if products.size:
            self.kernel("map_and_add", products.dtype)(
                (-(-columns // 32),),
                (THREADS,),
                (products, np.int32(rows), np.int64(columns), norms_a, norms_b, moves, outputs,
                 *formula(spec, products)),
            )  # fmt: skip

    def pairwise(self, A: Any, B: Any, spec: NativeSpec) -> Any:
        """Return L1 or chi-squared distances, or common masses, of all pairs of dense rows."""
        A, B = self.xp.ascontiguousarray(A), self.xp.ascontiguousarray(B)
        result = self.xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype)
        if result.size and A.shape[1]:
            grid = (-(-B.shape[0] // PAIRS), -(-A.shape[0] // PAIRS))
            sizes = (np.int64(A.shape[0]), np.int64(B.shape[0]), np.int64(A.shape[1]))
            self.kernel("pairwise", A.dtype)(
                grid, (THREADS,), (A, B, result, *sizes, np.int32(spec.kind))
            )
        return result

    def row_norms(self, rows: Any) -> Any:
        """Return the squared norms of dense rows."""
        norms = self.xp.zeros(rows.shape[0], dtype=rows.dtype)
        if rows.size:
            self.kernel("row_norms", rows.dtype)(
                (-(-rows.shape[0] // (THREADS // 32)),),
                (THREADS,),
                (self.xp.ascontiguousarray(rows), *map(np.int64, rows.shape), norms),
            )
        return norms

    def state(self, arrays: Sequence[Any], group: Any, groups: int) -> State:
        """Return the state of a machine: outputs, x, linear, lower and upper, and groups."""
        outputs, x, linear, lower, upper = (self.upload(a, np.float64) for a in arrays)
        group = self.upload(group, np.int8)
        places = [a.data.ptr for a in (outputs, x, linear, lower, upper, group)]
        sizes = int(outputs.size) | int(x.size) << 32
        box = self.upload(np.array([*places, sizes], dtype=np.int64))
        return State(outputs, x, linear, lower, upper, group, groups, box)

    def write(self, array: Any, values: NDArray[Any]) -> None:
        """Overwrite a whole array of the device by one of the host."""
        array.set(np.ascontiguousarray(values, dtype=array.dtype))

    def reach(self, state: State) -> NDArray[np.float64]:
        """Return how far the gradients of each group reach, shape (groups, 4).

        The lowest that may rise, the highest that may fall, and the sum and the number of those of
        variables between their bounds.
        """
        parts = self.xp.empty((_blocks(state), state.groups, 4))
        self.kernel("measure_reach", np.float64)(
            (len(parts),), (THREADS,), (state.box, np.int32(state.groups), parts)
        )
        found = self.download(parts)
        low, high = found[..., 0].min(axis=0), found[..., 1].max(axis=0)
        return np.column_stack([low, high, found[..., 2:].sum(axis=0)])

    def sums(self, state: State, multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gap for these multipliers, x'Kx and linear'x."""
        parts = self.xp.empty((_blocks(state), 3))
        ends = np.float64(multipliers[0]), np.float64(multipliers[-1])
        self.kernel("measure_sums", np.float64)(
            (len(parts),), (THREADS,), (state.box, *ends, parts)
        )
        return np.asarray(self.download(parts).sum(axis=0))

    def solve_block(self, *arguments: Any) -> tuple[NDArray[np.float64], int, float, bool]:
        """Solve the problem of one block; see `rounds.solve_one_block`."""
        return solve_one_block(self, *arguments)

    def rounds(self, *arguments: Any) -> CudaRounds:
        """Return what makes several rounds on end; see `rounds.CudaRounds`."""
        return CudaRounds(self, *arguments)

    def rounds_of_rows(self, *arguments: Any) -> CudaRoundsOfRows:
        """Return what makes them without a kernel matrix; see `rounds.CudaRoundsOfRows`."""
        return CudaRoundsOfRows(self, *arguments)


def _blocks(state: State) -> int:
    """Return how many thread blocks pass over the variables."""
    return min(MEASURING, -(-int(state.x.size) // THREADS))


@cache
def open_device() -> Device:
    """Return the GPU, or say in one sentence what to install."""
    try:
        return Device()
    except Exception as error:  # of CuPy, its libraries or the driver: many kinds
        raise RuntimeError(f"{INSTALL} (found: {error})") from error


def gpu_is_usable() -> bool:
    """Tell whether `open_device` succeeds."""
    try:
        open_device()
    except RuntimeError:
        return False
    return True
