"""The kernel tests once more under AddressSanitizer and UndefinedBehaviorSanitizer, and a fuzz against the oracles.

The library is built with small limits, so that small arrays go the ways of large ones: streamed stores, staged
blocks, several threads. Of what runs kernels, only the sizes past 2**32 stay out, for their time and memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from native.source_tree import LIBRARY, ROOT, SOURCES, in_a_source_tree, missing, need

HERE = Path(__file__).parent
#: Files beside this one that make libraries and programs of their own, and the one with sizes past 2**32.
LEFT_OUT = ("test_sanitizers.py", "test_loading.py", "test_*processors.py", "test_large.py")
# Hypothesis draws what these convert; they compare with loops over elements, which share no code with the library.
AGAINST_ORACLES = (
    "test_trans_data_properties.py",
    "ascendc/test_transdata5hd_properties.py",
    "ascendc/test_brcb.py",
    "ascendc/test_fixpipe_layouts.py",
    "quant/test_requantize.py",
)
FLAGS = "-DXASCEND_SMALL_LIMITS=1 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(LIBRARY), reason="this is the run under sanitizers"),
    pytest.mark.skipif(sys.platform != "linux", reason="what is preloaded here are libraries of Linux"),
    in_a_source_tree,
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return variables under which Python runs with the sanitizers and the library built for them."""
    need("g++")
    folder = tmp_path_factory.mktemp("sanitizers")
    variables = os.environ | {"CXX": "g++", "CXXFLAGS": FLAGS}
    command = [sys.executable, str(SOURCES / "build.py"), "--strict", "--output", str(folder)]
    library = subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout.strip()
    runtimes = []
    for name in ("libasan.so", "libubsan.so"):
        found = subprocess.run(["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout
        if not Path(found.strip()).is_absolute():
            missing(f"g++ has no {name}")
        runtimes.append(found.strip())
    return os.environ | {
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter itself keeps memory to the end
        "XASCEND_TEST_LIBRARY": library,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }


def test_kernels(environment: dict[str, str]) -> None:
    """Take about 100 s, of which the tests against oracles take 40."""
    options = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile", "fuzz"]
    options += ["--capture=sys"]  # what sanitizers say as they end the process is not kept by pytest then
    options += [f"--ignore-glob=*/{name}" for name in LEFT_OUT]
    command = [sys.executable, "-m", "pytest", *options, str(HERE), *(str(HERE.parent / x) for x in AGAINST_ORACLES)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize(
    ("source", "result", "program"),
    [
        (64, 65, "[1, 1, 1, 1, 1, 0, 0, 0, 1, 65, 1, 1]"),  # one byte more than the source has
        (65, 64, "[1, 1, 1, 1, 1, 0, 0, 0, 1, 65, 1, 1]"),  # and than the destination
        (64, 64, "[1, 1, 1, 1, 1, 0, -1, 0, 1, 4, 1, 1]"),  # begins before the source
        (4096, 4095, "[1, 1, 1, 1, 1, 0, 0, 0, 1, 4096, 1, 1]"),  # streams whole lines
        (4095, 4094, "[1, 1, 1, 1, 1, 0, 0, 0, 1, 4095, 1, 1]"),  # streams the end of a row
    ],
)
def test_a_kernel_that_goes_astray_is_found(
    environment: dict[str, str], source: int, result: int, program: str
) -> None:
    code = (
        "import array, ctypes, os\n"
        "library = ctypes.CDLL(os.environ['XASCEND_TEST_LIBRARY'])\n"
        "allocate = ctypes.CDLL(None).malloc\n"
        "allocate.restype = ctypes.c_void_p\n"
        f"program = array.array('q', {program})\n"
        "address = ctypes.c_void_p(program.buffer_info()[0])\n"
        f"source, result = (ctypes.c_void_p(allocate(size)) for size in ({source}, {result}))\n"
        "library.xascend_convert(address, source, result, b'', 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "ERROR: AddressSanitizer" in done.stderr
