"""The comparison of linear machines: its judge, its adapters, what counts as reached."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.linear import judge, report, sets, worker
from benchmarks.linear.judge import Task
from benchmarks.linear.record import Book
from benchmarks.linear.rivals import OURS, RIVALS
from sklearn.datasets import make_classification

INSTALLED = [name for name, rival in RIVALS.items() if rival.available()]
X, y = make_classification(150, 5, flip_y=0.1, random_state=0)
SIGNS = np.where(y > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", judge.POWERS)
def test_judge_is_the_naive_formula(loss):
    task, rng = Task("", loss, 2.0), np.random.default_rng(0)
    w, b, a = rng.normal(size=5), 0.3, rng.uniform(0, 2.0, 150)
    value = 0.5 * (w @ w + b * b)
    for x, s in zip(X, SIGNS, strict=True):
        value += 2.0 * max(0.0, 1 - s * (x @ w + b)) ** judge.POWERS[loss]
    assert judge.primal(X, SIGNS, w, b, task) == pytest.approx(value, rel=1e-12)
    sums = np.zeros(6)
    bound = 0.0
    for x, s, share in zip(X, SIGNS, a, strict=True):
        sums += share * s * np.append(x, 1.0)
        bound += share - (share**2 / 8.0 if loss == "squared_hinge" else 0.0)
    bound -= 0.5 * sums @ sums
    assert judge.dual(sp.csr_matrix(X), SIGNS, a, task) == pytest.approx(bound, rel=1e-12)
    assert bound <= value


@pytest.mark.parametrize("name", INSTALLED)
@pytest.mark.parametrize("loss", judge.POWERS)
def test_adapters_solve_the_same_problem(name, loss):
    rival, task = RIVALS[name](), Task("", loss, 1.0)
    if loss not in rival.losses or name == "sgd":  # descent by chance comes near, not there
        pytest.skip("not its problem")
    bound = ours(task)
    for form in rival.forms:
        rows = rival.prepare(sp.csr_matrix(X) if form == "csr" else X, SIGNS)
        for variant in rival.variants(task):
            tolerance = list(rival.tolerances(variant))[-1]
            point = rival.fit(rows, task, variant, tolerance, 1)
            value = judge.primal(X, SIGNS, point.weights, point.bias, task)
            assert -1e-9 <= judge.excess(value, bound) < 1e-4


def ours(task):
    rival = RIVALS[OURS]()
    point = rival.fit((X, SIGNS), task, "", 1e-9, 1)
    bound = judge.dual(X, SIGNS, point.dual, task)
    value = judge.primal(X, SIGNS, point.weights, point.bias, task)
    assert judge.excess(value, bound) <= 1e-9
    return bound


def record(rival, seconds, primal, **more):
    return {"set": "a9a", "loss": "hinge", "C": 1.0, "rival": rival, "variant": "", "threads": 1,
            "seconds": seconds, "primal": primal, "tolerance": 1e-3} | more  # fmt: skip


def test_only_fits_that_are_near_enough_count():
    book = Book({"a9a hinge 1": 100.0})
    book.records = [
        record(OURS, 0.1, 100.05, dual=99.99),
        record(OURS, 0.2, 100.00001, dual=99.99995, tolerance=1e-6),
        record("liblinear", 0.3, 103.0),
        record("liblinear", 0.5, 100.05),
        record("liblinear", 4.0, 100.002),
    ]
    task = Task("a9a", "hinge", 1.0)
    assert report.time_to(book, task, OURS, 1, 1e-3) == report.Time(0.1, True)
    assert report.time_to(book, task, OURS, 1, 1e-6) == report.Time(0.2, True)
    assert report.time_to(book, task, "liblinear", 2, 1e-3) == report.Time(0.5, True)
    assert report.time_to(book, task, "liblinear", 1, 1e-6) == report.Time(4.0, False)
    assert report.ratio(book, task, "liblinear", 1, 1e-6) == pytest.approx(20.0)
    assert report.faults(book) == []
    verdicts = report.goal_table(book).splitlines()
    assert "| reached " in verdicts[2]
    assert "| not measured " in verdicts[5]
    book.records[0]["dual"] = 99.9
    assert report.time_to(book, task, OURS, 1, 1e-3) == report.Time(0.2, True)
    assert len(report.faults(book)) == 1


def test_a_worker_stops_where_enough_is_reached(capsys, tmp_path, monkeypatch):
    data = sets.cached("indicators", None)
    monkeypatch.setattr(worker, "alarmed", lambda limit: None)
    monkeypatch.setattr(worker.os, "sched_setaffinity", lambda pid, cores: None)
    request = worker.Request(OURS, "", str(data), "csr", "indicators", "hinge", 0.01, (0,))
    worker.run(request)
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [found["tolerance"] for found in lines] == [1e-3, 1e-6]
    bound = lines[1]["dual"]
    rival = worker.Request(
        "sklearn", "dual", str(data), "csr", "indicators", "hinge", 0.01, (0,), bound
    )
    worker.run(rival)
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    gaps = [judge.excess(found["primal"], bound) for found in lines]
    assert gaps[-1] <= 1e-6 < gaps[-2]
    book = Book({"x": 1.0}, {}, lines)
    book.save(tmp_path / "book.json")
    assert Book.open(tmp_path / "book.json") == book


def test_cli_refuses_unknown_names(capsys):
    from benchmarks.linear.__main__ import read_arguments

    with pytest.raises(SystemExit):
        read_arguments(["--rivals", "libsvmx"])
    assert "libsvmx is not known" in capsys.readouterr().err
