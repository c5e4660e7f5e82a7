"""Model files of others: what we write reads back, and their programs decide the same."""

import io
import itertools
import tracemalloc

import numpy as np
import pytest
from liblinear import liblinearutil
from libsvm import svmutil
from model_cases import CASES, classes, decisions, farthest, fitted, numbers, two
from scipy import sparse
from their_tools import liblinear_decisions, libsvm_decisions

import widemargin as wm

FORMATS = ("libsvm", "liblinear", "svmlight")
AGREE = 1e-12


def through(estimator, format, X, **options):
    """Return the estimator after a trip through a file."""
    file = io.BytesIO()
    wm.save(estimator, file, format=format)
    width = X.shape[1] if format != "liblinear" and hasattr(X, "shape") else None
    return wm.load(io.BytesIO(file.getvalue()), n_features=width, **options)


@pytest.mark.parametrize(("name", "format"), list(itertools.product(CASES, FORMATS)))
def test_round_trips_keep_decisions_or_say_why_not(name, format):
    estimator, X = fitted(name)
    if format not in CASES[name].others:
        with pytest.raises(ValueError, match=r"save\(estimator, path\) keeps|LabelEncoder"):
            wm.save(estimator, io.BytesIO(), format=format)
        return
    task = "regression" if CASES[name].regression else "classification"
    back = through(estimator, format, X, task=task)
    assert farthest(estimator, back, X) <= AGREE
    if format != "svmlight":  # whose classes are -1 and 1
        np.testing.assert_array_equal(back.predict(X), estimator.predict(X))
    assert type(back).__name__.startswith(("Linear", "Logistic")) == (
        "Linear" in name or "Log" in name
    )


# --- LIBSVM --------------------------------------------------------------------------------------

KERNEL_OPTIONS = {
    "linear": "-t 0",
    "polynomial": "-t 1 -g 0.5 -r 1 -d 2",
    "rbf": "-t 2 -g 0.3",
    "sigmoid": "-t 3 -g 0.001 -r 0.1",
    "precomputed": "-t 4",
}
TYPES = {"c_svc": "-s 0", "nu_svc": "-s 1 -n 0.2", "one_class": "-s 2 -n 0.2",
         "epsilon_svr": "-s 3 -p 0.05", "nu_svr": "-s 4"}  # fmt: skip


def libsvm_trained(type_options, kernel, k=3, more=""):
    """Return a model of LIBSVM itself, the rows it learnt, and those as LIBSVM wants them."""
    X, y = numbers() if type_options[3] in "234" else classes(k)
    X, y = X[:60], y[:60]
    given = X
    if kernel == "precomputed":
        X = X @ X.T
        given = np.column_stack([np.arange(1, len(X) + 1), X])
    problem = svmutil.svm_problem(
        y, [dict(enumerate(row, 0 if kernel == "precomputed" else 1)) for row in given.tolist()],
        isKernel=kernel == "precomputed",
    )  # fmt: skip
    options = f"{type_options} {KERNEL_OPTIONS[kernel]} -q {more}"
    return svmutil.svm_train(problem, options), X, given, y


@pytest.mark.parametrize(("type_name", "kernel"), list(itertools.product(TYPES, KERNEL_OPTIONS)))
def test_models_of_libsvm_decide_the_same_here_and_go_back(tmp_path, type_name, kernel):
    model, X, given, _ = libsvm_trained(TYPES[type_name], kernel)
    svmutil.svm_save_model(str(tmp_path / "theirs"), model)
    ours = wm.load(tmp_path / "theirs", n_features=X.shape[1])
    wm.save(ours, tmp_path / "ours", format="libsvm")
    for path in ("theirs", "ours"):
        theirs = svmutil.svm_load_model(str(tmp_path / path))
        labels, values = libsvm_decisions(theirs, given, kernel)
        if hasattr(ours, "decision_function_shape"):
            ours.decision_function_shape = "ovo"
        mine = np.reshape(decisions(ours, X), values.shape)
        np.testing.assert_allclose(mine, values, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.predict(X), labels, rtol=1e-12, atol=1e-12)
    assert (tmp_path / "ours").read_text().splitlines()[0] == f"svm_type {type_name}"


@pytest.mark.parametrize("names", [(1, -1), (-1, 1)])
def test_two_classes_are_sorted_whichever_came_first(tmp_path, names):
    X, y = classes(2, names)
    model = svmutil.svm_train(svmutil.svm_problem(y, X), "-q")
    svmutil.svm_save_model(str(tmp_path / "m"), model)
    ours = wm.load(tmp_path / "m")
    assert ours.classes_.tolist() == [-1, 1]
    assert list(ours.n_support_) == [model.nSV[model.get_labels().index(c)] for c in (-1, 1)]
    theirs = svmutil.svm_load_model(str(tmp_path / "m"))
    labels, values = libsvm_decisions(theirs, X, "rbf")
    np.testing.assert_array_equal(ours.predict(X), labels)
    mine = theirs.get_labels()[0] * ours.decision_function(X)
    np.testing.assert_allclose(mine, np.ravel(values), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("type_name", TYPES)
def test_parameters_of_probabilities_are_kept(tmp_path, type_name):
    model, *_ = libsvm_trained(TYPES[type_name], "rbf", k=2, more="-b 1")
    svmutil.svm_save_model(str(tmp_path / "a"), model)
    wm.save(wm.load(tmp_path / "a"), tmp_path / "b", format="libsvm")

    def lines(path):
        return {k: np.array(v, float) for k, *v in map(str.split, path.read_text().splitlines())
                if k.startswith("prob")}  # fmt: skip

    theirs, ours = lines(tmp_path / "a"), lines(tmp_path / "b")
    assert theirs.keys() == ours.keys()
    assert theirs
    for key in theirs:
        np.testing.assert_array_equal(theirs[key], ours[key])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("svm_type c_svm\n", "svm_type must be one of c_svc"),
        ("svm_type c_svc\nkernel_type rbf\ngamma x\n", "line 3: gamma must be followed by numbers"),
        ("svm_type c_svc\nkernel_type rbf\ngamma 1\ngamma 1\n", "gamma occurs twice"),
        ("svm_type c_svc\nkernel_type rbf\n", "the line SV is missing"),
        ("svm_type c_svc\nkernel_type rbf\ncolour 1\n", "no line 'colour 1'"),
        (
            "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n",
            "label is missing",
        ),
        (
            "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\n"
            "nr_sv 1 1\nSV\n1 1:1\n",
            "has 1 support vectors, but total_sv is 2",
        ),
        (
            "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0 1\nlabel 1 -1\n"
            "nr_sv 1 0\nSV\n1 1:1\n",
            "rho has 2 numbers, not 1",
        ),
        (
            "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nlabel 1 -1\n"
            "nr_sv 1 1\nSV\n1 1:1\n",
            "n_support must hold 2 numbers that sum to 1",
        ),
        (
            "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nlabel 1 1\n"
            "nr_sv 1 0\nSV\n1 1:1\n",
            "a class occurs twice",
        ),
        (
            "svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho nan\nSV\n1 1:1\n",
            "rho must be finite",
        ),
    ],
)
def test_damaged_libsvm_models_are_refused_in_one_sentence(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        wm.load(io.BytesIO(text.encode()))


# --- LIBLINEAR -----------------------------------------------------------------------------------

SOLVERS = (0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 21)


@pytest.mark.parametrize(
    ("solver", "bias", "k"), list(itertools.product(SOLVERS, (-1, 1, 2.5), (2, 3)))
)
def test_models_of_liblinear_decide_the_same_here_and_go_back(tmp_path, solver, bias, k):
    X, y = numbers() if solver > 10 else classes(k)
    if solver == 21:
        bias = -1
    problem = liblinearutil.problem(y, sparse.csr_matrix(X))
    model = liblinearutil.train(problem, f"-s {solver} -B {bias} -q")
    liblinearutil.save_model(str(tmp_path / "theirs"), model)
    ours = wm.load(tmp_path / "theirs")
    wm.save(ours, tmp_path / "ours", format="liblinear")
    for path in ("theirs", "ours"):
        theirs = liblinearutil.load_model(str(tmp_path / path))
        labels, values = liblinear_decisions(theirs, X)
        if solver == 4 and k == 2:
            values = values[:, :1] - values[:, 1:]
        sign = (
            -1 if solver < 10 and k == 2 and theirs.get_labels()[0] < theirs.get_labels()[1] else 1
        )
        mine = np.reshape(decisions(ours, X), values.shape)
        np.testing.assert_allclose(mine, sign * values, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.predict(X), labels, rtol=1e-12, atol=1e-12)
    types = [(tmp_path / path).read_text().split()[1] for path in ("theirs", "ours")]
    # Two classes learnt together are one machine here.
    assert types[0] == types[1] or (solver, k) == (4, 2)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("solver_type X\n", "solver_type must be one of L2R_LR"),
        ("solver_type L2R_LR\nnr_class 2\nnr_feature 2\nbias -1\nw\n1\n2\n", "label must list 2"),
        ("solver_type L2R_LR\nnr_class 2\nlabel 1 2\nbias -1\nw\n1\n2\n", "nr_feature is missing"),
        (
            "solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 2\nbias 1\nw\n1\n2\n",
            "has 2 weights, but 3 features and 1 machines need 3",
        ),
        (
            "solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 2\nbias -1\nw\n1\nx\n",
            "a weight is not a number",
        ),
        (
            "solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 2\nbias -1\nw\n1\ninf\n",
            "not finite",
        ),
        ("solver_type L2R_LR\nnr_class 2\n", "the line w is missing"),
    ],
)
def test_damaged_liblinear_models_are_refused_in_one_sentence(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        wm.load(io.BytesIO(text.encode()))


# --- SVMlight ------------------------------------------------------------------------------------

SVMLIGHT = """SVM-light Version V6.02
{kernel} # kernel type
2 # kernel parameter -d
0.5 # kernel parameter -g
2 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
3 # highest feature index
5 # number of training documents
3 # number of support vectors plus 1
0.25 # threshold b, each following line is a SV (starting with alpha*y)
0.5 1:1 3:2 #
-1.5 2:1 #
"""
X_SVMLIGHT = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [0.5, -1.0, 1.0]])


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (0, lambda x, z: x @ z),
        (1, lambda x, z: (2 * (x @ z) + 1) ** 2),
        (2, lambda x, z: np.exp(-0.5 * (x - z) @ (x - z))),
        (3, lambda x, z: np.tanh(2 * (x @ z) + 1)),
    ],
)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_models_of_svmlight_decide_as_its_manual_says(kernel, formula, task):
    text = SVMLIGHT.format(kernel=kernel).encode()
    model = wm.load(io.BytesIO(text), task=task)
    first, second = X_SVMLIGHT[:2]
    expected = [0.5 * formula(x, first) - 1.5 * formula(x, second) - 0.25 for x in X_SVMLIGHT]
    np.testing.assert_allclose(decisions(model, X_SVMLIGHT), expected, rtol=1e-13, atol=1e-13)
    if task == "classification":
        np.testing.assert_array_equal(
            model.predict(X_SVMLIGHT), np.where(np.array(expected) > 0, 1, -1)
        )


def test_a_linear_model_of_svmlight_is_its_weights():
    X, y = two()
    estimator = wm.LinearSVC().fit(X, y)
    file = io.BytesIO()
    wm.save(estimator, file, format="svmlight")
    lines = file.getvalue().decode().splitlines()
    threshold = float(lines[10].split()[0])
    coefficient, *pairs = lines[11].split()[:-1]
    weights = np.array([float(pair.split(":")[1]) for pair in pairs])
    np.testing.assert_allclose(
        float(coefficient) * X @ weights - threshold, estimator.decision_function(X), rtol=1e-12
    )
    assert isinstance(wm.load(io.BytesIO(file.getvalue())), wm.LinearSVC)


def test_a_short_file_with_a_huge_index_needs_little_memory():
    text = SVMLIGHT.format(kernel=0).replace("3 # number of s", "2 # number of s")
    text = text.replace("-1.5 2:1 #\n", "")

    def load(index):
        named = text.replace("3 # highest", f"{index} # highest").replace("3:2", f"{index}:2")
        return wm.load(io.BytesIO(named.encode()))

    tracemalloc.start()
    assert load(10**9).n_features_in_ == 10**9
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
    assert isinstance(load(10**5), wm.LinearSVC)
    with pytest.raises(ValueError, match="features up to number 32147483647, and machines here"):
        load(32147483647)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("3 # number of s", "7 # number of s"), "has 2 support vectors, but its header says 6"),
        (("0 # kernel type", "4 # kernel type"), "a kernel of the user's own"),
        (("2 # kernel parameter -d", "x # kernel parameter -d"), "must be followed by numbers"),
        (("3 # highest", "1 # highest"), "n_features=1"),
        (("5 # number of training", "-5 # number of training"), "negative or too large"),
    ],
)
def test_damaged_svmlight_models_are_refused_in_one_sentence(change, complaint):
    whole = SVMLIGHT.format(kernel=0)
    with pytest.raises(ValueError, match=complaint):
        wm.load(io.BytesIO(whole.replace(*change).encode()))


@pytest.mark.parametrize("lines", range(1, 12))
def test_svmlight_models_that_end_early_are_refused(lines):
    text = SVMLIGHT.format(kernel=0)
    with pytest.raises(ValueError, match="the file is not complete"):
        wm.load(io.BytesIO("\n".join(text.splitlines()[:lines]).encode()))


# --- one door ------------------------------------------------------------------------------------


def test_what_is_no_model_is_named():
    import pickle

    with pytest.raises(ValueError, match=r"pickle, which could run anything"):
        wm.load(io.BytesIO(pickle.dumps(np.arange(3))))
    with pytest.raises(ValueError, match="load_svmlight reads data"):
        wm.load(io.BytesIO(b"1 1:0.5\n"))
    with pytest.raises(ValueError, match="format must be one of widemargin, libsvm"):
        wm.save(fitted("SVR")[0], io.BytesIO(), format="svm")
    with pytest.raises(ValueError, match="task must be 'classification' or 'regression'"):
        wm.load(io.BytesIO(SVMLIGHT.format(kernel=0).encode()), task="both")


def test_compressed_models_are_recognised(tmp_path):
    estimator, X = fitted("SVC, two classes")
    wm.save(estimator, tmp_path / "m.libsvm.gz", format="libsvm")
    assert farthest(estimator, wm.load(tmp_path / "m.libsvm.gz"), X) <= AGREE


def test_labels_that_a_format_does_not_know_are_named():
    estimator, _ = fitted("SVC, names as labels")
    with pytest.raises(
        ValueError, match="LIBSVM knows only whole numbers as labels, found 'green'"
    ):
        wm.save(estimator, io.BytesIO(), format="libsvm")
