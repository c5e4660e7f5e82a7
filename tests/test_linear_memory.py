"""Linear machines leave X where it is: what a fit takes beside it, for each way of storing rows."""

from pathlib import Path

import pytest
from test_resources import run_python

MB = 1 << 20

# Prints, for each storage, by how much the peak rose above the memory held with the data, and how
# large the data are.
MEASURE = """
import tempfile
from pathlib import Path
import numpy as np
import scipy.sparse as sp
from widemargin import LinearSVC

ROWS, FEATURES = 80_000, 160


def memory(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024


def forms(folder):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES))
    yield "C64", X
    yield "F64", np.asfortranarray(X)
    X = X.astype(np.float32)
    yield "C32", X
    yield "F32", np.asfortranarray(X)
    X.tofile(folder / "X")
    yield "map", np.memmap(folder / "X", np.float32, "r", shape=X.shape)
    X = sp.csr_matrix(X)
    yield "CSR", X
    wide = sp.csr_matrix(X.shape, dtype=np.float32)
    wide.data, wide.indices, wide.indptr = (
        X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)
    )
    yield "CSR64", wide


y = np.random.default_rng(1).random(ROWS) < 0.5
with tempfile.TemporaryDirectory() as folder:
    for name, X in forms(Path(folder)):
        y = (X[:, [0]] > 0.1).toarray().ravel() if sp.issparse(X) else X[:, 0] + X[:, 1] > 0.1
        size = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
        y[::7] ^= True
        for machine in {machines}:
            machine.fit(X[:300], y[:300])  # what importing and threads take
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            kind = "RssAnon" if name == "map" else "VmRSS"  # pages of the map are not ours
            before = memory(kind)
            machine.set_params(max_time=1.0).fit(X, y)
            mapped = memory("RssFile") if name == "map" else 0
            print(name, machine.solver, machine.loss, memory("VmHWM") - mapped - before, size)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak")
def test_x_is_never_copied():
    """Beside X there are some numbers for each row, and sums of the size of a Gram matrix."""
    machines = "(LinearSVC(gap_tol=1e-2), LinearSVC(loss='hinge', solver='dual', gap_tol=1e-2))"
    lines = run_python(MEASURE.replace("{machines}", machines)).splitlines()
    assert len(lines) == 14
    for line in lines:
        *_, rose, size = line.split()
        assert int(rose) < 32 * MB < int(size), line
