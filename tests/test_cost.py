"""What a fit is expected to take, before it is made."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.utils.validation import check_is_fitted

from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

ROWS = 7000
UNTRACED = 4 * 2048**2  # bytes of a block's kernel matrix, which the system gives directly


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(ROWS, 12, n_informative=6, flip_y=0.1, random_state=0)
    return X, y


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_support_vectors_and_memory_within_a_factor_of_two(data, store):
    X, y = store(data[0]), data[1]
    model = SVC(C=2, gamma=0.1)
    estimate = model.estimate_cost(X, y)
    assert not hasattr(model, "support_")
    assert 0 < estimate.rows_tried < ROWS / 2
    assert estimate.seconds > 0
    tracemalloc.start()
    model.fit(X, y)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    check_is_fitted(model)
    assert 0.5 < estimate.support_vectors / model.support_.size < 2
    assert 0.5 < estimate.memory / (held + UNTRACED) < 2


@pytest.mark.parametrize(
    "model", [NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM(), SVDD()], ids=lambda m: type(m).__name__
)
def test_every_kernel_machine(data, model):
    X, y = data[0][:600], data[1][:600]
    estimate = model.estimate_cost(X, y)
    assert estimate.rows_tried == 600
    assert estimate.support_vectors == model.fit(X, y).support_.size


def test_more_rows_cost_more(data):
    X, y = data
    model = SVC(C=2, gamma=0.1)
    few, many = model.estimate_cost(X[:4000], y[:4000]), model.estimate_cost(X, y)
    assert few.support_vectors < many.support_vectors
    assert few.memory < many.memory


def test_given_kernel_values_and_labels_of_text(data):
    X, y = data[0][:300], np.array(["no", "yes"])[data[1][:300]]
    estimate = SVC(kernel="precomputed").estimate_cost(X @ X.T, y)
    assert estimate.support_vectors == SVC(kernel="precomputed").fit(X @ X.T, y).support_.size


def test_what_cannot_be_fitted_is_said_as_by_fit(data):
    with pytest.raises(ValueError, match="C must be"):
        SVC(C=-1).estimate_cost(*data)
