"""Newton steps by conjugate gradients: the trust region, and fits that need them."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import LOSSES, solve

from widemargin.backends.cpu.linear_conjugate import TrustRegion, conjugate_direction
from widemargin.backends.cpu.linear_rows import LinearRows
from widemargin.problem import LinearProblem
from widemargin.solution import Status


@pytest.mark.parametrize("threads", [1, 3])
def test_trust_region_bounds_the_step(threads):
    """The truncated step lies on the border and lowers the model more than the steepest one."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((400, 5000)) * (rng.random((400, 5000)) < 0.02))
    curvature, gradient, l2 = rng.random(400), rng.normal(size=5000), np.ones(5000)
    dense = X.toarray()
    system = dense.T @ (curvature[:, None] * dense) + np.eye(5000)
    whole = np.linalg.solve(system, -gradient)
    diagonal = np.diag(system)
    size = np.sqrt(whole @ (diagonal * whole))
    region = TrustRegion()
    found = conjugate_direction(LinearRows(X, threads), curvature, gradient, l2, 1e-10, region)
    np.testing.assert_allclose(found, whole, atol=1e-8)
    assert region.size == pytest.approx(size, rel=1e-8)
    region.radius = 0.95 * size
    found = conjugate_direction(LinearRows(X, threads), curvature, gradient, l2, 1e-10, region)
    assert np.sqrt(found @ (diagonal * found)) == pytest.approx(region.radius, rel=1e-8)
    steepest = -gradient / diagonal
    steepest *= region.radius / np.sqrt(steepest @ (diagonal * steepest))

    def model(move):
        return gradient @ move + 0.5 * move @ system @ move

    assert model(found) < min(model(t * steepest) for t in np.linspace(0.1, 1, 10))


@pytest.mark.parametrize("name", ["squared_hinge", "logistic"])
def test_many_features_and_large_costs(name):
    """Descent hands over to Newton's method by conjugate gradients; both find the same."""
    rng = np.random.default_rng(1)
    X = sp.csr_array(rng.random((1500, 5000)) * (rng.random((1500, 5000)) < 0.01))
    t = np.where(X @ rng.normal(size=5000) + 0.3 * rng.normal(size=1500) > 0, 1.0, -1.0)
    problem = LinearProblem(LOSSES[name], t, np.full(1500, 1e3))
    found = solve(X, problem, gap=1e-8)
    assert found.status is Status.GAP_REACHED
    other = solve(X, problem, gap=1e-8, solver="newton", threads=2)
    assert other.certificate.primal == pytest.approx(found.certificate.primal, rel=1e-7)
