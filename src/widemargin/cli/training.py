"""``widemargin train``: from a data file to a model file with its certificate."""

from typing import Annotated

import typer

from .common import (
    STANDARD,
    DataFile,
    Format,
    Jobs,
    Json,
    RangesFile,
    Target,
    answer,
    read_data,
    task_of,
    the_task,
    write_model,
)
from .machines import (
    assignment,
    certificate_of,
    certificate_text,
    fit,
    make_estimator,
    number,
    stopped_early,
)
from .tuning import train_easily

__all__ = ["HELP", "train"]

HELP = """Train a machine and write it to a file.

\b
widemargin train iris.csv -o iris.model
widemargin train data.svm -o data.model --kernel rbf --C 10 --gamma 0.5
widemargin train prices.parquet --target price -o prices.model --epsilon 0.1
zcat data.svm.gz | widemargin train - -o data.model --json

Prints how far the machine can be from the optimum: nothing was learnt better if the gap is small.
Exit code 3 says that a limit stopped the fit early; the model is written nevertheless.
"""

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
    format: Format = None,
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
    settings |= dict(assignment(text) for text in setting or ())
    if easy:
        if ranges is not None:
            raise typer.BadParameter("--easy finds ranges of its own; leave --ranges out")
        train_easily(data, output, target, (task, machine, settings), format, as_json)
        return
    table = read_data(data, target, ranges)
    task = task_of(table.y) if task == "auto" else task
    estimator = make_estimator(machine, task, settings)
    fit(estimator, table)
    note = write_model(estimator, output, format, ranges)
    record = certificate_of(estimator) | {"task": the_task(estimator), "model": output}
    text = "\n".join(filter(None, (certificate_text(estimator), note)))
    answer(record, text, as_json, aside=output == STANDARD)
    if stopped_early(estimator):
        raise typer.Exit(STOPPED_EARLY)
