"""``widemargin train``: from a data file to a model file with its certificate."""

import sys
import warnings
from typing import Annotated, Any

import numpy as np
import typer

from .. import estimators
from ..io import save
from ..io.models import FORMATS
from .common import (
    STANDARD,
    DataFile,
    Jobs,
    Json,
    RangesFile,
    Target,
    answer,
    read_data,
    task_of,
    text_target,
)

__all__ = ["HELP", "certificate_of", "certificate_text", "make_estimator", "train"]

HELP = """Train a machine and write it to a file.

\b
widemargin train iris.csv -o iris.model
widemargin train data.svm -o data.model --kernel rbf --C 10 --gamma 0.5
widemargin train prices.parquet --target price -o prices.model --epsilon 0.1
zcat data.svm.gz | widemargin train - -o data.model --json

Prints how far the machine can be from the optimum: nothing was learnt better if the gap is small.
Exit code 3 says that a limit stopped the fit early; the model is written nevertheless.
"""

DEFAULT_MACHINES = {"classification": "SVC", "regression": "SVR", "detection": "OneClassSVM"}
STOPPED_EARLY = 3


def train(
    data: DataFile,
    output: Annotated[str, typer.Option("--output", "-o", help="Model file; - for a pipe.")],
    task: Annotated[
        str, typer.Option(help="auto, classification, regression or detection (of outliers).")
    ] = "auto",
    machine: Annotated[
        str, typer.Option(help="Class of widemargin, such as LinearSVC; auto follows the task.")
    ] = "auto",
    kernel: Annotated[
        str | None, typer.Option(help="rbf, linear, poly, sigmoid, chi2, ...")
    ] = None,
    C: Annotated[float | None, typer.Option("--C", help="Cost of an error.")] = None,
    gamma: Annotated[str | None, typer.Option(help="Of the kernel: a number, scale, auto.")] = None,
    degree: Annotated[int | None, typer.Option(help="Of the polynomial kernel.")] = None,
    coef0: Annotated[float | None, typer.Option(help="Of the polynomial kernel.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Error that is free, regression.")] = None,
    nu: Annotated[
        float | None, typer.Option(help="Share of errors: nu machines, detection.")
    ] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Equal weight for classes.")] = False,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any other parameter, as name=value.")
    ] = None,
    easy: Annotated[
        bool, typer.Option("--easy", help="Scale columns and tune first; writes OUTPUT.range too.")
    ] = False,
    target: Target = None,
    ranges: RangesFile = None,
    format: Annotated[str, typer.Option(help=f"Of the file: {', '.join(FORMATS)}.")] = FORMATS[0],
    max_time: Annotated[float | None, typer.Option(help="Seconds to stop after.")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Train a machine and write it to a file."""
    given = {
        "kernel": kernel, "C": C, "gamma": gamma, "degree": degree, "coef0": coef0,
        "epsilon": epsilon, "nu": nu, "max_time": max_time, "n_jobs": jobs,
        "class_weight": "balanced" if balanced else None,
    }  # fmt: skip
    settings = {name: number(value) for name, value in given.items() if value is not None}
    settings |= dict(_assignment(text) for text in setting or ())
    if easy:
        from .tuning import train_easily

        train_easily(data, output, target, settings, format, as_json)
        return
    table = read_data(data, target, ranges)
    task = task_of(table.y) if task == "auto" else task
    estimator = make_estimator(machine, task, settings)
    fit(estimator, table)
    save(estimator, text_target(output), format=format)
    record = certificate_of(estimator) | {"task": task, "model": output}
    answer(record, certificate_text(estimator), as_json, aside=output == STANDARD)
    if not estimator.status_.converged:
        raise typer.Exit(STOPPED_EARLY)


def number(value: Any) -> Any:
    """Return a text as the number or truth value that it is, if it is one."""
    if not isinstance(value, str):
        return value
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def _assignment(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"--set needs name=value, found {text!r}")
    return name, number(value)


def make_estimator(machine: str, task: str, settings: dict[str, Any]) -> Any:
    """Return the estimator that a user asked for.

    Parameters
    ----------
    machine : str
        Class, or auto.
    task : str
        Which decides if `machine` is auto.
    settings : dict
        Parameters.
    """
    if task not in DEFAULT_MACHINES:
        tasks = ", ".join(DEFAULT_MACHINES)
        raise typer.BadParameter(f"--task must be auto, {tasks}, found {task!r}")
    if machine == "auto":
        machine = DEFAULT_MACHINES[task]
        if "nu" in settings and task != "detection":
            machine = f"Nu{machine}"
    if machine not in estimators.__all__:
        machines = ", ".join(estimators.__all__)
        raise typer.BadParameter(f"--machine must be auto or one of {machines}, found {machine!r}")
    kind = getattr(estimators, machine)
    known = sorted(kind().get_params(deep=False))
    if unknown := sorted(settings.keys() - set(known)):
        raise typer.BadParameter(
            f"{machine} has no parameter {unknown[0]!r}; it has {', '.join(known)}"
        )
    return kind(**settings)


def fit(estimator: Any, table: Any, *, watched: bool = True) -> None:
    """Fit on a table, with a line of progress if somebody watches."""
    estimator.set_params(verbose=watched and sys.stderr.isatty())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* stopped")  # the certificate says it
        warnings.filterwarnings("ignore", category=FutureWarning)
        if table.y is None:
            estimator.fit(table.X)
        else:
            estimator.fit(table.X, table.y)
    estimator.set_params(verbose=False)
    if table.features is not None:
        estimator.feature_names_in_ = np.array(table.features, dtype=object)


def certificate_of(estimator: Any) -> dict[str, Any]:
    """Return what certifies a fit."""
    facts = {
        "machine": type(estimator).__name__,
        "status": estimator.status_.name,
        "primal_objective": estimator.primal_objective_,
        "dual_objective": estimator.dual_objective_,
        "relative_gap": estimator.duality_gap_,
        "violation": estimator.kkt_violation_,
        "seconds": max((record.time for record in estimator.history_), default=0.0),
    }
    if hasattr(estimator, "support_"):
        facts["support_vectors"] = int(estimator.support_.size)
    return facts


def certificate_text(estimator: Any) -> str:
    """Return a short certificate for people."""
    facts = certificate_of(estimator)
    lines = [
        f"{facts['machine']}: {estimator.status_.value}",
        f"objective between {facts['dual_objective']:.8g} and {facts['primal_objective']:.8g} "
        f"(relative gap {facts['relative_gap']:.2g}), largest violation {facts['violation']:.2g}",
    ]
    if "support_vectors" in facts:
        lines.append(f"{facts['support_vectors']} support vectors")
    return "\n".join(lines)
