"""`widemargin doctor`: what data suffer from, which of it must be repaired, and what to do next."""

import json

import numpy as np
import pytest
from scipy import sparse

import widemargin as wm
from widemargin.io.ranges import Ranges


def facts(output):
    return json.loads(output[0])


def test_sound_data_get_the_next_command(widemargin, folder):
    (folder / "a.csv").write_text("a,b,y\n0,1,u\n1,0,v\n0.5,0.2,u\n0.1,0.9,v\n")
    text, _ = widemargin("doctor a.csv")
    assert "nothing to complain about" in text
    assert "next: widemargin tune a.csv -o model" in text


def test_what_data_suffer_from_is_named(widemargin, folder):
    rows = [f"{k / 25},{1000 * k},3,rare" if k == 0 else f"{k / 25},{1000 * k},3,often"
            for k in range(25)]  # fmt: skip
    rows += [rows[1], rows[2].replace("often", "rare")]
    (folder / "a.csv").write_text("a,b,c,y\n" + "\n".join(rows) + "\n")
    found = facts(widemargin("doctor a.csv --json"))
    kinds = {finding["kind"]: finding["sentence"] for finding in found["findings"]}
    assert kinds.keys() == {"constant", "unscaled", "duplicates", "contradictions", "imbalance"}
    assert "'c'" in kinds["constant"]
    assert "'b' spans 2.4e+04" in kinds["unscaled"]
    assert "2 rows repeat earlier ones, such as row 26 (= row 2)" in kinds["duplicates"]
    assert "row 27 (rare) and row 3 (often)" in kinds["contradictions"]
    assert "class rare has 2 rows" in kinds["imbalance"]
    assert found["next"] == "widemargin train a.csv --easy -o model --balanced"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.csv", "a,b,y\n1,,u\n2,3,v\n", "1 row holds gaps, nan or inf, in column 'b'"),
        ("a.svm", "1 1:nan\n-1 1:2\n", "1 row holds gaps, nan or inf, in column 1"),
        ("b.svm", "1 1:1\n1 1:2\n", "all rows have the same label"),
        ("c.svm", "1 1:1\n2 1:x\n# \n1 2:1 1:1\n", "line 2, column 5: the value is not a number"),
        ("c.svm", "1 1:1\n2 1:x\n# \n1 2:1 1:1\n", "line 4, column 7: indices must rise"),
        ("d.csv", "a,y\n1,2,u\n3,v\n", "REPAIR: d.csv cannot be read as csv"),
        ("e.svm", "\n", "there are no rows"),
    ],
)
def test_what_must_be_repaired_has_an_exit_code(widemargin, folder, name, text, sentence):
    (folder / name).write_text(text)
    assert sentence in widemargin(f"doctor {name}", code=4)[0]


def test_sparse_data_are_checked_too(widemargin, folder):
    (folder / "a.svm").write_text("1 1:1 3:500\n-1 2:1\n1 1:1 3:500\n-1 1:1 3:500\n")
    found = facts(widemargin("doctor a.svm --json"))
    kinds = [finding["kind"] for finding in found["findings"]]
    assert kinds == ["unscaled", "duplicates", "contradictions"]


def test_large_and_wide_data_are_advised_to_a_linear_machine(widemargin, folder):
    wide = sparse.random(50, 20_000, density=0.01, format="csr", random_state=0)
    wm.dump_svmlight(wide, np.arange(50) % 2, "wide.svm")
    found = facts(widemargin("doctor wide.svm --json"))
    assert found["next"] == "widemargin train wide.svm --machine LinearSVC -o model"
    many = np.random.default_rng(0).normal(size=(60_000, 2))
    np.savez("many.npz", X=many, y=(many[:, 0] > 0).astype(int))
    found = facts(widemargin("doctor many.npz --json"))
    assert found["next"] == "widemargin train many.npz --machine LinearSVC -o model"


def test_scaling_leaves_columns_in_order_and_the_rows_given_alone(widemargin, folder):
    X = np.random.default_rng(0).uniform(-1, 1, (9, 6)).round(1)
    X[0], X[1], X[2] = -1.0, 1.0, 0.0  # so the ranges are what they shall be
    rows = sparse.csr_matrix(X)
    ranges = Ranges.of(rows)
    np.testing.assert_array_equal(ranges.apply(rows).toarray(), X)
    ranges.least[2], ranges.largest[2] = 0.0, 0.0  # a column that disappears
    scaled = ranges.apply(rows)
    np.testing.assert_array_equal(rows.toarray(), X)
    np.testing.assert_array_equal(scaled.toarray(), np.where(np.arange(6) == 2, 0.0, X))
    wm.dump_svmlight(rows, np.arange(9), "a.svm")
    (folder / "b.svm").write_text(widemargin("libsvm-scale a.svm")[0])
    np.testing.assert_array_equal(wm.load_svmlight("b.svm")[0].toarray(), X)


def test_scaling_does_not_fill_in_the_zeros_of_wide_data(widemargin, folder, monkeypatch):
    monkeypatch.setattr("widemargin.io.ranges.available_memory", lambda: 10**6)
    (folder / "wide.svm").write_text("1 1:1 199999:3\n-1 2:2\n")
    widemargin("scale wide.svm -o a.svm --lower 0")
    assert (folder / "a.svm").read_text() == "1 1:1 199999:1\n-1 2:1\n"
    for line in ("scale wide.svm -o b.svm", "libsvm-scale wide.svm"):
        message = widemargin(line, code=1)[1]
        assert "a lower end of 0 keeps them" in message
