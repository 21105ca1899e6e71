"""Golden data of Fixpipe, against loops over rows and columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xascend import golden
from xascend.golden import compare_files, make_golden

CONFIGS = Path(__file__).parent
EXAMPLES = Path(golden.__file__).parent / "examples"


def rounded(value: float) -> int:
    """Round half to even, clip to 9 bits."""
    return max(-256, min(255, round(value)))


def test_columns_with_their_own_words(tmp_path: Path) -> None:
    manifest = make_golden("Fixpipe", EXAMPLES / "Fixpipe.toml", tmp_path / "case")
    src = np.fromfile(tmp_path / "case/input/src.bin", np.int32).reshape(2, 32, 16)
    words = np.fromfile(tmp_path / "case/input/quant_tensor.bin", np.uint64)
    golden = np.fromfile(tmp_path / "case/output/golden.bin", np.int8).reshape(24, 40)
    offsets = [*range(31), -31]
    half, signed = 0x3F000000, 1 << 46
    assert words.tolist() == [half | signed | (offset & 0x1FF) << 37 for offset in offsets]
    for row in range(24):
        for n in range(32):
            value = rounded(0.5 * int(src[n // 16, row, n % 16])) + offsets[n]
            assert golden[row, n] == max(-128, min(127, value))
        assert (golden[row, 32:] == 99).all()
    assert manifest.parameters["params"]["quant_pre"] == "VREQ8"
    assert manifest.parameters["config"] == "ROW_MAJOR"
    assert [entry.name for entry in manifest.inputs] == ["src", "dst", "quant_tensor"]


def test_merged_columns_and_their_places(tmp_path: Path) -> None:
    make_golden("fixpipe", CONFIGS / "fixpipe_nz.toml", tmp_path / "case")
    golden = np.fromfile(tmp_path / "case/output/golden.bin", np.uint8).reshape(1, 2, 16, 32)
    for m in range(32):
        for n in range(32):
            value = rounded(0.25 * (512 * (n // 16) + 16 * m + n % 16)) - 1
            assert golden[0, m // 16, m % 16, n] == max(0, min(255, value))
    actual = golden.copy()
    actual[0, 1, 3, 20] += 1
    actual.tofile(tmp_path / "actual.bin")
    report = compare_files(tmp_path / "actual.bin", tmp_path / "case/output/golden.bin")
    assert [(d.index, d.logical) for d in report.first] == [((0, 1, 3, 20), (19, 20))]
    parameters = json.loads((tmp_path / "case/manifest.json").read_text())["parameters"]
    assert parameters["params"]["deq_scalar"] == 0x3E800000 | (-1 & 0x1FF) << 37


def plain_config(**changes: Any) -> dict[str, Any]:
    return {
        "params": {"n_size": 16, "m_size": 16, "src_stride": 16, "dst_stride": 16, **changes.pop("params", {})},
        "src": {"dtype": "float32", "shape": [256], "values": "arange"},
        "dst": {"dtype": "float32", "shape": [16, 16], "values": 0},
        **changes,
    }


@pytest.mark.parametrize("config", ["CFG_ROW_MAJOR", "ROW_MAJOR", 1, None])
def test_spellings_of_the_layout(config: Any, tmp_path: Path) -> None:
    options = {} if config is None else {"config": config}
    manifest = make_golden("Fixpipe", plain_config(**options), tmp_path / "case")
    assert manifest.parameters["config"] == "ROW_MAJOR"
    assert manifest.parameters["params_type"] == "FixpipeParamsV220"


def test_the_950_transposes(tmp_path: Path) -> None:
    config = plain_config(config="CFG_COLUMN_MAJOR", params_type="FixpipeParamsC310", product="ASCEND_950")
    make_golden("Fixpipe", config, tmp_path / "case")
    golden = np.fromfile(tmp_path / "case/output/golden.bin", np.float32).reshape(16, 16)
    for n in range(16):
        for m in range(16):
            assert golden[n, m] == 16 * m + n


def test_slopes_and_saturation(tmp_path: Path) -> None:
    config = plain_config(
        params={"quant_pre": "F322F16", "relu_en": True},
        src={"dtype": "float32", "shape": [256], "values": [-70000.0, 70000.0] * 128},
        dst={"dtype": "float16", "shape": [16, 16], "values": 0},
        relu_tensor={"dtype": "float32", "shape": [16], "values": 2},
        saturate=True,
    )
    make_golden("Fixpipe", config, tmp_path / "case")
    golden = np.fromfile(tmp_path / "case/output/golden.bin", np.float16).reshape(16, 16)
    assert golden.tolist() == [[-65504.0, 65504.0] * 8] * 16
    assert (tmp_path / "case/input/relu_tensor.bin").stat().st_size == 64


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"params_type": []}, ValueError, "`params_type` must be one of FixpipeParamsV220, .*; got \\[\\]"),
        ({"params_type": "V220"}, ValueError, "`params_type` must be one of FixpipeParamsV220, .*; got 'V220'"),
        ({"config": "ND"}, ValueError, "`config` must be one of NZ 0, ROW_MAJOR 1, COLUMN_MAJOR 2; got 'ND'"),
        ({"saturate": 1}, TypeError, "`saturate` must be a bool, got 1"),
        ({"params": {"quant_pre": "DEQ"}}, ValueError, "`quant_pre` must be one of NoQuant 0, .*; got 'DEQ'"),
        ({"params": {"quant_pre": "DEQF16"}}, TypeError, "`src` must be int32 for `quant_pre` DEQF16, got float32"),
        ({"params": {"deq_scalar": {"offset": 1}}}, ValueError, r"\[params\] deq_scalar lacks the key `scale`"),
        ({"params": {"deq_scalar": {"scale": [1, 2]}}}, ValueError, r"\[params\] deq_scalar `scale` must be a number"),
        ({"params": {"deq_scalar": {"scale": 1}}}, ValueError, "`deq_scalar` goes with the scalar"),
        (
            {"params": {"m_sise": 1}},
            ValueError,
            r"\[params\] has the unknown key `m_sise` = 1; .*did you mean `m_size`",
        ),
        (
            {"params": {"quant_pre": "QF322FP8_PRE"}},
            NotImplementedError,
            "config: `quant_pre` QF322FP8_PRE is not impl",
        ),
        ({"product": "ATLAS_TRAINING"}, TypeError, "fixpipe does not support float32 on ATLAS_TRAINING"),
    ],
)
def test_refused(changes: dict, kind: type[Exception], text: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=text):
        make_golden("Fixpipe", plain_config(**changes), tmp_path / "case")
    assert not (tmp_path / "case").exists()
