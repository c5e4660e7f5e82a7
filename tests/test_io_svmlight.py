"""Reading LIBSVM text: against scikit-learn, a naive reader, and changes that must not matter."""

import bz2
import gzip
import importlib
import io
import lzma
import os
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from widemargin import iter_svmlight, load_svmlight
from widemargin.io import sources, svmlight


def read(text, **options):
    return load_svmlight(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def same_bits(a, b):
    return np.array_equal(np.asarray(a).view(np.uint8), np.asarray(b).view(np.uint8))


def assert_same(X, A):
    assert X.shape == A.shape
    assert X.dtype == A.dtype
    np.testing.assert_array_equal(X.indptr, A.indptr)
    np.testing.assert_array_equal(X.indices, A.indices)
    assert same_bits(X.data, A.data)


def many_lines(rows=20_000, seed=0):
    """Write rows whose numbers have all kinds of lengths; 2 MB, so several pieces."""
    random = np.random.default_rng(seed)
    lines = []
    for row in range(rows):
        columns = np.unique(random.integers(1, 5000, random.integers(0, 12)))
        values = random.standard_normal(columns.size) * 10.0 ** random.integers(-9, 9, columns.size)
        digits = random.integers(1, 18, columns.size)
        pairs = [f"{c}:{v:.{d}g}" for c, v, d in zip(columns, values, digits, strict=True)]
        extra = f" qid:{row // 7}" if row % 3 else ""
        comment = f" # row {row}" if row % 5 == 0 else ""
        lines.append(f"{random.integers(-3, 4)}{extra} {' '.join(pairs)}{comment}")
    return "\n".join(lines) + "\n"


TEXT = many_lines()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("zero_based", ["auto", True, False])
def test_equals_scikit_learn(dtype, zero_based):
    options = {"dtype": dtype, "zero_based": zero_based}
    X, y = read(TEXT, **options)
    A, b = load_svmlight_file(io.BytesIO(TEXT.encode()), **options)
    assert_same(X, A)
    assert same_bits(y, b)
    assert X.has_canonical_format
    assert X.indices.dtype == np.int32


def test_multilabel_equals_scikit_learn():
    text = "3,1 1:1\n 2:1\n5\n2,2.5,1 3:1 # c\n1:2\n"
    X, y = read(text, multilabel=True)
    A, b = load_svmlight_file(io.BytesIO(text.encode()), multilabel=True)
    assert_same(X, A)
    assert y == b == [(1.0, 3.0), (), (5.0,), (1.0, 2.0, 2.5), ()]


def test_query_ids_equal_scikit_learn():
    text = "".join(f"{row} qid:{row**3 - 20} 1:{row}\n" for row in range(9))
    for ours, theirs in zip(
        read(text, query_id=True)[1:],
        load_svmlight_file(io.BytesIO(text.encode()), query_id=True)[1:],
        strict=True,
    ):
        assert same_bits(ours, theirs)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("block", [1 << 10, 100_000, 1 << 26])
def test_threads_and_blocks_do_not_matter(threads, block, monkeypatch):
    wanted = {"query_id": True, "slack_id": True, "cost": True, "comments": True}
    expected = read(TEXT, n_jobs=1, **wanted)
    monkeypatch.setattr(svmlight, "block_bytes", lambda threads: block)
    found = read(TEXT, n_jobs=threads, **wanted)
    assert_same(found[0], expected[0])
    for ours, theirs in zip(found[1:-1], expected[1:-1], strict=True):
        assert same_bits(ours, theirs)
    assert found[-1] == expected[-1]
    assert expected[-1][:6] == [" row 0", "", "", "", "", " row 5"]


def naive(text):
    """Read lines with Python's own split, float and int."""
    rows, labels = [], []
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        if words:
            labels.append(float(words[0]))
            pairs = [word.split(":") for word in words[1:] if word[0].isdigit()]
            rows.append({int(index): float(value) for index, value in pairs})
    return rows, labels


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"\A[+-]?([0-9]{1,25}\.?|[0-9]{0,20}\.[0-9]{1,25})(e[+-]?[0-9]{1,2})?\Z"),
    st.from_regex(r"\A0\.0{0,40}[0-9]{1,20}([eE][+-]?[0-9]{1,2})?\Z"),
)
BLANKS = st.sampled_from([" ", "  ", "\t", " \r", "\f", "\v "])
ROWS = st.tuples(
    NUMBERS,
    st.dictionaries(st.integers(0, 2**40) | st.integers(0, 120), NUMBERS, max_size=5),
    st.sampled_from(["", "qid:5", "sid:-2 cost:1e3", "cost:.5"]),
    st.sampled_from(["", "#", " # 1:2 x", "\r", " "]),
)


@given(st.lists(ROWS, max_size=6), BLANKS, st.sampled_from(["\n", "\r\n", "\n\n", "\n#\n \n"]))
def test_equals_naive_reader(rows, blank, line_end):
    lines = []
    for label, entries, prefix, end in rows:
        pairs = [f"{index}:{entries[index]}" for index in sorted(entries)]
        lines.append(blank.join([label, *prefix.split(), *pairs]) + end)
    text = line_end.join(lines)
    X, y = read(text, zero_based=True, n_jobs=1)
    expected, labels = naive(text)
    assert same_bits(y, np.array(labels))
    assert X.shape[0] == len(expected)
    for row, entries in enumerate(expected):
        inside = slice(X.indptr[row], X.indptr[row + 1])
        assert X.indices[inside].tolist() == list(entries)
        assert same_bits(X.data[inside], np.array(list(entries.values())))


@given(NUMBERS)
def test_numbers_are_exact(number):
    """To the last bit, wherever in its block a number stands."""
    X, y = read(f"{number} 1:{number} 2:{number}\n3 1:{number}", n_jobs=1)
    assert same_bits(X.data, np.full(3, float(number)))
    assert same_bits(y, np.array([float(number), 3.0]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1.8p3", 12.0),
        ("+0X10", 16.0),
        ("1e-400", 0.0),
        ("-1e-400", -0.0),
        ("5e-324", 5e-324),
        ("1" + "0" * 400 + "e-390", 1e10),
        ("0." + "0" * 400 + "1e401", 1.0),
        ("0e999", 0.0),
        ("1E+3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
    ],
)
def test_unusual_notations(text, value):
    X, y = read(f"{text} 1:{text}")
    assert same_bits(X.data, np.array([value]))
    assert same_bits(y, np.array([value]))


COMPLAINTS = [
    ("1 1:2\n1:3\n", "line 2, column 1: the row has no label .*found '1:3'.*write 0"),
    ("a 1:1", "line 1, column 1: the label is not a number, found 'a'"),
    ("1,2 1:1", "multilabel=True"),
    ("1 2:1 2:1", "line 1, column 7: indices must rise"),
    ("1 3:1 2:1", "column 7: indices must rise"),
    ("\n\r\n1 1:x", "line 3, column 5: the value is not a number, found 'x'"),
    ("1 1:", "column 5: the value is not a number$"),
    ("1 1: 2", "column 5: the value is not a number"),
    ("1 1:2:3", "column 5: the value is not a number, found '2:3'"),
    ("1 1:0.1.2", "column 5: the value is not a number"),
    ("1 1:--2", "column 5: the value is not a number"),
    ("1 1:nan", "column 5: the value is not finite, found 'nan'; non_finite=True"),
    ("1 1:1e999", "column 5: the value is not finite"),
    ("-inf 1:1", "column 1: the label is not finite"),
    ("1 x:1", "column 3: expected index:value, found 'x:1'"),
    ("1 -1:1", "column 3: expected index:value, found '-1:1'"),
    ("1 1:1 2", "column 7: expected index:value, found '2'"),
    ("1 99999999999999999999:1", "the index does not fit into 64 bits"),
    ("1 9223372036854775807:1", "the index does not fit into 64 bits"),
    ("1 qid:x 1:1", "column 7: qid: needs a whole number, found 'x'"),
    ("1 sid:1.5 1:1", "sid: needs a whole number"),
    ("1 cost:inf 1:1", "cost: needs a finite number"),
    ("1 1:1\0", "the value is not a number"),
    ("1 1:1\0 2:1", "the value is not a number"),
    ("1 1:1\n2 1:1\n\0", "line 3, column 1: the label is not a number"),
]


@pytest.mark.parametrize(("text", "complaint"), COMPLAINTS)
@pytest.mark.parametrize("threads", [1, 3])
def test_errors_name_line_and_column(text, complaint, threads):
    with pytest.raises(ValueError, match=complaint):
        read(text, n_jobs=threads)


def test_errors_in_later_blocks_name_their_line(monkeypatch):
    monkeypatch.setattr(svmlight, "block_bytes", lambda threads: 64)
    with pytest.raises(ValueError, match="line 5001, column 3"):
        read("1 1:1\n" * 5000 + "1 x\n")


def test_first_error_wins_whatever_the_threads():
    text = "1 1:1\n" * 300_000 + "1 2:\n" + "1 1:1\n" * 300_000 + "x\n"
    for threads in (1, 4):
        with pytest.raises(ValueError, match="line 300001, column 5"):
            read(text, n_jobs=threads)


def test_float32_overflow_is_not_silent():
    with pytest.raises(ValueError, match="not finite"):
        read("1 1:1e39", dtype=np.float32)
    assert np.isinf(read("1 1:1e39", dtype=np.float32, non_finite=True)[0].data).all()


def test_non_finite_on_request():
    X, y = read("nan 1:inf 2:-Infinity 3:NaN", non_finite=True)
    np.testing.assert_array_equal(X.data, [np.inf, -np.inf, np.nan])
    assert np.isnan(y).all()


def test_first_index():
    assert read("1 0:1 2:1")[0].toarray().tolist() == [[1, 0, 1]]
    assert read("1 1:1 2:1")[0].toarray().tolist() == [[1, 1]]
    assert read("1 1:1 2:1", zero_based=True)[0].toarray().tolist() == [[0, 1, 1]]
    with pytest.raises(ValueError, match=r"column 3: index 0 .*zero_based=True"):
        read("1 0:1 2:1", zero_based=False)
    with pytest.raises(ValueError, match="zero_based must be True, False or 'auto', found 1"):
        read("1 0:1 2:1", zero_based=1)


def test_wide_indices():
    X, _ = read("1 1:1 3000000000:2\n" * 2 + "1 9223372036854775806:3\n")
    assert X.indices.dtype == np.int64
    assert X.indices.tolist() == [0, 2999999999, 0, 2999999999, 9223372036854775805]
    X, _ = read("1 0:1\n1 2147483647:1\n")
    assert X.shape[1] == 2**31


def test_wide_indices_in_a_later_block(monkeypatch):
    monkeypatch.setattr(svmlight, "block_bytes", lambda threads: 64)
    X, _ = read("1 1:1 7:2\n" * 100 + "1 5000000000:1\n")
    assert X.indices.tolist() == [0, 6] * 100 + [4999999999]


def test_number_of_features():
    assert read("1 2:1", n_features=7)[0].shape == (1, 7)
    with pytest.raises(ValueError, match="index 5, so 5 columns, but n_features=3"):
        read("1 5:1", n_features=3)
    with pytest.raises(ValueError, match="n_features must be a whole number"):
        read("1 5:1", n_features=0)
    with pytest.raises(ValueError, match="dtype must be"):
        read("1 5:1", dtype=int)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n\r\n  \n", "\ufeff"])
def test_no_rows(text):
    X, y = read(text)
    assert X.shape == (0, 1)
    assert y.shape == (0,)


def test_rows_without_entries():
    X, y = read("1\n-1 \n2 # c\n")
    assert X.shape == (3, 1)
    assert y.tolist() == [1, -1, 2]


def test_mark_of_byte_order_is_no_label():
    assert read(b"\xef\xbb\xbf1 1:2\n")[1].tolist() == [1]


COMPRESSORS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


def zstd_compress(data):
    return pytest.importorskip("zstandard").compress(data)


@pytest.mark.parametrize("kind", [*COMPRESSORS, "zstd"])
def test_compressed_by_content(kind, tmp_path):
    compress = COMPRESSORS.get(kind, zstd_compress)
    expected, _ = read(TEXT)
    path = tmp_path / "data.txt"  # no ending says how
    half = TEXT.index("\n", len(TEXT) // 2) + 1
    data = compress(TEXT[:half].encode()) + compress(TEXT[half:].encode())
    path.write_bytes(data)
    assert_same(load_svmlight(path)[0], expected)
    path.write_bytes(data[:-9])
    with pytest.raises(ValueError, match=f"data.txt is damaged or incomplete {kind} data"):
        load_svmlight(path)


def test_zstd_without_a_library(monkeypatch, tmp_path):
    for name in ("zstandard", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    importlib.invalidate_caches()
    (tmp_path / "a").write_bytes(b"\x28\xb5\x2f\xfd rest")
    with pytest.raises(ImportError, match=r"a needs zstd.*pip install 'widemargin\[io\]'"):
        load_svmlight(tmp_path / "a")


class Trickle:
    """A stream that gives a few bytes at a time and has no other method."""

    def __init__(self, data):
        self.data = data

    def read(self, size):
        given, self.data = self.data[: min(size, 3)], self.data[min(size, 3) :]
        return given


def test_every_kind_of_source(tmp_path):
    path = tmp_path / "data"
    path.write_text("1 1:1\n2 2:2\n")
    expected = read("1 1:1\n2 2:2\n")[0]
    for source in (path, str(path), Trickle(path.read_bytes())):
        assert_same(load_svmlight(source)[0], expected)
    with path.open("rb") as file:
        assert_same(load_svmlight(file)[0], expected)
        assert not file.closed
    descriptor = os.open(path, os.O_RDONLY)
    assert_same(load_svmlight(descriptor)[0], expected)
    os.close(descriptor)
    with pytest.raises(TypeError, match="binary mode"), path.open() as file:
        load_svmlight(file)
    with pytest.raises(TypeError, match="expected a path"):
        load_svmlight(3.5)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_svmlight(tmp_path / "nowhere")
    assert sources.source_name(7) == "file descriptor 7"


@pytest.mark.parametrize("rows_per_block", [1, 3, 1000, 10**6])
@pytest.mark.parametrize("block", [200, 1 << 23])
def test_blocks_are_the_whole(rows_per_block, block, tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "block_bytes", lambda threads: block)
    text = "".join(TEXT.splitlines(keepends=True)[: 40 * min(rows_per_block, 50)])
    path = tmp_path / "data"
    path.write_text(text)
    X, y, queries, comments = read(text, query_id=True, comments=True)
    blocks = list(iter_svmlight(path, rows_per_block, query_id=True, comments=True))
    assert {block[0].shape[1] for block in blocks} == {X.shape[1]}
    assert all(block[0].shape[0] == rows_per_block for block in blocks[:-1])
    assert np.array_equal(np.concatenate([block[0].toarray() for block in blocks]), X.toarray())
    assert np.array_equal(np.concatenate([block[1] for block in blocks]), y)
    assert np.array_equal(np.concatenate([block[2] for block in blocks]), queries)
    assert [comment for block in blocks for comment in block[3]] == comments


def test_blocks_need_memory_for_themselves_only(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "block_bytes", lambda threads: 1 << 14)
    line = b"1 " + b" ".join(b"%d:0.25" % k for k in range(1, 41)) + b"\n"
    path = tmp_path / "long.gz"
    path.write_bytes(gzip.compress(line * 10_000, 1))
    tracemalloc.start()
    rows = sum(X.shape[0] for X, _ in iter_svmlight(path, 100, n_jobs=1))
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 10_000
    assert largest < 1 << 20 < len(line) * 10_000 / 2  # most of it is what gzip needs


def test_blocks_of_a_stream_need_their_width():
    with pytest.raises(ValueError, match="give n_features and zero_based"):
        iter_svmlight(io.BytesIO(b"1 1:1"))
    with pytest.raises(ValueError, match="rows_per_block must be at least 1"):
        iter_svmlight("file", 0)
    (block,) = iter_svmlight(io.BytesIO(b"1 1:1"), n_features=3, zero_based=False)
    assert block[0].shape == (1, 3)
    assert list(iter_svmlight(io.BytesIO(b"#\n"), n_features=3, zero_based=False)) == []
