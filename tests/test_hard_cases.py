"""Whatever the data, the costs and the kernel: a fit ends, and says truly how."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, SVDD, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, Status

ROWS = 100
ROWS_IN_WEIGHTS = 300  # so many that a linear machine is solved in its weights
RANDOM = np.random.default_rng(0)
NOISE = RANDOM.normal(size=(ROWS, 13))
COINS = RANDOM.integers(0, 2, ROWS)
OVERLAP, SIDES = make_classification(ROWS, 8, n_informative=6, flip_y=0.3, random_state=0)
DATA: dict[str, tuple[np.ndarray, np.ndarray]] = {
    "overlapping": (OVERLAP, SIDES),
    "columns from 1e-6 to 1e6": (
        NOISE * 10.0 ** np.linspace(-6, 6, 13),
        (NOISE[:, :4].sum(axis=1) + 0.5 * RANDOM.normal(size=ROWS) > 0).astype(int),
    ),
    "few points, each many times, some 0": (RANDOM.integers(0, 3, (ROWS, 4)).astype(float), COINS),
    "each row in both classes": (
        np.tile(NOISE[: ROWS // 2, :5], (2, 1)),
        np.repeat([0, 1], ROWS // 2),
    ),
    "one point": (np.ones((ROWS, 3)), COINS),
    "nearly one point": (1.0 + 1e-9 * NOISE[:, :5], COINS),
}
CHEAP: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "Gaussian": {},
    "Gaussian, nearly constant": {"gamma": 1e-10},
    "Gaussian, nearly the identity": {"gamma": 1e8},
    "polynomial": {"kernel": "poly", "degree": 3, "coef0": 1.0},
    "polynomial of high degree": {"kernel": "poly", "degree": 7, "gamma": 1.0},
    "indefinite": {"kernel": "sigmoid", "gamma": 1.0, "coef0": -3.0},
    "indefinite, saturated": {"kernel": "sigmoid", "gamma": 5.0, "coef0": 3.0},
    "cosine": {"kernel": "cosine"},
    "laplacian": {"kernel": "laplacian"},
}
COSTLY = {"C": 1e6}
ENDED = {Status.CONVERGED, Status.STATIONARY, Status.STALLED}


def fit(kind: type, name: str, settings: dict[str, Any]) -> Any:
    X, y = DATA[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "specified nu is infeasible")
        return kind(**settings).fit(X, y)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kernel", CHEAP)
@pytest.mark.parametrize("kind", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD])
def test_every_fit_ends_and_tells_the_truth(kind: type, name: str, kernel: str) -> None:
    costs = COSTLY if kind in (SVC, SVR, NuSVR) else {}
    machine = fit(kind, name, CHEAP[kernel] | costs)
    X = DATA[name][0]
    assert machine.status_ in ENDED
    assert (machine.kkt_violation_ <= machine.tol) == (machine.status_ is not Status.STALLED)
    assert np.isfinite(machine.predict(X)).all()
    size = max(abs(machine.primal_objective_), abs(machine.dual_objective_))
    positive = kernel not in ("indefinite", "indefinite, saturated")
    if positive:
        assert machine.primal_objective_ - machine.dual_objective_ >= -1e-12 * size


@dataclass(frozen=True)
class Solved:
    """A hard case that must be solved nevertheless."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    gap: float = 1e-4

    def __str__(self) -> str:
        return f"{self.name}: {self.settings}"


SOLVED = [
    Solved("overlapping", {"gamma": 0.02}, gap=0.1),
    Solved("overlapping", {"kernel": "linear"}),
    Solved("columns from 1e-6 to 1e6"),
    Solved("few points, each many times, some 0"),
    Solved("few points, each many times, some 0", {"kernel": "cosine"}),
    Solved("few points, each many times, some 0", {"kernel": "linear"}),
    Solved("each row in both classes", {"kernel": "laplacian"}),
    Solved("one point", {"kernel": "poly", "degree": 5}),
]


@pytest.mark.parametrize("case", SOLVED, ids=str)
def test_large_costs_are_no_excuse(case: Solved) -> None:
    machine = fit(SVC, case.name, COSTLY | case.settings)
    assert machine.status_ is Status.CONVERGED
    assert machine.duality_gap_ <= case.gap


@pytest.mark.parametrize("scale", [1e6, 1e10, 1e20, 1e100])
def test_numbers_too_large_for_any_digit_are_told(scale: float) -> None:
    """The costs are then 1e12 and more in units of the kernel: rounding ends the way early."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.warns(ConvergenceWarning, match="rounding.* gap .*scale the columns"):
        machine = SVC(kernel="linear", C=1e3).fit(scale * X, np.tile([0, 1], 6))
    assert machine.status_ is Status.STALLED
    assert machine.primal_objective_ > machine.dual_objective_


def test_the_best_certified_point_is_kept() -> None:
    """Where kernel values carry too few digits, the solution in the weights is not spoilt."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(ROWS_IN_WEIGHTS, 13))
    X, y = Z * 10.0 ** np.linspace(-6, 6, 13), Z[:, :4].sum(axis=1) > rng.normal(size=len(Z))
    best = LinearSVC(loss="hinge", C=10.0, gap_tol=1e-8).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="rounding"):
        machine = SVC(kernel="linear", C=10.0).fit(X, y)
    assert machine.dual_objective_ == pytest.approx(best.dual_objective_, rel=1e-3)
    assert machine.duality_gap_ < 0.1
