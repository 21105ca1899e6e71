"""Whole-tensor conversion on a GPU: by the kernels, on the library's own stream, equal to NumPy bit for bit."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pairs
import pytest
from gpus import GPUS, Gpu
from libraries import assert_same_bits, cupy_library, numpy_dtype, random_bits

import xascend as xa

pytestmark = pytest.mark.gpu
WORDS = ("uint8", "int16", "float32", "int64", "complex128")  # of every size
GIB = 1 << 30


@pytest.fixture
def cupy() -> Any:
    cupy_library()
    return pytest.importorskip("cupy")


@pytest.mark.parametrize(("src", "dst"), pairs.PLAIN_TO_BLOCKED)
def test_there_and_back(gpu: Gpu, src: str, dst: str) -> None:
    for shape, dtype in itertools.product(pairs.shapes(src, dst), WORDS):
        x = random_bits(shape, dtype)
        given, stored = gpu.put(x), xa.trans_data(x, src, dst, pad_value=3)
        assert xa.explain(given, src, dst).executor == "cuda"
        assert_same_bits(gpu.get(xa.trans_data(given, src, dst, pad_value=3)), stored)
        assert_same_bits(gpu.get(xa.trans_data(gpu.put(stored), dst, src, shape=shape)), x)


@pytest.mark.parametrize("src", dict.fromkeys(src for src, _ in (*pairs.BLOCKED_TO_BLOCKED, *pairs.PLAIN_TO_PLAIN)))
def test_between_formats(gpu: Gpu, src: str) -> None:
    for dst in (dst for other, dst in (*pairs.BLOCKED_TO_BLOCKED, *pairs.PLAIN_TO_PLAIN) if other == src):
        check_between(gpu, src, dst)


def check_between(gpu: Gpu, src: str, dst: str) -> None:
    is_blocked = (src, dst) in pairs.BLOCKED_TO_BLOCKED
    axes = pairs.logical_axes(src, dst) if is_blocked else src
    for shape in pairs.shapes(axes, src, dst)[2:6]:
        x = random_bits(shape, "float16")
        stored = xa.trans_data(x, axes, src) if is_blocked else x
        options = {"shape": shape} if is_blocked else {}
        wanted = xa.trans_data(stored, src, dst, **options)
        assert_same_bits(gpu.get(xa.trans_data(gpu.put(stored), src, dst, **options)), wanted)


@pytest.mark.parametrize("dtype", WORDS)
@pytest.mark.parametrize("shape", [(1024, 4096), (3, 4095, 1021), (2, 256, 56, 56), (3, 100, 35, 35)])
def test_model_sizes(gpu: Gpu, shape: tuple[int, ...], dtype: str) -> None:
    x = random_bits(shape, dtype)
    formats = ("ND", "FRACTAL_NZ") if len(shape) < 4 else ("NCHW", "NC1HWC0")
    y = xa.trans_data(gpu.put(x), *formats)
    assert_same_bits(gpu.get(y), xa.trans_data(x, *formats))
    assert_same_bits(gpu.get(xa.trans_data(y, *formats[::-1], shape=shape)), x)


def repeated(x: Any) -> Any:
    """Return an array with strides of 0."""
    if hasattr(x, "expand"):
        return x.expand(2, 40, 70)
    if isinstance(x, np.ndarray):
        return np.broadcast_to(x, (2, 40, 70))
    import cupy

    return cupy.broadcast_to(x, (2, 40, 70))


class TestViews:
    CUTS = (
        ("cut", lambda a: a[:, 1:, 3:]),
        ("every third", lambda a: a[:, ::2, ::3]),
        ("transposed", lambda a: a.swapaxes(1, 2)),
        ("narrow", lambda a: a[:, 5:30, 1:6]),
        ("rows repeated", lambda a: repeated(a[:, :1])),
        ("one element", lambda a: repeated(a[:1, :1, :1])),
    )

    @pytest.mark.parametrize("cut", [cut for _, cut in CUTS], ids=[name for name, _ in CUTS])
    def test_need_no_copy(self, gpu: Gpu, cut: Callable[[Any], Any]) -> None:
        for dtype in WORDS:
            x = random_bits((2, 40, 70), dtype)
            assert_same_bits(gpu.get(xa.nd_to_nz(cut(gpu.put(x)))), xa.nd_to_nz(cut(x)))

    @pytest.mark.parametrize("dtype", WORDS)
    def test_reversed(self, cupy: Any, dtype: str) -> None:
        """PyTorch has no negative strides."""
        x = random_bits((3, 40, 71), dtype)
        for cut in (
            (..., slice(None, None, -1), slice(None, None, -2)),
            (slice(None, None, -1),),
            (..., slice(50, 3, -3)),
        ):
            assert_same_bits(cupy.asnumpy(xa.nd_to_nz(cupy.asarray(x)[cut])), xa.nd_to_nz(x[cut]))

    @pytest.mark.parametrize("offset", [1, 2, 4, 8, 12])
    @pytest.mark.parametrize("dtype", WORDS)
    def test_misaligned_addresses(self, cupy: Any, dtype: str, offset: int) -> None:
        x = random_bits((40, 50), dtype)
        memory = cupy.zeros(x.nbytes + 16, cupy.uint8)
        given = cupy.ndarray(x.shape, x.dtype, memory.data + offset)
        given.set(x)
        out = cupy.ndarray((*xa.nd_to_nz(x).shape,), x.dtype, cupy.zeros(1 << 17, cupy.uint8).data + offset)
        assert_same_bits(cupy.asnumpy(xa.nd_to_nz(given, out=out)), xa.nd_to_nz(x))
        assert_same_bits(cupy.asnumpy(xa.nd_to_nz(given.T)), xa.nd_to_nz(x.T))

    def test_more_axes_than_a_kernel_takes(self, gpu: Gpu) -> None:
        x = random_bits((3,) * 9 + (2,), "uint8")
        cut = (slice(0, 3, 2),) * 9
        assert_same_bits(gpu.get(xa.nd_to_nz(gpu.put(x)[cut])), xa.nd_to_nz(x[cut]))


class TestOut:
    def test_of_any_strides(self, gpu: Gpu) -> None:
        x = random_bits((2, 20, 6, 5), "float32")
        wide = gpu.put(np.full((2, 2, 6, 5, 19), 7, np.float32))
        out = wide[..., 2:-1]
        assert xa.nchw_to_nc1hwc0(gpu.put(x), out=out) is out
        got = gpu.get(wide)
        assert_same_bits(np.ascontiguousarray(got[..., 2:-1]), xa.nchw_to_nc1hwc0(x))
        assert (got[..., :2] == 7).all()
        assert (got[..., -1:] == 7).all()

    def test_that_overlaps_the_input(self, gpu: Gpu) -> None:
        x = gpu.put(random_bits((32, 32), "float16"))
        with pytest.raises(ValueError, match="`out` must not overlap `x`"):
            xa.nd_to_nz(x, out=x.reshape(2, 2, 16, 16))

    def test_that_lies_on_the_host(self, gpu: Gpu) -> None:
        with pytest.raises(TypeError, match="`out` is numpy on cpu but `x` is"):
            xa.nd_to_nz(gpu.put(np.zeros((20, 28), np.float16)), out=np.zeros((2, 2, 16, 16), np.float16))


class TestSizes:
    @pytest.mark.parametrize("shape", [(0, 20), (20, 0), (0, 0), (3, 0, 20)])
    def test_of_zero_launch_nothing(self, gpu: Gpu, launches: list[str], shape: tuple[int, ...]) -> None:
        x = np.zeros(shape, np.float16)
        y = xa.nd_to_nz(gpu.put(x))
        assert tuple(y.shape) == oracle.to_storage(x, "FRACTAL_NZ").shape
        assert tuple(xa.nz_to_nd(y, shape).shape) == shape
        assert launches == []

    @pytest.mark.slow
    def test_of_more_than_31_bits(self, gpu: Gpu) -> None:
        """And of more than 2**32 bytes; what comes back is compared on the device."""
        import cupy

        free = cupy.cuda.runtime.memGetInfo()[0]
        if free < 20 * GIB:
            pytest.skip(f"needs 20 GiB of free memory of the device, {free / GIB:.1f} GiB are free")
        rows, columns = 65536, 32790
        line = gpu.put((np.arange(columns) * 7 % 30011).astype(np.int16))
        column = gpu.put((np.arange(rows) * 3 % 251).astype(np.int16))
        x = line[None, :] + column[:, None]
        y = xa.nd_to_nz(x)
        assert tuple(y.shape) == (2050, 4096, 16, 16)
        for m, n in ((0, 0), (rows - 1, columns - 1), (rows - 1, 0), (12345, 32000)):
            place = xa.locate((m, n), (rows, columns), "ND", "NZ", dtype="int16")
            assert int(y[place]) == n * 7 % 30011 + m * 3 % 251
        assert not bool(y[-1, :, :, columns % 16 :].any())
        assert bool((xa.nz_to_nd(y, (rows, columns)) == x).all())


class TestTypes:
    @pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
    def test_by_bytes_where_cupy_has_them_not(self, cupy: Any, dtype: str) -> None:
        x = random_bits((3, 33, 47), dtype)
        words = cupy.asarray(x.view(f"u{x.itemsize}"))
        stored = cupy.asnumpy(xa.nd_to_nz(words, c0=xa.default_c0(dtype))).view(numpy_dtype(dtype))
        assert_same_bits(stored, xa.nd_to_nz(x))

    @pytest.mark.parametrize("dtype", ["bool", "float16", "float64", "complex64", "uint16", "uint32"])
    def test_bits(self, gpu: Gpu, dtype: str) -> None:
        x = random_bits((17, 35), dtype)
        y = xa.nd_to_nz(gpu.put(x))
        assert_same_bits(gpu.get(y), xa.nd_to_nz(x))

    def test_scalars(self, gpu: Gpu) -> None:
        with pytest.raises(ValueError, match=r"`x` must have .*got shape \(\)"):
            xa.nd_to_nz(gpu.put(np.array(3.0)))

    def test_lists_of_arrays(self, gpu: Gpu) -> None:
        with pytest.raises(TypeError, match="`x` must be an array"):
            xa.nd_to_nz([gpu.put(np.zeros(4)), gpu.put(np.zeros(4))])


class TestExchange:
    """Arrays that came over DLPack."""

    def test_from_one_library_to_the_other(self, cupy: Any) -> None:
        torch = GPUS["torch"]() and pytest.importorskip("torch")
        x = random_bits((40, 70), "float32")
        wanted = xa.nd_to_nz(x.T)
        given = torch.from_numpy(x.copy()).cuda()
        assert_same_bits(cupy.asnumpy(xa.nd_to_nz(cupy.from_dlpack(given.T))), wanted)
        assert_same_bits(xa.nd_to_nz(torch.from_dlpack(cupy.asarray(x).T)).cpu().numpy(), wanted)
        assert_same_bits(given.cpu().numpy(), x)

    def test_reversed_arrays_are_right_or_refused(self, cupy: Any) -> None:
        torch = GPUS["torch"]() and pytest.importorskip("torch")
        x = random_bits((40, 70), "float32")
        try:
            given = torch.from_dlpack(cupy.asarray(x)[::-1])
        except (BufferError, RuntimeError, ValueError):
            return  # by PyTorch, which has no negative strides
        assert_same_bits(xa.nd_to_nz(given).cpu().numpy(), xa.nd_to_nz(x[::-1]))

    def test_read_only(self, gpu: Gpu) -> None:
        """Broadcast arrays are what must not be written; they come and go like any other."""
        import cupy

        given = cupy.from_dlpack(gpu.put(np.arange(28, dtype=np.float32)))
        frozen = cupy.broadcast_to(given, (20, 28))
        assert_same_bits(
            cupy.asnumpy(xa.nd_to_nz(frozen)), xa.nd_to_nz(np.broadcast_to(np.arange(28, dtype=np.float32), (20, 28)))
        )
        assert cupy.asnumpy(given).tolist() == list(range(28))


class TestStreams:
    @pytest.mark.parametrize(("src", "dst", "shape"), [("ND", "NZ", (700, 900)), ("NCHW", "5HD", (4, 70, 31, 33))])
    def test_of_their_own(self, gpu: Gpu, src: str, dst: str, shape: tuple[int, ...]) -> None:
        """Upload, there and back, and download, on a stream that waits for no other."""
        content = random_bits(shape, "float16")
        stored = xa.trans_data(content, src, dst)
        for _ in range(100):
            with gpu.stream():
                y = xa.trans_data(gpu.put(content), src, dst)
                back = xa.trans_data(y, dst, src, shape=shape)
                made, again = gpu.get(y), gpu.get(back)
            assert made.tobytes() == stored.tobytes()
            assert again.tobytes() == content.tobytes()

    def test_work_waits_for_what_is_queued_before_it(self, gpu: Gpu) -> None:
        """The input is made on the same stream, behind much other work, right before it is converted."""
        content = np.arange(512 * 512, dtype=np.float32).reshape(512, 512)
        wanted = xa.nd_to_nz(content + np.float32(1))
        for _ in range(20):
            with gpu.stream():
                busy, x = gpu.put(np.ones((2048, 2048), np.float32)), gpu.put(content)
                for _ in range(20):
                    busy = busy * 0 + 1
                made = gpu.get(xa.nd_to_nz(x + 1))
            assert made.tobytes() == wanted.tobytes()

    def test_threads(self, gpu: Gpu) -> None:
        contents = [random_bits((3, 40 + i, 50 + i), dtype, i) for i, dtype in enumerate(WORDS[:4] * 2)]
        wrong: list[int] = []

        def work(number: int) -> None:
            with gpu.stream():
                wanted = xa.nd_to_nz(contents[number])
                made = [gpu.get(xa.nd_to_nz(gpu.put(contents[number]))) for _ in range(20)]
            wrong.extend(number for one in made if one.tobytes() != wanted.tobytes())

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(contents))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


class TestDevices:
    def test_the_result_lies_where_the_input_lies(self, cupy: Any) -> None:
        if cupy.cuda.runtime.getDeviceCount() < 2:
            pytest.skip("there is one device only")
        x = random_bits((20, 28), "float16")
        with cupy.cuda.Device(1):
            given = cupy.asarray(x)
        with cupy.cuda.Device(0):
            y = xa.nd_to_nz(given)
            assert cupy.cuda.Device().id == 0
        assert y.device.id == 1
        assert_same_bits(cupy.asnumpy(y), xa.nd_to_nz(x))

    def test_arrays_of_two_devices(self, cupy: Any) -> None:
        if cupy.cuda.runtime.getDeviceCount() < 2:
            pytest.skip("there is one device only")
        x = cupy.zeros((20, 28), cupy.float16)
        with cupy.cuda.Device(1):
            out = cupy.zeros((2, 2, 16, 16), cupy.float16)
        with pytest.raises(TypeError, match=r"`out` is cupy on .* but `x` is cupy on"):
            xa.nd_to_nz(x, out=out)


class TestMemory:
    def test_a_call_holds_the_result_alone(self, gpu: Gpu) -> None:
        x = gpu.put(random_bits((2048, 2047), "float16"))
        xa.nd_to_nz(x)
        gc.collect()
        before = gpu.used_bytes()
        y = xa.nd_to_nz(x)
        assert gpu.used_bytes() - before <= 2048 * 2048 * 2 + (2 << 20)  # PyTorch does not split off less than that
        del y
        gc.collect()
        assert gpu.used_bytes() == before

    def test_a_gradient_is_recorded(self) -> None:
        torch = GPUS["torch"]() and pytest.importorskip("torch")
        x = torch.randn(17, 33, device="cuda", requires_grad=True)
        xa.nd_to_nz(x).sum().backward()
        assert torch.equal(x.grad, torch.ones_like(x))


def test_the_same_bytes_every_time(gpu: Gpu) -> None:
    given = gpu.put(random_bits((3, 255, 243), "float16"))
    assert len({gpu.get(xa.nd_to_nz(given)).tobytes() for _ in range(100)}) == 1


def test_switched_off_the_arrays_functions_do_it(
    gpu: Gpu, launches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = random_bits((2, 20, 6, 7), "float32")
    given = gpu.put(x)
    kernels = gpu.get(xa.nchw_to_nc1hwc0(given))
    assert launches
    launches.clear()
    monkeypatch.setenv("XASCEND_DISABLE_CUDA_KERNELS", "1")
    assert gpu.get(xa.nchw_to_nc1hwc0(given)).tobytes() == kernels.tobytes()
    assert launches == []
