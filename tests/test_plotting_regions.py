"""Decision regions: what they show in two of many dimensions is what the machine decides."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets

from widemargin import SVC, SVR, LinearSVC, OneClassSVM
from widemargin.plotting import DecisionRegionsDisplay

X, Y = datasets.make_moons(90, noise=0.25, random_state=0)
WIDE, WIDE_Y = datasets.make_classification(120, 7, random_state=0)
IRIS, IRIS_Y = datasets.load_iris(return_X_y=True)
MOONS = SVC(C=2.0, gamma=1.0).fit(X, Y)
LINEAR = LinearSVC(loss="hinge", C=0.5).fit(WIDE, WIDE_Y)
FLOWERS = SVC(decision_function_shape="ovr").fit(IRIS, IRIS_Y)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_regions_show_the_decision_function():
    display = DecisionRegionsDisplay.from_estimator(MOONS, X, Y, resolution=30)
    flat = np.column_stack([side.ravel() for side in display.grid])
    np.testing.assert_allclose(display.values.ravel(), MOONS.decision_function(flat))
    np.testing.assert_array_equal(display.points, X)
    np.testing.assert_array_equal(display.support, MOONS.support_vectors_)
    assert display.margin
    assert display.agreement == 1.0
    rings = display.ax_.collections[-1]
    np.testing.assert_array_equal(rings.get_offsets(), MOONS.support_vectors_)
    labels = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert f"{len(MOONS.support_)} support vectors" in labels
    assert {"margin", "decision boundary", "class 0", "class 1"} < set(labels)


def test_lines_are_where_the_decision_is_minus_one_zero_and_one():
    display = DecisionRegionsDisplay.from_estimator(MOONS, X, Y, resolution=150, support=False)
    lines = [c for c in display.ax_.collections if len(np.atleast_1d(c.get_linewidths())) == 1
             and hasattr(c, "levels") and not c.filled]  # fmt: skip
    assert [float(line.levels[0]) for line in lines] == [-1.0, 0.0, 1.0]
    for line in lines:
        points = np.vstack([path.vertices for path in line.get_paths()])
        assert np.abs(MOONS.decision_function(points) - line.levels[0]).max() < 0.01


def test_regions_of_many_classes_are_those_of_the_predictions():
    for model in (FLOWERS, SVC(multi_class="ovr", kernel="linear").fit(IRIS, IRIS_Y)):
        display = DecisionRegionsDisplay.from_estimator(model, IRIS, IRIS_Y, resolution=25)
        flat = np.column_stack([side.ravel() for side in display.grid])
        predicted = model.predict(display.plane.lift(flat))
        leads = display.values.reshape(3, -1)
        np.testing.assert_array_equal(np.argmax(leads, axis=0), predicted)
        np.testing.assert_array_equal((leads > 0).sum(axis=0), 1)


def test_features_are_shown_with_the_others_at_their_median():
    display = DecisionRegionsDisplay.from_estimator(FLOWERS, IRIS, IRIS_Y, features=(3, 1))
    np.testing.assert_array_equal(display.points, IRIS[:, [3, 1]])
    lifted = display.plane.lift(np.array([[5.0, 7.0]]))[0]
    middle = np.median(IRIS, axis=0)
    np.testing.assert_allclose(lifted, [middle[0], 7.0, middle[2], 5.0])
    assert display.ax_.get_xlabel() == "feature 3"


def test_weights_show_each_row_at_its_distance():
    display = DecisionRegionsDisplay.from_estimator(LINEAR, WIDE, WIDE_Y)
    norm = np.linalg.norm(LINEAR.coef_)
    distance = LINEAR.decision_function(WIDE) / norm
    np.testing.assert_allclose(np.diff(display.points[:, 0]), np.diff(distance), atol=1e-9)
    assert display.agreement == 1.0
    short = np.where(WIDE_Y == 1, 1, -1) * LINEAR.decision_function(WIDE) <= 1.001
    assert len(display.support) == short.sum()


def test_principal_directions_are_those_of_the_singular_vectors():
    display = DecisionRegionsDisplay.from_estimator(LINEAR, WIDE, WIDE_Y, projection="pca")
    centred = WIDE - WIDE.mean(axis=0)
    _, lengths, turn = np.linalg.svd(centred, full_matrices=False)
    overlap = np.abs(display.plane.directions @ turn[:2].T)
    np.testing.assert_allclose(overlap, np.eye(2), atol=1e-6)
    share = lengths[0] ** 2 / (lengths**2).sum()
    assert f"({100 * share:.0f} % of variance)" in display.ax_.get_xlabel()
    shown = display.plane.lift(display.points)
    expected = np.mean(LINEAR.predict(shown) == LINEAR.predict(WIDE))
    assert display.agreement == expected < 1


@pytest.mark.parametrize("projection", ["weights", "pca", np.eye(7)[:2] + 0.1])
def test_sparse_rows_give_the_same_picture(projection):
    dense, thin = (
        DecisionRegionsDisplay.from_estimator(
            LINEAR, rows, WIDE_Y, projection=projection, resolution=20
        )
        for rows in (WIDE, sparse.csr_matrix(WIDE))
    )
    np.testing.assert_allclose(thin.points, dense.points, atol=1e-8)
    np.testing.assert_allclose(thin.values, dense.values, atol=1e-8)
    np.testing.assert_allclose(
        thin.plane.directions @ thin.plane.directions.T, np.eye(2), atol=1e-9
    )


def test_detectors_and_regressors_are_shown_by_their_values():
    detector = OneClassSVM(nu=0.2).fit(X)
    display = DecisionRegionsDisplay.from_estimator(detector, X, resolution=12)
    flat = np.column_stack([side.ravel() for side in display.grid])
    np.testing.assert_allclose(display.values.ravel(), detector.decision_function(flat))
    assert not display.margin
    regressor = SVR().fit(X, X[:, 0])
    display = DecisionRegionsDisplay.from_estimator(regressor, X, resolution=12)
    np.testing.assert_allclose(display.values.ravel(), regressor.predict(flat))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"features": (0, 9)}, "two of the 7 columns"),
        ({"features": (1, 1)}, "two different columns"),
        ({"features": (0, 1), "projection": "pca"}, "exclude each other"),
        ({"projection": "tsne"}, "found 'tsne'"),
        ({"projection": np.ones((2, 7))}, "parallel"),
        ({"projection": np.eye(2)}, r"shape \(2, 7\)"),
    ],
)
def test_planes_that_are_none_are_told(settings, message):
    with pytest.raises(ValueError, match=message):
        DecisionRegionsDisplay.from_estimator(LINEAR, WIDE, WIDE_Y, **settings)


def test_rows_of_an_unknown_class_are_told():
    with pytest.raises(ValueError, match="label 7, which is none of the classes"):
        DecisionRegionsDisplay.from_estimator(MOONS, X, np.where(Y == 1, 7, 0))
