"""``partial_fit`` of the linear machines: what a stream of rows leaves behind."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends.choice import choose_backend
from ..backends.cpu import CpuLinearData, thread_count
from ..problem import LinearProblem
from ..reductions.linear_stream import StreamPoint, dual_objective, learn_block, thinned
from .linear_base import LinearEstimator

__all__ = ["LinearStream", "streams"]

Vector = NDArray[np.float64]

OF_A_FIT = (
    "primal_objective_", "dual_objective_", "duality_gap_", "kkt_violation_", "history_",
    "solutions_", "n_iter_",
)  # fmt: skip


def streams(estimator: Any) -> bool:
    """Tell whether an estimator with its settings can learn block after block.

    Raises
    ------
    AttributeError
        If not; so ``hasattr(estimator, "partial_fit")`` is honest.
    """
    wanted = {"penalty": "l2", "multi_class": "ovr"}
    for name, value in wanted.items():
        if getattr(estimator, name, value) != value:
            raise AttributeError(
                f"partial_fit needs {name}={value!r}, found {getattr(estimator, name)!r}; "
                "fit takes every one"
            )
    if isinstance(getattr(estimator, "class_weight", None), str):
        raise AttributeError(
            "partial_fit needs class_weight None or a dict, since the rows still to come are not "
            f"known; found {estimator.class_weight!r}"
        )
    return True


class LinearStream(LinearEstimator):
    """Linear estimators that also learn block after block; see ``reductions.linear_stream``."""

    def _check_stream(self, X: Any) -> None:
        self._check_settings()
        if choose_backend(self.device, X) != "cpu":
            raise ValueError(
                "partial_fit moves one variable at a time, which a GPU cannot do fast; "
                "use device='cpu' and rows of the host"
            )
        if self.lam is not None and hasattr(self, "coef_") and not hasattr(self, "rows_seen_"):
            raise ValueError(
                "partial_fit with lam must know how many rows the model has seen, but it was read "
                "from a file; give C instead of lam, or fit first"
            )

    def _block(self, X: Any) -> CpuLinearData:
        self.backend_ = "cpu"
        return CpuLinearData(X, thread_count(self.n_jobs))

    def _points(self, machines: int, total: float) -> list[StreamPoint]:
        """Return what is kept of the rows so far, at the costs that the rows to come make theirs.

        After a fit the weights are the sum of u_i x_i over its rows, as after a stream of them.
        """
        reach = float(self.intercept_scaling) ** 2 if self.penalize_intercept else 0.0
        if not hasattr(self, "coef_"):
            return [StreamPoint(np.zeros(self.n_features_in_), reach=reach)] * machines
        share = 1.0 if self.lam is None else self.rows_seen_ / total
        kept = self._stream or [(np.nan, reach)] * machines  # a fit does not tell its gains
        return [
            thinned(StreamPoint(coef, bias, *rest), share, bool(self.penalize_intercept))
            for (coef, bias), rest in zip(self._machines(), kept, strict=True)
        ]

    def _machines(self) -> list[tuple[Vector, float]]:
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        return [(np.array(row, dtype=np.float64), float(b)) for row, b in
                zip(coef, self.intercept_, strict=True)]  # fmt: skip

    def _learn(self, blocks: Sequence[tuple[CpuLinearData, LinearProblem]], total: float) -> None:
        """Learn the rows of a block, for each machine, and keep the outcome.

        Parameters
        ----------
        blocks : sequence
            Data, and the problem that a fit to them would solve.
        total : float
            Weight of all rows, the new ones included.
        """
        factor = self._factor(total)
        points, reached = self._points(len(blocks), total), []
        for m, (data, problem) in enumerate(blocks):
            points[m], status = learn_block(data, problem, factor, points[m], self._limits())
            reached.append(status)
        self.coef_ = np.stack([point.weights for point in points])
        self.intercept_ = np.array([point.bias for point in points])
        self._stream = [(point.gains, point.reach) for point in points]
        self.rows_seen_ = total
        for name in OF_A_FIT:
            self.__dict__.pop(name, None)
        self.status_ = next((s for s in reached if not s.converged), reached[0])
        bound = sum(dual_objective(point, factor) for point in points)
        if np.isfinite(bound) and (self.penalize_intercept or not self.fit_intercept):
            self.dual_objective_ = bound
