"""LIBSVM through its official Python package; one core.

Its Python functions spend longer converting rows than computing, so the rows are converted before
the clock starts and its C functions are called directly.
"""

from ctypes import c_double
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificate import Expansion, sorted_pairs
from .base import Model, Rival, Settings


class Libsvm(Rival):
    name = "libsvm"
    package = "libsvm-official"
    module = "libsvm"
    parallel = False
    forms = ("csr",)  # it knows no other storage

    def prepare(self, X: Any) -> Any:
        from libsvm.svm import svm_problem

        return svm_problem(np.zeros(X.shape[0]), sp.csr_matrix(X))

    def fit(self, rows: Any, y: np.ndarray, settings: Settings) -> Model:
        from libsvm.svmutil import svm_train

        np.ctypeslib.as_array(rows.y, (len(y),))[:] = y
        options = (
            f"-s 0 -t 2 -c {settings.C!r} -g {settings.gamma!r} -e {settings.tol!r} "
            f"-m {settings.cache_mb} -q"
        )
        return LibsvmModel(svm_train(rows, options), y)


class LibsvmModel(Model):
    def __init__(self, machine: Any, y: np.ndarray) -> None:
        self.machine, self.y = machine, y
        self.order = np.array(machine.get_labels(), dtype=np.float64)

    def _pairs(self) -> int:
        return len(self.order) * (len(self.order) - 1) // 2

    def predict(self, rows: Any) -> np.ndarray:
        from libsvm.svm import libsvm

        scratch = (c_double * self._pairs())()
        values = libsvm.svm_predict_values
        return np.array([values(self.machine, rows.x[i], scratch) for i in range(rows.l)])

    def decision_values(self, rows: Any) -> np.ndarray:
        from libsvm.svm import libsvm

        raw = np.empty((rows.l, self._pairs()))
        scratch = (c_double * self._pairs())()
        for i in range(rows.l):
            libsvm.svm_predict_values(self.machine, rows.x[i], scratch)
            raw[i] = scratch
        return sorted_pairs(self.order, raw)

    def expansion(self) -> Expansion:
        machine = self.machine
        support = np.array(machine.get_sv_indices(), dtype=np.int64) - 1
        rows = [
            np.ctypeslib.as_array(machine.sv_coef[j], (machine.l,))
            for j in range(machine.nr_class - 1)
        ]
        return Expansion.reordered(
            self.order,
            support,
            self.y[support],
            np.array(rows),
            -np.ctypeslib.as_array(machine.rho, (self._pairs(),)),
        )
