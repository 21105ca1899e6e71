"""Converting files of tensors: .npy, .npz, .bin and safetensors, single, in shards or by the folder."""

from xascend.files.conversion import convert
from xascend.files.inspection import TensorInfo, inspect
from xascend.files.record import FileRecord, Record
from xascend.files.report import Report, TensorReport

__all__ = ["FileRecord", "Record", "Report", "TensorInfo", "TensorReport", "convert", "inspect"]
