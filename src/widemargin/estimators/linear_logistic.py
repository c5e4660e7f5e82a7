"""LogisticRegression."""

from typing import Any

from ..losses import Logistic, Loss
from .linear_classifier import LinearClassifier
from .validation import check_choice

__all__ = ["LogisticRegression"]


class LogisticRegression(LinearClassifier):
    """Logistic regression, certified by its duality gap.

    Prefer it to ``LinearSVC`` where probabilities are wanted; it solves ::

        minimise  ½||w||² + C sum_i weight_i log(1 + exp(−y_i (w.x_i + b))),   y_i = ±1

    for two classes, or each class against the rest, with any penalty.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        ½||w||², |w|₁, or l1_ratio |w|₁ + (1 − l1_ratio) ½||w||²; each goes with every loss.
    dual : ignored
        Accepted for compatibility: no choice between primal and dual is needed.
    C : float, default=1.0
        Price of the losses.
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
    multi_class : {"ovr", "ovo"}, default="ovr"
        Each class against the rest, or each pair of classes.
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
    ||x||² is at most 1 (and at most 3000 rows for each feature); Newton's method finishes where
    the descent becomes slow, for a smooth loss on many features after 600 passes. Otherwise it is
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
    Memory: a few numbers for each row and feature; X is not copied.

    **References.** yu2011 (H.-F. Yu, F.-L. Huang, C.-J. Lin, Mach. Learn. 85, 2011); lin2008
    (C.-J. Lin et al., JMLR 9, 2008); see ``widemargin.solvers.smoothed_newton`` for the method.

    Examples
    --------
    >>> from widemargin import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict_proba([[1.5]]).round(2)
    array([[0.5, 0.5]])
    """

    def __init__(
        self,
        penalty: str = "l2",
        *,
        dual: Any = False,
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
        return Logistic()

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("multi_class", self.multi_class, ("ovr", "ovo"))
