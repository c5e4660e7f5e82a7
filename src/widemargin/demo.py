"""The demonstration behind ``make run``: handwritten digits, a certificate, and a picture.

Trains a Gaussian SVC on scikit-learn's digits, shows what the certificate says, trains
scikit-learn's SVC beside it, and leaves a model and a picture in a folder.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .estimators import SVC
from .io import save
from .plotting import fit_report

__all__ = ["GAMMA", "Digits", "digits", "main"]

C, GAMMA = 10.0, 0.05
REPEATS = 5
IMAGE_SHAPE = (8, 8)


@dataclass(frozen=True)
class Digits:
    """Scanned digits, 8 by 8 pixels from 0 to 1, split into a training and a test part."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def digits() -> Digits:
    """Return scikit-learn's digits, 30 % of each class for the test."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, test_size=0.3, random_state=0, stratify=y)
    return Digits(X, y, X_test, y_test)


def save_picture(model: SVC, data: Digits, path: Path) -> str:
    """Draw the report into a file; return its path, or the reason why there is none."""
    try:
        figure = fit_report(model, data.X_test, data.y_test, image_shape=IMAGE_SHAPE)
    except ImportError as missing:
        return f"none: {missing}"
    figure.savefig(path)
    return str(path)


def compare(data: Digits) -> tuple[SVC, Any, list[float]]:
    """Fit both libraries in turns; return the models and the least time of each."""
    makers: list[Callable[[], Any]] = [
        lambda: SVC(C=C, gamma=GAMMA, decision_function_shape="ovo"),
        lambda: svm.SVC(C=C, gamma=GAMMA, decision_function_shape="ovo"),
    ]
    models: list[Any] = [None, None]
    least = [float("inf"), float("inf")]
    for _ in range(REPEATS):
        for number, make in enumerate(makers):
            began = time.perf_counter()
            models[number] = make().fit(data.X, data.y)
            least[number] = min(least[number], time.perf_counter() - began)
    return models[0], models[1], least


def report(model: SVC, rival: Any, seconds: Sequence[float], data: Digits) -> str:
    """Return the figures as text."""
    classes, machines = len(model.classes_), len(model.machines_)
    certain = int(model.is_certain(data.X_test).sum())
    accuracies = [m.score(data.X_test, data.y_test) for m in (model, rival)]
    return f"""\
Handwritten digits: {len(data.y)} rows to learn from, {len(data.y_test)} to test, \
{data.X.shape[1]} features, {classes} classes.
Gaussian SVC with C={C:g} and gamma={GAMMA:g}; the best of {REPEATS} fits, taken in turns.

                    widemargin   scikit-learn
fit                 {1e3 * seconds[0]:7.1f} ms     {1e3 * seconds[1]:7.1f} ms
test accuracy       {accuracies[0]:10.4f}     {accuracies[1]:10.4f}
support vectors     {len(model.support_):10d}     {len(rival.support_):10d}

What certifies the fit: {machines} machines together, one for each pair of classes.
primal objective    {model.primal_objective_:.6f}
dual objective      {model.dual_objective_:.6f}
relative gap        {model.duality_gap_:.2e}
KKT violation       {model.kkt_violation_:.2e}
certain labels      {certain} of {len(data.y_test)} test rows: the exact optimum says the same
status              {model.status_.value}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Command line; None takes that of the process.

    Returns
    -------
    int
        0.
    """
    parser = argparse.ArgumentParser(prog="python -m widemargin.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the results")
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    data = digits()
    model, rival, seconds = compare(data)
    sys.stdout.write(report(model, rival, seconds, data))
    save(model, folder / "digits.model")
    sys.stdout.write(f"\nmodel               {folder / 'digits.model'}\n")
    sys.stdout.flush()
    sys.stdout.write(f"picture             {save_picture(model, data, folder / 'digits.png')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
