"""A fitted estimator taken apart into named values, and put together again."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from .assemble import check_machine
from .kernel_base import KernelEstimator
from .validation import check_choice

__all__ = ["restore", "state_of"]

NOT_KEPT = {"callback"}  # parameters that are Python functions
MADE_AGAIN = {"_expansion", "_init"}


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
    check_is_fitted(estimator)
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
        check_machine(estimator)
        if isinstance(estimator, KernelEstimator):
            estimator._open_expansion()
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"a part of the model is missing or of another kind: {error}") from None
    return estimator
