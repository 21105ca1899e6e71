"""`compare_files`: results in files against golden files, from manifests, records, headers and options."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xascend as xa
import xascend.golden
from xascend import files
from xascend.golden import compare_files, make_golden

CONFIGS = Path(__file__).parent
EXAMPLES = Path(xa.golden.__file__).parent / "examples"


@pytest.fixture
def nz_case(tmp_path: Path) -> Path:
    """Golden data of Transdata: int8 ND (2, 3, 4) in FRACTAL_NZ (2, 1, 16, 32)."""
    make_golden("Transdata", EXAMPLES / "Transdata.toml", tmp_path / "case")
    return tmp_path / "case"


def write(path: Path, x: np.ndarray) -> Path:
    path.write_bytes(x.tobytes())
    return path


class TestManifest:
    @pytest.mark.parametrize(
        ("op", "config"),
        [
            ("Brcb", EXAMPLES / "Brcb.toml"),
            ("TransDataTo5HD", EXAMPLES / "TransDataTo5HD.toml"),
            ("Transdata", EXAMPLES / "Transdata.toml"),
            ("Transdata", CONFIGS / "transdata_nz_to_nd.toml"),
        ],
    )
    def test_what_was_made_equals_itself(self, op: str, config: Path, tmp_path: Path) -> None:
        manifest = make_golden(op, config, tmp_path / "case")
        golden = tmp_path / "case/output/golden.bin"
        actual = tmp_path / "actual.bin"
        actual.write_bytes(golden.read_bytes())
        report = compare_files(actual, golden)
        assert report.equal
        assert (report.dtype, report.shape) == (manifest.output.dtype, manifest.output.shape)
        assert report.size == math.prod(report.shape)
        for entry in manifest.inputs:
            assert compare_files(tmp_path / "case" / entry.file, tmp_path / "case" / entry.file).dtype == entry.dtype

    def test_places_in_both_coordinates(self, nz_case: Path) -> None:
        golden = nz_case / "output/golden.bin"
        actual = np.fromfile(golden, np.int8).reshape(2, 1, 16, 32)
        actual[1, 0, 2, 3] = -128
        actual[1, 0, 3, 0] = 1
        report = compare_files(write(nz_case / "output/actual.bin", actual), golden)
        assert (report.different, report.different_in_padding) == (2, 1)
        assert [(d.index, d.logical, d.actual, d.expected) for d in report.first] == [
            ((1, 0, 2, 3), (1, 2, 3), -128, 23),
            ((1, 0, 3, 0), None, 1, 0),
        ]

    def test_the_output_table(self, tmp_path: Path) -> None:
        make_golden("TransDataTo5HD", EXAMPLES / "TransDataTo5HD.toml", tmp_path / "case")
        golden = tmp_path / "case/output/golden.bin"
        actual = np.fromfile(golden, np.float16).reshape(1, 1, 2, 16, 16)
        actual[0, 0, 1, 5, 9] = np.nan
        report = compare_files(write(tmp_path / "actual.bin", actual), golden)
        assert [(d.index, d.logical, d.expected) for d in report.first] == [((0, 0, 1, 5, 9), (0, 9, 1, 5), 309.0)]
        assert report.unpaired_nans == 1

    def test_a_result_in_another_kind_of_file(self, nz_case: Path) -> None:
        golden = nz_case / "output/golden.bin"
        np.save(nz_case / "actual.npy", np.fromfile(golden, np.int8).reshape(2, 1, 16, 32))
        assert compare_files(nz_case / "actual.npy", golden)
        np.save(nz_case / "flat.npy", np.fromfile(golden, np.int8))
        assert "shape (1024,), expected (2, 1, 16, 32)" in compare_files(nz_case / "flat.npy", golden).reason
        np.save(nz_case / "wide.npy", np.fromfile(golden, np.int8).astype(np.int16).reshape(2, 1, 16, 32))
        assert compare_files(nz_case / "wide.npy", golden).reason == "`actual` is int16, expected int8"

    def test_a_golden_file_that_has_changed_is_refused(self, nz_case: Path) -> None:
        golden = nz_case / "output/golden.bin"
        changed = np.fromfile(golden, np.int8)
        changed[5] ^= 1
        write(golden, changed)
        with pytest.raises(ValueError, match=r"golden.bin is not the file that its manifest lists: SHA-256 must be"):
            compare_files(golden, golden)

    @pytest.mark.parametrize("options", [{}, {"dtype": "int8", "shape": (4,)}])
    @pytest.mark.parametrize("missing", ["actual", "golden"])
    def test_missing_files_are_told_as_such(self, tmp_path: Path, missing: str, options: dict) -> None:
        paths = {name: write(tmp_path / f"{name}.bin", np.zeros(4, np.int8)) for name in ("actual", "golden")}
        if missing == "actual":
            options = {"dtype": "int8", "shape": (4,)}
        paths[missing].unlink()
        with pytest.raises(FileNotFoundError, match=f"{missing}.bin"):
            compare_files(paths["actual"], paths["golden"], **options)

    def test_options_may_repeat_the_manifest(self, nz_case: Path) -> None:
        golden = nz_case / "output/golden.bin"
        options = {"dtype": "int8_t", "shape": (2, 3, 4), "format": "NZ", "plain_format": 2, "c0": 32, "groups": 1}
        assert compare_files(golden, golden, **options)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"dtype": "uint8"}, "`dtype` must be left out or int8, which .*golden.bin holds; got uint8"),
            (
                {"shape": (2, 1, 16, 32)},
                r"`shape` must be left out or \(2, 3, 4\), which .* is recorded with",
            ),
            ({"format": "ZZ"}, "`format` must be left out or FRACTAL_NZ, which .*; got FRACTAL_ZZ"),
            ({"plain_format": "NCHW"}, "`plain_format` must be left out or ND"),
            ({"c0": 16}, "`c0` must be left out or 32"),
            ({"groups": 2}, "`groups` must be left out or 1"),
        ],
    )
    def test_options_must_not_contradict_it(self, nz_case: Path, options: dict, text: str) -> None:
        golden = nz_case / "output/golden.bin"
        with pytest.raises(ValueError, match=text):
            compare_files(golden, golden, **options)

    def test_a_format_may_be_added(self, tmp_path: Path) -> None:
        array = {"dtype": "float16", "shape": [16, 16], "values": 0}
        config = {"repeat_times": 2, "src": {**array, "shape": [16], "values": "arange"}, "dst": array}
        make_golden("Brcb", config, tmp_path / "case")
        golden = tmp_path / "case/output/golden.bin"
        actual = write(tmp_path / "actual.bin", np.fromfile(golden, np.float16) + np.float16(1))
        report = compare_files(actual, golden, format="NZ", shape=(16, 12), max_shown=20)
        assert report.different_in_padding == 64
        assert report.first[11].logical == (0, 11)
        assert report.first[12].logical is None

    def test_foreign_manifests_are_ignored(self, tmp_path: Path) -> None:
        golden = write(tmp_path / "golden.bin", np.zeros(4, np.int8))
        for text in (
            "[]",
            "{}",
            "not JSON",
            '{"files": {}}',
            '{"xascend": "0", "op": "Brcb"}',
            "[" * 100_000 + "]" * 100_000,
            "1" * 10_000,
            "\udcff".encode("utf-8", "surrogateescape").decode("latin1"),
        ):
            (tmp_path / "manifest.json").write_text(text, encoding="latin1")
            assert compare_files(golden, golden, dtype="int8", shape=(4,))
        (tmp_path / "manifest.json").unlink()
        (tmp_path / "manifest.json").mkdir()
        assert compare_files(golden, golden, dtype="int8", shape=(4,))

    def test_a_damaged_manifest_of_other_files_is_ignored(self, nz_case: Path) -> None:
        path = nz_case / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "seed": -1}))
        mine = write(nz_case / "output/mine.bin", np.zeros(4, np.int8))
        assert compare_files(mine, mine, dtype="int8", shape=(4,))

    @pytest.mark.parametrize(
        "change",
        [
            {"output": None},
            {"inputs": 5},
            {"seed": -1},
            {"output": {"name": "golden", "file": "output/golden.bin"}},
        ],
    )
    def test_damaged_manifests_are_told(self, nz_case: Path, change: dict) -> None:
        path = nz_case / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
        with pytest.raises(ValueError, match=r"manifest\.json is a damaged manifest: "):
            compare_files(nz_case / "output/golden.bin", nz_case / "output/golden.bin")


class TestRawFiles:
    def test_type_and_shape(self, tmp_path: Path) -> None:
        e = np.arange(6, dtype=np.int8) - 3
        a = e.copy()
        a[4] = -128
        golden, actual = write(tmp_path / "g.bin", e), write(tmp_path / "a.out", a)
        report = compare_files(actual, golden, dtype="int8", shape=(2, 3))
        assert [(d.index, d.actual, d.expected) for d in report.first] == [((1, 1), -128, 1)]
        assert report.largest_absolute == 129

    def test_the_storage_of_a_tensor(self, tmp_path: Path) -> None:
        x = np.arange(560, dtype=np.float16).reshape(20, 28)
        e = xa.nd_to_nz(x, c0=8)
        a = e.copy()
        a[3, 1, 3, 3] = 7
        golden, actual = write(tmp_path / "g.bin", e), write(tmp_path / "a.bin", a)
        options: dict[str, Any] = {"dtype": "float16", "shape": (20, 28), "format": "NZ", "c0": 8}
        report = compare_files(actual, golden, **options)
        assert (report.first[0].index, report.first[0].logical) == ((3, 1, 3, 3), (19, 27))

    def test_a_plain_format_names_the_axes(self, tmp_path: Path) -> None:
        x = np.arange(2 * 3 * 4 * 20, dtype=np.float32).reshape(2, 3, 4, 20)
        e = xa.nhwc_to_nc1hwc0(x)
        golden, actual = write(tmp_path / "g.bin", e), write(tmp_path / "a.bin", e + 1)
        options: dict[str, Any] = {"dtype": "float32", "shape": x.shape, "format": 3, "plain_format": "NHWC"}
        report = compare_files(actual, golden, max_shown=10**6, **options)
        assert all(x[d.logical] == d.expected for d in report.first if not d.in_padding)
        assert report.different - report.different_in_padding == x.size

    def test_tolerances_are_passed_on(self, tmp_path: Path) -> None:
        golden = write(tmp_path / "g.bin", np.ones(4, np.float32))
        actual = write(tmp_path / "a.bin", np.full(4, np.nextafter(np.float32(1), np.float32(2))))
        options: dict[str, Any] = {"dtype": "float32", "shape": (4,)}
        assert not compare_files(actual, golden, **options)
        for tolerance in ({"ulp": 1}, {"atol": 1e-6}, {"rtol": 1e-6}):
            assert compare_files(actual, golden, **options, **tolerance).within_tolerance == 4

    def test_a_type_alone_tells_of_one_axis(self, tmp_path: Path) -> None:
        e = np.arange(6, dtype=np.float16)
        golden, actual = write(tmp_path / "g.bin", e), write(tmp_path / "a.bin", e + np.float16(1))
        report = compare_files(actual, golden, dtype="float16")
        assert (report.shape, report.different) == ((6,), 6)
        assert compare_files(golden, golden, dtype="float16")
        assert compare_files(golden, golden, dtype="int8").shape == (12,)
        with pytest.raises(ValueError, match=r"\(6,\) of float16, as in .*g\.bin, take 12 bytes, .*b\.bin has 10"):
            compare_files(write(tmp_path / "b.bin", e[:5]), golden, dtype="float16")

    @pytest.mark.parametrize("dtype", [None, "float16", "<f2"])
    def test_the_result_tells_of_a_raw_golden_file(self, tmp_path: Path, dtype: str | None) -> None:
        x = np.arange(560, dtype=np.float16).reshape(20, 28)
        e = xa.nd_to_nz(x)
        golden = write(tmp_path / "g.bin", e)
        a = e.copy()
        a[1, 1, 3, 11] = -1
        np.save(tmp_path / "a.npy", a)
        report = compare_files(tmp_path / "a.npy", golden, dtype=dtype)
        assert [(d.index, d.actual, d.expected) for d in report.first] == [((1, 1, 3, 11), -1, 559)]
        for shape in (None, (20, 28)):
            report = compare_files(tmp_path / "a.npy", golden, dtype=dtype, format="NZ", shape=shape)
            assert [d.logical for d in report.first] == [(19, 27)]
        golden.write_bytes(golden.read_bytes()[:-2])
        text = r"\(2, 2, 16, 16\) of float16, as in .*a\.npy, take 2048 bytes, .*g\.bin has 2046"
        with pytest.raises(ValueError, match=text):
            compare_files(tmp_path / "a.npy", golden, dtype=dtype)

    def test_the_result_tells_another_type(self, tmp_path: Path) -> None:
        golden = write(tmp_path / "g.bin", np.arange(6, dtype=np.float32))
        np.save(tmp_path / "a.npy", np.arange(6, dtype=np.float16).reshape(2, 3))
        report = compare_files(tmp_path / "a.npy", golden, dtype="float32")
        assert report.reason == "`actual` is float16, expected float32"

    def test_the_manifest_of_the_result_tells(self, nz_case: Path, tmp_path: Path) -> None:
        golden = write(tmp_path / "g.bin", np.fromfile(nz_case / "output/golden.bin", np.int8))
        assert compare_files(nz_case / "output/golden.bin", golden).shape == (2, 1, 16, 32)

    def test_an_untyped_result_tells_sizes(self, tmp_path: Path) -> None:
        x = np.arange(6, dtype=np.float32).astype(ml_dtypes.bfloat16).reshape(2, 3)
        golden = write(tmp_path / "g.bin", x)
        np.save(tmp_path / "a.npy", x)
        assert compare_files(tmp_path / "a.npy", golden, dtype="bfloat16").shape == (2, 3)
        with pytest.raises(ValueError, match=r"g\.bin does not tell its type: pass `dtype` \(--dtype\)$"):
            compare_files(tmp_path / "a.npy", golden)

    def test_big_endian(self, tmp_path: Path) -> None:
        golden = write(tmp_path / "g.bin", np.arange(4, dtype=">i4"))
        np.save(tmp_path / "a.npy", np.arange(4, dtype=np.int32))
        assert compare_files(tmp_path / "a.npy", golden, dtype=">i4", shape=(4,))

    def test_an_order_that_the_file_has_not_is_refused(self, tmp_path: Path) -> None:
        np.save(tmp_path / "g.npy", np.arange(4, dtype=">f4"))
        for dtype in (None, "float32", ">f4", np.dtype(">f4"), np.float32):
            assert compare_files(tmp_path / "g.npy", tmp_path / "g.npy", dtype=dtype)
        with pytest.raises(ValueError, match=r"`dtype` must be left out or >f4, which .*g\.npy holds; got <f4"):
            compare_files(tmp_path / "g.npy", tmp_path / "g.npy", dtype="<f4")
        with pytest.raises(ValueError, match=r"`dtype` must be left out or >f4, which .*g\.npy holds; got >f8"):
            compare_files(tmp_path / "g.npy", tmp_path / "g.npy", dtype=">f8")

    def test_empty(self, tmp_path: Path) -> None:
        golden = write(tmp_path / "g.bin", np.zeros(0, np.float16))
        assert compare_files(golden, golden, dtype="float16", shape=(0, 5)).size == 0


class TestOtherFiles:
    def test_records_of_conversions(self, tmp_path: Path) -> None:
        x = np.arange(560, dtype=np.float16).reshape(20, 28)
        np.save(tmp_path / "x.npy", x)
        for name in ("golden.npy", "golden.bin"):
            files.convert(tmp_path / "x.npy", tmp_path / name, src_format="ND", dst_format="NZ")
            y = xa.nd_to_nz(x)
            y[0, 0, 2, 5] = 0
            np.save(tmp_path / "actual.npy", y)
            report = compare_files(tmp_path / "actual.npy", tmp_path / name)
            assert [(d.index, d.logical) for d in report.first] == [((0, 0, 2, 5), (2, 5))]
            with pytest.raises(ValueError, match=r"`shape` must be left out or \(20, 28\)"):
                compare_files(tmp_path / "actual.npy", tmp_path / name, shape=(20, 27))

    def test_types_that_numpy_does_not_name(self, tmp_path: Path) -> None:
        x = np.array([1, 2, np.nan, -0.0]).astype(ml_dtypes.bfloat16)
        np.save(tmp_path / "x.npy", x)
        report = compare_files(tmp_path / "x.npy", tmp_path / "x.npy", dtype="bfloat16")
        assert (report.equal, report.dtype) == (True, "bfloat16")
        with pytest.raises(ValueError, match=r"x\.npy holds raw bytes V2 without a type: pass `dtype` \(--dtype\)"):
            compare_files(tmp_path / "x.npy", tmp_path / "x.npy")

    def test_archives_of_one_tensor(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "one.npz", x=np.arange(4))
        assert compare_files(tmp_path / "one.npz", tmp_path / "one.npz")
        np.savez(tmp_path / "two.npz", x=np.arange(4), y=np.arange(4))
        with pytest.raises(ValueError, match=r"two\.npz must hold one tensor to be compared, it holds 2"):
            compare_files(tmp_path / "two.npz", tmp_path / "one.npz")

    def test_a_shape_that_the_file_contradicts(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.zeros((2, 3)))
        with pytest.raises(ValueError, match=r"`shape` must be left out or \(2, 3\), which .*x.npy holds"):
            compare_files(tmp_path / "x.npy", tmp_path / "x.npy", shape=(3, 2))
        with pytest.raises(ValueError, match="`dtype` must be left out or float64"):
            compare_files(tmp_path / "x.npy", tmp_path / "x.npy", dtype="float32")


class TestUnreadable:
    def test_missing(self, tmp_path: Path) -> None:
        golden = write(tmp_path / "g.bin", np.zeros(4, np.int8))
        for pair in ((tmp_path / "none.bin", golden), (golden, tmp_path / "none.bin")):
            with pytest.raises(FileNotFoundError):
                compare_files(*pair, dtype="int8", shape=(4,))

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError, match="a folder is no file to compare"):
            compare_files(tmp_path, tmp_path, dtype="int8", shape=(4,))

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({}, r"g\.bin does not tell its type: pass `dtype` \(--dtype\), and `shape` .* where it is not 1-D$"),
            ({"shape": (4,)}, r"g\.bin does not tell its type: pass `dtype` \(--dtype\)$"),
            ({"dtype": "int8", "format": "NZ"}, r"g\.bin does not tell its sizes in FRACTAL_NZ: pass `shape` "),
            ({"dtype": "int16"}, r"g\.bin has 5 bytes, which is no multiple of the 2 of int16"),
        ],
    )
    def test_raw_of_which_too_little_is_told(self, tmp_path: Path, options: dict, text: str) -> None:
        golden = write(tmp_path / "g.bin", np.zeros(5, np.int8))
        with pytest.raises(ValueError, match=text):
            compare_files(golden, golden, **options)

    def test_types_that_have_no_distance(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.zeros(2))
        for name, x in (("text", np.array(["a"])), ("dates", np.zeros(2, "M8[s]")), ("pairs", np.zeros(2, "f4,i4"))):
            np.save(tmp_path / f"{name}.npy", x)
            for pair in (("a", name), (name, "a"), (name, name)):
                with pytest.raises(TypeError, match=rf"{name}\.npy cannot be compared: `dtype` .* is not supported"):
                    compare_files(*(tmp_path / f"{each}.npy" for each in pair))

    def test_too_short(self, tmp_path: Path) -> None:
        golden, actual = (
            write(tmp_path / "g.bin", np.zeros(4, np.int8)),
            write(tmp_path / "a.bin", np.zeros(3, np.int8)),
        )
        with pytest.raises(ValueError, match=r"take 4 bytes, .*a\.bin has 3"):
            compare_files(actual, golden, dtype="int8", shape=(4,))
        with pytest.raises(ValueError, match=r"take 5 bytes, .*g\.bin has 4"):
            compare_files(actual, golden, dtype="int8", shape=(5,))

    def test_damaged_npy(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.zeros(4))
        (tmp_path / "y.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-1])
        with pytest.raises(ValueError, match=r"y\.npy is damaged"):
            compare_files(tmp_path / "y.npy", tmp_path / "x.npy")

    @pytest.mark.parametrize(
        ("options", "kind", "text"),
        [
            ({"dtype": "float17"}, TypeError, "`dtype` float17 is not supported"),
            ({"format": "NY"}, ValueError, "`format` 'NY' is not a known format"),
            ({"plain_format": "NY"}, ValueError, "`plain_format` 'NY' is not a known format"),
            ({"shape": (2, -2)}, ValueError, "`shape` must be an integer of at least 0"),
            ({"c0": 0}, ValueError, "`c0` must be an integer of at least 1"),
            ({"groups": 0}, ValueError, "`groups` must be an integer of at least 1"),
            ({"c0": 16}, ValueError, "describe a storage `format`, which is missing"),
            ({"rtol": -1}, ValueError, "`rtol` must be finite and at least 0"),
        ],
    )
    def test_options(self, tmp_path: Path, options: dict, kind: type[Exception], text: str) -> None:
        golden = write(tmp_path / "g.bin", np.zeros(4, np.int8))
        with pytest.raises(kind, match=text):
            compare_files(golden, golden, **{"dtype": "int8", "shape": (4,), **options})
