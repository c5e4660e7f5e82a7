"""The measures that `widemargin evaluate` prints."""

import numpy as np
import pytest
from sklearn import metrics

from widemargin.cli.scores import classification_scores, regression_scores


def test_scores_are_those_of_scikit_learn():
    chance = np.random.default_rng(0)
    y, guesses = chance.integers(0, 3, 200), chance.integers(0, 3, 200)
    found = classification_scores(y, guesses)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, guesses))
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, guesses))
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(y, guesses, average="macro"))
    np.testing.assert_array_equal(found["confusion"], metrics.confusion_matrix(y, guesses))
    a, b = chance.normal(size=50), chance.normal(size=50)
    found = regression_scores(a, b)
    assert found["r2"] == pytest.approx(metrics.r2_score(a, b))
    assert found["mean_squared_error"] == pytest.approx(metrics.mean_squared_error(a, b))
    assert found["squared_correlation"] == pytest.approx(np.corrcoef(a, b)[0, 1] ** 2)
