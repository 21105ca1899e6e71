"""Byte orders, recorded plain formats, and inputs that are no regular files or leave nothing to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from xascend import files

ND_NZ = {"src_format": "ND", "dst_format": "NZ"}
posix = pytest.mark.skipif(os.name != "posix", reason="needs FIFOs and links")


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_type_without_a_byte_order_keeps_the_files(tmp_path: Path, order: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(f"{order}f4")
    np.save(tmp_path / "x.npy", x)
    for kind in ("npy", "safetensors"):
        for dtype in ("float32", np.float32, f"{order}f4"):
            files.convert(tmp_path / "x.npy", tmp_path / f"y.{kind}", dtype=dtype, overwrite=True, **ND_NZ)
            files.convert(tmp_path / f"y.{kind}", tmp_path / "z.npy", overwrite=True)
            assert np.load(tmp_path / "z.npy").tolist() == x.tolist()
    other = {"<": ">", ">": "<"}[order]
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", dtype=f"{other}f4", overwrite=True, **ND_NZ)
    files.convert(tmp_path / "y.npy", tmp_path / "z.npy", overwrite=True)
    assert np.load(tmp_path / "z.npy").tolist() == x.view(f"{other}f4").tolist()


@pytest.mark.parametrize(
    ("plain", "shape", "blocked"), [("NHWC", (1, 2, 3, 40), "5HD"), ("NDHWC", (1, 2, 2, 3, 40), "NDC1HWC0")]
)
def test_the_plain_format_outlives_another_blocking(
    tmp_path: Path, counting: Callable, plain: str, shape: tuple[int, ...], blocked: str
) -> None:
    x = counting(shape, "int8")
    np.save(tmp_path / "x.npy", x)
    files.convert(tmp_path / "x.npy", tmp_path / "a.npy", src_format=plain, dst_format=blocked, c0=16)
    files.convert(tmp_path / "a.npy", tmp_path / "b.npy", src_format=blocked, dst_format=blocked, c0=32)
    (tensor,) = files.convert(tmp_path / "b.npy", tmp_path / "z.npy").tensors
    assert tensor.dst_format == plain
    assert np.load(tmp_path / "z.npy").tolist() == x.tolist()


@posix
@pytest.mark.parametrize("kind", ["link", "fifo"])
@pytest.mark.parametrize("name", ["b.safetensors", "b.npy", "config.json"])
def test_a_folder_with_what_cannot_be_read(tmp_path: Path, kind: str, name: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    np.save(folder / "a.npy", np.ones((4, 4), np.float32))
    if kind == "link":
        (folder / name).symlink_to("nowhere")
    else:
        os.mkfifo(folder / name)
    match = "is a link to a file that is not there" if kind == "link" else "is not a regular file"
    for call in (lambda: files.inspect(folder), lambda: files.convert(folder, tmp_path / "out", **ND_NZ)):
        with pytest.raises(ValueError, match=match):
            call()
    assert not (tmp_path / "out").exists()


@posix
@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.bin", "x.safetensors", "x.safetensors.index.json"])
def test_an_input_that_is_no_regular_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=rf"{name} is not a regular file"):
        files.convert(tmp_path / name, tmp_path / "y.npy", **ND_NZ)


@posix
def test_a_record_and_an_output_that_are_no_regular_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4), np.float32))
    os.mkfifo(tmp_path / "y.npy")
    with pytest.raises(ValueError, match=r"the output must be a regular file, got .*y\.npy"):
        files.convert(tmp_path / "x.npy", tmp_path / "y.npy", overwrite=True, **ND_NZ)
    os.mkfifo(tmp_path / "x.npy.json")
    with pytest.raises(ValueError, match=r"x\.npy\.json, where the record of x\.npy lies, is not a regular file"):
        files.inspect(tmp_path / "x.npy")


@pytest.mark.parametrize("c0", [2**60, 2**70])
@pytest.mark.parametrize("kind", ["npy", "npz", "bin", "safetensors"])
def test_more_than_can_be_addressed(tmp_path: Path, c0: int, kind: str) -> None:
    np.save(tmp_path / "x.npy", np.ones((20, 28), np.float16))
    for dry_run in (True, False):
        with pytest.raises(ValueError, match="more bytes than can be addressed; pass a smaller `c0`"):
            files.convert(tmp_path / "x.npy", tmp_path / f"y.{kind}", c0=c0, dry_run=dry_run, **ND_NZ)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize("kind", ["npy", "npz", "bin", "safetensors"])
def test_more_than_fits(tmp_path: Path, kind: str) -> None:
    np.save(tmp_path / "x.npy", np.ones((20, 28), np.float16))
    with pytest.raises(OSError, match="cannot write"):
        files.convert(tmp_path / "x.npy", tmp_path / f"y.{kind}", c0=2**53, **ND_NZ)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_a_header_that_makes_python_say_nothing(tmp_path: Path) -> None:
    text = b"-" * 60000 + b"1\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(ValueError, match=r"x\.npy is not a readable \.npy file: \w+"):
        files.inspect(tmp_path / "x.npy")


def test_a_dry_run_refuses_what_the_run_refuses(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4), np.float32))
    np.save(tmp_path / "bias.npy", np.ones(4, np.float32))
    for dry_run in (True, False):
        with pytest.raises(FileNotFoundError, match="No such file"):
            files.convert(tmp_path / "x.npy", tmp_path / "none" / "y.npy", dry_run=dry_run, **ND_NZ)
        with pytest.raises(ValueError, match="there is nothing to convert: bias: FRACTAL_NZ takes 2 axes or more"):
            files.convert(tmp_path / "bias.npy", tmp_path / "y.npy", dry_run=dry_run, **ND_NZ)


def test_nothing_to_convert_tells_why_of_what_was_chosen(tmp_path: Path) -> None:
    tensors = {"a": np.ones((4, 4), np.float32), "bias": np.ones(4, np.float32), "norm": np.ones(5, np.float32)}
    save_file(tensors, tmp_path / "x.safetensors")
    match = r"nothing to convert: bias: FRACTAL_NZ takes 2 axes or more, not 1 \(and 2 more\)"
    with pytest.raises(ValueError, match=match):
        files.convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", exclude=["a"], **ND_NZ)


def test_an_error_names_the_output_and_not_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4), np.float32))

    def full(_: int, size: int) -> None:
        if size > 300 and size < 1000:  # the record
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("xascend._atomic._reserve", full)
    with pytest.raises(OSError, match="cannot write: No space left") as caught:
        files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **ND_NZ)
    assert caught.value.filename == str(tmp_path / "y.npy")
