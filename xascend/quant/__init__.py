"""Quantisation of the cube unit's results: the 64-bit parameter word, the modes, and the arithmetic alone."""

from xascend.quant._modes import QuantMode
from xascend.quant._requantize import requantize
from xascend.quant._words import QuantParam, pack_quant_param, unpack_quant_param

__all__ = ["QuantMode", "QuantParam", "pack_quant_param", "requantize", "unpack_quant_param"]
