"""The soft-margin machines of every C at once."""

import warnings
from copy import copy
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..estimators import SVC
from ..estimators.kernel_base import FitData
from ..estimators.progress import ProgressLine
from ..estimators.validation import check_number
from ..problem import c_svc
from ..reductions.jobs import Job
from ..reductions.multiclass import one_vs_one
from ..reductions.path import PathRecord, trace_path
from ..solution import Solution, Status
from ..solvers.monitor import Limits, Monitor

__all__ = ["SVMPath", "svm_path"]

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
        Up to which C the path is known.
    status : Status
        How the path ended; the value is a sentence.
    history : tuple of Progress
        Time, objective, gap and rows on the margin along the way.
    classes : array of shape (2,)
        The labels; a positive decision means the second.
    """

    def __init__(
        self, record: PathRecord, pair: tuple[int, int], template: SVC, data: FitData, labels: Ids
    ) -> None:
        self.C = record.breakpoints
        self.largest_C, self.status, self.history = record.largest, record.status, record.history
        self.classes = template.classes_
        self._record, self._pair, self._template = record, pair, template
        self._data, self._labels = data, labels
        self._last: tuple[float, SVC] | None = None

    def __repr__(self) -> str:
        return f"<SVMPath: {self.C.size} breakpoints, known up to C={self.largest_C:g}>"

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
            raise ValueError(
                f"C must be at most {self.largest_C:g}, up to where the path is known "
                f"({self.status.value}), found {C!r}; ask svm_path for a larger C_max"
            )

    def _fitted(self, C: float) -> SVC:
        record, data = self._record, self._data
        x = record.multipliers(C)
        problem = c_svc(record.signs, C * record.costs)
        outputs, certificate = data.rows.certify(problem, [record.ids], x)
        machine = copy(self._template).set_params(C=C)
        good = certificate.violation <= machine.tol
        solution = Solution(
            x=x,
            outputs=outputs,
            certificate=certificate,
            status=Status.CONVERGED if good else Status.STALLED,
            iterations=len(record.history),
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
        Largest C; ``float("inf")`` goes on until nothing changes any more.
    gap_tol : float, default=1e-9
        Relative duality gap that no breakpoint exceeds; a piece that would is repaired.
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
        warnings.warn(
            f"svm_path {record.status.value}; the path is known up to C={record.largest:.4g} of "
            f"{C_max:g}", ConvergenceWarning, stacklevel=2,
        )  # fmt: skip
    return SVMPath(record, pairs[0], template, data, labels)
