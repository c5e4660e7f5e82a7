"""The comparison itself: its judge, its refusal to compare what disagrees, its adapters."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import agreement, datasets
from benchmarks.certificate import Expansion, Quality, certify, sorted_pairs
from benchmarks.rivals import OURS, RIVALS, Settings
from benchmarks.runs import Kept
from benchmarks.worker import Request

DATASET = datasets.TABLE["tiny"]
SETTINGS = Settings(DATASET.C, DATASET.gamma)
SPLIT = datasets.tiny([], DATASET.features)
INSTALLED = [name for name, rival in RIVALS.items() if rival.available()]


def gaussian(x, z):
    return np.exp(-DATASET.gamma * ((x - z) ** 2).sum())


def naive(X, y, expansion, C):
    """Return objectives, violation and worst breach of the dual, one pair and row at a time."""
    primal = dual = violation = 0.0
    for i, (a, b) in enumerate(combinations(range(len(expansion.classes)), 2)):
        members = [r for r in range(len(y)) if y[r] in (expansion.classes[a], expansion.classes[b])]
        signs = {r: 1.0 if y[r] == expansion.classes[a] else -1.0 for r in members}
        weights = {
            r: expansion.coefficients[b - 1 if signs[r] > 0 else a, j]
            for j, r in enumerate(expansion.support)
            if r in signs
        }
        f = {r: sum(c * gaussian(X[r], X[s]) for s, c in weights.items()) for r in members}
        norm = sum(c * f[r] for r, c in weights.items())
        losses = [max(0.0, 1 - signs[r] * (f[r] + expansion.intercepts[i])) for r in members]
        primal += 0.5 * norm + C * sum(losses)
        dual += sum(abs(c) for c in weights.values()) - 0.5 * norm
        alpha = {r: signs[r] * weights.get(r, 0.0) for r in members}
        up = [signs[r] - f[r] for r in members if (alpha[r] < C if signs[r] > 0 else alpha[r] > 0)]
        low = [signs[r] - f[r] for r in members if (alpha[r] > 0 if signs[r] > 0 else alpha[r] < C)]
        violation = max(violation, max(up) - min(low))
    return primal, dual, violation


@pytest.fixture(scope="module")
def fits():
    """Return model, expansion and quality of each library at hand."""
    result = {}
    for name in INSTALLED:
        rival = RIVALS[name]()
        model = rival.fit(rival.prepare(SPLIT.X), SPLIT.y, SETTINGS)
        expansion = model.expansion()
        quality = certify(SPLIT.X, SPLIT.y, expansion, C=DATASET.C, gamma=DATASET.gamma)
        result[name] = model, expansion, quality
    return result


# --- the judge -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INSTALLED)
def test_quality_is_that_of_the_naive_formula(fits, name):
    _, expansion, quality = fits[name]
    primal, dual, violation = naive(SPLIT.X, SPLIT.y, expansion, DATASET.C)
    assert quality.primal == pytest.approx(primal, rel=1e-10)
    assert quality.dual == pytest.approx(dual, rel=1e-10)
    assert quality.violation == pytest.approx(violation, abs=1e-9)
    assert quality.infeasibility < 1e-6


@pytest.mark.parametrize("block", [1, 700])
def test_quality_does_not_depend_on_blocks(fits, block, monkeypatch):
    _, expansion, quality = fits[OURS]
    monkeypatch.setattr("benchmarks.certificate.BLOCK_VALUES", block)
    again = certify(SPLIT.X, SPLIT.y, expansion, C=DATASET.C, gamma=DATASET.gamma)
    assert again.primal == pytest.approx(quality.primal, rel=1e-12)


def test_our_own_certificate_is_confirmed(fits):
    model, _, quality = fits[OURS]
    assert model.dual_objective == pytest.approx(quality.dual, rel=1e-9)
    assert model.machine.primal_objective_ == pytest.approx(quality.primal, rel=1e-9)
    assert model.machine.kkt_violation_ == pytest.approx(quality.violation, abs=1e-9)


def test_infeasible_coefficients_are_found(fits):
    _, expansion, quality = fits[OURS]
    for factor in (-1.0, 1.5):
        wrong = replace(expansion, coefficients=factor * expansion.coefficients)
        judged = certify(SPLIT.X, SPLIT.y, wrong, C=DATASET.C, gamma=DATASET.gamma)
        assert judged.infeasibility > 0.4
        assert any("infeasible" in fault for fault in agreement.faults(judged, quality, 1e-3))


def test_classes_in_another_order_are_sorted():
    order = np.array([5.0, 1.0, 3.0])
    labels = np.array([5.0, 1.0, 3.0])  # of three support vectors
    # Row m of a class's column is its pair with the m-th of the others, in the library's order.
    coefficients = np.array([[0.51, -0.51, -0.53], [0.53, 0.13, -0.13]])
    intercepts = np.array([51.0, 53.0, 13.0])
    decisions = np.array([[51.0, 53.0, 13.0]])
    result = Expansion.reordered(order, np.arange(3), labels, coefficients, intercepts)
    assert result.classes.tolist() == [1.0, 3.0, 5.0]
    assert result.intercepts.tolist() == [13.0, -51.0, -53.0]
    assert sorted_pairs(order, decisions).tolist() == [[13.0, -51.0, -53.0]]
    assert result.coefficients[:, 1].tolist() == [0.13, 0.51]  # class 1 against 3 and 5
    assert result.coefficients[:, 2].tolist() == [-0.13, 0.53]  # class 3 against 1 and 5
    assert result.coefficients[:, 0].tolist() == [-0.51, -0.53]  # class 5 against 1 and 3


# --- agreement -----------------------------------------------------------------------------------

GOOD = Quality(primal=100.01, dual=100.0, violation=9e-4, infeasibility=0.0)
WRONG = [
    (replace(GOOD, infeasibility=0.1), GOOD, "our coefficients are infeasible"),
    (GOOD, replace(GOOD, infeasibility=0.1), "their coefficients are infeasible"),
    (GOOD, Quality(90.0, 89.9, 9e-4, 0.0), "they solved different problems"),
    (GOOD, Quality(111.0, 110.9, 9e-4, 0.0), "they solved different problems"),
    (replace(GOOD, dual=99.7, primal=100.1), Quality(100.5, 100.1, 1e-3, 0), "our gap"),
    (replace(GOOD, dual=99.0), Quality(100.01, 100.0, 1e-3, 0), "our gap"),
    (replace(GOOD, violation=2e-3), GOOD, "our violation"),
    (replace(GOOD, dual=float("nan")), GOOD, "exceeds"),
]


@pytest.mark.parametrize(("ours", "theirs", "part"), WRONG)
def test_disagreement_is_found(ours, theirs, part):
    assert part in "; ".join(agreement.faults(ours, theirs, 1e-3))


def test_dual_objectives_may_differ_by_the_gap_only():
    loose = Quality(primal=101.0, dual=99.0, violation=9e-4, infeasibility=0.0)
    assert agreement.differences(loose, GOOD) == []
    apart = Quality(primal=130.0, dual=99.0, violation=9e-4, infeasibility=0.0)
    assert agreement.differences(apart, replace(GOOD, dual=99.001)) == []
    tight = Quality(primal=99.51, dual=99.5, violation=9e-4, infeasibility=0.0)
    assert any("differ by" in found for found in agreement.differences(tight, GOOD))


def test_model_of_another_problem_disagrees(fits):
    """A rival that solved with another C or gamma gets no ratio."""
    _, _, quality = fits[OURS]
    for changed in (replace(SETTINGS, C=1.0), replace(SETTINGS, gamma=0.2)):
        rival = RIVALS["sklearn"]()
        wrong = rival.fit(SPLIT.X, SPLIT.y, changed).expansion()
        judged = certify(SPLIT.X, SPLIT.y, wrong, C=DATASET.C, gamma=DATASET.gamma)
        assert agreement.unsolved(judged, 1e-3)
        assert agreement.unsolved(quality, 1e-3) == ""


def test_looser_rival_is_noted():
    assert agreement.excess(GOOD, 1e-3) == ""
    assert "above tol" in agreement.excess(replace(GOOD, violation=0.01), 1e-3)


# --- adapters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RIVALS)
def test_adapters_agree(fits, name):
    if name not in INSTALLED:
        pytest.skip(f"{name} is not installed")
    model, expansion, quality = fits[name]
    assert agreement.faults(fits[OURS][2], quality, 1e-3) == []
    rival = RIVALS[name]()
    assert rival.version()
    test = rival.prepare(SPLIT.X_test)
    decisions = model.decision_values(test)
    np.testing.assert_allclose(decisions, decided(expansion), atol=2e-5)
    votes = np.zeros((len(decisions), 3), dtype=int)
    for column, (a, b) in zip(decisions.T, combinations(range(3), 2), strict=True):
        votes[np.arange(len(column)), np.where(column > 0, a, b)] += 1
    assert (model.predict(test) == expansion.classes[votes.argmax(axis=1)]).all()


def decided(expansion):
    """Return the decisions of the test rows that an expansion gives."""
    K = np.array([[gaussian(x, z) for z in SPLIT.X[expansion.support]] for x in SPLIT.X_test])
    labels = np.searchsorted(expansion.classes, SPLIT.y[expansion.support])
    columns = []
    for i, (a, b) in enumerate(combinations(range(len(expansion.classes)), 2)):
        weights = np.where(labels == a, expansion.coefficients[b - 1], 0.0)
        weights += np.where(labels == b, expansion.coefficients[a], 0.0)
        columns.append(K @ weights + expansion.intercepts[i])
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", INSTALLED)
def test_storages_and_two_classes(name):
    rival = RIVALS[name]()
    two = SPLIT.y < 5
    X, y = SPLIT.X[two], SPLIT.y[two]
    duals = []
    for form in rival.forms:
        rows = sp.csr_matrix(X) if form == "csr" else X
        expansion = rival.fit(rival.prepare(rows), y, SETTINGS).expansion()
        judged = certify(X, y, expansion, C=DATASET.C, gamma=DATASET.gamma)
        duals.append(judged.dual)
        assert judged.infeasibility < 1e-6
        assert judged.violation < 1.1e-3
    np.testing.assert_allclose(duals, duals[0], rtol=1e-4)


# --- going on ------------------------------------------------------------------------------------


def test_a_comparison_goes_on_where_it_was_stopped(tmp_path):
    """Each run is asked for twice; the process ended in the course of writing the third answer."""
    requests = [Request("sklearn", "a.npz", "csr", C, 0.1, (0,)) for C in (1.0, 2.0)]
    made = []

    def ask(kept):
        def run(request):
            made.append(request.C)
            return {"fit_seconds": len(made)}

        return [kept.answer(r, lambda r=r: run(r))["fit_seconds"] for r in 2 * requests]

    path = tmp_path / "out" / "result.runs"
    assert ask(Kept(path, resume=True)) == [1, 2, 3, 4]
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:2], lines[2][:20]]), encoding="utf-8")
    assert ask(Kept(path, resume=True)) == [1, 2, 5, 6]
    assert ask(Kept(path, resume=True)) == [1, 2, 5, 6]
    assert ask(Kept(path, resume=False)) == [7, 8, 9, 10]
