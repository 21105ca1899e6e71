"""An output appears complete or not at all: full disks, forbidden folders, and signals in the middle of the work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from xascend import files
from xascend.files import tasks

TO_NZ = ("--from", "ND", "--to", "NZ")
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits and signals")


def one_line(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    """Assert an exit status and one line on stderr with these words, nothing on stdout."""
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith("xascend: error: ")
    assert done.stderr.count("\n") == 1
    assert not done.stdout
    for word in words:
        assert word in done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = (
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False)
        if sys.platform == "linux"
        else None
    )
    if mounted is None or mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("kind", [".npy", ".npz", ".bin", ".safetensors"])
def test_full_disk(tmp_path: Path, small_disk: Path, command: Callable, kind: str) -> None:
    np.save(tmp_path / "x.npy", np.ones((1024, 1024), np.float32))
    before = (tmp_path / "x.npy").read_bytes()
    one_line(command("convert", tmp_path / "x.npy", small_disk / f"y{kind}", *TO_NZ), 2, "No space left", f"y{kind}")
    assert list(small_disk.iterdir()) == []
    assert (tmp_path / "x.npy").read_bytes() == before


@posix
@pytest.mark.parametrize("kind", [".npy", ".npz", ".bin", ".safetensors"])
def test_limit_of_the_file_size(tmp_path: Path, command: Callable, kind: str) -> None:
    import resource

    np.save(tmp_path / "x.npy", np.ones((1024, 1024), np.float32))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    one_line(command("convert", tmp_path / "x.npy", tmp_path / f"y{kind}", *TO_NZ, preexec_fn=limit), 2, "too large")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_folders_that_cannot_be_written(tmp_path: Path, command: Callable, digest: Callable) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4), np.float32))
    before = digest(tmp_path)
    one_line(
        command("convert", tmp_path / "x.npy", tmp_path / "x.npy" / "y.npy", *TO_NZ), 2, "Not a directory", "y.npy"
    )
    one_line(command("convert", tmp_path / "x.npy", tmp_path / "none" / "y.npy", *TO_NZ), 2, "No such file", "y.npy")
    assert digest(tmp_path) == before


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_folder_of_the_kernel(tmp_path: Path, command: Callable) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4), np.float32))
    one_line(command("convert", tmp_path / "x.npy", "/proc/y.npy", *TO_NZ), 2, "/proc/y.npy")


def test_what_existed_stays_until_the_new_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.ones((40, 40), np.float32))
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", src_format="ND", dst_format="NZ")
    before = (tmp_path / "y.npy").read_bytes()

    def broken(*_: object) -> None:
        raise RuntimeError("the device has gone")

    monkeypatch.setattr(tasks, "convert_slab", broken)
    options = {"src_format": "ND", "dst_format": "ZZ", "overwrite": True}
    report = files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **options)
    assert [tensor.reason for tensor in report.failed] == ["the device has gone"]
    assert (tmp_path / "y.npy").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "y.npy", "y.npy.json"]


def test_an_input_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.ones((40, 40), np.float32))
    convert_slab = tasks.convert_slab

    def touching(*arguments: object) -> None:
        convert_slab(*arguments)
        os.utime(tmp_path / "x.npy", (1, 1))

    monkeypatch.setattr(tasks, "convert_slab", touching)
    report = files.convert(tmp_path / "x.npy", tmp_path / "y.npy", src_format="ND", dst_format="NZ")
    assert [tensor.reason for tensor in report.failed] == ["the input changed while it was read"]
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


SLOWLY = """
import signal, sys, time
from xascend.files import tasks
for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # whatever these tests were started with
    signal.signal(getattr(signal, name), signal.SIG_IGN if name == sys.argv[1] else signal.SIG_DFL)
fast = tasks.convert_slab
def slow(*arguments):
    sys.__stdout__.write("converting\\n")  # the command holds back its own
    sys.__stdout__.flush()
    time.sleep(0.1)
    fast(*arguments)
tasks.convert_slab = slow
from xascend.cli import run
sys.exit(run(sys.argv[2:]))
"""


def start_slowly(arguments: tuple[object, ...], environment: dict, *, ignored: str = "") -> subprocess.Popen[str]:
    """Start the command, which tells of every slab and waits before it, with the signal `ignored` so."""
    return subprocess.Popen(
        [sys.executable, "-c", SLOWLY, ignored, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@posix
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("kind", [".npz", ".safetensors"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_stopped_by_a_signal(
    tmp_path: Path, environment: dict, digest: Callable, number: signal.Signals, kind: str, jobs: int
) -> None:
    save_file({f"w{i}": np.full((64, 64), i, np.float32) for i in range(200)}, tmp_path / "x.safetensors")
    before = digest(tmp_path)
    arguments = ("convert", tmp_path / "x.safetensors", tmp_path / f"y{kind}", *TO_NZ, "--jobs", str(jobs))
    process = start_slowly(arguments, environment)
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline() == "converting\n"
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".xascend-")]
    process.send_signal(number)
    time.sleep(0.01)
    process.send_signal(number)  # an impatient user changes nothing
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert errors == f"xascend: error: stopped by {number.name}\n"
    assert digest(tmp_path) == before


@posix
def test_goes_on_after_a_signal_that_it_was_started_to_ignore(tmp_path: Path, environment: dict) -> None:
    save_file({f"w{i}": np.full((64, 64), i, np.float32) for i in range(5)}, tmp_path / "x.safetensors")
    arguments = ("convert", tmp_path / "x.safetensors", tmp_path / "y.safetensors", *TO_NZ)
    process = start_slowly(arguments, environment, ignored="SIGHUP")  # as nohup does
    assert process.stdout is not None
    assert process.stdout.readline() == "converting\n"
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert len(load_file(tmp_path / "y.safetensors")) == 5


@posix
@pytest.mark.parametrize("names", [("SIGTERM", "SIGINT"), ("SIGHUP", "SIGINT"), ("SIGINT", "SIGTERM")], ids="-".join)
def test_stopped_by_two_signals_at_once(
    tmp_path: Path, environment: dict, digest: Callable, names: tuple[str, str]
) -> None:
    save_file({f"w{i}": np.full((64, 64), i, np.float32) for i in range(200)}, tmp_path / "x.safetensors")
    before = digest(tmp_path)
    arguments = ("convert", tmp_path / "x.safetensors", tmp_path / "y.safetensors", *TO_NZ)
    process = start_slowly(arguments, environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "converting\n"
    process.send_signal(signal.SIGSTOP)  # it sees both at once
    for name in names:
        process.send_signal(signal.Signals[name])
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode - 128 in [signal.Signals[name] for name in names]
    assert errors == f"xascend: error: stopped by {signal.Signals(process.returncode - 128).name}\n"
    assert digest(tmp_path) == before


def test_read_only_input_in_a_folder_with_spaces(tmp_path: Path, command: Callable) -> None:
    folder = tmp_path / "Größe und Maß"
    folder.mkdir()
    source = folder / "mein modell.safetensors"
    save_file({"w ü": np.arange(12, dtype=np.float32).reshape(3, 4)}, source)
    source.chmod(0o444)
    assert command("convert", source, folder / "nz ü.safetensors", *TO_NZ).returncode == 0
    assert command("convert", folder / "nz ü.safetensors", folder / "b.safetensors").returncode == 0
    assert load_file(folder / "b.safetensors")["w ü"].tolist() == load_file(source)["w ü"].tolist()


@posix
def test_links(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4), np.float32))
    (tmp_path / "soft.npy").symlink_to("x.npy")
    (tmp_path / "hard.npy").hardlink_to(tmp_path / "x.npy")
    for name in ("soft.npy", "hard.npy"):
        for src, dst in ((name, "x.npy"), ("x.npy", name)):
            with pytest.raises(ValueError, match="must be another file than the input"):
                files.convert(tmp_path / src, tmp_path / dst, src_format="ND", dst_format="NZ", overwrite=True)
    (tmp_path / "real").mkdir()
    (tmp_path / "out.npy").symlink_to(tmp_path / "real" / "y.npy")
    files.convert(tmp_path / "soft.npy", tmp_path / "out.npy", src_format="ND", dst_format="NZ")
    assert (tmp_path / "out.npy").is_symlink()
    assert np.load(tmp_path / "real" / "y.npy").shape == (1, 1, 16, 16)


@posix
def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4), np.float32))
    before = os.umask(0o027)
    try:
        files.convert(tmp_path / "x.npy", tmp_path / "y.npy", src_format="ND", dst_format="NZ")
    finally:
        os.umask(before)
    assert (tmp_path / "y.npy").stat().st_mode & 0o777 == 0o640
