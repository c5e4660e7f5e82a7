"""How fast the kernel tile is: ``python -m benchmarks.tile [--threads 2] [--entries 0.11]``.

The peak is that of fused multiply-adds in registers, from a small program that is compiled here.
Rates are of Gaussian kernel values, products and map together, written to memory that exists
(rows), added to outputs at once (update), or summed over columns (sums).
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from widemargin import _core
from widemargin.kernels import RBF

from . import goals
from .report import table

FEATURES = (8, 16, 22, 32, 54, 123, 128, 256, 300, 784)
ROWS, COLUMNS = 512, 20_000
SECONDS = 0.3  # for each rate; the best of the repeats counts

PEAK = r"""
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#if defined(__AVX512F__)
constexpr int bytes = 64, chains = 24;
#elif defined(__AVX__)
constexpr int bytes = 32, chains = 12;
#else
constexpr int bytes = 16, chains = 12;
#endif
typedef float Vector __attribute__((vector_size(bytes)));
float result;
void chain(long rounds) {
    Vector sum[chains] = {}, a = {}, b = {};
    for (int c = 0; c < chains; ++c) sum[c] += float(c);  // or one chain would stand for all
    a += 0.5f;
    b += 0.25f;
    for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 24
        for (int c = 0; c < chains; ++c) sum[c] = sum[c] * a + b;
        asm volatile("" : "+v"(a), "+v"(b));
    }
    for (int c = 0; c < chains; ++c) result = result + sum[c][0];
}
int main(int, char** arguments) {
    const int threads = std::atoi(arguments[1]);
    const long rounds = 20'000'000;
    double best = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
        const auto began = std::chrono::steady_clock::now();
        std::vector<std::thread> helpers;
        for (int t = 1; t < threads; ++t) helpers.emplace_back(chain, rounds);
        chain(rounds);
        for (auto& helper : helpers) helper.join();
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
        const double done = 2.0 * threads * rounds * chains * (bytes / 4);
        if (done / spent.count() > best) best = done / spent.count();
    }
    std::printf("%g\n", best);
}
"""


def peak(threads: int) -> float:
    """Return the float32 operations a second of that many threads, two for each multiply-add."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "peak.cpp", Path(folder) / "peak"
        source.write_text(PEAK, encoding="utf-8")
        options = ["-std=c++20", "-O3", "-march=native", "-mprefer-vector-width=512", "-pthread"]
        subprocess.run(["c++", *options, str(source), "-o", str(program)], check=True)
        found = subprocess.run([program, str(threads)], check=True, capture_output=True, text=True)
    return float(found.stdout)


def rate(work: Callable[[], object], values: int) -> float:
    """Return the values a second at the best of some repeats."""
    work()
    best, began = float("inf"), time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return values / best


def rates(X: np.ndarray, dtype: type, sparse: bool, threads: int) -> list[float]:
    """Return the rates of rows, update and sums for the columns X and its first rows."""
    spec = RBF(gamma=1.0).native()
    numbers = (int(spec.kind), spec.gamma, spec.coef0, spec.degree)
    make = _core.Panels32 if dtype is np.float32 else _core.Panels64
    rows, ids = _core.dense_rows(X), np.arange(ROWS)
    panels = make(rows, np.arange(COLUMNS), *numbers, None, sparse, True, threads)
    rows = panels.as_rows() if sparse else rows
    arena = np.zeros((ROWS, _core.padded(COLUMNS)), dtype)
    moves, outputs = np.ones(ROWS), np.zeros(COLUMNS)
    weights, starts, sums = np.ones((1, COLUMNS)), np.array([0, COLUMNS]), np.empty((ROWS, 1))
    work: list[Callable[[], object]] = [
        lambda: panels.rows_into(rows, ids, arena, ids, threads),
        lambda: panels.update(rows, ids, moves, outputs, threads),
        lambda: panels.sums_into(rows, ids, weights, starts, sums, threads),
    ]
    return [rate(each, ROWS * COLUMNS) for each in work]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tile", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--entries", type=float, default=1.0, help="share of entries not zero")
    given = parser.parse_args(arguments)
    top = peak(given.threads)
    lines = [["features", "precision", "panels", "rows", "update", "sums", "share of peak"]]
    random = np.random.default_rng(0)
    shares, values = [], []
    for features in FEATURES:
        X = random.normal(size=(COLUMNS, features)) / np.sqrt(features)
        X *= random.random(X.shape) < given.entries
        for dtype in (np.float32, np.float64):
            for sparse in (False, True) if given.entries < 1 else (False,):
                found = rates(X, dtype, sparse, given.threads)
                precision, panels = np.dtype(dtype).name, "sparse" if sparse else "dense"
                share = 2 * features * found[1] / (top if dtype is np.float32 else top / 2)
                if dtype is np.float32 and not sparse:
                    shares += [share] * (features >= 128)
                    values += [found[1] / 1e9] * (features <= 32)
                text = [f"{value / 1e9:.2f}" for value in found]
                dense = "" if sparse else f"{share:.2f}"
                lines.append([str(features), precision, panels, *text, dense])
    sys.stdout.write(
        f"{given.threads} threads, peak {top / 1e9:.0f} GFLOP/s in float32; 1e9 values a second; "
        "the share of the peak is that of the products of an update\n\n" + table(lines) + "\n"
    )
    if given.entries == 1.0:
        measured = {
            "least share of the peak, 128 features and more": min(shares),
            "least 1e9 values a second, 8 to 32 features": min(values),
        }
        sys.stdout.write("\n" + goals.single("tile", measured))


if __name__ == "__main__":
    main()
