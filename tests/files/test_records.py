"""Records of conversions: what is refused, what is told, and what a damaged or foreign record leads to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from xascend import files
from xascend.files import FileRecord, Record

ND_NZ = {"src_format": "ND", "dst_format": "NZ"}


def test_what_is_recorded(converted: Path) -> None:
    fields = json.loads((converted / "y.npy.json").read_text())
    assert fields["tensors"] == {
        "x": {
            "format": "FRACTAL_NZ",
            "plain_format": "ND",
            "shape": [20, 28],
            "dtype": "float16",
            "c0": 16,
            "groups": 1,
        }
    }
    (info,) = files.inspect(converted / "y.npy")
    assert (info.format, info.plain_format, info.plain_shape, info.c0) == ("FRACTAL_NZ", "ND", (20, 28), 16)


def test_converting_twice_is_refused(converted: Path, digest: Callable) -> None:
    before = digest(converted)
    for options, match in (
        (
            ND_NZ,
            r"`src_format` must be left out or FRACTAL_NZ: x is FRACTAL_NZ already, made from ND \(20, 28\); got ND",
        ),
        ({"dst_format": "NZ"}, r"x is FRACTAL_NZ already, made from ND \(20, 28\); to convert it on"),
        ({"src_format": "5HD", "dst_format": "NCHW"}, r"`src_format` must be left out or FRACTAL_NZ: .* got NC1HWC0"),
        ({"dst_format": "ND", "shape": (19, 28)}, r"`shape` must be left out or \(20, 28\)"),
        ({"dtype": "bfloat16"}, "`dtype` must be left out or float16"),
        ({"dst_format": "ND", "c0": 8}, "`c0` must be the last axis of `x`, 16"),
    ):
        with pytest.raises(ValueError, match=match):
            files.convert(converted / "y.npy", converted / "z.npy", **options)
    assert digest(converted) == before


def test_converting_on_is_possible_when_said(converted: Path) -> None:
    options = {"src_format": "NZ", "dst_format": "ZZ"}
    (tensor,) = files.convert(converted / "y.npy", converted / "z.npy", **options).tensors
    assert (tensor.src_format, tensor.dst_format) == ("FRACTAL_NZ", "FRACTAL_ZZ")
    (tensor,) = files.convert(converted / "z.npy", converted / "back.npy").tensors
    assert (tensor.dst_format, tensor.dst_shape) == ("ND", (20, 28))


def test_axes_are_not_mixed_up(tmp_path: Path, counting: Callable) -> None:
    np.save(tmp_path / "x.npy", counting((2, 3, 5, 22), "float16"))
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", src_format="NHWC", dst_format="NZ")
    for options in ({"dst_format": "NCHW"}, {"src_format": "NZ", "dst_format": "5HD"}):
        with pytest.raises(
            ValueError, match=r"`dst_format` must be ND or NHWC: .* takes other axes; convert back first"
        ):
            files.convert(tmp_path / "y.npy", tmp_path / "z.npy", **options)
    files.convert(tmp_path / "y.npy", tmp_path / "z.npy")
    with pytest.raises(ValueError, match="`src_format` must be left out or NHWC: x is NHWC; got NCHW"):
        files.convert(tmp_path / "z.npy", tmp_path / "w.npy", src_format="NCHW", dst_format="5HD")


def test_groups_are_recorded(tmp_path: Path, counting: Callable) -> None:
    np.save(tmp_path / "x.npy", counting((12, 3, 2, 2), "float16"))
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", src_format="NCHW", dst_format="FRACTAL_Z", groups=4)
    with pytest.raises(ValueError, match="`groups` must be left out or 4"):
        files.convert(tmp_path / "y.npy", tmp_path / "z.npy", groups=2)
    assert files.convert(tmp_path / "y.npy", tmp_path / "z.npy", groups=4).tensors[0].dst_shape == (12, 3, 2, 2)


BAD_RECORDS = {
    "other sizes": ({"shape": [20, 40]}, "does not fit the data"),
    "other type": ({"dtype": "bfloat16"}, "does not fit the data: x is stored as float16, the record says bfloat16"),
    "wider type": ({"dtype": "float32", "c0": 16}, "does not fit the data"),
    "other C0": ({"c0": 8}, "does not fit the data"),
    "unknown format": ({"format": "FRACTAL_XY"}, "no readable record"),
    "plain that is blocked": ({"plain_format": "NC1HWC0"}, "no readable record"),
    "negative size": ({"shape": [20, -1]}, "no readable record"),
    "size that is text": ({"shape": "20,28"}, "no readable record"),
    "C0 that is text": ({"c0": "16"}, "no readable record"),
    "more fields": ({"extra": 1}, "a record has the fields"),
}


@pytest.mark.parametrize("case", BAD_RECORDS)
def test_a_record_that_does_not_fit_is_refused(converted: Path, digest: Callable, case: str) -> None:
    change, match = BAD_RECORDS[case]
    sidecar = converted / "y.npy.json"
    fields = json.loads(sidecar.read_text())
    fields["tensors"]["x"] |= change
    sidecar.write_text(json.dumps(fields))
    before = digest(converted)
    with pytest.raises(ValueError, match=rf"y\.npy\.json .*{match}" if "record" in match else match):
        files.convert(converted / "y.npy", converted / "z.npy")
    assert digest(converted) == before


@pytest.mark.parametrize("text", ["", "{" * 2000, "\udcff", '{"xascend": 1}'])
def test_what_is_no_record_is_refused(converted: Path, text: str) -> None:
    (converted / "y.npy.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"y\.npy\.json holds no readable record"):
        files.convert(converted / "y.npy", converted / "z.npy")


def test_bin_that_does_not_fit_its_record(converted: Path) -> None:
    files.convert(converted / "x.npy", converted / "y.bin", **ND_NZ)
    (converted / "y.bin").write_bytes(bytes(100))
    with pytest.raises(
        ValueError, match=r"the record in .*y\.bin\.json does not fit the data: .*y\.bin has changed since"
    ):
        files.convert(converted / "y.bin", converted / "z.npy")


def test_a_foreign_record_in_safetensors_is_refused(tmp_path: Path) -> None:
    save_file({"w": np.zeros((3, 4), np.float16)}, tmp_path / "x.safetensors", {"xascend": "mine"})
    with pytest.raises(ValueError, match=r"the metadata of .*x\.safetensors holds no readable record"):
        files.inspect(tmp_path / "x.safetensors")


def test_records_go_through_json() -> None:
    record = Record("NC1HWC0", "NHWC", (1, 2, 3, 22), "int8", c0=32)
    text = FileRecord({"ü": record}, None, {"to": "5HD"}).to_json()
    read = FileRecord.from_json(text, "here")
    assert read.tensors == {"ü": record}
    assert read.options == {"to": "5HD"}
    assert record.stored_shape() == (1, 1, 2, 3, 32)
