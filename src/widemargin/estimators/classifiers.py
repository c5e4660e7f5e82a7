"""SVC and NuSVC."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem, c_svc, nu_svc
from ..reductions.machines import Machine, read_machine, read_nu_svc
from ..solution import Solution
from .kernel_classifier import KernelClassifier
from .validation import check_number

__all__ = ["SVC", "NuSVC"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class SVC(KernelClassifier):
    """Soft-margin support vector classifier with any kernel, certified by its duality gap."""

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        n_jobs: int | None = None,
        max_time: float | None = None,
        memory_limit: Any = None,
        gap_tol: float | None = None,
        precision: str = "auto",
        warm_start: bool = False,
        solver: str = "auto",
        gram_columns: str = "train",
        callback: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.gap_tol = gap_tol
        self.precision = precision
        self.warm_start = warm_start
        self.solver = solver
        self.gram_columns = gram_columns
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("C", self.C, low=0, open_low=True)

    def _problem(self, signs: Vector, weights: Vector) -> Problem:
        return c_svc(signs, float(self.C) * weights)

    def _read(
        self, problem: Problem, solution: Solution, rows: Ids, classes: tuple[int, int]
    ) -> Machine:
        return read_machine(problem, solution, rows, classes)


class NuSVC(KernelClassifier):
    """Support vector classifier that is told the share of margin errors instead of their cost."""

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        n_jobs: int | None = None,
        max_time: float | None = None,
        memory_limit: Any = None,
        gap_tol: float | None = None,
        precision: str = "auto",
        warm_start: bool = False,
        solver: str = "auto",
        gram_columns: str = "train",
        callback: Any = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.gap_tol = gap_tol
        self.precision = precision
        self.warm_start = warm_start
        self.solver = solver
        self.gram_columns = gram_columns
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("nu", self.nu, low=0, high=1, open_low=True)

    def _problem(self, signs: Vector, weights: Vector) -> Problem:
        return nu_svc(signs, weights, float(self.nu))

    def _read(
        self, problem: Problem, solution: Solution, rows: Ids, classes: tuple[int, int]
    ) -> Machine:
        return read_nu_svc(problem, solution, rows, classes)
