"""``widemargin doctor``: what is wrong with data before they are learnt, and what to do next."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

from ..io.svmlight import load_svmlight
from ..io.tables import Table, data_format, read_table
from .common import DataFile, Json, Target, answer, given, plain_labels, task_of

__all__ = ["HELP", "doctor", "findings"]

HELP = """Check data: gaps, scales, constants, duplicates, contradicting labels, imbalance.

\b
widemargin doctor data.csv
widemargin doctor data.svm --json

Exit code 4 says that something must be repaired before training (gaps, errors of form); other
findings are advice. The last line is the command to try next.
"""
MUST_REPAIR = 4
SCALES = 30.0  # columns whose spreads differ by more than this should be scaled
IMBALANCE = 10.0
SHOWN = 5
MANY_ROWS, MANY_COLUMNS = 50_000, 10_000  # from where on a linear machine is tried first


@dataclass(frozen=True)
class Finding:
    """One thing that the data suffer from.

    Attributes
    ----------
    kind : str
        A word for programs.
    sentence : str
        What was found, for people.
    serious : bool
        Whether training is impossible until it is repaired.
    """

    kind: str
    sentence: str
    serious: bool = False


def doctor(data: DataFile, target: Target = None, as_json: Json = False) -> None:
    """Check data, and suggest the next command."""
    try:
        table = read_table(given(data), target=target)
    except ValueError as error:
        table = _with_gaps(data, error)
    y = None if table.y is None else plain_labels(table.y)
    found = findings(Table(table.X, y, table.features))
    task = task_of(y)
    command = _next_command(data, found, task, table.X.shape)
    record = {
        "rows": table.X.shape[0],
        "columns": table.X.shape[1],
        "task": task,
        "findings": [vars(finding) for finding in found],
        "next": command,
    }
    lines = [f"{table.X.shape[0]} rows, {table.X.shape[1]} columns; suggests {task}"]
    lines += [f"{'REPAIR' if f.serious else 'advice'}: {f.sentence}" for f in found]
    lines += ["nothing to complain about"] * (not found) + [f"next: {command}"]
    answer(record, "\n".join(lines), as_json)
    if any(finding.serious for finding in found):
        raise typer.Exit(MUST_REPAIR)


def _with_gaps(data: str, error: ValueError) -> Table:
    """Read a text file that has nan or inf, which the reader refuses by itself."""
    if "finite" not in str(error) or not re.search(r"line \d+", str(error)) or data == "-":
        raise error
    with open(data, "rb") as file:
        if data_format(file.read(1 << 16), data) != "svmlight":
            raise error
    return Table(*load_svmlight(data, non_finite=True))


def findings(table: Table) -> list[Finding]:
    """Return what data suffer from, the serious first."""
    X, y = table.X, table.y
    sparse = not isinstance(X, np.ndarray)
    found = _gaps(X, y, table.features)
    if found:
        return found
    least = np.asarray(X.min(axis=0).todense()).ravel() if sparse else X.min(axis=0)
    largest = np.asarray(X.max(axis=0).todense()).ravel() if sparse else X.max(axis=0)
    found += _scales(least, largest, table.features)
    found += _repeats(X, y)
    if y is not None and task_of(y) == "classification":
        found += _imbalance(y)
    if X.shape[1] > X.shape[0] and not sparse:
        found.append(
            Finding(
                "wide",
                f"more columns ({X.shape[1]}) than rows ({X.shape[0]}): a linear machine is enough",
            )
        )
    return found


def _name(features: list[str] | None, column: int) -> str:
    return str(column + 1) if features is None else repr(features[column])


def _listed(columns: Any, features: list[str] | None) -> str:
    names = [_name(features, int(k)) for k in columns[:SHOWN]]
    return ", ".join(names) + (f" and {len(columns) - SHOWN} more" * (len(columns) > SHOWN))


def _gaps(X: Any, y: Any, features: list[str] | None) -> list[Finding]:
    found = []
    if isinstance(X, np.ndarray):
        bad = ~np.isfinite(X)
        rows, columns = np.flatnonzero(bad.any(axis=1)), np.flatnonzero(bad.any(axis=0))
    else:
        entries = np.flatnonzero(~np.isfinite(X.data))
        rows = np.unique(np.searchsorted(X.indptr, entries, side="right") - 1)
        columns = np.unique(X.indices[entries])
    if rows.size:
        found.append(
            Finding(
                "gaps",
                f"{rows.size} rows hold gaps, nan or inf, in columns "
                f"{_listed(columns, features)}: fill them (SimpleImputer of "
                "scikit-learn) or drop the rows",
                True,
            )
        )
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        found.append(
            Finding(
                "gaps in labels", f"{int((~np.isfinite(y)).sum())} rows have no finite label", True
            )
        )
    if y is not None and len(np.unique(y)) < 2:
        found.append(Finding("one label", "all rows have the same label: nothing to learn", True))
    return found


def _scales(least: Any, largest: Any, features: list[str] | None) -> list[Finding]:
    found = []
    spread = np.asarray(largest, dtype=np.float64) - least
    constant = np.flatnonzero(spread == 0)
    if constant.size:
        found.append(
            Finding(
                "constant", f"columns {_listed(constant, features)} have one value and say nothing"
            )
        )
    varying = np.flatnonzero(spread > 0)
    if varying.size > 1 and spread[varying].max() > SCALES * spread[varying].min():
        wide, narrow = varying[np.argmax(spread[varying])], varying[np.argmin(spread[varying])]
        found.append(
            Finding(
                "unscaled",
                f"column {_name(features, int(wide))} spans "
                f"{spread[wide]:.4g} and column {_name(features, int(narrow))} "
                f"{spread[narrow]:.4g}: a kernel would see little but the first",
            )
        )
    elif varying.size and spread.max() > SCALES:
        found.append(
            Finding(
                "unscaled",
                f"columns span up to {spread.max():.4g}; kernels and "
                "tolerances are made for numbers near one",
            )
        )
    return found


def _repeats(X: Any, y: Any) -> list[Finding]:
    """Find equal rows by a random projection, then compare those that agree in it."""
    weights = np.random.default_rng(0).standard_normal((X.shape[1], 2))
    _, first, numbers = np.unique(X @ weights, axis=0, return_index=True, return_inverse=True)
    numbers = np.ravel(numbers)
    twin = first[numbers]
    again = np.flatnonzero(twin != np.arange(twin.size))
    difference = abs(X[again] - X[twin[again]])
    same = again[np.asarray(difference.sum(axis=1)).ravel() == 0] if again.size else again
    found = []
    if same.size:
        found.append(
            Finding(
                "duplicates",
                f"{same.size} rows repeat earlier ones, such as row "
                f"{same[0] + 1} (= row {twin[same[0]] + 1}): keep them on one side "
                "of every split",
            )
        )
    if y is not None and same.size:
        odd = same[np.asarray(y[same] != y[twin[same]])]
        if odd.size:
            found.append(
                Finding(
                    "contradictions",
                    f"{odd.size} rows repeat earlier ones with "
                    f"another label, such as row {odd[0] + 1} ({y[odd[0]]}) and row "
                    f"{twin[odd[0]] + 1} ({y[twin[odd[0]]]}): no machine can learn "
                    "both",
                )
            )
    return found


def _imbalance(y: Any) -> list[Finding]:
    labels, counts = np.unique(y, return_counts=True)
    if counts.max() < IMBALANCE * counts.min():
        return []
    rare, common = labels[np.argmin(counts)], labels[np.argmax(counts)]
    return [
        Finding(
            "imbalance",
            f"class {rare} has {counts.min()} rows and class {common} "
            f"{counts.max()}: --balanced gives both the same weight, and accuracy alone "
            "says little",
        )
    ]


def _next_command(data: str, found: list[Finding], task: str, shape: tuple[int, int]) -> str:
    kinds = {finding.kind for finding in found}
    if any(finding.serious for finding in found):
        return f"widemargin doctor {data}   (after the repair)"
    balanced = " --balanced" if "imbalance" in kinds else ""
    if task == "detection":
        return f"widemargin train {data} -o model"
    if shape[0] > MANY_ROWS or shape[1] > MANY_COLUMNS:
        machine = "LinearSVC" if task == "classification" else "LinearSVR"
        return f"widemargin train {data} --machine {machine} -o model{balanced}"
    if "unscaled" in kinds:
        return f"widemargin train {data} --easy -o model{balanced}"
    if balanced:
        return f"widemargin train {data} -o model{balanced}"
    return f"widemargin tune {data} -o model"
