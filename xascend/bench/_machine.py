"""The machine in words that may be published: no name of a host, no path."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from pathlib import Path

from xascend import _native
from xascend._native_library import load
from xascend.bench import _onednn
from xascend.bench._caches import host_caches
from xascend.bench._devices import Cuda, Device

__all__ = ["describe", "device_name"]

_LIBRARIES = ("xascend", "numpy", "torch", "cupy-cuda12x", "cupy-cuda13x")
_CPUINFO = Path("/proc/cpuinfo")


def describe() -> dict[str, str]:
    """Return processor, caches, memory, load and versions, as far as this system tells them."""
    facts = {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "caches": ", ".join(f"{name} {size >> 10}K" for name, size in host_caches().items()),
        "memory": _memory(),
        "load": f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "",  # of the minute before
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for library in _LIBRARIES:
        try:
            facts[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    facts["oneDNN"] = _onednn.version() or ""
    facts["native library"] = "not used" if _native.reason_unsupported() else load().build
    return {name: value for name, value in facts.items() if value}


def device_name(device: Device, /) -> str:
    """Return ``cpu`` or what a CUDA device calls itself."""
    if not isinstance(device, Cuda):
        return "cpu"
    name: str = device.properties()["name"].decode()
    return name


def _processor() -> str:
    """Return the model that the kernel names, or what Python knows."""
    if _CPUINFO.is_file():
        models = re.findall(r"^model name\s*:\s*(.+)$", _CPUINFO.read_text(encoding="utf-8"), re.MULTILINE)
        if models:
            return str(models[0])
    return platform.processor() or platform.machine()


def _memory() -> str:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", ()):
        return ""
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
