"""Reading text whose pairs have one digit behind the colon, which are found 64 characters at once.

Whatever stands between such pairs, they are read as text is that has too few of them for this way.
"""

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from widemargin import load_svmlight

ODDITIES = [
    "", " ", "\t", "\r", "\n", "\n#c\n", "\n1 4:1", "10", ".5", "-", "1e1", "#3:1", " 3", " 3:",
    " 3:x", ":1", " :1", " x:1", " 1:1", " 200:1:1", " 123456789:1", " 12345678901:1", " qid:7",
]  # fmt: skip


def outcome(text):
    """Return what is read, or what is said of it."""
    try:
        X, y, queries = load_svmlight(io.BytesIO(text.encode()), query_id=True, n_features=2**34)
    except ValueError as error:
        return str(error)
    return [part.tolist() for part in (X.data, X.indices, X.indptr, y, queries)]


@given(st.integers(0, 2**32), st.sampled_from(ODDITIES), st.booleans(), st.booleans())
def test_files_of_categories_are_read_as_any_other(seed, oddity, newline, early):
    chance = np.random.default_rng(seed)
    lines = []
    for _ in range(int(chance.integers(1, 6))):
        columns = np.unique(chance.integers(1, 130, chance.integers(3, 40)))
        lines.append(" ".join(["-1", *(f"{c}:{chance.integers(0, 10)}" for c in columns)]))
    text = "\n".join(lines)
    place = 2 if early else int(chance.integers(2, len(text) + 1))  # at once behind the label
    text = text[:place] + oddity + text[place:] + "\n" * newline
    assert outcome(text) == outcome(text + "\n" * (20 * len(text)))
