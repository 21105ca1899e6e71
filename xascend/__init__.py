"""Ascend storage formats and data-rearranging instructions, bit for bit, on NumPy, PyTorch and CUDA GPUs."""

__version__ = "0.1.0"
