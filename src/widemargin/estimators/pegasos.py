"""Pegasos."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..backends.cpu import thread_count
from ..backends.cpu.online import Rule, RuleKind
from ..backends.cpu.pegasos import CpuPegasos, KernelPegasos, LinearPegasos
from ..kernels import Kernel, Linear
from ..solution import Progress, Status
from ..solvers.monitor import Limits, Monitor
from ..solvers.pegasos import pegasos
from .kernel_form import KernelForm
from .labels import class_weights
from .online import Learner, nothing
from .progress import ProgressLine
from .validation import check_flag, check_number

__all__ = ["Pegasos"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

CERTIFICATE = (
    "primal_objective_", "dual_objective_", "duality_gap_", "kkt_violation_", "alpha_"
)  # fmt: skip


class Pegasos(KernelForm):
    """Support vector classifier by stochastic subgradient steps, certified by a duality gap.

    Prefer it for a good solution of very many rows in a few passes, or for a stream; `LinearSVC`
    and `SVC` reach the optimum itself. It solves ::

        minimise  lam/2 ||w||² + (1/n) sum_i max(0, 1 − y_i w.x_i),   y_i = ±1

    with w holding the intercept as the weight of a constant feature; of weighted rows the mean is a
    weighted one. At the t-th row ::

        w <- (1 − 1/t) w   and, if y_i w.x_i < 1,   w <- w + y_i x_i / (lam t)

    times the row's weight as a share of the mean one. Many classes have one problem with the loss
    max_k (w_k.x + [k != y]) − w_y.x.

    Parameters
    ----------
    kernel : default="linear"
        As for `SVC`; the linear one learns weights of the features.
    lam : float, default=1e-4
        Price of ||w||² against the mean loss.
    C : float, default=None
        If given, takes the place of lam: the price of the sum of the losses against ½||w||², which
        is lam = 1 / (C n).
    degree, gamma, coef0
        As for `SVC`.
    fit_intercept : bool, default=True
        Whether there is an intercept: a weight like the others, of a constant feature 1.
    class_weight : dict, 'balanced' or None, default=None
        Weight of each class; it multiplies `sample_weight`.
    max_iter : int, default=1000
        Largest number of passes over the rows.
    gap_tol : float, default=0.01
        The fit ends when (primal − dual) / primal objective is at most this. With 0 all passes are
        made, and the objectives are measured at the end only, which saves time.
    average : bool, default=True
        Whether the result is the average of the iterates of the last pass, weighted by t; with
        ``partial_fit`` of all iterates, those of a fit before it counted as its result. False
        takes the last iterate, as the paper does.
    project : bool, default=False
        Whether w is kept in the ball ||w|| <= 1 / sqrt(lam), in which the optimum lies.
    batch_size : int, default=1
        Rows that are judged by the same w.
    shuffle : bool, default=True
        Whether to visit the rows in another random order in each pass; False takes them in order.
    random_state : int or RandomState, default=0
        Seed of the orders.
    max_time : float, default=None
        Largest time in seconds.
    verbose : bool, default=False
        Show a line of progress on standard error after the first second.
    n_jobs : int, default=None
        Threads of the objectives and of kernel values; the passes take one. No result depends on
        it.
    callback : callable, default=None
        Called with a ``Progress`` at each measure of the objectives, after passes 2, 4, 8 and so on
        and the last; returning True stops the fit.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, n_features)
        Weights; with another than the linear kernel ``support_vectors_`` and ``dual_coef_`` take
        their place, as for `KernelPerceptron`.
    intercept_ : array of shape (1 or n_classes,)
        Intercepts.
    lam_ : float
        lam, given or from C.
    alpha_ : array of shape (n_samples,) or (n_samples, n_classes)
        The dual point: 0 <= alpha_i <= 1 / (lam n), times the row's weight as a share of the mean;
        with many classes signed, the row's own class taking what the others give.
    primal_objective_, dual_objective_, duality_gap_ : float
        ½||w||² + sum of losses / (lam n), a lower bound of its smallest value, and their relative
        distance. All are recomputed from ``coef_`` and ``alpha_`` alone, in float64.
    kkt_violation_ : float
        Largest violation of the optimality conditions, in units of outputs.
    mistakes_ : int
        Rows that were on the wrong side when they were visited.
    converged_, status_, n_iter_, t_, history_
        Whether and how the fit ended; passes; rows seen; time, objective and gap of each measure.

    Notes
    -----
    Cost: a pass reads the rows once in random order, and about half a pass more for a measure. A
    gap of eps takes some 1 / (lam eps) rows: seconds for a million rows and lam = 1e-5, too many
    for a large C; columns of about the same scale help. Memory: a few numbers for each row and
    feature. There is a dual point since each pass counts each margin error once; see
    ``widemargin.solvers.pegasos``. It is not known after ``partial_fit``, which keeps no rows.
    A row of weight 2 moves w once by twice as much, where the row twice moves it twice: the two
    have one objective, but not the same steps.

    References
    ----------
    shalevshwartz2011: S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, Pegasos: primal estimated
    sub-gradient solver for SVM, Mathematical Programming 127, 2011.
    lacostejulien2012: S. Lacoste-Julien, M. Schmidt, F. Bach, A simpler approach to obtaining an
    O(1/t) convergence rate for the projected stochastic subgradient method, 2012.
    bach2015: F. Bach, Duality between subgradient and conditional gradient methods, SIAM J.
    Optimization 25, 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from widemargin import Pegasos
    >>> X, y = make_blobs(2000, centers=2, random_state=0)
    >>> model = Pegasos(lam=0.01).fit(X, y)
    >>> model.duality_gap_ <= 0.01, model.score(X, y) > 0.9
    (True, True)
    """

    _forms = LinearPegasos, KernelPegasos

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        lam: float = 1e-4,
        C: float | None = None,
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        max_iter: int = 1000,
        gap_tol: float = 0.01,
        average: bool = True,
        project: bool = False,
        batch_size: int = 1,
        shuffle: bool = True,
        random_state: Any = 0,
        max_time: float | None = None,
        verbose: bool | int = False,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.lam = lam
        self.C = C
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.gap_tol = gap_tol
        self.average = average
        self.project = project
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.random_state = random_state
        self.max_time = max_time
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("lam", self.lam, low=0, open_low=True)
        if self.C is not None:
            check_number("C", self.C, low=0, open_low=True)
        check_number("gap_tol", self.gap_tol, low=0)
        check_number("batch_size", self.batch_size, low=1, whole=True)
        check_flag("average", self.average)
        check_flag("project", self.project)

    def _kernel(self, X: Any, importance: Vector | None = None) -> Kernel | None:
        kernel = super()._kernel(X, importance)
        return None if isinstance(kernel, Linear) else kernel

    def _rule(self, X: Any) -> Rule:
        return Rule(
            RuleKind.PEGASOS,
            self.lam_,
            constant=self._constant(),
            batch=int(self.batch_size),
            project=bool(self.project),
            averaged=bool(self.average),
        )

    def _limits(self, sweeps: int) -> Limits:
        return Limits(0.0, float(self.gap_tol), sweeps, self.max_time)

    def _forget(self) -> None:
        super()._forget()
        self._scale = np.array([1.0, 0.0, 0.0])
        self._forget_certificate()

    # --- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sweep over the rows until the gap is small enough, or to a limit.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: in the objective 2 counts as the row twice, 0 as the row left out.
            The steps are others, so that the result is the same only as far as the gap tells.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning from one sweep over some more rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed at the first call only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row against one, the mean of all rows being known to nobody yet.

        Returns
        -------
        self
            The estimator.
        """
        return self._go_on(X, y, classes, sample_weight)

    def _importance(self, labels: Ids, weights: Vector, *, whole: bool) -> Vector | None:
        """Return the weight of each row; of the whole data, as a share of the mean one."""
        if not whole and (self.C is not None or self.class_weight == "balanced"):
            name, value = ("class_weight", "balanced") if self.C is None else ("C", self.C)
            raise ValueError(
                f"partial_fit needs lam and a class_weight that is known beforehand, found "
                f"{name}={value!r}, which depends on all rows to come; give lam, and class_weight "
                "as a dict"
            )
        self.class_weight_ = class_weights(self.class_weight, self.classes_, labels, weights)
        weights = weights * self.class_weight_[labels]
        total = float(weights.sum())
        self.lam_ = float(self.lam) if self.C is None else 1.0 / (float(self.C) * total)
        if (weights == 1.0).all():
            return None
        return weights * (np.count_nonzero(weights) / total) if whole else weights

    def _learn(self, X: Any, labels: Ids, importance: Vector | None, *, whole: bool) -> None:
        self._line = ProgressLine(float(self.gap_tol)) if self.verbose else None
        try:
            super()._learn(X, labels, importance, whole=whole)
        finally:
            if self._line is not None:
                self._line.close()
            del self._line

    def _report(self, progress: Progress) -> bool:
        if self._line is not None:
            self._line(progress)
        return super()._report(progress)

    def _teach(self, learner: Any, monitor: Monitor, *, whole: bool) -> Status:
        learner.scale[:] = self._scale
        learner.threads = thread_count(self.n_jobs)
        self._machine = CpuPegasos(learner, averaged=bool(self.average), whole=whole)
        if whole:
            watched = float(self.gap_tol) > 0 or self.callback is not None or bool(self.verbose)
            return pegasos(self._machine, monitor, watched=watched)
        self._machine.sweep()
        monitor.iterations += 1
        return Status.ITERATION_LIMIT

    def _chosen(self, learner: Learner) -> Vector:
        return self._machine.settled()

    def _keep(self, learner: Learner, rows: int) -> None:
        machine, learner.pause = self._machine, nothing
        with np.errstate(over="ignore", invalid="ignore"):
            super()._keep(learner, rows)
        del self._machine
        self._scale = learner.scale
        self._forget_certificate()
        if machine.whole:
            self._keep_certificate(machine)

    def _keep_certificate(self, machine: CpuPegasos) -> None:
        certificate = machine.certificate()
        self.primal_objective_ = certificate.primal
        self.dual_objective_ = certificate.dual
        self.duality_gap_ = certificate.relative_gap
        self.kkt_violation_ = certificate.violation
        shares = machine.shares
        self.alpha_ = machine.cost * (np.abs(shares[:, 0]) if shares.shape[1] == 1 else shares)

    def _forget_certificate(self) -> None:
        for name in CERTIFICATE:
            if hasattr(self, name):
                delattr(self, name)

    def _finish(self, X: Any, labels: Ids) -> None:
        if not self.status_.converged and self.status_ is not Status.INTERRUPTED:
            warnings.warn(
                f"Pegasos {self.status_.value}: relative duality gap {self.duality_gap_:.2g} "
                f"(gap_tol={self.gap_tol:g}). Raise max_iter or max_time, choose a larger lam, or "
                "scale the columns of X; LinearSVC and SVC reach any gap.",
                ConvergenceWarning,
                stacklevel=3,
            )
