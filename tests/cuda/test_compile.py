"""Kernels compile for every word size and architecture, keep to registers, and move 16 bytes where they say so."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import pytest
from cuda import compilers

from xascend._cuda._jobs import Kernel
from xascend._cuda._loader import source_folder

ARCHITECTURES = (75, 80, 86, 90, 100, 120)
WORDS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Entry:
    """A kernel, and the words for which it loads and stores 16 bytes at once."""

    name: str
    loads: tuple[int, ...]
    stores: tuple[int, ...]


KINDS = tuple(
    (word, (("SOURCE", source), ("RESULT", result)))
    for result, word in {"ToByte": 1, "ToHalf": 2, "ToBfloat": 2, "ToWord": 4}.items()
    for source in ("FromFloat", "FromInt")
)
# Per file, the words and macros it is compiled with, and its kernels.
PLAIN = tuple((word, ()) for word in WORDS)
FILES = {
    "brcb.cu": (PLAIN[:4], (Entry("brcb_aligned", (2, 4, 8), WORDS), Entry("brcb_unaligned", (), ()))),
    "runs.cu": (PLAIN, (Entry("runs", (16,), (16,)),)),
    "scatter.cu": (PLAIN, (Entry("scatter", (16,), WORDS),)),
    "tiles.cu": (PLAIN, (Entry("tiles_aligned", (16,), WORDS), Entry("tiles_shifted", (16,), (16,)))),
    "fixpipe.cu": (
        KINDS,
        (
            Entry("fixpipe_direct", (1, 2, 4), (4,)),
            Entry("fixpipe_rows", (1, 2, 4), ()),
            Entry("fixpipe_columns_aligned", (1, 2, 4), (1, 2, 4)),
            Entry("fixpipe_columns_shifted", (1, 2, 4), ()),
        ),
    ),
    "transdata5hd.cu": (
        PLAIN[:3],
        (Entry("trans_data_to_5hd_aligned", WORDS, WORDS), Entry("trans_data_to_5hd_unaligned", (), ())),
    ),
}


@pytest.fixture(scope="module")
def compiler():
    return functools.cache(compilers.find_compiler())


def test_every_file_is_here() -> None:
    assert set(FILES) == {path.name for path in source_folder().glob("*.cu")}


@pytest.mark.parametrize(
    ("file", "word", "macros"), [(file, *build) for file, (builds, _) in FILES.items() for build in builds]
)
def test_no_spills_and_no_local_memory(compiler, file: str, word: int, macros: tuple) -> None:
    """Each word size for one architecture here, for all of them below."""
    check(compiler, file, word, macros, 90)


@pytest.mark.parametrize(("word", "macros"), KINDS)
def test_machine_code_of_fixpipe(compiler, word: int, macros: tuple) -> None:
    """Products and sums are not fused, and 16 bytes are loaded and stored at once."""
    _, entries = FILES["fixpipe.cu"]
    code = compilers.disassemble(compiler(Kernel("fixpipe.cu", entries[0].name, word, macros), 90))
    assert set(code) == {entry.name for entry in entries}
    for entry in entries:
        text = code[entry.name]
        assert "FFMA" not in text
        assert ".FTZ" not in text
        assert ("LDG.E.128" in text) == (word in entry.loads)
        assert ("STG.E.128" in text) == (word in entry.stores)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", [a for a in ARCHITECTURES if a != 90])
@pytest.mark.parametrize("file", FILES)
def test_all_architectures(compiler, file: str, architecture: int) -> None:
    for build in FILES[file][0]:
        check(compiler, file, *build, architecture)


def check(compiler, file: str, word: int, macros: tuple, architecture: int) -> None:
    _, entries = FILES[file]
    compiled = compiler(Kernel(file, entries[0].name, word, macros), architecture)
    assert set(compiled.stack) == {entry.name for entry in entries}
    assert set(compiled.stack.values()) == {0}, compiled.stack
    assert set(compiled.spills.values()) == {0}, compiled.spills
    for entry in entries:
        ptx = compilers.entry_ptx(compiled, Kernel(file, entry.name, word))
        assert ".local" not in ptx
        assert not re.search(r"\b(fma|mad|mul|add|sub)\.(ftz\.)?f32|\.ftz\b|\bfma\b", ptx)  # all say how they round
        assert has_vectors(ptx, "ld.global") == (word in entry.loads), entry
        assert has_vectors(ptx, "st.global") == (word in entry.stores), entry


def has_vectors(ptx: str, operation: str) -> bool:
    """Say whether there are 16-byte accesses of one kind."""
    return re.search(rf"{re.escape(operation)}\S*\.v4\.[bu]32", ptx) is not None
