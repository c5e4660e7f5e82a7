"""The comparison itself: its timed runs, its ratios and tables, its goals."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import check, datasets, goals, plot, quiet, report, run
from benchmarks.certificate import Quality
from benchmarks.rivals import OURS, RIVALS
from benchmarks.runs import Runner
from benchmarks.worker import Request

DATASET = datasets.TABLE["tiny"]
SPLIT = datasets.tiny([], DATASET.features)
GOOD = Quality(primal=100.01, dual=100.0, violation=9e-4, infeasibility=0.0)


# --- runs in processes of their own --------------------------------------------------------------


@pytest.fixture
def request_for_tiny(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CACHE", tmp_path / "cache")
    monkeypatch.setattr("benchmarks.runs.wait_until_quiet", lambda limit: 0.0)
    file = datasets.cached("tiny", None)
    return Request(OURS, str(file), "dense", DATASET.C, DATASET.gamma, run.cores_for(1), limit=60)


def test_worker_measures_and_is_judged(request_for_tiny):
    result = Runner().judged(request_for_tiny)
    assert result["fit_seconds"] > 0
    assert result["predict_seconds"] > 0
    assert 0.5 < result["accuracy"] <= 1
    assert result["quality"]["gap"] < 1e-3
    assert result["quality"]["dual"] == pytest.approx(result["dual_objective"], rel=1e-8)


def test_worker_is_ended_at_its_limit(request_for_tiny, tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40_000, 5)), (random.random(40_000) < 0.5).astype(float)
    datasets.save(datasets.Split(X, y), tmp_path / "hard.npz")
    hard = {"data": str(tmp_path / "hard.npz"), "C": 1e4, "gamma": 10.0, "limit": 1}
    result = Runner().run(replace(request_for_tiny, rival="sklearn", **hard))
    assert result["limit"] == 1
    assert "fit_seconds" not in result


def test_failing_run_is_no_result(request_for_tiny):
    result = Runner().run(replace(request_for_tiny, C=-1.0))
    assert "C must be a number" in result["error"]


def test_cache_keeps_rows_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CACHE", tmp_path)
    file = datasets.cached("tiny", None)
    for form in ("dense", "csr"):
        split = datasets.load(file, form)
        rows = split.X.toarray() if form == "csr" else split.X
        assert (rows == SPLIT.X).all()
        assert (split.y_test == SPLIT.y_test).all()
    assert datasets.load(file, rows=7).X.shape == (7, DATASET.features)
    assert datasets.density(file) == 1.0
    with pytest.raises(FileNotFoundError, match="--data"):
        datasets.cached("a9a", None)


def test_quiet_machine_is_measured():
    assert 0.0 <= quiet.busy_cores(0.05) <= 1024
    assert quiet.wait_until_quiet(0.0) >= 0.0


def test_whole_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(datasets, "CACHE", tmp_path / "cache")
    monkeypatch.setattr("benchmarks.runs.wait_until_quiet", lambda limit: 0.0)
    out = tmp_path / "result.json"
    options = ["--sets", "tiny", "--rivals", "sklearn", "--threads", "1", "--repeats", "1"]
    assert run.main([*options, "--out", str(out)]) == 0
    assert "# Comparison" in capsys.readouterr().out
    assert len(json.loads(out.read_text())["records"]) == 2
    assert out.with_suffix(".md").exists()
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


# --- reports -------------------------------------------------------------------------------------


def record(name, rival, threads, seconds, **more):
    values = {"set": name, "rival": rival, "threads": threads, "form": "dense", "repeat": 0}
    values |= {"busy_cores": 0.0, "limit": 0, "version": "1", "support": 3, "peak_mb": 9}
    if seconds is not None:
        values |= {"fit_seconds": seconds, "predict_seconds": seconds / 10, "accuracy": 0.9}
        values |= {"quality": GOOD.to_json()}
    return values | more


RECORDS = [
    record("a9a", OURS, 2, 2.0),
    record("a9a", OURS, 2, 1.0),
    record("a9a", "sklearn", 1, 30.0),
    record("a9a", "sklearnex", 2, 9.0),
    record("usps", OURS, 2, 0.5),
    record("usps", "sklearn", 1, None, limit=60),
    record("usps", "sklearnex", 2, 2.0),
]


def test_ratios_of_best_times():
    a9a, usps = report.comparisons(RECORDS)
    assert a9a.ratio("sklearn", "fit") == 30.0
    assert a9a.fastest_ratio("fit") == 9.0
    assert usps.ratio("sklearn", "fit") == 120.0
    assert usps.fastest_ratio("fit") == 4.0
    assert report.geometric_mean([9.0, 4.0]) == pytest.approx(6.0)


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_tables():
    items = report.comparisons(RECORDS)
    result = {"command": "x", "date": "today", "machine": "m", "records": RECORDS}
    text = report.markdown(result, items)
    head, _, a9a, usps, mean = text.split("## Training, 2 threads\n\n")[1].splitlines()[:5]
    assert cells(head) == ["set", OURS, "sklearn", "sklearnex", "fastest rival"]
    assert cells(a9a) == ["a9a", "1", "30 (30.00)", "9 (9.00)", "9.00"]
    assert cells(usps) == ["usps", "0.5", "> 60 (> 120.00)", "2 (4.00)", "4.00"]
    assert cells(mean) == ["geometric mean", "", "", "", "6.00"]
    assert len({len(line) for line in (head, a9a, usps, mean)}) == 1
    assert "not finished" in text
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({line.count("|") for line in block.splitlines()}) == 1


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"quality": Quality(90.0, 89.9, 9e-4, 0.0).to_json()}, "different problems"),
        ({"accuracy": 0.7}, "test accuracies"),
        ({"error": "it broke"}, "it broke"),
    ],
)
def test_no_ratio_without_agreement(changes, part):
    records = [*RECORDS[:3], RECORDS[3] | changes]
    (item,) = report.comparisons(records)
    assert item.ratio("sklearnex", "fit") is None
    assert item.fastest_ratio("fit") is None
    text = report.markdown({"command": "", "date": "", "machine": "", "records": records}, [item])
    assert "(no agreement)" in text
    assert part in text


def test_rival_without_a_solution_is_not_the_fastest():
    far = replace(GOOD, violation=3.0, primal=200.0).to_json()
    records = [*RECORDS[:3], RECORDS[3] | {"quality": far}]
    (item,) = report.comparisons(records)
    assert item.ratio("sklearnex", "fit") is None
    assert item.fastest_ratio("fit") == 30.0
    text = report.markdown({"command": "", "date": "", "machine": "", "records": records}, [item])
    assert "9 (not solved)" in text
    assert "**not solved**: a9a" in text


def test_storage_without_a_solution_is_given_up(tmp_path, monkeypatch):
    """The other storage is tried once, and the report tells."""
    monkeypatch.setattr(datasets, "CACHE", tmp_path)
    monkeypatch.setattr(datasets, "ALMOST_DENSE", 2.0)

    class Fails(Runner):
        def run(self, request, path=None):
            return {"fit_seconds": 2.0 if request.form == "dense" else 1.0}

        def judged(self, request, path=None):
            wrong = request.rival == "sklearn" and request.form == "csr"
            quality = replace(GOOD, violation=3.0) if wrong else GOOD
            entry = record("tiny", request.rival, request.threads, 1.0)
            return entry | {"quality": quality.to_json(), "form": request.form}

    plan = run.Plan(None, ["tiny"], [OURS, "sklearn"], [1], 2, 60, 0.0)
    records = run.compare(plan, Fails())
    forms = [(r["form"], "discarded" in r) for r in records if r["rival"] == "sklearn"]
    assert forms == [("csr", True), ("dense", False), ("dense", False)]
    (item,) = report.comparisons(records)
    assert item.ratio("sklearn", "fit") == 1.0
    assert "stored as csr" in item.notes["sklearn"][0]


def test_goals_of_single_numbers_are_checked():
    text = goals.single("small", {"fit iris": 0.8, "fit breast cancer": 2.0})
    lines = {line.split("|")[1].strip(): line for line in text.splitlines() if "|" in line}
    assert "0.80" in lines["fit iris"]
    assert "missed" in lines["fit iris"]
    assert "reached" in lines["fit breast cancer"]
    assert "not measured" in lines["8,000 rows of a9a, C=1e6, tol=1e-6"]
    assert not any("peak" in name for name in lines)


def test_goals_of_the_file_are_checked():
    outcomes = {outcome.goal.name: outcome for outcome in goals.check(report.comparisons(RECORDS))}
    assert len(outcomes) == len(goals.read()) == 7
    mean = outcomes["training on two threads, against the fastest rival"]
    assert (mean.value, mean.verdict) == (pytest.approx(6.0), "reached")
    slow = outcomes["training against scikit-learn where it needs over 20 seconds"]
    assert (slow.value, slow.sets) == (30.0, ("a9a", "usps"))
    missed = report.comparisons([RECORDS[0] | {"fit_seconds": 20.0}, *RECORDS[2:4]])
    verdicts = [outcome.verdict for outcome in goals.check(missed)]
    assert verdicts.count("missed") == 5
    assert verdicts.count("not measured") == 1
    assert "| missed " in goals.markdown(goals.check(missed))


def test_generated_sets_count_for_no_goal():
    records = [entry | {"set": "digits"} for entry in RECORDS[:4]]
    assert {o.verdict for o in goals.check(report.comparisons(records))} == {"not measured"}


def test_picture_of_a_comparison(tmp_path):
    plot.draw(report.comparisons(RECORDS), tmp_path / "times.png")
    assert (tmp_path / "times.png").stat().st_size > 10_000
    assert plot.STYLES.keys() == RIVALS.keys()


# --- against an older revision -------------------------------------------------------------------


class Scripted:
    """Stands in for the runner: seconds by whether the older version runs, in order."""

    def __init__(self, before, now):
        self.seconds = {True: iter(before), False: iter(now)}

    def judged(self, request, path=None):
        module = f"{path}/widemargin/__init__.py" if path else "/elsewhere/__init__.py"
        seconds = next(self.seconds[path is not None])
        return {"fit_seconds": seconds, "module": module, "quality": GOOD.to_json()}


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        ([1.0, 1.1], "fine"),
        ([2.0, 2.0, 1.1, 2.0], "fine"),  # was it the machine? the second look counts
        ([2.0, 2.0, 1.2, 2.0], "slower"),
    ],
)
def test_slowdown_is_found(now, verdict, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "CACHE", tmp_path)
    runner = Scripted([1.0] * 4, now)
    outcome = check.compare("tiny", None, Path("/base"), runner, 2)
    assert check.text("v1", [outcome]).splitlines()[2].split("|")[-2].strip() == verdict


def test_other_installation_in_the_way_is_found():
    class Hidden:
        def judged(self, request, path=None):
            return {"fit_seconds": 1.0, "module": "/elsewhere/__init__.py"}

    with pytest.raises(SystemExit, match="editable installation"):
        check.fit(Hidden(), None, Path("/base"))


def test_unknown_revision_is_named(tmp_path):
    if subprocess.run(["git", "rev-parse"], cwd=run.Path(__file__).parent).returncode:
        pytest.skip("not a git repository")
    with pytest.raises(SystemExit, match="no-such-revision is no revision"):
        check.build("no-such-revision", tmp_path)
