"""Fuzzing what reads files: the text reader in C++ under sanitizers, and the readers of models.

    python -m tests.fuzz --seconds 600        (make fuzz SECONDS=600)

Half of the time goes to the text reader, compiled with the sanitizers of addresses and undefined
behaviour and guided by coverage; half to models of each format and to files of ranges: changed
pieces of good ones must load, or be refused with ValueError in one line, within the memory and the
time of a small file. With WIDEMARGIN_SANITIZED=1 in the environment the extension itself is taken
to be built with sanitizers, which need more memory than the limit allows.
"""

import argparse
import io
import json
import os
import random
import resource
import subprocess
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import widemargin as wm
from widemargin.io.ranges import Ranges

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "data"
SOURCES = (
    "cpp/tests/fuzz_svmlight.cpp", "cpp/data/svmlight.cpp", "cpp/data/svmlight_writer.cpp",
    "cpp/solve/text_pieces.cpp", "cpp/math/parallel.cpp",
)  # fmt: skip
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COVERAGE = "-fsanitize-coverage=trace-pc"
LONGEST = 5.0  # seconds of processor time that one small file may take
MEMORY = 4 << 30
MOST_FEATURES = 1 << 24

# --- the text reader -----------------------------------------------------------------------------


def compiled(folder: Path, compiler: str = "c++") -> Path:
    """Compile the target with sanitizers; return the program."""
    command = [compiler, "-std=c++20", "-O1", "-g", *SANITIZERS, "-pthread", f"-I{ROOT / 'cpp'}"]
    main, program = folder / "main.o", folder / "fuzz_svmlight"
    subprocess.run(
        [*command, "-c", ROOT / "cpp/tests/fuzz_main.cpp", "-o", main], check=True
    )  # without coverage of itself
    sources = [ROOT / source for source in SOURCES]
    subprocess.run([*command, COVERAGE, main, *sources, "-o", program], check=True)
    return program


def fuzz_text(program: Path, seconds: float, seed: int) -> str:
    """Run the target; return what it says of its inputs."""
    files = sorted((CORPUS / "svmlight").iterdir())
    done = subprocess.run(
        [program, str(seconds), str(seed), *files], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout.strip()


# --- the readers of models -----------------------------------------------------------------------


WORDS = (
    b"0", b"-1", b"1e308", b"nan", b"inf", b"-inf", b"2147483647", b"2147483648", b"4294967296",
    b"9223372036854775807", b"99999999999999999999", b"0x1p5", b"1e-400", b":", b" ", b"\n",
    b"\r\n",
    b"#", b"SV", b"w", b"SV\n", b"rho ", b"gamma ", b"label ", b"nr_class ", b"total_sv ", b"{",
    b"}", b'"', b"[", b"null", b"1:1 ", b"\x00", b"\xff",
)  # fmt: skip


def changed(corpus: list[bytes], chance: random.Random) -> bytes:
    """Return a changed copy of one of the files."""
    data = bytearray(chance.choice(corpus))
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1)
        action = chance.randrange(7)
        if action == 0:
            data[at:at] = chance.choice(WORDS)
        elif action == 1:
            data[at : at + chance.randrange(1, 8)] = chance.choice(WORDS)
        elif action == 2:
            del data[at : at + chance.randrange(1, 40)]
        elif action == 3 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif action == 4:
            other = chance.choice(corpus)
            start = chance.randrange(len(other) + 1)
            data[at:at] = other[start : start + chance.randrange(80)]
        elif action == 5:
            data = data[:at]
        else:
            lines = bytes(data).split(b"\n")
            chance.shuffle(lines) if chance.random() < 0.1 else lines.pop(at % len(lines))
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def header_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header of a file of our own format, and what is behind it."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def with_header(header: dict[str, Any], body: bytes) -> bytes:
    """Return a file with this header, its checksum made right."""
    table = {key: value for key, value in header.items() if key != "__metadata__"}
    texts = {k: v for k, v in header["__metadata__"].items() if k != "checksum"}
    total = zlib.crc32(body, zlib.crc32(json.dumps([texts, table], sort_keys=True).encode()))
    header["__metadata__"]["checksum"] = f"crc32 {total:08x}"
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return len(text).to_bytes(8, "little") + text + body


def forge(header: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Change a number, a name or an entry somewhere in a header."""
    model = json.loads(header["__metadata__"]["model"])
    tree = chance.choice([model, model, header])
    for _ in range(chance.randrange(1, 4)):
        node = tree
        while isinstance(node, dict | list) and node:
            key: Any = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
            if not isinstance(node[key], dict | list) or not node[key] or chance.random() < 0.1:
                others = [0, 1, -1, 2**31, 2**62, 3.5, "F64", "U8", "RBF", "array", None, [], {}]
                if isinstance(node[key], int):
                    others += [node[key] + 1, node[key] - 8]
                node[key] = chance.choice(others)
                break
            node = node[key]
    if isinstance(header.get("__metadata__"), dict):
        header["__metadata__"] = {
            k: v if isinstance(v, str) else str(v) for k, v in header["__metadata__"].items()
        }
        if tree is model:
            header["__metadata__"]["model"] = json.dumps(model)
    else:
        header["__metadata__"] = {}
    return header


def forged(corpus: list[bytes], chance: random.Random) -> bytes:
    """Return a changed file of our own format whose checksum is right."""
    header, body = header_of(chance.choice(corpus))
    noise = bytearray(body)
    if noise and chance.random() < 0.5:
        for _ in range(chance.randrange(1, 9)):
            noise[chance.randrange(len(noise))] ^= 1 << chance.randrange(8)
    return with_header(forge(header, chance), bytes(noise))


@dataclass(frozen=True)
class Target:
    """A reader, and good files to begin with."""

    read: Callable[[bytes], None]
    corpus: list[bytes]
    change: Callable[[list[bytes], random.Random], bytes] = changed


def use_model(data: bytes) -> None:
    """Load a model of any format, as either task, and let it decide."""
    for task in ("classification", "regression"):
        with np.errstate(all="ignore"):
            model = wm.load(io.BytesIO(data), task=task)
            rows = rows_for(model)
            if hasattr(model, "transform"):
                model.transform(rows)
                continue
            getattr(model, "decision_function", model.predict)(rows)
            model.predict(rows)


def rows_for(model: Any) -> Any:
    """Return two rows that a model can take."""
    features = getattr(model, "n_features_in_", 1)
    if features <= 10_000:
        return np.linspace(-1.0, 1.0, 2 * features).reshape(2, -1)
    if features > MOST_FEATURES:
        raise ValueError("so many features that deciding needs more memory than is given here")
    return sp.csr_matrix(([1.0, 2.0], [0, features - 1], [0, 1, 2]), shape=(2, features))


def use_forged(data: bytes) -> None:
    """Load a model whose checksum is right; what it lacks may be missed when it decides."""
    try:
        with np.errstate(all="ignore"):
            model = wm.load(io.BytesIO(data))
            getattr(model, "predict", getattr(model, "transform", None))(rows_for(model))
    except (AttributeError, KeyError, TypeError, Warning) as error:
        raise ValueError(f"a part is missing: {error!r}"[:900]) from error


def use_ranges(data: bytes) -> None:
    Ranges.load(io.BytesIO(data)).apply(np.ones((2, 3)))


def targets() -> dict[str, Target]:
    """Return the readers by name."""
    folders = {name: CORPUS / "models" / name for name in ("libsvm", "liblinear", "svmlight")}
    found = {
        name: Target(use_model, [path.read_bytes() for path in sorted(folder.iterdir())])
        for name, folder in folders.items()
    }
    native = sorted((CORPUS / "models").glob("*.widemargin"))
    found["widemargin"] = Target(use_model, [path.read_bytes() for path in native])
    found["forged"] = Target(use_forged, found["widemargin"].corpus, forged)
    found["ranges"] = Target(use_ranges, [b"x\n-1 1\n1 0 1\n3 -2 7\n", b"y\n0 1\n-3 4\nx\n0 1\n"])
    return found


def outcome_of(target: Target, data: bytes) -> str:
    """Return "read" or "refused"; anything else raises AssertionError."""
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            target.read(data)
        outcome = "read"
    except ValueError as error:
        sentence = str(error)
        if not sentence or "\n" in sentence or len(sentence) > 1000:
            raise AssertionError(f"refused by {sentence!r}") from error
        outcome = "refused"
    except BaseException as error:
        raise AssertionError(repr(error)) from error
    if (seconds := time.process_time() - began) > LONGEST:
        raise AssertionError(f"took {seconds:.0f} s")
    return outcome


def fuzz_models(seconds: float, seed: int, failures: Path) -> Iterator[tuple[str, str]]:
    """Yield the reader and "read" or "refused" for each of many changed files.

    A file that does harm is kept in the folder `failures`.
    """
    chance, every = random.Random(seed), targets()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, target in every.items():
            data = target.change(target.corpus, chance)
            try:
                yield name, outcome_of(target, data)
            except AssertionError as error:
                kept = failures / f"failure_{name}_{seed}"
                kept.write_bytes(data)
                raise AssertionError(f"{kept}: {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz")
    options = parser.parse_args()
    options.build.mkdir(parents=True, exist_ok=True)
    program = compiled(options.build, options.compiler)
    print(f"seed {options.seed}")
    print(f"text: {fuzz_text(program, options.seconds / 2, options.seed)}", flush=True)
    if "WIDEMARGIN_SANITIZED" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts = Counter(fuzz_models(options.seconds / 2, options.seed, options.build))
    for name in targets():
        read, refused = counts[name, "read"], counts[name, "refused"]
        print(f"{name}: {read + refused} inputs, {refused} refused")


if __name__ == "__main__":
    main()
