"""A fit can be watched, stopped, interrupted and continued, through the estimators."""

import _thread
import threading
import time
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from widemargin import SVC, SVR, OneClassSVM, Status
from widemargin.estimators import progress as progress_module

X, Y = make_classification(6000, 20, n_informative=12, flip_y=0.3, random_state=0)
LONG: dict[str, Any] = {"C": 1e6, "gamma": 0.02, "tol": 1e-9}  # more than a second


@pytest.mark.parametrize("how", ["two classes", "ovo", "joint"])
@pytest.mark.parametrize("seconds", [0.1, 0.6])
def test_interrupt_soon_leaves_a_usable_and_honest_model(seconds: float, how: str) -> None:
    """Pairs of four classes are small enough here to be solved side by side."""
    y = Y if how == "two classes" else Y + 2 * (X[:, 0] > 0)
    machine = SVC(**LONG, multi_class="joint" if how == "joint" else "ovo")
    sent = [0.0]

    def interrupt() -> None:
        sent[0] = time.perf_counter()
        _thread.interrupt_main()

    timer = threading.Timer(seconds, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert time.perf_counter() - sent[0] < 1.0  # half a second, and as much for a busy machine
    timer.join()
    if hasattr(machine, "status_"):
        assert machine.status_ is Status.INTERRUPTED
        assert machine.fit_status_ == 1
        assert machine.primal_objective_ > machine.dual_objective_
        assert set(machine.predict(X[:100])) <= set(y)
    else:  # interrupted before there was anything to certify
        with pytest.raises(NotFittedError):
            machine.predict(X[:100])


@pytest.mark.parametrize("kind", [SVC, SVR, OneClassSVM])
def test_time_limit_warns_with_gap_and_next_step(kind: type) -> None:
    hard = {"nu": 0.4, "gamma": 0.5, "tol": 1e-12} if kind is OneClassSVM else LONG
    machine = kind(**hard, max_time=0.05)
    with pytest.warns(ConvergenceWarning, match=r"gap \S+, .*Raise max_time, or fit again with"):
        machine.fit(X, Y)
    assert machine.status_ is Status.TIME_LIMIT
    assert machine.fit_status_ == 1
    assert machine.primal_objective_ >= machine.dual_objective_


def test_warm_start_goes_on_from_where_the_limit_struck() -> None:
    settings: dict[str, Any] = {"C": 10.0, "gamma": 0.1}
    whole = SVC(**settings).fit(X, Y)
    machine = SVC(**settings, max_iter=int(whole.n_iter_[0]) // 2, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        machine.fit(X, Y)
    half = machine.dual_objective_
    machine.set_params(max_iter=-1).fit(X, Y)
    assert machine.status_ is Status.CONVERGED
    assert machine.n_iter_[0] < whole.n_iter_[0]
    assert half < machine.dual_objective_
    assert machine.dual_objective_ == pytest.approx(whole.dual_objective_, rel=1e-4)


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("multi_class", ["ovo", "ovr", "joint"])
def test_calibrating_counts_for_the_time_limit_and_can_be_interrupted(multi_class: str) -> None:
    """The callback of the first fold interrupts, or uses up the time."""
    X, y = make_blobs(1200, 4, centers=3, cluster_std=6.0, random_state=0)
    rounds: list[int] = []
    machine = SVC(multi_class=multi_class, n_jobs=1, callback=lambda p: rounds.append(0)).fit(X, y)
    whole = len(rounds)

    def at_the_first_fold(act: Any) -> Any:
        rounds.clear()
        return lambda p: act() if rounds.append(0) or len(rounds) == whole + 1 else None

    machine.set_params(probability=True, callback=at_the_first_fold(_thread.interrupt_main))
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert machine.status_ is Status.CONVERGED
    assert machine.score(X, y) > 0.5
    with pytest.raises(NotFittedError, match="probability"):
        machine.predict_proba(X)
    limit = 1.0
    machine.set_params(max_time=limit, callback=at_the_first_fold(lambda: time.sleep(limit)))
    began = time.process_time()  # sleep takes none of it
    with pytest.warns(ConvergenceWarning, match="calibrating stopped at max_time.*Raise max_time"):
        machine.fit(X, y)
    assert time.process_time() - began < 1.5 * limit
    assert (machine.predict_proba(X).argmax(axis=1) == machine.predict(X)).all()


def test_callback_hears_of_progress_and_can_stop() -> None:
    seen: list[Any] = []

    def listen(progress: Any) -> bool:
        seen.append(progress)
        return len(seen) == 5

    with pytest.warns(ConvergenceWarning, match="callback"):
        machine = SVC(**LONG, callback=listen).fit(X, Y)
    assert len(seen) == 5
    assert machine.status_ is Status.STOPPED
    assert [p.time for p in seen] == sorted(p.time for p in seen)
    assert seen[-1].dual_objective > seen[1].dual_objective > 0
    assert all(p.rows == 6000 and 0 < p.active <= 6000 for p in seen)


def test_progress_line_after_the_first_second_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    SVC(verbose=True).fit(X[:300], Y[:300])
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(progress_module, "FIRST_AFTER", 0.01)
    with pytest.warns(ConvergenceWarning):
        SVC(**LONG, verbose=True, max_time=0.3).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "6000 rows" in err
    assert "gap" in err
    SVC(verbose=False).fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_interpreter_lock_is_released() -> None:
    """Another thread counts on while a fit runs on one thread."""
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.perf_counter()
    SVC(C=10.0, gamma=0.1, n_jobs=1).fit(X, Y)
    spent = time.perf_counter() - began
    stop.set()
    thread.join()
    assert counted[0] > 20 * spent


def test_small_memory_limit_changes_time_only() -> None:
    roomy, tight = (SVC(C=5.0, memory_limit=m).fit(X, Y) for m in (None, "8MB"))
    gap = roomy.primal_objective_ - roomy.dual_objective_
    gap += tight.primal_objective_ - tight.dual_objective_
    assert abs(roomy.dual_objective_ - tight.dual_objective_) <= gap
    assert tight.kkt_violation_ <= tight.tol
    np.testing.assert_array_equal(
        roomy.predict(X)[roomy.is_certain(X)], tight.predict(X)[roomy.is_certain(X)]
    )
