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
    vectors = wm.load("model").support_.size
    begun, text = text.split("Accuracy", 1)
    text = "Accuracy" + text
    assert begun.startswith(f"Reading model...OK. ({vectors} support vectors read)\n")
    assert "Classifying test examples..done\nRuntime (without IO) in cpu-seconds: 0.0" in begun
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
    run("svmlight-learn -z r -c 1 -w 0.2 -a alphas data model")
    alphas = np.loadtxt("alphas")
    assert alphas.shape == (2 * len(y),)  # rows pulled up, then those pulled down, the last first
    assert (alphas[: len(y)] >= 0).all()
    assert (alphas[len(y) :] <= 0).all()
    signed = alphas[: len(y)] + alphas[: len(y) - 1 : -1]
    above = y > np.loadtxt("out") + 0.2 + 1e-2
    assert above.any()
    assert (signed[above] == cost[above]).all()


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


def test_help_is_asked_for_as_there(run):
    assert "-k 0..100" in run("svmlight-learn -?")
    assert "output_file" in run("svmlight-classify -h")


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


@pytest.mark.parametrize("depth", [1, 3, 100])
@pytest.mark.parametrize("options", ["-t 2 -g 0.4 -c 3", "-t 0 -c 0.5", "-t 1 -d 2 -b 0 -c 0.3"])
def test_extended_xi_alpha_searches_means_near_a_row(run, options, depth):
    X, y = mixed(40)
    wm.dump_svmlight(X, y, "data")
    text = run(f"svmlight-learn {options} -k {depth} -e 1e-9 -a alphas data model")
    run("svmlight-classify -v 0 data model out")
    K = kernel_of(options)(X, X)
    C = float(options.split("-c ")[1])
    sizes, xi = np.abs(np.loadtxt("alphas")), np.maximum(0, 1 - y * np.loadtxt("out"))
    origin = np.zeros((1, 3))
    away = np.diag(K) - 2 * kernel_of(options)(X, origin)[:, 0] + kernel_of(options)(origin, origin)
    free = np.flatnonzero((sizes > 0) & (sizes < C * (1 - 1e-9)))
    plain = sizes * away.max() + xi >= 1
    wrong = plain.copy()
    for i in np.flatnonzero(plain):
        inside, best = [], np.inf
        for _ in range(min(depth, len(free) - (i in free))):
            distances = {
                j: K[i, i]
                - 2 * K[i, [*inside, j]].mean()
                + K[np.ix_([*inside, j], [*inside, j])].mean()
                for j in free
                if j != i and j not in inside
            }
            inside.append(min(distances, key=distances.get))
            best = min(best, distances[inside[-1]])
        wrong[i] = sizes[i] * best + xi[i] >= 1
    assert 0 < wrong.sum() <= plain.sum()
    assert wrong.sum() < plain.sum() or options != "-t 2 -g 0.4 -c 3"
    assert percentages("XiAlpha", text) == expected_rates(wrong, y)
    assert text.count(f"(rho=1.00,depth={depth})") == 3


def kernel_of(options):
    return {
        "0": wm.kernels.Linear(),
        "1": wm.kernels.Polynomial(degree=2, gamma=1.0, coef0=1.0),
        "2": wm.kernels.RBF(gamma=0.4),
    }[options.split("-t ")[1][0]]


@pytest.mark.parametrize("options", ["-t 0", "-t 1 -d 2", "-t 2 -g 0.4"])
@pytest.mark.parametrize("sparse", [False, True])
def test_without_threshold_the_dual_has_no_sum(run, options, sparse):
    X, y = mixed(40)
    X = np.where(X > 1, X, 0.0) if sparse else X
    wm.dump_svmlight(X, y, "data")
    text = run(f"svmlight-learn -b 0 -c 0.5 {options} -e 1e-9 -a alphas data model")
    run("svmlight-classify -v 0 data model out")
    K = kernel_of(options)(X, X) * np.outer(y, y)
    alphas = np.zeros(len(y))
    for _ in range(1000):  # each coordinate to its optimum in the box, in turn
        for i in range(len(y)):
            if K[i, i] > 0:
                alphas[i] = np.clip(alphas[i] + (1 - K[i] @ alphas) / K[i, i], 0, 0.5)
    np.testing.assert_allclose(y * np.loadtxt("out"), K @ alphas, atol=1e-5)
    assert wm.load("model").intercept_[0] == 0
    length = np.sqrt(alphas @ K @ alphas)
    assert float(re.search(r"\|w\|=([\d.]+)", text).group(1)) == pytest.approx(length, abs=1e-4)


def test_without_threshold_numbers_are_learnt_too(run):
    X, y = numbers()
    X, y = X[:40], y[:40] - 1.5
    wm.dump_svmlight(X, y, "data")
    run("svmlight-learn -z r -b 0 -t 2 -g 0.4 -c 0.7 -w 0.2 -e 1e-9 data model")
    run("svmlight-classify -v 0 data model out")
    K = wm.kernels.RBF(gamma=0.4)(X, X)
    x = np.zeros(len(y))
    for _ in range(2000):
        for i in range(len(y)):
            others = K[i] @ x - K[i, i] * x[i]
            pull = y[i] - others
            x[i] = np.clip(np.sign(pull) * max(abs(pull) - 0.2, 0) / K[i, i], -0.7, 0.7)
    np.testing.assert_allclose(np.loadtxt("out"), K @ x, atol=1e-5)


def test_lengths_and_dimension_are_those_of_their_formulas(run):
    X, y = mixed(50)
    wm.dump_svmlight(X, y, "data")
    kernel = wm.kernels.Polynomial(degree=2, gamma=1.0, coef0=1.0)
    text = run("svmlight-learn -t 1 -d 2 -c 0.1 -e 1e-9 data model")
    K, origin = kernel(X, X), np.zeros((1, 3))
    machine = wm.SVC(kernel="precomputed", C=0.1, tol=1e-9).fit(K, y)
    squared = machine.dual_coef_[0] @ K[np.ix_(machine.support_, machine.support_)]
    squared = squared @ machine.dual_coef_[0]
    away = np.diag(K) - 2 * kernel(X, origin)[:, 0] + kernel(origin, origin)[0, 0]
    found = {name: float(value) for name, value in re.findall(r"(\|x\||VCdim<)=([\d.]+)", text)}
    assert found["|x|"] == pytest.approx(np.sqrt(np.diag(K).max()), abs=1e-5)
    dimension = squared * away[machine.support_].max() + 1
    assert found["VCdim<"] == pytest.approx(dimension, rel=1e-5)
    for line in ("Runtime in cpu-seconds: 0.", "Computing XiAlpha-estimates...done\n"):
        assert line in text
    counted = int(re.search(r"Number of kernel evaluations: (\d+)\n", text)[1])
    assert counted >= 50 * 51 / 2  # all of so small a kernel matrix
    short = run("svmlight-learn -t 1 -d 2 -c 0.1 -f 0 data model")
    assert "Number of kernel evaluations" in short
    wm.dump_svmlight(X, 2.5 * y, "other")  # the sign is the class
    assert run("svmlight-learn -t 1 -d 2 -c 0.1 other model").count("misclassified") == 1
    assert "at upper bound" in short
    assert "VCdim" not in short
    assert "VCdim" in run("svmlight-learn -f 0 data model")  # the linear kernel is always checked
    gap = re.search(
        r"duality gap: gap=([\d.]+)\nDual objective value: dval=([\d.]+)",
        run("svmlight-learn -v 2 -c 0.1 -t 1 -d 2 -e 1e-9 data model"),
    )
    assert float(gap.group(1)) < 1e-5
    assert float(gap.group(2)) == pytest.approx(machine.dual_objective_, abs=1e-4)


@pytest.mark.parametrize("options", ["", "-b 0", "-t 2 -g 0.5", "-j 3"])
def test_leave_one_out_is_that_of_refits(run, options):
    X, y = mixed()
    wm.dump_svmlight(X, y, "data")
    text = run(f"svmlight-learn -x 1 -o 2 -c 0.7 -e 1e-6 {options} data model")
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


def test_what_cannot_be_left_out_is_said(run):
    X, y = np.array([[2.0], [-1.0], [-2.0]]), np.array([1, -1, -1])
    wm.dump_svmlight(X, y, "data")
    text = run("svmlight-learn -x 1 -c 1 data model")
    assert "Cannot compute leave-one-out with only one example in one class." in text
    assert "Leave-one-out estimate" not in text
    X, y = mixed()
    wm.dump_svmlight(X, y, "data")
    text = run("svmlight-learn -x 1 -i 1 -c 1 data model")
    assert "Cannot compute leave-one-out estimates when removing inconsistent examples." in text


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
    assert f"({(margins <= 0).sum()} misclassified" in text
    loss = np.maximum(1 - margins, 0).sum()
    assert float(re.search(r"loss=([\d.]+)", text).group(1)) == pytest.approx(loss, abs=1e-4)
    assert "XiAlpha" not in text
    assert "larger cost with -c" in run("svmlight-learn -i 1 -c 1e-6 data model", 1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("-k 101", "-k must be from 0 to 100"),
        ("-o -1", "-o must not be negative"),
        ("-x 2", "-x must be 0 or 1"),
        ("-x 1 -z r", "classification"),
        ("-i 1 -z r", "classification"),
        ("-i 1 -f 0", "-f 1"),
        ("-j 2 -z r", "-z c"),
        ("-t 4", "widemargin.kernels"),
        ("-q 1", "at least 2"),
        ("-n 11", "-n must not be above -q"),
    ],
)
def test_what_svm_learn_has_and_this_has_not_is_refused(run, options, sentence):
    assert sentence in " ".join(run(f"svmlight-learn {options} data", 2).split())
