"""Reading text of LIBSVM: megabytes a second on one core, and how many times scikit-learn's speed.

Each file is read by scikit-learn, by us on one thread and by us on all, one after the other and
several times; the fastest of each counts, since other work can only slow a reader down. Before a
time counts, the outcomes are compared: they must be equal in every number. Compressed files are
unpacked first, so only text is read, from the cache of the system.

With --memory nothing is timed: each file is read in blocks of rows by a fresh process, and its
largest memory is told beside the size of the text.

python -m benchmarks.reading FILE... [--repeats 5] [--memory]
"""

import argparse
import bz2
import gzip
import lzma
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from widemargin import iter_svmlight, load_svmlight

from .quiet import wait_until_quiet

UNPACK = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
MEGA = 1e6


def unpacked(path, folder):
    """Return a file of plain text."""
    opener = UNPACK.get(path.suffix)
    if opener is None:
        return path
    plain = Path(folder) / path.stem
    with opener(path, "rb") as file:
        plain.write_bytes(file.read())
    return plain


def expect_equal(ours, theirs):
    """Compare rows and labels, number by number."""
    (X, y), (A, b) = ours, theirs
    assert X.shape == A.shape
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, name), getattr(A, name))
    np.testing.assert_array_equal(y, b)


def readers(path):
    text = str(path)
    return {
        "scikit-learn": lambda: load_svmlight_file(text),
        "one thread": lambda: load_svmlight(text, n_jobs=1),
        "all threads": lambda: load_svmlight(text),
    }


def fastest(path, repeats):
    """Return the least seconds of each reader; runs are interleaved."""
    chosen = readers(path)
    expect_equal(chosen["one thread"](), chosen["scikit-learn"]())
    expect_equal(chosen["all threads"](), chosen["one thread"]())
    best = dict.fromkeys(chosen, float("inf"))
    for _ in range(repeats):
        for name, read in chosen.items():
            start = time.perf_counter()
            read()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def row_of(path, repeats):
    """Return one line of the table, and the two ratios."""
    size = path.stat().st_size / MEGA
    best = fastest(path, repeats)
    theirs, one, every = best.values()
    cells = [
        path.name, f"{size:.1f}", f"{theirs:.3f}", f"{one:.4f}", f"{every:.4f}",
        f"{size / one:.0f}", f"{size / every:.0f}", f"{theirs / one:.1f}", f"{theirs / every:.1f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |", theirs / one, size / one


def show_speed(files, repeats):
    print("| file | MB | scikit-learn s | one thread s | all threads s "
          "| MB/s, one | MB/s, all | ratio, one | ratio, all |\n" + "|---" * 9 + "|")  # fmt: skip
    ratios, rates = [], []
    for path in files:
        line, ratio, rate = row_of(path, repeats)
        ratios.append(ratio)
        rates.append(rate)
        print(line, flush=True)
    mean = np.exp(np.mean(np.log(ratios)))
    print(f"\none thread: {mean:.1f} times scikit-learn (geometric mean), least {min(ratios):.1f}; "
          f"least {min(rates):.0f} MB/s")  # fmt: skip


def largest_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGA


def read_in_blocks(path):
    """Read a file block by block, and print rows and the growth of the largest memory."""
    before = largest_memory()
    rows = sum(X.shape[0] for X, _ in iter_svmlight(str(path), 10_000, n_jobs=1))
    print(f"| {Path(path).name} | {Path(path).stat().st_size / MEGA:.1f} | {rows} "
          f"| {largest_memory() - before:.1f} |")  # fmt: skip


def show_memory(files):
    print("| file | MB of text | rows | MB of memory beyond the start |\n" + "|---" * 4 + "|")
    for path in files:
        command = [sys.executable, "-m", "benchmarks.reading", "--one-in-blocks", str(path)]
        subprocess.run(command, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="of reading in blocks, not speed")
    parser.add_argument("--one-in-blocks", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_in_blocks:
        read_in_blocks(options.files[0])
        return
    with tempfile.TemporaryDirectory() as folder:
        files = [unpacked(path, folder) for path in options.files]
        if options.memory:
            show_memory(files)
        else:
            print(f"{wait_until_quiet(10):.2f} other cores busy\n")
            show_speed(files, options.repeats)


if __name__ == "__main__":
    main()
