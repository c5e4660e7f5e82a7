"""The CPU backend: NumPy state around the compiled core."""

from .kernel_data import CpuKernelData
from .resources import memory_budget, thread_count

__all__ = ["CpuKernelData", "memory_budget", "thread_count"]
