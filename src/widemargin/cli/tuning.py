"""``widemargin tune``, and ``train --easy``: search C and gamma by cross-validation.

First a coarse grid over powers of two, then finer ones around the best point, as the guide of
LIBSVM advises. Folds are dealt out class by class in an order that a seed fixes, so a search can be
repeated. Of equally good points that with the smallest C and gamma is taken, the smoothest.
"""

import sys
from dataclasses import dataclass, field
from itertools import product
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..io.ranges import Ranges
from ..io.tables import Table
from ..reductions.folds import folds_by_content, row_keys
from .common import (
    DataFile,
    Format,
    Jobs,
    Json,
    RangesFile,
    Target,
    answer,
    read_data,
    task_of,
    write_model,
)
from .machines import assignment, certificate_of, certificate_text, fit, make_estimator
from .scores import scores

__all__ = ["HELP", "train_easily", "tune"]

HELP = """Search C and gamma by cross-validation: first coarse, then finer around the best.

\b
widemargin tune iris.csv -o iris.model --plot search.png
widemargin tune data.svm --kernel rbf --folds 10 --json
widemargin tune data.svm --log2c -1:7:2 --log2g -7:1:2 --rounds 0

Shows the accuracy (or the squared error, for regression) of each point as it is found. With -o a
model with the best point is trained on all rows.
"""

COARSE_C, COARSE_GAMMA = "-5:15:4", "-13:3:4"
CLOSE = 0.01  # relative gap of fits that are only compared: at large C the rest costs most
GAMMA_KERNELS = ("rbf", "poly", "sigmoid", "laplacian", "chi2")


@dataclass
class Search:
    """A search that goes on.

    Attributes
    ----------
    machine, task : str
        What is trained.
    settings : dict
        Parameters that stay.
    table : Table
        The data.
    folds : int
        Parts of the data, each left out once.
    found : dict
        The score of each point (log2 C, log2 gamma); larger is better.
    """

    machine: str
    task: str
    settings: dict[str, Any]
    table: Table
    folds: NDArray[np.int64]
    found: dict[tuple[float, float | None], float] = field(default_factory=dict)

    def score(self, point: tuple[float, float | None]) -> float:
        """Return the cross-validated accuracy, or minus the mean squared error."""
        X, y = self.table.X, np.asarray(self.table.y)
        guesses = np.empty(y.shape, dtype=y.dtype if self.task != "regression" else np.float64)
        for k in range(int(self.folds.max()) + 1):
            inside, outside = np.flatnonzero(self.folds != k), np.flatnonzero(self.folds == k)
            estimator = make_estimator(self.machine, self.task, self.parameters(point))
            if getattr(estimator, "gap_tol", 0.0) is None:
                estimator.set_params(gap_tol=CLOSE)
            fit(estimator, Table(X[inside], y[inside]), watched=False)
            guesses[outside] = estimator.predict(X[outside])
        measured = scores(self.task, y, guesses)
        if self.task == "regression":
            return -float(measured["mean_squared_error"])
        return float(measured["accuracy"])

    def parameters(self, point: tuple[float, float | None]) -> dict[str, Any]:
        """Return all parameters of a point."""
        log_c, log_gamma = point
        chosen = {"C": 2.0**log_c} | ({} if log_gamma is None else {"gamma": 2.0**log_gamma})
        return self.settings | chosen

    @property
    def best(self) -> tuple[float, float | None]:
        """The best point; of equal ones the smoothest."""
        return min(self.found, key=lambda p: (-self.found[p], p[0], p[1] or 0.0))

    def explore(self, points: Any) -> None:
        """Score points not seen before; tell of each on standard error if somebody watches."""
        for point in points:
            if point in self.found:
                continue
            self.found[point] = self.score(point)
            if sys.stderr.isatty():
                shown = abs(self.found[point])
                gamma = "" if point[1] is None else f" log2(gamma)={point[1]:g}"
                print(f"log2(C)={point[0]:g}{gamma}: {shown:.6g}", file=sys.stderr)


def tune(
    data: DataFile,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Train with the best point; model file.")
    ] = None,
    task: Annotated[str, typer.Option(help="auto, classification or regression.")] = "auto",
    machine: Annotated[str, typer.Option(help="Class; auto follows the task.")] = "auto",
    kernel: Annotated[str | None, typer.Option(help="rbf, linear, poly, sigmoid, ...")] = None,
    log2c: Annotated[str, typer.Option(help="First:last:step of log2(C).")] = COARSE_C,
    log2g: Annotated[str, typer.Option(help="First:last:step of log2(gamma).")] = COARSE_GAMMA,
    folds: Annotated[int, typer.Option(min=2, help="Parts, each left out once.")] = 5,
    rounds: Annotated[int, typer.Option(min=0, help="Finer grids after the coarse one.")] = 2,
    plot: Annotated[str | None, typer.Option(help="Picture of the search, PNG, PDF, SVG.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any other parameter, as name=value.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the order in which rows are dealt out.")] = 0,
    target: Target = None,
    ranges: RangesFile = None,
    format: Format = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Search C and gamma by cross-validation."""
    table = read_data(data, target, ranges)
    settings: dict[str, Any] = {} if kernel is None else {"kernel": kernel}
    settings |= {} if jobs is None else {"n_jobs": jobs}
    settings |= dict(assignment(text) for text in setting or ())
    task = task_of(table.y) if task == "auto" else task
    search = start_search(table, task, machine, settings, folds, seed)
    run_search(search, _steps("--log2c", log2c), _steps("--log2g", log2g), rounds)
    if plot is not None:
        _draw(search, plot)
    _finish(search, output, format, as_json, ranges)


def start_search(
    table: Table, task: str, machine: str, settings: dict[str, Any], folds: int, seed: int
) -> Search:
    """Return a search that has not begun, with its folds."""
    if table.y is None or task == "detection":
        raise ValueError("a search compares predictions with labels, and the data have none")
    labels = np.zeros(len(table.y), dtype=np.int64)
    if task == "classification":
        labels = np.unique(table.y, return_inverse=True)[1].astype(np.int64)
    ones = np.ones(labels.size)
    keys = row_keys(table.X, ones) ^ np.random.default_rng(seed).integers(1 << 63, dtype=np.uint64)
    numbers = folds_by_content(keys, labels, ones, min(folds, len(table.y)))
    if any(np.ptp(numbers[labels == label]) == 0 for label in np.unique(labels)):
        raise ValueError(
            "a class has only one row, or equal ones, which cannot be left out and learnt too"
            if task == "classification"
            else "all rows are equal: none can be left out and the others learnt"
        )
    return Search(machine, task, settings, table, numbers)


def run_search(search: Search, log_c: list[float], log_gamma: list[float], rounds: int) -> None:
    """Search the coarse grid and `rounds` finer ones, each with half the step."""
    probe = make_estimator(search.machine, search.task, search.settings)
    kernel = getattr(probe, "kernel", "linear")
    gammas: list[float | None] = list(log_gamma) if kernel in GAMMA_KERNELS else [None]
    search.explore(product(log_c, gammas))
    steps = [
        abs(np.diff(values).min()) if len(values) > 1 else 1.0 for values in (log_c, log_gamma)
    ]
    for _ in range(rounds):
        steps = [step / 2 for step in steps]
        c, gamma = search.best
        near_c = [c - steps[0], c, c + steps[0]]
        near_gamma = [None] if gamma is None else [gamma - steps[1], gamma, gamma + steps[1]]
        search.explore(product(near_c, near_gamma))


def _finish(
    search: Search, output: str | None, format: str | None, as_json: bool, ranges: str | None
) -> None:
    """Report the best point, and train on all rows if a model is wanted."""
    best = search.best
    chosen = {k: v for k, v in search.parameters(best).items() if k in ("C", "gamma")}
    value = search.found[best]
    measure = "mean_squared_error" if search.task == "regression" else "accuracy"
    record = {"best": chosen, measure: abs(value), "points": len(search.found)}
    record |= {} if ranges is None else {"ranges": ranges}
    options = " ".join(f"--{k} {v:g}" for k, v in chosen.items())
    lines = [
        f"best of {len(search.found)} points: {options}",
        f"cross-validated {measure.replace('_', ' ')} {abs(value):.6g}",
    ]
    if output is not None:
        estimator = make_estimator(search.machine, search.task, search.parameters(best))
        fit(estimator, search.table)
        note = write_model(estimator, output, format, ranges)
        record |= certificate_of(estimator) | {"model": output}
        lines += filter(None, (certificate_text(estimator), note))
    answer(record, "\n".join(lines), as_json, aside=output == "-")


def train_easily(
    data: str,
    output: str,
    target: str | None,
    wanted: tuple[str, str, dict[str, Any]],
    format: str | None,
    as_json: bool,
) -> None:
    """Scale, search, and train with the best point; the ranges are written beside the model."""
    if output == "-":
        raise typer.BadParameter("--easy writes a second file, OUTPUT.range; give a path to -o")
    table = read_data(data, target)
    sparse = not isinstance(table.X, np.ndarray)
    ranges = Ranges.of(table.X, 0.0 if sparse else -1.0, 1.0)
    table = Table(ranges.apply(table.X), table.y, table.features)
    task, machine, settings = wanted
    task = task_of(table.y) if task == "auto" else task
    search = start_search(table, task, machine, settings, 5, 0)
    run_search(search, _steps("C", COARSE_C), _steps("gamma", COARSE_GAMMA), 2)
    ranges.save(f"{output}.range")
    _finish(search, output, format, as_json, f"{output}.range")


def _steps(name: str, text: str) -> list[float]:
    try:
        first, last, step = (float(part) for part in text.split(":"))
        count = int(np.floor((last - first) / step + 1e-9)) + 1
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"{name} must be first:last:step, found {text!r}") from None
    if not 1 <= count <= 1000:
        raise typer.BadParameter(f"{name} must name 1 to 1000 values, found {text!r}")
    return [first + k * step for k in range(count)]


def _draw(search: Search, path: str) -> None:
    from ..plotting import SearchDisplay

    wrong = search.task == "regression"
    points = [[2.0**value for value in point if value is not None] for point in search.found]
    scores = [abs(score) for score in search.found.values()]
    display = SearchDisplay.from_points(
        points,
        scores,
        names=("C", "gamma")[: len(points[0])],
        measure="mean squared error" if wrong else "accuracy, cross-validated",
        larger_is_better=not wrong,
    )
    display.figure_.savefig(path, dpi=150)
