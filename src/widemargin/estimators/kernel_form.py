"""Online classifiers with any kernel: resolved at the first rows, decided by sums over rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.cpu import Expansion, count_rows, thread_count
from ..backends.cpu.machine import whole
from ..kernels import Kernel
from .online import OnlineClassifier
from .validation import resolve_kernel

__all__ = ["KernelForm"]

Vector = NDArray[np.float64]


class KernelForm(OnlineClassifier):
    """Base of the online classifiers with the parameters kernel, degree, gamma and coef0."""

    def _takes_objects(self) -> bool:
        kernel = self.kernel
        return kernel.accepts_objects if isinstance(kernel, Kernel) else callable(kernel)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        non_negative = isinstance(self.kernel, str) and self.kernel in ("chi2", "intersection")
        tags.input_tags.positive_only = non_negative
        return tags

    def _forget(self) -> None:
        super()._forget()
        for name in ("kernel_", "support_vectors_"):
            if hasattr(self, name):
                delattr(self, name)

    def _kernel(self, X: Any, importance: Vector | None = None) -> Kernel | None:
        if not hasattr(self, "kernel_"):
            weights = np.ones(count_rows(X)) if importance is None else importance
            kernel = resolve_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights)
            if kernel is None:
                raise ValueError(
                    "kernel='precomputed' is of no use to an online learner, whose rows come one "
                    "by one; pass a kernel object or a function"
                )
            self.kernel_ = kernel
        return self.kernel_

    def _scores(self, X: Any) -> Vector:
        if not hasattr(self, "dual_coef_"):
            return super()._scores(X)
        starts = whole(self.dual_coef_.shape[1])
        threads = thread_count(self.n_jobs)
        sums = Expansion(
            self.support_vectors_, self.kernel_, self.dual_coef_, starts, threads
        ).sums(X)
        return sums[:, 0] + self.intercept_
