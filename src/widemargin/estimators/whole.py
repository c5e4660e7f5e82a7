"""A fit that ends without a model, by an error or Ctrl-C, leaves no mixture of two models."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["whole_or_nothing"]


@contextmanager
def whole_or_nothing(estimator: Any, private: Collection[str], *, keep: bool) -> Iterator[None]:
    """Undo what a fit did to an estimator if it ends without a model.

    Parameters
    ----------
    estimator : estimator
        About to be fitted.
    private : collection of str
        Names of fitted attributes besides those that end in an underscore.
    keep : bool
        Whether the model of before comes back, as for ``warm_start`` and ``partial_fit``;
        otherwise the estimator is then not fitted.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        lost = [n for n in before if n in private or n.endswith("_")]
        vars(estimator).clear()
        vars(estimator).update(before)
        for name in () if keep else lost:
            delattr(estimator, name)
        raise
