"""``widemargin doctor``: what is wrong with data before they are learnt, and what to do next."""

import io
import re
import shlex
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

from ..io.sources import open_source, source_name
from ..io.svmlight import load_svmlight
from ..io.tables import Table, read_table
from .common import STANDARD, DataFile, Json, Named, Target, answer, plain_labels, task_of

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
MOST_ERRORS = 10  # lines whose form is wrong
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
    given = data if target is None else f"{data} --target {shlex.quote(target)}"
    piped = sys.stdin.buffer.read() if data == STANDARD else None

    def source() -> Any:
        return data if piped is None else Named(io.BytesIO(piped), "standard input")

    try:
        table = read_table(source(), target=target, non_finite=True)
    except ValueError as error:
        broken = [Finding("form", sentence, True) for sentence in _errors(source(), str(error))]
        _tell(given, None, "", broken, as_json)
        return
    y = None if table.y is None else plain_labels(table.y)
    found = findings(Table(table.X, y, table.features))
    _tell(given, table.X.shape, task_of(y), found, as_json)


def _tell(
    data: str, shape: tuple[int, int] | None, task: str, found: list[Finding], as_json: bool
) -> None:
    """Print the findings, and end with the exit code that they call for."""
    rows, columns = shape or (None, None)
    command = _next_command(data, found, task, shape or (0, 0))
    record = {
        "rows": rows,
        "columns": columns,
        "task": task or None,
        "findings": [vars(finding) for finding in found],
        "next": command,
    }
    lines = [f"{rows} rows, {columns} columns; suggests {task}"] if shape else []
    lines += [f"{'REPAIR' if f.serious else 'advice'}: {f.sentence}" for f in found]
    lines += ["nothing to complain about"] * (not found) + [f"next: {command}"]
    answer(record, "\n".join(lines), as_json)
    if any(finding.serious for finding in found):
        raise typer.Exit(MUST_REPAIR)


def _errors(source: Any, first: str) -> list[str]:
    """Return what is wrong with the form of data: of LIBSVM text the first few lines."""
    name = source_name(source)
    if not first.startswith(f"{name}, line "):
        return [first]
    with open_source(source) as stream:
        text = b"".join(iter(lambda: stream.read(1 << 20), b""))
    sentences: list[str] = []
    line = 0
    while text and len(sentences) < MOST_ERRORS:
        try:
            load_svmlight(Named(io.BytesIO(text), name), non_finite=True, zero_based=True)
            break
        except ValueError as error:
            place = re.match(r", line (\d+), (.*)", str(error)[len(name) :])
            assert place is not None
            line += int(place[1])
            sentences.append(f"line {line}, {place[2]}")
            text = b"".join(text.split(b"\n", int(place[1]))[int(place[1]) :])
    if len(sentences) == MOST_ERRORS:
        sentences.append(f"more than these {MOST_ERRORS} lines may be wrong")
    return sentences


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


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _listed(columns: Any, features: list[str] | None) -> str:
    names = [_name(features, int(k)) for k in columns[:SHOWN]]
    word = "column" if len(columns) == 1 else "columns"
    return f"{word} {', '.join(names)}" + (
        f" and {len(columns) - SHOWN} more" * (len(columns) > SHOWN)
    )


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
                f"{_counted(rows.size, 'row holds', 'rows hold')} gaps, nan or inf, in "
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
    if X.shape[0] == 0:
        return [Finding("empty", "there are no rows", True)]
    if y is not None and len(np.unique(y)) < 2:
        found.append(Finding("one label", "all rows have the same label: nothing to learn", True))
    return found


def _scales(least: Any, largest: Any, features: list[str] | None) -> list[Finding]:
    found = []
    spread = np.asarray(largest, dtype=np.float64) - least
    constant = np.flatnonzero(spread == 0)
    if constant.size:
        found.append(
            Finding("constant", f"{_listed(constant, features)}: one value, which says nothing")
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
                f"{_counted(same.size, 'row repeats', 'rows repeat')} earlier ones, such as row "
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
                    f"{_counted(odd.size, 'row repeats', 'rows repeat')} earlier ones with "
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
