"""Writing LIBSVM text: what is written reads back bit for bit, and files appear whole."""

import io
import os
import stat

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_svmlight_file

from widemargin import dump_svmlight, load_svmlight
from widemargin.io import svmlight_writer


def written(X, y, **options):
    file = io.BytesIO()
    dump_svmlight(X, y, file, **options)
    return file.getvalue()


def same_bits(a, b):
    return np.array_equal(np.asarray(a).view(np.uint8), np.asarray(b).view(np.uint8))


FLOATS = {
    dtype: hnp.arrays(
        dtype,
        st.tuples(st.integers(0, 5), st.integers(1, 6)),
        elements=st.floats(width=8 * np.dtype(dtype).itemsize),
    )
    for dtype in (np.float64, np.float32)
}


@given(st.sampled_from(list(FLOATS)).flatmap(FLOATS.get), st.booleans())
def test_round_trip_is_exact(X, zero_based):
    X = sp.csr_matrix((X.ravel(), np.tile(np.arange(X.shape[1]), X.shape[0]),
                       np.arange(0, X.size + 1, X.shape[1])), shape=X.shape)  # fmt: skip
    y = np.linspace(-1, 1, X.shape[0]) / 3
    text = written(X, y, zero_based=zero_based, non_finite=True)
    back, labels = load_svmlight(
        io.BytesIO(text), dtype=X.dtype, n_features=X.shape[1], zero_based=zero_based,
        non_finite=True,
    )  # fmt: skip
    np.testing.assert_array_equal(back.indices, X.indices)
    np.testing.assert_array_equal(back.indptr, X.indptr)
    numbers = ~np.isnan(X.data)
    assert same_bits(back.data[numbers], X.data[numbers])
    assert np.isnan(back.data[~numbers]).all()
    assert same_bits(labels, y)


def test_all_floats_of_32_bits_survive():
    """Reading takes text for a double first; the second rounding must not lead elsewhere."""
    random = np.random.default_rng(0)
    values = random.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    values = values[np.isfinite(values)][None]
    back, _ = load_svmlight(io.BytesIO(written(sp.csr_matrix(values), [1])), dtype=np.float32)
    assert same_bits(back.data, values[values != 0])


def test_shortest_digits():
    assert written([[0.1, 1e22, 2.0, -1e-7, 123456.789]], [1]) == (
        b"1 1:0.1 2:1e+22 3:2 4:-1e-07 5:123456.789\n"
    )
    assert written(np.float32([[0.1, 16777216]]), [1]) == b"1 1:0.1 2:16777216\n"
    assert written([[np.pi, 1e6]], [np.e], digits=3) == b"2.72 1:3.14 2:1e+06\n"


def test_labels():
    assert written(np.ones((2, 1)), [2**60 + 1, -3]) == b"1152921504606846977 1:1\n-3 1:1\n"
    assert written(np.ones((2, 1)), [True, False]) == b"1 1:1\n0 1:1\n"
    assert written(np.ones((2, 1)), [[1, 2.5], []], multilabel=True) == b"1,2.5 1:1\n 1:1\n"
    indicator = np.array([[0, 1, 1], [0, 0, 0]])
    for y in (indicator, sp.csr_array(indicator)):
        assert written(np.ones((2, 1)), y, multilabel=True) == b"1,2 1:1\n 1:1\n"


def test_everything_beside_the_entries():
    text = written(
        sp.csr_array([[0, 2], [3, 0]]),
        [1, 2],
        query_id=[7, 8],
        slack_id=[-1, 0],
        cost=[0.5, 2],
        comments=["", " häuser # 2"],
    )
    assert text.decode() == ("1 qid:7 sid:-1 cost:0.5 2:2\n2 qid:8 sid:0 cost:2 1:3 # häuser # 2\n")
    wanted = {"query_id": True, "slack_id": True, "cost": True, "comments": True}
    back = load_svmlight(io.BytesIO(text), **wanted)
    assert [np.asarray(extra).tolist() for extra in back[2:]] == [
        [7, 8], [-1, 0], [0.5, 2], ["", " häuser # 2"]
    ]  # fmt: skip


def test_zeros():
    X = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert written(X, [1, 2]) == b"1 2:1\n2\n"
    assert written(X, [1, 2], zeros=True) == b"1 1:0 2:1\n2 1:0 2:0\n"
    stored = sp.csr_matrix((np.array([0.0]), np.array([1]), np.array([0, 1, 1])), shape=(2, 2))
    assert written(stored, [1, 2]) == b"1 2:0\n2\n"


def some_entries(rows, columns):
    random = np.random.default_rng(1)
    return sp.csr_array(random.random((rows, columns)) * (random.random((rows, columns)) < 0.1))


def test_scikit_learn_reads_it():
    random = np.random.default_rng(0)
    X = some_entries(500, 300)
    y = random.standard_normal(500)
    A, b = load_svmlight_file(io.BytesIO(written(X, y)), n_features=300, zero_based=False)
    assert (A != X).nnz == 0
    assert same_bits(b, y)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("entries", [1, 100, 10**6])
def test_blocks_and_threads_do_not_matter(threads, entries, monkeypatch):
    random = np.random.default_rng(0)
    X = some_entries(3000, 50)
    y = [random.integers(0, 9, random.integers(0, 3)) for _ in range(3000)]
    comments = [f"row {row}" for row in range(3000)]
    options = {"multilabel": True, "query_id": np.arange(3000), "comments": comments}
    expected = written(X, y, n_jobs=1, **options)
    monkeypatch.setattr(svmlight_writer, "ENTRIES_AT_ONCE", entries)
    assert written(X, y, n_jobs=threads, **options) == expected
    assert expected.count(b"\n") == 3000


def test_unsorted_rows_are_sorted_in_a_copy():
    X = sp.csr_matrix((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert written(X, [0]) == b"0 1:2 2:1\n"
    assert X.indices.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("X", "y", "options", "complaint"),
    [
        ([1.0], [1], {}, "two dimensions"),
        ([["a"]], [1], {}, "real numbers"),
        ([[np.nan]], [1], {}, "X contains nan or inf"),
        ([[1.0]], [np.inf], {}, "y contains nan or inf"),
        ([[1.0]], ["spam"], {}, "labels must be numbers.*LabelEncoder"),
        ([[1.0]], [1, 2], {}, "one label for each of the 1 rows"),
        ([[1.0]], [[1, 2], []], {"multilabel": True}, "labels for 2 rows, but X has 1"),
        ([[1.0]], [1], {"query_id": [0.5]}, "query_id must hold one whole number"),
        ([[1.0]], [1], {"cost": [1, 2]}, "cost must hold one number"),
        ([[1.0]], [1], {"comments": ["a\nb"]}, r"comments\[0\] has a line break"),
        ([[1.0]], [1], {"comments": []}, "comments has 0 entries"),
        ([[1.0]], [1], {"digits": 18}, "digits must be a whole number from 1 to 17"),
    ],
)
def test_bad_arguments(X, y, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        written(X, y, **options)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_compressed_by_ending(ending, tmp_path):
    if ending == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"data{ending}"
    dump_svmlight(np.eye(50), range(50), path)
    assert path.read_bytes().startswith(b"0 1:1\n") == (ending == "")
    np.testing.assert_array_equal(load_svmlight(path)[0].toarray(), np.eye(50))


def test_nothing_is_half_written(tmp_path):
    path = tmp_path / "data"
    path.write_text("old")
    os.chmod(path, 0o640)
    with pytest.raises(ValueError, match="labels must be numbers"):
        dump_svmlight([[1.0]], ["a"], path)

    class Broken:
        def __len__(self):
            return 1

        def __getitem__(self, row):
            raise KeyboardInterrupt

        def __iter__(self):
            return iter([""])

    with pytest.raises(KeyboardInterrupt):
        dump_svmlight([[1.0]], [1], path, comments=Broken())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["data"]
    link = tmp_path / "link"
    link.symlink_to(path)
    dump_svmlight([[1.0]], [1], link)
    assert path.read_text() == "1 1:1\n"
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        dump_svmlight([[1.0]], [1], tmp_path / "no" / "data")
    with pytest.raises(TypeError, match="expected a path"):
        dump_svmlight([[1.0]], [1], 3)
