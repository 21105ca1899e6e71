"""Which cases `benchmarks/bench_convert.py` makes tests of."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from scripts import load_script

from xascend.bench._cases import FAMILIES, SIZES

FILE = Path(__file__).parent.parent / "benchmarks" / "bench_convert.py"


def groups_made(*, disabled: bool, keyword: str) -> set[str]:
    """Return the groups, FAMILY-TYPE-SIZE-DIRECTION, of the tests that pytest would make with these options."""
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")
    module = load_script(FILE)
    made: list[str] = []
    module.pytest_generate_tests(
        SimpleNamespace(
            config=SimpleNamespace(option=SimpleNamespace(benchmark_disable=disabled, keyword=keyword)),
            parametrize=lambda _, params: made.extend(param.id for param in params),
        )
    )
    assert len(made) == len(set(made))
    for contender in ("copy-1", "idiom-1"):
        made = [name.removesuffix(f"-{contender}") for name in made]
    return {name for name in made if name.endswith(("-there", "-back"))}


@pytest.mark.parametrize(
    ("disabled", "keyword", "sizes"),
    [
        (False, "", ["tiny", "cache", "dram"]),
        (False, "nz and large", ["tiny", "cache", "dram", "large"]),
        (True, "", ["tiny"]),
        (True, "nz and (cache or dram)", ["tiny", "cache", "dram"]),
    ],
)
def test_groups(disabled: bool, keyword: str, sizes: list[str]) -> None:
    moved = [
        f"{family.name}-{dtype}-{size}-{direction}"
        for family in FAMILIES
        if family.is_layout
        for dtype in ("int8", "float16", "bfloat16", "float32")
        for size in sizes
        for direction in ("there", "back")
    ]
    assert list(SIZES) == ["tiny", "cache", "dram", "large"]
    assert groups_made(disabled=disabled, keyword=keyword) == {*moved, *(f"requantize-int32-{s}-there" for s in sizes)}
