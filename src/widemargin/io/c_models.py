"""Models as one file of C without dependencies."""

import os
import re
from typing import Any

import numpy as np

from ..estimators.decision_rule import DecisionRule, rule_of
from . import c_code
from .atomic import open_target
from .kernel_formula import formula, leaves
from .native_models import package_version
from .ranges import Ranges, scaling_of

__all__ = ["export_c"]


def export_c(
    estimator: Any,
    target: "str | os.PathLike[str] | Any",
    *,
    name: str = "model",
    ranges: Any = None,
) -> None:
    r"""Write a fitted estimator as one file of C99 that needs nothing but the C library.

    Prefer it for devices and programs without room for a runtime: the file is the model. It
    compiles as C++ too, and defines ::

        void model_decision(const double *x, double *decision);   all tasks but regression
        int model_class(const double *x);       classification: which of model_labels
        int model_predict(const double *x);     detection: 1 inside, -1 outside
        double model_predict(const double *x);  regression

    where x are the features in order; of a precomputed kernel the kernel values, and of a kernel on
    strings ``const int *x, int count``, code points and how many. What stands on top of the file
    says which of them it has.

    Parameters
    ----------
    estimator : estimator
        Fitted: any of this package.
    target : str, os.PathLike or file object
        A path, which is written whole or not at all; or an object opened in binary mode.
    name : str, default="model"
        What the names in the file begin with.
    ranges : str, os.PathLike or file object, default=None
        A file of ranges, of ``widemargin scale`` or svm-scale, that the rows were scaled with in
        training: the C code then takes rows as they were before, and scales them itself.

    Raises
    ------
    TypeError
        If the kernel is a Python function, which C does not know.

    See Also
    --------
    export_onnx : Writes a graph of matrix operators.

    Notes
    -----
    Cost: numbers are doubles with all digits. Vectors that are sparse here stay so in the file,
    though a kernel value takes time for each feature. A linear machine is one number a feature.

    Examples
    --------
    >>> import io
    >>> from widemargin import LinearSVR, export_c
    >>> file = io.BytesIO()
    >>> export_c(LinearSVR(C=1e3).fit([[0.0], [1.0]], [1.0, 3.0]), file, name="price")
    >>> print(file.getvalue().decode().splitlines()[2])
     * double price_predict(const double *x);
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"name must be a name of C, letters, digits and _, found {name!r}")
    rule = rule_of(estimator)
    text = _file(rule, name, type(estimator).__name__, scaling_of(rule, Ranges.given(ranges)))
    with open_target(target) as file:
        file.write(text.encode("ascii"))


def _file(rule: DecisionRule, name: str, machine: str, scaling: Any) -> str:
    """Return the text of the file."""
    taken, given = (
        ("const double *x", "x") if rule.features else ("const int *x, int count", "x, count")
    )
    outputs = _outputs(rule)
    return "\n".join(
        [
            _heading(rule, name, machine, taken, outputs, scaling is not None),
            "#include <math.h>\n",
            _labels(rule, name),
            _scores(rule, taken, scaling),
            _endings(rule, name, taken, given, outputs),
        ]
    )


def _outputs(rule: DecisionRule) -> int:
    """Return how many decision values there are."""
    k = 0 if rule.labels is None else len(rule.labels)
    if k <= 2:
        return 1
    return k * (k - 1) // 2 if rule.head == "pairs" else k


def _heading(
    rule: DecisionRule, name: str, machine: str, taken: str, outputs: int, scaled: bool
) -> str:
    if rule.features is None:
        rows = "x: the code points of a text, and how many"
    elif rule.columns is not None:
        rows = f"x: {rule.features} kernel values, as predict takes them"
    else:
        rows = f"x: {rule.features} features" + (", not scaled: that is done here" * scaled)
    lines = [f"{machine}, written by widemargin {package_version()}.", ""]
    if rule.head == "value":
        lines.append(f"double {name}_predict({taken});")
    else:
        lines.append(f"void {name}_decision({taken}, double *decision);   {outputs} values")
        if rule.labels is None:
            lines.append(f"int {name}_predict({taken});   1 inside, -1 outside")
        else:
            lines.append(f"int {name}_class({taken});   0 to {len(rule.labels) - 1}")
            lines.append(f"{name}_labels[]   the label of each class")
    lines += ["", rows]
    return "/* " + "\n * ".join(lines).replace(" * \n", " *\n") + "\n */"


def _labels(rule: DecisionRule, name: str) -> str:
    if rule.labels is None:
        return ""
    labels = rule.labels.tolist()
    if all(isinstance(label, bool | int) for label in labels):
        words = ", ".join(str(int(label)) + "LL" for label in labels)
        return f"const long long {name}_labels[{len(labels)}] = {{{words}}};\n"
    if all(isinstance(label, float | int) for label in labels):
        words = ", ".join(c_code.number(label) for label in labels)
        return f"const double {name}_labels[{len(labels)}] = {{{words}}};\n"
    if all(isinstance(label, str) for label in labels):
        return c_code.texts(f"{name}_labels", labels)
    raise TypeError(f"labels must be numbers, truth values or texts to be exported, found {labels}")


def _indented(text: str, by: int) -> str:
    return "".join(" " * by + line + "\n" for line in text.splitlines())


SCALED = "((x[{0}] - least[{0}]) * factor[{0}] + start[{0}])"


def _scores(rule: DecisionRule, taken: str, scaling: Any) -> str:
    """Return the function that computes all scores."""
    count, machines = rule.weights.shape
    feature = "x[{0}]" if scaling is None else SCALED
    arrays = c_code.array("double", "weights", rule.weights)
    arrays += c_code.array("double", "offset", rule.offset)
    for key, values in zip(("least", "factor", "start"), scaling or (), strict=False):
        arrays += c_code.array("double", key, values)
    itself = ""
    if rule.kernel is None:
        if rule.columns is None:
            value = f"const double value = {feature.format('i')};\n"
        else:
            arrays += c_code.array("int", "columns", rule.columns)
            value = "const double value = x[columns[i]];\n"
    else:
        term = formula(rule.kernel)
        if rule.features is None:
            more, quantities, own = c_code.text_loops(leaves(term), rule.vectors)
        else:
            feature = feature.format("j")
            more, quantities, own = c_code.vector_loops(leaves(term), rule.vectors, feature)
        arrays += more
        value = f"{quantities}const double value = {c_code.expression(term)};\n"
        if rule.self_weight:
            itself = own + (
                f"const double itself = {c_code.expression(term)};\n"
                f"for (int m = 0; m < {machines}; ++m) "
                f"scores[m] += {c_code.number(rule.self_weight)} * itself;\n"
            )
            itself = "    {\n" + _indented(itself, 8) + "    }\n"
    return (
        f"{arrays}\nstatic void all_scores({taken}, double *scores)\n{{\n"
        f"    for (int m = 0; m < {machines}; ++m) scores[m] = offset[m];\n"
        f"    for (int i = 0; i < {count}; ++i) {{\n"
        f"{_indented(value, 8)}"
        f"        for (int m = 0; m < {machines}; ++m)\n"
        f"            scores[m] += value * weights[(long)i * {machines} + m];\n"
        f"    }}\n{itself}}}\n"
    )


LARGEST = """\
static int largest(const double *values, int count)
{
    int best = 0;
    for (int k = 1; k < count; ++k)
        if (values[k] > values[best]) best = k;
    return best;
}
"""

# Votes of pairs (a, b), a < b, one after the other; ties are broken by the sum of scores.
VOTES = """\
static void votes_of(const double *scores, double *votes, double *total)
{
    for (int c = 0; c < CLASSES; ++c) votes[c] = total[c] = 0.0;
    for (int a = 0, m = 0; a < CLASSES; ++a)
        for (int b = a + 1; b < CLASSES; ++b, ++m) {
            votes[scores[m] > 0.0 ? a : b] += 1.0;
            total[a] += scores[m];
            total[b] -= scores[m];
        }
}
"""


def _endings(rule: DecisionRule, name: str, taken: str, given: str, outputs: int) -> str:
    """Return the functions that a program calls."""
    machines = rule.weights.shape[1]
    k = 0 if rule.labels is None else len(rule.labels)
    if rule.head == "value":
        return (
            f"double {name}_predict({taken})\n"
            f"{{ double score[1]; all_scores({given}, score); return score[0]; }}\n"
        )
    parts, body = [], f"all_scores({given}, decision);\n"
    if rule.head == "survivors":
        parts.append(c_code.array("double", "survival", rule.survival))
        body = _survivors(rule, given, machines, k)
    elif rule.head in ("votes", "ties"):
        body = (
            f"double scores[{machines}], votes[{k}], total[{k}];\n"
            f"all_scores({given}, scores);\nvotes_of(scores, votes, total);\n"
            f"for (int c = 0; c < {k}; ++c)\n"
            "    decision[c] = votes[c] + total[c] / (3.0 * (fabs(total[c]) + 1.0));\n"
        )
    if rule.head in ("pairs", "votes", "ties"):
        parts.append(VOTES.replace("CLASSES", str(k)))
    if k > 2:
        parts.append(LARGEST)
    parts.append(f"void {name}_decision({taken}, double *decision)\n{{\n{_indented(body, 4)}}}\n")
    if rule.labels is None:
        last, title = "return decision[0] >= 0.0 ? 1 : -1;\n", f"int {name}_predict({taken})"
    else:
        last, title = "return decision[0] > 0.0;\n", f"int {name}_class({taken})"
    call = f"double decision[{outputs}];\n{name}_decision({given}, decision);\n"
    if rule.head in ("pairs", "votes"):  # votes alone decide, whatever breaks their ties
        call = (
            f"double scores[{machines}], votes[{k}], total[{k}];\n"
            f"all_scores({given}, scores);\nvotes_of(scores, votes, total);\n"
        )
        last = f"return largest(votes, {k});\n"
    elif k > 2:
        last = f"return largest(decision, {k});\n"
    parts.append(f"{title}\n{{\n{_indented(call + last, 4)}}}\n")
    return "\n".join(parts)


def _survivors(rule: DecisionRule, given: str, machines: int, k: int) -> str:
    assert rule.survival is not None
    count = np.size(rule.survival)
    opening = "/* Too many for the stack: one thread at a time. */\n"
    opening += f"static double scores[{machines}];\nall_scores({given}, scores);\n"
    if k == 2:
        return opening + (
            "decision[0] = 0.0;\n"
            f"for (int m = 0; m < {count}; ++m)\n"
            "    decision[0] += scores[m] > 0.0 ? survival[m] : -survival[m];\n"
        )
    return opening + (
        f"for (int c = 0; c < {k}; ++c) decision[c] = 0.0;\n"
        f"for (int m = 0; m < {count}; ++m)\n"
        f"    decision[largest(scores + (long)m * {k}, {k})] += survival[m];\n"
    )
