"""The CPU backend: NumPy state around the compiled core."""

from .expansion import Expansion
from .joint import CpuJointData
from .kernel_data import CpuKernelData, kernel_square
from .linear_data import CpuLinearData
from .linear_machine import LinearPoint
from .path import CpuPath, Side
from .resources import memory_budget, thread_count
from .sources import count_rows, is_sparse, take_rows, values_computed

__all__ = [
    "CpuJointData",
    "CpuKernelData",
    "CpuLinearData",
    "CpuPath",
    "Expansion",
    "LinearPoint",
    "Side",
    "count_rows",
    "is_sparse",
    "kernel_square",
    "memory_budget",
    "take_rows",
    "thread_count",
    "values_computed",
]
