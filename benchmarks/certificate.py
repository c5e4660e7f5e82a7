"""One judge for all libraries: objectives, gap and violation from coefficients and intercepts.

For each pair of classes, with signs s_i and 0 <= s_i c_i <= C, ::

    f(x) = sum_i c_i k(x, x_i) + intercept
    primal = ½ cᵀKc + C sum_i max(0, 1 - s_i f(x_i))        dual = sum_i |c_i| - ½ cᵀKc

are summed over the pairs. Everything is computed here in float64, by blocks of rows, from what any
library can tell: which rows are support vectors, their coefficients, and the intercepts.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from threadpoolctl import threadpool_limits

BLOCK_VALUES = 1 << 22  # kernel values at once
AT_BOUND = 1e-8  # of C: so near to a bound counts as at it


@dataclass(frozen=True)
class Expansion:
    """A one-against-one machine in the layout of LIBSVM, classes sorted.

    `coefficients` has a row less than there are classes: a support vector of class a holds its
    coefficient against class b in row b - 1 if b > a, else in row b. Of each pair of classes
    (a, b), a < b, the decision is positive for a; `intercepts` are in the order of `combinations`.
    """

    classes: np.ndarray
    support: np.ndarray  # numbers of training rows
    coefficients: np.ndarray
    intercepts: np.ndarray

    @classmethod
    def reordered(
        cls,
        order: np.ndarray,
        support: np.ndarray,
        support_labels: np.ndarray,
        coefficients: np.ndarray,
        intercepts: np.ndarray,
    ) -> "Expansion":
        """Sort the classes of a machine whose library lists them in some other order."""
        classes = np.sort(order)
        sorted_coefficients = np.zeros_like(coefficients)
        sorted_intercepts = np.zeros_like(intercepts)
        place = {pair: i for i, pair in enumerate(combinations(range(len(order)), 2))}
        number = np.searchsorted(classes, order)
        for i, (a, b) in enumerate(combinations(range(len(order)), 2)):
            low, high = sorted((number[a], number[b]))
            sign = 1.0 if number[a] == low else -1.0
            for one, row in ((a, b - 1), (b, a)):
                members = support_labels == order[one]
                new_row = high - 1 if number[one] == low else low
                sorted_coefficients[new_row, members] = sign * coefficients[row, members]
            sorted_intercepts[place[low, high]] = sign * intercepts[i]
        return cls(classes, support, sorted_coefficients, sorted_intercepts)

    def save(self, path) -> None:
        np.savez(path, **{name: value for name, value in vars(self).items()})

    @classmethod
    def load(cls, path) -> "Expansion":
        with np.load(path) as archive:
            return cls(**archive)


def sorted_pairs(order: np.ndarray, decisions: np.ndarray) -> np.ndarray:
    """Return pair decisions of a library with its own order of classes, as for sorted classes."""
    number = np.argsort(np.argsort(order))
    columns = {}
    for i, (a, b) in enumerate(combinations(number, 2)):
        columns[min(a, b), max(a, b)] = decisions[:, i] if a < b else -decisions[:, i]
    return np.stack([columns[pair] for pair in sorted(columns)], axis=1)


@dataclass(frozen=True)
class Quality:
    """What a fit is worth.

    Attributes
    ----------
    primal, dual : float
        Objectives, summed over all pairs of classes; the optimum lies between them.
    violation : float
        Largest violation of the optimality conditions of any pair, as LIBSVM defines it.
    infeasibility : float
        Largest breach of a constraint of the dual, relative to C.
    """

    primal: float
    dual: float
    violation: float
    infeasibility: float

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.primal - self.dual) / max(abs(self.primal), abs(self.dual), 1e-300)

    def to_json(self) -> dict[str, float]:
        return asdict(self) | {"gap": self.gap}


def certify(
    X: np.ndarray, y: np.ndarray, expansion: Expansion, *, C: float, gamma: float
) -> Quality:
    """Judge a machine on its training rows `X` (dense, float64)."""
    labels = np.searchsorted(expansion.classes, y)
    outputs = class_outputs(X, labels, expansion, gamma)
    coefficients = np.zeros((expansion.coefficients.shape[0], labels.size))
    coefficients[:, expansion.support] = expansion.coefficients
    primal = dual = violation = infeasibility = 0.0
    for i, (a, b) in enumerate(combinations(range(len(expansion.classes)), 2)):
        members = np.flatnonzero((labels == a) | (labels == b))
        first = labels[members] == a
        signs = np.where(first, 1.0, -1.0)
        f = np.where(first, outputs[b - 1, members], outputs[a, members])
        c = np.where(first, coefficients[b - 1, members], coefficients[a, members])
        half_norm = 0.5 * float(c @ f)
        losses = np.maximum(0.0, 1.0 - signs * (f + expansion.intercepts[i]))
        primal += half_norm + C * float(losses.sum())
        dual += float(np.abs(c).sum()) - half_norm
        violation = max(violation, _violation(signs, c, f, C))
        breaches = (abs(c.sum()), -(signs * c).min(), (signs * c).max() - C)
        infeasibility = max(infeasibility, *(float(breach) / C for breach in breaches))
    return Quality(primal, dual, violation, infeasibility)


def _violation(signs: np.ndarray, c: np.ndarray, f: np.ndarray, C: float) -> float:
    """Return m - M of LIBSVM: how far the two ends of the possible intercepts overlap."""
    alpha = signs * c
    may_fall, may_rise = alpha > AT_BOUND * C, alpha < (1 - AT_BOUND) * C
    upward = np.where(signs > 0, may_rise, may_fall)
    downward = np.where(signs > 0, may_fall, may_rise)
    level = signs - f
    if not (upward.any() and downward.any()):
        return 0.0
    return max(0.0, float(level[upward].max() - level[downward].min()))


def class_outputs(
    X: np.ndarray, labels: np.ndarray, expansion: Expansion, gamma: float
) -> np.ndarray:
    """Return the decisions of each row, without intercepts, for the pairs its own class is in.

    Laid out as the coefficients are: shape (classes - 1, rows).
    """
    k = len(expansion.classes)
    vectors, support_labels = X[expansion.support], labels[expansion.support]
    groups = [np.flatnonzero(support_labels == c) for c in range(k)]
    right = _right_factor(vectors, gamma)
    outputs = np.zeros((k - 1, labels.size))

    def block(rows: np.ndarray) -> None:
        kernel = gaussian(X[rows], right, gamma)
        sums = [kernel[:, g] @ expansion.coefficients[:, g].T for g in groups]
        for a, b in combinations(range(k), 2):
            f = sums[a][:, b - 1] + sums[b][:, a]
            outputs[b - 1, rows[labels[rows] == a]] = f[labels[rows] == a]
            outputs[a, rows[labels[rows] == b]] = f[labels[rows] == b]

    step = max(1, BLOCK_VALUES // max(1, len(vectors)))
    blocks = [np.arange(i, min(i + step, labels.size)) for i in range(0, labels.size, step)]
    # NumPy's exp runs on one core, so cores are shared by blocks and not inside a product.
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
        for finished in [pool.submit(block, rows) for rows in blocks]:
            finished.result()
    return outputs


def _right_factor(vectors: np.ndarray, gamma: float) -> np.ndarray:
    """Return the factor whose product with `[2 gamma x, -gamma |x|², 1]` is -gamma |x - z|²."""
    norms = np.einsum("ij,ij->i", vectors, vectors)
    return np.vstack([vectors.T, np.ones(len(vectors)), -gamma * norms])


def gaussian(rows: np.ndarray, right: np.ndarray, gamma: float) -> np.ndarray:
    """Return the Gaussian kernel of rows with the vectors of a right factor."""
    norms = np.einsum("ij,ij->i", rows, rows)
    left = np.hstack([2 * gamma * rows, -gamma * norms[:, None], np.ones((len(rows), 1))])
    kernel = left @ right
    np.minimum(kernel, 0.0, out=kernel)
    return np.exp(kernel, out=kernel)
