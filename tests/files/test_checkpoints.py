"""Checkpoints: which tensors are converted, shards with an index, folders, and what a dry run tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from xascend import files

ND_NZ = {"src_format": "ND", "dst_format": "NZ"}
INDEX = "model.safetensors.index.json"


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def sharded(tmp_path: Path, counting: Callable) -> Path:
    """Return a folder with two shards, their index, and other files."""
    folder = tmp_path / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    shards = [{"a.weight": counting((20, 28), "float16"), "a.bias": counting((28,), "float16")}, {"b.bias": np.ones(9)}]
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name, tensors in zip(names, shards, strict=True):
        save_file(tensors, folder / name)
    weight_map = {tensor: name for name, tensors in zip(names, shards, strict=True) for tensor in tensors}
    fields = {"metadata": {"total_size": 1176 + 72, "made_by": "me"}, "weight_map": weight_map, "extra": 1}
    (folder / INDEX).write_text(json.dumps(fields))
    (folder / "config.json").write_text('{"layers": 1}')
    (folder / "1_Pooling" / "config.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"not ours")
    return folder


def test_a_folder_there_and_back(sharded: Path, tmp_path: Path, same_bits: Callable) -> None:
    files.convert(sharded, tmp_path / "nz", verify=True, **ND_NZ)
    assert tree(tmp_path / "nz") == tree(sharded)
    index = json.loads((tmp_path / "nz" / INDEX).read_text())
    original = json.loads((sharded / INDEX).read_text())
    assert index["weight_map"] == original["weight_map"]
    assert index["metadata"] == {"total_size": 2048 + 56 + 72, "made_by": "me"}
    assert index["extra"] == 1
    assert (tmp_path / "nz" / "pytorch_model.bin").read_bytes() == b"not ours"
    files.convert(tmp_path / "nz", tmp_path / "back", verify=True)
    assert tree(tmp_path / "back") == tree(sharded)
    assert json.loads((tmp_path / "back" / INDEX).read_text()) == original
    for shard in sharded.glob("*.safetensors"):
        before, after = load_file(shard), load_file(tmp_path / "back" / shard.name)
        assert before.keys() == after.keys()
        assert all(same_bits(before[name], after[name]) for name in before)


@pytest.mark.parametrize("out", ["nz", f"nz/{INDEX}"])
def test_an_index_is_converted_with_its_shards_alone(sharded: Path, tmp_path: Path, out: str) -> None:
    files.convert(sharded / INDEX, tmp_path / out, **ND_NZ)
    assert tree(tmp_path / "nz") == [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        INDEX,
    ]
    assert [info.name for info in files.inspect(tmp_path / "nz" / INDEX)] == ["a.bias", "a.weight", "b.bias"]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            {"a.bias": "model-00002-of-00002.safetensors"},
            "puts a.bias into model-00002-of-00002.safetensors, which does",
        ),
        ({"c": "model-00003.safetensors"}, "names a shard that is not there"),
        ({"c": "../model.safetensors"}, "no plain file name"),
        ({"c": 3}, "not a readable index"),
    ],
)
def test_an_index_that_lies(sharded: Path, tmp_path: Path, digest: Callable, change: dict, match: str) -> None:
    fields = json.loads((sharded / INDEX).read_text())
    fields["weight_map"] |= change
    (sharded / INDEX).write_text(json.dumps(fields))
    before = digest(tmp_path)
    for source in (sharded, sharded / INDEX):
        with pytest.raises((ValueError, OSError), match=match):
            files.convert(source, tmp_path / "nz", **ND_NZ)
    assert digest(tmp_path) == before
    (sharded / INDEX).write_text("[]")
    with pytest.raises(ValueError, match="not a readable index"):
        files.convert(sharded, tmp_path / "nz", **ND_NZ)
    assert not (tmp_path / "nz").exists()


def test_a_damaged_shard_is_refused_before_anything_is_written(sharded: Path, tmp_path: Path) -> None:
    (sharded / "model-00002-of-00002.safetensors").write_bytes(b"short")
    with pytest.raises(ValueError, match="model-00002"):
        files.convert(sharded, tmp_path / "nz", **ND_NZ)
    assert not (tmp_path / "nz").exists()


def test_a_folder_of_every_type(tmp_path: Path, counting: Callable, same_bits: Callable) -> None:
    source = tmp_path / "in"
    (source / "sub").mkdir(parents=True)
    x = counting((20, 28), "float16")
    np.save(source / "a.npy", x)
    np.savez(source / "sub" / "b.npz", w=x, bias=x[0])
    save_file({"w": x}, source / "c.safetensors")
    files.convert(source / "a.npy", source / "d.bin", src_format="ND", dst_format="ND")
    (source / "link.npy").symlink_to("a.npy")
    (source / "loop").symlink_to(source)
    files.convert(source, tmp_path / "nz", verify=True, **ND_NZ)
    files.convert(tmp_path / "nz", tmp_path / "back", verify=True)
    assert tree(tmp_path / "back") == sorted(
        [
            "a.npy",
            "a.npy.json",
            "c.safetensors",
            "d.bin",
            "d.bin.json",
            "link.npy",
            "link.npy.json",
            "sub/b.npz",
            "sub/b.npz.json",
        ]
    )
    assert same_bits(np.load(tmp_path / "back" / "a.npy"), x)
    assert (tmp_path / "back" / "d.bin").read_bytes() == x.tobytes()


def test_globs_leave_arrays_of_a_folder_as_they_are(tmp_path: Path, counting: Callable, same_bits: Callable) -> None:
    (tmp_path / "in").mkdir()
    for name in "ab":
        np.save(tmp_path / "in" / f"{name}.npy", counting((20, 28), "float16"))
    files.convert(tmp_path / "in", tmp_path / "out", include=["a"], **ND_NZ)
    assert np.load(tmp_path / "out" / "a.npy").shape == (2, 2, 16, 16)
    assert same_bits(np.load(tmp_path / "out" / "b.npy"), counting((20, 28), "float16"))


def test_folders_that_do_not_fit(sharded: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for src, dst, match in (
        (sharded, sharded, "must lie outside the input folder"),
        (sharded, sharded / "nz", "must lie outside the input folder"),
        (sharded, tmp_path / "file", "must be a folder"),
        (sharded, tmp_path / "y.npz", "must be a folder"),
        (tmp_path / "empty", tmp_path / "nz", "holds no file to convert"),
    ):
        with pytest.raises(ValueError, match=match):
            files.convert(src, dst, **ND_NZ)


def test_globs_choose(tmp_path: Path, counting: Callable) -> None:
    names = ("layer.0.attn.weight", "layer.0.mlp.weight", "layer.1.attn.weight", "embed.weight")
    save_file({name: counting((20, 28), "float16") for name in names}, tmp_path / "x.safetensors")

    def converted(**options: object) -> list[str]:
        report = files.convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", dry_run=True, **ND_NZ, **options)
        return sorted(tensor.name for tensor in report.tensors if tensor.action == "convert")

    assert converted() == sorted(names)
    assert converted(include=["layer.*"]) == sorted(names[:3])
    assert converted(include=["layer.0.*", "embed*"], exclude=["*mlp*"]) == sorted([names[0], names[3]])
    assert converted(exclude=["layer.[01].attn.*"]) == sorted([names[1], names[3]])
    with pytest.raises(ValueError, match=r"nothing to convert: embed\.weight: not chosen .* \(and 3 more\)"):
        files.convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", include=["LAYER.*"], **ND_NZ)


def test_a_part_first_and_the_rest_later(tmp_path: Path, counting: Callable, same_bits: Callable) -> None:
    tensors = {"a": counting((20, 28), "float16"), "b": counting((9, 8), "int8"), "bias": counting((5,), "float16")}
    save_file(tensors, tmp_path / "x.safetensors")
    files.convert(tmp_path / "x.safetensors", tmp_path / "1.safetensors", include=["a"], **ND_NZ)
    with pytest.raises(ValueError, match="a is FRACTAL_NZ already"):
        files.convert(tmp_path / "1.safetensors", tmp_path / "2.safetensors", **ND_NZ)
    files.convert(tmp_path / "1.safetensors", tmp_path / "2.safetensors", include=["b"], **ND_NZ)
    report = files.convert(tmp_path / "2.safetensors", tmp_path / "3.safetensors")
    assert {tensor.name: tensor.reason for tensor in report.tensors if tensor.action == "copy"} == {
        "bias": "no record of a conversion"
    }
    back = load_file(tmp_path / "3.safetensors")
    assert all(same_bits(back[name], x) for name, x in tensors.items())


def test_the_rule_of_each_format(tmp_path: Path) -> None:
    shapes = {"1d": (8,), "2d": (8, 8), "3d": (2, 8, 8), "4d": (8, 4, 3, 3), "4d8": (8, 8, 3, 3), "5d": (8, 4, 2, 3, 3)}
    np.savez(tmp_path / "x.npz", **{name: np.zeros(shape, np.float16) for name, shape in shapes.items()})

    def held(src: str, dst: str) -> list[str]:
        report = files.convert(tmp_path / "x.npz", tmp_path / "y.npz", src_format=src, dst_format=dst, dry_run=True)
        return [tensor.name for tensor in report.tensors if tensor.action == "convert"]

    for dst in ("NZ", "ZZ", "FRACTAL_NZ_C0_8"):
        assert held("ND", dst) == ["2d", "3d", "4d", "4d8", "5d"]
    assert held("NCHW", "NZ") == held("NCHW", "5HD") == held("ND", "5HD") == held("NCHW", "C1HWNCoC0") == ["4d", "4d8"]
    assert held("ND", "FRACTAL_Z") == ["2d", "4d", "4d8"]
    assert held("NCHW", "FRACTAL_Z") == ["4d", "4d8"]
    assert held("NCHW", "FRACTAL_Z_C04") == held("ND", "FRACTAL_Z_C04") == ["4d"]
    assert held("NHWC", "FRACTAL_Z_C04") == ["4d", "4d8"]
    assert held("NCDHW", "FRACTAL_Z_3D") == held("NDHWC", "NDC1HWC0") == ["5d"]
    assert held("NCHW", "NHWC") == ["4d", "4d8"]


def test_a_dry_run_writes_nothing(sharded: Path, tmp_path: Path, digest: Callable) -> None:
    before = digest(tmp_path)
    report = files.convert(sharded, tmp_path / "nz", dry_run=True, **ND_NZ)
    assert report.dry_run
    assert {tensor.name: (tensor.action, tensor.nbytes, tensor.dst_shape) for tensor in report.tensors} == {
        "a.weight": ("convert", 2048, (2, 2, 16, 16)),
        "a.bias": ("copy", 56, (28,)),
        "b.bias": ("copy", 72, (9,)),
    }
    assert digest(tmp_path) == before
    assert not (tmp_path / "nz").exists()


def test_progress_ends_at_the_total(tmp_path: Path, counting: Callable) -> None:
    np.savez(tmp_path / "x.npz", a=counting((200, 200), "float16"), b=counting((9,), "int8"))
    for jobs in (1, 3):
        for out in ("y.npz", "y.safetensors"):
            calls: list[tuple[int, int]] = []
            files.convert(
                tmp_path / "x.npz",
                tmp_path / out,
                overwrite=True,
                jobs=jobs,
                max_bytes=30_000,
                progress=lambda done, total, calls=calls: calls.append((done, total)),
                **ND_NZ,
            )
            total = 208 * 208 * 2 + 9
            assert calls[-1] == (total, total)
            assert len(calls) > 3
            assert [done for done, _ in calls] == sorted(done for done, _ in calls)
