"""Instructions of the Ascend vector and cube units, emulated as the hardware carries them out."""

from xascend.ascendc.brcb import BrcbRepeatParams, brcb
from xascend.ascendc.data_copy_nd2nz import Nd2NzParams, data_copy_nd2nz
from xascend.ascendc.fixpipe import (
    CFG_COLUMN_MAJOR,
    CFG_NZ,
    CFG_ROW_MAJOR,
    CO2Layout,
    FixpipeConfig,
    FixpipeParamsC310,
    FixpipeParamsM300,
    FixpipeParamsM310,
    FixpipeParamsV220,
    fixpipe,
)
from xascend.ascendc.load_data import LoadData2dParams, load_data
from xascend.ascendc.load_data_with_transpose import LoadData2dTransposeParams, load_data_with_transpose
from xascend.ascendc.mmad import MmadParams, mmad
from xascend.ascendc.nc1hwc0 import nc1hwc0_to_nchw_with_instruction, nchw_to_nc1hwc0_with_instruction
from xascend.ascendc.products import Product, support_table, supports
from xascend.ascendc.transdata5hd import TransDataTo5HDParams, trans_data_to_5hd
from xascend.quant import QuantMode, QuantParam, pack_quant_param, requantize, unpack_quant_param

__all__ = [
    "CFG_COLUMN_MAJOR",
    "CFG_NZ",
    "CFG_ROW_MAJOR",
    "BrcbRepeatParams",
    "CO2Layout",
    "FixpipeConfig",
    "FixpipeParamsC310",
    "FixpipeParamsM300",
    "FixpipeParamsM310",
    "FixpipeParamsV220",
    "LoadData2dParams",
    "LoadData2dTransposeParams",
    "MmadParams",
    "Nd2NzParams",
    "Product",
    "QuantMode",
    "QuantParam",
    "TransDataTo5HDParams",
    "brcb",
    "data_copy_nd2nz",
    "fixpipe",
    "load_data",
    "load_data_with_transpose",
    "mmad",
    "nc1hwc0_to_nchw_with_instruction",
    "nchw_to_nc1hwc0_with_instruction",
    "pack_quant_param",
    "requantize",
    "support_table",
    "supports",
    "trans_data_to_5hd",
    "unpack_quant_param",
]
