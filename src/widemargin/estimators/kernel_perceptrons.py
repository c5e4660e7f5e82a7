"""KernelPerceptron, AveragedPerceptron and VotedPerceptron: perceptrons with any kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.cpu import count_rows, thread_count
from ..backends.cpu.online import LinearLearner, Rule, RuleKind, vote
from ..kernels import Kernel, Linear
from .kernel_form import KernelForm
from .mistake_driven import MistakeDriven
from .online import Learner, stack_rows, take
from .validation import check_number

__all__ = ["AveragedPerceptron", "KernelPerceptron", "VotedPerceptron"]

Vector = NDArray[np.float64]
# Column, winner, loser, amount and time of every move.
Moved = tuple[Any, ...]


class _KernelPerceptrons(KernelForm, MistakeDriven):
    """What the three share: parameters and rule."""

    _averaged = False

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        eta0: float = 1.0,
        mistake_bound: bool = False,
        n_iter_no_change: int = 5,
        random_state: Any = 0,
        max_time: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.eta0 = eta0
        self.mistake_bound = mistake_bound
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.callback = callback

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("eta0", self.eta0, low=0, open_low=True)

    def _rule(self, X: Any) -> Rule:
        return Rule(
            RuleKind.PERCEPTRON, float(self.eta0), self._constant(), averaged=self._averaged
        )


class KernelPerceptron(_KernelPerceptrons):
    """The perceptron in its dual form, with any kernel.

    Prefer it to see how far mistakes alone lead in a feature space; `SVC` generalises better at a
    similar cost of prediction. alpha_i counts the mistakes made on row i, and ::

        f(x) = eta0 sum_i alpha_i y_i (k(x_i, x) + 1)

    where the 1, the constant feature, is there with ``fit_intercept``.

    Parameters
    ----------
    kernel, degree, gamma, coef0
        As for `SVC`.
    fit_intercept, max_iter, tol, shuffle, eta0, mistake_bound, n_iter_no_change, random_state,
    max_time, n_jobs, callback
        As for `Perceptron`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_
        Rows (of the last call) that were mistaken, all of them, and their coefficients, one row for
        each output.
    intercept_, mistakes_, alpha_, mistake_bound_, converged_, n_iter_, t_, status_, history_
        As for `Perceptron`.
    kernel_ : Kernel
        The kernel with numbers for all parameters.

    Notes
    -----
    Cost: a sweep computes n_samples times (rows mistaken so far) kernel values, in blocks; up to
    4096 rows the kernel matrix is computed once and kept.

    References
    ----------
    aizerman1964: M. Aizerman, E. Braverman, L. Rozonoer, Theoretical foundations of the potential
    function method, Automation and Remote Control 25, 1964.

    Examples
    --------
    >>> from widemargin import KernelPerceptron
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    >>> KernelPerceptron(gamma=1.0).fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """


class AveragedPerceptron(_KernelPerceptrons):
    """The average of all intermediate perceptrons, each weighed by the rows it survived.

    Prefer it to `Perceptron` whenever the classes overlap: it is as cheap, and the average hardly
    depends on the order of the rows. With w_t the weights after row t, w = (1 / T) sum_t w_t; it is
    kept exactly by one more vector, as w_T - (1 / T) sum over moves of time x move.

    Parameters
    ----------
    kernel : default="linear"
        As for `SVC`; the linear one learns weights of the features.
    degree, gamma, coef0
        As for `SVC`.
    max_iter : int, default=10
        Number of sweeps, unless one is clean before.
    tol : float, default=None
        As for `Perceptron`.
    fit_intercept, shuffle, eta0, mistake_bound, n_iter_no_change, random_state, max_time, n_jobs,
    callback
        As for `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, mistakes_, alpha_, mistake_bound_, converged_, n_iter_, t_, status_, history_
        As for `Perceptron`; with another than the linear kernel ``support_vectors_`` and
        ``dual_coef_`` take the place of ``coef_``, as for `KernelPerceptron`.

    References
    ----------
    freund1999: Y. Freund, R. Schapire, Large margin classification using the perceptron algorithm,
    Machine Learning 37, 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import AveragedPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> AveragedPerceptron(max_iter=100).fit(X, y).score(X, y) > 0.95
    True
    """

    _averaged = True

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        max_iter: int = 10,
        tol: float | None = None,
        shuffle: bool = True,
        eta0: float = 1.0,
        mistake_bound: bool = False,
        n_iter_no_change: int = 5,
        random_state: Any = 0,
        max_time: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
    ) -> None:
        super().__init__(
            kernel, degree=degree, gamma=gamma, coef0=coef0, fit_intercept=fit_intercept,
            max_iter=max_iter, tol=tol, shuffle=shuffle, eta0=eta0, mistake_bound=mistake_bound,
            n_iter_no_change=n_iter_no_change, random_state=random_state, max_time=max_time,
            n_jobs=n_jobs, callback=callback,
        )  # fmt: skip

    def _kernel(self, X: Any, importance: Vector | None = None) -> Kernel | None:
        kernel = super()._kernel(X, importance)
        return None if isinstance(kernel, Linear) else kernel


class VotedPerceptron(AveragedPerceptron):
    """All intermediate perceptrons vote, each as often as the rows it survived.

    Prefer it to `AveragedPerceptron` only to study it: the average is nearly as good and far
    cheaper to evaluate. With w_k the weights after the k-th mistake and c_k the rows until the next
    one, the decision is sum_k c_k sign(w_k.x + b_k), divided by the number of rows seen.

    Parameters
    ----------
    kernel, degree, gamma, coef0, max_iter, tol, fit_intercept, shuffle, eta0, mistake_bound,
    n_iter_no_change, random_state, max_time, n_jobs, callback
        As for `AveragedPerceptron`.

    Attributes
    ----------
    support_vectors_ : array or CSR matrix
        Rows that were mistaken.
    mistakes_, alpha_, mistake_bound_, converged_, n_iter_, t_, status_, history_
        As for `Perceptron`.

    Notes
    -----
    No intermediate vector is stored: all of them follow, one after the other, from the kernel
    values between x and the mistaken rows. Prediction costs that many kernel values for each row.

    References
    ----------
    freund1999: Y. Freund, R. Schapire, Large margin classification using the perceptron algorithm,
    Machine Learning 37, 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import VotedPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> VotedPerceptron(max_iter=100).fit(X, y).score(X, y) > 0.95
    True
    """

    _keeps_moves = True

    def _keep(self, learner: Learner, rows: int) -> None:
        old = getattr(self, "support_vectors_", None) if hasattr(self, "_moves") else None
        super()._keep(learner, rows)
        assert learner.moves is not None
        row, rival, amount, time = learner.moves.joined()
        if isinstance(learner, LinearLearner):
            is_mistaken = np.zeros(learner.labels.size, dtype=bool)
            is_mistaken[row] = True
            mistaken = np.flatnonzero(is_mistaken)
            found = take(learner._X, mistaken)
            before = 0 if old is None else count_rows(old)
            self.support_vectors_ = found if old is None else stack_rows(old, found)
            self.support_ = mistaken.astype(np.int32)
            column = (np.cumsum(is_mistaken) + (before - 1))[row]
        else:
            used = learner.coefficients.any(axis=1) | learner.second.any(axis=1)
            column = (np.cumsum(used) - 1)[row]
        new: Moved = (column, learner.labels[row], rival, amount, time)
        last: Moved | None = getattr(self, "_moves", None)
        self._moves = (
            new if last is None else tuple(map(np.concatenate, zip(last, new, strict=True)))
        )

    def _votes(self, X: Any) -> Vector:
        column, winner, loser, amount, time = self._moves
        survival = np.diff(np.append(time, self.t_)).astype(np.float64)
        constant = self._constant() ** 2

        def block(part: slice) -> Vector:
            kernel = self.kernel_(X[part], self.support_vectors_)
            return np.asarray(kernel, dtype=np.float64) + constant

        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        moves = column, winner, loser, amount, survival
        return vote(block, count_rows(X), moves, outputs, thread_count(self.n_jobs))

    def _scores(self, X: Any) -> Vector:
        """Return the share of votes for each class; with two classes the difference."""
        shares = np.asarray(self._votes(X) / max(1, self.t_), dtype=np.float64)
        return shares[:, 1:] - shares[:, :1] if len(self.classes_) == 2 else shares
