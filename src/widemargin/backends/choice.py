"""Which backend runs a fit, and arrays that come from a GPU."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel
from .cpu import (
    CpuJointData,
    CpuKernelData,
    CpuLinearData,
    Expansion,
    memory_budget,
    thread_count,
)
from .gpu import (
    GpuExpansion,
    GpuJointData,
    GpuKernelData,
    GpuLinearData,
    gpu_is_usable,
    open_device,
)

__all__ = [
    "LinearRowsData",
    "choose_backend",
    "is_on_gpu",
    "open_expansion",
    "open_joint_data",
    "open_kernel_data",
    "open_linear_data",
    "to_host",
]

LinearRowsData = CpuLinearData | GpuLinearData
CUDA_MEMORY = (2, 13)  # of DLPack: memory of the device, and managed memory


def is_on_gpu(values: Any) -> bool:
    """Tell whether an array of CuPy, PyTorch or another library lies on an NVIDIA GPU."""
    if hasattr(values, "__cuda_array_interface__"):
        return True
    if type(values).__module__.startswith("cupyx.scipy.sparse"):
        return True
    where = getattr(values, "__dlpack_device__", None)
    return where is not None and where()[0] in CUDA_MEMORY


def to_host(values: Any) -> Any:
    """Return an array of a GPU as one of the host, and everything else as it is."""
    if not is_on_gpu(values):
        return values
    device = open_device()
    if device.sparse.issparse(values):
        return values.tocsr().get()
    if hasattr(values, "__cuda_array_interface__"):
        return device.download(device.xp.asarray(values))
    return device.download(device.xp.from_dlpack(values))


def choose_backend(device: str | None, X: Any) -> str:
    """Return "cpu" or "cuda": what was asked for, or else where the rows are."""
    if device is not None:
        return device
    return "cuda" if is_on_gpu(X) else "cpu"


def open_kernel_data(
    backend: str, X: Any, kernel: Kernel | None, n_jobs: Any, memory_limit: Any, precision: str
) -> CpuKernelData | GpuKernelData:
    """Open rows and kernel on a backend; on a GPU the memory limit is that of its memory."""
    threads = thread_count(n_jobs)
    if backend == "cuda":
        budget = None if memory_limit is None else memory_budget(memory_limit)
        return GpuKernelData(X, kernel, threads=threads, budget=budget, precision=precision)
    budget = memory_budget(memory_limit)
    return CpuKernelData(X, kernel, threads=threads, budget=budget, precision=precision)


def open_joint_data(data: CpuKernelData | GpuKernelData) -> CpuJointData:
    """Open data for the machine that learns all classes in one problem."""
    if isinstance(data, GpuKernelData):
        return GpuJointData(data, memory_budget(None))
    return CpuJointData(data)


def open_linear_data(backend: str, X: Any, n_jobs: Any) -> LinearRowsData:
    """Open the rows of linear machines on a backend."""
    threads = thread_count(n_jobs)
    return GpuLinearData(X, threads) if backend == "cuda" else CpuLinearData(X, threads)


def open_expansion(
    backend: str,
    vectors: Any,
    kernel: Kernel | None,
    weights: NDArray[np.float64],
    group_starts: NDArray[np.int64],
    n_jobs: Any,
    memory_limit: Any,
    linear: NDArray[np.float64] | None = None,
) -> Expansion:
    """Open what predicts; a model that a GPU has trained works without one too."""
    threads = thread_count(n_jobs)
    if linear is not None:
        return Expansion(vectors, kernel, weights, group_starts, threads, linear=linear)
    if backend == "cuda" and gpu_is_usable():
        budget = None if memory_limit is None else memory_budget(memory_limit)
        return GpuExpansion(vectors, kernel, weights, group_starts, threads, budget)
    return Expansion(vectors, kernel, weights, group_starts, threads)
