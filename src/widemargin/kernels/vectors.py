"""What kernels on numeric vectors share: one formula over a base quantity and two squared norms."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from .base import FloatArray, Kernel, Rows
from .native import Kind, NativeSpec
from .parameters import check_number
from .quantities import BASES, SELF_BASES, Base, as_pair, as_rows, is_sparse, squared_norms

__all__ = ["GammaKernel", "VectorKernel"]


class VectorKernel(Kernel):
    """A kernel that depends on two vectors through a base quantity and their squared norms.

    Attributes
    ----------
    base : {"dot", "l1", "chi2", "min"}
        The quantity of a pair that the formula starts from.
    kind : Kind
        The same formula's code in the compiled core.
    non_negative : bool
        True if the formula is a kernel on non-negative data only.
    """

    base: ClassVar[Base] = "dot"
    kind: ClassVar[Kind]
    non_negative: ClassVar[bool] = False

    @abstractmethod
    def formula(self, base: Any, norm_a: Any, norm_b: Any, xp: Any = np) -> Any:
        """Return kernel values from base quantities.

        Parameters
        ----------
        base : array
            The base quantity of each pair.
        norm_a, norm_b : array
            Squared Euclidean norms, broadcast against `base`.
        xp : module
            Array library of the arguments: NumPy, CuPy, Dask or another with the same functions.

        Returns
        -------
        array
            Kernel values.
        """

    def __call__(self, A: Rows, B: Rows) -> FloatArray:
        """Return the block of kernel values between the rows of `A` and of `B`."""
        A, B = as_pair(A, B, type(self).__name__)
        self._check_sign(A, B)
        dtype = np.result_type(A.dtype, B.dtype)
        values: FloatArray = self._block(A, B, dtype).astype(dtype, copy=False)
        return values

    def _block(self, A: Rows, B: Rows, dtype: Any) -> Any:
        base = BASES[self.base](A, B).astype(dtype, copy=False)
        return self.formula(base, squared_norms(A)[:, None], squared_norms(B))

    def diagonal(self, A: Rows) -> FloatArray:
        """Return k(a, a) for each row a of `A` from its norm alone."""
        A = as_rows(A, type(self).__name__, "A")
        self._check_sign(A)
        norm = squared_norms(A)
        values: FloatArray = self.formula(SELF_BASES[self.base](A), norm, norm).astype(A.dtype)
        return values

    def native(self) -> NativeSpec | None:
        """Return kind and parameters for the compiled core."""
        return NativeSpec(self.kind)

    def _check_sign(self, *blocks: Rows) -> None:
        if not self.non_negative:
            return
        for name, rows in zip("AB", blocks, strict=False):
            smallest = (rows.data if is_sparse(rows) else rows).min(initial=0)
            if smallest < 0:
                raise ValueError(
                    f"{type(self).__name__} is a kernel on non-negative data only, "
                    f"found {smallest!s} in {name}; shift or scale the features to start at 0."
                )


class GammaKernel(VectorKernel):
    """A vector kernel with a scale `gamma` that may be left to the data."""

    gamma: float | str

    def validate(self) -> None:
        """Require a positive gamma or one of the two rules."""
        if isinstance(self.gamma, str):
            if self.gamma not in ("scale", "auto"):
                raise ValueError(
                    f"{type(self).__name__}: gamma must be a positive number, 'scale' or 'auto', "
                    f"found {self.gamma!r}."
                )
        else:
            check_number(type(self).__name__, "gamma", self.gamma)

    @property
    def numeric_gamma(self) -> float:
        """Gamma as a number."""
        if isinstance(self.gamma, str):
            raise ValueError(
                f"{type(self).__name__}: gamma={self.gamma!r} depends on the training data; call "
                "resolve(n_features, variance) first or give a number."
            )
        return float(self.gamma)

    def resolve(self, n_features: int, variance: float) -> Self:
        """Return this kernel with gamma as a number, by the rules of scikit-learn.

        'scale' is 1/(n_features variance), or 1 for constant data; 'auto' is 1/n_features.
        """
        if not isinstance(self.gamma, str):
            return self
        spread = float(variance) if self.gamma == "scale" else 1.0
        return self.copy(gamma=1.0 / (n_features * spread) if spread != 0 else 1.0)

    def native(self) -> NativeSpec | None:
        """Return kind and gamma for the compiled core."""
        return NativeSpec(self.kind, gamma=self.numeric_gamma)
