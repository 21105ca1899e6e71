"""What a conversion did, tensor by tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Report", "TensorReport", "told"]


@dataclass(frozen=True, slots=True)
class TensorReport:
    """What happened to one tensor.

    Attributes
    ----------
    name, file
        The tensor, and the input file that holds it.
    action
        ``"convert"`` or ``"copy"`` where it was done (or, in a dry run, would be), ``"failed"`` where it went wrong,
        ``"dropped"`` where its output file was given up because another tensor of it failed.
    reason
        Why it was copied, or what went wrong.
    dtype
        Element type.
    src_format, dst_format
        Formats of a conversion, otherwise empty.
    src_shape, dst_shape
        Shapes of the array in the input and in the output.
    nbytes
        Bytes of the array in the output.
    executor, refused
        What carries a conversion out, and why those before it do not, as `xascend.explain` tells; otherwise empty.
    """

    name: str
    file: str
    action: str
    reason: str
    dtype: str
    src_format: str
    dst_format: str
    src_shape: tuple[int, ...]
    dst_shape: tuple[int, ...]
    nbytes: int
    executor: str
    refused: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Report:
    """What a call of `convert` did.

    Attributes
    ----------
    tensors
        One entry per tensor, without those of skipped files.
    written, skipped
        Output files that were written, and that `resume` found complete.
    verified
        Output files that were read back and are right (in a dry run: that would be read back).
    bytes_moved
        Bytes read plus bytes written.
    seconds
        Time it took, from the first file to the last.
    dry_run
        Whether nothing was written because that was asked for.
    """

    tensors: tuple[TensorReport, ...]
    written: tuple[str, ...]
    skipped: tuple[str, ...]
    verified: tuple[str, ...]
    bytes_moved: int
    seconds: float
    dry_run: bool

    @property
    def failed(self) -> tuple[TensorReport, ...]:
        """The tensors that went wrong."""
        return tuple(tensor for tensor in self.tensors if tensor.action == "failed")


def told(error: BaseException, /) -> str:
    """Return what an exception tells, on one line; its type where it tells nothing."""
    return " ".join(str(error).split("\n")[0].split()) or type(error).__name__
