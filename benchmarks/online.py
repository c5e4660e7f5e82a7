"""Stochastic learners beside scikit-learn's: the time of a pass, and the time to an objective.

    pegasos      `Pegasos` and `SGDClassifier(loss="hinge")`, both without an intercept and of the
                 same lam: fits of more and more passes, whose objective lam/2 ||w||² + mean hinge
                 loss is computed for both by one routine. The time "to 1 %" is that of the first
                 fit within 1 % of the optimum, which LinearSVC finds.
    perceptron   the same number of passes by `Perceptron` of both libraries.

python -m benchmarks.online FOLDER [--sets million covtype imdb news20] [--lam 1e-4] [--passes 24]
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.linear_model import SGDClassifier

import widemargin as wm

from .datasets import svmlight

PASSES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
GOALS = (0.05, 0.02, 0.01, 0.005)  # above the optimum, relative


def covtype(folder):
    part = svmlight([folder / "covtype-binary/covtype.libsvm.binary.xz"], 54)
    X = part.X.toarray()
    span = np.maximum(X.max(axis=0) - X.min(axis=0), 1e-12)
    return np.ascontiguousarray((X - X.min(axis=0)) / span), part.y


def unit_rows(part):
    X = sp.csr_matrix(part.X)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_matrix(sp.diags(1.0 / np.maximum(norms, 1e-300)) @ X)
    X.sort_indices()  # as text vectorizers leave them, and every fit would do again
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, part.y


def imdb(folder):
    return unit_rows(svmlight([folder / "imdb-bigram/imdb2.xz"], 1_460_237))


def news20(folder):
    return unit_rows(svmlight([folder / "news20/news20.xz"], 62_061))


def million(folder):
    """Return a million generated rows of 30 columns; a tenth of the labels are turned round."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 30))
    noise = np.where(rng.random(len(X)) < 0.1, -1.0, 1.0)
    return X, noise * np.sign(X @ rng.normal(size=30) + 0.5)


SETS = {"million": million, "covtype": covtype, "imdb": imdb, "news20": news20}
LAMBDAS = {"million": (1e-4, 1e-5), "covtype": (1e-4, 1e-5), "imdb": (1e-4, 4e-5)}


def timed(fit):
    """Return seconds and what `fit` gives."""
    began = time.perf_counter()
    model = fit()
    return time.perf_counter() - began, model


def objective(w, X, signs, lam):
    return 0.5 * lam * w @ w + np.maximum(0.0, 1.0 - signs * (X @ w)).mean()


def compare_pegasos(name, X, y, lams, passes, repeats):
    signs = np.where(y == y.max(), 1.0, -1.0)
    for lam in lams or LAMBDAS[name]:
        exact = wm.LinearSVC(loss="hinge", lam=lam, fit_intercept=False, gap_tol=1e-4)
        best = exact.fit(X, signs).primal_objective_ * lam

        def ours(count, lam=lam):
            model = wm.Pegasos(lam=lam, fit_intercept=False, max_iter=count, gap_tol=0.0)
            return model.fit(X, signs)

        def theirs(count, average, lam=lam):
            return SGDClassifier(
                alpha=lam, fit_intercept=False, max_iter=count, tol=None, average=average,
                random_state=0,
            ).fit(X, signs)  # fmt: skip

        fits = {
            "Pegasos": ours,
            "SGDClassifier": lambda count: theirs(count, False),
            "SGDClassifier, average": lambda count: theirs(count, True),
        }
        print(f"\n{name}, lam = {lam:g}, optimum {best:.6f}: seconds to within")
        print("| | " + " | ".join(f"{100 * goal:g} %" for goal in GOALS) + " | a pass |")
        print("|---" * (len(GOALS) + 2) + "|")
        for title, fit in fits.items():
            print(f"| {title} | {row(fit, X, signs, lam, best, passes, repeats)} |", flush=True)
        asked = timed(lambda lam=lam: wm.Pegasos(lam=lam, gap_tol=0.01, max_time=30).fit(X, signs))
        print(
            f"\nPegasos to a certified gap of 1 %: {asked[0]:.2f} s, {asked[1].n_iter_} passes, "
            f"gap {asked[1].duality_gap_:.4f}"
        )


def row(fit, X, signs, lam, best, passes, repeats):
    """Return the cells of one learner: the time of the first number of passes that is enough."""
    found, seconds = {}, 0.0
    for count in (c for c in PASSES if c <= passes):
        seconds, model = min(
            (timed(lambda count=count: fit(count)) for _ in range(repeats)), key=lambda t: t[0]
        )
        above = objective(model.coef_[0], X, signs, lam) / best - 1.0
        for goal in GOALS:
            if above <= goal and goal not in found:
                found[goal] = f"{seconds:.2f} ({count})"
        if len(found) == len(GOALS):
            break
    cells = [found.get(goal, f"> {seconds:.2f}") for goal in GOALS]
    return " | ".join([*cells, f"{seconds / count:.4f}"])


def compare_perceptrons(name, X, y, repeats):
    print(f"\n{name}: seconds of 10 passes, training accuracy")
    for title, make in {
        "Perceptron": lambda: wm.Perceptron(max_iter=10, tol=None),
        "scikit-learn": lambda: TheirPerceptron(max_iter=10, tol=None),
    }.items():
        runs = [timed(lambda make=make: make().fit(X, y)) for _ in range(repeats)]
        seconds, model = min(runs, key=lambda t: t[0])
        updates = getattr(model, "mistakes_", float("nan"))
        print(
            f"{title:14} {seconds:.3f} s   {model.score(X, y):.4f}   "
            f"{10 * len(y) / seconds / 1e6:.2f} million rows and {updates / seconds / 1e6:.2f} "
            "million updates a second",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="holds covtype-binary, imdb-bigram, news20")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--learners", nargs="+", default=["pegasos", "perceptron"])
    parser.add_argument("--lam", type=float, nargs="+", help="of the hinge loss")
    parser.add_argument("--passes", type=int, default=24, help="at most")
    parser.add_argument("--repeats", type=int, default=2, help="the shortest counts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # fits that stop after a number of passes say so
    for name in options.sets:
        X, y = SETS[name](options.folder)
        if "pegasos" in options.learners and name in LAMBDAS:
            compare_pegasos(name, X, y, options.lam, options.passes, options.repeats)
        if "perceptron" in options.learners:
            compare_perceptrons(name, X, y, options.repeats)


if __name__ == "__main__":
    main()
