"""PyTorch tensors in host memory: converted where they lie, without losing what PyTorch keeps about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from libraries import TORCH_DTYPES, assert_same_bits, random_bits, torch_library

import xascend as xa
from xascend import _native, _torch

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list that gets the addresses of source and result of every native run."""
    seen = []
    run = _native.run

    def spy(plan: Any, x: np.ndarray, out: np.ndarray, pad_value: np.ndarray) -> None:
        seen.append((x.ctypes.data, out.ctypes.data))
        run(plan, x, out, pad_value)

    monkeypatch.setattr(_native, "run", spy)
    return seen


@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_no_copy_is_made(ran: list[tuple[int, int]], dtype: str) -> None:
    library = torch_library()
    x = random_bits((35, 70), dtype)
    given = library.asarray(x)[1:, 2:]
    made = xa.nd_to_nz(given)
    assert ran == [(given.data_ptr(), made.data_ptr())]
    assert made.data_ptr() % 64 == 0
    assert_same_bits(library.to_numpy(made), xa.nd_to_nz(x[1:, 2:]))


def test_out_and_strides(ran: list[tuple[int, int]]) -> None:
    x = torch.arange(35 * 70, dtype=torch.int32).reshape(70, 35).T
    out = torch.full((5, 3, 16, 32), -1, dtype=torch.int32)[..., ::2]
    assert xa.nd_to_nz(x, out=out) is out
    assert ran == [(x.data_ptr(), out.data_ptr())]
    assert np.array_equal(out.numpy(), xa.nd_to_nz(x.numpy()))


def test_memory_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    host_memory = _torch.host_memory
    monkeypatch.setattr(_torch, "host_memory", lambda x, **how: looked.append(x) or host_memory(x, **how))
    x, out = torch.zeros((20, 28)), torch.empty((2, 2, 16, 16))
    xa.nd_to_nz(x)
    xa.nd_to_nz(x, out=out)
    assert [id(each) for each in looked] == [id(x), id(x), id(out)]


def test_a_backward_pass_notices_that_out_was_written() -> None:
    weight = torch.ones((2, 2, 16, 16), requires_grad=True)
    out = torch.ones((2, 2, 16, 16))
    product = (weight * out).sum()
    xa.nd_to_nz(torch.zeros((20, 28)), out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_inference_mode() -> None:
    with torch.inference_mode():
        x = torch.arange(560.0).reshape(20, 28)
        assert torch.equal(xa.nz_to_nd(xa.nd_to_nz(x), (20, 28)), x)


def test_conjugate_and_negative_views() -> None:
    x = torch.complex(torch.arange(6.0), torch.ones(6)).reshape(2, 3)
    assert torch.equal(xa.nd_to_nz(x.conj())[0, 0, :2, :3], x.conj().resolve_conj())
    imaginary = x.conj().imag
    assert imaginary.is_neg()
    assert torch.equal(xa.nd_to_nz(imaginary)[0, 0, :2, :3], imaginary.resolve_neg())
    out = torch.zeros((1, 1, 16, 16), dtype=torch.complex64).conj()
    assert xa.explain(x, "ND", "NZ", out=out).executor == "agnostic"
    xa.nd_to_nz(x, out=out)
    assert torch.equal(out[0, 0, :2, :3].resolve_conj(), x)


def test_a_gradient_is_kept() -> None:
    x = torch.arange(560.0).reshape(20, 28).requires_grad_()
    (xa.nd_to_nz(x) * 2).sum().backward()
    assert torch.equal(x.grad, torch.full((20, 28), 2.0))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # PyTorch's own use of it
def test_a_tangent_is_kept() -> None:
    x, tangent = torch.arange(560.0).reshape(20, 28), torch.full((20, 28), 3.0)
    with torch.autograd.forward_ad.dual_level():
        made = xa.nd_to_nz(torch.autograd.forward_ad.make_dual(x, tangent))
        assert torch.equal(torch.autograd.forward_ad.unpack_dual(made).tangent, xa.nd_to_nz(tangent))
