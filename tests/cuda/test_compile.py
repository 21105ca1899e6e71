"""Kernels compile for every word size and architecture, keep to registers, and move 16 bytes where they say so."""

from __future__ import annotations

import re

import pytest
from cuda import compilers

from xascend._cuda._jobs import Kernel

ARCHITECTURES = (75, 80, 86, 90, 100, 120)
WORDS = (1, 2, 4, 8, 16)
ENTRIES = {"runs.cu": ("runs",), "tiles.cu": ("tiles_aligned", "tiles_shifted")}


@pytest.fixture(scope="module")
def compiler():
    return compilers.find_compiler()


@pytest.mark.parametrize("file", ENTRIES)
@pytest.mark.parametrize("word", WORDS)
def test_no_spills_and_no_local_memory(compiler, file: str, word: int) -> None:
    """Each word size for one architecture here, for all of them below."""
    check(compiler, file, word, 90)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", [a for a in ARCHITECTURES if a != 90])
@pytest.mark.parametrize("file", ENTRIES)
def test_all_architectures(compiler, file: str, architecture: int) -> None:
    for word in WORDS:
        check(compiler, file, word, architecture)


def check(compiler, file: str, word: int, architecture: int) -> None:
    compiled = compiler(file, word, architecture)
    assert set(compiled.stack) == set(ENTRIES[file])
    assert set(compiled.stack.values()) == {0}, compiled.stack
    assert set(compiled.spills.values()) == {0}, compiled.spills
    for entry in ENTRIES[file]:
        ptx = compilers.entry_ptx(compiled, Kernel(file, entry, word))
        assert ".local" not in ptx
        loads, stores = vectors(ptx, "ld.global"), vectors(ptx, "st.global")
        if entry == "runs":
            assert bool(loads) == bool(stores) == (word == 16)
        elif entry == "tiles_aligned":
            assert stores
            assert bool(loads) == (word == 16)
        else:
            assert bool(stores) == (word == 16)


def vectors(ptx: str, operation: str) -> list[str]:
    """Return the 16-byte accesses of one kind."""
    return re.findall(rf"{re.escape(operation)}\S*\.v4\.[bu]32", ptx)
