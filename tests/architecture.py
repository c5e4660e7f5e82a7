"""The rules of the architecture, as checks over a tree of sources.

Each check is a function from the root of a tree to a list of complaints; `CHECKS` lists them.
"""

import ast
import graphlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "widemargin"
EXTENSION = "widemargin._core"

# The modules that may import a library.
HOMES = {
    "bokeh": ("explorer",),
    "click": ("cli",),
    "cupy": ("backends.gpu",),
    "cupyx": ("backends.gpu",),
    "dask": ("backends.cluster",),
    "distributed": ("backends.cluster",),
    "matplotlib": ("plotting",),
    "onnx": ("io",),
    "sklearn": ("demo", "estimators", "selection"),
    "typer": ("cli",),
}
LAZY = HOMES.keys() - {"sklearn"}  # never loaded by `import widemargin`
ARRAY_LIBRARIES = {"cupy", "dask", "jax", "numpy", "scipy", "torch"}

# A folder of cpp/ may include itself and every folder of a lower rank.
# `serial` stands in for headers of the system.
CPP_RANKS = {"serial": 0, "data": 0, "math": 0, "solve": 1, "bind": 2, "tests": 3}
PYTHON_HEADERS = re.compile(r"Python\.h|(nanobind|numpy|pybind11)/")

CODE_FOLDERS = ("benchmarks", "cpp", "docs", "src", "tests")
CODE_SUFFIXES = {".cpp", ".cu", ".cuh", ".h", ".hpp", ".py"}
CPP_SUFFIXES = CODE_SUFFIXES - {".py"}
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def code_files(root: Path, suffixes: set[str], *folders: str) -> list[Path]:
    """Return the files of these kinds below the folders, sorted."""
    found = (path for folder in folders for path in (root / folder).rglob("*"))
    return sorted(path for path in found if path.suffix in suffixes)


# --- imports of the Python package ---------------------------------------------------------------


@dataclass(frozen=True)
class Import:
    importer: str
    target: str  # with the imported name: "a.b.name" for `from a.b import name`
    line: int
    eager: bool  # runs when the importer is loaded

    @property
    def library(self) -> str:
        return self.target.partition(".")[0]


def modules(root: Path) -> dict[str, Path]:
    """Map the name of each module of the package to its file."""
    names = {}
    for path in code_files(root, {".py"}, f"src/{PACKAGE}"):
        parts = path.relative_to(root / "src").with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports_of(module: str, path: Path) -> Iterator[Import]:
    """Read the imports of one module, those inside functions and of `import_module("x")` too."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]

    def targets(node: ast.AST) -> list[str]:
        match node:
            case ast.Import(names=names):
                return [alias.name for alias in names]
            case ast.ImportFrom(module=base, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) + 1 - level] if level else []
                prefix = ".".join([*above, *([base] if base else [])])
                return [f"{prefix}.{alias.name}" for alias in names]
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                called = ast.unparse(function).rpartition(".")[2]
                return [name] if called in {"import_module", "__import__"} else []
        return []

    def visit(node: ast.AST, eager: bool) -> Iterator[Import]:
        for target in targets(node):
            yield Import(module, target, node.lineno, eager)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            eager = False
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from visit(child, eager and not (field == "body" and for_types(node)))

    return visit(ast.parse(path.read_text(encoding="utf-8")), eager=True)


def for_types(node: ast.AST) -> bool:
    """Tell whether the node is `if TYPE_CHECKING:`."""
    names = {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
    return isinstance(node, ast.If) and ast.unparse(node.test) in names


def all_imports(root: Path) -> list[Import]:
    return [found for item in modules(root).items() for found in imports_of(*item)]


def import_graph(root: Path, *, eager_only: bool = False) -> dict[str, set[str]]:
    """Map each module to the modules of the package that it imports."""
    known = modules(root).keys() | {EXTENSION}
    graph: dict[str, set[str]] = {module: set() for module in known}
    for found in all_imports(root):
        target = found.target
        while target and target not in known:
            target = target.rpartition(".")[0]
        if target not in ("", found.importer) and (found.eager or not eager_only):
            graph[found.importer].add(target)
    return graph


def loaded_with_package(root: Path) -> set[str]:
    """Collect the modules that `import widemargin` loads."""
    graph = import_graph(root, eager_only=True)
    loaded: set[str] = set()
    waiting = [PACKAGE]
    while waiting:
        module = waiting.pop()
        if module and module not in loaded:
            loaded.add(module)
            waiting += [*graph.get(module, ()), module.rpartition(".")[0]]
    return loaded


def is_within(module: str, *places: str) -> bool:
    return any(f"{module}.".startswith(f"{PACKAGE}.{place}.") for place in places)


def check_layers(root: Path) -> list[str]:
    """Ask import-linter about the contract in pyproject.toml."""
    # It skips folders that are no packages, so there may be none.
    folders = {path.parent for path in code_files(root, {".py"}, f"src/{PACKAGE}")}
    if bare := sorted(str(f) for f in folders if not (f / "__init__.py").is_file()):
        return [f"{folder} has no __init__.py" for folder in bare]
    # A process of its own, and -S, so that the tree is read and not an installed package.
    command = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(**{}))"
    options = {"config_filename": str(ROOT / "pyproject.toml"), "no_cache": True, "no_logo": True}
    result = subprocess.run(
        [sys.executable, "-S", "-c", command.format(options)],
        cwd=root / "src",
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    return [result.stdout + result.stderr] if result.returncode else []


def check_cycles(root: Path) -> list[str]:
    return cycle(import_graph(root))


def cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return ["cycle: " + " <- ".join(map(str, error.args[1]))]
    return []


def check_libraries(root: Path) -> list[str]:
    """Find libraries imported away from their one place, or too early."""
    loaded = loaded_with_package(root)
    complaints = []
    for found in all_imports(root):
        homes = HOMES.get(found.library)
        where = f"{found.importer}:{found.line} imports {found.target}"
        if homes and not is_within(found.importer, *homes):
            complaints.append(f"{where}, which belongs in {' or '.join(homes)}")
        if found.library in LAZY and found.eager and found.importer in loaded:
            complaints.append(f"{where} when `import {PACKAGE}` runs; import it in a function")
        if found.library in ARRAY_LIBRARIES and is_within(found.importer, "solvers"):
            complaints.append(f"{where}; a solver calls operations of a backend instead")
    return complaints


def check_public_names(root: Path) -> list[str]:
    """Compare the literal `__all__` with the names that the package binds."""
    tree = ast.parse((root / "src" / PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    declared: list[str] = []
    bound: set[str] = set()
    for node in module_scope(tree):
        match node:
            case ast.ImportFrom(module="__future__"):
                pass
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {(alias.asname or alias.name).partition(".")[0] for alias in names}
            case ast.Assign(targets=[ast.Name("__all__")], value=ast.List(elts=elements)):
                declared = [e.value for e in elements if isinstance(e, ast.Constant)]
                if len(declared) < len(elements):
                    return ["__all__ must be explicit: a list of plain strings"]
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
    if "__all__" not in bound or not declared:
        return ["__all__ is missing, or no plain list of strings"]
    public = {name for name in bound if not name.startswith("_")}
    names = set(declared) - {"__version__"}
    complaints = [f"{name} is public but not in __all__" for name in sorted(public - names)]
    complaints += [f"{name} is in __all__ but not public" for name in sorted(names - public)]
    return complaints + ["__all__ repeats a name"] * (len(set(declared)) < len(declared))


def module_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Walk the nodes that run in the scope of the module."""
    inner = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.comprehension
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, inner):
            yield from module_scope(child)


# --- includes of the C++ core --------------------------------------------------------------------


def check_includes(root: Path) -> list[str]:
    """Find includes that go up or sideways, cycles of headers, and Python outside cpp/bind."""
    cpp = root / "cpp"
    complaints = []
    graph: dict[str, set[str]] = {}
    for path in code_files(root, CPP_SUFFIXES, "cpp"):
        name = path.relative_to(cpp).as_posix()
        folder = name.partition("/")[0]
        if folder not in CPP_RANKS:
            complaints.append(f"cpp/{name} is in no folder of {', '.join(CPP_RANKS)}")
            continue
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)', text, re.MULTILINE):
            if PYTHON_HEADERS.match(target) and folder != "bind":
                complaints.append(f"cpp/{name} includes {target}, which belongs in cpp/bind")
            included = included_file(cpp, path, target)
            other = included.partition("/")[0]
            graph.setdefault(name, set()).add(included)
            if other in CPP_RANKS and other != folder and CPP_RANKS[other] >= CPP_RANKS[folder]:
                complaints.append(f"cpp/{name} includes {target}: cpp/{folder} is not above it")
    return complaints + cycle(graph)


def included_file(cpp: Path, includer: Path, target: str) -> str:
    """Return the included file as a path below cpp/, or the target itself if it is not there."""
    for place in (includer.parent, cpp):
        path = Path(os.path.normpath(place / target))
        if path.is_file() and path.is_relative_to(cpp):
            return path.relative_to(cpp).as_posix()
    return target


# --- length --------------------------------------------------------------------------------------

CPP_NOISE = re.compile(
    r"""//[^\n]* | /\*.*?\*/                            # comments
    | R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)"         # raw strings
    | "(?:\\.|[^"\\\n])*"
    | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'              # characters, not the mark in 1'000
    | ^[ \t]*\#(?:\\\n|[^\n])*                          # the preprocessor
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def check_file_lengths(root: Path) -> list[str]:
    complaints = []
    for path in code_files(root, CODE_SUFFIXES, *CODE_FOLDERS):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_FILE_LINES:
            complaints.append(f"{path.relative_to(root)} has {lines} lines")
    return complaints


def check_function_lengths(root: Path) -> list[str]:
    complaints = []
    for path in code_files(root, CODE_SUFFIXES, *CODE_FOLDERS):
        text = path.read_text(encoding="utf-8")
        functions = python_functions(text) if path.suffix == ".py" else cpp_functions(text)
        for line, lines, name in functions:
            if lines > MAX_FUNCTION_LINES:
                complaints.append(f"{path.relative_to(root)}:{line} {name} has {lines} lines")
    return complaints


def python_functions(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield first line, number of lines without the docstring, and name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                lines -= node.body[0].end_lineno - node.body[0].lineno + 1
            yield node.lineno, lines, node.name


def cpp_functions(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield first line, number of lines and head of the outermost functions, by matching braces."""
    code = CPP_NOISE.sub(lambda noise: re.sub(r"[^\n]", " ", noise[0]), text)
    start = depth = 0  # where the present head starts; open braces of the present body
    head = ""
    for mark in re.finditer("[{};]", code):
        end = mark.end()
        if depth == 0 and mark[0] == "{":
            head = re.sub(r"^\s*((public|private|protected)\s*:\s*)*", "", code[start : end - 1])
            depth = 0 if opens_scope(head) else 1
            start = start if depth else end
        elif depth == 0:
            start = end
        elif mark[0] != ";":
            depth += 1 if mark[0] == "{" else -1
            # The braces of `Tile() : rows{0}, columns{0} {` belong to a head that goes on.
            if depth == 0 and not re.match(r"\s*[,{]", code[end:]):
                if "(" in head and not head.rstrip().endswith("="):
                    first = code.count("\n", 0, code.index(head, start)) + 1
                    yield first, code.count("\n", 0, end) + 2 - first, " ".join(head.split())
                start = end


def opens_scope(head: str) -> bool:
    """Tell whether a brace after this text opens a namespace or a type, not a function."""
    head = re.sub(r"\b(alignas|requires|__attribute__)\s*\(+[^()]*\)+", "", head)
    while head != (shorter := re.sub(r"<[^<>]*>", "", head)):  # template parameters
        head = shorter
    return "(" not in head and bool(
        re.search(r"\b(namespace|class|struct|union|enum|extern)\b", head)
    )


CHECKS = [
    check_layers,
    check_cycles,
    check_libraries,
    check_public_names,
    check_includes,
    check_file_lengths,
    check_function_lengths,
]
