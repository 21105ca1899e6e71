"""Bad input: one exception type and one sentence each, with the argument, the rule and what came."""

from __future__ import annotations

import warnings

import numpy as np
import oracle
import pytest
from libraries import counting

import xascend as xa

HALF = np.float16


class TestNotAnArray:
    @pytest.mark.parametrize(
        "bad", [[[1, 2], [3, 4]], (1, 2), 3.0, None, "x", b"x", {1: 2}, memoryview(b"ab"), [np.zeros(2)]]
    )
    def test_named_type(self, bad: object) -> None:
        for call in (
            lambda: xa.trans_data(bad, "ND", "FRACTAL_NZ"),
            lambda: xa.nd_to_nz(bad),
            lambda: xa.nz_to_nd(bad, (1, 1)),
            lambda: xa.nchw_to_nc1hwc0(bad),
            lambda: xa.npu_format_cast(bad, 29),
        ):
            with pytest.raises(TypeError, match=rf"`x` must be an array.*got {type(bad).__name__}"):
                call()

    def test_masked(self) -> None:
        x = np.ma.masked_array(np.ones((20, 28), HALF), mask=False)
        with pytest.raises(TypeError, match=r"`x` is a masked array.*filled"):
            xa.nd_to_nz(x)

    def test_matrix(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            x = np.matrix(np.ones((32, 32), HALF))
        with pytest.raises(TypeError, match=r"`x`.*matrix.*np\.asarray"):
            xa.nd_to_nz(x)

    def test_sparse_torch(self) -> None:
        torch = pytest.importorskip("torch", reason="torch is not installed")
        with pytest.raises(TypeError, match=r"`x` is sparse.*to_dense"):
            xa.nd_to_nz(torch.eye(16).to_sparse())


class TestRank:
    @pytest.mark.parametrize("x", [np.array(3.0), np.array(3, HALF), np.float16(3), np.int8(3)])
    def test_scalars(self, x: object) -> None:
        with pytest.raises(ValueError, match=r"`x` must have .*got shape \(\)"):
            xa.nd_to_nz(x)

    def test_scalars_on_every_library(self, xp) -> None:
        with pytest.raises(ValueError, match=r"`x` must have .*got shape \(\)"):
            xa.nd_to_nz(xp.asarray(np.array(3, np.float32)))

    @pytest.mark.parametrize("size", [0, 1, 5, 16])
    def test_vectors_are_neither_rows_nor_columns(self, size: int) -> None:
        with pytest.raises(ValueError, match=rf"`x` must have .*got shape \({size},\)"):
            xa.nd_to_nz(np.arange(size, dtype=HALF))

    @pytest.mark.parametrize("fmt", oracle.CONV_4D)
    @pytest.mark.parametrize("shape", [(2, 3, 4), (1, 2, 3, 4, 5), (2, 3)])
    def test_convolution_tensors_have_four_axes(self, fmt: str, shape: tuple) -> None:
        for plain in oracle.PLAIN_4D:
            axes = ", ".join(plain)
            with pytest.raises(ValueError, match=rf"`x` must have the axes \({axes}\) of {plain}, got shape"):
                xa.trans_data(np.zeros(shape, HALF), plain, fmt)

    @pytest.mark.parametrize("fmt", oracle.CONV_5D)
    @pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 2, 3, 4, 5, 6)])
    def test_volumes_have_five_axes(self, fmt: str, shape: tuple) -> None:
        for plain in oracle.PLAIN_5D:
            axes = ", ".join(plain)
            with pytest.raises(ValueError, match=rf"`x` must have the axes \({axes}\) of {plain}, got shape"):
                xa.trans_data(np.zeros(shape, HALF), plain, fmt)

    @pytest.mark.parametrize(
        ("fmt", "axes", "rank"),
        [
            ("FRACTAL_NZ", "n1, m1, m0, n0", None),
            ("FRACTAL_ZZ", "m1, n1, m0, n0", None),
            ("NC1HWC0", "N, C1, H, W, C0", 5),
            ("NC1HWC0_C04", "N, C1, H, W, C0", 5),
            ("NDC1HWC0", "N, D, C1, H, W, C0", 6),
            ("FRACTAL_Z", r"C1\*H\*W, N1, N0, C0", 4),
            ("FRACTAL_Z_3D", r"D\*C1\*H\*W, N1, N0, C0", 4),
            ("FRACTAL_Z_C04", "N1, N0", 4),
            ("C1HWNCoC0", "C1, H, W, N, C0, C0", 6),
        ],
    )
    def test_blocked_sources_name_their_axes(self, fmt: str, axes: str, rank: int | None) -> None:
        plain = "NCDHW" if fmt in oracle.CONV_5D else "NCHW"
        wrong = (1, 2, 3) if rank is None else range(2, 8)
        for count in wrong:
            if count == rank:
                continue
            with pytest.raises(ValueError, match=rf"`x` must have the axes \(.*{axes}.*\) of {fmt}, got shape"):
                xa.trans_data(np.zeros((4,) * count, HALF), fmt, plain, shape=(1,) * len(plain))

    @pytest.mark.parametrize("fmt", ["NC1HWC0", "FRACTAL_NZ"])
    def test_shape_of_wrong_length(self, fmt: str) -> None:
        stored = oracle.to_storage(counting((2, 3, 4, 5), "int16"), fmt)
        for shape in ((), (5,), (4, 5), (2, 3, 4, 5, 6)):
            with pytest.raises(ValueError, match="`shape` must have"):
                xa.trans_data(stored, fmt, "NCHW", shape=shape)

    def test_nz_to_nd_takes_two_sizes_or_all(self) -> None:
        stored = oracle.to_storage(counting((2, 3, 4, 5), "int16"), "FRACTAL_NZ")
        for shape in ((), (5,), (3, 4, 5), (1, 2, 3, 4, 5)):
            with pytest.raises(ValueError, match="`shape` must have"):
                xa.nz_to_nd(stored, shape)

    @pytest.mark.parametrize(
        ("src", "dst"),
        [
            ("NCHW", "NDC1HWC0"),
            ("NCDHW", "NC1HWC0"),
            ("NCHW", "NCDHW"),
            ("NC1HWC0", "NDC1HWC0"),
            ("FRACTAL_Z", "FRACTAL_Z_3D"),
        ],
    )
    def test_impossible_pairs_name_both_formats(self, src: str, dst: str) -> None:
        rank = {"NCHW": 4, "NCDHW": 5, "NC1HWC0": 5, "FRACTAL_Z": 4}[src]
        with pytest.raises(ValueError, match=rf"(?s)({src}.*{dst}|{dst}.*{src})"):
            xa.trans_data(np.zeros((16,) * rank, HALF), src, dst)

    def test_a_blocked_tensor_taken_for_nchw(self) -> None:
        stored = np.zeros((1, 2, 4, 4, 16), HALF)
        with pytest.raises(ValueError, match=r"`x` must have the axes \(N, C, H, W\) of NCHW"):
            xa.trans_data(stored, "NCHW", "NHWC")


class TestCrops:
    @pytest.mark.parametrize(
        ("shape", "text"),
        [
            ((40, 28), r"m must lie in \(16, 32\], got 40"),
            ((16, 28), r"m must lie in \(16, 32\], got 16"),
            ((0, 28), r"m must lie in \(16, 32\], got 0"),
            ((20, 33), r"n must lie in \(16, 32\], got 33"),
            ((20, 16), r"n must lie in \(16, 32\], got 16"),
        ],
    )
    def test_nz(self, shape: tuple, text: str) -> None:
        stored = np.zeros((2, 2, 16, 16), HALF)
        for call in (
            lambda: xa.trans_data(stored, "NZ", "ND", shape=shape),
            lambda: xa.nz_to_nd(stored, shape),
            lambda: xa.trans_data(stored, "NZ", "ZZ", shape=shape),
        ):
            with pytest.raises(ValueError, match=rf"`shape` {text}"):
                call()

    @pytest.mark.parametrize(
        ("n0", "n", "interval"), [(32, 33, r"\(0, 32\]"), (32, 0, r"\(0, 32\]"), (8, 9, r"\(0, 8\]")]
    )
    def test_the_interval_is_as_wide_as_c0(self, n0: int, n: int, interval: str) -> None:
        with pytest.raises(ValueError, match=rf"`shape` n must lie in {interval}, got {n}"):
            xa.nz_to_nd(np.zeros((1, 1, 16, n0), np.int8), (10, n))

    def test_every_size_inside_the_interval_works(self) -> None:
        stored = np.zeros((2, 2, 16, 16), HALF)
        for size in range(17, 33):
            assert xa.nz_to_nd(stored, (size, 20)).shape == (size, 20)
            assert xa.nz_to_nd(stored, (20, size)).shape == (20, size)

    @pytest.mark.parametrize("channels", [16, 33, 40, 2])
    @pytest.mark.parametrize("plain", oracle.PLAIN_4D)
    def test_5hd_channels(self, plain: str, channels: int) -> None:
        size = {"N": 1, "C": channels, "H": 4, "W": 4}
        with pytest.raises(ValueError, match=rf"`shape` C must lie in \(16, 32\], got {channels}"):
            xa.trans_data(np.zeros((1, 2, 4, 4, 16), HALF), "5HD", plain, shape=[size[axis] for axis in plain])

    @pytest.mark.parametrize(("axis", "have"), [("N", 3), ("H", 4), ("W", 5)])
    @pytest.mark.parametrize("fmt", ["NC1HWC0", "C1HWNCoC0", "NC1HWC0_C04"])
    def test_axes_that_are_not_cut_must_match(self, fmt: str, axis: str, have: int) -> None:
        size = {"N": 3, "C": 2, "H": 4, "W": 5}
        stored = oracle.to_storage(counting(tuple(size.values()), "int16"), fmt)
        size[axis] += 1
        with pytest.raises(ValueError, match=rf"`shape` {axis} must be {have}, got {have + 1}"):
            xa.trans_data(stored, fmt, "NCHW", shape=tuple(size.values()))

    def test_batch_axes_must_match(self) -> None:
        stored = np.zeros((2, 2, 2, 16, 16), HALF)
        for batch in (1, 3, 4):
            with pytest.raises(ValueError, match=rf"`shape` .* must be 2, got {batch}"):
                xa.nz_to_nd(stored, (batch, 20, 28))

    @pytest.mark.parametrize("fmt", oracle.MERGED)
    def test_merged_axes_must_multiply_to_the_storage(self, fmt: str) -> None:
        plain, shape = ("NCDHW", [5, 3, 2, 2, 3]) if fmt == "FRACTAL_Z_3D" else ("NCHW", [5, 3, 2, 3])
        stored = oracle.to_storage(counting(tuple(shape), "int16"), fmt, c0=4)
        shape[-1] += 4
        with pytest.raises(ValueError, match=rf"`shape`.*{fmt}"):
            xa.trans_data(stored, fmt, plain, shape=shape)

    @pytest.mark.parametrize("fmt", ["FRACTAL_Z", "FRACTAL_Z_3D", "FRACTAL_Z_C04"])
    @pytest.mark.parametrize("n", [0, 16, 33])
    def test_output_channels(self, fmt: str, n: int) -> None:
        plain, rest = ("NCDHW", (3, 2, 2, 3)) if fmt == "FRACTAL_Z_3D" else ("NCHW", (3, 2, 3))
        stored = oracle.to_storage(counting((20, *rest), "int16"), fmt)
        with pytest.raises(ValueError, match=rf"`shape` N must lie in \(16, 32\], got {n}"):
            xa.trans_data(stored, fmt, plain, shape=(n, *rest))

    @pytest.mark.parametrize("fmt", oracle.MERGED)
    @pytest.mark.parametrize("dst", ["plain", "same"])
    def test_shape_is_required_where_axes_are_merged(self, fmt: str, dst: str) -> None:
        plain = "NCDHW" if fmt == "FRACTAL_Z_3D" else "NCHW"
        axes = ", ".join(plain)
        with pytest.raises(ValueError, match=rf"`shape` is required with {fmt}.*\({axes}\)"):
            xa.trans_data(np.zeros((8, 1, 16, 16), HALF), fmt, plain if dst == "plain" else fmt)

    @pytest.mark.parametrize(
        ("bad", "text"), [((20, 2.5), "2.5"), ((True, 20), "True"), ((-1, 20), "-1"), (("a", 20), "'a'")]
    )
    def test_shape_must_hold_sizes(self, bad: tuple, text: str) -> None:
        with pytest.raises(ValueError, match=rf"every entry of `shape` must be an integer of at least 0, got {text}"):
            xa.nz_to_nd(np.zeros((2, 2, 16, 16), HALF), bad)

    @pytest.mark.parametrize("bad", [5, "20,28", 2.5])
    def test_shape_must_be_a_sequence(self, bad: object) -> None:
        with pytest.raises(ValueError, match="`shape` must be a sequence of integers, got"):
            xa.trans_data(np.zeros((2, 2, 16, 16), HALF), "NZ", "ND", shape=bad)

    def test_shape_of_a_plain_source_must_be_its_own(self) -> None:
        x = counting((20, 28), "int16")
        assert xa.trans_data(x, "ND", "NZ", shape=(20, 28)).shape == (2, 2, 16, 16)
        with pytest.raises(ValueError, match=r"`shape` must be left out or \(20, 28\).*got \(20, 27\)"):
            xa.trans_data(x, "ND", "NZ", shape=(20, 27))


def test_nothing_is_written_before_an_error() -> None:
    x = counting((20, 28), "int16")
    out = np.full((2, 2, 16, 16), -99, np.int16)
    for options in ({"c0": 0}, {"groups": 2}, {"pad_value": 2.5}, {"strict": True}, {"shape": (1, 1)}):
        with pytest.raises(ValueError, match="`"):
            xa.trans_data(x, "ND", "NZ", out=out, **options)
    assert (out == -99).all()
