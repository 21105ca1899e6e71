"""`fixpipe` with the documents' own figures and numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from xascend import ascendc
from xascend.ascendc import CFG_COLUMN_MAJOR, CFG_NZ, CFG_ROW_MAJOR, QuantMode

V220, C310 = ascendc.FixpipeParamsV220, ascendc.FixpipeParamsC310


def test_nz2nd_of_20_columns() -> None:
    src = np.arange(512, dtype=np.float32)
    dst = np.full(16 * 20, -1, np.float32)
    rows = ascendc.fixpipe(dst, src, V220(20, 16, 16, 20)).reshape(16, 20).tolist()
    assert rows[0] == [*range(16), 256, 257, 258, 259]
    assert rows[1] == [*range(16, 32), 272, 273, 274, 275]


def test_nz2dn_of_20_columns() -> None:
    src = np.arange(512, dtype=np.float32)
    dst = np.full(20 * 16, -1, np.float32)
    rows = ascendc.fixpipe(dst, src, C310(20, 16, 16, 16), config=CFG_COLUMN_MAJOR).reshape(20, 16).tolist()
    assert rows[0] == list(range(0, 256, 16))
    assert rows[16] == list(range(256, 512, 16))
    assert rows[19] == list(range(259, 512, 16))


def test_figure_1_nz_with_dummy_rows() -> None:
    """48 x 24, source blocks 64 rows apart, blocks of the result 40 data blocks apart."""
    src = np.full(3 * 64 * 16, -1, np.float32)
    matrix = np.arange(24 * 48, dtype=np.float32).reshape(24, 48)
    for k in range(3):
        src.reshape(3, 64, 16)[k, :24] = matrix[:, 16 * k : 16 * k + 16]
    dst = np.full(3 * 40 * 16, -2, np.float16)
    ascendc.fixpipe(dst, src, V220(48, 24, 64, 40, QuantMode.F322F16), config=CFG_NZ)
    blocks = dst.reshape(3, 40, 16)
    assert (blocks[:, :24].transpose(1, 0, 2).reshape(24, 48) == matrix).all()
    assert (blocks[:, 24:] == -2).all()


def test_figure_2_two_matrices() -> None:
    """Two of 32 x 48, 16 KiB apart: 16 fractals in one edition, 256 rows in the other."""
    src = np.arange(2 * 4096, dtype=np.float32)
    fill = -1.0
    wanted = np.full(4096 + 48 * 64, fill, np.float32)
    for i in range(2):
        for j in range(48):
            for n in range(32):
                wanted[4096 * i + 64 * j + n] = src[4096 * i + (n // 16 * 64 + j) * 16 + n % 16]
    for params in (
        V220(32, 48, 64, 64, nd_num=2, src_nd_stride=16, dst_nd_stride=4096),
        C310(32, 48, 64, 64, nd_num=2, src_nd_stride=256, dst_nd_stride=4096),
    ):
        dst = np.full(wanted.size, fill, np.float32)
        assert (ascendc.fixpipe(dst, src, params) == wanted).all()


def test_figure_of_nz2dn_two_matrices() -> None:
    src = np.arange(480 * 16, dtype=np.int32)
    params = C310(32, 48, 80, 80, dn_num=2, src_nz_matrix_stride=240, dst_dn_matrix_stride=48 * 80)
    dst = np.full(48 * 80 + 32 * 80, -1, np.int32)
    ascendc.fixpipe(dst, src, params, config=CFG_COLUMN_MAJOR)
    for h in range(2):
        for n in range(32):
            row = dst[h * 3840 + n * 80 :][:80]
            assert row[:48].tolist() == [(h * 240 + n // 16 * 80 + r) * 16 + n % 16 for r in range(48)]
            assert (row[48:] == -1).all()


def test_channel_split() -> None:
    src = np.arange(256, dtype=np.float32)
    dst = np.zeros(256, np.float32)
    blocks = ascendc.fixpipe(dst, src, V220(16, 16, 16, 16, is_channel_split=True), config=CFG_NZ).reshape(2, 16, 8)
    for r in range(16):
        assert blocks[0, r].tolist() == [16 * r + c for c in range(8)]
        assert blocks[1, r].tolist() == [16 * r + 8 + c for c in range(8)]


@pytest.mark.parametrize("n", [32, 24])
def test_channel_split_as_the_golden_script(n: int) -> None:
    m = 64
    matrix = np.arange(m * 32, dtype=np.float32).reshape(m, 32)
    src = np.ascontiguousarray(matrix.reshape(m, 2, 16).transpose(1, 0, 2)).reshape(-1)
    dst = np.zeros(m * n, np.float32)
    ascendc.fixpipe(dst, src, V220(n, m, m, m * 8 * 4 // 32, is_channel_split=True), config=CFG_NZ)
    golden = matrix[:, :n].reshape(m // 16, 16, n // 8, 8).transpose(2, 0, 1, 3)
    assert dst.tolist() == golden.reshape(-1).tolist()


def test_channel_merge_with_16_columns_left_over() -> None:
    """M = 16, N = 48: 512 bytes of the first two blocks, row by row, then 256 bytes of the third."""
    src = np.arange(3 * 256, dtype=np.int32) % 100
    dst = np.full(768 + 16, -1, np.int8)
    word = ascendc.pack_quant_param(1.0)
    ascendc.fixpipe(dst, src, V220(48, 16, 16, 16, QuantMode.REQ8, word), config=CFG_NZ)
    b0, b1, b2 = src.reshape(3, 16, 16)
    assert dst[:512].tolist() == np.concatenate([b0, b1], axis=1).reshape(-1).tolist()
    assert dst[512:768].tolist() == b2.reshape(-1).tolist()
    assert (dst[768:] == -1).all()


@pytest.mark.parametrize(("itemsize", "result"), [(1, "int8"), (2, "float16"), (4, "float32")])
def test_shapes_of_nz_results(itemsize: int, result: str) -> None:
    """128 x 256: (16, 8, 16, 16) for float32 and float16, (8, 8, 16, 32) for int8."""
    matrix = (np.arange(128 * 256) % 97).reshape(128, 256).astype(np.float32)
    src = np.ascontiguousarray(matrix.reshape(128, 16, 16).transpose(1, 0, 2)).reshape(-1)
    mode, width = {1: (QuantMode.QF322B8_PRE, 32), 2: (QuantMode.F322F16, 16), 4: (QuantMode.NoQuant, 16)}[itemsize]
    word = ascendc.pack_quant_param(1.0) if itemsize == 1 else 0
    dst = np.zeros(matrix.size, result)
    ascendc.fixpipe(dst, src, V220(256, 128, 128, 128 * width * itemsize // 32, mode, word), config=CFG_NZ)
    golden = matrix.reshape(8, 16, 256 // width, width).transpose(2, 0, 1, 3)
    assert (dst.reshape(golden.shape) == golden).all()


def test_vector_words_of_the_example() -> None:
    """Columns multiplied by 1 and 2; with one matrix its strides do not count."""
    words = np.array([1065353216, 1073741824] * 16, np.uint64)
    src = np.arange(32 * 32, dtype=np.int32)
    dst = np.zeros(32 * 32, np.float16)
    params = V220(32, 32, 32, 32, QuantMode.VDEQF16, nd_num=1, src_nd_stride=4, dst_nd_stride=32 * 32)
    ascendc.fixpipe(dst, src, params, quant_tensor=words, product=ascendc.Product.ATLAS_A2)
    matrix = src.reshape(2, 32, 16).transpose(1, 0, 2).reshape(32, 32)
    assert (dst.reshape(32, 32)[:, ::2] == matrix[:, ::2].astype(np.float16)).all()
    assert (dst.reshape(32, 32)[:, 1::2] == (2 * matrix[:, 1::2]).astype(np.float16)).all()


def test_the_950_has_no_shift() -> None:
    src = np.full(256, 100, np.int32)
    word = ascendc.pack_quant_param(1.0, shift=2)
    for make, value in ((V220, 25), (C310, 100)):
        dst = np.zeros(256, np.int8)
        ascendc.fixpipe(dst, src, make(16, 16, 16, 16, QuantMode.REQ8, word))
        assert dst.tolist() == [value] * 256
    dst = np.zeros(256, np.int8)
    ascendc.fixpipe(dst, src, V220(16, 16, 16, 16, QuantMode.REQ8, word), product=ascendc.Product.ASCEND_950)
    assert dst.tolist() == [100] * 256


@pytest.mark.parametrize("mode", ["QF322F16_PRE", "QF322BF16_PRE"])
def test_float_results_of_the_950(mode: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    dtype = torch.float16 if mode == "QF322F16_PRE" else torch.bfloat16
    src = torch.arange(256, dtype=torch.float32)
    dst = torch.zeros(256, dtype=dtype)
    ascendc.fixpipe(dst, src, C310(16, 16, 16, 16, QuantMode[mode], ascendc.pack_quant_param(-0.5)))
    assert torch.equal(dst, (src * -0.5).to(dtype))


@pytest.mark.parametrize(
    ("params", "config", "empty"),
    [
        (V220(0, 16, 16, 16), CFG_NZ, "n_size"),
        (V220(0, 16, 16, 16), CFG_ROW_MAJOR, "n_size"),
        (C310(0, 16, 16, 16), CFG_COLUMN_MAJOR, "n_size"),
        (V220(16, 0, 16, 16), CFG_NZ, "m_size"),
        (C310(16, 0, 16, 16), CFG_COLUMN_MAJOR, "m_size"),
        (V220(16, 16, 16, 16, nd_num=0), CFG_ROW_MAJOR, "nd_num"),
        (C310(16, 16, 16, 16, nd_num=0), CFG_ROW_MAJOR, "nd_num"),
        (C310(16, 16, 16, 16, dn_num=0), CFG_COLUMN_MAJOR, "dn_num"),
        (ascendc.FixpipeParamsM300(0, 0, 0, 1), CFG_NZ, "n_size"),
    ],
)
def test_nothing_to_move(params: ascendc.FixpipeParamsV220, config: ascendc.FixpipeConfig, empty: str) -> None:
    dst = np.full(4, 7, np.int16)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert ascendc.fixpipe(dst, None, params, config=config) is dst
    assert [(w.category, str(w.message)) for w in caught] == [(UserWarning, f"`{empty}` is 0: nothing is moved")]
    assert caught[0].filename == __file__
    assert dst.tolist() == [7] * 4
