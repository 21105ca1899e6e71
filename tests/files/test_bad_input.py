"""Files that lie, are cut short or want to run code: one clear error, the input untouched, nothing left behind."""

from __future__ import annotations

import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from xascend import files

F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


def refused(
    tmp_path: Path, digest: Callable, source: str, match: str, kind: type = ValueError, **options: object
) -> None:
    """Assert that a conversion is refused and the folder is as it was."""
    before = digest(tmp_path)
    arguments = {"src_format": "ND", "dst_format": "NZ"} | options
    with pytest.raises(kind, match=match) as caught:
        files.convert(tmp_path / source, tmp_path / "out.npz", **arguments)
    assert "\n" not in str(caught.value)
    assert digest(tmp_path) == before


LYING_HEADERS = {
    "offsets past the end": ({"w": F32}, b"ab"),
    "shape too large for the offsets": ({"w": F32 | {"shape": [2]}}, b"abcd"),
    "negative offset": ({"w": F32 | {"data_offsets": [-4, 0]}}, b""),
    "negative size": ({"w": F32 | {"shape": [-1]}}, b"abcd"),
    "2^63 sizes": ({"w": F32 | {"shape": [2**63], "data_offsets": [0, 2**63]}}, b""),
    "product past 2^64": ({"w": F32 | {"shape": [2**32, 2**32]}}, b"abcd"),
    "overlapping": ({"a": F32, "b": F32 | {"data_offsets": [2, 6]}}, b"abcdef"),
    "a hole at the start": ({"w": F32 | {"data_offsets": [2, 6]}}, b"abcdef"),
    "a hole between": ({"a": F32, "b": F32 | {"data_offsets": [6, 10]}}, b"abcdefghij"),
    "bytes behind the data": ({"w": F32}, b"abcdef"),
    "unknown type": ({"w": F32 | {"dtype": "F33"}}, b"abcd"),
    "not JSON": (b"{{{{{{{{", b""),
    "not UTF-8": (b'{"\xff":1}', b""),
}


@pytest.mark.parametrize("case", LYING_HEADERS)
def test_lying_safetensors_headers(tmp_path: Path, digest: Callable, write_safetensors: Callable, case: str) -> None:
    header, data = LYING_HEADERS[case]
    write_safetensors(tmp_path / "x.safetensors", header, data)
    refused(tmp_path, digest, "x.safetensors", r"x\.safetensors is not a readable safetensors file: .*header")


@pytest.mark.parametrize(("length", "size"), [(2**63, 2), (100_000_001, 2), (50, 10), (0, 0)])
def test_header_lengths(tmp_path: Path, digest: Callable, write_safetensors: Callable, length: int, size: int) -> None:
    write_safetensors(tmp_path / "x.safetensors", b"{" * size, length=length)
    refused(tmp_path, digest, "x.safetensors", r"x\.safetensors is not a readable safetensors file: .*header")


def test_a_hundred_megabytes_of_header(tmp_path: Path, digest: Callable, write_safetensors: Callable) -> None:
    write_safetensors(tmp_path / "x.safetensors", b'{"w":' + b" " * 100_000_000 + b"}")
    refused(tmp_path, digest, "x.safetensors", r"x\.safetensors is not a readable safetensors file: .*header")


@pytest.mark.parametrize("size", [0, 5])
def test_files_cut_short(tmp_path: Path, digest: Callable, size: int) -> None:
    for name in ("x.safetensors", "x.npy", "x.npz"):
        (tmp_path / name).write_bytes(b"\x93NUMPY"[:size])
        refused(tmp_path, digest, name, f"{name} is not a readable")


def test_safetensors_that_cannot_be_written(tmp_path: Path, digest: Callable) -> None:
    np.savez(tmp_path / "x.npz", w=np.zeros((2, 2), np.complex128))
    before = digest(tmp_path)
    with pytest.raises(TypeError, match=r"w holds complex128, for which safetensors has no type"):
        files.convert(tmp_path / "x.npz", tmp_path / "y.safetensors", src_format="ND", dst_format="NZ")
    np.savez(tmp_path / "m.npz", __metadata__=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="no tensor called __metadata__"):
        files.convert(tmp_path / "m.npz", tmp_path / "y.safetensors", src_format="ND", dst_format="NZ")
    (tmp_path / "m.npz").unlink()
    assert digest(tmp_path) == before


class Trap:
    """Leaves a trace when it is unpickled."""

    def __reduce__(self) -> tuple:
        return Path.touch, (Path("unpickled"),)


def test_pickled_arrays_are_refused_and_never_loaded(
    tmp_path: Path, digest: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trap = np.array([[Trap(), None]], object)
    np.save(tmp_path / "x.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "x.npz", w=trap)
    (tmp_path / "p.npy").write_bytes(pickle.dumps(Trap()))
    refused(tmp_path, digest, "x.npy", "pickled Python objects, which are refused")
    refused(tmp_path, digest, "x.npz", "member w.npy holds pickled Python objects")
    refused(tmp_path, digest, "p.npy", r"p\.npy is not a readable \.npy file")
    assert not (tmp_path / "unpickled").exists()


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H" if version == b"\x01\x00" else "<I", len(text)) + text + data


LYING_NPY = {
    "cut short": (
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}", b"abcd"),
        "24 bytes of data, it has 4",
    ),
    "longer": (
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}", b"abcdef"),
        "4 bytes of data, it has 6",
    ),
    "huge": (
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2**40, 4)}".replace("2**40", str(2**62))),
        "it has 0",
    ),
    "negative": (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)}"), "shape"),
    "no shape": (npy("{'descr': '<f4', 'fortran_order': False}"), "not a readable"),
    "code": (npy("__import__('os').mkdir('made')"), "not a readable"),
    "unknown type": (npy("{'descr': '<f3', 'fortran_order': False, 'shape': (1, 1)}"), "f3"),
    "long header": (npy(" " * 70_000, version=b"\x02\x00"), "claims 70001 bytes"),
    "never closed": (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,"), "not a readable"),
    "version 3": (npy("{}", version=b"\x03\x00"), "structured"),
    "version 9": (npy("{}", version=b"\x09\x00"), "not a readable"),
}


@pytest.mark.parametrize("case", LYING_NPY)
def test_lying_npy_headers(tmp_path: Path, digest: Callable, case: str) -> None:
    content, match = LYING_NPY[case]
    (tmp_path / "x.npy").write_bytes(content)
    refused(tmp_path, digest, "x.npy", match)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("w.npy", content)
    refused(tmp_path, digest, "x.npz", match)


def test_files_of_python_2_are_good(tmp_path: Path) -> None:
    content = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 2L), }", bytes(24))
    (tmp_path / "x.npy").write_bytes(content)
    assert files.inspect(tmp_path / "x.npy")[0].shape == (3, 2)


def test_damaged_archives(tmp_path: Path, digest: Callable) -> None:
    np.savez(tmp_path / "x.npz", w=np.arange(90_000, dtype=np.int32).reshape(300, 300))
    content = bytearray((tmp_path / "x.npz").read_bytes())
    content[200_000] ^= 1
    (tmp_path / "x.npz").write_bytes(content)
    before = digest(tmp_path)
    for out in ("y.safetensors", "y.npz"):
        report = files.convert(tmp_path / "x.npz", tmp_path / out, src_format="ND", dst_format="NZ")
        assert [(tensor.name, tensor.reason) for tensor in report.failed] == [("w", "Bad CRC-32 for file 'w.npy'")]
    assert digest(tmp_path) == before
    (tmp_path / "x.npz").write_bytes(content[:-30])
    refused(tmp_path, digest, "x.npz", "not a readable .npz file")


def test_an_archive_that_points_before_its_beginning(tmp_path: Path, digest: Callable) -> None:
    np.savez(tmp_path / "x.npz", w=np.zeros((2, 2)))
    content = bytearray((tmp_path / "x.npz").read_bytes())
    place = content.rindex(b"PK\x05\x06") + 16
    content[place : place + 4] = (int.from_bytes(content[place : place + 4], "little") + 8).to_bytes(4, "little")
    (tmp_path / "x.npz").write_bytes(content)
    refused(tmp_path, digest, "x.npz", "not a readable .npz file")


def test_two_members_of_one_name(tmp_path: Path, digest: Callable) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "w.npy")
        archive.write(tmp_path / "x.npy", "w")
    refused(tmp_path, digest, "x.npz", "two members of one name")


def test_damage_in_a_compressed_member_fails_that_tensor(tmp_path: Path, digest: Callable) -> None:
    x = np.random.default_rng(0).integers(0, 255, (200, 200), np.uint8)
    np.savez_compressed(tmp_path / "x.npz", w=x)
    content = bytearray((tmp_path / "x.npz").read_bytes())
    content[len(content) // 2] ^= 255
    (tmp_path / "x.npz").write_bytes(content)
    before = digest(tmp_path)
    for out in ("y.safetensors", "y.npz"):
        report = files.convert(tmp_path / "x.npz", tmp_path / out, src_format="ND", dst_format="NZ")
        assert [tensor.name for tensor in report.failed] == ["w"]
    assert digest(tmp_path) == before


@pytest.mark.parametrize("size", [1119, 1121, 0])
def test_bin_of_the_wrong_size(tmp_path: Path, digest: Callable, size: int) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(size))
    refused(tmp_path, digest, "x.bin", rf"take 1120 bytes, .*x\.bin has {size}", dtype="float16", shape=(20, 28))


def test_bin_needs_type_and_sizes(tmp_path: Path, digest: Callable) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(1120))
    for options in ({}, {"dtype": "float16"}, {"shape": (20, 28)}):
        refused(tmp_path, digest, "x.bin", "tells neither type nor sizes: pass `dtype` and `shape`", **options)


def test_types_that_do_not_fit(tmp_path: Path, digest: Callable) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 4), "V2"))
    np.save(tmp_path / "s.npy", np.zeros((4, 4), [("a", "f4"), ("b", "i4")]))
    np.save(tmp_path / "t.npy", np.zeros((4, 4), "M8[s]"))
    refused(tmp_path, digest, "x.npy", r"`dtype` V2 is raw bytes without a type; say what they hold")
    refused(tmp_path, digest, "x.npy", "a type of 2 bytes to view x, .* got float32, which has 4", dtype="float32")
    refused(tmp_path, digest, "x.npy", "`dtype` quux is not supported", TypeError, dtype="quux")
    refused(tmp_path, digest, "s.npy", "nothing to convert: s: `dtype`")
    refused(tmp_path, digest, "t.npy", "nothing to convert: t: `dtype` datetime64")


def test_ranks_that_do_not_fit(tmp_path: Path, digest: Callable) -> None:
    np.save(tmp_path / "x.npy", np.zeros(5, np.float16))
    np.save(tmp_path / "y.npy", np.zeros((2, 9, 2, 2), np.float16))
    refused(tmp_path, digest, "x.npy", "nothing to convert: x: FRACTAL_NZ takes 2 axes or more, not 1")
    refused(tmp_path, digest, "x.npy", "NC1HWC0 takes 4 axes, not 1", src_format="NCHW", dst_format="5HD")
    refused(tmp_path, digest, "x.npy", "FRACTAL_NZ has 4 axes, not 1", src_format="NZ", dst_format="ND")
    refused(tmp_path, digest, "y.npy", "takes up to 4 channels, not 9", src_format="NCHW", dst_format="FRACTAL_Z_C04")
    refused(tmp_path, digest, "y.npy", "y: `groups` must divide", src_format="NCHW", dst_format="FRACTAL_Z", groups=3)
    refused(tmp_path, digest, "y.npy", "`shape` must be left out or", src_format="NCHW", dst_format="5HD", shape=(1, 2))


ARGUMENTS = {
    "c0": (0, ValueError, "`c0` must be an integer of at least 1"),
    "groups": (True, ValueError, "`groups`"),
    "jobs": (0, ValueError, "`jobs`"),
    "max_bytes": (2.5, ValueError, "`max_bytes`"),
    "shape": ("20,28", ValueError, "`shape`"),
    "src_format": ("NX", ValueError, "`src_format` 'NX' is not a known format"),
    "device": ("gpu", ValueError, "`device` must be auto, cpu, cuda or cuda:N, got 'gpu'"),
    "include": ("w*", TypeError, "`include` must be a list of globs"),
    "dtype": (">q9", TypeError, "`dtype`"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(tmp_path: Path, digest: Callable, name: str) -> None:
    value, kind, match = ARGUMENTS[name]
    np.save(tmp_path / "x.npy", np.zeros((20, 28), np.float16))
    refused(tmp_path, digest, "x.npy", match, kind, **{name: value})


def test_formats_that_are_missing(tmp_path: Path, digest: Callable) -> None:
    np.save(tmp_path / "x.npy", np.zeros((20, 28), np.float16))
    refused(tmp_path, digest, "x.npy", r"`src_format \(--from\)` is needed", src_format=None, dst_format="5HD")
    refused(tmp_path, digest, "x.npy", r"`dst_format \(--to\)` is needed", dst_format=None)


def test_names_that_do_not_fit(tmp_path: Path, digest: Callable) -> None:
    np.save(tmp_path / "x.npy", np.zeros((20, 28), np.float16))
    (tmp_path / "x.pt").write_bytes(b"")
    before = digest(tmp_path)
    for src, dst, kind, match in (
        ("none.npy", "y.npy", FileNotFoundError, "no such file"),
        ("x.pt", "y.npy", ValueError, "the input must be a folder"),
        ("x.npy", "y.pt", ValueError, "the output must be one of"),
        ("x.npy", "x.npy", ValueError, "must be another file than the input"),
        ("x.npy", "none/y.npy", FileNotFoundError, "cannot write"),
        ("x.npy", "x.pt/y.npy", NotADirectoryError, "cannot write"),
    ):
        with pytest.raises(kind, match=match):
            files.convert(tmp_path / src, tmp_path / dst, src_format="ND", dst_format="NZ", overwrite=True)
    assert digest(tmp_path) == before


def test_several_tensors_do_not_fit_into_one_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.ones((2, 2)), b=np.ones((3, 3)))
    with pytest.raises(
        ValueError, match=r"y\.npy can hold one tensor, but .*x\.npz gives 2: choose one with `include` \(--include\)"
    ):
        files.convert(tmp_path / "x.npz", tmp_path / "y.npy", src_format="ND", dst_format="NZ")
    files.convert(tmp_path / "x.npz", tmp_path / "y.npy", src_format="ND", dst_format="NZ", include=["b"])
    assert files.inspect(tmp_path / "y.npy")[0].plain_shape == (3, 3)
