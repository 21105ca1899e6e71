"""Converting files: the plain idiom (load, convert, save), ours, and a plain copy of the same bytes.

Files lie in the folder that pytest gives (`--basetemp` chooses the disk) and in the page cache after the first round.
Ours alone waits until the output is on the disk, as it must before the file gets its name.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xascend import files


@dataclass(frozen=True, slots=True)
class Case:
    """A conversion, and why it is measured."""

    name: str
    src: str
    dst: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]  # of the plain idiom: reshape to blocks, transpose
    blocks: tuple[int, ...]
    why: str


CASES = (
    Case(
        "weight",
        "ND",
        "FRACTAL_NZ",
        (8192, 8192),
        (2, 0, 1, 3),
        (512, 16, 512, 16),
        "the usual weight: 16 columns stay together",
    ),
    Case(
        "activation",
        "NCHW",
        "NC1HWC0",
        (32, 256, 56, 56),
        (0, 1, 3, 4, 2),
        (32, 16, 16, 56, 56),
        "the fastest axes differ",
    ),
)
MIB = 1 << 20


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture(scope="module")
def source(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(case.name) / "x.npy"
    np.save(
        path, np.arange(np.prod(case.shape), dtype=np.uint32).astype(np.uint16).reshape(case.shape).view(np.float16)
    )
    return path


def measured(benchmark: Any, case: Case, name: str, source: Path, call: Callable[[], object]) -> None:
    """Run a contender a few times and note the bytes that it read and wrote."""
    benchmark.group = f"{case.src} to {case.dst} {case.shape} float16 ({case.why})"
    benchmark.extra_info["contender"] = name
    benchmark.extra_info["bytes"] = 2 * source.stat().st_size
    benchmark.pedantic(call, rounds=5, warmup_rounds=1)
    if benchmark.stats is not None:  # None where pytest-benchmark is disabled
        benchmark.extra_info["GB/s"] = round(benchmark.extra_info["bytes"] / benchmark.stats.stats.min / 1e9, 2)


def idiom(case: Case, source: Path, out: Path) -> None:
    x = np.load(source)
    np.save(out, np.ascontiguousarray(x.reshape(case.blocks).transpose(case.axes)))


def test_plain_copy(benchmark: Any, case: Case, source: Path) -> None:
    out = source.with_name("copy.npy")
    measured(benchmark, case, "copy of the file", source, lambda: shutil.copyfile(source, out))
    assert out.stat().st_size == source.stat().st_size


def test_plain_idiom(benchmark: Any, case: Case, source: Path) -> None:
    out = source.with_name("idiom.npy")
    measured(benchmark, case, "np.load, transpose, np.save", source, lambda: idiom(case, source, out))
    assert np.load(out, mmap_mode="r").size == np.prod(case.shape)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("kind", [".npy", ".safetensors"])
def test_ours(benchmark: Any, case: Case, source: Path, kind: str, jobs: int) -> None:
    out = source.with_name(f"ours{kind}")

    def convert() -> None:
        files.convert(source, out, src_format=case.src, dst_format=case.dst, jobs=jobs, overwrite=True)

    measured(benchmark, case, f"xascend, {kind}, {jobs} threads", source, convert)
    expected = source.with_name("expected.npy")
    idiom(case, source, expected)
    stored = np.load(expected, mmap_mode="r")
    assert out.read_bytes()[-stored.nbytes :] == stored.tobytes()


@pytest.mark.parametrize("max_bytes", [1 * MIB, 4 * MIB, 16 * MIB])
def test_slab_size(benchmark: Any, case: Case, source: Path, max_bytes: int) -> None:
    out = source.with_name("slabs.npy")

    def convert() -> None:
        options = {"max_bytes": max_bytes, "overwrite": True}
        files.convert(source, out, src_format=case.src, dst_format=case.dst, **options)

    measured(benchmark, case, f"xascend, slabs of {max_bytes // MIB} MiB", source, convert)
    assert out.stat().st_size == source.stat().st_size
