"""PyTorch tensors in host memory as NumPy arrays of the same memory, so that one executor serves both."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

__all__ = ["count_change", "host_memory", "is_recorded", "memory", "overlaps"]

Tensor = Any
_WORDS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "complex128"}


def _has_memory(x: Tensor) -> bool:
    """Say whether a tensor has memory of its own: tensors of torch.func transforms and on "meta" have none."""
    if x.device.type == "meta":
        return False
    try:
        x.data_ptr()
    except RuntimeError:
        return False
    return True


def is_recorded(x: Tensor, /) -> bool:
    """Say whether a gradient of a tensor is recorded: backward, or forward as a tangent."""
    import torch
    from torch.autograd import forward_ad

    return (x.requires_grad and torch.is_grad_enabled()) or forward_ad.unpack_dual(x).tangent is not None


def host_memory(x: Tensor, /, *, is_written: bool = False) -> npt.NDArray[Any] | None:
    """Return the memory of a tensor as `memory` does, or None where it has none here or a gradient is recorded.

    Of a tensor with a pending sign only a copy can be had, so that one that `is_written` has none either.
    """
    if x.device.type != "cpu" or is_recorded(x) or not _has_memory(x):
        return None
    return None if is_written and (x.is_conj() or x.is_neg()) else memory(x)


def memory(x: Tensor, /) -> npt.NDArray[Any]:
    """Return a tensor in host memory as an array of words; a pending conjugation or negation is carried out first."""
    import torch

    x = x.detach().resolve_conj().resolve_neg()
    array: npt.NDArray[Any] = x.view(getattr(torch, _WORDS[x.element_size()])).numpy()
    return array


def count_change(x: Tensor, /) -> None:
    """Tell PyTorch that the memory of a tensor was written, so that a backward pass that needs it as it was fails."""
    from torch.autograd.graph import increment_version

    if not x.is_inference():
        increment_version(x)


def overlaps(x: Tensor, y: Tensor, /) -> bool:
    """Say whether the address ranges of two tensors meet."""
    if x.numel() == 0 or y.numel() == 0 or not (_has_memory(x) and _has_memory(y)):
        return False
    (x_start, x_stop), (y_start, y_stop) = _span(x), _span(y)
    return x_start < y_stop and y_start < x_stop


def _span(x: Tensor) -> tuple[int, int]:
    reach = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    start = x.data_ptr()
    return start, start + (reach + 1) * x.element_size()
