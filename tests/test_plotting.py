"""The displays: the numbers they draw are those of naive formulas, and their text can be read."""

import subprocess
import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, SVR, LinearSVC, OneClassSVM, Perceptron
from widemargin.plotting import (
    ConfusionDisplay,
    ConvergenceDisplay,
    DecisionRegionsDisplay,
    MarginDisplay,
    MistakesDisplay,
    PathDisplay,
    SearchDisplay,
    model_picture,
)

X, Y = datasets.make_moons(90, noise=0.25, random_state=0)
WIDE, WIDE_Y = datasets.make_classification(120, 7, random_state=0)
IRIS, IRIS_Y = datasets.load_iris(return_X_y=True)
MOONS = SVC(C=2.0, gamma=1.0).fit(X, Y)
LINEAR = LinearSVC(loss="hinge", C=0.5).fit(WIDE, WIDE_Y)
FLOWERS = SVC(decision_function_shape="ovr").fit(IRIS, IRIS_Y)
BLOBS, BLOBS_Y = datasets.make_blobs(60, 2, centers=[[2, 5], [6, 3]], random_state=3)
LEARNER = Perceptron(shuffle=False, mistake_bound=True).fit(BLOBS, BLOBS_Y)
POINTS = [(c, g) for c in (0.1, 1.0, 10.0) for g in (0.01, 1.0)]
SCORES = [0.6, 0.7, 0.8, 0.75, 0.9, 0.65]
# A path whose two multipliers rise to their bound, bend, and stay.
PATH = SimpleNamespace(
    C=np.array([0.1, 0.5, 2.0]),
    alpha=lambda C: np.array([min(C, 0.5), min(C, 2.0)]),
    error=lambda C, *test: 0.25 if C < 0.5 else 0.125 * (1 + len(test)),
)

EVERY = {
    "regions": lambda ax: DecisionRegionsDisplay.from_estimator(MOONS, X, Y, ax=ax),
    "regions, many features": lambda ax: DecisionRegionsDisplay.from_estimator(
        LINEAR, WIDE, WIDE_Y, ax=ax
    ),
    "regions, many classes": lambda ax: DecisionRegionsDisplay.from_estimator(
        FLOWERS, IRIS, IRIS_Y, ax=ax
    ),
    "margins": lambda ax: MarginDisplay.from_estimator(LINEAR, WIDE, WIDE_Y, ax=ax),
    "distances": lambda ax: MarginDisplay.from_estimator(FLOWERS, IRIS, IRIS_Y, ax=ax),
    "gap": lambda ax: ConvergenceDisplay.from_estimator(LINEAR, show="gap", ax=ax),
    "objective": lambda ax: ConvergenceDisplay.from_estimator(LINEAR, show="objective", ax=ax),
    "mistakes": lambda ax: MistakesDisplay.from_estimator(LEARNER, ax=ax),
    "grid": lambda ax: SearchDisplay.from_points(POINTS, SCORES, names=("C", "gamma"), ax=ax),
    "scattered": lambda ax: SearchDisplay.from_points(
        POINTS[1:], SCORES[1:], names=("C", "gamma"), ax=ax
    ),
    "curve": lambda ax: SearchDisplay.from_points([1, 2, 3], [0.1, 0.4, 0.2], names="C", ax=ax),
    "confusion": lambda ax: ConfusionDisplay.from_estimator(FLOWERS, IRIS, IRIS_Y, ax=ax),
    "path": lambda ax: PathDisplay.from_path(PATH, show="alpha", ax=ax),
    "path, error": lambda ax: PathDisplay.from_path(PATH, X, Y, show="error", ax=ax),
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", EVERY)
def test_all_text_is_inside_the_figure_and_the_legend_hides_no_mark(name):
    display = EVERY[name](None)
    figure = display.figure_
    figure.canvas.draw()
    filled = figure.get_tightbbox()  # inches
    width, height = figure.get_size_inches()
    assert filled.x0 >= -0.01
    assert filled.y0 >= -0.01
    assert filled.x1 <= width + 0.01
    assert filled.y1 <= height + 0.01
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is not None and name not in ("gap", "objective", "path, error"):
            assert legend.get_window_extent().x0 >= axes.bbox.x1


@pytest.mark.parametrize("name", EVERY)
def test_given_axes_are_drawn_on_and_a_display_draws_again(name):
    figure, (one, other) = plt.subplots(1, 2)
    display = EVERY[name](one)
    assert display.figure_ is figure
    assert one.get_xlabel()
    assert one.get_ylabel()
    assert not other.has_data()
    shown = {} if not hasattr(display, "axes_") else {"show": EVERY_PANEL[name]}
    assert display.plot(ax=other, **shown) is display
    assert other.get_xlabel() == one.get_xlabel()
    assert len(other.get_children()) == len(one.get_children())


EVERY_PANEL = {"gap": "gap", "objective": "objective", "path": "alpha", "path, error": "error"}


# --- margins -------------------------------------------------------------------------------------


def test_margins_are_those_of_the_formula():
    display = MarginDisplay.from_estimator(LINEAR, WIDE, WIDE_Y)
    margins = np.where(WIDE_Y == 1, 1, -1) * (WIDE @ LINEAR.coef_[0] + LINEAR.intercept_)
    np.testing.assert_allclose(display.margins, margins)
    for k in range(2):
        expected, _ = np.histogram(margins[k == WIDE_Y], display.edges)
        np.testing.assert_array_equal(display.counts[k], expected)
    assert display.counts.sum() == len(WIDE)
    assert np.abs(display.edges).min() == 0.0
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert sum(heights) == len(WIDE)
    assert f"{(margins < 0).sum()} of 120 rows" in display.ax_.get_title(loc="left")


def test_distances_are_margins_over_the_length_of_w():
    display = MarginDisplay.from_estimator(LINEAR, WIDE, WIDE_Y, geometric=True)
    functional = MarginDisplay.from_estimator(LINEAR, WIDE, WIDE_Y)
    norm = np.linalg.norm(LINEAR.coef_)
    np.testing.assert_allclose(display.margins * norm, functional.margins)
    assert display.edge == pytest.approx(1 / norm)
    kernel = MarginDisplay.from_estimator(MOONS, X, Y, geometric=True)
    np.testing.assert_allclose(kernel.margins, MOONS.margin(X, Y))
    assert kernel.edge == pytest.approx(MOONS.margin_width_ / 2)


def test_many_classes_have_distances_or_leads():
    np.testing.assert_allclose(
        MarginDisplay.from_estimator(FLOWERS, IRIS, IRIS_Y).margins, FLOWERS.margin(IRIS, IRIS_Y)
    )
    model = LinearSVC().fit(IRIS, IRIS_Y)
    scores = model.decision_function(IRIS)
    leads = [row[c] - max(np.delete(row, c)) for row, c in zip(scores, IRIS_Y, strict=True)]
    np.testing.assert_allclose(MarginDisplay.from_estimator(model, IRIS, IRIS_Y).margins, leads)


# --- convergence ---------------------------------------------------------------------------------


def test_convergence_ends_at_the_certificate():
    display = ConvergenceDisplay.from_estimator(LINEAR)
    run = display.runs[0]
    assert run.gap[-1] == LINEAR.duality_gap_
    assert run.primal[-1] == pytest.approx(LINEAR.primal_objective_)
    assert run.dual[-1] == pytest.approx(LINEAR.dual_objective_)
    known = np.isfinite(run.primal)
    assert (np.diff(run.primal[known]) <= 0).all()
    assert (np.diff(run.dual) >= 0).all()
    assert (run.primal[known] >= run.dual[known] - 1e-9).all()
    np.testing.assert_array_equal(run.gap[:-1], [record.gap for record in LINEAR.history_])


def test_convergence_of_many_machines():
    display = ConvergenceDisplay.from_estimator(FLOWERS, show=["violation"], against="iterations")
    assert len(display.runs) == 3
    ends = [run.violation[-1] for run in display.runs]
    assert max(ends) == FLOWERS.kkt_violation_
    drawn = display.axes_[0].lines
    assert sorted(line.get_ydata()[-1] for line in drawn[1::2]) == pytest.approx(sorted(ends))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ConvergenceDisplay.from_estimator(LEARNER), "MistakesDisplay"),
        (lambda: ConvergenceDisplay.from_estimator(StandardScaler()), "has no history"),
        (lambda: ConvergenceDisplay.from_estimator(LINEAR, show="speed"), "found 'speed'"),
        (lambda: ConvergenceDisplay.from_estimator(LINEAR, against="C"), "found 'C'"),
        (lambda: ConvergenceDisplay.from_estimator(LINEAR, ax=np.empty(3)), "one for each panel"),
        (lambda: MistakesDisplay.from_estimator(LINEAR), "counts no mistakes"),
        (lambda: PathDisplay.from_path(PATH, show="bias"), "found 'bias'"),
        (lambda: SearchDisplay.from_estimator(LINEAR), "fit the search"),
        (lambda: SearchDisplay.from_points([1], [1, 2], names=["C"]), "each of the 2 scores"),
        (lambda: ConfusionDisplay.from_predictions([1], [1], normalize="x"), "found 'x'"),
        (lambda: ConfusionDisplay.from_predictions([1, 1], [1]), "each of the 2 rows"),
        (lambda: MarginDisplay.from_estimator(MOONS, X, np.ones((3, 2))), "one label for each"),
    ],
)
def test_what_cannot_be_drawn_is_told(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- mistakes ------------------------------------------------------------------------------------


def test_mistakes_add_up_and_stay_below_the_bound():
    display = MistakesDisplay.from_estimator(LEARNER)
    assert display.mistakes.sum() == LEARNER.mistakes_ == display.total[-1]
    assert display.bound == LEARNER.mistake_bound_ >= display.total.max()
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert heights == display.mistakes.tolist()
    drawn = [line.get_ydata() for line in display.ax_.lines]
    np.testing.assert_array_equal(drawn[0], display.total)
    assert set(drawn[1]) == {display.bound}


def test_earlier_calls_count_and_long_histories_are_thinned():
    twice = Perceptron(shuffle=False).partial_fit(X, Y, classes=[0, 1]).partial_fit(X, Y)
    assert MistakesDisplay.from_estimator(twice).total.tolist() == [twice.mistakes_]
    long = Perceptron(tol=None, max_iter=800).fit(X, Y)
    display = MistakesDisplay.from_estimator(long)
    assert len(display.sweeps) < 800
    assert display.total[-1] == long.mistakes_
    assert (np.diff(display.total) >= 0).all()
    overlapping = Perceptron(mistake_bound=True).fit(X, Y)
    assert overlapping.mistake_bound_ == np.inf
    assert MistakesDisplay.from_estimator(overlapping).bound is None


# --- searches, confusion, paths ------------------------------------------------------------------


def test_search_of_scikit_learn():
    machine = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.1, 1.0], "svc__shrinking": [True, False]}
    search = GridSearchCV(machine, grid, cv=3).fit(X, Y)
    display = SearchDisplay.from_estimator(search)
    assert display.names == ("C", "gamma")
    table = np.asarray(display.ax_.images[0].get_array())
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        row, column = (grid[name].index(params[name]) for name in ("svc__gamma", "svc__C"))
        assert table[row, column] == pytest.approx(score)  # shrinking changes nothing
    best = display.points[display.best]
    assert display.scores[display.best] == pytest.approx(search.best_score_)
    assert f"C={best[0]:.4g}" in display.ax_.get_title(loc="left")


def test_search_over_one_parameter_and_of_errors():
    search = GridSearchCV(SVC(), {"C": [10.0, 0.1, 1.0]}, cv=3).fit(X, Y)
    display = SearchDisplay.from_estimator(search)
    line = display.ax_.lines[0]
    assert line.get_xdata().tolist() == [0.1, 1.0, 10.0]
    expected = search.cv_results_["mean_test_score"][[1, 2, 0]]
    np.testing.assert_allclose(line.get_ydata(), expected)
    assert display.ax_.get_xscale() == "log"
    errors = SearchDisplay.from_points(POINTS, SCORES, names=("C", "g"), larger_is_better=False)
    assert errors.best == 0
    with pytest.raises(ValueError, match="one or two, found 3"):
        SearchDisplay.from_estimator(search, parameters=["C", "gamma", "degree"])


@pytest.mark.parametrize("normalize", [None, "true", "predicted", "all"])
def test_confusion_is_that_of_scikit_learn(normalize):
    predicted = FLOWERS.predict(IRIS)
    display = ConfusionDisplay.from_estimator(FLOWERS, IRIS, IRIS_Y, normalize=normalize)
    named = {None: None, "true": "true", "predicted": "pred", "all": "all"}[normalize]
    np.testing.assert_allclose(display.shown, confusion_matrix(IRIS_Y, predicted, normalize=named))
    written = {t.get_position(): t.get_text() for t in display.ax_.texts}
    counts = confusion_matrix(IRIS_Y, predicted)
    assert written.keys() == {(j, i) for i, j in np.argwhere(counts)}
    assert display.accuracy == FLOWERS.score(IRIS, IRIS_Y)


def test_path_shows_multipliers_and_errors_between_the_breakpoints():
    display = PathDisplay.from_path(PATH, X, Y)
    assert set(PATH.C) <= set(np.round(display.C, 12))
    np.testing.assert_allclose(display.shares[:, 0], np.minimum(1.0, 0.5 / display.C))
    np.testing.assert_allclose(display.shares[:, 1], 1.0)
    np.testing.assert_array_equal(display.errors["test"][display.C > 0.6], 0.375)
    first = PathDisplay.from_path(PATH, rows=[0], show="alpha")
    assert first.shares.shape[1] == 1


# --- any model -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "rows", "labels"),
    [
        (MOONS, X, Y),
        (LINEAR, WIDE, WIDE_Y),
        (LINEAR, sparse.csr_matrix(WIDE), None),
        (LEARNER, BLOBS, BLOBS_Y),
        (OneClassSVM().fit(IRIS), IRIS, None),
        (SVR().fit(IRIS[:, :3], IRIS[:, 3]), IRIS[:, :3], IRIS[:, 3]),
        (SVR().fit(IRIS[:, :3], IRIS[:, 3]), IRIS[:, :3], None),
    ],
)
def test_a_picture_of_any_model_has_a_history_and_its_data(model, rows, labels):
    figure = model_picture(model, rows, labels)
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    assert len(panels) == 2
    assert all(axes.has_data() and axes.get_xlabel() for axes in panels)


def test_without_matplotlib_one_sentence_tells():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from widemargin.plotting import ConfusionDisplay, model_picture\n"
        "for draw in (lambda: ConfusionDisplay.from_predictions([1], [1]), "
        "lambda: model_picture(None)):\n"
        "    try: draw()\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sentence = 'install it with: pip install "widemargin[plot]"'
    assert done.stdout.count(sentence) == 2
