"""Kernels: similarities of two rows that are inner products in some feature space.

Kernels are values: two with the same parameters are equal, ``repr`` evaluates back, and ``+``,
``*`` and positive factors combine them. They follow scikit-learn's parameter protocol, so that a
grid search reaches ``kernel__gamma`` and, in a sum, ``kernel__left__gamma``.
"""

from collections.abc import Callable

from .base import Kernel, Product, Scaled, Sum
from .functions import FunctionKernel
from .gram import KernelTest, gram, is_kernel
from .histograms import ChiSquared, Intersection, Laplacian
from .native import Kind, NativeSpec
from .products import RBF, Cosine, Linear, Polynomial, Sigmoid
from .sigma import Reach, sigma_heuristic
from .strings import Spectrum
from .vectors import VectorKernel

__all__ = [
    "RBF",
    "ChiSquared",
    "Cosine",
    "FunctionKernel",
    "Intersection",
    "Kernel",
    "KernelTest",
    "Kind",
    "Laplacian",
    "Linear",
    "NativeSpec",
    "Polynomial",
    "Product",
    "Reach",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Sum",
    "VectorKernel",
    "from_name",
    "gram",
    "is_kernel",
    "sigma_heuristic",
]


def from_name(
    name: str, *, gamma: float | str = "scale", degree: int = 3, coef0: float = 0.0
) -> VectorKernel:
    """Return the kernel that scikit-learn calls `name`, with the parameters it uses.

    Parameters
    ----------
    name : str
        One of 'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'chi2', 'intersection' and 'cosine'.
    gamma : float or {"scale", "auto"}
        Scale; no part of 'linear', 'intersection' and 'cosine'.
    degree : int
        Exponent of 'poly'.
    coef0 : float
        Offset of 'poly' and 'sigmoid'.

    Returns
    -------
    VectorKernel
        The kernel object.

    Examples
    --------
    >>> from widemargin.kernels import from_name
    >>> from_name("poly", gamma=0.5, degree=2)
    Polynomial(degree=2, gamma=0.5, coef0=0.0)
    """
    kernels: dict[str, Callable[[], VectorKernel]] = {
        "linear": Linear,
        "poly": lambda: Polynomial(degree=degree, gamma=gamma, coef0=coef0),
        "rbf": lambda: RBF(gamma=gamma),
        "sigmoid": lambda: Sigmoid(gamma=gamma, coef0=coef0),
        "laplacian": lambda: Laplacian(gamma=gamma),
        "chi2": lambda: ChiSquared(gamma=gamma),
        "intersection": Intersection,
        "cosine": Cosine,
    }
    if not isinstance(name, str) or name not in kernels:
        raise ValueError(
            f"kernel must be one of {list(kernels)} or a kernel object, found {name!r}."
        )
    return kernels[name]()
