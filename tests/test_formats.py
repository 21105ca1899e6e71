"""Formats as users write them: members, spellings, aclFormat numbers."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from libraries import assert_same_bits, counting

import xascend as xa

ACL_FORMATS = {
    0: "NCHW",
    1: "NHWC",
    2: "ND",
    3: "NC1HWC0",
    4: "FRACTAL_Z",
    12: "NC1HWC0_C04",
    13: "FRACTAL_Z_C04",
    16: "HWCN",
    27: "NDHWC",
    29: "FRACTAL_NZ",
    30: "NCDHW",
    31: "DHWCN",
    32: "NDC1HWC0",
    33: "FRACTAL_Z_3D",
    50: "FRACTAL_NZ_C0_16",
    51: "FRACTAL_NZ_C0_32",
    52: "FRACTAL_NZ_C0_2",
    53: "FRACTAL_NZ_C0_4",
    54: "FRACTAL_NZ_C0_8",
}
SPELLINGS = {
    "FRACTAL_NZ": ("FRACTAL_NZ", "NZ", "ACL_FORMAT_FRACTAL_NZ", "nz", "Fractal_Nz", "fractal_nz", 29, np.int64(29)),
    "NC1HWC0": ("NC1HWC0", "5HD", "ACL_FORMAT_NC1HWC0", "nc1hwc0", "5hd", 3, np.int32(3)),
    "NDC1HWC0": ("NDC1HWC0", "6HD", "ACL_FORMAT_NDC1HWC0", 32),
    "FRACTAL_Z": ("FRACTAL_Z", "ACL_FORMAT_FRACTAL_Z", "FZ", 4),
    "FRACTAL_Z_3D": ("FRACTAL_Z_3D", "ACL_FRACTAL_Z_3D", 33),
    "FRACTAL_ZZ": ("FRACTAL_ZZ", "ZZ"),
    "C1HWNCoC0": ("C1HWNCoC0", "C1HWNCOC0"),
    "FRACTAL_NZ_C0_16": ("FRACTAL_NZ_C0_16", "ACL_FORMAT_FRACTAL_NZ_C0_16", 50),
}


def test_members_are_the_documented_formats() -> None:
    assert {fmt.name for fmt in xa.Format} == set(oracle.PLAIN) | set(oracle.BLOCKED)


@pytest.mark.parametrize(("number", "name"), ACL_FORMATS.items())
def test_acl_numbers(number: int, name: str) -> None:
    shape = (2, 3, 4, 5, 6) if name in oracle.PLAIN_5D + oracle.CONV_5D else (2, 3, 4, 5)
    member = xa.Format[name]
    if name in oracle.PLAIN:
        blocked = "NDC1HWC0" if name in oracle.PLAIN_5D else "NC1HWC0"
        by_number = xa.storage_shape(shape, blocked, "int8", src_format=number)
        assert by_number == xa.storage_shape(shape, blocked, "int8", src_format=member)
        assert by_number == oracle.storage_shape(shape, blocked, axes=oracle.letters(name), c0=32)
    else:
        assert xa.storage_shape(shape, number, "int8") == xa.storage_shape(shape, member, "int8")
        assert xa.storage_shape(shape, number, "int8") == oracle.storage_shape(shape, name, c0=32)


@pytest.mark.parametrize(("name", "spelling"), [(name, s) for name, all_s in SPELLINGS.items() for s in all_s])
def test_spellings(name: str, spelling: object) -> None:
    five = name in oracle.CONV_5D
    plain = "NCDHW" if five else "NCHW"
    x = counting((2, 3, 2, 1, 5) if five else (2, 3, 2, 5), "int16")
    expected = oracle.to_storage(x, name)
    for src in (plain, xa.Format[plain], f"ACL_FORMAT_{plain}", plain.lower(), 30 if five else 0):
        assert_same_bits(xa.trans_data(x, src, spelling), expected)
    assert_same_bits(xa.trans_data(expected, spelling, plain, shape=x.shape), x)


@pytest.mark.parametrize("bad", ["NCWH", "", "N C H W", "FRACTAL_NZ_C0_64", "FRACTAL", "UNDEFINED", "29"])
def test_unknown_names_list_what_is_known(bad: str) -> None:
    x = np.zeros((2, 2), np.float16)
    with pytest.raises(ValueError, match=r"`dst_format` .*not a known format.*FRACTAL_NZ.*NC1HWC0"):
        xa.trans_data(x, "ND", bad)
    with pytest.raises(ValueError, match=r"`src_format` .*not a known format"):
        xa.trans_data(x, bad, "NZ")


@pytest.mark.parametrize("bad", [-1, 5, 35, 47, 49, 55, 10**6])
def test_unknown_numbers_list_what_is_known(bad: int) -> None:
    with pytest.raises(ValueError, match=rf"`dst_format` {bad} .*29 FRACTAL_NZ"):
        xa.trans_data(np.zeros((2, 2), np.float16), "ND", bad)


@pytest.mark.parametrize("bad", [None, True, 2.0, ["NZ"], b"NZ"])
def test_formats_of_the_wrong_type(bad: object) -> None:
    with pytest.raises(TypeError, match=r"`dst_format` must be a Format, a name or an aclFormat number, got"):
        xa.trans_data(np.zeros((2, 2), np.float16), "ND", bad)
    with pytest.raises(TypeError, match=r"`src_format` must be"):
        xa.trans_data(np.zeros((2, 2), np.float16), bad, "NZ")
