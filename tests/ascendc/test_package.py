"""The package as a whole: names, imports, and the examples in its documentation."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

from xascend import ascendc

MODULES = sorted(f"xascend.ascendc.{module.name}" for module in pkgutil.iter_modules(ascendc.__path__))


def test_public_names_are_sorted_and_there() -> None:
    assert ascendc.__all__ == sorted(ascendc.__all__, key=_order)
    public = {name for name, value in vars(ascendc).items() if not name.startswith("_") and not _is_module(value)}
    assert public == set(ascendc.__all__)


def _order(name: str) -> tuple[int, str]:
    """Sort as the linter does: constants, then classes, then functions."""
    return 0 if name.isupper() else 1 if name[0].isupper() else 2, name


def _is_module(value: object) -> bool:
    return type(value).__name__ == "module"


@pytest.mark.parametrize("name", MODULES)
def test_all_lists_what_a_module_defines(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__all__ == sorted(module.__all__)
    for exported in module.__all__:
        assert hasattr(module, exported)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    """The tutorial on a 4096 x 4096 matrix, in the docstring of `trans_data_to_5hd`, is one of them."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


def test_import_loads_no_other_array_library() -> None:
    code = "import sys, xascend.ascendc; print({'cupy', 'torch', 'dask', 'jax'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert loaded.stdout.strip() == "set()"
