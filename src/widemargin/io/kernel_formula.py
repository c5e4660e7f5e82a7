"""The formula of a kernel as a tree of operations, to be written in another language.

A vector kernel says its formula once, in one line that works for any array library. Here the
library is one whose arrays are `Term`s, which remember what was done to them. Leaves are numbers
and the quantities of a row x and a vector z that `QUANTITIES` lists.
"""

from dataclasses import dataclass
from typing import Any

from ..kernels import RBF, Kernel, Product, Scaled, Spectrum, Sum
from ..kernels.vectors import VectorKernel

__all__ = ["QUANTITIES", "Term", "formula", "leaves"]

QUANTITIES = {
    "dot": "sum_k x_k z_k",
    "distance": "sum_k (x_k - z_k)^2",
    "l1": "sum_k |x_k - z_k|",
    "chi2": "sum_k (x_k - z_k)^2 / (x_k + z_k), with 0/0 = 0",
    "min": "sum_k min(x_k, z_k)",
    "norm_x": "sum_k x_k^2",
    "norm_z": "sum_k z_k^2",
    "common_L": "of texts: occurrences of equal substrings of L letters",
    "letters_x_L": "the same of x with itself",
    "letters_z_L": "the same of z with itself",
}


@dataclass(frozen=True, eq=False)
class Term:
    """An operation and what it is applied to.

    Attributes
    ----------
    operation : str
        "quantity", "number", "add", "subtract", "multiply", "divide", "power", "equal", "maximum",
        "exp", "tanh" or "sqrt".
    parts : tuple
        Terms; a name for a quantity, a float for a number.
    """

    operation: str
    parts: tuple[Any, ...]

    def __add__(self, other: Any) -> "Term":
        return Term("add", (self, as_term(other)))

    def __radd__(self, other: Any) -> "Term":
        return Term("add", (as_term(other), self))

    def __sub__(self, other: Any) -> "Term":
        return Term("subtract", (self, as_term(other)))

    def __rsub__(self, other: Any) -> "Term":
        return Term("subtract", (as_term(other), self))

    def __mul__(self, other: Any) -> "Term":
        return Term("multiply", (self, as_term(other)))

    def __rmul__(self, other: Any) -> "Term":
        return Term("multiply", (as_term(other), self))

    def __truediv__(self, other: Any) -> "Term":
        return Term("divide", (self, as_term(other)))

    def __pow__(self, other: Any) -> "Term":
        return Term("power", (self, as_term(other)))

    def __eq__(self, other: Any) -> "Term":  # type: ignore[override]
        return Term("equal", (self, as_term(other)))

    __hash__ = object.__hash__


def as_term(value: Any) -> Term:
    """Return a term as it is, and a number as a leaf."""
    return value if isinstance(value, Term) else Term("number", (float(value),))


class Terms:
    """The functions that formulas of kernels take from an array library."""

    @staticmethod
    def exp(x: Any) -> Term:
        """Return the exponential."""
        return Term("exp", (as_term(x),))

    @staticmethod
    def tanh(x: Any) -> Term:
        """Return the hyperbolic tangent."""
        return Term("tanh", (as_term(x),))

    @staticmethod
    def sqrt(x: Any) -> Term:
        """Return the square root."""
        return Term("sqrt", (as_term(x),))

    @staticmethod
    def maximum(x: Any, y: Any) -> Term:
        """Return the larger one."""
        return Term("maximum", (as_term(x), as_term(y)))


def formula(kernel: Kernel) -> Term:
    """Return the formula of a kernel.

    Parameters
    ----------
    kernel : Kernel
        With numbers for all parameters.

    Raises
    ------
    TypeError
        If the kernel is a Python function, which no other language knows.
    """
    if isinstance(kernel, Sum):
        return formula(kernel.left) + formula(kernel.right)
    if isinstance(kernel, Product):
        return formula(kernel.left) * formula(kernel.right)
    if isinstance(kernel, Scaled):
        return formula(kernel.kernel) * float(kernel.factor)
    if isinstance(kernel, Spectrum):
        common = _quantity(f"common_{kernel.length}")
        if not kernel.normalize:
            return common
        norms = (_quantity(f"letters_{side}_{kernel.length}") for side in "xz")
        x, z = (Terms.maximum(norm, 1.0) for norm in norms)
        return common / Terms.sqrt(x * z)
    if isinstance(kernel, RBF):  # as it is computed: no difference of large numbers
        return as_term(kernel.formula(-0.5 * _quantity("distance"), 0.0, 0.0, xp=Terms))
    if isinstance(kernel, VectorKernel):
        base, norm_x, norm_z = map(_quantity, (kernel.base, "norm_x", "norm_z"))
        return as_term(kernel.formula(base, norm_x, norm_z, xp=Terms))
    raise TypeError(
        f"{kernel!r} is a Python function, which only Python can compute; export the machine of "
        'precomputed kernel values (kernel="precomputed"), or pickle the estimator'
    )


def _quantity(name: str) -> Term:
    return Term("quantity", (name,))


def leaves(term: Term) -> set[str]:
    """Return the quantities that a formula needs."""
    if term.operation == "quantity":
        return {term.parts[0]}
    if term.operation == "number":
        return set()
    return set().union(*(leaves(part) for part in term.parts))
