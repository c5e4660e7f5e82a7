"""The drop-ins of SVMlight: what they learn follows its manual, what they write its formats."""

import re
from pathlib import Path

import numpy as np
import pytest
from model_cases import classes, numbers

import widemargin as wm
from widemargin.cli import main


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


@pytest.mark.parametrize("options", ["", "-c 2", "-t 2 -g 0.3", "-t 1 -d 2 -s 0.5 -r 2", "-j 3"])
def test_svmlight_learns_what_its_problem_says(run, options):
    X, y = classes(2, (-1, 1))
    wm.dump_svmlight(X, y, "data")
    run(f"svmlight-learn {options} -e 1e-8 data model")
    text = run("svmlight-classify data model out")
    values = np.loadtxt("out")
    given = dict(zip(options.split()[::2], map(float, options.split()[1::2]), strict=True))
    kernels = {
        0: wm.kernels.Linear(),
        1: wm.kernels.Polynomial(degree=2, gamma=0.5, coef0=2),
        2: wm.kernels.RBF(gamma=0.3),
    }
    kernel = kernels[int(given.get("-t", 0))]
    K = kernel(X, X)
    zero = np.zeros((1, X.shape[1]))
    distances = np.sqrt(np.diag(K) - 2 * kernel(X, zero)[:, 0] + kernel(zero, zero)[0, 0])
    C = given.get("-c", 1 / distances.mean() ** 2)
    weights = np.where(y > 0, given.get("-j", 1.0), 1.0)
    expected = wm.SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y, weights)
    np.testing.assert_allclose(values, expected.decision_function(K), atol=1e-5)
    run("svmlight-classify -v 0 -f 0 data model both")
    words = Path("both").read_text().splitlines()
    expect = [f"{v:.8g}:+1 {-v:.8g}:-1" if v > 0 else f"{-v:.8g}:-1 {v:.8g}:+1" for v in values]
    assert words == expect
    right = int(((values > 0) == (y > 0)).sum())
    assert text.startswith(f"Accuracy on test set: {100 * right / len(y):.2f}% ({right} correct, ")
    assert "Precision/recall on test set: " in text


def test_svmlight_reads_costs_and_learns_numbers(run):
    X, y = numbers()
    cost = np.where(np.arange(len(y)) < 50, 2.0, 1.0)
    wm.dump_svmlight(X, y, "data", cost=cost)
    run("svmlight-learn -z r -c 1 -w 0.2 -e 1e-8 data model")
    run("svmlight-classify -v 0 data model out")
    expected = wm.SVR(kernel="linear", C=1, epsilon=0.2, tol=1e-8).fit(X, y, cost).predict(X)
    np.testing.assert_allclose(np.loadtxt("out"), expected, atol=1e-5)
    run("svmlight-learn -z r -b 0 -c 1 data model")
    assert isinstance(wm.load("model", task="regression"), wm.LinearSVR)


def test_what_svm_learn_prints_is_printed(run):
    X, y = classes(2, (-1, 1))
    wm.dump_svmlight(X, y, "data")
    text = run("svmlight-learn -c 0.5 -t 2 -g 0.1 -a alphas data model")
    expected = wm.SVC(C=0.5, gamma=0.1).fit(X, y)
    alphas = np.loadtxt("alphas")
    assert np.flatnonzero(alphas).tolist() == sorted(expected.support_.tolist())
    assert alphas.sum() == pytest.approx(0.0, abs=1e-9)
    assert re.search(rf"Reading examples.*OK\. \({len(y)} examples read\)", text)
    assert "Setting default regularization" not in text
    wrong = int((expected.predict(X) != y).sum())
    assert f"Optimization finished ({wrong} misclassified, maxdiff=0.0" in text
    bounded = int((np.abs(alphas) == 0.5).sum())
    assert f"Number of SV: {(alphas != 0).sum()} (including {bounded} at upper bound)" in text
    loss = np.maximum(1 - y * expected.decision_function(X), 0).sum()
    found = float(re.search(r"L1 loss: loss=([\d.]+)", text).group(1))
    assert found == pytest.approx(loss, abs=1e-2)
    assert text.endswith("Writing model file...done\n")
    assert "Setting default regularization parameter C=" in run("svmlight-learn data model")
    assert run("svmlight-learn -v 0 data model") == ""


def mixed(rows=30):
    """Return rows of two classes that overlap, more of the positive one."""
    rng = np.random.default_rng(4)
    y = np.where(np.arange(rows) % 5 < 3, 1, -1)
    return rng.normal(size=(rows, 3)) + 0.7 * y[:, None], y


def percentages(name, text):
    """Return error, recall and precision of the estimate `name`, as printed."""
    return [float(found) for found in re.findall(rf"{name}-?estimate of .*[=>]([\d.]+)%", text)]


def expected_rates(wrong, y):
    found, false = (~wrong & (y > 0)).sum(), (wrong & (y < 0)).sum()
    fractions = [wrong.mean(), found / (y > 0).sum(), found / (found + false)]
    return pytest.approx([100 * fraction for fraction in fractions], abs=0.006)


@pytest.mark.parametrize("rho", [1.0, 2.0, 0.3])
def test_xi_alpha_is_the_count_of_its_formula(run, rho):
    X, y = mixed(60)
    wm.dump_svmlight(X, y, "data")
    text = run(f"svmlight-learn -t 2 -g 0.4 -c 0.8 -e 1e-8 -o {rho} -j 2 data model")
    machine = wm.SVC(C=0.8, gamma=0.4, tol=1e-8).fit(X, y, np.where(y > 0, 2.0, 1.0))
    alphas = np.zeros(len(y))
    alphas[machine.support_] = np.abs(machine.dual_coef_[0])
    xi = np.maximum(0, 1 - y * machine.decision_function(X))
    radius = max(2 - 2 * np.exp(-0.4 * (row @ row)) for row in X)
    wrong = np.array([rho * alphas[i] * radius + xi[i] >= 1 for i in range(len(y))])
    assert 0 < wrong.sum() < len(y)
    assert percentages("XiAlpha", text) == expected_rates(wrong, y)
    assert text.count(f"(rho={rho:.2f},depth=0)") == 3


@pytest.mark.parametrize("options", ["", "-b 0", "-t 2 -g 0.5", "-j 3"])
def test_leave_one_out_is_that_of_refits(run, options):
    X, y = mixed()
    wm.dump_svmlight(X, y, "data")
    text = run(f"svmlight-learn -x 1 -c 0.7 -e 1e-6 {options} data model")
    weights = np.where(y > 0, 3.0 if options == "-j 3" else 1.0, 1.0)
    wrong = np.zeros(len(y), dtype=bool)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        machine = wm.SVC(C=0.7, kernel="linear", tol=1e-8)
        if options == "-b 0":
            machine = wm.LinearSVC(loss="hinge", C=0.7, fit_intercept=False, tol=1e-8)
        elif options.startswith("-t"):
            machine.set_params(kernel="rbf", gamma=0.5)
        machine.fit(X[rest], y[rest], sample_weight=weights[rest])
        wrong[i] = y[i] * machine.decision_function(X[[i]])[0] <= 0
    assert percentages("Leave-one-out ", text) == expected_rates(wrong, y)
    fits = int(re.search(r"one-outs computed:  (\d+)", text).group(1))
    assert 0 < fits < len(y)


def test_leaving_out_the_only_row_of_a_class_is_an_error(run):
    X, y = np.array([[2.0], [-1.0], [-2.0]]), np.array([1, -1, -1])
    wm.dump_svmlight(X, y, "data")
    text = run("svmlight-learn -x 1 -c 1 data model")
    assert "Leave-one-out estimate of the recall: recall=0.00%" in text


def test_inconsistent_rows_are_removed(run):
    X, y = classes(2, (-1, 1))
    X, y = np.vstack([X, X[:2], X[-1:]]), np.concatenate([y, -y[:2], -y[-1:]])
    wm.dump_svmlight(X, y, "data")
    text = run("svmlight-learn -i 1 -c 5 -e 1e-8 -a alphas data model")
    removed = int(re.search(r"plus (\d+) inconsistent", text).group(1))
    alphas = np.loadtxt("alphas")
    assert len(alphas) == len(y)
    assert (np.abs(alphas) < 5).all()
    run("svmlight-classify -v 0 data model out")
    margins = y * np.loadtxt("out")
    assert (margins[-3:] < 0).all()
    assert removed >= 3
    assert (margins < 1 - 1e-5).sum() <= removed
    assert "(0 misclassified" in text
    assert "XiAlpha" not in text
    assert "larger cost with -c" in run("svmlight-learn -i 1 -c 1e-6 data model", 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("-k 1", "-x 1 is exact"),
        ("-o 0", "-o must be above 0"),
        ("-x 2", "-x must be 0 or 1"),
        ("-x 1 -z r", "classification"),
        ("-i 1 -x 1", "not with -i 1"),
        ("-i 1 -b 0", "-b 1"),
        ("-p 0.5", "transductive"),
        ("-l labels", "transductive"),
    ],
)
def test_what_svm_learn_has_and_this_has_not_is_refused(run, options, sentence):
    assert sentence in " ".join(run(f"svmlight-learn {options} data", 2).split())
