"""A short run of the fuzzers; `make fuzz` is the long one."""

import itertools
import re
import shutil
from collections import Counter

import pytest
from fuzz import compiled, fuzz_models, fuzz_text, targets


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_the_text_reader_bears_any_bytes_under_sanitizers(tmp_path):
    told = fuzz_text(compiled(tmp_path), seconds=2.0, seed=1)
    tried, ways = map(int, re.match(r"(\d+) inputs, (\d+) ways", told).groups())
    assert tried > 100
    assert ways > 500  # the search is guided by what the reader does


def test_readers_of_models_load_or_refuse_any_bytes(tmp_path):
    names = targets()
    counts = Counter(itertools.islice(fuzz_models(60.0, 7, tmp_path), 250 * len(names)))
    for name in names:
        assert counts[name, "refused"] > 50
        assert counts[name, "read"] + counts[name, "refused"] == 250
    assert counts["libsvm", "read"] > 5  # some changes do no harm
