"""Several costs for one linear machine: a path of fits, and the search of LIBLINEAR's ``-C``."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from ..backends.cpu import CpuLinearData
from ..reductions.folds import distinct_rows, folds_by_content, row_keys
from .linear_stream import LinearStream
from .validation import check_number, check_weights

__all__ = ["CostSearch", "LinearSearch"]

Vector = NDArray[np.float64]

STILL = 0.01  # coefficients that change by no more than this share count as unchanged
STILL_ENOUGH = 5
HALF_WAY = 0.1  # of a regression: the first C explains no more than this share of the targets
STEPS = 20


@dataclass(frozen=True)
class CostSearch:
    """The outcome of a search for C by cross-validation.

    Attributes
    ----------
    C, score : float
        The best C, the smallest of equals, and its share of held-out rows that were predicted right
        (of a regression: minus the mean squared error).
    Cs, scores : tuple of float
        What was tried, in order.
    epsilon : float or None
        Of a regression: the tube that goes with it.
    """

    C: float
    score: float
    Cs: tuple[float, ...]
    scores: tuple[float, ...]
    epsilon: float | None = None


class LinearSearch(LinearStream):
    """Linear estimators with a cost."""

    def C_path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[Any]:
        """Return this estimator fitted for each C, every fit beginning from the one before.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels or targets.
        Cs : sequence of float
            Values of C, in the order in which the fits are made; ascending is fastest.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        list
            One fitted estimator for each C.
        """
        fitted: list[Any] = []
        for C in Cs:
            check_number("C", C, low=0, open_low=True)
            one = clone(self).set_params(C=float(C), lam=None, warm_start=True)
            if fitted:
                for name in ("coef_", "intercept_", "solutions_"):
                    setattr(one, name, getattr(fitted[-1], name))
            fitted.append(one.fit(X, y, sample_weight))
            one.set_params(warm_start=self.warm_start)
        return fitted

    def search_cost(
        self,
        X: Any,
        y: Any,
        *,
        cv: int = 5,
        start: float | None = None,
        largest: float = 1024.0,
        sample_weight: Any = None,
    ) -> CostSearch:
        """Search C by cross-validation with warm starts, as LIBLINEAR's ``train -C`` does.

        C doubles from a value so small that almost nothing is learnt, each fold going on from its
        last weights, until five doublings in a row have not changed the weights of any fold, or
        ``largest`` is passed. Held-out rows get weight 0; X is not copied. Which fold a row is in
        depends on what it is, not on where it stands, and equal rows share one.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels or targets.
        cv : int, default=5
            Number of folds.
        start : float, default=None
            The first C; None for a power of two that follows from the lengths of the rows.
        largest : float, default=1024
            No larger C is tried.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        CostSearch
            The best C and what was tried. The estimator itself stays as it is.
        """
        check_number("cv", cv, low=2, whole=True)
        check_number("largest", largest, low=0, open_low=True)
        if start is not None:
            check_number("start", start, low=0, open_low=True)
        self._check_settings()
        X = (
            self._rows(X, y, reset=False)
            if hasattr(self, "coef_")
            else clone(self)._rows(X, y, reset=True)
        )
        y = np.asarray(y).ravel()
        weights = check_weights(sample_weight, y.size)
        C = min(float(start) if start else self._first_cost(X, y, weights), float(largest))
        folds = self._folds(X, y, weights, int(cv))
        Cs, scores = [], []
        for value, score in self._doubled(X, y, weights, folds, C, float(largest)):
            Cs.append(value)
            scores.append(score)
        best = int(np.argmax(scores))
        epsilon = None if is_classifier(self) else float(self.epsilon)
        return CostSearch(Cs[best], scores[best], tuple(Cs), tuple(scores), epsilon)

    def _folds(self, X: Any, y: Any, weights: Vector, cv: int) -> NDArray[np.int64]:
        """Return the fold of each row; those of a class are dealt out evenly."""
        labels = np.zeros(y.size, dtype=np.int64)
        if is_classifier(self):
            labels = np.unique(y, return_inverse=True)[1].ravel()
        keys = row_keys(X, weights)
        if distinct_rows(keys, weights) < 2:
            raise ValueError(
                f"X must hold at least two different rows, one to learn from and one to leave out, "
                f"found {distinct_rows(keys, weights)}"
            )
        return folds_by_content(keys, labels, weights, cv)

    def _first_cost(self, X: Any, y: Any, weights: Vector) -> float:
        """Return a power of two at which the penalty still outweighs the losses by far.

        As LIBLINEAR: 1 / (n max ||x_i||²), half of it for squared hinges; of a regression
        sum of loss(y, 0) / 100 / (8 (sum |y|)² max ||x_i||²).
        """
        norms = CpuLinearData(X, 1).rows.norms()
        longest, rows = float(norms[weights > 0].max(initial=0.0)), float(weights.sum())
        if self.fit_intercept and self.penalize_intercept:
            longest += float(self.intercept_scaling) ** 2
        longest = max(longest, 1e-300)
        if is_classifier(self):
            steep = 2.0 if getattr(self, "loss", "") == "squared_hinge" else 1.0
            return 2.0 ** math.floor(math.log2(1.0 / (steep * rows * longest)))
        sizes = np.abs(np.asarray(y, dtype=np.float64))
        loss = float(weights @ np.maximum(sizes - float(self.epsilon), 0.0) ** 2)
        if loss == 0:
            return 1.0
        least = HALF_WAY**2 * loss / (8.0 * float(weights @ sizes) ** 2 * longest)
        return 2.0 ** math.floor(math.log2(least))

    def _doubled(
        self, X: Any, y: Any, weights: Vector, folds: NDArray[np.int64], C: float, largest: float
    ) -> Iterator[tuple[float, float]]:
        """Yield each C and its score, until the weights stand still."""
        machines = [clone(self).set_params(warm_start=True) for _ in range(int(folds.max()) + 1)]
        still = 0
        while largest >= C and still < STILL_ENOUGH:
            guesses, unchanged = np.empty_like(y), True
            for fold, machine in enumerate(machines):
                before = getattr(machine, "coef_", None)
                machine.set_params(C=C, lam=None).fit(X, y, np.where(folds == fold, 0.0, weights))
                out = np.flatnonzero(folds == fold)
                guesses[out] = machine.predict(X[out])
                unchanged = unchanged and before is not None and _still(before, machine.coef_)
            known = folds >= 0
            yield C, self._judged(y[known], guesses[known], weights[known])
            still = still + 1 if unchanged else 0
            C *= 2.0

    def _judged(self, y: Any, guesses: Any, weights: Vector) -> float:
        loss = (y != guesses) if is_classifier(self) else (y - guesses) ** 2
        share = float(np.average(loss, weights=weights))
        return 1.0 - share if is_classifier(self) else -share


def _still(before: Any, now: Any) -> bool:
    old, new = (c.toarray() if sp.issparse(c) else c for c in (before, now))
    return bool(np.linalg.norm(new - old) <= STILL * np.linalg.norm(new))


def tubes(y: Any) -> Sequence[float]:
    """Return the values of epsilon that LIBLINEAR tries, from wide to none."""
    widest = float(np.abs(np.asarray(y, dtype=np.float64)).max(initial=0.0))
    return [k * widest / STEPS for k in range(STEPS - 1, -1, -1)]
