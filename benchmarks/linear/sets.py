"""The sets of the comparison of linear machines, with two classes each and all rows to learn from.

Rows of text are weighted by inverse document frequency where they hold counts, and have unit
length; covtype's columns run from 0 to 1.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from .. import datasets
from ..datasets import DataSet, Split, svmlight

DENSE = 0.3  # from this share of entries that are not zero, the dense form is tried too
NARROW = 1000  # features up to which it is tried whatever the density


def first_part(files: list[Path], features: int) -> Split:
    split = svmlight(files, features)
    return signed(split.X, split.y == split.y.max())


def signed(X: sp.csr_matrix, positive: np.ndarray) -> Split:
    return Split(sp.csr_matrix(X), np.where(positive, 1.0, -1.0))


def unit_range(files: list[Path], features: int) -> Split:
    split = svmlight(files, features)
    top = np.maximum(abs(split.X).max(axis=0).toarray().ravel(), 1e-300)
    return signed(split.X @ sp.diags(1.0 / top), split.y == 1)


def raw(files: list[Path], features: int) -> Split:
    split = svmlight(files, features)
    return signed(split.X, split.y == 1)


def unit_length(X: sp.csr_matrix) -> sp.csr_matrix:
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.diags(1.0 / np.maximum(norms, 1e-300)) @ X


def counts(files: list[Path], features: int) -> Split:
    split = svmlight(files, features)
    seen = np.bincount(split.X.indices, minlength=features)
    rarity = np.log((1.0 + split.X.shape[0]) / (1.0 + seen)) + 1.0
    return signed(unit_length(split.X @ sp.diags(rarity)), split.y > 0)


def lengths(files: list[Path], features: int) -> Split:
    split = svmlight(files, features)
    return signed(unit_length(split.X), split.y > 0)


def groups(files: list[Path], features: int) -> Split:
    """The twenty groups halved, as the set news20.binary halves them."""
    split = svmlight(files, features)
    return signed(unit_length(split.X), split.y <= 10)


def even(files: list[Path], features: int) -> Split:
    split = datasets.mnist(files, features)
    return signed(split.X, split.y % 2 == 0)


def generated(files: list[Path], features: int) -> Split:
    split = datasets.indicators(files, features)
    return signed(split.X, split.y > 0)


def entry(name: str, features: int, file: str, build: Callable[[list[Path], int], Split]) -> None:
    # Names of other comparisons stay free, for sets are prepared differently here.
    key = f"linear-{name}"
    datasets.TABLE[key] = DataSet(key, 1.0, 0.0, features, (file,) if file else (), build)
    SETS[name] = key


SETS: dict[str, str] = {}
entry("a9a", 123, "a9a/a9a.xz", first_part)
entry("w8a", 300, "w8a/w8a.xz", first_part)
entry("ijcnn1", 22, "ijcnn1/ijcnn1.xz", first_part)
entry("covtype", 54, "covtype-binary/covtype.libsvm.binary.xz", unit_range)
entry("news20", 62061, "news20/news20.xz", groups)
entry("imdb", 74893, "imdb/imdb.xz", counts)
entry("imdb-bigram", 1460237, "imdb-bigram/imdb2.xz", counts)
entry("reuters-acq", 15535, "reuters-acq/acq.xz", lengths)
entry("mnist", 784, "mnist/mnist.npz", even)
PUBLISHED = list(SETS)
entry("covtype-raw", 54, "covtype-binary/covtype.libsvm.binary.xz", raw)
entry("indicators", 120, "", generated)


def cached(name: str, folder: Path | None) -> Path:
    """Return the .npz of a set, parsing it first if it is not there yet."""
    return datasets.cached(SETS[name], folder)


def forms(path: Path, known: tuple[str, ...]) -> list[str]:
    """Return the storages to try, of those a library knows."""
    with np.load(path) as archive:
        narrow = int(archive["X_shape"][1]) <= NARROW
    dense = narrow or datasets.density(path) > DENSE
    return [form for form in known if form == "csr" or dense] or ["csr"]
