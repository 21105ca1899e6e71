"""The public interface: names, signatures, `__all__`, and what an import loads."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import xascend as xa
from xascend import atb

PACKAGE = Path(xa.__file__).parent
CORE_NAMES = {
    "Format",
    "atb",
    "block_c0",
    "default_c0",
    "is_aligned",
    "locate",
    "nc1hwc0_to_nchw",
    "nc1hwc0_to_nhwc",
    "nchw_to_nc1hwc0",
    "nd_to_nz",
    "nhwc_to_nc1hwc0",
    "npu_format_cast",
    "nz_to_nd",
    "storage_nbytes",
    "storage_shape",
    "trans_data",
}


def modules() -> list[str]:
    """Return every module of the package that imports without an optional library."""
    found = [info.name for info in pkgutil.walk_packages([str(PACKAGE)], "xascend.", onerror=lambda _: None)]
    return sorted(name for name in found if not name.endswith("__main__") and "._cuda" not in name)


def order(name: str) -> tuple[int, str]:
    """Sort as the linter does: constants, then classes, then the rest."""
    return 0 if name.isupper() else 1 if name[0].isupper() else 2, name


def test_every_public_name_is_there() -> None:
    assert set(xa.__all__) >= CORE_NAMES
    for name in xa.__all__:
        assert hasattr(xa, name)


def test_all_is_complete() -> None:
    own = {
        name
        for name, value in vars(xa).items()
        if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith("xascend.")
    }
    assert own <= set(xa.__all__)


def test_what_type_checkers_see_is_what_is_loaded() -> None:
    (block,) = (node for node in ast.parse(inspect.getsource(xa)).body if isinstance(node, ast.If))
    seen = {node.module: {alias.name for alias in node.names} for node in block.body}
    modules = seen.pop("xascend")
    assert {f"xascend.{home}": set(names) for home, names in xa._HOMES.items()} == seen
    assert modules | set(xa._HOMES) == set(xa._MODULES)
    assert set(xa.__all__) == modules.union(*seen.values())


def test_names_are_loaded_when_asked_for() -> None:
    done = run_python(
        "import sys, xascend as xa\n"
        "assert not {'numpy', 'xascend.formats', 'xascend.files'} & set(sys.modules)\n"
        "assert {name for name in dir(xa) if name[:2] != '__'} == set(xa.__all__)\n"
        "assert '__version__' in dir(xa)\n"
        "import numpy as np\n"
        "assert xa.testing.compare(xa.nd_to_nz(np.ones((16, 16))), np.ones((1, 1, 16, 16)))\n"
        "assert 'nd_to_nz' in vars(xa) and 'xascend.files' not in sys.modules\n"
        "import pickle\n"
        "assert pickle.loads(pickle.dumps((xa.nd_to_nz, xa.Format.ND))) == (xa.nd_to_nz, xa.Format.ND)\n"
        "names = {}\n"
        "exec('from xascend import *', names)\n"
        "assert set(xa.__all__) <= set(names)\n"
    )
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="module 'xascend' has no attribute 'nd_to_zn'"):
        xa.nd_to_zn  # noqa: B018


def test_atb_names() -> None:
    assert set(atb.__all__) == {"TransdataParam", "TransdataType", "transdata"}


@pytest.mark.parametrize("name", ["xascend", *modules()])
def test_all_of_every_module(name: str) -> None:
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None)
    assert names is not None, f"{name} has no __all__"
    assert list(names) == sorted(names, key=order)
    assert len(set(names)) == len(names)
    for exported in names:
        assert hasattr(module, exported)
    defined = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == name
    }
    assert defined <= set(names)


SIGNATURES = {
    "trans_data": "x, src_format, dst_format, /, *, shape=None, c0=None, groups=1, pad_value=0, strict=False, out=None",
    "nz_to_nd": "x, /, shape=None",
    "nc1hwc0_to_nchw": "x, /, channels=None",
    "nc1hwc0_to_nhwc": "x, /, channels=None",
    "storage_shape": "shape, dst_format, dtype, *, src_format=None, c0=None, groups=1",
    "storage_nbytes": "shape, dst_format, dtype, *, src_format=None, c0=None, groups=1",
    "is_aligned": "shape, dst_format, dtype, *, src_format=None, c0=None, groups=1",
    "locate": "index, shape, src_format, dst_format, *, dtype=None, c0=None, groups=1",
}


@pytest.mark.parametrize(("name", "wanted"), SIGNATURES.items())
def test_signatures(name: str, wanted: str) -> None:
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(getattr(xa, name)).parameters.values()
    ]
    shown = str(inspect.Signature(bare)).strip("()").replace(" ", "")
    wanted = wanted.replace(" ", "")
    assert shown.startswith(wanted) if name in ("nz_to_nd", "nc1hwc0_to_nchw", "nc1hwc0_to_nhwc") else shown == wanted


@pytest.mark.parametrize("name", ["nd_to_nz", "nchw_to_nc1hwc0", "nhwc_to_nc1hwc0"])
def test_forward_pairs_take_c0_by_keyword(name: str) -> None:
    parameters = inspect.signature(getattr(xa, name)).parameters
    assert parameters["x"].kind is inspect.Parameter.POSITIONAL_ONLY
    assert parameters["c0"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["c0"].default is None


@pytest.mark.parametrize("name", sorted(CORE_NAMES - {"atb"}))
def test_documented_with_an_example(name: str) -> None:
    doc = inspect.getdoc(getattr(xa, name)) or ""
    assert ">>> " in doc
    if name != "Format":
        for section in ("Parameters", "Returns", "Raises"):
            assert f"{section}\n---" in doc


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_and_use_load_no_optional_library() -> None:
    done = run_python(
        "import sys, numpy as np, xascend as xa\n"
        "xa.nd_to_nz(np.zeros((20, 28), np.float16))\n"
        "heavy = {'cupy', 'torch', 'dask', 'distributed', 'jax', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    assert done.returncode == 0, done.stderr


def test_works_where_no_optional_library_can_be_imported() -> None:
    done = run_python(
        "import sys\n"
        "for name in ('cupy', 'torch', 'dask', 'distributed', 'jax', 'matplotlib'):\n"
        "    sys.modules[name] = None  # import raises ImportError\n"
        "import numpy as np, xascend as xa\n"
        "x = np.arange(560, dtype=np.float16).reshape(20, 28)\n"
        "assert (xa.nz_to_nd(xa.nd_to_nz(x), (20, 28)) == x).all()\n"
    )
    assert done.returncode == 0, done.stderr


def test_version_is_the_one_in_the_changelog() -> None:
    changelog = PACKAGE.parent / "CHANGELOG.md"
    if not changelog.is_file():
        pytest.skip("no CHANGELOG.md beside the package: not a source tree")
    assert xa.__version__ in changelog.read_text(encoding="utf-8")


def test_typed_marker() -> None:
    assert (PACKAGE / "py.typed").is_file()
