"""`fixpipe` and `requantize` on a GPU: by the kernels, on the library's stream, equal to NumPy bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpus import Gpu
from libraries import LIBRARIES, Library, assert_same_bits, cupy_library, random_bits
from native.quantisers import KINDS
from quant.values import word

from xascend import ascendc
from xascend.quant import QuantMode, requantize
from xascend.quant._modes import MODES

pytestmark = pytest.mark.gpu
kinds = pytest.mark.parametrize("kind", KINDS, ids="-".join)


@pytest.fixture(params=["cupy", "torch_cuda"])
def library(request: pytest.FixtureRequest) -> Library:
    cupy_library()  # the kernels are compiled by CuPy
    return LIBRARIES[request.param]()


def words_of(kind: tuple[str, str, str], n: int) -> Any:
    """Return a word, an array of words or 0, as the mode takes them."""
    mode, _, result = kind
    signed = result == "int8"
    count = MODES[QuantMode[mode]].words
    if count is None:
        return 0
    if count == 0:
        return word(0.37, 9, signed, 3)
    return np.array([word((-1) ** k * (0.05 + k % 13), k % 512 - 256, signed, k % 17) for k in range(n)], np.uint64)


@kinds
@pytest.mark.parametrize("relu", [False, True])
def test_requantize(library: Library, launches: list[str], kind: tuple[str, str, str], relu: bool) -> None:
    library.require(kind[2])
    for shape in ((3, 1029), (2, 70, 33), (1, 5), (1100, 1024)):
        x, words = random_bits(shape, kind[1]), words_of(kind, shape[-1])
        on_gpu = library.asarray(words) if isinstance(words, np.ndarray) else words
        made = requantize(library.asarray(x), QuantMode[kind[0]], on_gpu, relu=relu, saturate=relu)
        assert_same_bits(library.to_numpy(made), requantize(x, QuantMode[kind[0]], words, relu=relu, saturate=relu))
    assert set(launches) == {"fixpipe_direct"}


LAYOUTS = {
    "fixpipe_direct": (ascendc.CFG_ROW_MAJOR, 1040),
    "fixpipe_rows": (ascendc.CFG_ROW_MAJOR, 1041),
    "fixpipe_columns_aligned": (ascendc.CFG_COLUMN_MAJOR, 528),
    "fixpipe_columns_shifted": (ascendc.CFG_COLUMN_MAJOR, 525),
}


@kinds
@pytest.mark.parametrize("entry", LAYOUTS)
def test_fixpipe(library: Library, launches: list[str], kind: tuple[str, str, str], entry: str) -> None:
    library.require(kind[2])
    n, m = 1031, 525
    config, stride = LAYOUTS[entry]
    words = words_of(kind, n)
    is_vector = isinstance(words, np.ndarray)
    params = ascendc.FixpipeParamsC310(n, m, m + 3, stride, QuantMode[kind[0]], 0 if is_vector else words)
    src = random_bits((-(-n // 16) * (m + 3) * 16,), kind[1])
    expected = random_bits((stride * (m if config is ascendc.CFG_ROW_MAJOR else n),), kind[2])
    dst = library.asarray(expected)
    for a, b, place in ((expected, src, np.asarray), (dst, library.asarray(src), library.asarray)):
        ascendc.fixpipe(a, b, params, config=config, quant_tensor=place(words) if is_vector else None)
    assert_same_bits(library.to_numpy(dst), expected)
    assert launches == [entry]


@pytest.mark.parametrize("items", [1, 2, 3, 5])
def test_results_that_begin_anywhere(gpu: Gpu, launches: list[str], items: int) -> None:
    src = random_bits((4 * 40 * 16,), "int32")
    params = ascendc.FixpipeParamsV220(64, 40, 40, 64, QuantMode.REQ8, word(0.001, 3))
    expected, given = np.zeros(64 * 40 + items, np.int8), gpu.put(np.zeros(64 * 40 + items, np.int8))
    for dst, values in ((expected, src), (given, gpu.put(src))):
        ascendc.fixpipe(dst[items:], values, params)
    assert_same_bits(gpu.get(given), expected)
    assert launches == ["fixpipe_rows"]


def test_views(gpu: Gpu) -> None:
    x = random_bits((40, 30, 50), "int32")
    on_gpu = gpu.put(x)
    for view in (lambda a: a[:, ::2], lambda a: a[..., 1:], lambda a: a[3], lambda a: a[1:].reshape(-1)[1:]):
        made = requantize(view(on_gpu), QuantMode.DEQF16, word(0.01))
        assert_same_bits(gpu.get(made), requantize(view(x), QuantMode.DEQF16, word(0.01)))


def test_output_that_is_there(gpu: Gpu) -> None:
    x = random_bits((40, 30), "int32")
    expected = requantize(x, QuantMode.DEQF16, word(0.01))
    big = gpu.put(np.zeros((40, 61), np.float16))
    for out in (gpu.put(np.zeros((40, 30), np.float16)), big[:, 1::2], big.reshape(-1)[1:1201].reshape(40, 30)):
        assert requantize(gpu.put(x), QuantMode.DEQF16, word(0.01), out=out) is out
        assert_same_bits(gpu.get(out), expected)


def test_streams_of_their_own(gpu: Gpu) -> None:
    """Upload, two steps that need each other's results, and download, on a stream that waits for no other."""
    src = random_bits((64 * 512 * 16,), "float32")
    params = ascendc.FixpipeParamsV220(1024, 512, 512, 1024, QuantMode.NoQuant)
    words = words_of(("VQF322B8_PRE", "float32", "int8"), 1024)
    matrix = ascendc.fixpipe(np.zeros(1024 * 512, np.float32), src, params).reshape(512, 1024)
    expected = requantize(matrix, QuantMode.VQF322B8_PRE, words)
    for _ in range(100):
        with gpu.stream():
            dst = gpu.put(np.zeros(1024 * 512, np.float32))
            matrix = ascendc.fixpipe(dst, gpu.put(src), params).reshape(512, 1024)
            assert_same_bits(gpu.get(requantize(matrix, QuantMode.VQF322B8_PRE, gpu.put(words))), expected)


def test_more_elements_than_32_bits_count() -> None:
    cupy_library()
    import cupy

    size = (1 << 31) + 1027
    if cupy.cuda.runtime.memGetInfo()[0] < 6 * size:
        pytest.skip("the device has not 12 GiB free")
    made = requantize(cupy.full(size, 7.5, cupy.float32), QuantMode.QF322B8_PRE, word(2.0))
    assert int(cupy.count_nonzero(made != 15)) == 0


def test_switched_off_the_arrays_functions_do_it(
    gpu: Gpu, launches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XASCEND_DISABLE_CUDA_KERNELS", "1")
    x = random_bits((70, 90), "int32")
    made = requantize(gpu.put(x), QuantMode.REQ8, word(0.1))
    assert_same_bits(gpu.get(made), requantize(x, QuantMode.REQ8, word(0.1)))
    assert launches == []
