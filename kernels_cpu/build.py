"""Builds the native library: ``python kernels_cpu/build.py [--strict] [--output DIRECTORY]``.

Installing the package does this by itself; in a checkout the library lies in ``build/kernels_cpu``, where the package
looks for it, and is to be built again after a change of the sources. Only the standard library is needed.

A compiler of the GCC or Clang family is taken from the variable ``CXX``, or found as c++, g++ or clang++; flags in
``CXXFLAGS`` and ``LDFLAGS`` are added.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["BuildError", "build", "library_name", "source_digest"]

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parent / "build" / HERE.name
ARITHMETIC = ("-fno-math-errno", "-ffp-contract=off")  # every product is rounded before it is added to something
FLAGS = ("-std=c++17", "-O3", *ARITHMETIC, "-fvisibility=hidden", "-fPIC", "-shared", "-pthread")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")


class BuildError(RuntimeError):
    """The library could not be built; the message says why."""


def library_name() -> str:
    """Return the file name of the library on this system."""
    return {"darwin": "libxascend_cpu.dylib", "win32": "xascend_cpu.dll"}.get(sys.platform, "libxascend_cpu.so")


def source_digest(folder: Path = HERE) -> str:
    """Return a digest of the C++ sources, which the library carries and the loader compares in a checkout."""
    digest = hashlib.sha256()
    for path in sorted((*folder.glob("*.cpp"), *folder.glob("*.hpp"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def find_compiler() -> list[str]:
    """Return the compiler's command, or raise BuildError where there is none."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return [name]
    raise BuildError("no C++ compiler was found (c++, g++ or clang++; the variable CXX names another)")


def build(output: Path = OUTPUT, *, strict: bool = False, extra: tuple[str, ...] = ()) -> Path:
    """Compile the library into the folder `output` and return its path; `strict` makes warnings errors."""
    compiler = find_compiler()
    try:
        version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"the C++ compiler {shlex.join(compiler)} does not run: {error}") from error
    made = f"sources {source_digest()}, {version.splitlines()[0]}" if version else f"sources {source_digest()}"
    output.mkdir(parents=True, exist_ok=True)
    target = output / library_name()
    unfinished = target.with_suffix(f".{os.getpid()}.tmp")
    command = [
        *compiler,
        *FLAGS,
        *(WARNINGS if strict else ()),
        *extra,
        *shlex.split(os.environ.get("CXXFLAGS", "")),
        f'-DXASCEND_BUILD="{made}"',
        *map(str, sorted(HERE.glob("*.cpp"))),
        *shlex.split(os.environ.get("LDFLAGS", "")),
        "-o",
        str(unfinished),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        unfinished.unlink(missing_ok=True)
        raise BuildError(f"{shlex.join(compiler)} failed with status {done.returncode}:\n{done.stderr[-2000:]}")
    unfinished.replace(target)  # at once: a process that has loaded the one before keeps it
    return target


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--strict", action="store_true", help="make warnings errors")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the library")
    options = parser.parse_args()
    try:
        print(build(options.output, strict=options.strict))
    except BuildError as error:
        sys.exit(f"the native library was not built: {error}")


if __name__ == "__main__":
    main()
