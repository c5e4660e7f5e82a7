"""SVMlight's programs svm_learn and svm_classify, for classification and regression.

Without -c the cost is 1 / r², where r is the mean distance of the rows from the origin in feature
space, as SVMlight chooses it. `cost:` in a line multiplies the cost of its row, -j that of positive
ones. Machines are solved to -e or further; with -v 2 the duality gap says how far. One line of
svm_learn is missing, the number of kernel evaluations, which are not counted here.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..io.atomic import open_target
from ..io.model_text import KernelFacts
from ..io.svmlight import load_svmlight
from ..io.svmlight_models import read_svmlight_model, write_svmlight_model
from ..kernels import Kernel
from .dropin import parse, read_text, write_lines
from .svmlight_estimates import (
    left_out,
    rates,
    without_inconsistent,
    xi_alpha,
    xi_alpha_extended,
)
from .svmlight_machines import Learnt, Task, default_cost, learnt, squared_distances

__all__ = ["CLASSIFY_HELP", "LEARN_HELP", "classify", "learn"]

LEARN_HELP = """svm_learn of SVMlight: the same options and defaults.

\b
widemargin svmlight-learn [options] example_file model_file
widemargin svmlight-learn -c 10 -t 2 -g 0.5 train.dat model
\b
-z c|r   classification or regression (c)     -c cost (1 / mean |x|^2)
-w epsilon of regression (0.1)                -j cost of positive rows times this (1)
-b 1|0   with or without threshold (1)        -i 1  drop rows at their bound, fit again (0)
-t kernel  0 linear, 1 polynomial (s a.b + r)^d, 2 exp(-g |a-b|^2), 3 tanh(s a.b + r)  (0)
-d degree (3)  -g gamma (1)  -s factor (1)  -r offset (1)  -e tolerance (0.001)
-x 1  leave-one-out (0)    -o rho of the XiAlpha estimates and of leave-one-out (1)
-k 0..100  depth of the extended XiAlpha estimates (0)
-a file  write alpha times label of each row  -v level  0 prints nothing (1)
-f 0  leaves out what follows the number of support vectors, if the kernel is not linear (1)
-q -n -m -h -# -y -l -p -u are accepted: they do not change what is learnt
"""
CLASSIFY_HELP = """svm_classify of SVMlight: the same files and closing lines.

\b
widemargin svmlight-classify [-v level] [-f 0|1] example_file model_file [output_file]
\b
-f 1 writes decision values (default), -f 0 both labels with their values
"""
KERNELS = ("linear", "poly", "rbf", "sigmoid")
OPTIONS: dict[str, tuple[Any, Any]] = {
    "z": (str, "c"), "c": (float, 0.0), "w": (float, 0.1), "j": (float, 1.0), "b": (int, 1),
    "t": (int, 0), "d": (int, 3), "g": (float, 1.0), "s": (float, 1.0), "r": (float, 1.0),
    "e": (float, 1e-3), "v": (int, 1), "q": (int, 10), "n": (int, 0), "m": (int, 40),
    "h": (int, 100), "f": (int, 1), "#": (int, 100000), "a": (str, None), "y": (str, None),
    "i": (int, 0), "x": (int, 0), "o": (float, 1.0), "k": (int, 0),
    "l": (str, None), "p": (float, -1.0), "u": (str, None),
}  # fmt: skip
RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "z": (lambda z: z in ("c", "r"), "must be c or r; ranking is not part of it"),
    "t": (lambda t: t in range(4), "must be 0, 1, 2 or 3; kernels of one's own are Python objects "
          "of widemargin.kernels"),
    "c": (lambda c: c >= 0, "must not be negative"),
    "w": (lambda w: w >= 0, "must not be negative"),
    "j": (lambda j: j > 0, "must be above 0"),
    "e": (lambda e: e > 0, "must be above 0"),
    "o": (lambda o: o >= 0, "must not be negative"),
    "k": (lambda k: 0 <= k <= 100, "must be from 0 to 100"),
    "b": (lambda b: b in (0, 1), "must be 0 or 1"),
    "i": (lambda i: i in (0, 1), "must be 0 or 1"),
    "x": (lambda x: x in (0, 1), "must be 0 or 1"),
    "f": (lambda f: f in (0, 1), "must be 0 or 1"),
    "q": (lambda q: q >= 2, "must be at least 2"),
    "p": (lambda p: p <= 1, "must be at most 1"),
}  # fmt: skip


def learn(context: typer.Context) -> None:
    """Learn as svm_learn does."""
    if context.args[:1] == ["-?"]:
        print(LEARN_HELP.replace("\b\n", ""))
        return
    given = parse("svm_learn", context.args, OPTIONS)
    values = given.values
    if not 1 <= len(given.files) <= 2:
        raise typer.BadParameter("svm_learn needs example_file and perhaps model_file")
    _check(values)
    say: Callable[..., None] = print if values["v"] > 0 else lambda *_, **__: None
    run = _read(values, given.files[0], say)
    kept = np.ones(len(run.y), dtype=bool)
    leaves_out = values["x"] == 1 and run.may_leave_out()
    say("Optimizing...", end="", flush=True)
    if values["i"]:
        found, kept = without_inconsistent(run.fit, run.y)
    else:
        found = run.fit(None)
    _report(run, found, int((~kept).sum()))
    if leaves_out:
        _leave_out(run, found)
    if values["a"] is not None:
        _write_alphas(values["a"], found.alphas, run.task.classes)
        say("Writing alpha file...done")
    write_svmlight_model(found.estimator, given.files[1] if len(given.files) == 2 else "svm_model")
    say("Writing model file...done")


def _check(values: dict[str, Any]) -> None:
    """Refuse values and combinations that mean nothing."""
    for letter, (holds, sentence) in RANGES.items():
        if not holds(values[letter]):
            found = values[letter]
            raise typer.BadParameter(f"svm_learn: -{letter} {sentence}, found {found}")
    if values["n"] > values["q"]:
        raise typer.BadParameter("svm_learn: -n must not be above -q")
    if values["z"] == "r":
        for letter in "ix":
            if values[letter]:
                raise typer.BadParameter(f"svm_learn: -{letter} 1 is for classification, -z c")
        if values["j"] != 1:
            raise typer.BadParameter(
                "svm_learn: -j weighs rows of label 1, so it needs -z c; `cost:` in the lines of "
                "the data weighs single rows"
            )
    if not values["f"]:
        if values["i"]:
            raise typer.BadParameter("svm_learn: -i 1 needs the final check, -f 1")
        if values["t"] == 0:
            values["f"] = 1


@dataclass(frozen=True)
class _Run:
    """Options, data, and how to speak.

    Attributes
    ----------
    values : dict
        Options.
    task : Task
        What shall be learnt.
    X, y
        Rows; labels 1 and -1, or numbers.
    say : callable
        Prints, or not.
    """

    values: dict[str, Any]
    task: Task
    X: Any
    y: NDArray[Any]
    say: Callable[..., None]

    @property
    def kernel(self) -> Kernel:
        """The kernel object."""
        kernel = self.task.facts.kernel()
        assert kernel is not None  # only precomputed kernels have none
        return kernel

    def fit(self, kept: NDArray[np.bool_] | None) -> Learnt:
        """Learn from the marked rows; how it ended is reported, not warned of."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".* stopped")
            return learnt(self.task, self.X, self.y, kept)

    def may_leave_out(self) -> bool:
        """Whether leave-one-out means something; if not, say so as svm_learn does."""
        why = None
        if self.values["i"]:
            why = "estimates when removing inconsistent examples"
        elif min((self.y > 0).sum(), (self.y < 0).sum()) == 1:
            why = "with only one example in one class"
        if why is not None:
            self.say(f"\nCannot compute leave-one-out {why}.\n")
        return why is None


def _read(values: dict[str, Any], path: str, say: Callable[..., None]) -> _Run:
    say("Scanning examples...done")
    say("Reading examples into memory...", end="", flush=True)
    X, y, cost = load_svmlight(path, zero_based=False, cost=True)
    hundreds = "".join(f"{k}.." for k in range(100, len(y) + 1, 100))
    say(f"{hundreds}OK. ({len(y)} examples read)")
    facts = KernelFacts(
        KERNELS[values["t"]],
        values["d"],
        values["g"] if values["t"] == 2 else values["s"],
        values["r"],
    )
    C = values["c"]
    if C == 0:
        kernel = facts.kernel()
        assert kernel is not None
        C = default_cost(X, kernel)
        say(f"Setting default regularization parameter C={C:.4f}")
    costs, classes = C * cost, values["z"] == "c"
    if classes:
        if not y.all():
            raise ValueError(
                f"{path}: found rows of label 0, which means transduction, and that is not part of "
                "this program; labels must be positive or negative"
            )
        y = np.sign(y).astype(np.int64)  # as there
        costs = np.where(y > 0, values["j"], 1.0) * costs
    task = Task(facts, costs, values["e"], classes, values["w"], values["b"] == 1)
    return _Run(values, task, X, y, say)


def _losses(run: _Run, found: Learnt) -> NDArray[np.float64]:
    """Return the loss of each row, as far as it exceeds the tolerance."""
    if run.task.classes:
        losses = 1 - run.y * found.values
    else:
        losses = np.abs(run.y - found.values) - run.task.epsilon
    return np.where(losses > run.task.tol, losses, 0.0)


def _report(run: _Run, found: Learnt, removed: int) -> None:
    """Print what svm_learn prints after the fit."""
    say, trained = run.say, found.trained
    wrong = ""
    if run.task.classes:
        wrong = f"{int((run.y * found.values <= 0).sum())} misclassified, "
    say(f"done. ({int(np.sum(trained.n_iter_))} iterations)")
    say(f"Optimization finished ({wrong}maxdiff={trained.kkt_violation_:.5f}).")
    say(f"Runtime in cpu-seconds: {found.seconds:.2f}")
    bounds = f"including {int(found.at_bound.sum())} at upper bound"
    if run.values["i"]:
        bounds = f"plus {removed} inconsistent examples"
    say(f"Number of SV: {int((found.alphas != 0).sum())} ({bounds})")
    if run.values["f"]:
        _report_solution(run, found)
    say(f"Number of kernel evaluations: {found.evaluations}")


def _report_solution(run: _Run, found: Learnt) -> None:
    """Print what -f 0 leaves out: losses, lengths and estimates."""
    say, trained = run.say, found.trained
    if run.values["v"] >= 2:
        gap = trained.primal_objective_ - trained.dual_objective_
        say(f"Upper bound on duality gap: gap={gap:.5f}")
        say(f"Dual objective value: dval={trained.dual_objective_:.5f}")
    say(f"L1 loss: loss={_losses(run, found).sum():.5f}")
    say(f"Norm of weight vector: |w|={found.norm:.5f}")
    longest = np.sqrt(run.kernel.diagonal(run.X).max())
    say(f"Norm of longest example vector: |x|={longest:.5f}")
    if run.task.classes:
        support = np.flatnonzero(found.alphas)
        squared_radius = squared_distances(run.X[support], run.kernel).max(initial=0.0)
        say(f"Estimated VCdim of classifier: VCdim<={found.norm**2 * squared_radius + 1:.5f}")
        if not run.values["i"]:
            _estimate(run, found)


def _estimate(run: _Run, found: Learnt) -> None:
    """Print the XiAlpha estimates."""
    say, rho, depth = run.say, run.values["o"], run.values["k"]
    began = time.process_time()
    sizes, margins = np.abs(found.alphas), run.y * found.values
    squared_radius = float(squared_distances(run.X, run.kernel).max())
    wrong = xi_alpha(sizes, margins, squared_radius, rho)
    if depth:
        free = (sizes > 0) & ~found.at_bound
        wrong = xi_alpha_extended(wrong, sizes, margins, free, run.X, run.kernel, depth)
    say("Computing XiAlpha-estimates...done")
    say(f"Runtime for XiAlpha-estimates in cpu-seconds: {time.process_time() - began:.2f}")
    signs = ("error: error<=", "recall: recall=>", "precision: precision=>")
    for sign, bound in zip(signs, rates(wrong, run.y), strict=True):
        say(f"XiAlpha-estimate of the {sign}{bound:.2f}% (rho={rho:.2f},depth={depth})")


def _leave_out(run: _Run, found: Learnt) -> None:
    """Print the leave-one-out estimates."""
    say, rho = run.say, run.values["o"]
    began = time.process_time()
    say("Computing leave-one-out", end="", flush=True)
    squared_radius = float(squared_distances(run.X, run.kernel).max())
    wrong, fits = left_out(run.fit, run.y, found, squared_radius, rho)
    say("...done.")
    for name, rate in zip(("error", "recall", "precision"), rates(wrong, run.y), strict=True):
        say(f"Leave-one-out estimate of the {name}: {name}={rate:.2f}%")
    say(f"Actual leave-one-outs computed:  {fits} (rho={rho:.2f})")
    say(f"Runtime for leave-one-out in cpu-seconds: {time.process_time() - began:.2f}")


def _write_alphas(path: str, alphas: NDArray[np.float64], classes: bool) -> None:
    """Write a line for each row; of numbers, those that pull up, then in reverse the others."""
    if not classes:
        alphas = np.concatenate([np.maximum(alphas, 0.0), np.minimum(alphas, 0.0)[::-1]])
    write_lines(path, alphas)


def classify(context: typer.Context) -> None:
    """Predict as svm_classify does."""
    if context.args[:1] in (["-h"], ["-?"]):
        print(CLASSIFY_HELP.replace("\b\n", ""))
        return
    given = parse("svm_classify", context.args, {"v": (int, 2), "f": (int, 1)})
    if not 2 <= len(given.files) <= 3:
        raise typer.BadParameter("svm_classify needs example_file, model_file, perhaps output_file")
    data, model = given.files[:2]
    level = given.values["v"]
    output = given.files[2] if len(given.files) == 3 else "svm_predictions"
    first = read_svmlight_model(model, task="regression")
    if level > 0:
        vectors = first.support_.size if hasattr(first, "support_") else 1
        print(f"Reading model...OK. ({vectors} support vectors read)")
    X, y = read_text(data, width=first.n_features_in_)
    estimator = read_svmlight_model(model, n_features=X.shape[1], task="regression")
    began = time.process_time()
    values = np.asarray(estimator.predict(X), dtype=np.float64)
    seconds = time.process_time() - began
    if given.values["f"] == 0:
        _write_both(output, values)
    else:
        write_lines(output, values, 8)
    if level > 1:
        hundreds = "".join(f"{k}.." for k in range(100, len(y) + 1, 100))
        print(f"Classifying test examples..{hundreds}done")
        print(f"Runtime (without IO) in cpu-seconds: {seconds:.2f}")
    if level > 0 and (np.trunc(0.01 + y * y) == 1).all():  # else the labels are not two classes
        print(_closing_lines(values, y))


def _write_both(path: str, values: NDArray[np.float64]) -> None:
    """Write both labels with their values, the larger first, as version 1 did."""
    rows = ((abs(v), "+1" if v > 0 else "-1", "-1" if v > 0 else "+1") for v in values.tolist())
    text = "".join(f"{size:.8g}:{first} {-size:.8g}:{second}\n" for size, first, second in rows)
    with open_target(path) as file:
        file.write(text.encode("ascii"))


def _closing_lines(values: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    positive, wanted = values > 0, y > 0
    right = int((positive == wanted).sum())
    hits = int((positive & wanted).sum())
    precision = 100 * hits / positive.sum() if positive.any() else float("nan")
    recall = 100 * hits / wanted.sum() if wanted.any() else float("nan")
    return (
        f"Accuracy on test set: {100 * right / len(y):.2f}% ({right} correct, "
        f"{len(y) - right} incorrect, {len(y)} total)\n"
        f"Precision/recall on test set: {precision:.2f}%/{recall:.2f}%"
    )
