"""``make run``: what it prints is true, and what it leaves behind can be used."""

import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn import svm

from widemargin import load
from widemargin.demo import GAMMA, C, digits
from widemargin.plotting import closest_duels, fit_report

HIDE_MATPLOTLIB = (
    "import sys; sys.modules['matplotlib'] = None; "
    "from widemargin.demo import main; sys.exit(main(sys.argv[1:]))"
)


def run(*command):
    finished = subprocess.run(
        [sys.executable, "-W", "error", *command], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    text = run("-m", "widemargin.demo", "--out", str(folder / "new"))
    model = load(folder / "new" / "digits.model")
    return text, folder / "new", model


def figures(text, label):
    """Return the numbers of the line that begins with the label."""
    line = re.search(rf"^{label}(?= )(.*)$", text, re.MULTILINE)[1]
    return [float(number) for number in re.findall(r"\d[\d.]*(?:e[-+]\d+)?", line)]


def kernel(A, B):
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.exp(-GAMMA * np.maximum(squares, 0))


def test_objectives_are_those_of_the_model(demo):
    """Recomputed by the textbook formula from coefficients and intercepts alone."""
    text, _, model = demo
    data = digits()
    K = kernel(data.X, data.X)
    primal = dual = 0.0
    for machine in model.machines_:
        labels = data.y[machine.rows]
        signs = np.where(labels == model.classes_[machine.classes[0]], 1.0, -1.0)
        weights = machine.coefficients
        outputs = K[np.ix_(machine.rows, machine.rows)] @ weights
        losses = np.maximum(0.0, 1.0 - signs * (outputs + machine.bias))
        assert (signs * weights >= 0).all()
        assert np.abs(weights).max() <= C
        primal += 0.5 * weights @ outputs + C * losses.sum()
        dual += np.abs(weights).sum() - 0.5 * weights @ outputs
    assert figures(text, "primal objective") == pytest.approx([primal], abs=2e-6 * primal)
    assert figures(text, "dual objective") == pytest.approx([dual], abs=2e-6 * primal)
    gap = (primal - dual) / primal
    assert figures(text, "relative gap") == pytest.approx([gap], rel=0.05)
    assert figures(text, "KKT violation")[0] <= model.tol


def test_figures_of_both_libraries(demo):
    text, _, model = demo
    data = digits()
    rival = svm.SVC(C=C, gamma=GAMMA).fit(data.X, data.y)
    accuracies = [m.score(data.X_test, data.y_test) for m in (model, rival)]
    assert figures(text, "test accuracy") == pytest.approx(accuracies, abs=5e-5)
    assert figures(text, "support vectors") == [len(model.support_), len(rival.support_)]
    assert all(milliseconds > 0 for milliseconds in figures(text, "fit"))
    certain = int(model.is_certain(data.X_test).sum())
    assert figures(text, "certain labels") == [certain, len(data.y_test)]
    assert model.status_.value in text


def test_model_and_picture(demo):
    text, folder, model = demo
    assert str(folder / "digits.model") in text
    data = digits()
    assert model.score(data.X_test, data.y_test) > 0.98
    picture = (folder / "digits.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 20_000
    assert sorted(path.name for path in folder.iterdir()) == ["digits.model", "digits.png"]


def test_without_matplotlib_one_sentence_tells(tmp_path):
    text = run("-c", HIDE_MATPLOTLIB, "--out", str(tmp_path))
    assert 'pip install "widemargin[plot]"' in text
    assert [path.name for path in tmp_path.iterdir()] == ["digits.model"]


def test_closest_duels_against_a_loop(demo):
    _, _, model = demo
    X = digits().X_test[:40]
    duel = closest_duels(model, X)
    decisions = model.decision_function(X)
    pairs = [(a, b) for a in range(10) for b in range(a + 1, 10)]
    for row in range(len(X)):
        chosen = duel.chosen[row]
        margins = {
            (b if a == chosen else a): (value if a == chosen else -value)
            for (a, b), value in zip(pairs, decisions[row], strict=True)
            if chosen in (a, b)
        }
        assert duel.margin[row] == min(margins.values())
        assert margins[duel.rival[row]] == duel.margin[row]
    assert (duel.certain == model.is_certain(X)).all()


def test_report_of_two_classes_and_of_other_shapes():
    from widemargin import SVC

    data = digits()
    two = data.y < 2
    X, y = data.X[two], data.y[two]
    model = SVC(C=C, gamma=GAMMA).fit(X, y)
    figure = fit_report(model, X[:5], y[:5], image_shape=(8, 8))
    assert figure.subfigs[0].axes[0].get_title(loc="left") == "One machine"
    votes = SVC(C=C, gamma=GAMMA).fit(data.X, data.y)
    with pytest.raises(ValueError, match='set decision_function_shape="ovo"'):
        closest_duels(votes, data.X[:3])
