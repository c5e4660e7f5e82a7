"""The repository obeys every rule of `architecture`, and every rule can be broken."""

import subprocess
import sys

import architecture
import pytest

# A tree that obeys every rule; each row of BROKEN changes a few of its files.
SRC = "src/widemargin/"
GOOD = {
    "cpp/bind/module.cpp": '#include <nanobind/nanobind.h>\n#include "../solve/descent.hpp"\n',
    "cpp/data/rows.hpp": "#include <vector>\n",
    "cpp/math/simd.hpp": "#include <cmath>\n",
    "cpp/solve/descent.hpp": '#include "data/rows.hpp"\n#include "math/simd.hpp"\n',
    SRC + "__init__.py": (
        "from importlib.metadata import version as _version\n"
        "from widemargin import kernels\n"
        "from widemargin.estimators.classifiers import SVC\n"
        "__all__ = ['SVC', '__version__', 'kernels']\n"
        "__version__ = _version('widemargin')\n"
    ),
    SRC + "demo.py": "import sklearn.datasets\nfrom widemargin import SVC, plotting\n",
    SRC + "backends/__init__.py": "",
    SRC + "backends/cpu.py": "import numpy\nfrom widemargin import _core, solvers\n",
    SRC + "backends/gpu.py": "def load():\n    import cupy\n",
    SRC + "estimators/__init__.py": "",
    SRC + "estimators/classifiers.py": "import sklearn.base\nfrom widemargin.backends import cpu\n",
    SRC + "kernels/__init__.py": "",
    SRC + "losses.py": "",
    SRC + "plotting.py": "def plot():\n    from matplotlib import pyplot\n",
    SRC + "problem.py": "from widemargin.kernels import Gaussian\n",
    SRC + "solvers/__init__.py": "from . import newton\n",
    SRC + "solvers/newton.py": "import math\nfrom ..problem import Problem\n",
}


def python_function(lines):
    """Write a function of that many lines and a docstring, which does not count."""
    return "def f():\n    '''One.\n\n    Two.\n    '''\n" + "    x = 1\n" * (lines - 1)


def cpp_function(lines, head="void f()"):
    return f"{head} {{\n" + "    x += 1;\n" * (lines - 2) + "}\n"


# The check, the changed files, a part of the complaint.
BROKEN = [
    ("layers", {SRC + "solvers/newton.py": "import widemargin.backends.cpu"}, "solvers.newton"),
    ("layers", {SRC + "solvers/newton.py": "def f():\n    from ..backends import cpu"}, "newton"),
    ("layers", {SRC + "losses.py": "from widemargin import kernels"}, "widemargin.losses"),
    ("layers", {SRC + "more.py": ""}, "widemargin.more"),
    ("layers", {SRC + "solvers/more/a.py": ""}, "more has no __init__.py"),
    ("cycles", {SRC + "solvers/newton.py": "from widemargin.solvers import choose"}, "newton"),
    ("cycles", {SRC + "backends/cpu.py": "from widemargin import SVC"}, "backends.cpu"),
    ("libraries", {SRC + "demo.py": "import matplotlib.pyplot"}, "belongs in plotting"),
    ("libraries", {SRC + "losses.py": "def f():\n    import cupy"}, "belongs in backends.gpu"),
    ("libraries", {SRC + "kernels/__init__.py": "import dask"}, "belongs in backends.cluster"),
    ("libraries", {SRC + "demo.py": "import typer"}, "belongs in cli"),
    ("libraries", {SRC + "problem.py": "import sklearn"}, "belongs in demo or estimators"),
    ("libraries", {SRC + "problem.py": "__import__('sklearn.svm')"}, "problem:1"),
    (
        "libraries",
        {
            SRC + "__init__.py": "from . import plotting",
            SRC + "plotting.py": "try:\n    import matplotlib\nexcept ImportError:\n    pass",
        },
        "import it in a function",
    ),
    ("libraries", {SRC + "solvers/newton.py": "import numpy as np"}, "operations of a backend"),
    ("libraries", {SRC + "solvers/newton.py": "def f():\n    import scipy"}, "newton:2"),
    ("public_names", {SRC + "__init__.py": "from a import SVC"}, "missing"),
    ("public_names", {SRC + "__init__.py": "__all__ = ['SVC']"}, "SVC is in __all__"),
    ("public_names", {SRC + "__init__.py": "A = B = 1\n__all__ = ['A']"}, "B is public"),
    ("public_names", {SRC + "__init__.py": "A = 1\n__all__ = ['A', 'A']"}, "repeats"),
    ("public_names", {SRC + "__init__.py": "A = 1\n__all__ = ['A', *B]"}, "explicit"),
    ("includes", {"cpp/math/simd.hpp": '#include "data/rows.hpp"'}, "cpp/math is not above"),
    ("includes", {"cpp/data/rows.hpp": '#include "../solve/descent.hpp"'}, "cpp/data is not above"),
    ("includes", {"cpp/solve/a.cpp": "#include <bind/arrays.hpp>"}, "cpp/solve is not above"),
    ("includes", {"cpp/solve/a.cpp": "# include <Python.h>"}, "belongs in cpp/bind"),
    ("includes", {"cpp/math/a.cpp": "#include <nanobind/ndarray.h>"}, "belongs in cpp/bind"),
    ("includes", {"cpp/other/a.cpp": ""}, "is in no folder"),
    ("includes", {"cpp/data/a.h": '#include "b.h"', "cpp/data/b.h": '#include "a.h"'}, "cycle"),
    ("file_lengths", {"cpp/solve/a.cu": "\n" * 401}, "a.cu has 401 lines"),
    ("file_lengths", {"benchmarks/run.py": "\n" * 401}, "run.py has 401 lines"),
    ("function_lengths", {"tests/a.py": python_function(61)}, "a.py:1 f has 61 lines"),
    ("function_lengths", {"cpp/bind/a.cpp": cpp_function(61)}, "a.cpp:1 void f() has 61 lines"),
]


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("check", architecture.CHECKS)
def test_repository_obeys(check):
    assert check(architecture.ROOT) == []


@pytest.mark.parametrize("check", architecture.CHECKS)
def test_good_tree_obeys(check, tmp_path):
    assert check(write(tmp_path, GOOD)) == []


@pytest.mark.parametrize(("name", "changes", "complaint"), BROKEN)
def test_broken_tree_is_found(name, changes, complaint, tmp_path):
    check = getattr(architecture, f"check_{name}")
    assert complaint in "\n".join(check(write(tmp_path, GOOD | changes)))


def test_longest_function_is_allowed(tmp_path):
    write(tmp_path, {"tests/a.py": python_function(60), "cpp/bind/a.cpp": cpp_function(60)})
    assert architecture.check_function_lengths(tmp_path) == []


def test_every_check_has_a_broken_tree():
    assert {f"check_{name}" for name, _, _ in BROKEN} == {f.__name__ for f in architecture.CHECKS}


@pytest.mark.parametrize(
    "head",
    [
        "int main()",
        "template <class T, class Map = Gaussian<T>>\nstatic inline T f(const T& x) noexcept",
        "Tile::Tile(int rows) : rows{rows}, columns{0}",
        "auto less = [](int a, int b)",
        "Row& operator=(const Row& other)",
        "NB_MODULE(_core, m)",
    ],
)
def test_cpp_function_is_measured(head):
    before = "// {\n#define OPEN {\nnamespace a {\nclass alignas(64) B : C<D()> {\npublic:\n"
    after = "private:\n    int x{0};\n};\n}\nvoid g() {}\n"
    first, lines = 6, 10 + head.count("\n")
    assert list(architecture.cpp_functions(before + cpp_function(10, head) + after)) == [
        (first, lines, " ".join(head.split())),
        (first + lines + 4, 1, "void g()"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        'const char* s = "{";',
        "char c = '{'; int n = 1'000;",
        'auto s = R"x({ " )")x";',
        "/* { */ // {",
        "if (x) { y(); } else { z(); }",
    ],
)
def test_cpp_braces_in_text_do_not_count(body):
    text = f"void f() {{\n    {body}\n}}\nint table[] = {{1,\n2}};\nenum A {{\nB }};\n"
    assert list(architecture.cpp_functions(text)) == [(1, 3, "void f()")]


def test_public_names_exist():
    import widemargin

    assert [name for name in widemargin.__all__ if not hasattr(widemargin, name)] == []


def test_import_loads_no_optional_library():
    command = "import sys, widemargin; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in result.stdout.split()}
    assert loaded & architecture.LAZY == set()
