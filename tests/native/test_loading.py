"""Finding the library, and what is said where it is missing, broken, outdated or not wanted."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from libraries import random_bits
from native.source_tree import SOURCES, builder, in_a_source_tree

import xascend as xa
from xascend import _native, _native_library

KEEPS_THE_LOCK = 4  # a flag of functions that ctypes calls


@pytest.fixture
def fresh_load(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test load the library anew, and leave the one before behind."""
    before = _native_library.load()
    _native_library.load.cache_clear()
    yield
    monkeypatch.undo()
    _native_library.load.cache_clear()
    assert _native_library.load().path == before.path


def test_it_is_used_and_says_so() -> None:
    info = xa.build_info()
    assert info.native
    assert info.reason is None
    assert info.path is not None
    assert Path(info.path).name == _native_library.NAME
    assert "sources " in info.build
    assert str(info) == f"{info.path} ({info.build})"


def test_other_threads_run_meanwhile() -> None:
    """ctypes keeps Python's lock during functions of this kind, and gives it up during all others."""
    assert type(ctypes.pythonapi.PyObject_Repr)._flags_ & KEEPS_THE_LOCK
    library = _native_library.load()
    for function in (library.convert, library.quantise):
        assert not type(function)._flags_ & KEEPS_THE_LOCK


def test_arrays_really_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    run = _native.run

    def spy(plan, x, out, pad_value) -> None:
        ran.append(type(x))
        run(plan, x, out, pad_value)

    monkeypatch.setattr(_native, "run", spy)
    x = random_bits((20, 28), "float16")
    xa.nd_to_nz(x)
    xa.nd_to_nz(x, out=np.empty((2, 2, 16, 16), np.float16))
    assert ran == [np.ndarray, np.ndarray]
    torch = pytest.importorskip("torch", reason="torch is not installed")
    xa.nd_to_nz(torch.zeros((20, 28)))
    assert len(ran) == 3


def test_explain() -> None:
    x = np.zeros((20, 28), np.float16)
    assert xa.explain(x, "ND", "FRACTAL_NZ") == xa.explain(x, "ND", "NZ", out=np.zeros((2, 2, 16, 16), np.float16))
    assert str(xa.explain(x, "ND", "FRACTAL_NZ")) == "native"
    assert dict(xa.explain(x, "ND", "FRACTAL_NZ").refused) == {}


def test_explain_checks_as_the_conversion_does() -> None:
    with pytest.raises(ValueError, match="`shape`"):
        xa.explain(np.zeros((2, 2, 16, 16), np.float16), "NZ", "ND", shape=(99, 28))
    with pytest.raises(TypeError, match="`x` must be an array"):
        xa.explain([[1.0]], "ND", "NZ")


def test_explain_other_libraries() -> None:
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    why = xa.explain(strict.zeros((20, 28)), "ND", "NZ")
    assert why.executor == "agnostic"
    assert str(why).startswith("agnostic (not native: `x` is not memory that NumPy can see")
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    assert xa.explain(da.zeros((20, 28)), "ND", "NZ").executor == "dask"


def test_explain_a_gradient() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.zeros((20, 28))
    assert xa.explain(x, "ND", "NZ").executor == "native"
    assert xa.explain(x.requires_grad_(), "ND", "NZ").executor == "agnostic"
    with torch.no_grad():
        assert xa.explain(x, "ND", "NZ").executor == "native"


@pytest.mark.usefixtures("fresh_load")
def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XASCEND_DISABLE_NATIVE", "1")
    assert xa.build_info() == xa.runtime.BuildInfo(False, None, "", "XASCEND_DISABLE_NATIVE is set")
    x = random_bits((20, 28), "float16")
    assert str(xa.explain(x, "ND", "NZ")) == "numpy (not native: XASCEND_DISABLE_NATIVE is set)"
    assert np.array_equal(xa.nz_to_nd(xa.nd_to_nz(x), x.shape).view("u2"), x.view("u2"))


@pytest.mark.usefixtures("fresh_load")
def test_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_native_library, "_PLACES", (tmp_path / "nowhere.so",))
    monkeypatch.setattr(_native_library, "_SOURCES", tmp_path / "no sources")
    assert "this installation has none for" in str(xa.build_info().reason)
    assert xa.nd_to_nz(np.zeros((20, 28), np.float16)).shape == (2, 2, 16, 16)


@in_a_source_tree
@pytest.mark.usefixtures("fresh_load")
def test_not_built_yet_in_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_native_library, "_PLACES", (tmp_path / "nowhere.so",))
    assert xa.build_info().reason == f"it has not been built; run `python {SOURCES / 'build.py'}`"


@pytest.mark.usefixtures("fresh_load")
def test_a_package_built_without_it_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    note = tmp_path / "native_absent.txt"
    note.write_text("no C++ compiler was found\n", encoding="utf-8")
    monkeypatch.setattr(_native_library, "_PLACES", (tmp_path / "nowhere.so",))
    monkeypatch.setattr(_native_library, "_ABSENT", note)
    assert xa.build_info().reason == "no C++ compiler was found"


@pytest.mark.usefixtures("fresh_load")
def test_broken_is_never_silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"\x7fELF but not really")
    monkeypatch.setattr(_native_library, "_PLACES", (broken,))
    with pytest.warns(RuntimeWarning, match=r"xascend's native library is not used: .*broken\.so cannot be loaded"):
        info = xa.build_info()
    assert not info.native
    assert info.path == str(broken)
    with pytest.raises(RuntimeError, match="the native library is not used"):
        _native_library.load().convert(0, 0, 0, b"", 1)


@in_a_source_tree
@pytest.mark.usefixtures("fresh_load")
def test_outdated_is_never_silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    changed = tmp_path / "kernels_cpu"
    shutil.copytree(SOURCES, changed)
    (changed / "runs.hpp").write_text("// another version\n", encoding="utf-8")
    monkeypatch.setattr(_native_library, "_SOURCES", changed)
    with pytest.warns(
        RuntimeWarning, match=r"was built from other sources than .*kernels_cpu; run `python .*build\.py` again"
    ):
        assert not xa.build_info().native


@in_a_source_tree
def test_builder_and_loader_agree() -> None:
    assert builder().library_name() == _native_library.NAME
    assert builder().source_digest() == _native_library._source_digest(SOURCES)
    assert builder().OUTPUT / builder().library_name() in (*_native_library._PLACES, Path(xa.build_info().path or ""))


@in_a_source_tree
@pytest.mark.parametrize(
    ("command", "match"), [("/no/such/compiler -x", "does not run"), ("false", "does not run"), ("", "was found")]
)
def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, match: str) -> None:
    monkeypatch.setenv("CXX", command)
    if not command:
        monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(builder().BuildError, match=match):
        builder().build(tmp_path)
    assert not list(tmp_path.glob("*xascend*"))


@in_a_source_tree
def test_a_failing_compiler_shows_its_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not os.environ.get("CXX") and not shutil.which("c++"):
        pytest.skip("no C++ compiler")
    monkeypatch.setenv("CXXFLAGS", "-no-such-flag-at-all")
    with pytest.raises(builder().BuildError, match=r"failed with status \d+:\n.*no-such-flag-at-all"):
        builder().build(tmp_path)
    assert not list(tmp_path.iterdir())
