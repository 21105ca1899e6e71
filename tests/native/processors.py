"""Programs of cases compiled by other compilers and for another processor, run in an emulator."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from native.source_tree import SOURCES, builder, need

each_compiler = pytest.mark.parametrize(
    ("compiler", "emulator"),
    [("g++", ""), ("clang++", ""), ("aarch64-linux-gnu-g++", "qemu-aarch64")],
)


def flags() -> list[str]:
    """Return the flags of the library and its warnings, for a program instead."""
    of_a_library = ("-shared", "-fPIC")
    return [*(flag for flag in builder().FLAGS if flag not in of_a_library), *builder().WARNINGS, "-static"]


def check_cases(
    compiler: str, emulator: str, source: str, driver: str, cases: tuple[Path, int], folder: Path, *options: str
) -> None:
    """Compile kernels with a driver beside this file, in `folder`, and run them on a file of so many cases."""
    need(*filter(None, (compiler, emulator)))
    program = folder / "program"
    sources = [str(SOURCES / source), str(Path(__file__).with_name(driver))]
    compiled = subprocess.run(
        [compiler, *flags(), *options, *sources, "-o", str(program)], capture_output=True, text=True, check=False
    )
    assert compiled.returncode == 0, compiled.stderr
    path, count = cases
    command = [*filter(None, [emulator]), str(program), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{count} cases\n"
