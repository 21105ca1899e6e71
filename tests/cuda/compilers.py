"""Compilers for CUDA sources that need no GPU: nvcc where it is installed, else NVRTC from the Python package index."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from xascend._cuda._jobs import Kernel
from xascend._cuda._loader import read_source

# What CuPy adds behind the options of its callers, of which the last counts.
CUPY_OPTIONS = ("-ftz=true",)
CUPY_NVRTC_OPTIONS = (*CUPY_OPTIONS, "--device-as-default-execution-space")


@dataclass(frozen=True)
class Compiled:
    """A file as PTX and machine code, and what the assembler says of its entries: bytes of stack and of spills."""

    ptx: str
    cubin: bytes
    stack: dict[str, int]
    spills: dict[str, int]


def find_compiler() -> Callable[[Kernel, int], Compiled]:
    """Return a function of a kernel, whose file it compiles, and an architecture; skips where there is no compiler."""
    if shutil.which("nvcc"):
        return _with_nvcc
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        pytest.skip("no compiler for CUDA: neither nvcc nor nvidia-cuda-nvrtc with cuda-bindings")
    if nvrtc.nvrtcVersion()[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        pytest.skip("cuda-bindings finds no NVRTC")
    return _with_nvrtc


def disassemble(compiled: Compiled) -> dict[str, str]:
    """Return the instructions of every entry; skips the test where there is no disassembler."""
    tool = shutil.which("nvdisasm")
    package = importlib.util.find_spec("nvidia.cu13") if importlib.util.find_spec("nvidia") else None
    for folder in () if package is None else package.submodule_search_locations:
        tool = tool or shutil.which("nvdisasm", path=f"{folder}/bin")
    if tool is None:
        pytest.skip("no nvdisasm to read machine code with")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.cubin)
        file.flush()
        made = subprocess.run([tool, file.name], capture_output=True, text=True, check=True)
    parts = re.split(r"^\s*\.section\s+\.text\.(\w+),.*$", made.stdout, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entry_ptx(compiled: Compiled, kernel: Kernel) -> str:
    """Return the PTX of one entry."""
    found = re.search(rf"\.entry {kernel.entry}\b.*?^}}", compiled.ptx, re.DOTALL | re.MULTILINE)
    assert found, kernel
    return found[0]


def _with_nvcc(kernel: Kernel, architecture: int) -> Compiled:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / kernel.file
        source.write_text(read_source(kernel.file), encoding="utf-8")
        options = ["-std=c++17", f"-arch=sm_{architecture}", *kernel.definitions, *CUPY_OPTIONS, "-Xptxas=-v", "--keep"]
        made = subprocess.run(
            ["nvcc", *options, "-Werror=all-warnings", "-cubin", "-o", f"{folder}/made.cubin", str(source)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        cubin = (Path(folder) / "made.cubin").read_bytes()
        return _read(source.with_suffix(".ptx").read_text(), cubin, made.stderr)


def _with_nvrtc(kernel: Kernel, architecture: int) -> Compiled:
    from cuda.bindings import nvrtc

    options = [b"-std=c++17", f"-arch=sm_{architecture}".encode(), b"--ptxas-options=-v"]
    options += [option.encode() for option in (*kernel.definitions, *CUPY_NVRTC_OPTIONS)]
    source = read_source(kernel.file).encode()
    program = _value(nvrtc, nvrtc.nvrtcCreateProgram(source, kernel.file.encode(), 0, [], []))
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = b" " * _value(nvrtc, nvrtc.nvrtcGetProgramLogSize(program))
    _value(nvrtc, nvrtc.nvrtcGetProgramLog(program, log))
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    ptx = b" " * _value(nvrtc, nvrtc.nvrtcGetPTXSize(program))
    _value(nvrtc, nvrtc.nvrtcGetPTX(program, ptx))
    cubin = b" " * _value(nvrtc, nvrtc.nvrtcGetCUBINSize(program))
    _value(nvrtc, nvrtc.nvrtcGetCUBIN(program, cubin))
    return _read(ptx.decode(), cubin, log.decode())


def _value(nvrtc, results):
    status, *values = results
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, status
    return values[0] if values else None


def _read(ptx: str, cubin: bytes, log: str) -> Compiled:
    stack, spills = {}, {}
    pattern = r"properties for (\w+)\n\D*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    for entry, frame, stores, loads in re.findall(pattern, log):
        stack[entry], spills[entry] = int(frame), int(stores) + int(loads)
    return Compiled(ptx, cubin, stack, spills)
