"""The CPU backend: NumPy state around the compiled core."""

from .expansion import Expansion
from .joint import CpuJointData
from .kernel_data import CpuKernelData
from .linear_data import CpuLinearData
from .linear_machine import LinearPoint
from .resources import memory_budget, thread_count
from .sources import count_rows, is_sparse, take_rows

__all__ = [
    "CpuJointData",
    "CpuKernelData",
    "CpuLinearData",
    "Expansion",
    "LinearPoint",
    "count_rows",
    "is_sparse",
    "memory_budget",
    "take_rows",
    "thread_count",
]
