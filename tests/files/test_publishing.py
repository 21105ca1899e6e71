"""No file is lost and no record lies beside other data: races, kills between two steps, files of other people."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from xascend import _atomic, files
from xascend._atomic import atomic_outputs
from xascend.files import tasks
from xascend.files.record import Fingerprint

ND_NZ = {"src_format": "ND", "dst_format": "NZ"}
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX locks and links")


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("step", range(4))
def test_a_kill_while_files_get_their_names(converted: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """At each step either old data with the old record, data without one, or new data with the new record."""
    remaining = step

    def counted(original: Callable) -> Callable:
        def call(path: Path, *arguments: Any, **options: Any) -> Any:
            nonlocal remaining
            if remaining == 0:
                raise Killed
            remaining -= 1
            return original(path, *arguments, **options)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", counted(Path.replace))
        patched.setattr(Path, "unlink", counted(Path.unlink))
        with suppress(Killed):
            files.convert(converted / "x.npy", converted / "y.npy", src_format="ND", dst_format="ZZ", overwrite=True)
    sidecar = converted / "y.npy.json"
    if sidecar.exists():
        assert json.loads(sidecar.read_text())["data"]["sha256"] == Fingerprint.of(converted / "y.npy").sha256
    else:
        with pytest.raises(FileExistsError, match="exists and has no record of a conversion"):
            files.convert(converted / "x.npy", converted / "y.npy", resume=True, src_format="ND", dst_format="ZZ")


@pytest.mark.parametrize("shape", [(20, 28), (500, 700)])
def test_data_of_another_are_not_read_by_an_old_record(tmp_path: Path, shape: tuple[int, int]) -> None:
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(x, np.ones(shape, np.float32))
    files.convert(x, y, **ND_NZ)
    np.save(y, np.load(y) + 1)
    with pytest.raises(ValueError, match=r"y\.npy\.json does not fit the data: .*y\.npy has changed since"):
        files.convert(y, tmp_path / "z.npy")
    with pytest.raises(FileExistsError, match="has changed since it was made: it has as many bytes, but others"):
        files.convert(x, y, resume=True, **ND_NZ)


def test_a_copy_keeps_its_record(converted: Path) -> None:
    (converted / "there").mkdir()
    for name in ("y.npy", "y.npy.json"):
        shutil.copyfile(converted / name, converted / "there" / name)
    assert files.convert(converted / "there" / "y.npy", converted / "z.npy").tensors[0].dst_shape == (20, 28)


@posix
def test_a_link_to_a_converted_file_has_its_record(converted: Path) -> None:
    (converted / "links").mkdir()
    (converted / "links" / "l.npy").symlink_to(converted / "y.npy")
    (info,) = files.inspect(converted / "links" / "l.npy")
    assert info.format == "FRACTAL_NZ"


@pytest.mark.parametrize("links", [True, False])
def test_an_output_that_appears_meanwhile_is_kept(
    converted: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    convert_slab = tasks.convert_slab

    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    if not links:
        monkeypatch.setattr(_atomic.os, "link", refuse)
    for appearing in ("z.npy", "z.npy.json"):

        def meanwhile(*arguments: Any, name: str = appearing) -> None:
            convert_slab(*arguments)
            (converted / name).write_text("mine")

        monkeypatch.setattr(tasks, "convert_slab", meanwhile)
        with pytest.raises(FileExistsError, match="appeared while it was made") as caught:
            files.convert(converted / "x.npy", converted / "z.npy", **ND_NZ)
        assert caught.value.filename == str(converted / appearing)
        assert (converted / appearing).read_text() == "mine"
        (converted / appearing).unlink()
        assert sorted(path.name for path in converted.iterdir()) == ["x.npy", "y.npy", "y.npy.json"]


@posix
def test_two_cannot_write_one_output(tmp_path: Path) -> None:
    out = tmp_path / "y.npy"
    with atomic_outputs((out, 4), replaceable={out}) as (temporary,):
        temporary.write_bytes(b"once")
        with (
            pytest.raises(BlockingIOError, match="another process is writing this output"),
            atomic_outputs((out, 4), replaceable={out}),
        ):
            pass
    assert out.read_bytes() == b"once"
    assert list(tmp_path.iterdir()) == [out]


@posix
def test_what_a_killed_process_left_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "y.npy"
    with atomic_outputs((out, 4), replaceable=()) as (temporary,):
        name = temporary
    out.unlink()
    name.write_bytes(b"left behind, and longer")
    with atomic_outputs((out, 4), replaceable=()) as (temporary,):
        assert temporary == name
        temporary.write_bytes(b"anew")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"anew"]


FOREIGN = ["[]", '{"a": 1}', "null"]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_file_named_like_a_record_is_left_alone(tmp_path: Path, counting: Callable, text: str) -> None:
    np.save(tmp_path / "x.npy", counting((20, 28), "float16"))
    for name in ("x.npy.json", "y.npy.json"):
        (tmp_path / name).write_text(text)
    files.convert(tmp_path / "x.npy", tmp_path / "z.npy", **ND_NZ)
    for options in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(FileExistsError, match="it is no record; move it away") as caught:
            files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **options, **ND_NZ)
        assert caught.value.filename == str(tmp_path / "y.npy.json")
    assert (tmp_path / "y.npy.json").read_text() == text
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("x.npy", "x.npy.json"):
        shutil.copyfile(tmp_path / name, folder / name)
    with pytest.raises(ValueError, match=r"x\.npy\.json is no record, but .* needs its name"):
        files.convert(folder, tmp_path / "out", **ND_NZ)


def test_resume_keeps_an_index_of_another(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    for folder in (source, out):
        folder.mkdir()
    save_file({"w": np.ones((20, 28), np.float16)}, source / "a.safetensors")
    index = "model.safetensors.index.json"
    (source / index).write_text(json.dumps({"weight_map": {"w": "a.safetensors"}}))
    for text in ('{"weight_map": {"other": "b.safetensors"}}', "mine"):
        (out / index).write_text(text)
        with pytest.raises(FileExistsError, match="`overwrite`"):
            files.convert(source, out, resume=True, **ND_NZ)
        assert (out / index).read_text() == text


def test_resume_verifies_what_it_skips(tmp_path: Path, counting: Callable) -> None:
    save_file({"w": counting((20, 28), "float16")}, tmp_path / "x.safetensors")
    out = tmp_path / "y.safetensors"
    files.convert(tmp_path / "x.safetensors", out, **ND_NZ)
    options = {"resume": True, "verify": True}
    assert not files.convert(tmp_path / "x.safetensors", out, **options, **ND_NZ).failed
    data = bytearray(out.read_bytes())
    data[-2048] ^= 1
    out.write_bytes(data)
    (failed,) = files.convert(tmp_path / "x.safetensors", out, **options, **ND_NZ).failed
    assert (failed.name, failed.reason) == ("w", "converted back, what was written differs from the source")
