"""LinearSVC."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.choice import open_joint_data, open_kernel_data
from ..kernels import Linear, Polynomial
from ..losses import Hinge, Logistic, Loss, SquaredHinge
from ..reductions.linear import LinearJob
from ..solution import JointSolution, LinearSolution
from ..solvers.joint import solve_joint
from ..solvers.monitor import Limits, Monitor
from .hard_linear import deadline_of, hard_job, hard_solution
from .linear_classifier import LinearClassifier
from .progress import ProgressLine
from .validation import check_choice

__all__ = ["LinearSVC"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

LOSSES: dict[str, Loss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
}
HARD_GAP = 1e-6  # that leaves no row of a hard margin short of it by more
JOINT_TOLERANCE = 1e-9  # violation at which a joint machine stops if its gap does not stop it


class LinearSVC(LinearClassifier):
    """Linear support vector classifier, certified by its duality gap.

    Prefer it to ``SVC(kernel="linear")`` for more than a few thousand rows; it solves ::

        minimise  ½||w||² + C sum_i weight_i loss(y_i, w.x_i + b),   y_i = ±1

    with loss max(0, 1 − y f), its square, or log(1 + exp(−y f)), and any penalty.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        ½||w||², |w|₁, or l1_ratio |w|₁ + (1 − l1_ratio) ½||w||²; each goes with every loss.
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        Loss of one row.
    dual : ignored
        Accepted for compatibility: no choice between primal and dual is needed.
    C : float, default=1.0
        Price of the losses. ``float("inf")`` finds the hard margin, with a hinge or its square and
        the l2 penalty, or refuses with a proof that the classes cannot be separated.
    lam : float, default=None
        If given, takes the place of C: the problem is then the mean loss + lam times the penalty,
        which is C = 1 / (lam n), n being the sum of the weights.
    l1_ratio : float, default=0.5
        Share of the l1 penalty with ``penalty="elasticnet"``.
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    intercept_scaling : float, default=1.0
        Value s of the constant feature that carries a penalised intercept.
    penalize_intercept : bool, default=False
        A free intercept is right: no shift of X changes what is learnt. True penalises b / s as if
        it were the weight of a constant feature s, which is what LIBLINEAR and scikit-learn do.
    multi_class : {"ovr", "ovo", "crammer_singer"}, default="ovr"
        Each class against the rest; each pair of classes; or all classes in one problem with the
        loss max_k (w_k.x − w_y.x + [k != y]), where an intercept is always penalised.
    class_weight : dict or "balanced", default=None
        Weight of each class.
    sparse_coef : bool, default=False
        Whether ``coef_`` is a CSR matrix, put together class by class so that no array of all
        weights ever exists: for thousands of classes.
    tol : float, default=None
        If given, a fit may also end as soon as no optimality condition is violated by more.
    gap_tol : float, default=1e-4
        The fit ends when (primal − dual) / primal objective is at most this.
    max_iter : int, default=-1
        Largest number of Newton steps or epochs; -1 for no limit, for there is no need of one.
    max_time : float, default=None
        Largest time in seconds.
    n_jobs : int, default=None
        Threads; None for all usable cores. The result does not depend on it.
    warm_start : bool, default=False
        Whether to begin from the last fit.
    solver : {"auto", "newton", "dual"}, default="auto"
        See "Solvers" below.
    verbose : bool, default=False
        Whether to show a line of progress.
    random_state : ignored
        Accepted for compatibility; nothing is random.
    callback : callable, default=None
        Called with a ``Progress`` after each step; returning True stops the fit.
    device : {'cpu', 'cuda'} or None, default=None
        Where to train; None trains where X is. ``"cuda"`` needs an NVIDIA GPU and CuPy.

    Attributes
    ----------
    coef_ : array or CSR matrix of shape (n_machines, n_features)
        Weights of the features.
    intercept_ : array of shape (n_machines,)
        Intercepts.
    classes_ : array of shape (n_classes,)
        Labels.
    class_weight_ : array of shape (n_classes,)
        Weight of each class.
    primal_objective_, dual_objective_, duality_gap_ : float
        Objectives, recomputed in float64 and summed over machines, and their relative distance.
    kkt_violation_ : float
        Largest violation of the optimality conditions.
    backend_ : str
        What trained: ``"cpu"`` or ``"cuda"``.
    status_ : Status
        How the fit ended; its value is a sentence.
    n_iter_ : int
        Newton steps and epochs of the machine that took most.
    history_ : tuple of Progress
        Time, objective and gap after each step.

    Notes
    -----
    **Solvers.** ``"auto"`` is dual coordinate descent with shrinking (``"dual"``) for a squared
    penalty alone and more than 1500 features, or costs so small that their mean times the mean
    ||x||² is at most 1 (and at most 3000 rows for each feature). Where the descent becomes slow,
    the rows between their bounds are solved for together where there are more than 1500 features
    (up to 3000 rows by a Cholesky factor, more by conjugate gradients; a squared hinge only where
    some ||x||² is over 10 times the mean), or else Newton's method finishes. Otherwise it is
    Newton's method on ever less rounded losses (``"newton"``), whose linear systems are solved, by
    rule,

    - with a squared penalty and at most 1500 features: by the Gram matrix of the features,
      unless fewer rows than half the features have curvature;
    - with more features and at most 1500 rows with curvature (300 for a smooth loss): by the matrix
      of their dot products;
    - otherwise: by conjugate gradients inside a trust region, preconditioned by the diagonal, which
      read rows with curvature alone;
    - with an l1 penalty: by coordinate descent on the Gram matrix of the features that are not
      zero or should not stay so.

    An l1 penalty with a kinked loss begins with interior-point steps instead, and with more than
    1500 features on working sets of columns, which are copied.

    **Cost.** One to three passes over X a step and 5 to 20 steps for a smooth loss, 20 to 150 for
    a kinked one, most of them on few rows; the number hardly depends on C or on the scale of X.
    Memory: a few numbers for each row and feature, and the dot products of the up to 3000 rows;
    X is not copied.

    **References.** hsieh2008 (C.-J. Hsieh et al., ICML 2008); fan2008 (R.-E. Fan et al., LIBLINEAR,
    JMLR 9, 2008); crammer2001; see ``widemargin.solvers.smoothed_newton`` for the method.

    Examples
    --------
    >>> from widemargin import LinearSVC
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [0, 0, 1, 1]
    >>> model = LinearSVC(loss="hinge", C=10.0).fit(X, y)
    >>> model.predict([[0.5, 0.5], [2.5, 2.5]])
    array([0, 1])
    >>> model.duality_gap_ < 1e-4
    True
    """

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        C: float = 1.0,
        lam: float | None = None,
        l1_ratio: float = 0.5,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        penalize_intercept: bool = False,
        class_weight: Any = None,
        sparse_coef: bool = False,
        tol: float | None = None,
        gap_tol: float = 1e-4,
        max_iter: int = -1,
        max_time: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        verbose: bool | int = False,
        random_state: Any = None,
        callback: Any = None,
        device: str | None = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.C = C
        self.lam = lam
        self.l1_ratio = l1_ratio
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.penalize_intercept = penalize_intercept
        self.class_weight = class_weight
        self.sparse_coef = sparse_coef
        self.tol = tol
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.solver = solver
        self.verbose = verbose
        self.random_state = random_state
        self.callback = callback
        self.device = device

    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("loss", self.loss, tuple(LOSSES))
        check_joint(self)

    def _is_hard(self) -> bool:
        return self.lam is None and isinstance(self.C, Real) and float(self.C) == inf

    def _check_cost(self) -> None:
        if not self._is_hard():
            return super()._check_cost()
        hinges = self.loss in ("hinge", "squared_hinge")  # which have one hard margin
        if not hinges or self.penalty != "l2" or self.multi_class == "crammer_singer":
            raise ValueError(
                "C=inf needs loss='hinge' or 'squared_hinge', penalty='l2' and multi_class='ovr' "
                f"or 'ovo', found {self.loss!r}, {self.penalty!r} and {self.multi_class!r}"
            )
        return None

    def _factor(self, rows: float) -> float:
        return 1.0 if self._is_hard() else super()._factor(rows)

    def _limits(self) -> Limits:
        limits = super()._limits()
        return (
            replace(limits, gap=min(limits.gap or HARD_GAP, HARD_GAP))
            if self._is_hard()
            else limits
        )

    def _solve(self, jobs: Iterable[LinearJob]) -> Iterator[LinearSolution]:
        if not self._is_hard():
            return super()._solve(jobs)
        deadline = deadline_of(self._limits())
        hard = [hard_job(job, deadline) for job in jobs]
        pairs = zip(hard, super()._solve(hard), strict=True)
        return (hard_solution(*pair) for pair in pairs)

    def _fit_joint(self, X: Any, labels: Ids, weights: Vector) -> JointSolution:
        return fit_joint(self, X, labels, weights)


def check_joint(estimator: LinearSVC) -> None:
    """Require what the joint machine of all classes can do."""
    if estimator.multi_class != "crammer_singer":
        return
    if estimator.penalty != "l2" or estimator.lam is not None:
        raise ValueError(
            "multi_class='crammer_singer' needs penalty='l2' and C instead of lam, "
            f"found penalty={estimator.penalty!r}, lam={estimator.lam!r}"
        )


def fit_joint(estimator: LinearSVC, X: Any, labels: Ids, weights: Vector) -> JointSolution:
    """Solve the problem of all classes together, with a kernel whose constant carries the bias."""
    share = float(estimator.intercept_scaling) ** 2 if estimator.fit_intercept else 0.0
    kernel = Polynomial(degree=1, gamma=1.0, coef0=share) if share else Linear()
    data = open_kernel_data(estimator.backend_, X, kernel, estimator.n_jobs, None, "auto")
    line = ProgressLine() if estimator.verbose else None
    limits = estimator._limits()
    if not limits.tolerance:
        limits = replace(limits, tolerance=JOINT_TOLERANCE)
    if limits.iterations > 0:  # an epoch has a step for each row
        limits = replace(limits, iterations=limits.iterations * len(labels))
    monitor = Monitor(limits, estimator._reporter(line))
    costs = float(estimator.C) * weights
    try:
        return solve_joint(open_joint_data(data), labels, costs, None, monitor)
    finally:
        if line is not None:
            line.close()
