"""The benchmark suite: its idioms against the oracle, how it measures, and what a report says."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import platform
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest

import xascend as xa
from xascend import _native, bench
from xascend._threads import get_num_threads
from xascend.bench import _contenders, _measure, _onednn
from xascend.bench._cases import FAMILIES, SIZES, Case, cases_for
from xascend.bench._contenders import Contender, contenders_for
from xascend.bench._devices import Host
from xascend.bench._layouts import by_elements, by_idiom, by_torch
from xascend.bench._problem import MODE, WORD, quantised_by_idiom, set_up
from xascend.bench._unavailable import UnavailableError

LAYOUTS = [family for family in FAMILIES if family.is_layout]
DTYPES = ("int8", "float16", "bfloat16", "float32", "complex128")
families = pytest.mark.parametrize("family", LAYOUTS, ids=lambda family: family.name)


def small_case(family: Any, dtype: str, back: bool) -> Case:
    return Case(family, family.shapes[0], dtype, back)


@families
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("shape", [0, 1])
def test_idioms_are_the_formats(family: Any, dtype: str, shape: int) -> None:
    case = Case(family, family.shapes[shape], dtype)
    x = np.arange(np.prod(case.shape)).astype(dtype).reshape(case.shape)
    stored = oracle.convert(x, family.plain, family.blocked, c0=xa.default_c0(dtype))
    made = by_idiom(case.layout, np, x, back=False)()
    assert made.shape == stored.shape
    assert made.tobytes() == stored.tobytes()
    back = by_idiom(case.layout, np, stored, back=True)()
    assert back.flags.c_contiguous
    assert back.tobytes() == x.tobytes()


@families
@pytest.mark.parametrize("back", [False, True])
def test_loops_and_torch_do_the_same(family: Any, back: bool) -> None:
    problem = set_up(small_case(family, "float16", back), Host())
    loop = by_elements(problem.layout, problem.source, problem.out, back=back)
    assert problem.is_solved_by(loop())
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    problem.out.fill(1)
    assert not problem.is_solved_by(None)
    source, out = (torch.from_dlpack(x.view(np.int16)) for x in (problem.source, problem.out))
    by_torch(problem.layout, torch, source, out, back=back)()
    assert problem.is_solved_by(None)


@families
@pytest.mark.parametrize("dtype", DTYPES)
def test_ragged_families_are_padded_and_others_are_not(family: Any, dtype: str) -> None:
    for size in SIZES.values():
        case = next(cases_for([family.name], [dtype], [size]))
        assert case.layout.is_aligned == ("ragged" not in family.name)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_shapes_come_near_to_the_size(family: Any) -> None:
    for size in (SIZES["cache"], SIZES["dram"], SIZES["large"]):
        for case in cases_for([family.name], ["float16"], [size]):
            nbytes = np.prod(case.shape) * np.dtype(case.dtype).itemsize
            assert 0.7 * size < nbytes <= size
    assert family.shape(1) == family.shapes[0]
    assert family.why


def test_equal_shapes_are_measured_once() -> None:
    assert len(list(cases_for(["nz"], ["float16"], [1, 2, 1024]))) == 2
    assert len(list(cases_for(["requantize"], ["float16", "int8"], [1024]))) == 1


class ScriptedClock(Host):
    """A host on which every call takes as long as a script says."""

    def __init__(self, script: dict[str, list[float]]) -> None:
        object.__setattr__(self, "script", script)
        object.__setattr__(self, "calls", [])

    __slots__ = ("calls", "script")

    def seconds(self, call: Any, number: int) -> float:
        name = call()
        self.calls.append((name, number))
        return self.script[name].pop(0)

    def peak_bytes(self, call: Any) -> int:
        return 77


def scripted(monkeypatch: pytest.MonkeyPatch, script: dict[str, list[float]], baselines: dict[str, str]) -> list[str]:
    """Let contenders of these names take part, whose calls return their name and are taken as right; list the calls."""
    called: list[str] = []

    def call(name: str) -> str:
        called.append(name)
        return name

    def entered(*_: Any) -> tuple[Contender, ...]:
        return tuple(
            Contender(name, 1, lambda *_, name=name: nullcontext(partial(call, name)), baselines.get(name, "copy"))
            for name in script
        )

    monkeypatch.setattr(_measure, "contenders_for", entered)
    monkeypatch.setattr(_measure.Problem, "is_solved_by", lambda *_: True)
    return called


def test_ratios_are_taken_within_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    # first call, one warm call, then four rounds in which the machine gets slower and slower
    script = {
        "copy": [9.0, 1.0, 1.0, 2.0, 4.0, 8.0],
        "new copy": [9.0, 1.0, 2.0, 4.0, 8.0, 16.0],
        "ours": [5.0, 1e-3, 2.0, 4.0, 8.0, 32.0],
        "fresh": [5.0, 1.0, 1.0, 2.0, 4.0, 8.0],
    }
    called = scripted(monkeypatch, script, {"fresh": "new copy"})
    clock = ScriptedClock(script)
    result = _measure.measure(Case(FAMILIES[0], (16, 32), "float16"), clock, 1, 4)
    ours, fresh = result.find("ours", 1), result.find("fresh", 1)
    assert (ours.ratio, ours.ratio_low, ours.ratio_high) == (0.5, 0.4375, 0.5)
    assert (ours.seconds, ours.first_call_seconds, ours.peak_bytes) == (6.0, 5.0, 77)
    assert ours.gb_per_s == pytest.approx(result.nbytes / 6e9)
    assert (fresh.ratio, fresh.baseline) == (2.0, "new copy")
    assert result.find("copy", 1).ratio == 1.0
    assert result.find("copy", 2) is None
    assert called[-4:] == ["new copy", "new copy", "ours", "ours"]  # in each turn an untimed call, then a timed one
    rounds = [clock.calls[8 + 4 * number :][:4] for number in range(4)]
    names = list(script)
    assert [[name for name, _ in each] for each in rounds] == [names[k:] + names[:k] for k in range(4)]
    assert {number for each in rounds for name, number in each if name == "ours"} == {2}  # of 1 ms make 2 ms
    assert {number for each in rounds for name, number in each if name == "copy"} == {1}


def test_one_round_has_no_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    script = {"copy": [1.0, 1.0, 1.0], "ours": [1.0, 1.0, 4.0]}
    scripted(monkeypatch, script, {})
    ours = _measure.measure(Case(FAMILIES[0], (16, 32), "float16"), ScriptedClock(script), 1, 1).find("ours", 1)
    assert (ours.ratio, ours.ratio_low, ours.ratio_high) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize("result", [np.zeros, lambda _: None], ids=["wrong", "nothing is written"])
def test_a_wrong_result_is_no_measurement(result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xascend.bench._own._conversion", lambda problem, _: lambda: result(problem.out.shape))
    with pytest.raises(RuntimeError, match="xascend numpy returned a wrong result for nz ND -> FRACTAL_NZ float16"):
        bench.run(families=["nz"], sizes=[1], threads=1, rounds=1)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_everyone_takes_part_or_says_why(family: Any) -> None:
    threads = get_num_threads()
    report = bench.run(families=[family.name], dtypes=["float32"], sizes=[1], threads=3, rounds=2)
    assert len(report.cases) == (2 if family.is_layout else 1)
    for case in report.cases:
        wanted = contenders_for(Case(family, case.shape, case.dtype), Host(), 3)
        seen = {(each.contender, each.threads) for each in case.measurements}
        assert {each.key for each in wanted if each.name not in case.skipped} == seen
        assert {"copy", "idiom"} <= {name for name, _ in seen}
        assert all(case.skipped.values())
        assert all(0 < each.ratio_low <= each.ratio <= each.ratio_high for each in case.measurements)
    assert get_num_threads() == threads
    assert _native.reason_unsupported.__name__ == "reason_unsupported"


@pytest.mark.parametrize("size", [0, 1, 6, 9])
def test_results_are_compared_to_the_last_byte(size: int) -> None:
    problem = set_up(small_case(FAMILIES[0], "int8", False), Host())
    problem = dataclasses.replace(problem, expected=np.arange(size, dtype=np.int8))
    made = problem.expected.copy()
    assert problem.is_solved_by(made)
    for place in range(size):
        made[place] ^= 1
        assert not problem.is_solved_by(made)
        made[place] ^= 1
    assert not problem.is_solved_by(np.append(made, np.int8(0)))


def test_several_threads_copy_everything() -> None:
    problem = set_up(Case(FAMILIES[0], (2048, 1024), "float16"), Host())
    problem.copied[:] = np.resize(np.arange(251, dtype=np.uint8), problem.copied.size)
    for contender in contenders_for(problem.case, problem.device, 3):
        if contender.name == "copy":
            problem.copy.fill(0)
            with contender.ready(problem, contender.threads) as call:
                call()
            assert np.array_equal(problem.copy, problem.copied)


@pytest.mark.parametrize("name", ["xascend numpy", "xascend native"])
def test_the_executor_that_is_named_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "xascend native" and (reason := _native.reason_unsupported()):
        pytest.skip(reason)
    problem = set_up(Case(FAMILIES[0], (16, 32), "float16"), Host())
    (contender,) = (each for each in contenders_for(problem.case, problem.device, 1) if each.name == name)
    other = "_native" if name == "xascend numpy" else "_numpy"

    def refuse(*_: Any) -> None:
        raise LookupError

    with contender.ready(problem, 1) as call:
        monkeypatch.setattr(f"xascend.{other}.run", refuse)
        call()
        monkeypatch.setattr(f"xascend.{name.replace('xascend ', '_')}.run", refuse)
        with pytest.raises(LookupError):
            call()


def only(name: str, family: int = 0, dtype: str = "float16") -> Any:
    """Enter the contender of this name for the smallest case of a family."""
    problem = set_up(small_case(FAMILIES[family], dtype, False), Host())
    contender = next(each for each in contenders_for(problem.case, problem.device, 1) if each.name == name)
    return contender.ready(problem, 1)


def test_reason_of_loops() -> None:
    problem = set_up(Case(FAMILIES[0], (512, 512), "int8"), Host())
    (contender,) = (each for each in contenders_for(problem.case, problem.device, 1) if each.name == "loops")
    with pytest.raises(UnavailableError, match="not run beyond 65536 elements"), contender.ready(problem, 1):
        pass


def test_reason_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnavailableError, match="cannot be imported"), only("torch"):
        pass


def test_reason_of_the_native_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "reason_unsupported", lambda: "/a/path/libxascend_cpu.so is missing")
    with pytest.raises(UnavailableError, match="not built, or switched off"), only("xascend native"):
        pass
    report = bench.run(families=["nz"], sizes=[1], threads=1, rounds=1)
    assert report.machine["native library"] == "not used"
    assert "/a/path" not in report.to_json()


@pytest.fixture
def onednn_library() -> Any:
    if _onednn.version() is None:
        pytest.skip("the library of oneDNN is not found")
    return _onednn._library()


def test_onednn_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_onednn, "_library", lambda: None)
    assert _onednn.version() is None
    with pytest.raises(UnavailableError, match=r"its library \(libdnnl\) is not found"), only("oneDNN"):
        pass


@families
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_onednn_reorders(onednn_library: Any, family: Any, back: bool, dtype: str) -> None:
    problem = set_up(small_case(family, dtype, back), Host())
    (contender,) = (each for each in contenders_for(problem.case, problem.device, 1) if each.name == "oneDNN")
    if "ragged" in family.name:
        with pytest.raises(UnavailableError, match="whole blocks alone"), contender.ready(problem, 1):
            pass
        return
    with contender.ready(problem, 1) as call:
        call()
    assert problem.is_solved_by(None)


def test_onednn_reasons(onednn_library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnavailableError, match="it has no complex128"), only("oneDNN", dtype="complex128"):
        pass
    monkeypatch.setattr(_onednn, "_REFERENCE", (b"",))  # in every name
    with pytest.raises(UnavailableError, match="its reference implementation alone"), only("oneDNN", dtype="float32"):
        pass


class FakeOneDnn:
    """A library whose every function returns what `status` says for it."""

    def __init__(self, **status: int) -> None:
        self.status = status
        self.destroyed: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("omp_") and "openmp" in self.status:
            raise AttributeError(name)
        if name.endswith("_destroy"):
            return lambda _: self.destroyed.append(name)
        return lambda *_: self.status.get(name, 0)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"openmp": 0}, "built without OpenMP"),
        ({"dnnl_reorder_primitive_desc_create": 3}, "no such reorder for this element type on this CPU"),
        ({"dnnl_engine_create": 1}, "dnnl_engine_create failed with status 1"),
        ({"dnnl_primitive_desc_query": 2}, "does not say which implementation"),
    ],
)
def test_onednn_failures(status: dict[str, int], reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeOneDnn(**status)
    monkeypatch.setattr(_onednn, "_library", lambda: library)
    with pytest.raises(UnavailableError, match=reason), only("oneDNN"):
        pass
    if "dnnl_primitive_desc_query" in status:
        assert library.destroyed[0] == "dnnl_primitive_desc_destroy"
        assert library.destroyed[-1] == "dnnl_engine_destroy"


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells peak memory")
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs the C library of GNU")
def test_peak_memory() -> None:
    device, mib = Host(), 1 << 20
    peak = device.peak_bytes(lambda: np.ones(16 * mib, np.uint8).sum())
    assert 15 * mib < peak < 20 * mib
    assert device.peak_bytes(lambda: None) < mib
    problem = set_up(Case(FAMILIES[1], (2047, 4083), "float16"), device)
    idiom = by_idiom(problem.layout, np, problem.source, back=False)
    assert device.peak_bytes(idiom) > 1.9 * problem.expected.nbytes  # padded, and transposed


def test_arrays_begin_at_a_cache_line() -> None:
    for shape in ((3, 5), (100, 100), (1, 1)):
        x = Host().empty(shape, np.float16)
        assert x.__array_interface__["data"][0] % 64 == 0
        assert x.shape == shape


def test_json_there_and_back() -> None:
    report = bench.run(families=["nz", "requantize"], dtypes=["bfloat16"], sizes=[1], threads=1, rounds=2)
    text = report.to_json()
    assert bench.Report.from_json(text).to_json() == text
    fields = json.loads(text)
    assert list(fields) == ["date", "device", "threads", "rounds", "machine", "cases"]
    assert [case["dtype"] for case in fields["cases"]] == ["bfloat16", "bfloat16", "int32"]
    assert fields["cases"][0]["shape"] == [16, 32]
    assert fields["cases"][0]["nbytes"] == 2 * 16 * 32 * 2
    assert fields["cases"][2]["nbytes"] == 5 * 16 * 32


def test_a_report_tells_no_host_and_no_path() -> None:
    text = bench.run(families=["nz"], sizes=[1], threads=1, rounds=1).to_json()
    for secret in (platform.node(), str(Path.home()), str(Path(xa.__file__).parent), str(Path.cwd())):
        assert secret not in text
    assert {"processor", "cores", "system", "python", "native library"} <= set(json.loads(text)["machine"])


def test_progress() -> None:
    seen: list[tuple[int, int, str]] = []
    bench.run(families=["nz"], sizes=[1], threads=1, rounds=1, progress=lambda *now: seen.append(now))
    assert [now[:2] for now in seen] == [(0, 2), (1, 2)]
    assert seen[0][2] == "nz ND -> FRACTAL_NZ float16 16x32"


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"families": ["nx"]}, ValueError, "`families` must be of nz, nz-ragged, .*, got 'nx'"),
        ({"dtypes": ["object"]}, TypeError, "object"),
        ({"sizes": [0]}, ValueError, "`sizes`"),
        ({"threads": 0}, ValueError, "`threads`"),
        ({"rounds": 0}, ValueError, "`rounds`"),
        ({"device": "npu"}, ValueError, "`device` must be auto, cpu, cuda or cuda:N, got 'npu'"),
    ],
)
def test_refusals(arguments: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        bench.run(**{"families": ["nz"], "sizes": [1], "threads": 1, "rounds": 1} | arguments)


def test_quantisation_is_that_of_the_library() -> None:
    x = np.arange(-1000, 1000, dtype=np.int32).reshape(40, 50)
    assert np.array_equal(quantised_by_idiom(x), xa.ascendc.requantize(x, MODE, WORD))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_what_is_ours_takes_part_with_one_thread_and_with_all(family: Any) -> None:
    entered = contenders_for(Case(family, family.shapes[0], "float16"), Host(), 3)
    ours = [each.key for each in entered if each.name.startswith("xascend") and each.name != "xascend numpy"]
    names = ("xascend native", "xascend without out") if family.is_layout else ("xascend",)
    assert ours == [(name, threads) for name in names for threads in (1, 3)]


def test_tables_of_contenders_begin_with_the_copies() -> None:
    for table in (_contenders._HOST, _contenders._CUDA, _contenders._QUANTISED):
        assert [row[0] for row in table[:2]] == ["copy", "new copy"]
        assert {row[3] for row in table} <= {"copy", "new copy"}
