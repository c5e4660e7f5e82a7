"""Kernel values on the GPU, for every kernel that compares vectors.

A kernel of inner products is a matrix product and one pass that turns it into kernel values; L1 and
chi-squared distances and common masses are summed by a CUDA kernel of ours; sums, products and
multiples of kernels are computed from their parts; a Python function gets two arrays of CuPy.
"""

from typing import Any

import numpy as np

from ...kernels import FunctionKernel, Kernel, NativeSpec, Product, Scaled, Sum, VectorKernel
from .rows import Operand

__all__ = [
    "add_rows",
    "in_tiles",
    "kernel_block",
    "native_spec",
    "operands",
    "runs_here",
    "tile_spec",
]

OF_PAIRS = ("LAPLACIAN", "CHI_SQUARED", "INTERSECTION")  # no functions of an inner product


def runs_here(kernel: Kernel) -> bool:
    """Tell whether the kernel can be computed on a GPU at all, given rows of numbers."""
    if isinstance(kernel, Sum | Product):
        return runs_here(kernel.left) and runs_here(kernel.right)
    if isinstance(kernel, Scaled):
        return runs_here(kernel.kernel)
    return isinstance(kernel, VectorKernel | FunctionKernel)


def native_spec(kernel: Kernel) -> NativeSpec | None:
    """Return the description of a kernel of inner products, whose map is one pass."""
    spec = kernel.native()
    return None if spec is None or spec.kind.name in OF_PAIRS else spec


def tile_spec(kernel: Kernel) -> NativeSpec | None:
    """Return the description of a kernel that `tiles.py` computes from start to end, if it is."""
    if isinstance(kernel, Sum | Product | Scaled | FunctionKernel):
        return None
    return native_spec(kernel)


def operands(spec: NativeSpec, A: Operand, B: Operand) -> tuple[Operand, Operand]:
    """Return the rows as the kernel wants them: centred for distances."""
    return (A.centred, B.centred) if spec.kind.name == "RBF" else (A, B)


def in_tiles(A: Operand, B: Operand) -> bool:
    """Tell whether kernels of inner products go by tiles: dense rows, and a GPU that can."""
    return not (A.sparse or B.sparse) and bool(A.device.tiles)


def products(A: Operand, B: Operand, out: Any = None) -> Any:
    """Return the inner products of all pairs, C-contiguous."""
    xp = A.device.xp
    if A.sparse and not B.sparse:
        return xp.ascontiguousarray(A.raw @ xp.ascontiguousarray(B.raw.T))
    if B.sparse:
        return xp.ascontiguousarray((B.raw @ xp.ascontiguousarray(A.dense.T)).T)
    return xp.matmul(A.raw, B.raw.T, out=out)


def kernel_block(kernel: Kernel, A: Operand, B: Operand, out: Any = None) -> Any:
    """Return the kernel values between two sets of rows, perhaps in memory that is given."""
    if isinstance(kernel, Sum):
        return _into(out, kernel_block(kernel.left, A, B) + kernel_block(kernel.right, A, B))
    if isinstance(kernel, Product):
        return _into(out, kernel_block(kernel.left, A, B) * kernel_block(kernel.right, A, B))
    if isinstance(kernel, Scaled):
        return _into(out, kernel_block(kernel.kernel, A, B) * A.raw.dtype.type(kernel.factor))
    if isinstance(kernel, FunctionKernel):
        return _into(out, _of_function(kernel, A, B))
    spec = kernel.native()
    if spec is None:
        raise ValueError(f"{kernel!r} has no formula that a GPU can run; use device='cpu'")
    if native_spec(kernel) is None:
        values, left, right = A.device.pairwise(A.dense, B.dense, spec), A, B
    elif in_tiles(A, B):
        left, right = operands(spec, A, B)
        values = A.device.xp.empty((A.size, B.size), dtype=A.raw.dtype) if out is None else out
        A.device.kernel_values(left.tile_rows, right.tile_rows, spec, values)
        return values
    else:
        left, right = operands(spec, A, B)
        values = products(left, right, out)
    if spec.kind.name not in ("LINEAR", "INTERSECTION"):
        A.device.map_products(values, left.norms, right.norms, spec)
    return _into(out, values)


def _into(out: Any, values: Any) -> Any:
    if out is None or out is values:
        return values
    out[...] = values
    return out


def _of_function(kernel: FunctionKernel, A: Operand, B: Operand) -> Any:
    xp = A.device.xp
    values = kernel.function(A.raw, B.raw)
    name = getattr(kernel.function, "__qualname__", repr(kernel.function))
    try:
        block = xp.ascontiguousarray(xp.asarray(values, dtype=A.raw.dtype))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"FunctionKernel: {name} must return an array of numbers for arrays of the GPU, found "
            f"{type(values).__name__}; write it with operators and methods of its arguments, or "
            "use device='cpu'"
        ) from error
    if block.shape != (A.size, B.size):
        raise ValueError(
            f"FunctionKernel: {name} must return shape {(A.size, B.size)}, found {block.shape}"
        )
    if not A.device.all_finite(block):
        raise ValueError(f"FunctionKernel: {name} returned values that are not finite")
    return block


def add_rows(kernel: Kernel, A: Operand, B: Operand, moves: Any, outputs: Any) -> None:
    """Add sum_i moves[i] k(a_i, b_j) to outputs[j]; moves and outputs are in float64."""
    spec = tile_spec(kernel)
    if spec is None:
        outputs += moves @ kernel_block(kernel, A, B).astype(np.float64, copy=False)
        return
    left, right = operands(spec, A, B)
    if in_tiles(A, B):
        A.device.kernel_sums(left.tile_rows, right.tile_rows, moves, outputs, spec)
        return
    A.device.map_and_add(products(left, right), left.norms, right.norms, moves, outputs, spec)
