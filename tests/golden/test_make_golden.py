"""`make_golden`: files, manifest and expected output, held against loops that follow the documents."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xascend
from xascend import golden
from xascend.ascendc import CO2Layout, Product, QuantMode
from xascend.golden import make_golden
from xascend.golden._arrays import make_array

CONFIGS = Path(__file__).parent
EXAMPLES = Path(golden.__file__).parent / "examples"


def load(folder: Path, entry: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(getattr(ml_dtypes, entry["dtype"], entry["dtype"]))
    return np.fromfile(folder / entry["file"], dtype).reshape(entry["shape"])


def made(op: str, config: Any, folder: Path, **options: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the manifest as JSON and the arrays by name."""
    make_golden(op, config, folder, **options)
    manifest = json.loads((folder / "manifest.json").read_text())
    return manifest, {entry["name"]: load(folder, entry) for entry in (*manifest["inputs"], manifest["output"])}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def brcb_config(**changes: Any) -> dict[str, Any]:
    array = {"dtype": "float16", "shape": [128], "values": 0}
    return {"repeat_times": 1, "src": {**array, "shape": [8]}, "dst": array, **changes}


class TestOutputs:
    def test_brcb(self, tmp_path: Path) -> None:
        manifest, arrays = made("Brcb", EXAMPLES / "Brcb.toml", tmp_path / "case")
        expected = np.full((32, 16), -1, np.float16)
        for repeat in range(2):
            for j in range(8):
                expected[16 * repeat + 2 * j] = arrays["src"][8 * repeat + j]
        assert arrays["golden"].tolist() == expected.tolist()
        assert len(set(arrays["src"].tolist())) > 10
        assert (arrays["dst"] == -1).all()
        assert manifest["parameters"] == {
            "repeat_times": 2,
            "product": None,
            "params": {"dst_blk_stride": 2, "dst_rep_stride": 16},
        }

    def test_trans_data_to_5hd(self, tmp_path: Path) -> None:
        manifest, arrays = made("TransDataTo5HD", EXAMPLES / "TransDataTo5HD.toml", tmp_path / "case")
        assert arrays["src"].reshape(-1).tolist() == list(range(512))
        for c in range(16):
            for h in range(2):
                for w in range(16):
                    assert arrays["golden"][0, 0, h, w, c] == arrays["src"][0, c, h, w]
        assert manifest["output"]["storage"] == {
            "format": "NC1HWC0",
            "plain_format": "NCHW",
            "shape": [1, 16, 2, 16],
            "c0": 16,
            "groups": 1,
        }
        assert manifest["parameters"]["product"] == "ATLAS_A2"
        assert manifest["parameters"]["src_list"][15] == 480
        assert manifest["parameters"]["params"] == {
            "dst_high_half": False,
            "src_high_half": False,
            "repeat_times": 2,
            "dst_rep_stride": 16,
            "src_rep_stride": 1,
        }

    def test_transdata_to_nz(self, tmp_path: Path) -> None:
        manifest, arrays = made("Transdata", EXAMPLES / "Transdata.toml", tmp_path / "case")
        expected = np.zeros((2, 1, 16, 32), np.int8)
        for batch in range(2):
            for m in range(3):
                for n in range(4):
                    expected[batch, 0, m, n] = 12 * batch + 4 * m + n
        assert arrays["golden"].tolist() == expected.tolist()
        assert manifest["output"]["storage"]["shape"] == [2, 3, 4]
        assert manifest["output"]["storage"]["c0"] == 32
        assert manifest["parameters"] == {"params": {"transdata_type": "ND_TO_FRACTAL_NZ", "out_crops": [0, 0]}}

    def test_transdata_to_nd(self, tmp_path: Path) -> None:
        manifest, arrays = made("Transdata", CONFIGS / "transdata_nz_to_nd.toml", tmp_path / "case")
        for m in range(10):
            for n in range(20):
                assert arrays["golden"][0, m, n] == arrays["x"][0, n // 16, m, n % 16]
        assert arrays["golden"].shape == (1, 10, 20)
        assert manifest["output"]["dtype"] == "bfloat16"
        assert manifest["output"]["storage"] is None

    @pytest.mark.parametrize("op", ["Brcb", "brcb", "BRCB"])
    def test_any_case(self, op: str, tmp_path: Path) -> None:
        assert make_golden(op, brcb_config(), tmp_path / "case").op == "Brcb"

    @pytest.mark.parametrize("op", ["TransDataTo5HD", "trans_data_to_5hd", "transdatato5hd", "TRANS_DATA_TO_5HD"])
    def test_snake_case(self, op: str, tmp_path: Path) -> None:
        assert make_golden(op, EXAMPLES / "TransDataTo5HD.toml", tmp_path / "case").op == "TransDataTo5HD"

    def test_cpp_spelling(self, tmp_path: Path) -> None:
        snake = brcb_config(params={"dst_blk_stride": 2, "dst_rep_stride": 3}, dst=None)
        snake["dst"] = {"dtype": "float16", "shape": [512], "values": 1}
        cpp = dict(snake, params={"dstBlkStride": 2, "dstRepStride": 3})
        cpp["repeatTimes"] = cpp.pop("repeat_times")
        brcb = dict(cpp)
        brcb["repeatTime"] = brcb.pop("repeatTimes")
        for i, config in enumerate((snake, cpp, brcb)):
            make_golden("Brcb", config, tmp_path / str(i))
        assert files(tmp_path / "0") == files(tmp_path / "1") == files(tmp_path / "2")

    def test_mappings_may_hold_what_numpy_makes(self, tmp_path: Path) -> None:
        array = {"dtype": "int32", "shape": [2, 16, 16], "values": list(range(512))}
        params = {"n_size": 32, "m_size": 16, "src_stride": 16, "dst_stride": 32, "relu_en": True, "quant_pre": "VREQ8"}
        dst = {"dtype": "int8", "shape": [16, 32], "values": 0}
        words = {"dtype": "uint64", "shape": [32], "values": {"scale": [0.5] * 32, "offset": -1}}
        plain = {"params": params, "saturate": True, "config": "ROW_MAJOR", "seed": 3, "product": "ATLAS_A2"}
        plain |= {"src": array, "dst": dst, "quant_tensor": words}
        numpy = {
            "params": {
                **{name: np.int64(params[name]) for name in ("n_size", "m_size", "src_stride", "dst_stride")},
                "relu_en": np.True_,
                "quant_pre": QuantMode.VREQ8,
            },
            "saturate": np.True_,
            "config": CO2Layout.ROW_MAJOR,
            "seed": np.uint8(3),
            "product": Product.ATLAS_A2,
            "src": array | {"shape": (2, np.int32(16), 16), "values": np.arange(512)},
            "dst": dst | {"shape": np.array([16, 32]), "values": np.int64(0)},
            "quant_tensor": words | {"values": {"scale": np.full(32, 0.5), "offset": np.int8(-1)}},
        }
        for name, config in (("plain", plain), ("numpy", numpy)):
            make_golden("Fixpipe", config, tmp_path / name)
        assert files(tmp_path / "plain") == files(tmp_path / "numpy")

    def test_no_quantisation_by_its_member(self, tmp_path: Path) -> None:
        array = {"dtype": "float32", "shape": [256], "values": "arange"}
        params = {"n_size": 16, "m_size": 16, "src_stride": 16, "dst_stride": 16, "quant_pre": QuantMode.NoQuant}
        manifest = make_golden("Fixpipe", {"params": params, "src": array, "dst": array}, tmp_path / "case")
        assert manifest.parameters["params"]["quant_pre"] == "NoQuant"


class TestFiles:
    def test_the_manifest_tells_what_lies_there(self, tmp_path: Path) -> None:
        manifest, arrays = made("Brcb", EXAMPLES / "Brcb.toml", tmp_path / "case")
        assert set(files(tmp_path / "case")) == {
            "input/dst.bin",
            "input/src.bin",
            "manifest.json",
            "output/golden.bin",
        }
        assert manifest["xascend"] == xascend.__version__
        assert (manifest["op"], manifest["seed"]) == ("Brcb", 7)
        for entry in (*manifest["inputs"], manifest["output"]):
            data = (tmp_path / "case" / entry["file"]).read_bytes()
            assert entry["nbytes"] == len(data) == arrays[entry["name"]].nbytes
            assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        assert [path.name for path in tmp_path.iterdir()] == ["case"]

    def test_elements_are_little_endian(self, tmp_path: Path) -> None:
        config = brcb_config(src={"dtype": "int16", "shape": [8], "values": 0x0102})
        config["dst"] = {"dtype": "int16", "shape": [128], "values": 0}
        make_golden("Brcb", config, tmp_path / "case")
        assert (tmp_path / "case/input/src.bin").read_bytes() == b"\x02\x01" * 8

    @pytest.mark.parametrize(
        ("op", "config"), [("brcb", EXAMPLES / "Brcb.toml"), ("transdata", CONFIGS / "transdata_nz_to_nd.toml")]
    )
    def test_the_same_configuration_makes_the_same_bytes(self, op: str, config: Path, tmp_path: Path) -> None:
        for folder in ("a", "b"):
            make_golden(op, config, tmp_path / folder)
        assert files(tmp_path / "a") == files(tmp_path / "b")

    def test_bytes_that_must_never_change(self, tmp_path: Path) -> None:
        manifest = make_golden("Brcb", EXAMPLES / "Brcb.toml", tmp_path / "case")
        assert {entry.name: entry.sha256[:16] for entry in manifest.inputs} == {
            "src": "a1c03647d01aeb2b",
            "dst": hashlib.sha256(b"\x00\xbc" * 512).hexdigest()[:16],
        }

    def test_the_manifest_tells_how_inputs_were_made(self, tmp_path: Path) -> None:
        manifest, arrays = made("Brcb", EXAMPLES / "Brcb.toml", tmp_path / "case")
        assert manifest["values"] == {"src": {"values": "random", "low": -4, "high": 4}, "dst": {"values": -1}}
        for entry in manifest["inputs"]:
            table = {"dtype": entry["dtype"], "shape": entry["shape"], **manifest["values"][entry["name"]]}
            again = make_array(entry["name"], table, manifest["seed"])
            assert again.tobytes() == arrays[entry["name"]].tobytes()

    def test_manifests_are_strict_json(self, tmp_path: Path) -> None:
        values = [math.nan, math.inf, -math.inf, 0, 1, 2, 3, -0.0]
        config = brcb_config(src={"dtype": "float16", "shape": [8], "values": values})
        make_golden("Brcb", config, tmp_path / "case")

        def fail(constant: str) -> None:
            raise AssertionError(constant)

        text = (tmp_path / "case/manifest.json").read_text()
        told = json.loads(text, parse_constant=fail)["values"]["src"]["values"]
        assert told == ["nan", "inf", "-inf", 0, 1, 2, 3, -0.0]

    def test_the_seed_changes_random_values_alone(self, tmp_path: Path) -> None:
        random = {"dtype": "float32", "shape": [8], "values": "random", "low": 0, "high": 1}
        config = brcb_config(src=random, dst={"dtype": "float32", "shape": [64], "values": "arange"})
        one, two = (made("Brcb", {**config, "seed": seed}, tmp_path / str(seed))[1] for seed in (1, 2))
        assert (one["src"] != two["src"]).all()
        assert (one["dst"] == two["dst"]).all()

    def test_parents_are_made(self, tmp_path: Path) -> None:
        make_golden("Brcb", brcb_config(), tmp_path / "a" / "b" / "case")
        assert (tmp_path / "a/b/case/manifest.json").is_file()


@pytest.mark.parametrize("op", ["TransDataTo5HD", "Brcb", "Transdata", "Fixpipe"])
def test_examples_are_configurations(op: str, tmp_path: Path) -> None:
    (tmp_path / "example.toml").write_text(golden.example_config(op.lower()), encoding="utf-8")
    manifest = make_golden(op, tmp_path / "example.toml", tmp_path / "case")
    assert manifest.op == op
    assert golden.compare_files(tmp_path / "case/output/golden.bin", tmp_path / "case/output/golden.bin")


def test_example_of_another_operator() -> None:
    with pytest.raises(ValueError, match=r"`op` must be one of TransDataTo5HD, Brcb, .*; got 'Conv'"):
        golden.example_config("Conv")


class TestOverwrite:
    def test_an_existing_folder_is_refused(self, tmp_path: Path) -> None:
        make_golden("Brcb", brcb_config(), tmp_path / "case")
        before = files(tmp_path / "case")
        with pytest.raises(ValueError, match=r"`out` .*case exists; choose another folder, or overwrite it"):
            make_golden("Brcb", brcb_config(seed=1), tmp_path / "case")
        assert files(tmp_path / "case") == before

    def test_golden_data_are_replaced(self, tmp_path: Path) -> None:
        make_golden("Brcb", brcb_config(), tmp_path / "case")
        make_golden("Transdata", EXAMPLES / "Transdata.toml", tmp_path / "case", overwrite=True)
        assert set(files(tmp_path / "case")) == {"input/x.bin", "manifest.json", "output/golden.bin"}
        assert [path.name for path in tmp_path.iterdir()] == ["case"]

    @pytest.mark.parametrize("mine", ["actual.bin", "output/actual.bin", "input/notes/a.txt"])
    def test_files_of_others_are_kept(self, tmp_path: Path, mine: str) -> None:
        make_golden("Brcb", brcb_config(), tmp_path / "case")
        (tmp_path / "case" / mine).parent.mkdir(exist_ok=True)
        (tmp_path / "case" / mine).write_text("mine")
        before = files(tmp_path)
        with pytest.raises(ValueError, match=r"`out` .*case holds .*, which its manifest.json does not list"):
            make_golden("Brcb", brcb_config(seed=1), tmp_path / "case", overwrite=True)
        assert files(tmp_path) == before

    def test_a_folder_that_came_meanwhile_is_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write = Path.write_bytes

        def write_late(path: Path, data: bytes) -> int:
            (tmp_path / "case").mkdir(exist_ok=True)
            (tmp_path / "case/thesis.txt").write_text("mine")
            return write(path, data)

        monkeypatch.setattr(Path, "write_bytes", write_late)
        with pytest.raises(ValueError, match=r"`out` .*case exists"):
            make_golden("Brcb", brcb_config(), tmp_path / "case")
        assert files(tmp_path) == {"case/thesis.txt": b"mine"}

    def test_the_configuration_is_kept(self, tmp_path: Path) -> None:
        make_golden("Brcb", brcb_config(), tmp_path / "case")
        config = tmp_path / "case/input/src.bin"  # a name that the manifest lists
        config.write_bytes((EXAMPLES / "Brcb.toml").read_bytes())
        before = files(tmp_path)
        with pytest.raises(ValueError, match=r"`config` .*src.bin must not lie inside `out` .*case"):
            make_golden("Brcb", config, tmp_path / "case", overwrite=True)
        assert files(tmp_path) == before

    def test_an_empty_folder_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "case").mkdir()
        make_golden("Brcb", brcb_config(), tmp_path / "case", overwrite=True)
        assert (tmp_path / "case/manifest.json").is_file()

    @pytest.mark.parametrize("manifest", [None, "{}", "no JSON", '{"files": []}'])
    def test_other_folders_are_kept(self, tmp_path: Path, manifest: str | None) -> None:
        (tmp_path / "case").mkdir()
        (tmp_path / "case/thesis.txt").write_text("mine")
        if manifest is not None:
            (tmp_path / "case/manifest.json").write_text(manifest)
        before = files(tmp_path / "case")
        with pytest.raises(ValueError, match="holds no golden data"):
            make_golden("Brcb", brcb_config(), tmp_path / "case", overwrite=True)
        assert files(tmp_path / "case") == before

    def test_a_file_is_kept(self, tmp_path: Path) -> None:
        (tmp_path / "case").write_text("mine")
        with pytest.raises(ValueError, match="holds no golden data"):
            make_golden("Brcb", brcb_config(), tmp_path / "case", overwrite=True)
        assert (tmp_path / "case").read_text() == "mine"

    def test_a_link_is_written_through(self, tmp_path: Path) -> None:
        make_golden("Brcb", brcb_config(), tmp_path / "real")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        make_golden("Transdata", EXAMPLES / "Transdata.toml", tmp_path / "link", overwrite=True)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real/input/x.bin").is_file()

    @pytest.mark.parametrize("existing", [False, True])
    def test_a_failure_leaves_everything_as_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bool
    ) -> None:
        if existing:
            make_golden("Brcb", brcb_config(), tmp_path / "case")
        before = files(tmp_path)
        write = Path.write_bytes

        def fail(path: Path, data: bytes) -> int:
            if path.name == "golden.bin":
                raise OSError(28, "No space left on device")
            return write(path, data)

        monkeypatch.setattr(Path, "write_bytes", fail)
        with pytest.raises(OSError, match="No space left"):
            make_golden("Brcb", brcb_config(seed=1), tmp_path / "case", overwrite=True)
        assert files(tmp_path) == before
        assert (tmp_path / "case").exists() == existing

    def test_a_failed_exchange_brings_the_old_folder_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_golden("Brcb", brcb_config(), tmp_path / "case")
        before = files(tmp_path)
        rename = Path.rename

        def fail(path: Path, target: Path) -> Path:
            if path.name.endswith("-new"):
                raise PermissionError(13, "Permission denied")
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", fail)
        with pytest.raises(PermissionError):
            make_golden("Brcb", brcb_config(seed=1), tmp_path / "case", overwrite=True)
        assert files(tmp_path) == before


class TestErrors:
    def refused(
        self, tmp_path: Path, config: Any, text: str, kind: type[Exception] = ValueError, op: str = "Brcb"
    ) -> None:
        with pytest.raises(kind, match=text):
            make_golden(op, config, tmp_path / "case")
        assert not list(tmp_path.glob("case*"))

    def test_deep_nesting(self, tmp_path: Path) -> None:
        (tmp_path / "deep.toml").write_text("a = " + "[" * 10_000 + "]" * 10_000)
        self.refused(tmp_path, tmp_path / "deep.toml", "deep.toml is nested too deeply to be read")

    def test_operator(self, tmp_path: Path) -> None:
        self.refused(tmp_path, {}, r"`op` must be one of TransDataTo5HD, Brcb, Transdata.*; got 'Brc'", op="Brc")

    def test_no_file(self, tmp_path: Path) -> None:
        self.refused(tmp_path, tmp_path / "none.toml", "No such file", FileNotFoundError)

    def test_no_toml(self, tmp_path: Path) -> None:
        for text in (b"repeat_times = ", b"\xff\xfe", b"a = 1\na = 2"):
            (tmp_path / "bad.toml").write_bytes(text)
            self.refused(tmp_path, tmp_path / "bad.toml", r"bad\.toml is no TOML file: ")

    def test_errors_name_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "bad.toml").write_text("repeat_times = 1")
        self.refused(tmp_path, tmp_path / "bad.toml", r"bad\.toml: the configuration lacks the key `src`")

    @pytest.mark.parametrize(
        ("changes", "text"),
        [
            ({"repeat_tims": 3}, "has the unknown key `repeat_tims` = 3; accepted are .*did you mean `repeat_times`"),
            ({"zzz": 3}, "unknown key `zzz` = 3; accepted are repeat_times, src, dst, seed, params, product, output$"),
            ({"repeatTimes": 3}, "has the key `repeat_times` twice, the second time as `repeatTimes` = 3"),
            ({"params": {"dst_blk": 1}}, r"\[params\] has the unknown key `dst_blk` = 1; accepted are dst_blk_stride"),
            ({"params": {"dstBlkStride": 1, "dst_blk_stride": 1}}, r"\[params\] has the key `dst_blk_stride` twice"),
            ({"params": 5}, r"\[params\] must be a table, got 5"),
            ({"params": {"dst_blk_stride": 70000}}, r"`dst_blk_stride` must lie in \[0, 65535\], got 70000"),
            ({"repeat_times": 256}, r"`repeat_times` must lie in \[0, 255\], got 256"),
            ({"seed": -1}, "`seed` must be an integer of at least 0, got -1"),
            ({"product": "A2"}, "`product` must be one of ASCEND_950, .*; got 'A2'"),
            ({"src": 5}, r"\[src\] must be a table, got 5"),
            ({"src": {"dtype": "float16", "shape": [1] * 68, "values": 0}}, r"\[src\] `shape` must have at most 64"),
            ({"src": {"dtype": "float16", "shape": [8]}}, r"\[src\] lacks the key `values`; it must have dtype,"),
            ({"src": {}}, r"\[src\] lacks the key `dtype`; .*, got none"),
            ({"src": {"dtype": "float16", "shape": [7], "values": 0}}, "`src` must have at least 8"),
            ({"output": {"format": "NZ"}}, r"\[output\] lacks the key `shape`"),
            ({"output": {"format": "NY", "shape": [1]}}, "`format` 'NY' is not a known format"),
            ({"output": {"format": "NZ", "shape": [16, 16]}}, r"`shape` \(16, 16\) in FRACTAL_NZ takes"),
        ],
    )  # fmt: skip
    def test_values(self, tmp_path: Path, changes: dict, text: str) -> None:
        self.refused(tmp_path, brcb_config(**changes), f"^config: .*{text}")

    @pytest.mark.parametrize(
        ("changes", "text"),
        [
            ({"repeat_times": 1.5}, r"`repeat_times` must be an int in \[0, 255\], got 1.5"),
            ({"params": {"dst_blk_stride": "1"}}, "`dst_blk_stride` must be an int"),
            ({"src": {"dtype": "float17", "shape": [8], "values": 0}}, "`dtype` float17 is not supported"),
            ({"src": {"dtype": "bfloat16", "shape": [8], "values": 0}}, "`src` has dtype bfloat16 but `dst`"),
            ({"product": "KIRIN_9030", "src": {"dtype": "int16", "shape": [8], "values": 0},
              "dst": {"dtype": "int16", "shape": [128], "values": 0}}, "brcb does not support int16 on KIRIN_9030"),
        ],
    )  # fmt: skip
    def test_types(self, tmp_path: Path, changes: dict, text: str) -> None:
        self.refused(tmp_path, brcb_config(**changes), f"^config: .*{text}", TypeError)

    def test_keys_that_are_no_text(self, tmp_path: Path) -> None:
        self.refused(tmp_path, brcb_config(params={5: 1}), "`config` must have keys of text, got 5", TypeError)

    def test_no_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any) -> None:
            raise MemoryError("Unable to allocate 2.00 TiB")

        monkeypatch.setattr(np, "full", fail)
        text = r"^config: \[src\] `shape` \(8,\) takes more memory than there is"
        self.refused(tmp_path, brcb_config(), text, MemoryError)

    def test_missing_keys(self, tmp_path: Path) -> None:
        for key in ("repeat_times", "src", "dst"):
            config = brcb_config()
            del config[key]
            self.refused(
                tmp_path, config, f"the configuration lacks the key `{key}`; it must have repeat_times, src, dst"
            )

    @pytest.mark.parametrize(
        ("params", "text"),
        [
            ({}, r"`transdata_type` must be FRACTAL_NZ_TO_ND \(1\) or ND_TO_FRACTAL_NZ \(2\)"),
            ({"transdata_type": "NZ"}, "`transdata_type` must be one of UNDEFINED 0, .*; got 'NZ'"),
            ({"transdata_type": 3}, "`transdata_type` must be one of .*; got 3"),
            ({"transdata_type": True}, "`transdata_type` must be one of .*; got True"),
            ({"transdata_type": 1, "out_crops": [3]}, "`out_crops` must have 2 sizes"),
        ],
    )
    def test_transdata(self, tmp_path: Path, params: dict, text: str) -> None:
        config = {"params": params, "x": {"dtype": "float16", "shape": [1, 1, 16, 16], "values": 0}}
        self.refused(tmp_path, config, text, op="Transdata")

    @pytest.mark.parametrize(
        ("name", "starts", "text"),
        [
            ("src_list", [0] * 15, "`src_list` must have 16 entries, got 15"),
            ("src_list", [0] * 15 + [512], r"`src_list\[15\]` must lie in the 512 elements of its buffer, got 512"),
            ("dst_list", [0] * 15 + [-1], "`dst_list` must be an integer of at least 0, got -1"),
            ("dst_list", 5, "`dst_list` must be a sequence of integers, got 5"),
            ("dst_list", [8, *range(16, 256, 16)], r"`dst_list\[0\]` must start at a multiple of 32 bytes"),
        ],
    )
    def test_address_lists(self, tmp_path: Path, name: str, starts: Any, text: str) -> None:
        array = {"dtype": "float16", "shape": [512], "values": 0}
        config = {"src_list": list(range(0, 256, 16)), "dst_list": list(range(0, 256, 16)), "src": array, "dst": array}
        self.refused(tmp_path, {**config, name: starts}, text, op="TransDataTo5HD")
