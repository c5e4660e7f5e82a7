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
    assert run("svmlight-learn -x 1 data", 2)
