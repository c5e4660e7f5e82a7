"""The table of Freund and Schapire (1999): perceptrons with polynomial kernels on MNIST.

Ten machines, each digit against the rest, with the kernel (1 + x.z)^d, d = 1..6, see the training
rows in one random order for some epochs. Four ways to decide are compared on the test rows:

    last      the weights after the last row
    random    those after a row drawn at random, another one for each test row
    averaged  the mean of the weights after each row
    voted     each of these weights has a vote

The dot products are computed once for all machines and degrees: a block of rows meets the rows that
any machine has mistaken so far, and the powers follow by multiplication. The epochs themselves, the
averages and the votes are those of the library.

python -m benchmarks.freund_schapire FOLDER [--rows 60000] [--epochs 0.1 1 10] [--divide 255]
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from widemargin.backends.cpu.online import KernelLearner, Rule, RuleKind, vote

CLASSES = 10
BLOCK = 512  # rows that are judged together
COLUMNS = 4096  # kernel values of a block that are made at once, so that they stay in cache
WAYS = ("last", "random", "averaged", "voted")


class _Count:
    """The number of rows, which is all a learner with given kernel values asks of its data."""

    def __init__(self, rows):
        self.rows = rows


class Machine(KernelLearner):
    """One digit against the rest, judged by kernel values that somebody else has computed."""

    def __init__(self, labels, degree):
        self.degree = degree
        self._given = None, None  # so that no kernel matrix is made and kept
        rule = Rule(RuleKind.PERCEPTRON, 1.0, constant=0.0, averaged=True)
        order = np.arange(labels.size)
        super().__init__(_Count(labels.size), labels, 1, rule, order=order, keep_moves=True)

    def visit(self, part, base, gram):
        """Go through a block of rows, given the scores so far and the block's kernel matrix."""
        self._given = base, gram
        self._visit(part)

    def _block(self, ids):
        return self._given[1]

    def _scores(self, ids):
        return self._given[0]


@dataclass(frozen=True)
class Bench:
    """Rows in the order of training, test rows, and the machines by degree."""

    X: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    machines: dict[int, list[Machine]]

    def support(self, degrees):
        """Return the rows that a machine of these degrees has mistaken."""
        used = [m.coefficients[:, 0] != 0 for d in degrees for m in self.machines[d]]
        return np.flatnonzero(np.any(used, axis=0))

    def learn(self, part):
        """Take all machines through a block of rows."""
        scores = {d: np.zeros((part.size, CLASSES)) for d in self.machines}
        rows = self.X[part]
        supports = {d: self.support([d]) for d in self.machines}
        weights = {d: self.weights(d) for d in self.machines}
        union = np.unique(np.concatenate(list(supports.values())))
        for columns in np.split(union, range(COLUMNS, union.size, COLUMNS)):
            kernel = rows @ self.X[columns].T + np.float32(1)
            for d, power in powers(kernel, self.machines):
                mine = np.isin(columns, supports[d], assume_unique=True)
                chosen = weights[d][columns[mine]].astype(np.float32)
                scores[d] += power[:, mine] @ chosen if not mine.all() else power @ chosen
        gram = rows.astype(np.float64) @ rows.T.astype(np.float64) + 1.0
        for d, power in powers(gram, self.machines):
            for k, machine in enumerate(self.machines[d]):
                machine.visit(part, np.ascontiguousarray(scores[d][:, k : k + 1]), power.copy())

    def weights(self, degree):
        return np.hstack([machine.coefficients for machine in self.machines[degree]])

    def errors(self, threads, seed=0):
        """Return the test error of each degree and way, in percent."""
        wrong = {(d, way): 0 for d in self.machines for way in WAYS}
        moves = {d: [moves_of(m) for m in self.machines[d]] for d in self.machines}
        averages = {d: np.hstack([m.average for m in self.machines[d]]) for d in self.machines}
        union = self.support(self.machines)
        seen = self.machines[min(self.machines)][0].seen
        times = np.random.default_rng(seed).integers(1, seen + 1, self.y_test.size)
        for first in range(0, self.y_test.size, BLOCK):
            part = slice(first, first + BLOCK)
            kernel = self.X_test[part] @ self.X[union].T + np.float32(1)
            for d, power in powers(kernel, self.machines):
                values = power.astype(np.float64)
                scores = {
                    "last": values @ self.weights(d)[union],
                    "averaged": values @ averages[d][union],
                    "random": at_times(values, moves[d], union, times[part]),
                    "voted": votes(values, moves[d], union, seen, threads),
                }
                for way, score in scores.items():
                    chosen = np.argmax(score, axis=1)
                    wrong[d, way] += int((chosen != self.y_test[part]).sum())
        return {key: 100 * count / self.y_test.size for key, count in wrong.items()}

    def mistakes(self, degree):
        return sum(machine.mistakes for machine in self.machines[degree])


def powers(base, degrees):
    """Yield each degree with the power of the base, which is multiplied on in place."""
    power, reached = base.copy(), 1
    for degree in sorted(degrees):
        while reached < degree:
            power *= base
            reached += 1
        yield degree, power


def moves_of(machine):
    """Return row, signed amount and time of each move."""
    row, _, amount, moment = machine.moves.joined()
    return row, np.where(machine.labels[row] == 1, amount, -amount), moment


def at_times(kernel, moves, union, times):
    """Return the score of each row and machine after as many rows as `times` says."""
    scores = np.empty((kernel.shape[0], CLASSES))
    for k, (row, amount, moment) in enumerate(moves):
        made = moment < times[:, None]  # rows x moves
        columns = np.searchsorted(union, row)
        scores[:, k] = np.einsum("im,m,im->i", kernel[:, columns], amount, made)
    return scores


def votes(kernel, moves, union, seen, threads):
    """Return, for each row and machine, the votes for the digit minus those for the rest."""
    lead = np.empty((kernel.shape[0], CLASSES))
    for k, (row, amount, moment) in enumerate(moves):
        winner = (amount > 0).astype(np.int64)
        survival = np.diff(np.append(moment, seen)).astype(np.float64)
        columns = np.searchsorted(union, row)
        told = columns, winner, 1 - winner, np.abs(amount), survival
        counted = vote(lambda part: kernel[part], kernel.shape[0], told, 1, threads)
        lead[:, k] = counted[:, 1] - counted[:, 0]
    return lead


def load(folder, rows, divide, seed):
    """Return training rows and labels in a random order, and the test rows."""
    with np.load(Path(folder) / "mnist.npz") as archive:
        parts = {name: archive[name] for name in archive.files}
    chosen = np.random.default_rng(seed).permutation(len(parts["y_train"]))[:rows]
    X, X_test = (
        np.ascontiguousarray(part.reshape(len(part), -1).astype(np.float32) / np.float32(divide))
        for part in (parts["x_train"][chosen], parts["x_test"])
    )
    return X, parts["y_train"][chosen].astype(np.int64), X_test, parts["y_test"].astype(np.int64)


def run(bench, epochs, threads, show):
    """Train to each number of epochs and show the errors then."""
    rows, done = len(bench.X), 0
    blocks = [np.arange(i, min(i + BLOCK, rows)) for i in range(0, rows, BLOCK)]
    for goal in sorted(epochs):
        began = time.perf_counter()
        for number in range(done, max(1, round(goal * len(blocks)))):
            bench.learn(blocks[number % len(blocks)])
            done = number + 1
        trained = time.perf_counter()
        show(goal, bench.errors(threads), trained - began, time.perf_counter() - trained)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", help="holds mnist.npz: x_train, y_train, x_test, y_test")
    parser.add_argument("--rows", type=int, default=60_000, help="training rows")
    parser.add_argument("--epochs", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--degrees", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--divide", type=float, default=255.0, help="what pixels are divided by")
    parser.add_argument("--threads", type=int, default=2, help="of the votes")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the rows")
    options = parser.parse_args()
    X, y, X_test, y_test = load(options.folder, options.rows, options.divide, options.seed)
    machines = {
        d: [Machine((y == k).astype(np.int64), d) for k in range(CLASSES)] for d in options.degrees
    }
    bench = Bench(X, X_test, y_test, machines)

    def show(epochs, errors, training, testing):
        print(f"\nT = {epochs:g}: trained in {training:.0f} s, tested in {testing:.0f} s\n")
        print("| degree | " + " | ".join(WAYS) + " | mistakes | support vectors |")
        print("|---" * (len(WAYS) + 3) + "|")
        for d in machines:
            cells = " | ".join(f"{errors[d, way]:.2f}" for way in WAYS)
            print(
                f"| {d} | {cells} | {bench.mistakes(d)} | {bench.support([d]).size} |", flush=True
            )

    print(f"{len(X)} training rows, {len(X_test)} test rows, pixels / {options.divide:g}; errors %")
    run(bench, options.epochs, options.threads, show)


if __name__ == "__main__":
    main()
