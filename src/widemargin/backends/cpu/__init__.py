"""The CPU backend: NumPy state around the compiled core."""

from .expansion import Expansion
from .kernel_data import CpuKernelData
from .resources import memory_budget, thread_count
from .sources import count_rows, is_sparse, take_rows

__all__ = [
    "CpuKernelData",
    "Expansion",
    "count_rows",
    "is_sparse",
    "memory_budget",
    "take_rows",
    "thread_count",
]
