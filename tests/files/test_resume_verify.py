"""Going on after an interruption, checking what was written, and never replacing what nobody asked to replace."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from xascend import files
from xascend.files import tasks

ND_NZ = {"src_format": "ND", "dst_format": "NZ"}


def make_shards(folder: Path, counting: Callable) -> Path:
    folder.mkdir()
    for n in range(3):
        save_file({f"w{n}": counting((40, 30 + n), "float16")}, folder / f"shard{n}.safetensors")
    (folder / "config.json").write_text("{}")
    return folder


def test_an_existing_output_is_refused_before_anything_is_read(tmp_path: Path, digest: Callable) -> None:
    (tmp_path / "x.npy").write_bytes(b"no array at all")
    record = '{"xascend": "0.1.0"}'
    for existing, text, match in (("y.npy", "mine", "`overwrite`"), ("y.npy.json", record, "`overwrite`")):
        (tmp_path / existing).write_text(text)
        before = digest(tmp_path)
        with pytest.raises(FileExistsError, match=match):
            files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **ND_NZ)
        assert digest(tmp_path) == before
        (tmp_path / existing).unlink()


def test_overwrite(tmp_path: Path, counting: Callable) -> None:
    np.save(tmp_path / "x.npy", counting((20, 28), "float16"))
    (tmp_path / "y.npy").write_text("mine")
    (tmp_path / "y.npy.json").write_text('{"xascend": "0.1.0"}')
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", overwrite=True, **ND_NZ)
    assert np.load(tmp_path / "y.npy").shape == (2, 2, 16, 16)
    (tmp_path / "folder.npy").mkdir()
    files.convert(tmp_path / "x.npy", tmp_path / "folder.npy", **ND_NZ)
    assert (tmp_path / "folder.npy" / "x.npy").exists()


@pytest.mark.parametrize("kind", [".npy", ".npz", ".bin", ".safetensors"])
def test_resume_skips_what_is_complete(tmp_path: Path, counting: Callable, kind: str) -> None:
    np.save(tmp_path / "x.npy", counting((20, 28), "float16"))
    out = tmp_path / f"y{kind}"
    arguments: Any = (tmp_path / "x.npy", out)
    assert files.convert(*arguments, resume=True, **ND_NZ).written == (str(out),)
    before = out.stat().st_mtime_ns
    for options in ({}, {"overwrite": True}):
        report = files.convert(*arguments, resume=True, **options, **ND_NZ)
        assert (report.written, report.skipped) == ((), (str(out),))
    assert out.stat().st_mtime_ns == before
    with pytest.raises(FileExistsError, match="was made with other options: c0 was None, now it is 8; `overwrite`"):
        files.convert(*arguments, resume=True, c0=8, **ND_NZ)
    os.utime(tmp_path / "x.npy", ns=(0, 0))
    with pytest.raises(FileExistsError, match="was not made from this input as it is now: it was changed since"):
        files.convert(*arguments, resume=True, **ND_NZ)
    assert files.convert(*arguments, resume=True, overwrite=True, **ND_NZ).written == (str(out),)


def flip(data: bytes) -> bytes:
    return data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]


def cut(data: bytes) -> bytes:
    return data[:-3]


CHANGED = "has changed since it was made: it "
UNREADABLE = "exists and cannot be read: "


@pytest.mark.parametrize("kind", [".npy", ".npz", ".bin", ".safetensors"])
@pytest.mark.parametrize(("spoil", "why"), [(flip, "has as many bytes, but others"), (cut, "had ")])
def test_resume_tells_a_damaged_output(
    tmp_path: Path, counting: Callable, digest: Callable, kind: str, spoil: Callable, why: str
) -> None:
    x, out = tmp_path / "x.npy", tmp_path / f"y{kind}"
    np.save(x, counting((20, 28), "float16"))
    files.convert(x, out, **ND_NZ)
    out.write_bytes(spoil(out.read_bytes()))
    before = digest(tmp_path)
    if kind == ".safetensors":
        why = "what was written" if spoil is flip else f"the output {UNREADABLE}"
    else:
        why = f"the output {CHANGED}{why}"
    if (kind, spoil) != (".safetensors", flip):  # which only verification sees
        with pytest.raises(FileExistsError, match=f"{why}.*; `overwrite`"):
            files.convert(x, out, resume=True, **ND_NZ)
    for dry_run in (False, True):
        report = files.convert(x, out, resume=True, verify=True, dry_run=dry_run, **ND_NZ)
        if not dry_run or not why.startswith("what"):
            (failed,) = report.failed
            assert failed.name == "x"
            assert why in failed.reason
            assert (report.written, report.verified) == ((), ())
    assert digest(tmp_path) == before
    assert files.convert(x, out, resume=True, verify=True, overwrite=True, **ND_NZ).written == (
        (str(out),) if kind != ".safetensors" or spoil is cut else ()
    )


def test_a_damaged_output_does_not_keep_others_from_being_verified(tmp_path: Path, counting: Callable) -> None:
    source, out = make_shards(tmp_path / "in", counting), tmp_path / "out"
    np.save(source / "x.npy", counting((20, 28), "float16"))
    files.convert(source, out, **ND_NZ)
    for name, spoil in (("shard0.safetensors", cut), ("shard1.safetensors", flip), ("x.npy", flip)):
        (out / name).write_bytes(spoil((out / name).read_bytes()))
    other = (out / "shard2.safetensors").read_bytes().replace(b'"F16"', b'"I16"')
    (out / "shard2.safetensors").write_bytes(other)
    (source / "y.npy").write_bytes((source / "x.npy").read_bytes())
    report = files.convert(source, out, resume=True, verify=True, **ND_NZ)
    assert {tensor.name for tensor in report.failed} == {"w0", "w1", "w2", "x"}
    assert report.written == report.verified == (str(out / "y.npy"),)


@pytest.mark.parametrize(
    ("size", "name", "why"), [(21, "x.npy", "that had 1248 bytes, now"), (20, "z.npy", "called x")]
)
def test_resume_tells_another_input(tmp_path: Path, counting: Callable, size: int, name: str, why: str) -> None:
    np.save(tmp_path / "x.npy", counting((20, 28), "float16"))
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **ND_NZ)
    np.save(tmp_path / name, counting((size, 28), "float16"))
    with pytest.raises(FileExistsError, match=f"was not made from this input as it is now: .*{why}"):
        files.convert(tmp_path / name, tmp_path / "y.npy", resume=True, **ND_NZ)


def test_resume_replaces_a_sidecar_without_its_data(tmp_path: Path, counting: Callable) -> None:
    np.save(tmp_path / "x.npy", counting((20, 28), "float16"))
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **ND_NZ)
    (tmp_path / "y.npy").unlink()
    assert files.convert(tmp_path / "x.npy", tmp_path / "y.npy", resume=True, **ND_NZ).written


def test_resume_does_the_rest_of_a_folder(tmp_path: Path, counting: Callable, digest: Callable) -> None:
    source, out = make_shards(tmp_path / "in", counting), tmp_path / "out"
    weight_map = {f"w{n}": f"shard{n}.safetensors" for n in range(3)}
    (source / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    files.convert(source, out, **ND_NZ)
    complete = digest(out)
    for missing in ([], ["shard1.safetensors"], ["config.json"], list(complete)):
        for name in missing:
            (out / name).unlink()
        report = files.convert(source, out, resume=True, **ND_NZ)
        assert sorted(Path(path).name for path in report.written) == sorted(missing)
        assert digest(out) == complete
    (out / "config.json").write_text("changed")
    with pytest.raises(FileExistsError, match=r"config\.json"):
        files.convert(source, out, resume=True, **ND_NZ)


def spoiling(names: set[int]) -> Callable:
    """Return a converter that spoils tensors with so many columns."""
    convert_slab = tasks.convert_slab

    def spoil(plan: Any, x: Any, out: Any) -> None:
        convert_slab(plan, x, out)
        if plan.sizes[-1] in names:
            out.reshape(-1)[5] = 77

    return spoil


def test_verify_finds_what_went_wrong(tmp_path: Path, counting: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({f"w{n}": counting((40, n), "float16") for n in (30, 31, 32)}, tmp_path / "x.safetensors")
    monkeypatch.setattr(tasks, "convert_slab", spoiling({31}))
    for kind in (".safetensors", ".npz"):
        report = files.convert(tmp_path / "x.safetensors", tmp_path / f"y{kind}", verify=True, **ND_NZ)
        assert [tensor.name for tensor in report.failed] == ["w31"]
        assert report.failed[0].reason == "converted back, what was written differs from the source"
        assert {tensor.name: tensor.action for tensor in report.tensors} == {
            "w30": "dropped",
            "w31": "failed",
            "w32": "dropped",
        }
        assert report.written == ()
    assert [path.name for path in tmp_path.iterdir()] == ["x.safetensors"]


@pytest.mark.parametrize("dtype", ["int8", ">f2", "float32", "float64", "complex128"])
@pytest.mark.parametrize(
    ("src", "dst", "stored", "shape"),
    [
        ("ND", "NZ", (32, 64), None),
        ("ND", "NZ", (20, 41), None),
        ("NCHW", "C1HWNCoC0", (16, 18, 2, 3), None),
        ("NCHW", "FRACTAL_Z_C04", (17, 3, 3, 3), None),
        ("NC1HWC0", "NZ", (1, 2, 5, 7, 16), (1, 30, 5, 7)),
        ("NZ", "ND", (3, 2, 16, 16), (20, 41)),
        ("C1HWNCoC0", "NCHW", (2, 2, 3, 20, 16, 16), (20, 19, 2, 3)),
        ("FRACTAL_Z", "NCHW", (18, 2, 16, 16), (19, 20, 3, 3)),
    ],
)
def test_verify_finds_every_changed_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, src: str, dst: str, stored: tuple, shape: tuple | None, dtype: str
) -> None:
    """Padding of the source may hold anything, that of the result is zero."""
    rng = np.random.default_rng(0)
    raw = rng.integers(256, size=int(np.prod(stored)) * np.dtype(dtype).itemsize, dtype=np.uint8)
    np.save(tmp_path / "x.npy", raw.view(dtype).reshape(stored))
    options: Any = {"src_format": src, "dst_format": dst, "shape": shape, "c0": None if dst in ("NCHW", "ND") else 16}
    run_task = tasks.run_task

    def spoil(place: int, task: tasks.Task) -> int:
        written = run_task(task)
        with Path(task.target.path).open("r+b") as stream:
            stream.seek(task.offset + place % written)
            (byte,) = stream.read(1)
            stream.seek(-1, os.SEEK_CUR)
            stream.write(bytes([byte ^ 1 << place % 8]))
        return written

    for kind in (".npy", ".bin"):
        arguments = tmp_path / "x.npy", tmp_path / f"y{kind}"
        with monkeypatch.context() as patched:
            for place in (0, -1, *map(int, rng.integers(1 << 32, size=4))):
                patched.setattr("xascend.files.workers.run_task", partial(spoil, place))
                report = files.convert(*arguments, verify=True, **options)
                assert report.failed[0].reason in (
                    "converted back, what was written differs from the source",
                    "padding of what was written is not zero",
                )
                assert (report.written, report.verified) == ((), ())
        assert files.convert(*arguments, verify=True, **options).verified == (str(arguments[1]),)


def test_the_good_shards_are_kept(tmp_path: Path, counting: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = make_shards(tmp_path / "in", counting), tmp_path / "out"
    monkeypatch.setattr(tasks, "convert_slab", spoiling({31}))
    report = files.convert(source, out, verify=True, **ND_NZ)
    assert [tensor.name for tensor in report.failed] == ["w1"]
    assert sorted(path.name for path in out.iterdir()) == ["shard0.safetensors", "shard2.safetensors"]
    monkeypatch.undo()
    assert not files.convert(source, out, verify=True, resume=True, **ND_NZ).failed
    assert len(list(out.iterdir())) == 4


def test_verify_sees_a_spoiled_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({"w": np.ones((4, 4)), "bias": np.arange(9)}, tmp_path / "x.safetensors")
    run_task = tasks.run_task

    def spoil(task: tasks.Task) -> int:
        written = run_task(task)
        if task.tensor.name == "bias":
            with Path(task.target.path).open("r+b") as stream:
                stream.seek(task.offset)
                stream.write(b"\x55")
        return written

    monkeypatch.setattr("xascend.files.workers.run_task", spoil)
    report = files.convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", verify=True, **ND_NZ)
    assert [(t.name, t.reason) for t in report.failed] == [("bias", "what was written differs from the source")]
