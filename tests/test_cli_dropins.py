"""The drop-ins beside the real LIBSVM and LIBLINEAR, on the same files."""

import re
from pathlib import Path

import numpy as np
import pytest
from liblinear import liblinearutil
from libsvm import svmutil
from model_cases import classes, numbers
from scipy import sparse
from their_tools import libsvm_decisions

import widemargin as wm
from widemargin.cli import main, platt

TIGHT = "-e 1e-7"


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Work in an empty folder; run a command line and return what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(line, code=0):
        found = main(line.split())
        output = capfd.readouterr()
        assert found == code, output.err
        return output.out if code == 0 else output.err

    return run


def write(name, data):
    X, y = data
    wm.dump_svmlight(X, y, name)


def lines_of(path):
    """Return the header of a model as a dict, and its other lines."""
    head, _, body = Path(path).read_text().partition("\nSV\n")
    return dict(line.split(" ", 1) for line in head.splitlines()), body.splitlines()


def libsvm_itself(data, options, model, output):
    """Train and predict by LIBSVM itself, through files; return accuracy and squared error."""
    y, X = svmutil.svm_read_problem(data)
    trained = svmutil.svm_train(y, X, options + " -q")
    svmutil.svm_save_model(model, trained)
    X, y = wm.load_svmlight(data)
    labels, _ = libsvm_decisions(svmutil.svm_load_model(model), X.toarray(), "rbf")
    np.savetxt(output, labels, fmt="%.17g")
    return 100 * np.mean(labels == y), np.mean((labels - y) ** 2)


OPTIONS = [
    "",
    "-c 10 -g 0.5",
    "-t 0 -c 2",
    "-t 1 -d 2 -r 1 -g 0.2",
    "-t 3 -g 0.001",
    "-s 1 -n 0.2",
    "-s 2 -n 0.2",
    "-s 3 -p 0.2 -c 5",
    "-s 4 -n 0.3",
    "-w10 2 -w7 0.5",
    "-h 0 -m 10",
]


@pytest.mark.parametrize("options", OPTIONS)
def test_libsvm_train_writes_the_model_of_libsvm(run, options):
    write("data", numbers() if options[:4] in ("-s 3", "-s 4") else classes())
    accuracy = libsvm_itself("data", f"{options} {TIGHT}", "theirs", "their.out")
    run(f"libsvm-train {options} {TIGHT} -q data ours")
    (ours, body), (theirs, their_body) = lines_of("ours"), lines_of("theirs")
    for key in ("svm_type", "kernel_type", "nr_class", "label"):
        assert ours.get(key) == theirs.get(key)
    for key in ("gamma", "coef0", "degree", "rho"):
        if key in theirs:
            a, b = (np.array(h[key].split(), float) for h in (ours, theirs))
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    assert abs(len(body) - len(their_body)) <= 2
    text = run("libsvm-predict data ours our.out")
    a, b = np.loadtxt("our.out"), np.loadtxt("their.out")
    if "classification" in text:
        # Rows on the boundary of a one-class machine may fall on either side.
        assert np.mean(a == b) > (0.9 if "-s 2" in options else 0.999)
        if "-s 2" not in options:
            right = round(accuracy[0] * len(a) / 100)
            assert text == f"Accuracy = {accuracy[0]:g}% ({right}/{len(a)}) (classification)\n"
    else:
        np.testing.assert_allclose(a, b, rtol=1e-4)
        assert text.startswith("Mean squared error = ")
        assert float(text.split()[4]) == pytest.approx(accuracy[1], rel=1e-4)


@pytest.mark.parametrize("names", [(1, -1), (-1, 1), (2, 1), (0, 5)])
def test_two_classes_have_the_order_of_libsvm(run, names):
    write("data", classes(2, names))
    libsvm_itself("data", TIGHT, "theirs", "their.out")
    printed = run(f"libsvm-train {TIGHT} data")
    (ours, _), (theirs, _) = lines_of("data.model"), lines_of("theirs")
    assert ours["label"] == theirs["label"]
    assert float(ours["rho"]) == pytest.approx(float(theirs["rho"]), abs=1e-4)
    rho = float(printed.split("rho = ")[1].split()[0])
    assert rho == pytest.approx(float(theirs["rho"]), abs=1e-4)
    run("libsvm-predict -q data data.model our.out")
    np.testing.assert_array_equal(np.loadtxt("our.out"), np.loadtxt("their.out"))


def test_what_libsvm_prints_of_a_fit_is_printed(run, capfd):
    write("data", classes())
    y, X = svmutil.svm_read_problem("data")
    svmutil.svm_train(y, X, TIGHT)
    theirs = numbers_after(capfd.readouterr().out, ("nu", "obj", "rho", "nSV", "nBSV"))
    ours = numbers_after(run(f"libsvm-train {TIGHT} data m"), ("nu", "obj", "rho", "nSV", "nBSV"))
    assert len(ours["obj"]) == 3
    for key in ("nu", "obj", "rho"):
        np.testing.assert_allclose(ours[key], theirs[key], atol=2e-4)
    for key in ("nSV", "nBSV"):
        np.testing.assert_allclose(ours[key], theirs[key], atol=2)


def numbers_after(text, keys):
    words = text.replace(",", " ").split()
    return {
        key: [float(words[k + 2]) for k in range(len(words) - 2)
              if words[k] == key and words[k + 1] == "=" and words[k - 1] != "Total"]
        for key in keys
    }  # fmt: skip


def test_precomputed_kernels_are_read_as_libsvm_writes_them(run):
    X, y = classes()
    gram = np.column_stack([np.arange(1, len(X) + 1), X @ X.T])
    wm.dump_svmlight(gram, y, "gram", zero_based=True, zeros=True)
    run(f"libsvm-train -t 4 {TIGHT} -q gram m")
    run("libsvm-predict -q gram m out")
    expected = wm.SVC(kernel="linear", tol=1e-7).fit(X, y).predict(X)
    np.testing.assert_array_equal(np.loadtxt("out"), expected)
    theirs = svmutil.svm_load_model("m")
    rows = [dict(enumerate(row)) for row in gram.tolist()]
    assert svmutil.svm_predict(y, rows, theirs, "-q")[0] == expected.tolist()
    assert run("libsvm-train -t 4 -v 3 gram").startswith("Cross Validation Accuracy = 9")


def test_cross_validation_prints_what_libsvm_prints(run):
    write("labels", classes())
    write("targets", numbers())
    assert run("libsvm-train -v 5 labels").startswith("Cross Validation Accuracy = 9")
    text = run("libsvm-train -s 3 -v 5 targets")
    error, correlation = (float(line.split()[-1]) for line in text.splitlines())
    assert error < np.var(numbers()[1])
    assert 0.2 < correlation < 1


@pytest.mark.parametrize("options", ["-s 0", "-s 1 -n 0.2", "-s 3", "-s 2 -n 0.3"])
@pytest.mark.parametrize("k", [2, 3])
def test_probabilities_are_near_those_of_libsvm(run, options, k):
    write("data", numbers() if "-s 3" in options else classes(k))
    y, X = svmutil.svm_read_problem("data")
    theirs = svmutil.svm_train(y, X, f"{options} -b 1 -q {TIGHT}")
    svmutil.svm_save_model("theirs", theirs)
    run(f"libsvm-train {options} -b 1 -q {TIGHT} data ours")
    a, b = lines_of("ours")[0], lines_of("theirs")[0]
    assert [key for key in a if "prob" in key] == [key for key in b if "prob" in key]
    # Folds are drawn at random there, so parameters differ; a model of theirs must agree.
    assert "but disabled in prediction" in run("libsvm-predict data ours out")
    for model in ("ours", "theirs"):
        loaded = svmutil.svm_load_model(model)
        run(f"libsvm-predict -b 1 data {model} out")
        if "-s 3" in options:
            assert np.loadtxt("out").shape == (len(y),)
            continue
        labels, _, expected = svmutil.svm_predict(y, X, loaded, "-b 1 -q")
        head, *rows = Path("out").read_text().splitlines()
        wanted = "normal outlier" if "-s 2" in options else " ".join(map(str, loaded.get_labels()))
        assert head == f"labels {wanted}"
        found = np.array([row.split() for row in rows], float)
        np.testing.assert_allclose(found[:, 1:], expected, atol=0.011 if k == 3 else 2e-6)
        if "-s 2" not in options:
            np.testing.assert_array_equal(found[:, 0], labels)


def test_the_sigmoid_has_the_largest_likelihood():
    chance = np.random.default_rng(0)
    f = chance.normal(size=200)
    positive = f + chance.normal(size=200) > 0
    A, B = platt.sigmoid_of(f, positive)
    up, down = positive.sum(), (~positive).sum()
    targets = np.where(positive, (up + 1) / (up + 2), 1 / (down + 2))

    def loss(a, b):
        p = 1 / (1 + np.exp(a * f + b))
        return -(targets * np.log(p) + (1 - targets) * np.log(1 - p)).sum()

    assert A < 0
    for a, b in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
        assert loss(A, B) < loss(A + a, B + b)


# --- svm-scale -----------------------------------------------------------------------------------

SCALE_DATA = "1 1:2 3:4\n-1.5 1:4 2:1\n0.1 1:3 3:8 4:7\n"


def test_scaling_follows_the_formula_and_the_format(run):
    Path("train").write_text(SCALE_DATA)
    text = run("libsvm-scale -s r train")
    assert text == (
        "1 1:-1 2:-1 4:-1 \n-1.5 1:1 2:1 3:-1 4:-1 \n0.10000000000000001 2:-1 3:1 4:1 \n"
    )
    assert Path("r").read_text() == "x\n-1 1\n1 2 4\n2 0 1\n3 0 8\n4 0 7\n"
    Path("test").write_text("1 1:5 9:3\n")
    assert run("libsvm-scale -r r test") == "1 1:2 2:-1 3:-1 4:-1 \n"
    assert run("libsvm-scale -l 0 -u 10 train").splitlines()[1] == "-1.5 1:10 2:10 "
    scaled = run("libsvm-scale -l 0 -u 3 -y 0 1 -s s train").splitlines()
    assert [line.split()[0] for line in scaled] == ["1", "0", "0.64000000000000001"]
    assert Path("s").read_text().startswith("y\n0 1\n-1.5 1\nx\n0 3\n")
    assert run("libsvm-scale -r s train").splitlines() == scaled


# --- LIBLINEAR -----------------------------------------------------------------------------------

LINEAR = [
    "", "-s 0", "-s 2 -c 0.5 -B 1", "-s 3 -B 2", "-s 4", "-s 5", "-s 6 -B 1", "-s 7 -w7 3",
    "-s 2 -B 1 -R", "-s 11 -p 0.05", "-s 12", "-s 13 -B 1", "-s 21 -n 0.2",
]  # fmt: skip


@pytest.mark.parametrize("options", LINEAR)
@pytest.mark.parametrize("k", [2, 3])
def test_liblinear_train_writes_the_model_of_liblinear(run, options, k):
    kind = int((options or "-s 1").split()[1])
    X, y = numbers() if kind > 10 else classes(k)
    X = X + 2 if kind == 21 else (X - X.mean(axis=0)) / X.std(axis=0)
    wm.dump_svmlight(X, y, "data")
    y, rows = liblinearutil.svm_read_problem("data", return_scipy=True)
    theirs = liblinearutil.train(y, sparse.csr_matrix(rows), f"{options} -q -e 1e-8")
    liblinearutil.save_model("theirs", theirs)
    run(f"liblinear-train {options} -q -e 1e-8 data ours")
    a, b = (Path(name).read_text().splitlines() for name in ("ours", "theirs"))
    assert a[0] == b[0]
    assert [line for line in a if "label" in line] == [line for line in b if "label" in line]
    # LIBLINEAR may stop at its limit of steps: what it has then is no better than ours.
    bias = float(options.split("-B ")[1].split()[0]) if "-B" in options else 0.0
    ours, reference = (solution(name, X.shape[1], bias) for name in ("ours", "theirs"))
    values = [objective(kind, options, bias, *w, X, y) for w in (ours, reference)]
    assert values[0] <= values[1] + 1e-6 * abs(values[1])
    assert values[1] - values[0] <= 5e-3 * abs(values[1])
    f, g = (X @ w + b for w, b, _ in (ours, reference))
    np.testing.assert_allclose(f, g, atol=0.06 * np.abs(g).max())
    text = run("liblinear-predict data ours our.out")
    found, expected = np.loadtxt("our.out"), wm.load("theirs").predict(X)
    if "Accuracy" in text:
        assert np.mean(found == expected) > 0.95
        right = int((found == y).sum())
        assert text == f"Accuracy = {100 * right / len(y):g}% ({right}/{len(y)})\n"
    else:
        np.testing.assert_allclose(found, expected, atol=0.06 * np.abs(expected).max())
        assert text.startswith("Mean squared error = ")


def solution(path, features, bias):
    """Return weights, shift and labels of a file; a column for each machine."""
    head, body = Path(path).read_text().split("w\n", 1)
    found = dict(line.split(" ", 1) for line in head.splitlines())
    w = np.array([line.split() for line in body.splitlines()], float)
    if "rho" in found:
        return w, -np.array([float(found["rho"])]), None
    shift = w[features] * float(found["bias"]) if len(w) > features else np.zeros(w.shape[1])
    labels = np.array(found["label"].split(), int) if "label" in found else None
    return w[:features], shift, labels


def objective(kind, options, bias, w, shift, labels, X, y):
    """Return what LIBLINEAR's manual says is minimised, with C = 1 unless told."""
    C = 0.5 if "-c 0.5" in options else 1.0
    f = X @ w + shift
    inside = w if bias == 0 or "-R" in options else np.vstack([w, shift / bias])
    size = np.abs(inside).sum() if kind in (5, 6) else 0.5 * (inside**2).sum()
    if kind == 21:
        return size + shift.sum() * 1.0 + np.maximum(-f, 0).sum() / (0.2 * len(y))
    if kind > 10:
        excess = np.maximum(np.abs(f[:, 0] - y) - (0.05 if kind == 11 else 0.1), 0)
        return size + C * (excess if kind == 13 else excess**2).sum()
    if kind == 4:
        own = f[np.arange(len(y)), np.argmax(y[:, None] == labels, axis=1)][:, None]
        rivals = np.where(y[:, None] == labels, 0.0, 1 + f - own)
        return size + C * rivals.max(axis=1).sum()
    signs = np.where(y[:, None] == labels[: f.shape[1]], 1.0, -1.0)
    weights = np.where((y[:, None] == 7) & (signs > 0) & ("-w7" in options), 3.0, 1.0)
    if len(labels) == 2 and "-w7" in options:
        weights = np.where(y[:, None] == 7, 3.0, 1.0)
    margin = signs * f
    losses = {0: np.logaddexp(0, -margin), 3: np.maximum(1 - margin, 0)}
    loss = losses[{6: 0, 7: 0}.get(kind, kind)] if kind in (0, 3, 6, 7) else (
        np.maximum(1 - margin, 0) ** 2
    )  # fmt: skip
    return size + C * (weights * loss).sum()


@pytest.mark.parametrize("k", [2, 3])
def test_logistic_probabilities_are_those_of_liblinear(run, k):
    write("data", classes(k))
    run("liblinear-train -s 0 -B 1 -q data m")
    text = run("liblinear-predict -b 1 data m out")
    y, X = liblinearutil.svm_read_problem("data", return_scipy=True)
    theirs = liblinearutil.load_model("m")
    labels, _, expected = liblinearutil.predict(y, sparse.csr_matrix(X), theirs, "-b 1 -q")
    head, *rows = Path("out").read_text().splitlines()
    assert head == f"labels {' '.join(map(str, theirs.get_labels()))}"
    found = np.array([row.split() for row in rows], float)
    np.testing.assert_array_equal(found[:, 0], labels)
    np.testing.assert_allclose(found[:, 1:], expected, atol=1e-5)
    assert text.startswith("Accuracy = ")
    run("liblinear-train -s 1 -q data m")
    assert "only supported for logistic regression" in run("liblinear-predict -b 1 data m o", 1)


@pytest.mark.parametrize("options", ["-s 1", "-s 3 -B 1", "-s 4", "-s 5", "-s 6", "-s 7", "-s 12",
                                     "-s 13 -c 0.1", "-s 21 -n 0.2"])  # fmt: skip
def test_liblinear_train_prints_what_liblinear_prints(run, capfd, options):
    wm.dump_svmlight(*(numbers() if options[:5] in ("-s 12", "-s 13") else classes(2)), "data")
    ours = run(f"liblinear-train {options} -e 1e-6 data m")
    y, rows = liblinearutil.svm_read_problem("data", return_scipy=True)
    capfd.readouterr()
    liblinearutil.train(y, sparse.csr_matrix(rows), f"{options} -e 1e-6")
    theirs = capfd.readouterr().out
    lines = r"^(Objective value|nSV|rho|#nonzeros/#features) = ([-\d.]+)"
    found, expected = (dict(re.findall(lines, text, re.M)) for text in (ours, theirs))
    expected.pop("nSV" if options == "-s 4" else "", None)  # of pairs of a row and a class
    assert found.keys() == expected.keys()
    assert float(found["Objective value"]) == pytest.approx(
        float(expected["Objective value"]), rel=1e-2
    )  # LIBLINEAR stops at its cap
    for name in found.keys() - {"Objective value"}:
        assert float(found[name]) == pytest.approx(float(expected[name]), rel=0.02, abs=2)


def test_liblinear_searches_the_cost_as_liblinear_does(run, capfd):
    X, y = classes(2)
    chance = np.random.default_rng(0)
    wm.dump_svmlight(X, np.where(chance.random(len(y)) < 0.2, y[::-1], y), "data")
    text = run("liblinear-train -C -s 2 data")
    labels, rows = liblinearutil.svm_read_problem("data", return_scipy=True)
    liblinearutil.train(labels, sparse.csr_matrix(rows), "-C -s 2")
    theirs = capfd.readouterr().out

    def costs(text):
        return [float(line.split()[0][6:] or line.split()[1]) for line in text.splitlines()
                if line.startswith("log2c=")]  # fmt: skip

    assert costs(text)[0] == costs(theirs)[0]
    assert costs(text)[: len(costs(theirs))] == costs(theirs)
    head, *_, last = text.splitlines()
    assert head == "Doing parameter search with 5-fold cross validation."
    C, accuracy = (float(word.rstrip("%")) for word in last.split() if word[0].isdigit())
    assert last.startswith("Best C = ")
    assert C in [2.0**c for c in costs(text)]
    assert accuracy >= 70
    assert not Path("data.model").exists()
    write("numbers", numbers())
    text = run("liblinear-train -C -s 11 -c 1 -p 0.2 -v 3 -q numbers")
    assert text.splitlines()[-1].startswith("Best C = ")
    assert "Best p = 0.2  CV MSE = " in text
    assert len(text.splitlines()) == 2


# --- command lines -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("libsvm-train -z 1 data", 2, "svm-train has no option -z; it has -s -t"),
        ("libsvm-train -c 1", 2, "needs training_set_file"),
        ("libsvm-train -c x data", 2, "option -c needs a number, found 'x'"),
        ("libsvm-train -s 9 data", 2, "-s and -t are numbers from 0 to 4"),
        ("libsvm-train -v 1 data", 2, "n must >= 2"),
        ("libsvm-train missing", 1, "missing: No such file"),
        ("libsvm-train numbers", 1, "labels of classes must be whole numbers"),
        ("libsvm-predict data", 2, "needs test_file, model_file and output_file"),
        ("liblinear-train -C -s 3 data", 2, "`widemargin tune` searches for all"),
        ("liblinear-train -R data", 2, "-R needs -B 1"),
        ("liblinear-train -s 8 data", 2, "-s must be one of 0, 1, 2"),
        ("svmlight-learn -z p data", 2, "-z must be c or r"),
        ("svmlight-learn -p 2 data", 2, "-p must be at most 1"),
        ("svmlight-learn zeros", 1, "found rows of label 0"),
        ("libsvm-scale -l 1 -u 1 data", 1, "lower must be below upper"),
        ("libsvm-scale -s a -r b data", 2, "cannot use -r and -s simultaneously"),
    ],
)
def test_wrong_command_lines_are_told(run, line, code, sentence):
    write("data", classes())
    write("numbers", numbers())
    Path("zeros").write_text("1 1:1\n-1 1:2\n0 1:3\n")
    assert sentence in " ".join(run(line, code).split())
