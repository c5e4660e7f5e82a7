"""A fitted estimator taken apart into named values, and put together again."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .assemble import check_linear, check_machine, check_vectors, count_classes, require
from .baselines import LeastSquaresClassifier, NearestMeans
from .feature_maps import PolynomialMap, SquaresMap
from .kernel_base import KernelEstimator
from .linear_base import LinearEstimator
from .online import OnlineClassifier
from .validation import check_choice

__all__ = ["MAPS", "restore", "state_of"]

MAPS = (PolynomialMap, SquaresMap)
NOT_KEPT = {"callback"}  # parameters that are Python functions
MADE_AGAIN = {"_expansion", "_init", "_terms"}


def state_of(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of an estimator, and what fitting left behind.

    Parameters
    ----------
    estimator : estimator
        Fitted.

    Returns
    -------
    tuple of dict
        Parameters without the callback, and attributes.
    """
    check_is_fitted(estimator, "n_features_in_" if isinstance(estimator, MAPS) else None)
    _check(estimator)  # nothing is written that could not be read again
    parameters = estimator.get_params(deep=False)
    attributes = {
        name: value
        for name, value in vars(estimator).items()
        if name not in parameters and name not in MADE_AGAIN
    }
    return {name: v for name, v in parameters.items() if name not in NOT_KEPT}, attributes


def restore(kind: type, parameters: dict[str, Any], attributes: dict[str, Any]) -> Any:
    """Return the estimator that `state_of` took apart.

    Parameters
    ----------
    kind : type
        Its class.
    parameters, attributes : dict
        As from `state_of`; an older version may lack some parameters.

    Raises
    ------
    ValueError
        If a name is unknown or the attributes do not fit together.
    """
    estimator: Any = kind()
    known = estimator.get_params(deep=False)
    for name in parameters:
        check_choice("the parameter", name, tuple(known))
    for name, value in parameters.items():
        setattr(estimator, name, value)
    for name, value in attributes.items():
        if name in known or hasattr(kind, name) or not name.isidentifier():
            raise ValueError(f"{name!r} is nothing that fitting {kind.__name__} leaves behind")
        setattr(estimator, name, value)
    try:
        _check(estimator)
        if isinstance(estimator, KernelEstimator):
            estimator._open_expansion()
        if isinstance(estimator, PolynomialMap):
            estimator._open_terms()
        if hasattr(estimator, "_weights"):  # which learning on changes in place
            estimator._weights = tuple(map(_writable, estimator._weights))
    except (AttributeError, LookupError, TypeError) as error:
        sentence = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"a part of the model is missing or of another kind: {sentence}") from None
    return estimator


def _check(estimator: Any) -> None:
    """Require that what an estimator decides with fits together."""
    if isinstance(estimator, KernelEstimator):
        check_machine(estimator)
    elif isinstance(estimator, OnlineClassifier):
        _check_online(estimator)
    elif isinstance(estimator, LinearEstimator):
        check_linear(estimator)
        for gains, reach in getattr(estimator, "_stream", None) or ():
            require(isinstance(gains, float) and isinstance(reach, float), "what a stream left")
    elif isinstance(estimator, NearestMeans | LeastSquaresClassifier):
        _check_weights(estimator)
    elif isinstance(estimator, MAPS):
        require(type(estimator.n_features_in_) is int and estimator.n_features_in_ > 0, "features")
        if isinstance(estimator, PolynomialMap):
            estimator._check_settings()
            require(_finite(estimator.factors_, (estimator._size(),)), "factors")
    else:
        raise ValueError(f"{type(estimator).__name__} is not an estimator that files can hold")


def _check_weights(estimator: Any) -> int:
    """Require weights and intercepts of each output, and return how many outputs there are."""
    k = count_classes(estimator.classes_)
    outputs = 1 if k == 2 else k
    require(_finite(estimator.intercept_, (outputs,)), "intercepts")
    if hasattr(estimator, "coef_"):
        require(_finite(estimator.coef_, (outputs, estimator.n_features_in_)), "weights")
    return outputs


def _check_online(estimator: Any) -> None:
    """Require sizes that no sweep or vote reads beyond."""
    outputs = _check_weights(estimator)
    require(type(estimator.t_) is int and estimator.t_ >= 0, "rows seen")
    features: Any = getattr(estimator, "n_features_in_", None)
    count: Any = None
    if hasattr(estimator, "kernel_"):
        vectors = getattr(estimator, "support_vectors_", None)
        if vectors is not None:
            count = len(vectors) if isinstance(vectors, list) else vectors.shape[0]
            check_vectors(estimator.kernel_, vectors, count, features)
    if hasattr(estimator, "dual_coef_"):
        require(count is not None and _finite(estimator.dual_coef_, (outputs, count)), "weights")
        _check_pair(estimator._coefficients, (count, outputs))
    else:
        _check_pair(estimator._weights, (features + 1, outputs))
    if hasattr(estimator, "_scale"):
        require(_finite(estimator._scale, (3,)), "scale")
    if hasattr(estimator, "_moves"):
        _check_moves(estimator._moves, count, len(estimator.classes_))


def _finite(array: Any, shape: tuple[Any, ...]) -> bool:
    right = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
    return right and bool(np.isfinite(array).all())


def _writable(array: Any) -> Any:
    return array if array is None or array.flags.writeable else array.copy()


def _check_pair(arrays: Any, shape: tuple[Any, ...]) -> None:
    """Require the state of a learner: its weights, and a second array that may be missing."""
    first, second = arrays
    require(_finite(first, shape) and (second is None or _finite(second, shape)), "weights")


def _check_moves(moves: Any, count: int | None, classes: int) -> None:
    """Require moves of rows and classes that there are, in the order of time."""
    column, winner, loser, amount, time = moves
    for ids in (column, winner, loser, time):
        require(ids.dtype == np.int64 and ids.shape == column.shape and ids.ndim == 1, "moves")
    require(_finite(amount, column.shape), "moves")
    limits = ((column, count or 0), (winner, classes), (loser, classes))
    require(all(bool(((ids >= 0) & (ids < limit)).all()) for ids, limit in limits), "moves")
