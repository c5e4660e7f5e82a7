"""What the drop-in commands share: options as the original programs take them, labels in order.

LIBSVM and LIBLINEAR number classes by first appearance in the training file, except that 1 comes
before -1. The first class of a pair is the positive one. Machines here are trained on
these numbers and then given the labels, so that files and ties agree with theirs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..io.atomic import open_target
from ..io.svmlight import load_svmlight
from ..reductions.calibration import fold_numbers

__all__ = [
    "Given",
    "cross_validated",
    "default_model",
    "numbered",
    "parse",
    "read_text",
    "write_lines",
]

SEED = 1


@dataclass(frozen=True)
class Given:
    """A command line taken apart.

    Attributes
    ----------
    values : dict of str to number
        Options with a value.
    flags : set of str
        Options without.
    weights : dict of float to float
        Of LIBSVM's -wi.
    files : list of str
        What is no option.
    """

    values: dict[str, Any]
    flags: set[str] = field(default_factory=set)
    weights: dict[float, float] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


def parse(
    program: str,
    arguments: Sequence[str],
    known: Mapping[str, tuple[Callable[[str], Any], Any]],
    *,
    flags: str = "",
    weighted: bool = False,
    hints: Mapping[str, str] | None = None,
) -> Given:
    """Take a command line apart as the original programs do.

    Parameters
    ----------
    program : str
        Name for messages.
    arguments : sequence of str
        The command line.
    known : mapping
        Letter of each option, its type and its default.
    flags : str
        Letters of options without value.
    weighted : bool
        Whether -wLABEL WEIGHT is an option.
    hints : mapping
        What to do instead of an option that is refused.
    """
    found = Given({letter: default for letter, (_, default) in known.items()})
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-" or found.files:
            found.files.append(word)
            continue
        letter = word[1:]
        if letter in flags and letter:
            found.flags.add(letter)
            continue
        label = _number(letter[1:]) if weighted and letter.startswith("w") else None
        if label is None and letter not in known:
            hint = (hints or {}).get(letter, "")
            options = " ".join(f"-{known_letter}" for known_letter in (*known, *flags))
            raise typer.BadParameter(
                f"{program} has no option {word}{': ' + hint if hint else ''}; it has {options}"
                + (" -wLABEL" if weighted else "")
            )
        if not rest:
            raise typer.BadParameter(f"{program}: option {word} needs a value")
        value = rest.pop(0)
        kind = float if label is not None else known[letter][0]
        try:
            number = kind(value)
        except ValueError:
            raise typer.BadParameter(
                f"{program}: option {word} needs a number, found {value!r}"
            ) from None
        if label is not None:
            found.weights[label] = number
        else:
            found.values[letter] = number
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def default_model(data: str) -> str:
    """Return where a model goes if the command line does not say: the data's name and .model."""
    return f"{PurePath(data).name}.model"


def read_text(path: str, *, width: int | None = None, zero_based: bool = False) -> tuple[Any, Any]:
    """Read a data file as the programs do, with at least `width` columns."""
    X, y = load_svmlight(path, zero_based=zero_based)
    if width is not None and X.shape[1] < width:
        X.resize(X.shape[0], width)
    return X, y


def numbered(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return labels in the order of the programs, and the class number of each row.

    Of two classes the first is number 1 here, since positive decisions mean ``classes_[1]``.
    """
    if not np.array_equal(y, np.round(y)):
        raise ValueError("labels of classes must be whole numbers; regression is -s 3 or above")
    values, first, numbers = np.unique(y, return_index=True, return_inverse=True)
    order = np.argsort(first)
    labels = values[order].astype(np.int64)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    numbers = rank[np.ravel(numbers)]
    if len(labels) == 2 and labels.tolist() != [-1, 1]:
        labels, numbers = labels[::-1], 1 - numbers
    return labels, numbers


def cross_validated(
    make: Callable[[], Any], X: Any, y: NDArray[Any], folds: int, *, classes: bool, gram: bool
) -> NDArray[Any]:
    """Return a prediction for each row by a machine that had not seen it.

    Parameters
    ----------
    make : callable
        Returns an estimator that is not fitted.
    X, y
        The data.
    folds : int
        Parts, each left out once; classes are spread over them evenly.
    classes : bool
        Whether y are class numbers.
    gram : bool
        Whether X is a kernel matrix.
    """
    if folds < 2:
        raise typer.BadParameter("n-fold cross validation: n must >= 2")
    order = np.random.default_rng(SEED).permutation(len(y))
    strata = np.asarray(y, dtype=np.int64) if classes else np.zeros(len(y), dtype=np.int64)
    parts = np.empty(len(y), dtype=np.int64)
    parts[order] = fold_numbers(strata[order], min(folds, len(y)))
    guesses = np.empty(len(y))
    for k in range(int(parts.max()) + 1):
        inside, outside = np.flatnonzero(parts != k), np.flatnonzero(parts == k)
        columns = inside if gram else slice(None)
        machine = make().fit(X[inside][:, columns], y[inside])
        guesses[outside] = machine.predict(X[outside][:, columns])
    return guesses


def write_lines(path: str, values: Any, digits: int = 17) -> None:
    """Write one number, or one row of numbers, a line."""
    rows = np.asarray(values)
    rows = rows[:, None] if rows.ndim == 1 else rows
    lines = [" ".join(format(v, f".{digits}g") for v in row) for row in rows.tolist()]
    with open_target(path) as file:
        file.write(("".join(line + "\n" for line in lines)).encode("ascii"))
