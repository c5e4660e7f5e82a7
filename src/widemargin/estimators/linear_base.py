"""What all linear estimators share: settings, problems, running the machines, the certificate."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..backends.choice import LinearRowsData, choose_backend, open_linear_data, to_host
from ..backends.cpu import LinearPoint, thread_count
from ..losses import Loss
from ..problem import LinearProblem
from ..reductions.linear import LinearJob, run_linear_jobs
from ..solution import Certificate, JointSolution, LinearSolution, Progress, Reporter, Status
from ..solvers.linear import LinearOptions
from ..solvers.monitor import Limits
from .progress import ProgressLine
from .validation import check_choice, check_number, check_rows
from .whole import whole_or_nothing

__all__ = ["LinearEstimator"]

Vector = NDArray[np.float64]

SOLVERS = ("auto", "newton", "dual")
PENALTIES = ("l2", "l1", "elasticnet")


class LinearEstimator(BaseEstimator):
    """Base of the linear machines. Subclasses list their parameters in ``__init__``."""

    device: str | None = None  # of those without the parameter
    coef_: Any
    _stream: list[tuple[float, float]] | None  # gains and reach of each machine of a stream

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- fitting -----------------------------------------------------------------------------

    def _check_settings(self) -> None:
        check_choice("penalty", self.penalty, PENALTIES)
        self._check_cost()
        if self.lam is not None:
            check_number("lam", self.lam, low=0, open_low=True)
        check_number("l1_ratio", self.l1_ratio, low=0, high=1)
        check_number("intercept_scaling", self.intercept_scaling, low=0, open_low=True)
        if self.tol is not None:
            check_number("tol", self.tol, low=0, open_low=True)
        check_number("gap_tol", self.gap_tol, low=0, open_low=True)
        check_number("max_iter", self.max_iter, low=-1, whole=True)
        if self.max_time is not None:
            check_number("max_time", self.max_time, low=0, open_low=True)
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, whole=True)
        check_choice("solver", self.solver, SOLVERS)
        check_choice("device", self.device, (None, "cpu", "cuda"))
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function or None, found {self.callback!r}")

    def _check_cost(self) -> None:
        check_number("C", self.C, low=0, open_low=True)

    def _whole_or_nothing(self) -> AbstractContextManager[None]:
        return whole_or_nothing(self, ("_init", "_stream"), keep=bool(self.warm_start))

    def _arrive(self, *arrays: Any) -> list[Any]:
        """Settle which backend runs, and return rows, targets and weights on the host."""
        self.backend_ = choose_backend(self.device, arrays[0])
        return [to_host(values) for values in arrays]

    def _rows(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        return check_rows(self, to_host(X), y, reset=reset, objects=False)

    def _factor(self, rows: float) -> float:
        """Return the cost of a row of weight one; ``lam`` counts against the mean of the losses."""
        return float(self.C) if self.lam is None else 1.0 / (float(self.lam) * rows)

    def _problem(
        self, loss: Loss, targets: Vector, weights: Vector, rows: float | None = None
    ) -> LinearProblem:
        """State the problem; `rows` is the weight of all rows, if there are more than these."""
        factor = self._factor(float(weights.sum()) if rows is None else rows)
        l1 = {"l2": 0.0, "l1": 1.0, "elasticnet": float(self.l1_ratio)}[self.penalty]
        l2 = 1.0 - l1
        share = 1.0 / float(self.intercept_scaling) if self.penalize_intercept else 0.0
        return LinearProblem(
            loss=loss,
            targets=np.ascontiguousarray(targets, dtype=np.float64),
            costs=factor * weights,
            l1=l1,
            l2=l2,
            bias=bool(self.fit_intercept),
            bias_l1=l1 * share,
            bias_l2=l2 * share**2,
        )

    def _solve(self, jobs: Iterable[LinearJob]) -> Iterator[LinearSolution]:
        """Run the machines; the user's callback and the progress line listen."""
        line = ProgressLine() if self.verbose else None
        try:
            yield from run_linear_jobs(
                jobs,
                self._limits(),
                LinearOptions(self.solver),
                self._reporter(line),
                thread_count(self.n_jobs),
            )
        except FloatingPointError as overflow:
            raise ValueError(str(overflow)) from None
        finally:
            if line is not None:
                line.close()

    def _limits(self) -> Limits:
        tol = 0.0 if self.tol is None else float(self.tol)
        return Limits(tol, float(self.gap_tol), int(self.max_iter), self.max_time)

    def _reporter(self, line: ProgressLine | None) -> Reporter | None:
        if line is None and self.callback is None:
            return None

        def report(progress: Progress) -> bool:
            if line is not None:
                line(progress)
            return self.callback is not None and self.callback(progress) is True

        return report

    def _data(self, X: Any) -> LinearRowsData:
        return open_linear_data(self.backend_, X, self.n_jobs)

    def _start(self, machine: int, machines: int, rows: int) -> LinearPoint | None:
        """Return where to begin: ``coef_init``, or the last fit with ``warm_start``."""
        given = getattr(self, "_init", None)
        if given is not None:
            coef, intercept = given
            return self._point(coef[machine], intercept[machine], None)
        solutions = getattr(self, "solutions_", ()) if self.warm_start else ()
        if len(solutions) != machines or not isinstance(solutions[machine], LinearSolution):
            return None
        kept: Any = self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        if kept.shape[1] != self.n_features_in_:
            return None
        weights, shares = kept[[machine]], solutions[machine].shares
        weights = weights.toarray()[0] if sp.issparse(weights) else weights[0]
        bias = float(self.intercept_[machine])
        return self._point(weights, bias, shares if shares.size == rows else None)

    def _point(self, weights: Any, bias: float, shares: Vector | None) -> LinearPoint:
        x = np.asarray(weights, dtype=np.float64)
        return LinearPoint(np.append(x, bias) if self.fit_intercept else x.copy(), shares)

    def _keep_init(self, coef_init: Any, intercept_init: Any, machines: int) -> None:
        """Check ``coef_init`` and keep it for the fit that runs."""
        self._init = None
        if coef_init is None:
            if intercept_init is not None:
                raise ValueError("intercept_init needs coef_init beside it")
            return
        coef = np.atleast_2d(np.asarray(coef_init, dtype=np.float64))
        shift = (
            np.zeros(machines)
            if intercept_init is None
            else np.atleast_1d(np.asarray(intercept_init, dtype=np.float64))
        )
        wanted = (machines, self.n_features_in_)
        if coef.shape != wanted or shift.shape != (machines,):
            raise ValueError(
                f"coef_init must have shape {wanted} and intercept_init ({machines},), "
                f"found {coef.shape} and {shift.shape}"
            )
        if not (np.isfinite(coef).all() and np.isfinite(shift).all()):
            raise ValueError("coef_init and intercept_init must be finite")
        self._init = coef, shift

    # --- what a fit leaves behind ---------------------------------------------------------------

    def _keep_solutions(self, solutions: Sequence[LinearSolution | JointSolution]) -> None:
        """Set the attributes that say how good the fit is."""
        self._init = self._stream = None
        self.solutions_ = list(solutions)
        primal = sum(s.certificate.primal for s in solutions)
        dual = sum(s.certificate.dual for s in solutions)
        violation = max(s.certificate.violation for s in solutions)
        noise = sum(s.certificate.noise for s in solutions)
        whole = Certificate(primal, dual, violation, (), (), noise)
        self.primal_objective_ = primal
        self.dual_objective_ = dual
        self.duality_gap_ = whole.relative_gap
        self.kkt_violation_ = whole.violation
        unfinished = [s.status for s in solutions if not s.status.converged]
        self.status_ = unfinished[0] if unfinished else solutions[0].status
        self.history_ = tuple(record for s in solutions for record in s.history)
        self.n_iter_ = max(s.iterations for s in solutions)

    def _warn_or_stop(self) -> None:
        """Raise the Ctrl-C that stopped the fit, now that the model is usable, or warn."""
        if self.status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt(self.status_.value)
        if not self.status_.converged:
            warnings.warn(
                f"{type(self).__name__} {self.status_.value}: relative duality gap "
                f"{self.duality_gap_:.2g} (gap_tol={self.gap_tol:g}). {NEXT_STEP[self.status_]}",
                ConvergenceWarning,
                stacklevel=3,
            )

    # --- prediction ------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Vector:
        """Return the decision of each machine, shape (rows, machines)."""
        check_is_fitted(self, "coef_")
        return self._products(self._rows(X, reset=False))

    def _products(self, X: Any) -> Vector:
        """Return the decision of each machine for rows that have been checked."""
        product = (
            X @ np.atleast_2d(self.coef_).T if not sp.issparse(self.coef_) else (X @ self.coef_.T)
        )
        dense = product.toarray() if sp.issparse(product) else np.asarray(product)
        return dense + self.intercept_

    def _bounds(self, X: Any) -> Vector:
        """Return, for each row and machine, how far its decision is from the optimal one."""
        check_is_fitted(self, "coef_")
        if not hasattr(self, "solutions_"):
            raise ValueError(
                "a bound needs the gap of a fit to all rows, but this model has learnt from blocks "
                "of rows (partial_fit) or was read from a file; call fit"
            )
        X = self._rows(X, reset=False)
        squares = X.multiply(X) if sp.issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
        total = squares.sum(axis=1) if sp.issparse(X) else squares
        norms = np.sqrt(np.asarray(total, dtype=np.float64).ravel())
        shift = float(self.intercept_scaling) if self.fit_intercept else 0.0
        columns = [
            norms * _weight_bound(s, self._l2()) + _bias_bound(s, shift) for s in self.solutions_
        ]
        return np.stack(columns, axis=1)

    def _l2(self) -> float:
        return {"l2": 1.0, "l1": 0.0, "elasticnet": 1.0 - float(self.l1_ratio)}[self.penalty]

    def _contributions(self, X: Any, coef: Any) -> Any:
        X = self._rows(X, reset=False)
        return sp.csr_matrix(X.multiply(coef)) if sp.issparse(X) else X * coef

    def sparsify(self) -> Any:
        """Turn ``coef_`` into a CSR matrix, which saves memory after an l1 fit.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_is_fitted(self, "coef_")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Turn ``coef_`` back into an array.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_is_fitted(self, "coef_")
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self


def _weight_bound(solution: LinearSolution | JointSolution, l2: float) -> float:
    gap = max(0.0, solution.certificate.gap)
    return float(np.sqrt(2.0 * gap / l2)) if l2 > 0 else np.inf


def _bias_bound(solution: LinearSolution | JointSolution, scaling: float) -> float:
    """Return how far the bias can be from an optimal one.

    A penalised bias is the weight of a constant feature, so the gap bounds it as it does weights.
    """
    if isinstance(solution, JointSolution):
        return scaling * _weight_bound(solution, 1.0)
    (bias,), ((low, high),) = (
        solution.certificate.multipliers,
        solution.certificate.multiplier_range,
    )
    return max(bias - low, high - bias)


NEXT_STEP = {
    Status.TIME_LIMIT: "Raise max_time, or fit again with warm_start=True to go on from here.",
    Status.ITERATION_LIMIT: (
        "Raise max_iter, or fit again with warm_start=True to go on from here."
    ),
    Status.STOPPED: "Fit again with warm_start=True to go on from here.",
    Status.STALLED: "Raise gap_tol, lower C, or scale the columns of X.",
}
