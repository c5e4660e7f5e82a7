"""Choosing the cost C and the parameters of kernels."""

from .path import SVMPath, svm_path

__all__ = ["SVMPath", "svm_path"]
