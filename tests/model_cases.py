"""Fitted estimators of every kind: what files of models must carry from one program to another."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

import widemargin as wm
from widemargin.kernels import RBF, Laplacian, Linear, Spectrum


def classes(k: int = 3, names: Any = (10, -3, 7)) -> tuple[Any, Any]:
    """Return rows of `k` classes with labels that do not sort as they appear."""
    X, y = load_iris(return_X_y=True)
    kept = y < k
    return X[kept][::2], np.array(names)[y[kept]][::2]


def numbers() -> tuple[Any, Any]:
    X, y = load_diabetes(return_X_y=True)
    return 20 * X[:120], y[:120] / 100


def gram() -> tuple[Any, Any]:
    X, y = classes()
    return X @ X.T + 1.0, y


def texts() -> tuple[Any, Any]:
    return ["MKVLA", "MKVLG", "GGSSG", "GSSGG", "AVLKM"], ["a", "a", "b", "b", "c"]


def as_csr(data: tuple[Any, Any]) -> tuple[Any, Any]:
    X, y = data
    return sparse.csr_matrix(np.where(np.median(X) < X, X, 0.0)), y


@dataclass(frozen=True)
class ModelCase:
    """An estimator, its data, and the formats of others that can hold it."""

    make: Callable[[], Any]
    data: Callable[[], tuple[Any, Any]]
    others: tuple[str, ...] = ()
    regression: bool = False


def _case(make: Any, data: Any, *others: str, regression: bool = False) -> ModelCase:
    return ModelCase(make, data, others, regression)


def two() -> tuple[Any, Any]:
    return classes(2)


CASES: dict[str, ModelCase] = {
    "SVC, two classes": _case(lambda: wm.SVC(C=5.0), two, "libsvm", "svmlight", "sklearn"),
    "SVC, three classes": _case(lambda: wm.SVC(C=5.0), classes, "libsvm", "sklearn"),
    "SVC, linear": _case(
        lambda: wm.SVC(kernel="linear"), two, "libsvm", "svmlight", "sklearn"
    ),
    "SVC, polynomial": _case(
        lambda: wm.SVC(kernel="poly", coef0=1.0, degree=2), classes, "libsvm", "sklearn"
    ),
    "SVC, sigmoid": _case(
        lambda: wm.SVC(kernel="sigmoid", gamma=0.001), two, "libsvm", "svmlight", "sklearn"
    ),
    "SVC, sparse rows": _case(
        lambda: wm.SVC(C=5.0, gamma=0.1), lambda: as_csr(classes()), "libsvm", "sklearn"
    ),
    "SVC, precomputed": _case(lambda: wm.SVC(kernel="precomputed"), gram, "libsvm", "sklearn"),
    "SVC, one against the rest": _case(lambda: wm.SVC(multi_class="ovr"), classes),
    "SVC, joint": _case(lambda: wm.SVC(multi_class="joint"), classes),
    "SVC, names as labels": _case(
        lambda: wm.SVC(), lambda: classes(3, ("ä", "rot", "green")), "sklearn"
    ),
    "SVC, truth values as labels": _case(
        lambda: wm.SVC(), lambda: classes(2, (True, False)), "libsvm", "svmlight", "sklearn"
    ),
    "SVC, sum of kernels": _case(
        lambda: wm.SVC(kernel=RBF(gamma=0.3) + 0.1 * Linear() * Laplacian(gamma=0.2)), two
    ),
    "SVC, strings": _case(lambda: wm.SVC(kernel=Spectrum(length=2)), texts),
    "NuSVC": _case(lambda: wm.NuSVC(nu=0.2), classes, "libsvm", "sklearn"),
    "SVR": _case(lambda: wm.SVR(), numbers, "libsvm", "svmlight", "sklearn", regression=True),
    "NuSVR": _case(lambda: wm.NuSVR(), numbers, "libsvm", "svmlight", "sklearn", regression=True),
    "OneClassSVM": _case(lambda: wm.OneClassSVM(nu=0.1), numbers, "libsvm", "sklearn"),
    "SVDD": _case(lambda: wm.SVDD(nu=0.1), numbers),
    "LinearSVC, two classes": _case(
        lambda: wm.LinearSVC(), two, "liblinear", "svmlight", "sklearn"
    ),
    "LinearSVC, three classes": _case(
        lambda: wm.LinearSVC(loss="hinge"), classes, "liblinear", "sklearn"
    ),
    "LinearSVC, l1": _case(lambda: wm.LinearSVC(penalty="l1"), classes, "liblinear", "sklearn"),
    "LinearSVC, one against one": _case(lambda: wm.LinearSVC(multi_class="ovo"), classes),
    "LinearSVC, joint": _case(
        lambda: wm.LinearSVC(multi_class="crammer_singer"), classes, "liblinear", "sklearn"
    ),
    "LinearSVR": _case(
        lambda: wm.LinearSVR(), numbers, "liblinear", "svmlight", "sklearn", regression=True
    ),
    "LinearSVR, squared": _case(
        lambda: wm.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1), numbers,
        "liblinear", "svmlight", "sklearn", regression=True,
    ),
    "LinearOneClassSVM": _case(lambda: wm.LinearOneClassSVM(nu=0.1), classes, "liblinear"),
    "LogisticRegression": _case(lambda: wm.LogisticRegression(), classes, "liblinear"),
    "LogisticRegression, l1, two classes": _case(
        lambda: wm.LogisticRegression(penalty="l1"), two, "liblinear", "svmlight"
    ),
    "Perceptron": _case(lambda: wm.Perceptron(max_iter=20, tol=None), classes),
    "Perceptron, dual": _case(lambda: wm.Perceptron(dual=True, max_iter=20, tol=None), two),
    "PassiveAggressiveClassifier": _case(
        lambda: wm.PassiveAggressiveClassifier(max_iter=20, tol=None), two
    ),
    "Winnow": _case(lambda: wm.Winnow(max_iter=20, tol=None), classes),
    "Winnow, one-sided": _case(lambda: wm.Winnow(balanced=False, max_iter=20, tol=None), two),
    "KernelPerceptron": _case(lambda: wm.KernelPerceptron(max_iter=20, tol=None), classes),
    "KernelPerceptron, sparse rows": _case(
        lambda: wm.KernelPerceptron(max_iter=20, tol=None), lambda: as_csr(classes())
    ),
    "KernelPerceptron, strings": _case(
        lambda: wm.KernelPerceptron(kernel=Spectrum(length=2), max_iter=20, tol=None), texts
    ),
    "AveragedPerceptron": _case(lambda: wm.AveragedPerceptron(), classes),
    "AveragedPerceptron, Gaussian": _case(lambda: wm.AveragedPerceptron(kernel="rbf"), two),
    "VotedPerceptron": _case(lambda: wm.VotedPerceptron(), classes),
    "VotedPerceptron, Gaussian": _case(lambda: wm.VotedPerceptron(kernel="rbf"), two),
    "Pegasos": _case(lambda: wm.Pegasos(lam=0.1, gap_tol=0.5), classes),
    "Pegasos, Gaussian": _case(lambda: wm.Pegasos(kernel="rbf", lam=0.1, gap_tol=0.5), two),
    "SubgradientSVC": _case(lambda: wm.SubgradientSVC(), two),
    "NearestMeans": _case(lambda: wm.NearestMeans(), classes),
    "LeastSquaresClassifier": _case(lambda: wm.LeastSquaresClassifier(), two),
}  # fmt: skip


@cache
def fitted(name: str) -> tuple[Any, Any]:
    """Return the fitted estimator of a case and its rows; nobody changes them."""
    case = CASES[name]
    X, y = case.data()
    return case.make().fit(X, y), X


def decisions(estimator: Any, X: Any) -> Any:
    """Return decision values, or predictions of a regressor."""
    function = getattr(estimator, "decision_function", estimator.predict)
    return np.asarray(function(X), dtype=np.float64)


def farthest(one: Any, other: Any, X: Any) -> float:
    """Return the largest difference of two estimators' decisions, relative where they are large."""
    a, b = decisions(one, X), decisions(other, X)
    assert a.shape == b.shape
    return float(np.max(np.abs(a - b) / np.maximum(1.0, np.abs(a))))
