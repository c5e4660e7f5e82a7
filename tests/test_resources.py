"""A fit uses the cores and the memory that it may use, and no more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from widemargin import _core
from widemargin.backends.cpu import memory_budget, resources, thread_count

MB = 1_000_000


def run_python(code, **environment):
    """Run code in a fresh interpreter that knows this one's modules; return what it prints."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": paths} | environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    ).stdout


# --- cores ---------------------------------------------------------------------------------------


@pytest.fixture
def many_cores(monkeypatch):
    """As on a machine with 16 cores and nothing that limits them."""
    monkeypatch.setattr(resources._core, "thread_limit", lambda: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16)), raising=False)
    monkeypatch.setattr(resources, "_read", lambda path: "")


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 16), (1, 1), (5, 5), (40, 40), (-1, 16), (-2, 15), (-16, 1)]
)
def test_number_of_threads(many_cores, n_jobs, expected):
    assert thread_count(n_jobs) == expected


def test_far_below_zero_is_one_thread(many_cores):
    assert thread_count(-100) == 1


@pytest.mark.usefixtures("many_cores")
def test_no_threads_is_an_error():
    with pytest.raises(ValueError, match="n_jobs must not be 0; use None for all usable cores"):
        thread_count(0)


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("max 100000", 16), ("300000 100000", 3), ("250000 100000", 3), ("", 16)],
)
def test_quota_of_the_container_counts(many_cores, monkeypatch, quota, expected):
    files = {"/sys/fs/cgroup/cpu.max": quota}
    monkeypatch.setattr(resources, "_read", lambda path: files.get(path, ""))
    assert thread_count(None) == expected


def test_a_small_quota_leaves_one_thread(many_cores, monkeypatch):
    monkeypatch.setattr(resources, "_read", lambda path: "20000 100000")
    assert thread_count(None) == thread_count(-1) == 1


def test_affinity_counts(many_cores, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 7}, raising=False)
    assert thread_count(None) == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert thread_count(None) == 5


NO_OPENMP = not any(pool["user_api"] == "openmp" for pool in threadpool_info())


@pytest.mark.skipif(NO_OPENMP, reason="built without OpenMP, whose limits are meant")
def test_limits_of_threadpoolctl_and_the_environment_count():
    with threadpool_limits(1):
        assert thread_count(None) == 1
    code = "from widemargin.backends.cpu import thread_count; print(thread_count(None))"
    assert run_python(code, OMP_NUM_THREADS="1").split() == ["1"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_affinity_of_this_process_counts():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from widemargin.backends.cpu import thread_count; print(thread_count(None))"
    )
    assert run_python(code).split() == ["1"]


# --- sizes ---------------------------------------------------------------------------------------

SIZES = {
    1000: 1000,
    2.5e9: 2_500_000_000,
    "500MB": 500_000_000,
    "2GiB": 2 << 30,
    "1.5 GB": 1_500_000_000,
    " 64 kib ": 65536,
    "7B": 7,
    "123": 123,
    "1e6": 1_000_000,
    "3TB": 3_000_000_000_000,
}


@pytest.mark.parametrize(("size", "expected"), SIZES.items(), ids=str)
def test_sizes_are_read(size, expected):
    assert memory_budget(size) == expected


@pytest.mark.parametrize("size", ["", "much", "5XB", "MB", "1.2.3GB", "5 M B B", "nan"])
def test_texts_that_are_no_sizes(size):
    with pytest.raises(ValueError, match="is not a size; give bytes as a number or a text"):
        memory_budget(size)


@pytest.mark.parametrize("size", [0, -1, 0.0, float("nan"), float("inf"), True, [1], "0MB", "inf"])
def test_sizes_must_be_positive_numbers(size):
    with pytest.raises(ValueError, match="memory_limit") as caught:
        memory_budget(size)
    assert repr(size) in str(caught.value)


def test_half_of_what_is_free_by_default(monkeypatch):
    files = {"/proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:   6000 kB\n"}
    monkeypatch.setattr(resources, "_read", lambda path: files.get(path, ""))
    assert memory_budget(None) == 6000 * 1024 // 2
    files |= {"/sys/fs/cgroup/memory.max": "5000000\n", "/sys/fs/cgroup/memory.current": "1000000"}
    assert memory_budget(None) == 2_000_000
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    assert memory_budget(None) == 6000 * 1024 // 2
    files.clear()
    assert memory_budget(None) > 0


# --- peak ----------------------------------------------------------------------------------------

# Prints by how much the peak of the process rose above the memory that it held with the data.
MEASURE = """
import numpy as np
from cases import Data, Task
from solving import solve
from widemargin.kernels import RBF, FunctionKernel
from widemargin.problem import c_svc
from widemargin.backends.cpu import CpuKernelData

rng = np.random.default_rng(0)
X = rng.standard_normal(({rows}, {features}), dtype=np.float32)
signs = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0, 1.0, -1.0)
problem = c_svc(signs, np.full({rows}, 10.0))


def memory(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return int(line.split()[1]) * 1024


with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins anew
before = memory("VmRSS")
data = CpuKernelData(X, RBF(1 / {features}), threads=2, budget={budget}, precision="auto")
data.source.dear = {dear}
solution = solve(data, problem, tolerance=1e-3, seconds={seconds})
print(memory("VmHWM") - before, len(solution.history))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak")
@pytest.mark.parametrize(
    ("rows", "features", "budget", "dear", "seconds"),
    [
        (30_000, 50, 500 * MB, True, 3.0),
        (30_000, 50, 100 * MB, True, 1.0),
        (30_000, 50, 100 * MB, False, 1.0),
        (40_000, 500, 60 * MB, True, 0.2),
    ],
    ids=["kept rows", "few kept rows", "cheap rows", "more data than budget"],
)
def test_peak_stays_within_the_budget(rows, features, budget, dear, seconds):
    code = MEASURE.format(rows=rows, features=features, budget=budget, dear=dear, seconds=seconds)
    rose, rounds = map(int, run_python(code).split())
    assert rose <= budget
    assert rounds > 0
    if budget == 500 * MB:
        assert rose > budget / 5, "memory that could save work was left unused"


FIT = """
import numpy as np
from widemargin import SVC

rng = np.random.default_rng(0)
X = rng.standard_normal((30_000, 50), dtype=np.float32)
y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0
SVC().fit(X[:300], y[:300])  # what importing and threads take


def memory(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return int(line.split()[1]) * 1024


with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = memory("VmRSS")
machine = SVC(memory_limit="500MB").fit(X, y)
print(memory("VmHWM") - before, machine.status_.name)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak")
def test_a_fit_within_its_limit_ends():
    rose, status = run_python(FIT).split()
    assert int(rose) <= 500 * MB
    assert status == "CONVERGED"


# --- instruction sets ----------------------------------------------------------------------------

WHOLE_FIT = """
from sklearn.datasets import load_iris
from widemargin import SVC, _core

X, y = load_iris(return_X_y=True)
machine = SVC(kernel="{kernel}", C=10.0).fit(X, y)
print(_core.instruction_set(), machine.dual_objective_, machine.score(X, y))
"""


@pytest.mark.parametrize("name", _core.instruction_sets())
def test_instruction_set_can_be_chosen(name):
    """From import to prediction on each of them, the one without any vector instructions too."""
    widest = run_python(WHOLE_FIT.format(kernel="rbf")).split()
    chosen = run_python(WHOLE_FIT.format(kernel="rbf"), WIDEMARGIN_INSTRUCTION_SET=name).split()
    assert widest[0] == _core.instruction_sets()[-1]
    assert chosen[0] == name
    assert float(chosen[1]) == pytest.approx(float(widest[1]), rel=1e-10)
    assert chosen[2] == widest[2]


def test_instruction_set_of_another_machine_is_refused():
    code = WHOLE_FIT.replace("machine =", "try:\n    machine =").replace(
        "print", "except ValueError as error:\n    print(error)\n#"
    )
    told = run_python(code.format(kernel="rbf"), WIDEMARGIN_INSTRUCTION_SET="x86_64_v9")
    assert told == "instruction set 'x86_64_v9' cannot run on this machine\n"
