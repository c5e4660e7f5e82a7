"""Parameters of value objects, by the protocol of scikit-learn but without importing it."""

import math
from dataclasses import fields
from numbers import Real
from typing import Any, Self

import numpy as np

__all__ = ["Parametrized", "check_number"]


def check_number(owner: str, name: str, value: object, *, positive: bool = True) -> None:
    """Raise one sentence unless `value` is a finite (and positive) real number."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and (number > 0 or not positive):
            return
    expected = "a positive finite number" if positive else "a finite number"
    raise ValueError(f"{owner}: {name} must be {expected}, found {value!r}.")


class Parametrized:
    """A value whose parameters can be listed, changed by name and printed.

    Subclasses are dataclasses (``@dataclass(repr=False)``) whose fields are the parameters. Two
    values are equal when their type and parameters are; ``repr`` evaluates back to an equal value.
    (This class itself is no dataclass, which is what the ignored type errors below are about.)
    """

    def validate(self) -> None:
        """Raise ValueError unless the parameters are valid; runs after every change."""

    def __post_init__(self) -> None:
        """Check the parameters once the dataclass has stored them."""
        self.validate()

    # The dataclasses are not frozen because scikit-learn's protocol for nested parameters
    # (``search.set_params(kernel__gamma=1)``) edits the kernel in place and ignores what its
    # set_params returns. That is the only way to change one: plain assignment after construction is
    # refused.
    def __setattr__(self, name: str, value: object) -> None:
        """Let the constructor store each parameter once."""
        known = [field.name for field in fields(self)]  # type: ignore[arg-type]
        if name not in known or name in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}.{name} cannot be assigned; "
                f"use set_params with one of {known}."
            )
        object.__setattr__(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Also list the parameters of the kernels inside, as ``left__gamma``.

        Returns
        -------
        dict
            Parameter names and values.
        """
        params: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            params[field.name] = value
            if deep and isinstance(value, Parametrized):
                params |= {
                    f"{field.name}__{key}": inner for key, inner in value.get_params().items()
                }
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place; either all of them change or, on an error, none.

        Parameters
        ----------
        **params
            New values; ``left__gamma=1`` reaches into the kernel stored as `left`.

        Returns
        -------
        Kernel
            This same kernel.
        """
        new = self.get_params(deep=False)
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, separator, inner = key.partition("__")
            if name not in new:
                raise ValueError(
                    f"Invalid parameter {key!r} for kernel {self!r}; "
                    f"valid parameters are {sorted(new)}."
                )
            if separator:
                nested.setdefault(name, {})[inner] = value
            else:
                new[name] = value
        for name, inner_params in nested.items():
            if not isinstance(new[name], Parametrized):
                key = f"{name}__{next(iter(inner_params))}"
                raise ValueError(
                    f"Invalid parameter {key!r} for kernel {self!r}; {name} is not a kernel."
                )
            # A copy, so that a kernel used in two places changes only where it was named.
            new[name] = new[name].copy().set_params(**inner_params)
        type(self)(**new)
        for name, value in new.items():
            object.__setattr__(self, name, value)
        return self

    def copy(self, **changes: Any) -> Self:
        """Return an equal kernel that shares no kernel inside, with some parameters changed.

        Parameters
        ----------
        **changes
            Parameters by name that take a new value.

        Returns
        -------
        Kernel
            The new kernel.
        """
        params = {
            name: value.copy() if isinstance(value, Parametrized) else value
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**(params | changes))

    def __repr__(self) -> str:
        """Return an expression that evaluates to an equal kernel."""
        shown = ", ".join(f"{k}={_literal(v)}" for k, v in self.get_params(deep=False).items())
        return f"{type(self).__name__}({shown})"


def _literal(value: object) -> str:
    """Return `value` as an expression: NumPy scalars as plain numbers, functions by name."""
    if isinstance(value, np.generic):
        return repr(value.item())
    if callable(value) and not isinstance(value, Parametrized):
        return str(getattr(value, "__qualname__", repr(value)))
    return repr(value)
