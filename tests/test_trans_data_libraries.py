"""One behaviour on every array library: same bits, same library, input untouched."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import oracle
import pairs
import pytest
from libraries import ON_GPU, Library, assert_result, assert_same_bits, counting, random_bits

import xascend as xa

SAMPLES = (
    ("ND", "FRACTAL_NZ", (2, 17, 33), {}),
    ("ND", "FRACTAL_NZ", (16, 32), {}),
    ("ND", "FRACTAL_ZZ", (5, 3), {"c0": 4}),
    ("ND", "FRACTAL_NZ_C0_8", (17, 9), {}),
    ("NCHW", "NC1HWC0", (2, 17, 3, 2), {}),
    ("NHWC", "NC1HWC0", (2, 3, 2, 17), {}),
    ("NHWC", "FRACTAL_NZ", (2, 3, 2, 17), {}),
    ("CHWN", "NC1HWC0_C04", (5, 3, 2, 2), {}),
    ("HWCN", "FRACTAL_Z", (3, 2, 5, 17), {}),
    ("HWCN", "FRACTAL_Z", (3, 2, 3, 10), {"groups": 5}),
    ("NCHW", "FRACTAL_Z_C04", (17, 3, 3, 5), {}),
    ("NCHW", "C1HWNCoC0", (2, 5, 1, 2), {"c0": 4}),
    ("NDHWC", "NDC1HWC0", (2, 2, 1, 3, 5), {"c0": 4}),
    ("DHWCN", "FRACTAL_Z_3D", (2, 1, 3, 5, 17), {"c0": 4}),
    ("NCHW", "HWCN", (2, 3, 4, 5), {}),
    ("ND", "FRACTAL_NZ", (0, 20), {}),
    ("ND", "FRACTAL_NZ", (3, 20, 0), {}),
    ("NCHW", "NC1HWC0", (2, 0, 3, 2), {}),
    ("NCHW", "FRACTAL_Z", (2, 3, 0, 2), {}),
)
IDS = [f"{src}-{dst}-{'x'.join(map(str, shape))}" for src, dst, shape, _ in SAMPLES]
samples = pytest.mark.parametrize(("src", "dst", "shape", "options"), SAMPLES, ids=IDS)


def expected(x: np.ndarray, src: str, dst: str, options: dict) -> np.ndarray:
    return oracle.convert(x, src, dst, **{"c0": oracle.default_c0(x.itemsize), **options})


@samples
def test_there_and_back(xp: Library, src: str, dst: str, shape: tuple, options: dict) -> None:
    x = counting(shape, "int32")
    stored = expected(x, src, dst, options)
    assert_result(xp, xa.trans_data(xp.asarray(x), src, dst, **options), stored)
    back = xa.trans_data(xp.asarray(stored), dst, src, shape=shape, groups=options.get("groups", 1))
    assert_result(xp, back, x)


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("FRACTAL_NZ", "NC1HWC0"),
        ("NC1HWC0", "FRACTAL_NZ"),
        ("FRACTAL_Z", "NC1HWC0"),
        ("C1HWNCoC0", "FRACTAL_Z_C04"),
        ("NC1HWC0", "NC1HWC0"),
    ],
)
def test_blocked_to_blocked(xp: Library, src: str, dst: str) -> None:
    x = counting((17, 3, 2, 3), "int32")
    stored = oracle.to_storage(x, src, c0=4, pad_value=-1)
    result = xa.trans_data(xp.asarray(stored), src, dst, shape=x.shape, c0=8)
    assert_result(xp, result, oracle.to_storage(x, dst, c0=8))


@samples
def test_pad_value(xp: Library, src: str, dst: str, shape: tuple, options: dict) -> None:
    x = counting(shape, "int16")
    result = xa.trans_data(xp.asarray(x), src, dst, pad_value=-7, **options)
    assert_result(xp, result, expected(x, src, dst, options | {"pad_value": -7}))


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "uint8",
        "uint16",
        "float16",
        "bfloat16",
        "uint32",
        "float64",
        "complex64",
        "complex128",
        "float8_e4m3fn",
        "float8_e5m2",
    ],
)
@pytest.mark.parametrize(("src", "dst"), [("ND", "FRACTAL_NZ"), ("NCHW", "NC1HWC0"), ("NCHW", "FRACTAL_Z")])
def test_bits_of_every_dtype(xp: Library, dtype: str, src: str, dst: str) -> None:
    xp.require(dtype)
    x = random_bits((17, 3, 2, 5), dtype)
    y = xa.trans_data(xp.asarray(x), src, dst)
    assert_result(xp, y, oracle.convert(x, src, dst, c0=oracle.default_c0(x.itemsize)))
    assert_result(xp, xa.trans_data(y, dst, src, shape=x.shape), x)


@samples
def test_input_is_untouched(xp: Library, src: str, dst: str, shape: tuple, options: dict) -> None:
    x = counting(shape, "int32")
    given = xp.asarray(x.copy())
    xa.trans_data(given, src, dst, **options)
    assert_same_bits(xp.to_numpy(given), x)


@pytest.mark.parametrize(
    ("src", "dst", "shape"),
    [
        ("ND", "ND", (16, 16)),
        ("ND", "FRACTAL_NZ", (16, 16)),  # one whole fractal: a reshape would do
        ("FRACTAL_NZ", "ND", (1, 1, 16, 16)),
        ("NHWC", "NC1HWC0", (2, 3, 5, 16)),
        ("NC1HWC0", "NHWC", (2, 1, 3, 5, 16)),
    ],
)
def test_result_never_shares_memory_with_the_input(xp: Library, src: str, dst: str, shape: tuple) -> None:
    if xp.name in ("dask", *ON_GPU):
        pytest.skip(f"memory of {xp.name} arrays cannot be looked at from NumPy")
    given = xp.asarray(counting(shape, "int32"))
    y = xa.trans_data(given, src, dst)
    assert not np.shares_memory(np.asarray(y), np.asarray(given))


def test_transposed_weight(xp: Library) -> None:
    w = counting((32, 17), "int32")
    given = xp.asarray(w)
    transposed = given.T
    assert_result(xp, xa.nd_to_nz(transposed), oracle.to_storage(np.ascontiguousarray(w.T), "FRACTAL_NZ"))


def test_reversed_and_strided_views() -> None:
    x = np.arange(560, dtype=np.float16).reshape(20, 28)[::-1, ::-2]
    y = xa.nd_to_nz(x)
    assert y.shape == (1, 2, 16, 16)
    assert y[0, 0, 0, 0] == 559
    assert y[0, 1, 3, 13] == 1
    assert_same_bits(y, oracle.to_storage(x.copy(), "FRACTAL_NZ"))


def test_broadcast_scalar() -> None:
    y = xa.nd_to_nz(np.broadcast_to(np.float16(3), (20, 28)))
    assert_same_bits(y, oracle.to_storage(np.full((20, 28), 3, np.float16), "FRACTAL_NZ"))


def test_zero_stride_along_channels() -> None:
    x = counting((1, 1, 2, 2), "float16")
    repeated = np.broadcast_to(x, (1, 20, 2, 2))
    y = xa.nchw_to_nc1hwc0(repeated)
    assert y.shape == (1, 2, 2, 2, 16)
    assert (y[0, 0] == x[0, 0, :, :, None]).all()
    assert (y[0, 1, :, :, :4] == x[0, 0, :, :, None]).all()
    assert not y[0, 1, :, :, 4:].any()


def test_torch_views_need_no_copy() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.arange(560, dtype=torch.int32).reshape(20, 28)
    for view in (x.flip(0)[:, ::2], x.T[3:], x[:1].expand(17, 28)):
        y = xa.nd_to_nz(view)
        assert_same_bits(y.numpy(), oracle.to_storage(view.contiguous().numpy(), "FRACTAL_NZ"))


def test_torch_lazy_conjugate_is_resolved() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3) * (1 + 2j)
    y = xa.nd_to_nz(x.conj())
    assert_same_bits(y.resolve_conj().numpy(), oracle.to_storage(x.conj().resolve_conj().numpy(), "FRACTAL_NZ"))


def test_frombuffer_and_memory_map(tmp_path) -> None:
    x = counting((20, 28), "float32")
    wanted = oracle.to_storage(x, "FRACTAL_NZ")
    assert_same_bits(xa.nd_to_nz(np.frombuffer(x.tobytes(), np.float32).reshape(20, 28)), wanted)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    result = xa.nd_to_nz(mapped)
    assert_same_bits(np.asarray(result), wanted)
    assert result.flags.writeable
    assert type(result) is np.ndarray


def test_dask_is_lazy() -> None:
    da = pytest.importorskip("dask.array", reason="dask is not installed")

    def explode(block: np.ndarray) -> np.ndarray:
        raise AssertionError("computed")

    x = da.map_blocks(explode, da.zeros((64, 64), chunks=32, dtype="f2"), dtype="f2", meta=np.empty((0, 0), "f2"))
    for y in (xa.nd_to_nz(x), xa.nz_to_nd(xa.nd_to_nz(x), (63, 50))):
        assert isinstance(y, da.Array)
    with pytest.raises(AssertionError, match="computed"):
        y.compute(scheduler="synchronous")


@pytest.mark.parametrize(
    ("src", "dst", "shape", "chunks"),
    [
        ("ND", "FRACTAL_NZ", (64, 96), (32, 48)),
        ("ND", "FRACTAL_NZ", (4, 64, 96), (1, 32, 48)),
        ("NCHW", "NC1HWC0", (4, 64, 6, 4), (2, 32, 3, 2)),
        ("NHWC", "NC1HWC0", (4, 6, 4, 64), (2, 3, 2, 32)),
    ],
)
def test_dask_with_aligned_chunks_goes_chunk_by_chunk(src: str, dst: str, shape: tuple, chunks: tuple) -> None:
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    computed: list[int] = []

    def watch(block: np.ndarray) -> np.ndarray:
        computed.append(block.size)
        return block

    x = counting(shape, "int32")
    watched = da.from_array(x, chunks=chunks).map_blocks(watch, dtype=x.dtype, meta=np.empty((0,) * x.ndim, x.dtype))
    y = xa.trans_data(watched, src, dst)
    assert y.npartitions == watched.npartitions
    wanted = oracle.convert(x, src, dst)
    corner = np.asarray(y.blocks[(0,) * y.ndim].compute(scheduler="synchronous"))
    assert computed == [int(np.prod(chunks))]
    assert np.array_equal(corner, wanted[tuple(map(slice, corner.shape))])
    assert_same_bits(np.asarray(y.compute(scheduler="synchronous")), wanted)


@pytest.mark.parametrize("chunks", [(7, 5), (64, 1), ((3, 61), (90, 6)), (1, 96), 13])
def test_dask_with_any_chunks_is_right(chunks) -> None:
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    x = counting((64, 96), "int32")
    y = xa.nd_to_nz(da.from_array(x, chunks=chunks))
    assert_same_bits(np.asarray(y.compute(scheduler="synchronous")), oracle.to_storage(x, "FRACTAL_NZ"))


def test_dask_with_unknown_chunks_says_what_to_call() -> None:
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    x = da.ones((32, 16), chunks=16)
    with pytest.raises(ValueError, match=r"`x`.*compute_chunk_sizes"):
        xa.nd_to_nz(x[x[:, 0] > 0])


def test_threads_do_not_disturb_each_other() -> None:
    inputs = [counting((3, 40 + i, 50 + i), dtype) for i, dtype in enumerate(("int8", "int16", "int32", "int64") * 2)]
    wanted = [oracle.to_storage(x, "FRACTAL_NZ", c0=oracle.default_c0(x.itemsize)) for x in inputs]
    results: list[list[np.ndarray]] = [[] for _ in inputs]
    start = threading.Barrier(len(inputs))

    def work(i: int) -> None:
        start.wait()
        results[i].extend(xa.nd_to_nz(inputs[i]) for _ in range(20))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, want in zip(results, wanted, strict=True):
        assert len(got) == 20
        for one in got:
            assert_same_bits(one, want)


def test_no_reference_to_the_input_is_kept() -> None:
    x = counting((64, 64), "float16")
    gone = weakref.ref(x)
    y = xa.nd_to_nz(x)
    del x
    assert gone() is None
    assert y.base is None or y.base.nbytes <= y.nbytes + 4096


def test_all_zero_size_shapes_come_back(xp: Library) -> None:
    for plain, fmt in (
        ("ND", "FRACTAL_NZ"),
        ("NCHW", "NC1HWC0"),
        ("NCHW", "FRACTAL_Z"),
        ("NCDHW", "NDC1HWC0"),
    ):
        for shape in (row for row in pairs.shapes(plain) if 0 in row):
            x = np.zeros(shape, np.float32)
            y = xa.trans_data(xp.asarray(x), plain, fmt)
            assert_result(xp, y, oracle.convert(x, plain, fmt))
            assert_result(xp, xa.trans_data(y, fmt, plain, shape=shape), x)
