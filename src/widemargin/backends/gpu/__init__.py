"""The GPU backend: CuPy arrays, and kernels of our own that are compiled when first used."""

from .device import gpu_is_usable, open_device
from .expansion import GpuExpansion
from .kernel_data import GpuKernelData
from .linear_data import GpuLinearData
from .source import GpuJointData

__all__ = [
    "GpuExpansion",
    "GpuJointData",
    "GpuKernelData",
    "GpuLinearData",
    "gpu_is_usable",
    "open_device",
]
