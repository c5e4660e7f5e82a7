"""Models as ONNX graphs and as C: onnxruntime and a compiler decide as our estimators do."""

import io
import shutil
import subprocess
import sys
from functools import cache

import numpy as np
import onnx
import onnxruntime
import pytest
from model_cases import CASES, classes, decisions, fitted, numbers, texts, two
from scipy import sparse
from sklearn.base import clone

import widemargin as wm
from widemargin import kernels
from widemargin.estimators.decision_rule import rule_of
from widemargin.io.ranges import Ranges

KERNELS = {
    "linear": kernels.Linear(),
    "polynomial": kernels.Polynomial(degree=3, gamma=0.1, coef0=1.0),
    "rbf": kernels.RBF(gamma=0.3),
    "sigmoid": kernels.Sigmoid(gamma=0.01, coef0=-0.5),
    "cosine": kernels.Cosine(),
    "laplacian": kernels.Laplacian(gamma=0.2),
    "chi2": kernels.ChiSquared(gamma=0.5),
    "intersection": kernels.Intersection(),
    "sum": kernels.RBF(gamma=0.3) + 0.2 * kernels.Linear(),
    "product": kernels.Laplacian(gamma=0.1) * kernels.Polynomial(degree=2, gamma=0.1),
}
TEXT_KERNELS = {
    "spectrum": kernels.Spectrum(length=2),
    "counts": kernels.Spectrum(length=3, normalize=False),
    "sum of spectra": kernels.Spectrum(length=1) + 0.5 * kernels.Spectrum(length=2),
}


def coded(strings):
    """Return texts as rows of code points, -1 behind the last letter."""
    width = max(map(len, strings))
    return np.array([[ord(c) for c in s] + [-1] * (width - len(s)) for s in strings], np.int64)


def dense(X):
    return coded(X) if isinstance(X, list) else X.toarray() if sparse.issparse(X) else X


def by_onnx(estimator, X, dtype=np.float64, ranges=None):
    """Return what onnxruntime computes, by name."""
    file = io.BytesIO()
    wm.export_onnx(estimator, file, dtype=dtype, ranges=ranges)
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    rows = dense(X)
    rows = rows if rows.dtype == np.int64 else rows.astype(dtype)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"rows": rows}), strict=True))


def size_of_terms(estimator, X):
    """Return, for each row, how large the terms are that a decision is the sum of."""
    rule = rule_of(estimator)
    if rule.kernel is not None:
        values = np.abs(rule.kernel(X, rule.vectors))
    else:
        rows = np.abs(dense(X))
        values = rows if rule.columns is None else rows[:, rule.columns]
    return np.max(values @ np.abs(rule.weights) + np.abs(rule.offset) + 1.0, axis=1)


def assert_agrees(estimator, X, found, precision):
    """Decisions agree to this share of their terms, and labels wherever rounding cannot matter."""
    expected = decisions(estimator, X)
    ours = found["decision"] if "decision" in found else found["prediction"]
    assert ours.shape == expected.shape
    columns = expected.reshape(len(expected), -1)
    difference = np.abs(ours.reshape(columns.shape) - columns).max(axis=1)
    assert np.max(difference / size_of_terms(estimator, X)) <= precision
    if "label" in found:
        ordered = np.sort(columns, axis=1)
        margin = np.abs(columns[:, 0]) if ordered.shape[1] == 1 else np.diff(ordered)[:, -1]
        clear = margin > 2 * difference
        assert clear.mean() > 0.7
        mine = np.asarray(estimator.predict(X))
        assert np.asarray(found["label"])[clear].tolist() == mine[clear].tolist()


# --- ONNX ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_onnx_decides_the_same_for_every_model(name):
    estimator, X = fitted(name)
    assert_agrees(estimator, X, by_onnx(estimator, X), 1e-12)
    if name != "VotedPerceptron":  # whose machines sit on the fence: rounding turns their votes
        assert_agrees(estimator, X, by_onnx(estimator, X, np.float32), 1e-6)


def kernel_tasks():
    X, y = classes()
    rows, targets = numbers()
    rows = rows - rows.min(axis=0)
    return {
        "two classes": (lambda k: wm.SVC(kernel=k, C=2.0), *two()),
        "three classes": (lambda k: wm.SVC(kernel=k, C=2.0), X, y),
        "joint": (lambda k: wm.SVC(kernel=k, multi_class="joint"), X, y),
        "regression": (lambda k: wm.SVR(kernel=k, C=0.5), rows[:60], targets[:60]),
        "detection": (lambda k: wm.OneClassSVM(kernel=k, nu=0.3), X, None),
        "ball": (lambda k: wm.SVDD(kernel=k, nu=0.3), X, None),
        "perceptron": (lambda k: wm.KernelPerceptron(kernel=k, max_iter=5, tol=None), X, y),
    }  # fmt: skip


@cache
def fitted_task(kernel, task):
    make, X, y = kernel_tasks()[task]
    return make(KERNELS[kernel]).fit(X, y), X


@pytest.mark.filterwarnings("ignore:.* stopped")
@pytest.mark.parametrize("task", kernel_tasks())
@pytest.mark.parametrize("kernel", KERNELS)
def test_onnx_decides_the_same_for_every_kernel_and_task(kernel, task):
    estimator, X = fitted_task(kernel, task)
    assert_agrees(estimator, X, by_onnx(estimator, X), 1e-12)
    assert_agrees(estimator, X, by_onnx(estimator, X, np.float32), 1e-6)
    assert_agrees(estimator, X, by_onnx(estimator, X, np.float32), 1e-6)


@pytest.mark.parametrize("kernel", TEXT_KERNELS)
@pytest.mark.parametrize("make", [wm.SVC, wm.SVDD])
def test_kernels_on_texts_take_code_points(kernel, make):
    words, y = texts()
    estimator = make(kernel=TEXT_KERNELS[kernel]).fit(words, y)
    others = [*words, "MK", "", "ä日本語AVL", "GGGGGGGGG"]
    assert_agrees(estimator, others, by_onnx(estimator, others), 1e-12)


LABELS = {
    "whole": (3, -7, 10**12),
    "floats": (5.0, -1.0, 3.0),
    "texts": ("ä", "日本", 'quo"te\n'),
    "objects": np.array(["a", "b", "c"], dtype=object),
}


@cache
def with_labels(kind):
    X, y = classes(3, LABELS[kind])
    return wm.SVC().fit(X, y), X


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_type(kind):
    estimator, X = with_labels(kind)
    labels = by_onnx(estimator, X)["label"]
    assert labels.tolist() == estimator.predict(X).tolist()
    assert labels.dtype.kind == {"texts": "O", "objects": "O", "floats": "f", "whole": "i"}[kind]


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("break_ties", [False, True])
def test_ties_are_broken_as_the_estimator_breaks_them(shape, break_ties):
    if break_ties and shape == "ovo":
        return
    X, y = classes()
    rows = np.random.default_rng(0).normal(scale=4, size=(300, X.shape[1])) + X.mean(axis=0)
    estimator = wm.SVC(
        gamma=3.0, decision_function_shape=shape, break_ties=break_ties, C=0.3
    ).fit(X, y)  # fmt: skip
    assert_agrees(estimator, rows, by_onnx(estimator, rows), 1e-12)


def test_kernel_values_of_support_vectors_alone():
    X, y = classes()
    K = X @ X.T
    estimator = wm.SVC(kernel="precomputed").fit(K, y).set_params(gram_columns="support")
    columns = K[:, estimator.support_]
    assert_agrees(estimator, columns, by_onnx(estimator, columns), 1e-12)


@pytest.mark.parametrize("kernel", ["poly", "linear", "rbf"])
def test_a_single_vector_is_enough(kernel):
    estimator = wm.SVDD(kernel=kernel, gamma=0.123456789, coef0=0.777).fit([[0.1, 1.0]])
    rows = np.random.default_rng(0).normal(size=(9, 2))
    assert_agrees(estimator, rows, by_onnx(estimator, rows), 1e-12)


def test_the_graph_holds_plain_operators_only():
    for name in ("SVC, three classes", "SVDD", "SVC, strings"):
        file = io.BytesIO()
        wm.export_onnx(fitted(name)[0], file)
        model = onnx.load_from_string(file.getvalue())
        assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
        assert {node.domain for node in model.graph.node} == {""}
        assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n_rows"


def test_what_cannot_be_exported_is_told_in_one_sentence(monkeypatch, tmp_path):
    X, y = two()
    own = wm.SVC(kernel=lambda a, b: a @ b.T).fit(X, y)
    for export in (wm.export_onnx, wm.export_c):
        with pytest.raises(TypeError, match="is a Python function"):
            export(own, tmp_path / "model")
        with pytest.raises(TypeError, match="expected a fitted estimator"):
            export("model", tmp_path / "model")
    assert not any(tmp_path.iterdir())
    estimator, _ = fitted("SVC, two classes")
    with pytest.raises(ValueError, match=r"dtype must be numpy\.float32 or"):
        wm.export_onnx(estimator, tmp_path / "model", dtype=np.float16)
    with pytest.raises(ValueError, match="name must be a name of C"):
        wm.export_c(estimator, tmp_path / "model", name="1st")
    with monkeypatch.context() as patch:
        patch.setattr("widemargin.io.onnx_models.LARGEST", 10)
        with pytest.raises(ValueError, match="ONNX files end at 2 GB"):
            wm.export_onnx(estimator, tmp_path / "model")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'widemargin\[onnx\]'"):
        wm.export_onnx(estimator, tmp_path / "model")


# --- C -------------------------------------------------------------------------------------------

MAIN = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int count;
    static @type@ x[1 << 16];
    while (scanf("%d", &count) == 1) {
        for (int j = 0; j < count; ++j)
            if (scanf("@format@", x + j) != 1) return 1;
        @body@
    }
    return 0;
}
"""


def by_c(estimator, X, folder, name="model", compiler="cc", language="c", ranges=None):
    """Return what a compiled program computes: decisions, and labels as texts."""
    wm.export_c(estimator, folder / "model.c", name=name, ranges=ranges)
    code = (folder / "model.c").read_text(encoding="ascii")
    rule = rule_of(estimator)
    given = "x, count" if rule.features is None else "x"
    rows = decisions(estimator, X)
    width = 1 if rows.ndim == 1 else rows.shape[1]
    if rule.head == "value":
        body = f'printf("%.17g\\n", {name}_predict({given}));'
    else:
        body = f"double d[{width}]; {name}_decision({given}, d);"
        body += f'for (int m = 0; m < {width}; ++m) printf("%.17g ", d[m]);'
        if rule.labels is None:
            body += f'printf("%d\\n", {name}_predict({given}));'
        else:
            body += f'printf("%d\\n", {name}_class({given}));'
    texts = rule.features is None
    main = MAIN.replace("@type@", "int" if texts else "double").replace("@body@", body)
    main = main.replace("@format@", "%d" if texts else "%lf")
    (folder / "main.c").write_text(f'#include "model.c"\n{main}', encoding="ascii")
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-variable", "-O1"]
    standard = "-std=c99" if language == "c" else "-std=c++11"
    command = [compiler, standard, *strict, "-x", language, "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    assert "widemargin" in code.splitlines()[0]
    lines = [[ord(c) for c in row] for row in X] if texts else dense(X).tolist()
    text = "".join(f"{len(line)} {' '.join(map(repr, line))}\n" for line in lines)
    done = subprocess.run([folder / "main"], input=text, capture_output=True, text=True, check=True)
    found = np.array([line.split() for line in done.stdout.splitlines()], dtype=np.float64)
    if rule.head == "value":
        return {"prediction": found[:, 0]}
    last = found[:, -1].astype(int)
    label = last if rule.labels is None else rule.labels[last]
    return {"decision": found[:, 0] if rows.ndim == 1 else found[:, :-1], "label": label}


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_c_decides_the_same_for_every_model(name, tmp_path):
    estimator, X = fitted(name)
    assert_agrees(estimator, X, by_c(estimator, X, tmp_path), 1e-12)


@needs_compiler
@pytest.mark.filterwarnings("ignore:.* stopped")
@pytest.mark.parametrize("task", ["two classes", "ball"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_c_decides_the_same_for_every_kernel(kernel, task, tmp_path):
    estimator, X = fitted_task(kernel, task)
    assert_agrees(estimator, X, by_c(estimator, X, tmp_path), 1e-12)


@needs_compiler
@pytest.mark.parametrize("kernel", TEXT_KERNELS)
def test_c_takes_code_points(kernel, tmp_path):
    words, y = texts()
    others = [*words, "MK", "", "ä日本語AVL", "GGGGGGGGG"]
    for make in (wm.SVC, wm.SVDD):
        estimator = make(kernel=TEXT_KERNELS[kernel]).fit(words, y)
        assert_agrees(estimator, others, by_c(estimator, others, tmp_path), 1e-12)


@needs_compiler
@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_written_as_c(kind, tmp_path):
    estimator, _ = with_labels(kind)
    wm.export_c(estimator, tmp_path / "model.c", name="iris")
    form = {"whole": "%lld", "floats": "%.17g"}.get(kind, "%s")
    (tmp_path / "main.c").write_text(
        '#include "model.c"\n#include <stdio.h>\nint main(void) { for (int k = 0; k < 3; ++k) '
        f'printf("{form};", iris_labels[k]); return 0; }}\n'
    )
    subprocess.run(["cc", "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    shown = subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout.decode()
    words = shown.split(";")[:-1]
    kept = [float(w) if kind in ("whole", "floats") else w for w in words]
    assert kept == estimator.classes_.tolist()


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("name", ["SVC, three classes", "SVC, sparse rows", "SVR", "SVC, strings"])
def test_the_file_is_c_plus_plus_too(name, tmp_path):
    estimator, X = fitted(name)
    found = by_c(estimator, X, tmp_path, "flower", "c++", "c++")
    assert_agrees(estimator, X, found, 1e-12)


# --- scaling ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine",
    [
        wm.SVC(),
        wm.SVC(kernel=wm.kernels.Polynomial(degree=2, gamma=0.1, coef0=1.0) + wm.kernels.RBF(0.2)),
        wm.SVC(kernel="chi2"),
        wm.SVR(kernel="laplacian", gamma=0.5),
        wm.SVDD(kernel="intersection"),
        wm.LinearSVC(),
        wm.LinearSVR(),
        wm.VotedPerceptron(kernel="rbf"),
    ],
    ids=lambda machine: f"{type(machine).__name__} {getattr(machine, 'kernel', '')}",
)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_what_scales_the_rows_is_exported_too(machine, storage, tmp_path):
    X, y = classes(2, (3, 1))
    X = np.hstack([1e4 + 100 * X, np.full((len(X), 1), 7.0)])
    X[:, 1] = np.where(X[:, 1] > np.median(X[:, 1]), X[:, 1], 0.0)
    ranges = Ranges.of(X, 0.0 if "chi2" in str(machine) or "inter" in str(machine) else -1.0, 1.0)
    ranges.save(tmp_path / "ranges")
    rows = storage(ranges.apply(X))
    machine = clone(machine).fit(rows, y)
    away = 1.5 * X[::7]  # beyond the ranges too
    if ranges.lower == 0:
        away = X[::7]
    for found in (
        by_c(machine, away, tmp_path, ranges=tmp_path / "ranges"),
        by_onnx(machine, away, ranges=ranges),
    ):
        assert_agrees(machine, storage(ranges.apply(away)), found, 1e-12)
    found = by_onnx(machine, away, np.float32, ranges=ranges)
    assert_agrees(machine, storage(ranges.apply(away)), found, 1e-3)


def test_ranges_that_do_not_fit_are_refused():
    X, y = classes(2, (3, 1))
    ranges = Ranges.of(np.hstack([X, X]))
    with pytest.raises(ValueError, match="ranges are those of 8 columns, but the model has 4"):
        wm.export_c(wm.LinearSVC().fit(X, y), io.BytesIO(), ranges=ranges)
    estimator, _ = fitted("SVC, precomputed")
    with pytest.raises(TypeError, match="columns of numbers"):
        wm.export_onnx(estimator, io.BytesIO(), ranges=Ranges.of(X))
