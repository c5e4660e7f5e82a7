"""NearestMeans and LeastSquaresClassifier: the linear classifiers to compare others with."""

from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.base import BaseEstimator

from .labels import number_labels
from .scores import ScoreClassifier
from .validation import check_flag, check_number, check_rows

__all__ = ["LeastSquaresClassifier", "NearestMeans"]

Vector = NDArray[np.float64]
Ids = NDArray[np.int64]

PRECISION = 1e-14  # of the iterations on sparse rows, relative


class _Baseline(ScoreClassifier, BaseEstimator):
    """Base of both: rows of any storage, and decisions x.w_k + b_k."""

    def _learn(self, X: Any, labels: Ids, weights: Vector) -> tuple[Vector, Vector]:
        """Return weights and intercepts of all outputs, shapes (outputs, features), (outputs,)."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row: 2 counts as the row twice, 0 as the row left out.

        Returns
        -------
        self
            The fitted estimator.
        """
        X = check_rows(self, X, y, reset=True, objects=False)
        self.classes_, labels, weights = number_labels(type(self).__name__, y, sample_weight)
        with np.errstate(over="ignore", invalid="ignore"):
            self.coef_, self.intercept_ = self._learn(X, labels, weights)
        self._check_weights(self.coef_, self.intercept_)
        return self


class NearestMeans(_Baseline):
    """The basic linear classifier: every row belongs to the class of the nearest mean.

    Prefer it as the baseline that costs one pass, or where rows are so few that only the means of
    the classes can be trusted; it is also what a soft margin becomes as C falls to zero. With the
    means m_k of the classes ::

        f_k(x) = m_k.x − ½||m_k||²         the largest is the class of the nearest mean
        f(x) = (m₁ − m₀).x − ½(||m₁||² − ||m₀||²)          two classes

    so that the plane passes half-way between the two means.

    Attributes
    ----------
    means_ : array of shape (n_classes, n_features)
        Means of the classes.
    coef_ : array of shape (1 or n_classes, n_features)
        Weights.
    intercept_ : array of shape (1 or n_classes,)
        Intercepts.
    classes_ : array of shape (n_classes,)
        Labels.

    Notes
    -----
    Cost: one pass over the rows.

    References
    ----------
    hastie2009: T. Hastie, R. Tibshirani, J. Friedman, The elements of statistical learning, 2009.

    Examples
    --------
    >>> from widemargin import NearestMeans
    >>> model = NearestMeans().fit([[0.0, 0.0], [0.0, 2.0], [4.0, 1.0]], [-1, -1, 1])
    >>> model.coef_, model.intercept_
    (array([[4., 0.]]), array([-8.]))
    >>> model.predict([[1.9, 5.0], [2.1, 5.0]])
    array([-1,  1])
    """

    def _learn(self, X: Any, labels: Ids, weights: Vector) -> tuple[Vector, Vector]:
        shape = len(self.classes_), labels.size
        member = sp.csr_array((weights, (labels, np.arange(labels.size))), shape=shape)
        totals = np.bincount(labels, weights, minlength=shape[0])
        sums = member @ X
        sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums, dtype=np.float64)
        means = sums / totals[:, None]
        self.means_ = means
        # Half the difference of the squares, as a product that does not cancel where means do not.
        if shape[0] == 2:
            w = means[1] - means[0]
            return w[None], np.array([-0.5 * w @ (means[0] + means[1])])
        return means.copy(), -0.5 * np.einsum("kd,kd->k", means, means)


class LeastSquaresClassifier(_Baseline):
    """Least squares on the numbers ±1, the classifier that punishes being right by too much.

    Prefer it as a baseline, or where a closed form is wanted; unlike a support vector machine it is
    pulled by rows far on the right side. For each class against the rest (once for two classes) ::

        minimise  sum_i weight_i (t_i − w.x_i − b)² + alpha ||w||²,   t_i = ±1

    with a free intercept; of several minimisers the shortest w is taken.

    Parameters
    ----------
    alpha : float, default=0.0
        Price of ||w||².
    fit_intercept : bool, default=True
        Whether there is an intercept b.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, n_features)
        Weights.
    intercept_ : array of shape (1 or n_classes,)
        Intercepts.
    classes_ : array of shape (n_classes,)
        Labels.
    kkt_violation_ : float
        Largest component of the gradient at the solution, relative to that at zero.

    Notes
    -----
    Cost: 2 n d² by an orthogonal factorisation of dense rows, which a near rank deficiency does not
    harm; a pass for each of some hundred iterations of LSQR on sparse rows, which are not centred
    in memory.

    References
    ----------
    paige1982: C. Paige, M. Saunders, LSQR: an algorithm for sparse linear equations and sparse
    least squares, ACM TOMS 8, 1982.

    Examples
    --------
    >>> from widemargin import LeastSquaresClassifier
    >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([[0.8]]), array([-1.2]))
    """

    def __init__(self, alpha: float = 0.0, *, fit_intercept: bool = True) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def _learn(self, X: Any, labels: Ids, weights: Vector) -> tuple[Vector, Vector]:
        check_number("alpha", self.alpha, low=0)
        check_flag("fit_intercept", self.fit_intercept)
        positives = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        targets = np.where(labels[:, None] == positives, 1.0, -1.0)
        share = weights / weights.sum()
        centre, middle = np.zeros(X.shape[1]), np.zeros(targets.shape[1])
        if self.fit_intercept:
            centre, middle = np.asarray(X.T @ share, dtype=np.float64), share @ targets
        root = np.sqrt(weights)
        if sp.issparse(X):
            matrix = _centred(X.astype(np.float64), centre, root)
        else:
            matrix = root[:, None] * (np.asarray(X, dtype=np.float64) - centre)
        right = root[:, None] * (targets - middle)
        if not (np.isfinite(right).all() and np.isfinite(centre).all()):
            return np.full((right.shape[1], centre.size), np.nan), middle
        solve = _by_iterations if sp.issparse(X) else _by_factors
        w = solve(matrix, right, float(self.alpha))
        start = matrix.T @ right
        slope = start - matrix.T @ (matrix @ w) - self.alpha * w
        largest = float(np.abs(start).max(initial=0.0))
        self.kkt_violation_ = float(np.abs(slope).max(initial=0.0)) / largest if largest else 0.0
        return np.ascontiguousarray(w.T), middle - centre @ w


def _centred(X: Any, centre: Vector, root: Vector) -> LinearOperator:
    """Return the rows less their mean, times the roots of their weights, as an operator."""
    return LinearOperator(
        X.shape,
        matvec=lambda v: root * (X @ v.ravel() - centre @ v.ravel()),
        rmatvec=lambda u: X.T @ (root * u.ravel()) - centre * (root @ u.ravel()),
        dtype=np.float64,
    )


def _by_factors(matrix: Vector, right: Vector, alpha: float) -> Vector:
    """Return the shortest minimiser, by a factorisation that reveals the rank."""
    if not np.isfinite(matrix).all():
        return np.full((matrix.shape[1], right.shape[1]), np.nan)
    if alpha > 0:
        matrix = np.vstack([matrix, np.sqrt(alpha) * np.eye(matrix.shape[1])])
        right = np.vstack([right, np.zeros((matrix.shape[1], right.shape[1]))])
    rounding = max(matrix.shape) * float(np.finfo(np.float64).eps)
    w, *_ = scipy.linalg.lstsq(
        matrix, right, cond=rounding, lapack_driver="gelsy", overwrite_b=True, check_finite=False
    )
    return np.asarray(w)


def _by_iterations(matrix: LinearOperator, right: Vector, alpha: float) -> Vector:
    """Return the shortest minimiser, by LSQR from zero."""
    settings = dict(damp=alpha**0.5, atol=PRECISION, btol=PRECISION, iter_lim=10_000)
    columns = [lsqr(matrix, column, **settings)[0] for column in right.T]
    return np.stack(columns, axis=1)
