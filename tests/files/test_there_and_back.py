"""Each file type and format, there and back, bit for bit; what is stored agrees with the slow oracle."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import oracle
import pytest
from safetensors.numpy import load_file as library_load_file
from safetensors.numpy import save_file

import xascend
from xascend import files

KINDS = (".npy", ".npz", ".bin", ".safetensors")
CASES = (
    ("ND", "FRACTAL_NZ", (20, 28), "float16", {}),
    ("ND", "FRACTAL_NZ", (2, 3, 17, 35), "int8", {}),
    ("ND", "FRACTAL_ZZ", (17, 33), "float32", {}),
    ("ND", "FRACTAL_NZ_C0_8", (17, 33), "float32", {}),
    ("NCHW", "NC1HWC0", (2, 22, 3, 5), "float16", {}),
    ("NHWC", "NC1HWC0", (2, 3, 5, 22), "float32", {"c0": 8}),
    ("NCHW", "FRACTAL_Z", (33, 18, 3, 2), "float16", {}),
    ("NCHW", "FRACTAL_Z", (12, 3, 2, 2), "float16", {"groups": 4}),
    ("NCHW", "FRACTAL_Z_C04", (17, 3, 5, 3), "float16", {}),
    ("NCHW", "C1HWNCoC0", (3, 18, 2, 2), "int8", {}),
    ("NCDHW", "NDC1HWC0", (2, 18, 2, 3, 2), "float16", {}),
    ("NCDHW", "FRACTAL_Z_3D", (17, 18, 2, 1, 2), "float32", {}),
    ("NHWC", "FRACTAL_NZ", (2, 3, 17, 20), "float16", {}),
    ("NCHW", "NHWC", (2, 5, 3, 4), "complex64", {}),
)
cases = pytest.mark.parametrize(
    ("src", "dst", "shape", "dtype", "options"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES]
)


def stored(x: np.ndarray, src: str, dst: str, *, c0: int | None = None, groups: int = 1) -> np.ndarray:
    """Return what the oracle makes of a tensor, with the default C0 of its item size."""
    return oracle.convert(x, src, dst, c0=c0 or oracle.default_c0(x.itemsize), groups=groups)


def read(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Read the only tensor of a file without the library under test."""
    if path.suffix == ".safetensors":
        (array,) = library_load_file(path).values()
    elif path.suffix == ".npz":
        with np.load(path) as archive:
            array = archive[archive.files[0]]
    else:
        array = np.load(path) if path.suffix == ".npy" else np.fromfile(path, dtype).reshape(shape)
    return array.view(dtype) if array.dtype.kind == "V" else array


@cases
@pytest.mark.parametrize("kind", KINDS)
def test_formats(
    tmp_path: Path,
    counting: Callable,
    same_bits: Callable,
    src: str,
    dst: str,
    shape: tuple,
    dtype: str,
    options: dict,
    kind: str,
) -> None:
    x = counting(shape, dtype)
    np.save(tmp_path / "x.npy", x)
    converted, back = tmp_path / f"y{kind}", tmp_path / "z.npy"
    files.convert(tmp_path / "x.npy", converted, src_format=src, dst_format=dst, **options)
    expected = stored(x, src, dst, **options)
    assert same_bits(read(converted, x.dtype, expected.shape), expected)
    files.convert(converted, back, dst_format=src)
    assert same_bits(np.load(back), x)
    if dst != "NHWC":
        files.convert(converted, back, overwrite=True)  # told by the record alone
        assert same_bits(np.load(back), x)


@pytest.mark.parametrize(("first", "second"), [*itertools.product(KINDS, KINDS)])
def test_every_type_into_every_type(
    tmp_path: Path, counting: Callable, same_bits: Callable, first: str, second: str
) -> None:
    x = counting((20, 40), "bfloat16")
    save_file({"layer.0": x}, tmp_path / "x.safetensors")
    one, two, back = tmp_path / f"one{first}", tmp_path / f"two{second}", tmp_path / "back.safetensors"
    files.convert(tmp_path / "x.safetensors", one, src_format="ND", dst_format="NZ")
    files.convert(one, two, dst_format="ND")
    files.convert(two, tmp_path / f"again{second}", src_format="ND", dst_format="NZ")
    files.convert(tmp_path / f"again{second}", back, verify=True)
    (found,) = files.inspect(two)
    assert (found.name, found.dtype, found.shape) == ("layer.0", "bfloat16", (20, 40))
    assert same_bits(library_load_file(back)["layer.0"], x)


@pytest.mark.parametrize("kind", [".npz", ".safetensors"])
def test_types_ranks_and_empty_tensors(
    tmp_path: Path, mixed_tensors: dict, same_bits: Callable, load_file: Callable, kind: str
) -> None:
    save_file(mixed_tensors, tmp_path / "x.safetensors", {"format": "pt"})
    report = files.convert(
        tmp_path / "x.safetensors", tmp_path / f"y{kind}", src_format="ND", dst_format="NZ", verify=True
    )
    actions = {tensor.name: tensor.action for tensor in report.tensors}
    assert actions == {name: "copy" if x.ndim < 2 else "convert" for name, x in mixed_tensors.items()}
    files.convert(tmp_path / f"y{kind}", tmp_path / "z.safetensors", verify=True)
    back = load_file(tmp_path / "z.safetensors")
    assert back.keys() == mixed_tensors.keys()
    assert all(same_bits(back[name], x) for name, x in mixed_tensors.items())


def test_converted_safetensors_are_what_the_oracle_says(
    tmp_path: Path, mixed_tensors: dict, same_bits: Callable, load_file: Callable
) -> None:
    save_file(mixed_tensors, tmp_path / "x.safetensors")
    files.convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", src_format="ND", dst_format="NZ")
    converted = load_file(tmp_path / "y.safetensors")
    for name, x in mixed_tensors.items():
        assert same_bits(converted[name], x if x.ndim < 2 else stored(x, "ND", "FRACTAL_NZ"))


def test_metadata_of_others_is_kept(tmp_path: Path, counting: Callable) -> None:
    save_file({"w": counting((3, 4), "float16")}, tmp_path / "x.safetensors", {"format": "pt", "author": "someone"})
    files.convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", src_format="ND", dst_format="NZ")
    header = (tmp_path / "y.safetensors").read_bytes()
    length = int.from_bytes(header[:8], "little")
    metadata = json.loads(header[8 : 8 + length])["__metadata__"]
    assert (metadata["format"], metadata["author"]) == ("pt", "someone")
    assert json.loads(metadata["xascend"])["tensors"]["w"]["shape"] == [3, 4]


def test_types_that_are_not_converted_are_copied_as_bytes(
    tmp_path: Path, write_safetensors: Callable, command: Callable
) -> None:
    four_bit = bytes(range(8))
    header = {
        "odd": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},  # the next tensor lies unaligned
        "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [3, 19]},
        "packed": {"dtype": "F4", "shape": [4, 4], "data_offsets": [19, 27]},
    }
    weights = np.arange(4, dtype=np.float32)
    source = write_safetensors(tmp_path / "x.safetensors", header, b"abc" + weights.tobytes() + four_bit)
    report = files.convert(source, tmp_path / "y.safetensors", src_format="ND", dst_format="NZ", verify=True)
    reasons = {tensor.name: tensor.reason for tensor in report.tensors}
    assert reasons["packed"] == "type F4 is not converted"
    found = {tensor.name: tensor for tensor in files.inspect(tmp_path / "y.safetensors")}
    assert (found["packed"].dtype, found["packed"].shape) == ("F4", (4, 4))
    assert four_bit in (tmp_path / "y.safetensors").read_bytes()
    with pytest.raises(TypeError, match="packed is of type F4, which only safetensors can hold"):
        files.convert(source, tmp_path / "y.npz", src_format="ND", dst_format="NZ")


@pytest.mark.parametrize("kind", KINDS)
def test_big_endian_and_fortran_order(tmp_path: Path, same_bits: Callable, kind: str) -> None:
    x = np.asfortranarray(np.arange(20 * 28, dtype=">f4").reshape(20, 28))
    np.save(tmp_path / "x.npy", x)
    report = files.convert(tmp_path / "x.npy", tmp_path / f"y{kind}", src_format="ND", dst_format="NZ", verify=True)
    assert report.tensors[0].dst_shape == (2, 2, 16, 16)
    files.convert(tmp_path / f"y{kind}", tmp_path / "z.npy")
    kept = ">f4" if kind in (".npy", ".npz") else "<f4"
    assert same_bits(np.load(tmp_path / "z.npy"), np.ascontiguousarray(x, kept))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives(tmp_path: Path, counting: Callable, same_bits: Callable, save: Callable) -> None:
    tensors = {
        "a b": counting((40, 50), "float16"),
        "größe": np.asfortranarray(counting((7, 9), "int8")),
        "fortran3": np.asfortranarray(counting((3, 4, 5), "float32")).astype(">f4"),
        "scalar": np.array(3.5),
        "text": np.array(["one", "two"]),
        "empty": np.zeros((3, 0), np.int16),
    }
    save(tmp_path / "x.npz", **tensors)
    files.convert(
        tmp_path / "x.npz",
        tmp_path / "y.npz",
        src_format="ND",
        dst_format="NZ",
        exclude=["fortran3"],
        verify=True,
        max_bytes=64,
    )
    files.convert(tmp_path / "y.npz", tmp_path / "z.npz", verify=True)
    with np.load(tmp_path / "y.npz") as y, np.load(tmp_path / "z.npz") as z:
        assert same_bits(y["a b"], stored(tensors["a b"], "ND", "FRACTAL_NZ"))
        assert all(same_bits(z[name], np.ascontiguousarray(x)) for name, x in tensors.items() if x.ndim)
        assert z["scalar"] == 3.5


def test_from_a_dump_without_a_record(tmp_path: Path, counting: Callable, same_bits: Callable) -> None:
    x = counting((20, 28), "float16")
    dump = stored(x, "ND", "FRACTAL_NZ")
    dump.tofile(tmp_path / "dump.bin")
    np.save(tmp_path / "dump.npy", dump)
    options = {"src_format": "NZ", "dst_format": "ND", "shape": (20, 28)}
    files.convert(tmp_path / "dump.bin", tmp_path / "a.npy", dtype="float16", **options)
    files.convert(tmp_path / "dump.npy", tmp_path / "b.npy", verify=True, **options)
    assert same_bits(np.load(tmp_path / "a.npy"), x)
    assert same_bits(np.load(tmp_path / "b.npy"), x)


def test_a_dump_in_blocks_with_dirty_padding_passes_verification(tmp_path: Path, counting: Callable) -> None:
    np.save(tmp_path / "x.npy", counting((2, 2, 16, 16), "float16"))
    options = {"src_format": "NZ", "dst_format": "ND", "shape": (20, 28), "verify": True}
    assert not files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **options).failed


def test_blocked_to_blocked(tmp_path: Path, counting: Callable, same_bits: Callable) -> None:
    x = counting((2, 3, 5, 22), "float16")
    np.save(tmp_path / "x.npy", x)
    files.convert(tmp_path / "x.npy", tmp_path / "a.npy", src_format="NHWC", dst_format="5HD")
    files.convert(tmp_path / "a.npy", tmp_path / "b.npy", src_format="5HD", dst_format="FRACTAL_Z", verify=True)
    files.convert(tmp_path / "b.npy", tmp_path / "c.npy", src_format="FRACTAL_Z", dst_format="NC1HWC0", c0=8)
    files.convert(tmp_path / "c.npy", tmp_path / "d.npy", src_format="5HD", dst_format="NZ")
    nchw = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    assert same_bits(np.load(tmp_path / "b.npy"), stored(nchw, "NCHW", "FRACTAL_Z"))
    assert same_bits(np.load(tmp_path / "d.npy"), stored(nchw, "NCHW", "FRACTAL_NZ"))
    files.convert(tmp_path / "d.npy", tmp_path / "e.npy")
    assert same_bits(np.load(tmp_path / "e.npy"), nchw)
    files.convert(tmp_path / "a.npy", tmp_path / "f.npy", dst_format="HWCN")
    assert same_bits(np.load(tmp_path / "f.npy"), np.ascontiguousarray(x.transpose(1, 2, 3, 0)))


def test_nd_is_the_source_of_matrix_formats(tmp_path: Path, counting: Callable) -> None:
    np.save(tmp_path / "x.npy", counting((3, 20, 28), "float16"))
    (tensor,) = files.convert(tmp_path / "x.npy", tmp_path / "y.npy", dst_format="NZ").tensors
    assert (tensor.src_format, tensor.dst_shape) == ("ND", (3, 2, 2, 16, 16))


def test_fractal_z_of_a_matrix(tmp_path: Path, counting: Callable, same_bits: Callable) -> None:
    x = counting((18, 33), "float16")
    np.save(tmp_path / "x.npy", x)
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", src_format="ND", dst_format="FRACTAL_Z", verify=True)
    files.convert(tmp_path / "y.npy", tmp_path / "z.npy")
    assert same_bits(np.load(tmp_path / "z.npy"), x)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "int4"])
def test_types_that_npy_cannot_name(tmp_path: Path, counting: Callable, same_bits: Callable, name: str) -> None:
    x = (counting((20, 40), "uint8") % 16).view(ml_dtypes.int4) if name == "int4" else counting((20, 40), name)
    np.save(tmp_path / "x.npy", x)  # writes V2, V1, and <f1, which NumPy itself cannot read
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", src_format="ND", dst_format="NZ", dtype=name)
    raw = np.load(tmp_path / "y.npy")
    assert raw.dtype.kind == "V"
    assert same_bits(raw.view(x.dtype), stored(x, "ND", "FRACTAL_NZ", c0=64 if name == "int4" else None))
    files.convert(tmp_path / "y.npy", tmp_path / "z.npy", verify=True)
    assert same_bits(np.load(tmp_path / "z.npy").view(x.dtype), x)


def test_groups_and_pixels_in_slabs(tmp_path: Path, counting: Callable, same_bits: Callable) -> None:
    x = counting((40, 3, 5, 8), "float16")
    np.save(tmp_path / "x.npy", x)
    for dst, groups in (("FRACTAL_Z", 40), ("FRACTAL_Z_C04", 1)):
        calls: list[int] = []
        files.convert(
            tmp_path / "x.npy",
            tmp_path / f"{dst}.npy",
            src_format="NCHW",
            dst_format=dst,
            groups=groups,
            max_bytes=10_000,
            verify=True,
            progress=lambda done, _, calls=calls: calls.append(done),
        )
        assert len(calls) > 1
        assert same_bits(np.load(tmp_path / f"{dst}.npy"), xascend.trans_data(x, "NCHW", dst, groups=groups))
        files.convert(tmp_path / f"{dst}.npy", tmp_path / f"{dst} back.npy", max_bytes=10_000, verify=True)
        assert same_bits(np.load(tmp_path / f"{dst} back.npy"), x)


def test_small_slabs_give_the_same(tmp_path: Path, counting: Callable) -> None:
    np.save(tmp_path / "x.npy", counting((2, 70, 9, 11), "float16"))
    for dst in ("NC1HWC0", "FRACTAL_Z", "NZ", "NHWC"):
        for n, options in enumerate(({}, {"max_bytes": 4096}, {"max_bytes": 1, "jobs": 3})):
            files.convert(tmp_path / "x.npy", tmp_path / f"{dst}{n}.npy", src_format="NCHW", dst_format=dst, **options)
        texts = {(tmp_path / f"{dst}{n}.npy").read_bytes() for n in range(3)}
        assert len(texts) == 1
