"""What all kernel estimators share: settings, data, running the machines, and the certificate."""

import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from ..backends.choice import (
    choose_backend,
    open_expansion,
    open_kernel_data,
    to_host,
)
from ..backends.cpu import take_rows
from ..kernels import Kernel
from ..problem import Problem
from ..reductions.jobs import Job, Schedule, run_jobs
from ..reductions.machines import Machine
from ..solution import Certificate, JointSolution, Progress, Solution, Status
from ..solvers.certified import Options
from ..solvers.monitor import Limits
from .cost import CostMixin
from .progress import ProgressLine
from .validation import (
    check_choice,
    check_flag,
    check_gram,
    check_number,
    check_rows,
    check_signs,
    resolve_kernel,
)
from .whole import whole_or_nothing

__all__ = ["FitData", "KernelEstimator"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

FITTED = ("_dense_dual_coef", "_expansion", "_group_starts", "_plane", "_trained_by")  # private


@dataclass(frozen=True)
class FitData:
    """Validated training data: rows (or their kernel matrix), kernel, and what backends need.

    `began` is when the fit did, from which `max_time` counts.
    """

    X: Any
    kernel: Kernel | None
    weights: Vector
    rows: Any  # CpuKernelData or GpuKernelData
    began: float


class KernelEstimator(CostMixin, BaseEstimator):
    """Base of the six kernel machines. Subclasses list their parameters in ``__init__``."""

    def _store(self, arguments: dict[str, Any]) -> None:
        """Keep the arguments of ``__init__`` as they are, as scikit-learn demands."""
        for name in self._get_param_names():
            setattr(self, name, arguments[name])

    def _takes_objects(self) -> bool:
        kernel = self.kernel
        if isinstance(kernel, Kernel):
            return kernel.accepts_objects
        return callable(kernel)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise
        tags.input_tags.positive_only = isinstance(self.kernel, str) and self.kernel in (
            "chi2",
            "intersection",
        )
        return tags

    # --- fitting -----------------------------------------------------------------------------

    def _check_settings(self) -> None:
        check_number("tol", self.tol, low=0, open_low=True)
        check_number("max_iter", self.max_iter, low=-1, whole=True)
        if self.gap_tol is not None:
            check_number("gap_tol", self.gap_tol, low=0, open_low=True)
        if self.max_time is not None:
            check_number("max_time", self.max_time, low=0, open_low=True)
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, whole=True)
        check_choice("precision", self.precision, ("auto", "float32", "float64"))
        check_choice("solver", self.solver, ("auto", "smo", "newton"))
        check_choice("gram_columns", self.gram_columns, ("train", "support"))
        check_choice("device", self.device, (None, "cpu", "cuda"))
        check_number("cache_size", self.cache_size, low=0, open_low=True)
        check_flag("shrinking", self.shrinking)
        check_flag("warm_start", self.warm_start)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function or None, found {self.callback!r}")

    def _arrive(self, *arrays: Any) -> list[Any]:
        """Settle which backend runs, and return rows, targets and weights on the host."""
        self.backend_ = choose_backend(self.device, arrays[0])
        return [to_host(values) for values in arrays]

    def _whole_or_nothing(self) -> AbstractContextManager[None]:
        return whole_or_nothing(self, FITTED, keep=bool(self.warm_start))

    def _open(self, X: Any, weights: Vector) -> FitData:
        """Resolve the kernel and open the rows on the backend."""
        began = time.perf_counter()
        with np.errstate(over="ignore", invalid="ignore"):  # the solver tells of an overflow
            kernel = resolve_kernel(self.kernel, self.gamma, self.degree, self.coef0, X, weights)
            if kernel is None:
                check_gram(X)
            try:
                data = open_kernel_data(
                    self.backend_, X, kernel, self.n_jobs, self.memory_limit, self.precision
                )
            except FloatingPointError as overflow:
                raise ValueError(str(overflow)) from None
        return FitData(X, kernel, weights, data, began)

    def _rows(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        return check_rows(self, X, y, reset=reset, objects=self._takes_objects())

    def _schedule(self, data: FitData, line: ProgressLine | None = None) -> Schedule:
        """Return limits and options; the user's callback and the progress line listen."""

        def report(progress: Progress) -> bool:
            if line is not None:
                line(progress)
            return self.callback is not None and self.callback(progress) is True

        return Schedule(
            limits=Limits(self.tol, self.gap_tol, int(self.max_iter), self.max_time),
            options=Options(
                shrinking=bool(self.shrinking),
                exact=self.solver == "newton",
                weights=self.solver == "auto" and self.max_iter < 0,
            ),
            reporter=report if line is not None or self.callback is not None else None,
            began=data.began,
        )

    def _solve(self, data: FitData, jobs: Sequence[Job]) -> list[Solution]:
        """Run the machines."""
        line = ProgressLine(self.tol) if self.verbose else None
        try:
            return run_jobs(data.rows, jobs, self._schedule(data, line))
        except FloatingPointError as overflow:
            raise ValueError(str(overflow)) from None
        finally:
            if line is not None:
                line.close()

    def _start(self, problem: Problem, classes: tuple[int, ...]) -> Vector:
        """Return where to start: the last solution with ``warm_start``, moved into the bounds."""
        if self.warm_start:
            for machine in getattr(self, "machines_", ()):
                same = machine.solution.x.size == problem.linear.size
                if same and machine.classes == classes:
                    return problem.near(machine.solution.x)
        return problem.start

    # --- what a fit leaves behind ---------------------------------------------------------------

    def _keep_certificate(self, solutions: Sequence[Solution | JointSolution]) -> None:
        """Set the attributes that say how good the fit is, and warn if it is not what was asked."""
        primal = sum(s.certificate.primal for s in solutions)
        dual = sum(s.certificate.dual for s in solutions)
        whole = Certificate(primal, dual, max(s.certificate.violation for s in solutions), (), ())
        self.primal_objective_ = primal
        self.dual_objective_ = dual
        self.duality_gap_ = whole.relative_gap
        self.kkt_violation_ = whole.violation
        unfinished = [s.status for s in solutions if not s.status.converged]
        indefinite = any(getattr(s, "indefinite", False) for s in solutions)
        self.status_ = (
            unfinished[0]
            if unfinished
            else Status.STATIONARY
            if indefinite
            else solutions[0].status
        )
        self.history_ = tuple(record for s in solutions for record in s.history)
        self.fit_status_ = int(bool(unfinished))

    def _warn_or_stop(self) -> None:
        """Raise the Ctrl-C that stopped the fit, now that the model is usable, or warn."""
        if self.status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt(self.status_.value)
        if self.fit_status_:
            warnings.warn(
                f"{type(self).__name__} {self.status_.value}: relative duality gap "
                f"{self.duality_gap_:.2g}, largest violation {self.kkt_violation_:.2g} "
                f"(tol={self.tol:g}). {NEXT_STEP[self.status_]}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _keep_support(
        self, data: FitData, support: Ids, dual_coef: Vector, group_starts: Ids
    ) -> None:
        """Keep the support vectors, their coefficients, and the function made of them."""
        sparse = sp.issparse(data.X)
        self.kernel_ = data.kernel
        self.support_ = support.astype(np.int32)
        if data.kernel is None:
            self.support_vectors_: Any = np.empty((0, 0))
        else:
            self.support_vectors_ = take_rows(data.X, support)
        self.dual_coef_: Any = sp.csr_matrix(dual_coef) if sparse else dual_coef
        self.shape_fit_ = data.X.shape if hasattr(data.X, "shape") else (len(data.X),)
        self._dense_dual_coef = dual_coef
        self._group_starts = group_starts
        self._open_expansion()

    def _open_expansion(self) -> None:
        vectors = None if self.kernel_ is None else self.support_vectors_
        self._expansion = open_expansion(
            getattr(self, "backend_", "cpu"), vectors, self.kernel_, self._dense_dual_coef,
            self._group_starts, self.n_jobs, self.memory_limit, getattr(self, "_plane", None),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_expansion", None)  # packed for this machine; made again on loading
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_dense_dual_coef" in state:
            self._open_expansion()

    # --- prediction ------------------------------------------------------------------------------

    def _sums(self, X: Any) -> Vector:
        """Return the kernel sums of each row, shape (rows, groups, outputs)."""
        return self._sums_of(self._prediction_rows(X))

    def _sums_of(self, rows: Any) -> Vector:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self._expansion.sums(rows)
        if not np.isfinite(sums).all():
            raise ValueError(
                "kernel values overflow: the numbers in X are too large for this kernel; "
                "scale the columns as in training"
            )
        return sums

    def _prediction_rows(self, X: Any) -> Any:
        check_is_fitted(self, "support_")
        X = to_host(X)
        if self.kernel_ is not None:
            X = self._rows(X, reset=False)
            check_signs(self.kernel_, X)
            return X
        if self.gram_columns == "support":
            X = check_array(X, dtype=np.float64, input_name="X")
            if X.shape[1] != self.support_.size:
                raise ValueError(
                    f"with gram_columns='support' X must have {self.support_.size} columns, one "
                    f"for each support vector in the order of support_, found shape {X.shape}"
                )
            return X
        if (
            getattr(X, "ndim", 2) == 2
            and hasattr(X, "shape")
            and (X.shape[1] == self.support_.size != self.n_features_in_)
        ):
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.n_features_in_}, the number "
                "of samples at training time; it is the number of support vectors: if the columns "
                "are those of support_, set gram_columns='support'"
            )
        return self._rows(X, reset=False)[:, self.support_]

    def _like(self, values: Vector, X: Any) -> Any:
        """Return decision values in float32 if the rows came and were learnt in float32."""
        narrow = getattr(X, "dtype", None) == np.float32 and (
            getattr(self.support_vectors_, "dtype", None) == np.float32
        )
        return values.astype(np.float32) if narrow else values

    @property
    def coef_(self) -> Any:
        """Weights of the features, for a linear kernel only; shape (machines, features)."""
        check_is_fitted(self, "support_")
        spec = None if self.kernel_ is None else self.kernel_.native()
        if spec is None or spec.kind.name != "LINEAR":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef: Any = self._primal_coef()
        if sp.issparse(self.support_vectors_):
            coef = sp.csr_matrix(coef)
            coef.data.flags.writeable = False
        else:
            coef.flags.writeable = False  # writing to it would change no decision
        return coef

    def _primal_coef(self) -> Vector:
        linear = self._expansion.linear
        if linear is None:
            return np.zeros((self._dense_dual_coef.shape[0], self.n_features_in_))
        return linear.sum(axis=0)

    def _bounds(self, X: Any, machines: Sequence[Machine]) -> Vector:
        """Return, for each row and machine, how far its decision is from the optimal one."""
        rows = self._prediction_rows(X)
        norms = np.sqrt(np.maximum(self._expansion.self_similarity(rows), 0.0))
        weight = np.array([m.weight_bound for m in machines])
        bias = np.array([m.bias_bound for m in machines])
        return np.asarray(norms[:, None] * weight + bias)


NEXT_STEP = {
    Status.TIME_LIMIT: "Raise max_time, or fit again with warm_start=True to go on from here.",
    Status.ITERATION_LIMIT: (
        "Raise max_iter, or fit again with warm_start=True to go on from here; scaling the "
        "columns of X (StandardScaler, MinMaxScaler) often saves most steps."
    ),
    Status.STOPPED: "Fit again with warm_start=True to go on from here.",
    Status.STALLED: "Raise tol, lower C, or scale the columns of X.",
}
