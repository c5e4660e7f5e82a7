"""Launching the kernels that compute kernel values of dense rows by tensor cores."""

from typing import Any

import numpy as np

from ...kernels import NativeSpec

__all__ = ["TileLaunches"]

THREADS = 256
ROWS = 128  # of a tile
COLUMNS = {np.dtype(np.float32): 128, np.dtype(np.float64): 64}
ENOUGH = 528  # thread blocks: four on each multiprocessor
LEAST_CAPABILITY = 80

Rows = tuple[Any, Any]  # dense rows of the device, and their squared norms
Chosen = tuple[Any, int]  # numbers of rows on the device, int32, and how many


class TileLaunches:
    """Kernel values of dense rows; only for kernels of inner products."""

    xp: Any
    kernel: Any

    @property
    def tiles(self) -> bool:
        """Whether the GPU has what these kernels need."""
        return int(self.xp.cuda.Device().compute_capability) >= LEAST_CAPABILITY

    def kernel_values(
        self,
        a: Rows,
        b: Rows,
        spec: NativeSpec,
        out: Any,
        chosen_a: Chosen | None = None,
        chosen_b: Chosen | None = None,
    ) -> None:
        """Write k(a_i, b_j) to out[i, j], whose rows are contiguous."""
        arguments_a, count_a = _arguments(a, chosen_a)
        arguments_b, count_b = _arguments(b, chosen_b)
        if not count_a or not count_b:
            return
        self.kernel("kernel_values", out.dtype, int(spec.kind))(
            (-(-count_b // COLUMNS[out.dtype]), -(-count_a // ROWS)),
            (THREADS,),
            (*arguments_a, *arguments_b, np.int32(a[0].shape[1]), *formula(spec, out)[1:],
             np.int32(a[0] is b[0] and chosen_a is chosen_b), out,
             np.int64(out.strides[0] // out.itemsize)),
        )  # fmt: skip

    def kernel_sums(
        self,
        a: Rows,
        b: Rows,
        moves: Any,
        outputs: Any,
        spec: NativeSpec,
        chosen_a: Chosen | None = None,
        chosen_b: Chosen | None = None,
        result: Any = None,
    ) -> None:
        """Add sum_i moves[i] k(a_i, b_j) to outputs[j].

        Parameters
        ----------
        a, b : Rows
        moves, outputs : array
            In float64.
        spec : NativeSpec
        chosen_a, chosen_b : Chosen or None
            Which rows are meant; None for all.
        result : array or None
            What says how many rows of `a` are meant, where only the device knows.
        """
        arguments_a, count_a = _arguments(a, chosen_a)
        arguments_b, count_b = _arguments(b, chosen_b)
        if not count_a or not count_b:
            return
        real = a[0].dtype
        across, down = -(-count_b // COLUMNS[real]), -(-count_a // ROWS)
        shares = min(down, max(1, ENOUGH // across)) if result is None else 1
        parts = outputs if shares == 1 else self.xp.empty((shares, count_b))
        self.kernel("kernel_sums", real, int(spec.kind))(
            (across, shares),
            (THREADS,),
            (*arguments_a, np.intp(0) if result is None else result, moves, *arguments_b,
             np.int32(a[0].shape[1]), *formula(spec, a[0])[1:], np.int32(shares == 1), parts),
        )  # fmt: skip
        if shares > 1:
            outputs += parts.sum(axis=0)


def formula(spec: NativeSpec, values: Any) -> tuple[Any, ...]:
    """Return what a CUDA kernel must know of a kernel's formula."""
    real = values.dtype.type
    return np.int32(spec.kind), real(spec.gamma), real(spec.coef0), np.int32(spec.degree)


def _arguments(rows: Rows, chosen: Chosen | None) -> tuple[tuple[Any, ...], int]:
    values, norms = rows
    assert values.flags.c_contiguous
    ids, count = (np.intp(0), int(values.shape[0])) if chosen is None else chosen
    return (values, norms, ids, np.int64(count)), count
