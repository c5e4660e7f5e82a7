"""Settings of the documentation: ``make docs`` builds it as HTML."""

import importlib.metadata
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx_gallery.sorting import ExplicitOrder

project = "widemargin"
author = "The widemargin developers"
copyright = f"2026, {author}"
version = release = importlib.metadata.version("widemargin")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "examples", "gallery/**/*.ipynb"]
html_theme = "furo"
html_title = "widemargin"
html_math_renderer = "mathml"
html_show_sourcelink = False
templates_path = ["templates"]
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_default_options = {"members": True, "undoc-members": False}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_use_admonition_for_references = False
suppress_warnings = ["config.cache", "myst.xref_missing", "ref.python"]

PICTURES = ["linear_classifiers", "perceptron", "margins", "cost", "path", "gradient_descent",
            "kernels", "sigma", "xor", "naive_bayes"]  # fmt: skip
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": ExplicitOrder([f"plot_{name}.py" for name in PICTURES]),
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
}


# --- formulas as MathML, which browsers draw without any script ----------------------------------


def as_mathml(tex: str, block: bool) -> str:
    return latex2mathml.tex2mathml(tex, as_block=block)


def visit_inline(writer: Any, node: Any) -> None:
    writer.body.append(as_mathml(node.astext(), False))
    raise nodes.SkipNode


def visit_block(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="math">{as_mathml(node.astext(), True)}</div>\n')
    raise nodes.SkipNode


# --- docstrings ----------------------------------------------------------------------------------


def leave_out(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn gives to every estimator."""
    home = getattr(obj, "__module__", None) or ""
    routed = name.startswith("set_") and name.endswith("_request")
    return True if routed or home.startswith("sklearn") else None


def join_names(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Bring the names of parameters that share a description onto one line."""
    for k in reversed(range(len(lines) - 1)):
        if re.fullmatch(r"(\w+, )*\w+,", lines[k]) and re.match(r"\w", lines[k + 1]):
            lines[k : k + 2] = [f"{lines[k]} {lines[k + 1]}"]


def escape_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let |w| be a norm, which to reStructuredText is a substitution, outside of code."""
    code = None  # indentation of the line that began a literal block
    for k, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if code is not None and line.strip() and indent <= code:
            code = None
        if code is None and not line.lstrip().startswith((">>>", "...")):
            parts = re.split("(``.*?``)", line)
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[k] = "".join(parts)
        if code is None and line.rstrip().endswith("::"):
            code = indent


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", join_names, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", escape_bars, priority=600)  # after it
