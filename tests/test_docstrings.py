"""The examples of the documentation run and say what they show."""

import doctest
import importlib
import pkgutil

import matplotlib
import pytest

import widemargin

MODULES = [
    module.name
    for module in pkgutil.walk_packages(widemargin.__path__, "widemargin.")
    if not module.name.endswith(("__main__", "._core", "gpu.device"))  # commands, C++, CuPy
]
WITHOUT = {"Status", "kernels"}  # an enumeration, a module


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str) -> None:
    matplotlib.use("Agg")
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


@pytest.mark.parametrize("name", sorted(set(widemargin.__all__) - WITHOUT))
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>>" in (getattr(widemargin, name).__doc__ or "")
