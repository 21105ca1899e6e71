"""Memory stays at about a slab, however large the files are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from xascend._plan import make_plan
from xascend._slabs import slabs
from xascend.formats import Format

MIB = 1 << 20

# The map of a file is no memory of the process, so what counts is the data segment: heap and anonymous maps.
LIMITED = """
import resource, sys
import numpy, safetensors
from xascend import files
used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[3]), used + int(sys.argv[3])))
report = files.convert(sys.argv[1], sys.argv[2], src_format="ND", dst_format="NZ", verify="verify" in sys.argv)
assert not report.failed, report.failed
try:
    numpy.ones(2 * int(sys.argv[3]), numpy.uint8)
except MemoryError:
    sys.exit(0)
sys.exit("the limit does not bind")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of the data segment is Linux's")
@pytest.mark.parametrize("verify", ["", "verify"])
def test_three_shards_under_a_limit_below_any_of_them(tmp_path: Path, environment: dict, verify: str) -> None:
    (tmp_path / "in").mkdir()
    for n in range(3):
        x = np.full((4096, 4000), n, np.float16)  # 31 MiB, and 3 of them
        save_file({f"w{n}": x, f"bias{n}": x[0]}, tmp_path / "in" / f"{n}.safetensors")
    limit = 24 * MIB
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path / "in", tmp_path / "out", str(limit), verify],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dst", [Format.NC1HWC0, Format.FRACTAL_Z, Format.FRACTAL_NZ, Format.NHWC])
def test_slabs_follow_each_other_in_the_output(counting: Callable, dst: Format) -> None:
    plan = make_plan(Format.NCHW, dst, (3, 70, 9, 11), None, 16, None, 1)
    places = np.arange(np.prod(plan.dst_shape)).reshape(plan.dst_shape)
    parts = [places[slab.dst].ravel() for slab in slabs(plan, 2000)]
    assert len(parts) > 3
    assert np.array_equal(np.concatenate(parts), places.ravel())
