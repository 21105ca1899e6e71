"""Instructions of the Ascend vector unit, emulated as the hardware carries them out."""

from xascend.ascendc.brcb import BrcbRepeatParams, brcb
from xascend.ascendc.nc1hwc0 import nc1hwc0_to_nchw_with_instruction, nchw_to_nc1hwc0_with_instruction
from xascend.ascendc.products import Product, support_table, supports
from xascend.ascendc.transdata5hd import TransDataTo5HDParams, trans_data_to_5hd

__all__ = [
    "BrcbRepeatParams",
    "Product",
    "TransDataTo5HDParams",
    "brcb",
    "nc1hwc0_to_nchw_with_instruction",
    "nchw_to_nc1hwc0_with_instruction",
    "support_table",
    "supports",
    "trans_data_to_5hd",
]
