"""Programs of cases compiled by other compilers and for another processor, run in an emulator."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import xascend as xa

SOURCES = Path(xa.__file__).parent.parent / "kernels_cpu"
FLAGS = ["-std=c++17", "-O3", "-fno-math-errno", "-static", "-pthread", "-Wall", "-Wextra", "-Werror"]

in_a_source_tree = pytest.mark.skipif(
    not SOURCES.is_dir(), reason="no kernels_cpu beside the package: not a source tree"
)
each_compiler = pytest.mark.parametrize(
    ("compiler", "emulator"),
    [("g++", ""), ("clang++", ""), ("aarch64-linux-gnu-g++", "qemu-aarch64")],
)


def check_cases(
    compiler: str, emulator: str, source: str, driver: str, cases: tuple[Path, int], folder: Path, *options: str
) -> None:
    """Compile kernels with a driver beside this file, in `folder`, and run them on a file of so many cases."""
    for needed in filter(None, (compiler, emulator)):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    program = folder / "program"
    sources = [str(SOURCES / source), str(Path(__file__).with_name(driver))]
    subprocess.run([compiler, *FLAGS, *options, *sources, "-o", str(program)], check=True)
    path, count = cases
    command = [*filter(None, [emulator]), str(program), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{count} cases\n"
