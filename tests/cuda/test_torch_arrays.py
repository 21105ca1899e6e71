"""What the CUDA executor owes PyTorch, where the host answers for the device."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xascend as xa
from xascend import _cuda
from xascend._cuda import _arrays
from xascend._cuda._arrays import as_device_array, current_stream, reason_not_memory

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


class _Entering:
    def __init__(self, entered: list[Any], what: Any) -> None:
        self._entered, self._what = entered, what

    def __enter__(self) -> None:
        self._entered.append(self._what)

    def __exit__(self, *_: object) -> None:
        self._entered.remove(self._what)


@pytest.fixture
def tensor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As much of a tensor on device 3 as a stream asks for; PyTorch works on stream 0x1234."""
    monkeypatch.setattr(_arrays.compat, "is_torch_array", lambda _: True)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: SimpleNamespace(cuda_stream=0x1234))
    return SimpleNamespace(device=SimpleNamespace(index=3))


def test_the_stream_of_pytorch_becomes_one_of_cupy() -> None:
    """By what the installed CuPy offers, without a warning, which this suite would raise."""
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    for handle in (0, 1, 0x1234):  # the default stream, that of the legacy default, any other
        stream = _arrays.stream_of(handle, 3)
        assert isinstance(stream, (cupy.cuda.Stream, cupy.cuda.ExternalStream))
        assert stream.ptr == handle


@pytest.mark.parametrize("is_old", [False, True])
def test_the_kernels_work_on_the_stream_of_pytorch(tensor: Any, monkeypatch: pytest.MonkeyPatch, is_old: bool) -> None:
    """CuPy 13 knows external streams by a class of their own, later ones by a protocol."""
    entered: list[Any] = []
    old = SimpleNamespace(Stream=object, ExternalStream=lambda handle, device: _Entering(entered, (handle, device)))
    new = SimpleNamespace(
        Stream=SimpleNamespace(from_external=lambda stream: _Entering(entered, stream.__cuda_stream__()))
    )
    cuda = old if is_old else new
    cuda.Device = lambda device: _Entering(entered, device)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    with current_stream(tensor) as device:
        assert device == 3
        assert entered == [3, (0x1234, 3) if is_old else (0, 0x1234)]
    assert entered == []


def test_a_backward_pass_notices_that_the_kernels_wrote_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(plan: Any, x: Any, out: Any, pad_value: Any) -> Any:
        out.detach().numpy()[...] = 0  # as a kernel writes: behind the back of PyTorch
        return out

    monkeypatch.setattr(_cuda, "is_on_device", lambda _: True)
    monkeypatch.setattr(_cuda, "reason_unsupported", lambda *_: None)
    monkeypatch.setattr(_cuda, "run", run)
    weight = torch.ones((2, 2, 16, 16), requires_grad=True)
    out = torch.ones((2, 2, 16, 16))
    product = (weight * out).sum()
    assert xa.nd_to_nz(torch.ones((20, 28)), out=out) is out
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # PyTorch's own use of it
def test_a_tangent_is_not_left_behind() -> None:
    x = torch.arange(4.0)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(4))
        assert reason_not_memory(dual, "x") == "a gradient of `x` is recorded"
        assert reason_not_memory(x, "x") is None


def test_what_is_sent_to_a_device_has_arrived(tensor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The array of the host is a temporary one: nothing may still read it afterwards."""
    sent: list[tuple[Any, dict[str, Any]]] = []
    source = SimpleNamespace(to=lambda device, **options: sent.append((device, options)))
    monkeypatch.setattr(torch, "from_numpy", lambda _: source)
    as_device_array(np.zeros(3, np.float32), tensor)
    assert sent == [(tensor.device, {})]
