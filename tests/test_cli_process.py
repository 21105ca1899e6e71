"""The command line as a process: closed and full streams, readers that have gone, signals before anything is ready."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xascend

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="streams and signals of POSIX")

ROOT = str(Path(xascend.__file__).parents[1])
COMMAND = [sys.executable, "-m", "xascend"]
TO_NZ = ["--from", "ND", "--to", "NZ"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.arange(560, dtype=np.float16).reshape(20, 28))
    return tmp_path


def process(folder: Path, arguments: list[str], stdout: int, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": ROOT, **variables}
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--version"], 0),
        (["formats"], 0),
        (["locate", "1,2", "--shape", "20,28", "--to", "NZ", "--c0", "16"], 0),
        (["convert", "x.npy", "y.npy", *TO_NZ], 0),
        (["convert", "x.npy", "x.npy", *TO_NZ], 2),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_closed_streams(folder: Path, arguments: list[str], status: int) -> None:
    script = 'exec "$@" <&- >&- 2>&-'
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(["bash", "-c", script, "-", *COMMAND, *arguments], cwd=folder, env=environment, check=False)
    assert done.returncode == status
    done = subprocess.run(
        ["bash", "-c", 'exec "$@" >&-', "-", *COMMAND, "info", "x.npy"],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_stdout_is_no_failure_of_the_work(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = process(folder, ["convert", "x.npy", "y.npy", *TO_NZ], full.fileno())
    message = "xascend: error: done, but the output cannot be printed: No space left on device\n"
    assert (done.returncode, done.stderr) == (3, message)
    assert np.load(folder / "y.npy").shape == (2, 2, 16, 16)


@pytest.mark.parametrize(("arguments", "status"), [(["x.npy", "y.npy"], 141), (["none.npy", "y.npy", "--json"], 2)])
def test_a_reader_that_has_gone(folder: Path, arguments: list[str], status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process(folder, ["convert", *arguments, *TO_NZ], writer)
    finally:
        os.close(writer)
    assert done.returncode == status
    assert done.stderr.count("\n") == ("none.npy" in done.stderr) == (status == 2)
    assert (folder / "y.npy").exists() == (status == 141)


def test_names_that_stdout_cannot_encode(folder: Path) -> None:
    arguments = ["convert", "x.npy", "ü.npy", *TO_NZ]
    done = process(folder, arguments, subprocess.PIPE, PYTHONIOENCODING="ascii:strict")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"wrote {folder}/\\xfc.npy\n")


@pytest.mark.parametrize(
    ("module", "status", "message"),
    [
        ("xascend.cli", -signal.SIGINT, ""),
        ("typer", -signal.SIGINT, ""),
        ("xascend.cli.convert", -signal.SIGINT, ""),
        ("xascend.files", 130, "xascend: error: stopped by SIGINT\n"),
        ("numpy", 130, "xascend: error: stopped by SIGINT\n"),
    ],
)
def test_an_interruption_while_modules_are_loaded(module: str, status: int, message: str) -> None:
    code = (
        "import os, runpy, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # whatever these tests were started with
        "class Interrupt:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv = ['xascend', 'info', 'none.npy']\n"
        "runpy.run_module('xascend', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", message)
