"""Every Python block of the README runs, in order, and prints what its comments say."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from widemargin.cli import main

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def promised(block):
    """Return the output that the comments behind `print` promise."""
    return re.findall(r"^ *print\(.*\) +# (.*)$", block, re.MULTILINE)


# The README shows a fit that its time limit ends, which warns.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_blocks_run_and_print_what_they_say():
    names = {"__name__": "readme"}
    for block in BLOCKS:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, "README.md", "exec"), names)
        printed = ", ".join(output.getvalue().splitlines())
        assert printed == ", ".join(promised(block)), block


def test_every_print_promises_something():
    assert len(BLOCKS) >= 5
    for block in BLOCKS:
        assert len(promised(block)) == len(re.findall(r"^ *print\(", block, re.MULTILINE))


def test_the_commands_run_in_their_order(tmp_path, monkeypatch, capsys):
    block = next(b for b in re.findall(r"^```\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
                 if b.startswith("widemargin doctor"))  # fmt: skip
    monkeypatch.chdir(tmp_path)
    iris = load_iris(as_frame=True).frame.sample(frac=1, random_state=0)
    iris[:90].to_csv("iris.csv", index=False)
    iris[90:].to_csv("test.csv", index=False)
    for line in block.splitlines():
        assert main(line.partition("#")[0].split()[1:]) == 0, capsys.readouterr().err
    for name in ("iris.model", "search.png", "iris.png", "iris.onnx"):
        assert (tmp_path / name).stat().st_size > 1000


def test_files_and_targets_that_are_named_exist():
    root = Path(__file__).resolve().parents[1]
    for name in re.findall(r"`([A-Za-z/]+\.md)`", README):
        assert (root / name).is_file(), name
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([a-z-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_public_estimators_are_all_mentioned():
    import widemargin

    classes = [name for name in widemargin.__all__ if isinstance(getattr(widemargin, name), type)]
    missing = [name for name in classes if f"`{name}`" not in README and name != "Status"]
    assert missing == []
