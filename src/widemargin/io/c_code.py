"""Numbers, formulas and the loops of quantities as C."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels import Spectrum
from .kernel_formula import Term

__all__ = ["array", "expression", "text_loops", "texts", "vector_loops"]

WIDTH = 96  # of lines of numbers

BINARY = {
    "add": "({} + {})", "subtract": "({} - {})", "multiply": "({} * {})", "divide": "({} / {})",
    "equal": "(double)({} == {})", "power": "pow({}, {})", "maximum": "fmax({}, {})",
}  # fmt: skip


def expression(term: Term) -> str:
    """Return a formula as an expression of C; quantities have their names."""
    if term.operation == "quantity":
        return str(term.parts[0])
    if term.operation == "number":
        return number(term.parts[0])
    parts = [expression(part) for part in term.parts]
    if term.operation in BINARY:
        return BINARY[term.operation].format(*parts)
    return f"{term.operation}({parts[0]})"


def number(value: Any) -> str:
    """Return the shortest text that a compiler of C reads as the same double."""
    return repr(float(value))


def array(kind: str, name: str, values: Any) -> str:
    """Return the definition of a constant array, in the order of its entries in memory."""
    flat = np.asarray(values).ravel().tolist()
    words = [number(v) for v in flat] if kind == "double" else [str(int(v)) for v in flat]
    lines, line = [], "   "
    for word in words or ["0"]:  # C has no arrays without entries
        if len(line) + len(word) > WIDTH:
            lines.append(line)
            line = "   "
        line += f" {word},"
    body = "\n".join([*lines, line])
    return f"static const {kind} {name}[{max(1, len(words))}] = {{\n{body}\n}};\n"


def texts(name: str, values: list[str]) -> str:
    """Return the definition of an array of texts in UTF-8."""
    words = ",\n".join(f"    {_quoted(value)}" for value in values)
    return f"const char *const {name}[{len(values)}] = {{\n{words},\n}};\n"


def _quoted(value: str) -> str:
    """Return a literal; octal digits are always three, so that none is taken for the next one."""
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in value.encode())
    return '"' + "".join(plain) + '"'


# Of feature j, u of the row and z of the vector.
VECTOR_TERMS = {
    "dot": "u * z",
    "distance": "(u - z) * (u - z)",
    "l1": "fabs(u - z)",
    "chi2": "u + z == 0.0 ? 0.0 : (u - z) * ((u - z) / (u + z))",
    "min": "fmin(u, z)",
    "norm_x": "u * u",
    "norm_z": "z * z",
}
SELF_TERMS = {"dot": "u * u", "norm_z": "u * u", "min": "u"}


def vector_loops(needed: set[str], vectors: Any, feature: str) -> tuple[str, str, str]:
    """Return C for the quantities of vectors.

    Parameters
    ----------
    needed : set of str
        Quantities.
    vectors : array or CSR matrix
        Vectors.
    feature : str
        Expression of C for feature j of the row.

    Returns
    -------
    tuple of str
        Definitions of arrays; what to do for vector i; the same for a row with itself.
    """
    names = sorted(needed)
    if sp.issparse(vectors):
        arrays = (
            array("long", "vector_starts", vectors.indptr)
            + array("int", "vector_columns", vectors.indices)
            + array("double", "vector_values", vectors.data)
        )
        opening = "long p = vector_starts[i];\n"
        entry = (
            "double z = 0.0;\n"
            "if (p < vector_starts[i + 1] && vector_columns[p] == j) z = vector_values[p++];\n"
        )
    else:
        arrays = array("double", "vectors", vectors)
        opening = ""
        entry = f"const double z = vectors[(long)i * {vectors.shape[1]} + j];\n"
    of_row = f"const double u = {feature};\n"
    sums = "".join(f"{name} += {VECTOR_TERMS[name]};\n" for name in names)
    own = [name for name in names if name in SELF_TERMS or name == "norm_x"]
    own_terms = SELF_TERMS | {"norm_x": VECTOR_TERMS["norm_x"]}
    own_sums = "".join(f"{name} += {own_terms[name]};\n" for name in own)
    return (
        arrays,
        opening + _zeros(names) + _loop(vectors.shape[1], of_row + entry + sums),
        _zeros(names) + (_loop(vectors.shape[1], of_row + own_sums) if own else ""),
    )


def _zeros(names: list[str]) -> str:
    return f"double {', '.join(f'{name} = 0.0' for name in names)};\n" if names else ""


def _loop(count: int, body: str) -> str:
    inner = "".join(f"    {line}\n" for line in body.splitlines())
    return f"for (int j = 0; j < {count}; ++j) {{\n{inner}}}\n"


COMMON = """\
/* Pairs of equal substrings of some length. */
static double common(const int *x, int m, const int *z, int n, int length)
{
    double count = 0.0;
    for (int a = 0; a + length <= m; ++a)
        for (int b = 0; b + length <= n; ++b) {
            int k = 0;
            while (k < length && x[a + k] == z[b + k]) ++k;
            count += k == length;
        }
    return count;
}
"""


def text_loops(needed: set[str], known: list[str]) -> tuple[str, str, str]:
    """Return C for the quantities of texts; arguments and outcome as for `vector_loops`."""
    ends = np.cumsum([0, *(len(text) for text in known)])
    arrays = (
        array("int", "letters", [ord(letter) for text in known for letter in text])
        + array("long", "letter_starts", ends)
        + COMMON
    )
    lines, own = [], []
    for name in sorted(needed):
        what, _, length = name.rpartition("_")
        with_itself = f"const double {name} = common(x, count, x, count, {length});\n"
        own.append(with_itself)
        if what == "common":
            lines.append(
                f"const double {name} = common(x, count, letters + letter_starts[i],\n"
                "    (int)(letter_starts[i + 1] - letter_starts[i]), "
                f"{length});\n"
            )
        elif what == "letters_z":
            norms = Spectrum(int(length), normalize=False).diagonal(known)
            arrays += array("double", f"norms_{length}", norms)
            lines.append(f"const double {name} = norms_{length}[i];\n")
        else:
            lines.append(with_itself)
    return arrays, "".join(lines), "".join(own)
