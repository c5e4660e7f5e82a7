"""Ctrl-C at any moment of a fit leaves a model that works and says what it is, or none at all."""

import sys
from inspect import signature
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

import widemargin
from widemargin import Status

X, THREE = make_classification(80, 6, n_informative=4, n_classes=3, random_state=0)
X = np.abs(X)  # which plain Winnow needs
TWO = np.where(THREE == 1, 7, 9)
MOMENTS = 5

LEARNERS = {
    name: kind
    for name in widemargin.__all__
    if isinstance(kind := getattr(widemargin, name), type)
    and "callback" in signature(kind).parameters
}
CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in LEARNERS] + [
    ("Perceptron", {"dual": True}),
    ("VotedPerceptron", {"kernel": "rbf"}),
    ("AveragedPerceptron", {"kernel": "rbf"}),
    ("Winnow", {"balanced": False}),
    ("Pegasos", {"kernel": "rbf"}),
    ("SVC", {"multi_class": "joint"}),
    ("LinearSVC", {"multi_class": "crammer_singer"}),
]


class CtrlC:
    """Raise KeyboardInterrupt at one of this package's function calls; count them.

    Generator expressions are left out: Python enters them to close them too, where nothing can be
    raised.
    """

    def __init__(self, moment: float) -> None:
        self.calls, self.moment = 0, moment

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and "widemargin" in code.co_filename and code.co_name != "<genexpr>":
            self.calls += 1
            if self.calls == self.moment:
                raise KeyboardInterrupt

    def __enter__(self) -> "CtrlC":
        sys.setprofile(self)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)


def assert_usable_or_unfitted(model: Any) -> None:
    """A model is wholly that of one fit, and says how it came about."""
    earlier = getattr(model, "n_features_in_", 6) == 3
    try:
        predicted = model.predict(X[:20, :3] if earlier else X[:20])
    except NotFittedError:
        return
    assert np.isfinite(predicted).all()
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(model.classes_, np.unique(THREE if earlier else TWO))
        assert np.isin(predicted, model.classes_).all()
    assert isinstance(model.status_, Status)
    if hasattr(model, "dual_objective_"):
        assert model.dual_objective_ <= model.primal_objective_ + 1e-9 * abs(
            model.primal_objective_
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(("name", "settings"), CASES)
def test_interrupt_at_any_moment_of_a_fit(name: str, settings: dict[str, Any], again: bool) -> None:
    """The second time the estimator was fitted to other classes and columns before."""
    make = LEARNERS[name]
    make(**settings).fit(X, TWO)  # what is imported late has been
    model = make(**settings)
    with CtrlC(np.inf) as whole:
        model.fit(X, TWO)
    for moment in np.unique(np.linspace(1, whole.calls, MOMENTS).astype(int)):
        model = make(**settings)
        if again:
            model.fit(X[:, :3], THREE)
        try:
            with CtrlC(moment) as interrupt:
                model.fit(X, TWO)
        except KeyboardInterrupt:
            pass
        else:  # so late that the point was good enough
            assert model.status_.converged
        assert interrupt.calls >= moment
        assert_usable_or_unfitted(model)
