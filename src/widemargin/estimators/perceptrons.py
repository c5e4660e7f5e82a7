"""Perceptron, PassiveAggressiveClassifier and Winnow: online learners of feature weights."""

from typing import Any

import numpy as np

from ..backends.cpu import is_sparse
from ..backends.cpu.online import LinearLearner, Rule, RuleKind
from ..kernels import Kernel, Linear
from .mistake_driven import MistakeDriven
from .online import Learner
from .validation import check_choice, check_flag, check_number

__all__ = ["PassiveAggressiveClassifier", "Perceptron", "Winnow"]


class Perceptron(MistakeDriven):
    """Rosenblatt's perceptron: learn from mistakes alone.

    Prefer it as the simplest and cheapest of all linear classifiers, or to learn from a stream. It
    sweeps over the rows, and whenever y_i (w.x_i + b) <= 0 it moves ::

        w += eta0 y_i x_i,   b += eta0 y_i

    If the classes can be separated with a margin gamma it stops after at most (R / gamma)²
    mistakes, R being the largest norm; nothing is said about the margin it finds, which `SVC` makes
    largest. Many classes: the row's class gains what the best wrong class loses.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to learn b, as the weight of a constant feature 1.
    max_iter : int, default=1000
        Largest number of sweeps.
    tol : float, default=1e-3
        Share of the rows by which the mistakes of a sweep must fall to count as better; None goes
        on until a clean sweep.
    shuffle : bool, default=True
        Whether to visit the rows in another random order in each sweep; False takes them in order.
    eta0 : float, default=1.0
        Step. It scales w and changes no decision.
    dual : bool, default=False
        Whether to count mistakes by row, w = eta0 sum_i alpha_i y_i x_i, instead of moving w: the
        same mistakes in the same order, in time that depends on rows and not on features.
    mistake_bound : bool, default=False
        Whether to compute ``mistake_bound_``, which solves for the largest margin; two classes.
    n_iter_no_change : int, default=5
        That many sweeps in a row that are not better end the fit.
    random_state : int or RandomState, default=0
        Seed of the orders.
    max_time : float, default=None
        Largest time in seconds.
    n_jobs : int, default=None
        Threads of the dual form.
    callback : callable, default=None
        Called with a ``Progress`` after each sweep, whose ``active`` is the number of mistakes;
        returning True stops the fit.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, n_features)
        Weights.
    intercept_ : array of shape (1 or n_classes,)
        Biases.
    mistakes_ : int
        Mistakes made in all.
    alpha_ : array of shape (n_samples,)
        Mistakes made on each row of the last call.
    mistake_bound_ : float
        (R / gamma)² in the coordinates (x, 1), infinite if the classes cannot be separated.
    converged_ : bool
        Whether the last sweep was clean.
    n_iter_ : int
        Sweeps.
    t_ : int
        Rows seen.
    status_ : Status
        How the fit ended; its value is a sentence.
    history_ : tuple of Progress
        Time and mistakes of each sweep.

    Notes
    -----
    Cost: a sweep reads the data once, and a few nanoseconds for each entry.

    References
    ----------
    rosenblatt1958: F. Rosenblatt, The perceptron, Psychological Review 65, 1958.
    novikoff1962: A. Novikoff, On convergence proofs on perceptrons, 1962.
    crammer2003: K. Crammer, Y. Singer, Ultraconservative online algorithms, JMLR 3, 2003.

    Examples
    --------
    >>> from widemargin import Perceptron
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [-1, -1, 1, 1]
    >>> model = Perceptron(shuffle=False, mistake_bound=True).fit(X, y)
    >>> model.predict(X)
    array([-1, -1,  1,  1])
    >>> model.converged_, model.mistakes_ <= model.mistake_bound_
    (True, True)
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        eta0: float = 1.0,
        dual: bool = False,
        mistake_bound: bool = False,
        n_iter_no_change: int = 5,
        random_state: Any = 0,
        max_time: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.eta0 = eta0
        self.dual = dual
        self.mistake_bound = mistake_bound
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("eta0", self.eta0, low=0, open_low=True)
        check_flag("dual", self.dual)

    def _rule(self, X: Any) -> Rule:
        return Rule(RuleKind.PERCEPTRON, float(self.eta0), constant=self._constant())

    def _kernel(self, X: Any, importance: Any = None) -> Kernel | None:
        return Linear() if self.dual else None

    def _keep(self, learner: Learner, rows: int) -> None:
        super()._keep(learner, rows)
        if self.dual:
            self.coef_ = np.asarray(self.dual_coef_ @ self.support_vectors_)


class PassiveAggressiveClassifier(MistakeDriven):
    """Passive-aggressive learning: every row gets the margin one by the smallest move that does.

    Prefer it to `Perceptron` on streams, where it learns from right but unclear answers too. While
    the hinge loss l = max(0, 1 - y_i (w.x_i + b)) of a row is not zero it moves (w, b) by
    tau y_i (x_i, 1) with ::

        tau = l / ||(x_i, 1)||²                 C = inf                 (PA)
        tau = min(C, l / ||(x_i, 1)||²)         loss="hinge"            (PA-I)
        tau = l / (||(x_i, 1)||² + 1 / (2 C))   loss="squared_hinge"    (PA-II)

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness; ``float("inf")`` moves all the way.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Whether C caps the move (PA-I) or softens it (PA-II).
    average : bool, default=False
        Whether to decide by the average of the weights over time.
    fit_intercept, max_iter, tol, shuffle, mistake_bound, n_iter_no_change, random_state, max_time,
    callback
        As for `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, mistakes_, converged_, n_iter_, t_, status_, history_, mistake_bound_
        As for `Perceptron`; rows without the margin move the weights, those on the wrong side are
        mistakes.
    alpha_ : array of shape (n_samples,)
        Sum of the moves tau of each row.

    References
    ----------
    crammer2006: K. Crammer et al., Online passive-aggressive algorithms, JMLR 7, 2006.

    Examples
    --------
    >>> from widemargin import PassiveAggressiveClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [-1, -1, 1, 1]
    >>> PassiveAggressiveClassifier(C=10.0).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        average: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        mistake_bound: bool = False,
        n_iter_no_change: int = 5,
        random_state: Any = 0,
        max_time: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.average = average
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.mistake_bound = mistake_bound
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        if float("inf") != self.C:
            check_number("C", self.C, low=0, open_low=True)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        check_flag("average", self.average)

    def _rule(self, X: Any) -> Rule:
        squared = self.loss == "squared_hinge"
        kind = RuleKind.AGGRESSIVE_SQUARED if squared else RuleKind.AGGRESSIVE
        return Rule(kind, float(self.C), constant=self._constant(), averaged=bool(self.average))


class Winnow(MistakeDriven):
    """Winnow: multiplicative updates, for many features of which few matter.

    Prefer it to `Perceptron` if most features are irrelevant: its mistakes grow with the logarithm
    of their number. On a mistake, with r the largest entry of the first rows seen ::

        plain       w_k *= factor^(y_i x_ik / r),   decision w.x - threshold r
        balanced    w = u - v,  u_k *= factor^(y_i x_ik / r),  v_k /= factor^(y_i x_ik / r)

    Parameters
    ----------
    factor : float, default=1.5
        Promotion factor, above 1.
    balanced : bool, default=True
        Whether weights may be of both signs. Plain Winnow is for features that are not negative.
    threshold : float, default=None
        Of plain Winnow for two classes; None is half the number of features.
    fit_intercept : bool, default=True
        Whether balanced Winnow has a constant feature.
    max_iter, tol, shuffle, mistake_bound, n_iter_no_change, random_state, max_time, callback
        As for `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, mistakes_, alpha_, converged_, n_iter_, t_, status_, history_
        As for `Perceptron`.
    mistake_bound_ : float
        The bound of the *perceptron*, to compare with.
    largest_ : float
        The largest entry r.

    References
    ----------
    littlestone1988: N. Littlestone, Learning quickly when irrelevant attributes abound, Machine
    Learning 2, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import Winnow
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 50))
    >>> y = X[:, 0] | X[:, 1]
    >>> Winnow(balanced=False).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        *,
        factor: float = 1.5,
        balanced: bool = True,
        threshold: float | None = None,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        mistake_bound: bool = False,
        n_iter_no_change: int = 5,
        random_state: Any = 0,
        max_time: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self.factor = factor
        self.balanced = balanced
        self.threshold = threshold
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.mistake_bound = mistake_bound
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("factor", self.factor, low=1, open_low=True)
        check_flag("balanced", self.balanced)
        if self.threshold is not None:
            check_number("threshold", self.threshold)

    def _forget(self) -> None:
        super()._forget()
        if hasattr(self, "largest_"):
            del self.largest_

    def _constant(self) -> float:
        """Return the largest entry: the constant feature is as strong as any other."""
        return self.largest_ if self.balanced and self.fit_intercept else 0.0

    def _rule(self, X: Any) -> Rule:
        if not hasattr(self, "largest_"):
            entries = X.data if is_sparse(X) else X
            largest = float(np.abs(entries).max(initial=0.0))
            self.largest_ = largest if largest > 0 else 1.0
        rate = float(np.log(self.factor)) / self.largest_
        if self.balanced:
            return Rule(RuleKind.BALANCED_WINNOW, rate, constant=self._constant())
        smallest = float((X.data if is_sparse(X) else X).min(initial=0.0))
        if smallest < 0:
            raise ValueError(
                f"Negative values in data X: balanced=False needs features that are not negative, "
                f"found {smallest:g}; scale the columns to [0, 1] or set balanced=True"
            )
        offset = -self._threshold(X.shape[1]) if len(self.classes_) == 2 else 0.0
        return Rule(RuleKind.WINNOW, rate, constant=0.0, offset=offset)

    def _threshold(self, features: int) -> float:
        chosen = 0.5 * features if self.threshold is None else float(self.threshold)
        return chosen * self.largest_

    def _keep(self, learner: Learner, rows: int) -> None:
        super()._keep(learner, rows)
        assert isinstance(learner, LinearLearner)
        if learner.rule.kind is RuleKind.WINNOW:
            self.intercept_ = np.full(learner.outputs, learner.rule.offset)
