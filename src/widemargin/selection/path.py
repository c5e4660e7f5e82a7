"""The soft-margin machines of every C at once."""

import warnings
from copy import copy
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..backends.cpu import CpuKernelData
from ..estimators import SVC
from ..estimators.kernel_base import FitData
from ..estimators.progress import ProgressLine
from ..estimators.separability import near_origin
from ..estimators.validation import check_number
from ..kernels import Linear
from ..problem import c_svc
from ..reductions.jobs import Job
from ..reductions.multiclass import one_vs_one
from ..reductions.path import PathRecord, trace_path
from ..solution import Solution, Status
from ..solvers.monitor import Limits, Monitor

__all__ = ["SVMPath", "svm_path"]

REACHED = "the C_max that svm_path was given", "give svm_path a larger C_max"
ENDS = {
    Status.CONVERGED: REACHED,
    Status.ROUNDED: REACHED,
    Status.TIME_LIMIT: ("where max_time ended the path", "give svm_path more time"),
    Status.ITERATION_LIMIT: ("where max_iter ended the path", "give svm_path a larger max_iter"),
    Status.STOPPED: ("where the callback ended the path", "let it return False"),
    Status.STALLED: (
        "beyond which rounded kernel values hide where the path goes",
        "scale the columns of X, or fit SVC with this C",
    ),
}

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]


class SVMPath:
    """Every soft-margin machine between two values of C; made by ``svm_path``.

    Between two breakpoints the multipliers are linear in C. Below the first they are proportional
    to C: the machine then compares distances from two weighted class means. If the last piece has
    no end, any larger C may be asked for too.

    Attributes
    ----------
    C : array
        The breakpoints, rising.
    largest_C : float
        Up to which C the path is known; infinite if it was followed to its last piece, which has no
        end.
    complete : bool
        Whether it was: nothing changes any more beyond the last breakpoint but, in proportion to C,
        the multipliers of margin errors and what balances them.
    status : Status
        How the path ended; the value is a sentence. CONVERGED at ``C_max`` or on the last piece;
        ROUNDED there too, but kernel values too rounded for ``gap_tol``; otherwise the path ended
        before, at ``largest_C``.
    worst_gap : float
        The largest relative gap that was met; ``gap(C)`` tells that of any point.
    history : tuple of Progress
        Time, objective, gap and rows on the margin along the way.
    classes : array of shape (2,)
        The labels; a positive decision means the second.
    """

    def __init__(
        self, record: PathRecord, pair: tuple[int, int], template: SVC, data: FitData, labels: Ids,
        centre: Vector | None = None,
    ) -> None:  # fmt: skip
        self.C = record.breakpoints
        self.largest_C, self.status, self.history = record.largest, record.status, record.history
        self.classes = template.classes_
        self.complete, self.worst_gap = record.largest == inf, record.worst_gap
        self._record, self._pair, self._template = record, pair, template
        self._data, self._labels, self._centre = data, labels, centre
        self._last: tuple[float, SVC] | None = None

    def __repr__(self) -> str:
        known = "for every C" if self.complete else f"up to C={self.largest_C:g}"
        return f"<SVMPath: {self.C.size} breakpoints, known {known}>"

    def alpha(self, C: float) -> Vector:
        """Return the multiplier of each training row, from 0 to C times the row's weight."""
        self._check(C)
        alpha = np.zeros(self._labels.size)
        alpha[self._record.ids] = np.abs(self._record.multipliers(C))
        return alpha

    def bias(self, C: float) -> float:
        """Return b, averaged over the free support vectors."""
        return float(self.estimator(C).intercept_[0])

    def gap(self, C: float) -> float:
        """Return the relative duality gap, computed anew from the multipliers alone."""
        return float(self.estimator(C).duality_gap_)

    def error(self, C: float, X: Any = None, y: Any = None) -> float:
        """Return the share of rows that are predicted wrongly.

        Parameters
        ----------
        C : float
            Cost of a margin error.
        X, y : array-like, default=None
            Rows and labels; None takes the training rows.
        """
        if X is not None:
            return 1.0 - float(self.estimator(C).score(X, y))
        machine = self.estimator(C).machines_[0]
        decisions = machine.solution.outputs + machine.bias
        return float(np.mean((decisions > 0) != (self._record.signs > 0)))

    def estimator(self, C: float) -> SVC:
        """Return the machine at C as a fitted ``SVC`` with its certificate."""
        self._check(C)
        if self._last is None or self._last[0] != C:
            self._last = C, self._fitted(C)
        return self._last[1]

    def plot(self, X_test: Any = None, y_test: Any = None, **options: Any) -> Any:
        """Draw multipliers and errors against C.

        Parameters
        ----------
        X_test, y_test : array-like, default=None
            Rows whose error is drawn too.
        **options
            As for ``plotting.PathDisplay.from_path``.

        Returns
        -------
        PathDisplay
            What was drawn.
        """
        from ..plotting import PathDisplay

        return PathDisplay.from_path(self, X_test, y_test, **options)

    def _check(self, C: float) -> None:
        check_number("C", C, low=0, open_low=True)
        if self.largest_C < C:
            where, advice = ENDS[self.status]
            raise ValueError(
                f"C must be at most {self.largest_C:g}, {where}, found {C!r}; {advice}"
            )

    def _fitted(self, C: float) -> SVC:
        record, data = self._record, self._data
        problem = c_svc(record.signs, C * record.costs)
        (x, outputs, certificate), plane = record.certified(C), None
        if self._centre is not None:  # back to where the rows were
            w = x @ (data.X[record.ids] - self._centre)
            shift = float(w @ self._centre)
            (low, high), (bias,) = certificate.multiplier_range[0], certificate.multipliers
            certificate = replace(
                certificate,
                multipliers=(bias - shift,),
                multiplier_range=((low - shift, high - shift),),
            )
            outputs, plane = outputs + shift, (w, bias - shift)
        machine = copy(self._template).set_params(C=C)
        good = certificate.violation <= machine.tol
        solution = Solution(
            x=x,
            outputs=outputs,
            certificate=certificate,
            status=Status.CONVERGED if good else Status.STALLED,
            iterations=len(record.history),
            plane=plane,
        )
        job = Job(problem, [record.ids], x)
        machine._keep_pairs(data, self._labels, [self._pair], [job], [solution])
        return machine


def svm_path(
    X: Any, y: Any, sample_weight: Any = None, *, kernel: Any = "rbf", gamma: Any = "scale",
    degree: int = 3, coef0: float = 0.0, class_weight: Any = None, C_max: float = 1e4,
    gap_tol: float = 1e-9, max_time: float | None = None, max_iter: int = -1,
    memory_limit: Any = None, callback: Any = None, verbose: bool = False,
    n_jobs: int | None = None,
) -> SVMPath:  # fmt: skip
    """Find the soft-margin machines of all C at once, exactly.

    The solution of ½||w||² + C sum_i s_i max(0, 1 - y_i f(x_i)) is piecewise linear in C: rows are
    outside the margin (alpha_i = 0), on it, or margin errors (alpha_i = C s_i), and while these
    sets stay the same the conditions of the optimum are linear equations. The path goes from one
    breakpoint, where a row changes its set, to the next. Prefer it to a search over C when the
    whole range matters or a breakpoint does; for one C and many rows fit `SVC`.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_rows, n_features)
        Training rows; with ``kernel="precomputed"`` their kernel matrix.
    y : array-like of shape (n_rows,)
        Labels of two classes.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight s_i of each row; 0 leaves it out.
    kernel, gamma, degree, coef0, class_weight
        As for `SVC`. The kernel must be positive semidefinite.
    C_max : float, default=1e4
        Largest C; ``float("inf")`` goes on to the last piece, which has no end, and the path is
        then ``complete``.
    gap_tol : float, default=1e-9
        Relative duality gap beyond which a piece is repaired. Where the kernel values are rounded
        too much for that, ``worst_gap`` tells; a warning and ``status`` too, above 1000 gap_tol.
    max_time : float or None, default=None
        Seconds after which the path ends where it is, with a warning.
    max_iter : int, default=-1
        Largest number of exchanges of rows between the sets; -1 sets no limit.
    memory_limit : int, str or None, default=None
        Bytes to allocate beyond the data, or a text such as "500MB"; None is half of what is free.
    callback : callable or None, default=None
        Called with a `Progress` after each exchange; returning True ends the path there.
    verbose : bool, default=False
        Show a line of progress on standard error after the first second.
    n_jobs : int or None, default=None
        Threads; None takes every core that the process may use.

    Returns
    -------
    SVMPath
        Breakpoints, and multipliers, bias, gap, error and the fitted `SVC` for any C.

    Notes
    -----
    Cost: the kernel matrix in memory, and n_rows times the rows on the margin for each breakpoint,
    of which there are a few times n_rows.

    References
    ----------
    hastie2004: T. Hastie, S. Rosset, R. Tibshirani, J. Zhu, The entire regularization path for the
    support vector machine, JMLR 5, 2004.

    Examples
    --------
    >>> from widemargin import svm_path
    >>> X, y = [[0, 0], [1, 0], [2, 0], [3, 1]], [-1, -1, 1, 1]
    >>> path = svm_path(X, y, kernel="linear")
    >>> path.C.round(4).tolist()
    [0.1538, 0.6667, 1.0, 2.0]
    >>> path.alpha(1.0).round(4).tolist()
    [0.0, 1.0, 1.0, 0.0]
    >>> path.gap(0.3) < 1e-12
    True
    """
    if not (isinstance(C_max, float) and C_max == inf):
        check_number("C_max", C_max, low=0, open_low=True)
    check_number("gap_tol", gap_tol, low=0, open_low=True)
    template = SVC(
        kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, class_weight=class_weight,
        max_time=max_time, max_iter=max_iter, memory_limit=memory_limit, callback=callback,
        verbose=verbose, n_jobs=n_jobs, precision="float64", tol=1e-6, device="cpu",
    )  # fmt: skip
    data, labels, costs = template._take(X, y, sample_weight)
    if len(template.classes_) != 2:
        raise ValueError(
            f"y must hold two classes, found {len(template.classes_)}; give each class against the "
            "rest, or each pair, a path of its own"
        )
    data, centre = _near_origin(data)
    pairs, jobs = one_vs_one(labels, costs, 2, template._problem)
    problem, segments = jobs[0].problem, list(jobs[0].segments)
    line = ProgressLine(gap_tol) if verbose else None
    reporter = template._schedule(data, line).reporter
    try:
        record = trace_path(
            data.rows, segments, -problem.linear, problem.upper - problem.lower,
            largest=float(C_max), tolerance=gap_tol,
            monitor=Monitor(Limits(gap_tol, None, max_iter, max_time), reporter),
        )  # fmt: skip
    finally:
        if line is not None:
            line.close()
    if record.status is not Status.CONVERGED:
        found = (
            f"the worst of those computed is {record.worst_gap:.2g}; scale the columns of X"
            if record.status is Status.ROUNDED
            else f"the path is known up to C={record.largest:.4g} of {C_max:g}"
        )
        warnings.warn(f"svm_path {record.status.value}; {found}", ConvergenceWarning, stacklevel=2)
    return SVMPath(record, pairs[0], template, data, labels, centre)


def _near_origin(data: FitData) -> tuple[FitData, Vector | None]:
    """Return the data with rows of a linear kernel moved near the origin, and the move, if any.

    Products of rows that are far from it would be rounded to less than what tells them apart, and
    the move changes the bias alone.
    """
    if type(data.kernel) is not Linear:
        return data, None
    moved, centre = near_origin(data.X)
    if not centre.any():
        return data, None
    rows = CpuKernelData(
        moved, data.kernel, threads=data.rows.threads, budget=data.rows.budget, precision="float64"
    )
    return replace(data, rows=rows), centre
