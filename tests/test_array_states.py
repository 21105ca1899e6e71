"""Arrays in states that libraries have beside values: gradients, pending views, transforms, chunks, odd outputs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import oracle
import pytest
from libraries import LIBRARIES, Library, counting

import xascend as xa
from xascend import _agnostic, ascendc

X = counting((20, 28), "float16")
NZ = xa.nd_to_nz(X)


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


class TestContiguity:
    """Every result is C-contiguous memory of its own."""

    @pytest.mark.parametrize(
        ("src", "dst", "shape", "c0"),
        [
            ("ND", "ND", (3, 4), None),
            ("NCHW", "NHWC", (2, 3, 4, 5), None),
            ("NCHW", "C1HWNCoC0", (1, 4, 1, 2), 1),
            ("NCHW", "C1HWNCoC0", (2, 4, 3, 2), 4),
            ("ND", "FRACTAL_NZ", (16, 1), 1),
            ("NCHW", "NC1HWC0", (1, 4, 1, 1), 4),
            ("NCHW", "FRACTAL_Z_C04", (16, 4, 2, 2), 16),
        ],
    )
    @pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
    def test_there_and_back(self, library: str, src: str, dst: str, shape: tuple, c0: int | None) -> None:
        xp: Library = LIBRARIES[library]()
        xp.require("int32")
        x = counting(shape, "int32")
        given = xp.asarray(x)
        y = xa.trans_data(given, src, dst, c0=c0)
        back = xa.trans_data(y, dst, src, shape=xa.trans_data(x, src, src).shape if dst not in ("ND", "NHWC") else None)
        for result in (y, back):
            view = np.from_dlpack(result) if library != "numpy" else result
            assert view.flags.c_contiguous
            assert not np.shares_memory(view, np.from_dlpack(given) if library != "numpy" else given)
        assert np.array_equal(xp.to_numpy(y), xa.trans_data(x, src, dst, c0=c0))


class TestGradients:
    @pytest.mark.parametrize("shape", [(16, 64), (15, 33)])
    def test_none_is_recorded_under_no_grad(self, torch: Any, shape: tuple) -> None:
        weight = torch.nn.Parameter(torch.randn(shape))
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            y = xa.nd_to_nz(weight)
        assert not y.requires_grad
        assert np.array_equal(y.numpy(), xa.nd_to_nz(weight.detach().numpy()))

    @pytest.mark.parametrize("shape", [(16, 64), (15, 33)])
    def test_flow_back(self, torch: Any, shape: tuple) -> None:
        x = torch.randn(shape, requires_grad=True)
        xa.nd_to_nz(x).sum().backward()
        assert torch.equal(x.grad, torch.ones(shape))

    def test_out_takes_no_part(self, torch: Any) -> None:
        x, out = torch.randn(16, 16), torch.zeros(1, 1, 16, 16)
        with pytest.raises(ValueError, match="`out` cannot take part in a gradient"):
            xa.nd_to_nz(x.clone().requires_grad_(), out=out)
        with pytest.raises(ValueError, match="`out` cannot take part in a gradient"):
            xa.nd_to_nz(x, out=out.clone().requires_grad_())
        assert not out.requires_grad


class TestTorchMemory:
    def test_host_tensors_are_converted_in_their_memory(self, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_agnostic, "run", lambda *_: pytest.fail("the agnostic executor was called"))
        for dtype in (torch.float16, torch.bfloat16, torch.float8_e5m2, torch.bool, torch.complex128, torch.uint16):
            x = torch.arange(560).reshape(20, 28).to(dtype).t()
            y = xa.nd_to_nz(x)
            assert y.dtype == dtype
            assert torch.equal(xa.nz_to_nd(y, (28, 20)).to(torch.complex128), x.to(torch.complex128))

    def test_pending_conjugation_is_carried_out(self, torch: Any) -> None:
        x = torch.tensor([[1 + 2j, 3 - 4j]])
        assert xa.nz_to_nd(xa.nd_to_nz(x.conj()), (1, 2)).tolist() == [[1 - 2j, 3 + 4j]]
        assert xa.nz_to_nd(xa.nd_to_nz(x.conj().imag), (1, 2)).tolist() == [[-2.0, 4.0]]

    def test_transforms(self, torch: Any) -> None:
        x = torch.arange(2 * 16 * 16.0).reshape(2, 16, 16)
        assert torch.equal(torch.func.vmap(xa.nd_to_nz)(x), xa.nd_to_nz(x))

    def test_meta(self, torch: Any) -> None:
        x, out = torch.empty(20, 28, device="meta"), torch.empty(2, 2, 16, 16, device="meta")
        assert xa.nd_to_nz(x).shape == (2, 2, 16, 16)
        assert xa.nd_to_nz(x, out=out) is out

    @pytest.mark.parametrize("name", ["int4", "uint4"])
    def test_four_bits(self, torch: Any, name: str) -> None:
        with pytest.raises(TypeError, match=rf"`x` has dtype torch.{name}.*view\(torch.uint8\)"):
            xa.nd_to_nz(torch.empty(3, 4, dtype=getattr(torch, name)))

    def test_nested(self, torch: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nested = torch.nested.nested_tensor([torch.zeros(2, 2), torch.zeros(3, 2)])
        with pytest.raises(TypeError, match="`x` is a nested tensor"):
            xa.nd_to_nz(nested)

    def test_instructions_want_plain_memory(self, torch: Any) -> None:
        dst = torch.zeros(64)
        with pytest.raises(ValueError, match=r"`src` .*resolve_neg\(\)"):
            ascendc.brcb(dst, torch._neg_view(torch.arange(8.0)), 1)
        with pytest.raises(ValueError, match="`dst` is on the device meta"):
            ascendc.brcb(torch.zeros(64, device="meta"), torch.zeros(8, device="meta"), 1)


class TestOutput:
    @pytest.mark.parametrize("strides", [(2, 2, 2, 2), (0, 0, 0, 2), (1024, 512, 0, 2), (512, 512, 32, 2)])
    def test_that_overlaps_itself(self, strides: tuple) -> None:
        out = np.lib.stride_tricks.as_strided(np.zeros(1024, np.float16), (2, 2, 16, 16), strides)
        with pytest.raises(ValueError, match="`out` must not overlap itself"):
            xa.nd_to_nz(X, out=out)

    def test_expanded_on_torch(self, torch: Any) -> None:
        out = torch.zeros(1, 2, 16, 16, dtype=torch.float16).expand(2, 2, 16, 16)
        with pytest.raises(ValueError, match="`out` must not overlap itself"):
            xa.nd_to_nz(torch.from_numpy(X), out=out)

    def test_any_order_of_axes_is_fine(self) -> None:
        out = np.zeros((16, 2, 16, 2), np.float16).transpose(3, 1, 2, 0)[::-1]
        assert np.array_equal(xa.nd_to_nz(X, out=out), NZ)


class TestDask:
    def test_masked_chunks(self) -> None:
        da = pytest.importorskip("dask.array", reason="dask is not installed")
        masked = da.ma.masked_equal(da.from_array(np.arange(256.0).reshape(16, 16)), 5)
        with pytest.raises(TypeError, match="`x` is a masked array"):
            xa.nd_to_nz(masked)

    def test_small_channels_keep_the_chunks_of_n(self) -> None:
        da = pytest.importorskip("dask.array", reason="dask is not installed")
        x = counting((40, 3, 4, 5), "int16")
        y = xa.trans_data(da.from_array(x, chunks=(16, 2, 4, 5)), "NCHW", "FRACTAL_Z_C04")
        assert y.chunks[1] == (1, 1, 1)
        stored = y.compute(scheduler="sync")
        assert np.array_equal(stored, oracle.to_storage(x, "FRACTAL_Z_C04", c0=16))
        back = xa.trans_data(da.from_array(stored, chunks=(2, 1, 16, 16)), "FRACTAL_Z_C04", "NHWC", shape=(40, 4, 5, 3))
        assert np.array_equal(back.compute(scheduler="sync"), x.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("shape", [{20, 28}, {20: 1, 28: 2}, iter((20, 28)), b"\x14\x1c", "20,28", 20])
def test_sizes_must_be_a_sequence(shape: Any) -> None:
    with pytest.raises(ValueError, match="`shape` must be a sequence of integers"):
        xa.nz_to_nd(NZ, shape)


@pytest.mark.parametrize("c0", [2**62, 10**30])
def test_more_than_can_be_addressed(c0: int) -> None:
    with pytest.raises(ValueError, match="more bytes than can be addressed"):
        xa.nd_to_nz(X, c0=c0)


@pytest.mark.parametrize(
    ("name", "meant"), [("float", "float32 or float64"), ("i8", "int8 or int64"), ("f4", "float32 or float4")]
)
def test_names_of_two_types_say_so(name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"`dtype` {name} means different types.*{meant}"):
        xa.default_c0(name)


@pytest.mark.parametrize("value", [True, 1.0, "1", 5, -1])
def test_direction_of_transdata(value: Any) -> None:
    with pytest.raises(ValueError, match="`transdata_type` must be"):
        xa.atb.TransdataParam(value)


@pytest.mark.parametrize("acl_format", [1, 16, 27, "CHWN"])
def test_format_cast_does_not_guess_axes(acl_format: Any) -> None:
    with pytest.raises(ValueError, match="`acl_format` must be a blocked format"):
        xa.npu_format_cast(np.zeros((2, 3, 4, 5), np.float16), acl_format)
