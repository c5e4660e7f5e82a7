"""The documentation knows every public name, every example and every reference."""

import re
from pathlib import Path

import widemargin
from widemargin import plotting

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = {path: path.read_text(encoding="utf-8") for path in DOCS.glob("**/*.md")}
LECTURES = "\n".join(text for path, text in PAGES.items() if path.parent.name == "lectures")
CONF = (DOCS / "conf.py").read_text(encoding="utf-8")


def test_the_reference_lists_every_public_name():
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "reference.rst").read_text(), re.MULTILINE))
    assert set(widemargin.__all__) - {"kernels"} <= listed
    for name in listed - set(widemargin.__all__):
        assert name in widemargin.kernels.__all__ or name.endswith("Display")


def test_every_example_has_its_place_and_its_page():
    examples = {path.stem for path in (DOCS / "examples").glob("plot_*.py")}
    (listed,) = re.findall(r"PICTURES = \[(.*?)\]", CONF, re.DOTALL)
    assert {f"plot_{name}" for name in re.findall(r'"(\w+)"', listed)} == examples
    assert set(re.findall(r"sphx_glr_gallery_(plot_\w+)\.py", LECTURES)) == examples
    assert set(re.findall(r"sphx_glr_(plot_\w+?)_001\.png", LECTURES)) == examples


def test_every_citation_is_in_the_bibliography():
    known = set(re.findall(r"^@\w+\{(\w+),", (DOCS / "references.bib").read_text(), re.MULTILINE))
    cited = {key for text in PAGES.values() for key in re.findall(r"\{cite:[tp]\}`(\w+)`", text)}
    assert cited
    assert cited <= known


def test_names_in_the_map_of_concepts_exist():
    """Each word in code type that looks like a class or a public function is one."""
    known = {
        *widemargin.__all__,
        *widemargin.kernels.__all__,
        *plotting.__all__,
        "GridSearchCV",
    }
    for code in re.findall(r"`([^`]+)`", PAGES[DOCS / "concepts.md"]):
        for name in re.findall(r"\b([A-Z]\w+[a-z]\w*|svm_path|linear_separability)\b", code):
            assert name in known | {"True", "False"}, name
