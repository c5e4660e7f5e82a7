"""Launching the kernels of linear machines: what `Device` offers their operations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...losses import Loss

__all__ = ["LinearLaunches", "Samples"]

Vector = NDArray[np.float64]

THREADS = 256
MOST_BLOCKS = 264  # that pass over all rows: two on each multiprocessor
SMALL_SYSTEM = 256  # so few unknowns are solved sooner on the host
LEAST_RIDGE = 1e-14


@dataclass(frozen=True)
class Samples:
    """Targets, costs, and centres of the rounding, of each row; arrays of the device."""

    target: Any
    cost: Any
    centre: Any


class LinearLaunches:
    """What no array library has of the operations of linear machines; all arrays are float64."""

    xp: Any
    cupyx: Any
    kernel: Any
    upload: Any
    download: Any

    def respond(
        self, samples: Samples, loss: Loss, width: float, outputs: Any, dual: Any, curvature: Any
    ) -> Vector:
        """Write dual variables and curvature of every row.

        Returns the sums of the rounded loss, the loss, minus its conjugate, the dual variables,
        and the number of curved rows.
        """
        parts = self._parts(outputs, 5)
        self._launch(
            "linear_respond", parts, loss.kind, np.float64(loss.epsilon), np.float64(width),
            np.int64(outputs.size), samples.target, samples.cost, samples.centre, outputs, dual,
            curvature,
        )  # fmt: skip
        return np.asarray(self.download(parts).sum(axis=0))

    def along(
        self, samples: Samples, loss: Loss, width: float, outputs: Any, moves: Any, length: float
    ) -> Vector:
        """Return the rounded loss along a ray, and its first two derivatives."""
        parts = self._parts(outputs, 3)
        self._launch(
            "linear_along", parts, loss.kind, np.float64(loss.epsilon), np.float64(width),
            np.int64(outputs.size), samples.target, samples.cost, samples.centre, outputs, moves,
            np.float64(length),
        )  # fmt: skip
        return np.asarray(self.download(parts).sum(axis=0))

    def judge(
        self, samples: Samples, loss: Loss, outputs: Any, shares: Any
    ) -> tuple[float, float, float]:
        """Return the sums of losses and of minus their conjugates, and the largest violation."""
        parts = self._parts(outputs, 3)
        self._launch(
            "linear_judge", parts, loss.kind, np.float64(loss.epsilon), np.int64(outputs.size),
            samples.target, samples.cost, outputs, shares,
        )  # fmt: skip
        found = self.download(parts)
        total, dual = found[:, :2].sum(axis=0)
        return float(total), float(dual), float(-found[:, 2].min())

    def solve_positive(self, matrix: Any, right: Any, threads: int) -> Any:
        """Solve a positive (semi)definite system by Cholesky's method.

        Parameters
        ----------
        matrix : array of the device
        right : array of the device
            Right sides as rows.
        threads : int
            Of the host, which solves small systems.
        """
        if len(matrix) <= SMALL_SYSTEM:
            found = np.ascontiguousarray(self.download(right))
            _core.solve_positive(np.ascontiguousarray(self.download(matrix)), found, threads)
            return self.upload(found)
        return self._solve_large(matrix, right)

    def _solve_large(self, matrix: Any, right: Any) -> Any:
        """Solve by cuSOLVER; what rounding made indefinite gets a small ridge, ever larger."""
        xp, ridge = self.xp, 0.0
        scale = 1.0 / xp.sqrt(xp.maximum(xp.diagonal(matrix), 1e-290))
        scaled = matrix * scale[:, None] * scale
        sides = xp.ascontiguousarray((right * scale).T)
        while True:
            try:
                with self.cupyx.errstate(linalg="raise"):
                    found = self.cupyx.lapack.posv(scaled + ridge * xp.eye(len(matrix)), sides)
                    return xp.ascontiguousarray(found.T * scale)
            except np.linalg.LinAlgError:
                ridge = max(LEAST_RIDGE, 100.0 * ridge)

    def _parts(self, outputs: Any, sums: int) -> Any:
        blocks = min(MOST_BLOCKS, max(1, -(-int(outputs.size) // THREADS)))
        return self.xp.empty((blocks, sums))

    def _launch(self, name: str, parts: Any, kind: int, *arguments: Any) -> None:
        self.kernel(name, np.float64)(
            (len(parts),), (THREADS,), (np.int32(kind), *arguments, parts)
        )
