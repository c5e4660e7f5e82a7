"""Tables of every format give the same rows and labels, whichever library reads them."""

import gzip
import importlib
import io

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

import widemargin as wm
from widemargin.io import tables

FRAME = load_wine(as_frame=True).frame.iloc[::7]
X, Y = FRAME.drop(columns="target").to_numpy(), FRAME["target"].to_numpy()
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: frame.reset_index(drop=True).to_feather(path),
}


@pytest.fixture(params=["pyarrow", "polars", "pandas"])
def library(request, monkeypatch):
    """Let only one library be found."""
    readers = {request.param: tables.READERS[request.param]}
    monkeypatch.setattr(tables, "READERS", readers)
    return request.param


@pytest.mark.parametrize("ending", WRITERS)
def test_columns_become_rows_and_labels(tmp_path, library, ending):
    path = tmp_path / f"wine.{ending}"
    WRITERS[ending](FRAME, path)
    table = tables.read_table(path)
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, Y)
    assert table.features == [name for name in FRAME.columns if name != "target"]
    data = io.BytesIO(gzip.compress(path.read_bytes()))
    data.name = f"wine.{ending}.gz"
    np.testing.assert_array_equal(wm.load_table(data)[0], X)


@pytest.mark.parametrize("ending", WRITERS)
def test_labels_may_be_texts_or_categories(tmp_path, library, ending):
    names = np.array(["barolo", "grignolino", "barbera"])[Y]
    for kind in ("object", "category"):
        path = tmp_path / f"{kind}.{ending}"
        WRITERS[ending](FRAME.assign(target=pandas.Series(names, FRAME.index, dtype=kind)), path)
        y = wm.load_table(path)[1]
        assert y.dtype.kind == "U"
        np.testing.assert_array_equal(y, names)


def test_the_target_is_chosen_by_name_or_number(tmp_path, library):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    for target in ("alcohol", 0, "0", -len(FRAME.columns)):
        rows, y = wm.load_table(tmp_path / "a.csv", target=target)
        np.testing.assert_array_equal(y, FRAME["alcohol"])
        assert rows.shape[1] == X.shape[1]
    with pytest.raises(ValueError, match="has no column 'colour'; its columns are 'alcohol'"):
        wm.load_table(tmp_path / "a.csv", target="colour")
    FRAME.to_csv(tmp_path / "b.csv", index=False, header=False)
    rows, y = wm.load_table(tmp_path / "b.csv", target=-1)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(y, Y)
    assert wm.load_table(tmp_path / "b.csv")[1] is None


def test_gaps_are_kept_in_rows_and_refused_in_labels(library):
    rows, y = wm.load_table(io.BytesIO(b"a,b,class\n1,,u\n,4,v\n"))
    assert np.isnan(rows).tolist() == [[False, True], [True, False]]
    assert y.tolist() == ["u", "v"]
    with pytest.raises(ValueError, match=r"column 'b' holds '?'"):
        wm.load_table(io.BytesIO(b"a,b,class\n1,x,u\n2,y,v\n"))


def test_broken_tables_are_told_in_one_sentence(tmp_path, library):
    FRAME.to_parquet(tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    with pytest.raises(ValueError, match="cannot be read as parquet"):
        wm.load_table(io.BytesIO(data[: len(data) // 2]))
    with pytest.raises(ValueError, match=r"cannot be read as csv|has no rows"):
        wm.load_table(io.BytesIO(b"a,b\n"))


def test_a_missing_library_is_named(monkeypatch):
    real = importlib.import_module

    def hidden(name, *rest):
        if name.split(".")[0] in ("pyarrow", "polars", "pandas"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", hidden)
    with pytest.raises(ImportError, match=r"pip install 'widemargin\[io\]'"):
        wm.load_table(io.BytesIO(b"a,b\n1,2\n"))


def test_files_of_numpy(tmp_path):
    np.save(tmp_path / "a.npy", np.column_stack([X, Y]))
    rows, y = wm.load_table(tmp_path / "a.npy", target=-1)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(y, Y)
    assert wm.load_table(tmp_path / "a.npy")[1] is None
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    np.testing.assert_array_equal(wm.load_table(tmp_path / "a.npz")[1], Y)
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_matrix(X))
    np.testing.assert_array_equal(wm.load_table(tmp_path / "s.npz")[0].toarray(), X)
    np.savez(tmp_path / "odd.npz", other=X)
    with pytest.raises(ValueError, match="must hold a matrix X"):
        wm.load_table(tmp_path / "odd.npz")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read as npy"):
        wm.load_table(tmp_path / "objects.npy")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"1 1:0.5 3:2\n", "svmlight"),
        (b"# note\n\n-1 qid:3 1:0.5 # x\n", "svmlight"),
        (b"1,2 1:0.5\n", "svmlight"),
        (b"3\n", "svmlight"),
        (b"a,b\n1,2\n", "csv"),
        (b"1,2\n", "csv"),
        (b"1;2\n", "csv"),
        (b"PAR1...", "parquet"),
        (b"ARROW1\0\0", "arrow"),
    ],
)
def test_formats_are_recognised(text, found):
    assert tables.data_format(text, "data") == found


def test_what_is_no_data_is_named():
    with pytest.raises(ValueError, match="is no data file that is known here"):
        wm.load_table(io.BytesIO(b"SVM-light Version V6.02\n"))
    with pytest.raises(ValueError, match="labels come first; leave target out"):
        wm.load_table(io.BytesIO(b"1 1:0.5\n"), target="y")
