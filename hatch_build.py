"""Build hook: compiles the native library where a C++ compiler is, and leaves it out where none is.

The variable ``XASCEND_NATIVE`` decides otherwise: ``0`` never compiles, ``require`` makes a missing compiler or any
warning an error.
"""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeLibraryHook(BuildHookInterface):
    """Adds the library to a wheel, which is then for one platform; or a note that says why it is not there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into ``build/kernels_cpu``, where an editable installation and a checkout find it too."""
        if self.target_name != "wheel":
            return
        builder = _load_builder(Path(self.root))
        try:
            library = _build(builder)
        except builder.BuildError as error:
            if os.environ.get("XASCEND_NATIVE") == "require":
                raise
            self.app.display_warning(f"without the native library, NumPy serves: {error}")
            note = builder.OUTPUT / "native_absent.txt"
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(f"{error}\n", encoding="utf-8")
            build_data["force_include"][str(note)] = f"xascend/{note.name}"
            return
        if version != "editable":
            build_data["force_include"][str(library)] = f"xascend/{library.name}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _build(builder: Any) -> Path:
    wanted = os.environ.get("XASCEND_NATIVE", "")
    if wanted == "0":
        raise builder.BuildError("XASCEND_NATIVE=0 was set when it was installed")
    library: Path = builder.build(strict=wanted == "require")
    return library


def _load_builder(root: Path) -> Any:
    spec = importlib.util.spec_from_file_location("xascend_build", root / "kernels_cpu" / "build.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{root} has no kernels_cpu/build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
