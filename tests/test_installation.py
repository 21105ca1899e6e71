"""Wheel, source distribution and editable installation, each with a C++ compiler and without one.

Everything happens in a copy of the source tree and in virtual environments of its own, under pytest's folder. The
environments see the packages of this one, so that nothing but the build backend is fetched.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import xascend
from xascend._native_library import NAME

ROOT = Path(xascend.__file__).parents[1]
BACKEND = ("hatchling>=1.27,<2", "editables>=0.3")  # the second is what the first asks for editable installations
USE = (
    "import numpy as np, xascend as xa\n"
    "x = np.arange(560, dtype=np.float16).reshape(20, 28)\n"
    "y = xa.nd_to_nz(x)\n"
    "assert y[1, 1, 3, 11] == 559 and np.array_equal(xa.nz_to_nd(y, x.shape), x)\n"
    "info = xa.build_info()\n"
    "print(xa.__file__, info.native, info.path, info.reason, xa.explain(x, 'ND', 'NZ'), sep='\\n')\n"
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / "hatch_build.py").is_file(), reason="not a source tree"),
]


@dataclass(frozen=True)
class Use:
    """What an installed package tells of itself."""

    file: Path
    native: bool
    library: str
    reason: str
    executor: str


@dataclass(frozen=True)
class Workplace:
    """A copy of the source tree, an environment with the build backend, and processes that see no more than that."""

    folder: Path
    tree: Path
    backend: Path

    def run(
        self, *command: object, cwd: Path | None = None, compiler: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command; without a compiler it finds no program at all."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XASCEND_", "PYTHON"))}
        if not compiler:
            kept.pop("CXX", None)
            kept["PATH"] = str(self.folder / "nothing")
        return subprocess.run(
            [*map(str, command)],
            cwd=cwd or self.folder,
            env=kept | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"} | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def pip(self, python: Path, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run pip on an environment."""
        return self.run(sys.executable, "-m", "pip", "--python", python, *arguments, **options)

    def wheel(self, source: Path, name: str, **options: Any) -> Path:
        """Build a wheel of a tree or a source distribution and return it."""
        out = self.folder / name
        built = self.pip(self.backend, "wheel", "--no-build-isolation", "--no-deps", "-w", out, source, "-v", **options)
        assert built.returncode == 0, built.stderr + built.stdout
        (wheel,) = out.iterdir()
        return wheel

    def environment(self, name: str, *installed: object, **options: Any) -> Path:
        """Make an environment with what is to be installed and return its Python."""
        python = make_environment(self.folder / name, site_packages(self.backend), sysconfig.get_path("purelib"))
        # what the other environments have of this package does not count
        options_of_pip = ("--no-build-isolation", "--no-deps", "--ignore-installed")
        done = self.pip(python, "install", *options_of_pip, *installed, **options)
        assert done.returncode == 0, done.stderr + done.stdout
        return python

    def use(self, python: Path) -> Use:
        """Convert something there and back, and return what the package tells."""
        done = self.run(python, "-W", "error", "-c", USE)
        assert done.returncode == 0, done.stderr
        file, native, library, reason, executor = done.stdout.splitlines()
        return Use(Path(file), native == "True", library, reason, executor)


def make_environment(folder: Path, *others: str | Path) -> Path:
    """Return the Python of a new environment, which also sees the packages of others, behind its own."""
    venv.create(folder, symlinks=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    (site_packages(python) / "zz_others.pth").write_text("".join(f"{other}\n" for other in others), encoding="utf-8")
    return python


def site_packages(python: Path) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(python.parents[1])}))


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    if not os.environ.get("CXX") and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("installation")
    tree = folder / "tree"
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
    shutil.copytree(ROOT, tree, ignore=ignored)
    work = Workplace(folder, tree, make_environment(folder / "backend"))
    done = work.pip(work.backend, "install", "--quiet", *BACKEND)
    assert done.returncode == 0, done.stderr
    return work


@pytest.fixture(scope="module")
def wheel(workplace: Workplace) -> Path:
    return workplace.wheel(workplace.tree, "wheel")


def files_of(wheel: Path) -> dict[str, int]:
    """Return names and sizes of a wheel's files, without the list of them."""
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.file_size for info in archive.infolist() if not info.filename.endswith("RECORD")}


def test_a_wheel_carries_the_library(workplace: Workplace, wheel: Path) -> None:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name == f"xascend-{xascend.__version__}-py3-none-{platform}.whl"
    held = files_of(wheel)
    assert f"xascend/{NAME}" in held
    assert {"xascend/kernels_cuda/runs.cu", "xascend/golden/examples/Brcb.toml"} <= held.keys()
    assert "xascend/native_absent.txt" not in held
    assert not [name for name in held if name.startswith(("tests", "kernels_cpu", "build", "xascend/kernels_cpu"))]
    python = workplace.environment("from-wheel", wheel)
    package = site_packages(python) / "xascend"
    assert workplace.use(python) == Use(package / "__init__.py", True, str(package / NAME), "None", "native")
    shown = workplace.run(python.with_name("xascend"), "info", "--system")
    assert f"native library: {package / NAME} (sources " in shown.stdout

    (package / NAME).write_bytes(b"\x7fELF but not really")
    broken = workplace.run(python, "-c", USE)
    assert broken.returncode == 0, broken.stderr
    assert f"RuntimeWarning: xascend's native library is not used: {package / NAME} cannot be loaded" in broken.stderr
    assert broken.stdout.splitlines()[-1].startswith("numpy (not native: ")


def test_a_source_distribution_gives_the_same_wheel(workplace: Workplace, wheel: Path) -> None:
    code = f"from hatchling.build import build_sdist; build_sdist({str(workplace.folder)!r})"
    done = workplace.run(workplace.backend, "-c", code, cwd=workplace.tree)
    assert done.returncode == 0, done.stderr
    sdist = workplace.folder / f"xascend-{xascend.__version__}.tar.gz"
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"kernels_cpu/build.py", "kernels_cpu/xascend_cpu.cpp", "hatch_build.py", "tests/oracle.py"} <= held
    assert not [name for name in held if name.startswith("build/") or name.endswith(NAME)]
    again = workplace.wheel(sdist, "wheel-from-sdist")
    assert again.name == wheel.name
    assert files_of(again) == files_of(wheel)


def test_an_editable_installation_finds_the_library_and_tells_when_it_is_outdated(workplace: Workplace) -> None:
    tree = shutil.copytree(workplace.tree, workplace.folder / "edited", ignore=shutil.ignore_patterns("build"))
    python = workplace.environment("editable", "-e", tree)
    library = tree / "build" / "kernels_cpu" / NAME
    expected = Use(tree / "xascend" / "__init__.py", True, str(library), "None", "native")
    assert workplace.use(python) == expected

    with (tree / "kernels_cpu" / "runs.hpp").open("a", encoding="utf-8") as stream:
        stream.write("// changed\n")
    outdated = workplace.run(python, "-c", USE)
    assert outdated.returncode == 0, outdated.stderr
    command = f"python {tree / 'kernels_cpu' / 'build.py'}"
    assert f"was built from other sources than {tree / 'kernels_cpu'}; run `{command}` again" in outdated.stderr
    assert outdated.stdout.splitlines()[-1].startswith("numpy (not native: ")
    program, script = shlex.split(command)
    assert program == "python"
    assert workplace.run(python, script).returncode == 0
    assert workplace.use(python) == expected


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"compiler": False}, "no C++ compiler was found (c++, g++ or clang++; the variable CXX names another)"),
        ({"XASCEND_NATIVE": "0"}, "XASCEND_NATIVE=0 was set when it was installed"),
    ],
)
def test_without_a_compiler_a_wheel_for_any_platform_says_why(
    workplace: Workplace, options: dict[str, Any], reason: str
) -> None:
    name = "without-" + "-".join(options)
    wheel = workplace.wheel(workplace.tree, name, **options)
    assert wheel.name == f"xascend-{xascend.__version__}-py3-none-any.whl"
    held = files_of(wheel)
    assert "xascend/native_absent.txt" in held
    assert f"xascend/{NAME}" not in held
    python = workplace.environment(f"from-{name}", wheel)
    used = workplace.use(python)
    assert used.file.parent == site_packages(python) / "xascend"
    assert (used.native, used.library, used.reason) == (False, "None", reason)
    assert used.executor == f"numpy (not native: {reason})"


def test_an_editable_installation_without_a_compiler_says_how_to_build(workplace: Workplace) -> None:
    tree = shutil.copytree(workplace.tree, workplace.folder / "unbuilt", ignore=shutil.ignore_patterns("build"))
    python = workplace.environment("editable-unbuilt", "-e", tree, compiler=False)
    used = workplace.use(python)
    assert (used.file.parent, used.native) == (tree / "xascend", False)
    assert used.reason == f"it has not been built; run `python {tree / 'kernels_cpu' / 'build.py'}`"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compiler": False}, "BuildError: no C++ compiler was found"),
        ({"CXX": "false"}, "BuildError: the C++ compiler false does not run"),
        ({"CXXFLAGS": "-no-such-flag-at-all"}, " failed with status 1:"),
    ],
)
def test_a_library_that_is_required_is_built_or_nothing_is(
    workplace: Workplace, options: dict[str, Any], message: str
) -> None:
    out = workplace.folder / "required"
    command = "wheel", "--no-build-isolation", "--no-deps", "-w", out, workplace.tree
    done = workplace.pip(workplace.backend, *command, XASCEND_NATIVE="require", **options)
    assert done.returncode != 0
    assert message in done.stderr + done.stdout
    assert not out.exists() or not list(out.iterdir())
