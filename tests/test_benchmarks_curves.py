"""The curves of the comparison, and the rates of the tile."""

import numpy as np
import pytest
from benchmarks import curves, datasets, tile
from benchmarks.rivals import OURS, RIVALS


def record(**values):
    base = {"set": "tiny", "rival": OURS, "threads": 1, "tol": 1e-3, "rows": 100, "all_rows": True}
    return base | {"fit_seconds": 1.0, "quality": {"gap": 1e-4}} | values


def test_each_library_runs_once_for_each_tolerance_and_number_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CACHE", tmp_path)
    found = list(curves.requests("tiny", [OURS, "sklearn"], None, 60))
    runs = len(curves.TOLERANCES) + len(curves.SHARES)
    assert len(found) == 3 * runs  # scikit-learn uses one core only
    assert not RIVALS["sklearn"].parallel
    rows = datasets.load(datasets.cached("tiny", None)).y.size
    fewer = {request.rows for request in found if request.rows is not None}
    assert fewer == {int(share * rows) for share in curves.SHARES}
    assert all(request.tol == curves.TOLERANCE for request in found if request.rows is not None)


def test_points_are_of_the_curve_and_of_finished_runs():
    records = [
        record(tol=1e-1, quality={"gap": 1e-1}, fit_seconds=0.1),
        record(),
        record(rows=50, all_rows=False, quality={"gap": 3e-4}, fit_seconds=0.5),
        {"set": "tiny", "rival": OURS, "threads": 1, "tol": 1e-5, "rows": 100, "all_rows": True},
    ]
    assert curves.points(records, curves.GAP) == [(1e-4, 1.0), (1e-1, 0.1)]
    assert curves.points(records, curves.ROWS) == [(50.0, 0.5), (100.0, 1.0)]


def test_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    records = [record(rival=rival, threads=t) for rival in RIVALS for t in (1, 2)]
    curves.draw(records, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rates_of_the_tile_are_finite(monkeypatch, dtype, sparse):
    monkeypatch.setattr(tile, "COLUMNS", 200)
    monkeypatch.setattr(tile, "ROWS", 50)
    monkeypatch.setattr(tile, "SECONDS", 0.001)
    X = np.random.default_rng(0).normal(size=(200, 5))
    assert all(0 < rate < 1e13 for rate in tile.rates(X, dtype, sparse, 1))
