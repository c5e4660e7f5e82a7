"""The data sets of the comparison: where they are, their settings, and a cache that loads fast.

Published sets come from a folder the user names; generated ones need no files. A set is parsed
once and kept as .npz, because every timed run is a fresh process that has to load it again.
"""

import hashlib
import io
import lzma
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_svmlight_file, make_classification

CACHE = Path(tempfile.gettempdir()) / "widemargin-benchmarks"
VERSION = 1  # of what is cached; a higher number makes old caches unused
ALMOST_DENSE = 0.9  # above this share of entries that are not zero, only the dense form is tried


@dataclass(frozen=True)
class Split:
    """Training rows and labels, and a test part that may be missing."""

    X: np.ndarray | sp.csr_matrix
    y: np.ndarray
    X_test: np.ndarray | sp.csr_matrix | None = None
    y_test: np.ndarray | None = None


@dataclass(frozen=True)
class DataSet:
    """A classification task with the C and gamma of its comparison."""

    name: str
    C: float
    gamma: float
    features: int
    files: tuple[str, ...] = ()  # training part, test part, below the data folder
    build: Callable[[list[Path], int], Split] | None = None


# --- reading -------------------------------------------------------------------------------------


def svmlight(files: list[Path], features: int) -> Split:
    parts: list = []
    for file in files:
        text = file.read_bytes()
        text = lzma.decompress(text) if file.suffix == ".xz" else text
        parts += load_svmlight_file(io.BytesIO(text), n_features=features)
    return Split(*parts)


def covtype(files: list[Path], features: int) -> Split:
    """Take 50,000 random rows to learn from and 20,000 others to test, columns from 0 to 1."""
    whole = svmlight(files, features)
    rows = np.random.default_rng(0).permutation(whole.y.size)
    X = whole.X.toarray()
    low, high = X.min(axis=0), X.max(axis=0)
    X = sp.csr_matrix((X - low) / np.where(high > low, high - low, 1.0))
    train, test = rows[:50_000], rows[50_000:70_000]
    return Split(X[train], whole.y[train], X[test], whole.y[test])


def mnist(files: list[Path], features: int) -> Split:
    with np.load(files[0]) as archive:
        rows = {part: archive[f"x_{part}"].reshape(-1, features) / 255 for part in TRAIN_TEST}
        labels = [archive[f"y_{part}"].astype(np.float64) for part in TRAIN_TEST]
    return Split(rows["train"], labels[0], rows["test"], labels[1])


TRAIN_TEST = ("train", "test")


# --- generated -----------------------------------------------------------------------------------


def digits(files: list[Path], features: int) -> Split:
    X, y = load_digits(return_X_y=True)
    return halves(X / 16, y)


def overlapping(files: list[Path], features: int) -> Split:
    """Two classes that overlap: most rows become support vectors."""
    X, y = make_classification(
        8_000, features, n_informative=features // 2, flip_y=0.1, class_sep=0.6, random_state=0
    )
    return halves((X - X.mean(axis=0)) / X.std(axis=0), y)


def indicators(files: list[Path], features: int) -> Split:
    """Sparse indicator columns with a rule and noise, as a census has them."""
    random = np.random.default_rng(0)
    X = (random.random((8_000, features)) < 0.11).astype(np.float64)
    score = X @ random.normal(size=features) + 0.7 * random.normal(size=len(X))
    return halves(X, score > np.quantile(score, 0.75))


def tiny(files: list[Path], features: int) -> Split:
    X, y = make_classification(
        300, features, n_informative=4, n_classes=3, flip_y=0.1, random_state=0
    )
    return halves(X, 2 * y + 1)


def halves(X: np.ndarray, y: np.ndarray) -> Split:
    """Learn from the first three quarters of the rows, test on the others."""
    cut = 3 * len(y) // 4
    y = y.astype(np.float64)
    return Split(X[:cut], y[:cut], X[cut:], y[cut:])


# --- the table -----------------------------------------------------------------------------------


def published(name: str, C: float, gamma: float, features: int, *files: str) -> DataSet:
    return DataSet(name, C, gamma, features, files, svmlight)


PUBLISHED = [
    published("satimage", 16, 1, 36, "satimage/satimage.scale.xz", "satimage/satimage.scale.t.xz"),
    published("usps", 10, 1 / 128, 256, "usps/usps.xz", "usps/usps.t.xz"),
    published("letter", 16, 4, 16, "letter/letter.scale.xz", "letter/letter.scale.t.xz"),
    published("ijcnn1", 32, 2, 22, "ijcnn1/ijcnn1.xz", "ijcnn1/ijcnn1.t.xz"),
    published("shuttle", 2048, 8, 9, "shuttle/shuttle.scale.xz", "shuttle/shuttle.scale.t.xz"),
    published("w8a", 10, 0.5, 300, "w8a/w8a.xz"),
    published("a9a", 100, 0.5, 123, "a9a/a9a.xz", "a9a/a9a.t.xz"),
    DataSet("covtype", 3, 1, 54, ("covtype-binary/covtype.libsvm.binary.xz",), covtype),
    DataSet("mnist", 10, 0.02, 784, ("mnist/mnist.npz",), mnist),
]
GENERATED = [
    DataSet("tiny", 2, 0.1, 8, build=tiny),
    DataSet("digits", 10, 0.05, 64, build=digits),
    DataSet("overlapping", 5, 0.05, 20, build=overlapping),
    DataSet("indicators", 100, 0.05, 120, build=indicators),
]
TABLE = {dataset.name: dataset for dataset in PUBLISHED + GENERATED}


# --- the cache -----------------------------------------------------------------------------------


def cached(name: str, folder: Path | None) -> Path:
    """Return the .npz of a set, parsing it first if it is not there yet."""
    dataset = TABLE[name]
    if dataset.files and folder is None:
        raise FileNotFoundError(f"{name} is read from files; name their folder with --data")
    files = [folder / file for file in dataset.files]
    stamp = repr([VERSION, name, *((str(f), f.stat().st_mtime, f.stat().st_size) for f in files)])
    target = CACHE / f"{name}-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}.npz"
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        save(dataset.build(files, dataset.features), target)
    return target


def save(split: Split, path: Path) -> None:
    arrays = {"y": split.y}
    parts = [("X", split.X)]
    if split.X_test is not None:
        parts.append(("X_test", split.X_test))
        arrays["y_test"] = split.y_test
    for name, rows in parts:
        rows = sp.csr_matrix(rows)
        arrays |= {
            f"{name}_data": rows.data,
            f"{name}_indices": rows.indices.astype(np.int32),
            f"{name}_indptr": rows.indptr.astype(np.int32),
            f"{name}_shape": np.array(rows.shape),
        }
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, **arrays)
    unfinished.replace(path)


def load(path: Path, form: str = "dense", rows: int | None = None) -> Split:
    """Return a cached set in float64, "dense" or "csr"; `rows` takes only that many to learn."""
    with np.load(path) as archive:
        arrays = dict(archive)

    def matrix(name: str) -> np.ndarray | sp.csr_matrix | None:
        if f"{name}_data" not in arrays:
            return None
        entries = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
        result = sp.csr_matrix(entries, shape=tuple(arrays[f"{name}_shape"]))
        result = result[:rows] if name == "X" and rows else result
        return result if form == "csr" else result.toarray()

    return Split(matrix("X"), arrays["y"][:rows], matrix("X_test"), arrays.get("y_test"))


def density(path: Path) -> float:
    """Return the share of entries of the training rows that are not zero."""
    with np.load(path) as archive:
        return archive["X_data"].size / float(np.prod(archive["X_shape"]))
