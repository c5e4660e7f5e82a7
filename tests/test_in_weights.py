"""Kernel machines with a linear kernel, solved in the weights of the features."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, SVR, LinearSVC, OneClassSVM, Status
from widemargin.backends.cpu import CpuKernelData
from widemargin.kernels import RBF, Linear
from widemargin.problem import c_svc, epsilon_svr, nu_svc, one_class


def rows(n=400, d=6, classes=2, **more):
    settings = {"n_informative": d // 2, "flip_y": 0.1, "random_state": 0, "n_redundant": 0}
    return make_classification(n, d, n_classes=classes, **settings | more)


def numbers(n=400, d=6):
    X, y = make_regression(n, d, noise=5.0, random_state=0)
    return X, y / 50.0


def objective(model, X, y, costs):
    f = X @ np.asarray(model.coef_).ravel() + model.intercept_
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    return 0.5 * (np.asarray(model.coef_) ** 2).sum() + costs @ np.maximum(0, 1 - signs * f)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("form", ["dense", "float32", "fortran", "csr"])
def test_objective_is_that_of_the_kernel_s_solver_and_of_linear_svc(C, form):
    X, y = rows()
    X = np.round(X, 2).astype(np.float32)
    forms = {"float32": X, "fortran": np.asfortranarray(X, dtype=np.float64)}
    given = {"dense": X.astype(np.float64), "csr": sp.csr_matrix(X.astype(np.float64)), **forms}
    settings = {"kernel": "linear", "C": C, "tol": 1e-7}
    auto = SVC(**settings).fit(given[form], y)
    smo = SVC(solver="smo", **settings).fit(given[form], y)
    linear = LinearSVC(loss="hinge", C=C, gap_tol=1e-9).fit(given[form], y)
    assert auto.n_iter_ < smo.n_iter_  # Newton steps instead of pair steps
    assert auto.kkt_violation_ <= 1e-7
    assert auto.primal_objective_ == pytest.approx(smo.dual_objective_, rel=1e-6)
    assert linear.primal_objective_ == pytest.approx(auto.dual_objective_, rel=1e-6)
    if form == "dense":
        naive = objective(auto, given[form], y, np.full(y.size, C))
        assert auto.primal_objective_ == pytest.approx(naive, rel=1e-9)
    coef = auto.coef_.toarray() if form == "csr" else auto.coef_
    np.testing.assert_allclose(coef, linear.coef_, atol=1e-4)


def test_attributes_are_those_of_the_kernel_s_solver():
    X, y = rows()
    auto, smo = (
        SVC(kernel="linear", solver=solver, tol=1e-9).fit(X, y) for solver in ("auto", "smo")
    )
    assert auto.support_.dtype == smo.support_.dtype
    assert auto.dual_coef_.shape == (1, auto.support_.size)
    assert auto.n_support_.sum() == auto.support_.size
    assert abs(auto.support_.size - smo.support_.size) <= X.shape[1]
    np.testing.assert_allclose(auto.dual_coef_.sum(), 0.0, atol=1e-10)
    assert (np.abs(auto.dual_coef_) <= auto.C).all()
    np.testing.assert_allclose(auto.coef_, auto.dual_coef_ @ X[auto.support_])
    np.testing.assert_allclose(auto.decision_function(X), smo.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(auto.machines_[0].slacks, smo.machines_[0].slacks, atol=1e-5)
    assert auto.history_[-1].iterations == auto.n_iter_[0]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes(multi_class):
    X, y = rows(1200, 8, classes=3, n_informative=6)
    settings = {"kernel": "linear", "multi_class": multi_class, "tol": 1e-7, "C": 0.1}
    auto, smo = (SVC(solver=solver, **settings).fit(X, y) for solver in ("auto", "smo"))
    assert auto.n_iter_.sum() < smo.n_iter_.sum()
    np.testing.assert_allclose(auto.coef_, smo.coef_, atol=1e-4)
    np.testing.assert_allclose(auto.intercept_, smo.intercept_, atol=1e-4)


def test_weights_are_exact():
    X, y = rows()
    weights = np.random.default_rng(0).integers(0, 4, y.size).astype(float)
    repeated = np.repeat(np.arange(y.size), weights.astype(int))
    one = SVC(kernel="linear", tol=1e-8).fit(X, y, weights)
    other = SVC(kernel="linear", tol=1e-8).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    assert not np.isin(np.flatnonzero(weights == 0), one.support_).any()


def test_regression_and_one_class():
    X, t = numbers()
    pairs = [
        (SVR(kernel="linear", C=2.0, tol=1e-8), t),
        (OneClassSVM(kernel="linear", nu=0.2, tol=1e-8), None),
    ]
    for model, target in pairs:
        rows_of = X + 3.0
        auto = model.fit(rows_of, target)
        found = auto.dual_objective_, auto.coef_.copy(), auto.n_iter_
        smo = model.set_params(solver="smo").fit(rows_of, target)
        assert found[0] == pytest.approx(smo.dual_objective_, rel=1e-7)
        np.testing.assert_allclose(found[1], smo.coef_, atol=1e-4)
        assert found[2] < smo.n_iter_


def test_columns_of_any_scale_are_solved():
    X, y = rows(3000, 10)
    model = SVC(kernel="linear", C=10.0).fit(X * 10.0 ** (np.arange(10) % 4 - 1.0), y)
    assert model.status_ is Status.CONVERGED
    assert model.duality_gap_ < 1e-4
    assert model.n_iter_ < 1000


def test_rule():
    def chosen(X, problem, kernel=None):
        data = CpuKernelData(X, kernel or Linear(), threads=1, budget=1 << 26, precision="auto")
        return data.in_weights(problem, [np.arange(X.shape[0])]) is not None

    rng = np.random.default_rng(0)
    signs, ones = np.where(np.arange(400) % 2, 1.0, -1.0), np.ones(400)
    X = rng.normal(size=(400, 5))
    for problem in (c_svc(signs, ones), epsilon_svr(ones, ones, 0.1), one_class(ones, 0.5)):
        assert chosen(X, problem)
        assert not chosen(X, problem, RBF(gamma=1.0))
    assert not chosen(X, nu_svc(signs, ones, 0.5))
    assert not chosen(X[:256], c_svc(signs[:256], ones[:256]))
    wide = rng.normal(size=(400, 300))
    assert not chosen(wide, c_svc(signs, ones))
    assert chosen(sp.csr_matrix(np.where(wide > 1.0, wide, 0.0)), c_svc(signs, ones))


def test_limits_callbacks_and_the_keyboard():
    X, y = rows(4000, 20)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        late = SVC(kernel="linear", tol=1e-10, max_time=1e-9).fit(X, y)
    assert late.status_ is Status.TIME_LIMIT
    seen = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        SVC(kernel="linear", tol=1e-10, callback=lambda p: seen.append(p) or len(seen) > 2).fit(
            X, y
        )
    assert len(seen) == 3

    def strike(progress):
        if progress.iterations > 3:
            raise KeyboardInterrupt

    model = SVC(kernel="linear", tol=1e-10, callback=strike)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.score(X, y) > 0.5
    with pytest.warns(ConvergenceWarning, match="max_iter"):  # counts steps of the kernel's solver
        SVC(kernel="linear", max_iter=10).fit(X, y)


def test_warm_start_goes_on():
    X, y = rows(3000, 10)
    model = SVC(kernel="linear", tol=1e-6, warm_start=True).fit(X, y)
    first = int(model.n_iter_[0])
    assert int(model.fit(X, y).n_iter_[0]) == 0 < first
    assert model.status_ is Status.CONVERGED


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities():
    X, y = load_digits(return_X_y=True)
    model = SVC(kernel="linear", C=0.1, probability=True).fit(X / 16, y)
    shares = model.predict_proba(X / 16)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(X / 16)).all()
