"""Pictures of layouts: the elements shown are where the oracle puts them, and the drawing is what it says it is."""

from __future__ import annotations

import errno
import re
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import oracle
import pairs
import pytest

from xascend import pictures
from xascend.pictures._placement import place

SVG = "{http://www.w3.org/2000/svg}"

NZ = """\
tensor   ND (m, n) = (3, 5), float16, 15 elements
storage  FRACTAL_NZ (n1, m1, m0, n0) = (2, 1, 16, 4), C0 = 4, 128 places
padding  113 of 128 places, 88.3%

A number is an element of the tensor x, counted in C order from 0; a dot is padding.
Blocks are stored one after the other, row by row; offset is where one begins, in elements.

block 0   n1=0   offset 0   x[0, 0] … x[2, 3]
m0\\n0   0  1  2  3
    0   0  1  2  3
    1   5  6  7  8
    2  10 11 12 13
 3…15   .  .  .  .

block 1   n1=1   offset 64   x[0, 4] … x[2, 4]
m0\\n0   0  1  2  3
    0   4  .  .  .
    1   9  .  .  .
    2  14  .  .  .
 3…15   .  .  .  ."""

NC1HWC0 = """\
tensor   NCHW (N, C, H, W) = (1, 5, 2, 2), int8, 20 elements
storage  NC1HWC0 (N, C1, H, W, C0) = (1, 2, 2, 2, 4), C0 = 4, 32 places
padding  12 of 32 places, 37.5%

A number is an element of the tensor x, counted in C order from 0; a dot is padding.
Blocks are stored one after the other, row by row; offset is where one begins, in elements.

block 0   C1=0   offset 0   x[0, 0, 0, 0] … x[0, 3, 1, 1]
H,W\\C0   0  1  2  3
   0,0   0  4  8 12
   0,1   1  5  9 13
   1,0   2  6 10 14
   1,1   3  7 11 15

block 1   C1=1   offset 16   x[0, 4, 0, 0] … x[0, 4, 1, 1]
H,W\\C0   0  1  2  3
   0,0  16  .  .  .
   0,1  17  .  .  .
   1,0  18  .  .  .
   1,1  19  .  .  ."""

GROUPS = """\
tensor   NCHW (N, C, H, W) = (4, 2, 1, 1), float16, 8 elements
storage  FRACTAL_Z (G*C1*H*W, N1, N0, C0) = (1, 1, 16, 4), C0 = 4, 64 places
padding  56 of 64 places, 87.5%
groups   2, of C = 2 channels and 2 outputs each; 2 together along a diagonal

A number is an element of the tensor x, counted in C order from 0; a dot is padding.
Blocks are stored one after the other, row by row; offset is where one begins, in elements.

block 0   offset 0   x[0, 0, 0, 0] … x[3, 1, 0, 0]
N0\\C0  0 1 2 3
    0  0 1 . .
    1  2 3 . .
    2  . . 4 5
    3  . . 6 7
 4…15  . . . ."""


def test_text_of_fractal_nz() -> None:
    assert pictures.text((3, 5), "FRACTAL_NZ", c0=4) == NZ


def test_text_of_nc1hwc0() -> None:
    assert pictures.text((1, 5, 2, 2), "5HD", dtype="int8", c0=4) == NC1HWC0


def test_text_of_grouped_fractal_z() -> None:
    assert pictures.text((4, 2, 1, 1), "FRACTAL_Z", c0=4, groups=2) == GROUPS


def elements_of(picture: str) -> list[int]:
    """Return what a text that leaves nothing out shows, place by place, -1 for padding."""
    places = []
    for line in picture.split("\n\n", 2)[2].splitlines():
        label, _, cells = line.strip().partition(" ")
        if re.fullmatch(r"[\d,]+(…[\d,]+)?", label):
            first, _, last = label.partition("…")
            times = int(last) - int(first) + 1 if last else 1
            places += times * [-1 if cell == "." else int(cell) for cell in cells.split()]
    return places


@pytest.mark.parametrize(("src", "dst"), [*pairs.PLAIN_TO_BLOCKED, *pairs.PLAIN_TO_PLAIN])
def test_places_show_their_elements(src: str, dst: str) -> None:
    chosen = np.random.default_rng(20)
    for shape in pairs.shapes(src, dst)[:7]:
        x = np.arange(np.prod(shape)).reshape(shape)
        stored = oracle.convert(x, src, dst, c0=16, pad_value=-1)
        placement = place(shape, dst, src, "float16", None, 1)
        assert placement.storage.shape == stored.shape
        for offsets in (np.flatnonzero(stored >= 0), np.flatnonzero(stored < 0)):
            some = chosen.permutation(offsets)[:100]
            assert [placement.ordinal(int(offset)) for offset in some] == stored.ravel()[some].tolist()


@pytest.mark.parametrize("dst", oracle.BLOCKED)
def test_text_shows_the_same_elements(dst: str) -> None:
    src = oracle.AXES.get(dst, "ND")
    shape = {"NCHW": (17, 4, 1, 3), "NCDHW": (17, 5, 2, 1, 3), "ND": (2, 19, 13)}[src]
    x = np.arange(np.prod(shape)).reshape(shape)
    stored = oracle.convert(x, src, dst, c0=16, pad_value=-1)
    picture = pictures.text(shape, dst, max_blocks=10**6, max_rows=10**6, max_columns=10**6)
    assert elements_of(picture) == stored.ravel().tolist()


@pytest.mark.parametrize(("shape", "groups"), [((8, 3, 1, 2), 4), ((6, 5, 2, 1), 3), ((34, 16, 1, 1), 2)])
def test_groups_are_where_the_oracle_puts_them(shape: tuple[int, ...], groups: int) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    stored = oracle.convert(x, "NCHW", "FRACTAL_Z", groups=groups, pad_value=-1)
    picture = pictures.text(shape, "FRACTAL_Z", groups=groups, max_blocks=10**6)
    assert elements_of(picture) == stored.ravel().tolist()


@pytest.mark.parametrize(
    ("shape", "dst", "options", "storage"),
    [
        ((20, 28), 29, {}, "FRACTAL_NZ (n1, m1, m0, n0) = (2, 2, 16, 16), C0 = 16"),
        ((20, 28), "NZ", {"dtype": np.int8}, "FRACTAL_NZ (n1, m1, m0, n0) = (1, 2, 16, 32), C0 = 32"),
        ((3, 20, 28), "ZZ", {}, "FRACTAL_ZZ (batch0, m1, n1, m0, n0) = (3, 2, 2, 16, 16), C0 = 16"),
        ((1, 3, 4, 20), "5HD", {"src_format": "NHWC"}, "NC1HWC0 (N, C1, H, W, C0) = (1, 2, 3, 4, 16), C0 = 16"),
        ((1, 2, 3, 4), "NHWC", {"src_format": "5HD"}, "NHWC (N, H, W, C) = (1, 3, 4, 2), 24 places"),
        ((1, 2, 3, 4), "NZ", {"src_format": "NCHW"}, "(N, C, W1, H1, H0, W0) = (1, 2, 1, 1, 16, 16), C0 = 16"),
        ((5, 20), "FRACTAL_Z", {"src_format": "ND"}, "FRACTAL_Z (C1*H*W, N1, N0, C0) = (1, 2, 16, 16), C0 = 16"),
    ],
)
def test_header_names_shape_and_axes(shape: tuple, dst: object, options: dict, storage: str) -> None:
    tensor, line, *_ = pictures.text(shape, dst, **options).splitlines()
    assert str(shape) in tensor
    assert storage in line


def test_unpadded_storage_says_so() -> None:
    assert pictures.text((16, 16), "NZ").splitlines()[2] == "padding  none"


def test_groups_in_blocks_of_their_own() -> None:
    line = pictures.text((32, 16, 1, 1), "FRACTAL_Z", groups=2).splitlines()[3]
    assert line == "groups   2, of C = 16 channels and 16 outputs each; each in blocks of its own"


def test_empty_tensor() -> None:
    assert pictures.text((0, 5), "NZ").endswith("0 places\npadding  none\n\nNo element is stored.")
    assert "padding only" in pictures.text((16, 0, 2, 2), "FRACTAL_Z_C04")


def test_what_does_not_fit_is_left_out_of_the_middle() -> None:
    picture = pictures.text((100, 100), "NZ", max_blocks=3, max_rows=5, max_columns=40)
    head, *tail = picture.split("\n\n")[2:]
    assert head.splitlines() == [
        "block 0   n1=0 m1=0   offset 0   x[0, 0] … x[15, 15]",
        "m0\\n0     0    1    2    …   14   15",
        "    0     0    1    2    …   14   15",
        "    1   100  101  102    …  114  115",
        "    …     …    …    …    …    …    …",
        "   14  1400 1401 1402    … 1414 1415",
        "   15  1500 1501 1502    … 1514 1515",
    ]
    assert tail[0] == "… 47 more blocks …"
    assert tail[1].startswith("block 48   n1=6 m1=6   offset 12288   x[96, 96] … x[99, 99]\n")
    assert len(tail) == 2


@pytest.mark.parametrize("max_columns", [40, 77, 100])
@pytest.mark.parametrize("shape", [(20, 28), (2, 151936, 8192)])
@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_rows_keep_to_the_width(shape: tuple[int, ...], dtype: str, max_columns: int) -> None:
    blocks = pictures.text(shape, "NZ", dtype=dtype, max_columns=max_columns).split("\n\n")[2:]
    tables = [line for block in blocks for line in block.splitlines()[1:]]
    assert len(tables) > 16
    assert max(map(len, tables)) <= max_columns


def svg(path: Path, *args: object, **options: object) -> ElementTree.Element:
    pictures.save(path, *args, **options)
    return ElementTree.fromstring(path.read_bytes())


def cells(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == kind]


@pytest.mark.parametrize(
    ("shape", "dst", "options", "elements", "padding"),
    [
        ((20, 28), "NZ", {}, 560, 464),
        ((1, 20, 3, 4), "5HD", {}, 240, 144),
        ((20, 5, 2, 2), "FRACTAL_Z", {}, 400, 1648),
        ((8, 3, 1, 2), "FRACTAL_Z", {"groups": 4}, 48, 464),
        ((2, 3, 4, 5), "NHWC", {"src_format": "NCHW"}, 120, 0),
        ((64, 64), "NZ", {}, 4096, 0),
    ],
)
def test_svg_has_a_cell_for_every_place(
    tmp_path: Path, shape: tuple, dst: str, options: dict, elements: int, padding: int
) -> None:
    root = svg(tmp_path / "a.svg", shape, dst, **options)
    assert len(cells(root, "element")) == len(cells(root, "source")) == elements
    assert len(cells(root, "padding")) == padding
    width, height = float(root.get("width")), float(root.get("height"))
    drawn = [cell for kind in ("source", "element", "padding") for cell in cells(root, kind)]
    boxes = [tuple(float(cell.get(name)) for name in ("x", "y", "width", "height")) for cell in drawn]
    assert all(x > 0 and y > 0 and x + w < width and y + h < height for x, y, w, h in boxes)
    labels = list(root.iter(f"{SVG}text"))
    assert all(0 < float(label.get("x")) < width and 0 < float(label.get("y")) < height for label in labels)


@pytest.mark.parametrize(
    ("shape", "dst"), [((20, 28), "NZ"), ((2, 9, 9), "ZZ"), ((20, 5, 2, 2), "FRACTAL_Z"), ((2, 3, 4, 5), "NHWC")]
)
def test_no_cell_covers_another(tmp_path: Path, shape: tuple[int, ...], dst: str) -> None:
    root = svg(tmp_path / "a.svg", shape, dst, c0=8 if dst == "ZZ" else None)
    drawn = [cell for kind in ("source", "element", "padding") for cell in cells(root, kind)]
    x, y = (np.array([float(cell.get(axis)) for cell in drawn]) for axis in "xy")
    width, height = (float(drawn[0].get(name)) - 0.01 for name in ("width", "height"))
    near = (abs(x[:, None] - x) < width) & (abs(y[:, None] - y) < height)
    assert near.sum() == len(drawn)  # each is near to itself alone


def test_svg_marks_an_element_alike_on_both_sides(tmp_path: Path) -> None:
    root = svg(tmp_path / "a.svg", (20, 28), "NZ")
    looks = [
        {cell.find(f"{SVG}title").text: cell.get("fill") for cell in cells(root, kind)}
        for kind in ("source", "element")
    ]
    assert looks[0] == looks[1]
    assert "x[19, 27] → y[1, 1, 3, 11], offset 827" in looks[0]
    assert len({fill for title, fill in looks[0].items() if "→ y[0, 0," in title}) == 16
    assert {cell.get("fill") for cell in cells(root, "padding")} == {"url(#hatch)"}


def test_svg_colours_groups(tmp_path: Path) -> None:
    root = svg(tmp_path / "a.svg", (4, 2, 1, 1), "FRACTAL_Z", groups=2)
    fills = [cell.get("fill") for cell in cells(root, "source")]
    red, blue = ([int(fill[i : i + 2], 16) for fill in fills] for i in (1, 5))
    assert all(b > r for r, b in zip(red[:4], blue[:4], strict=True))  # blue
    assert all(r > b for r, b in zip(red[4:], blue[4:], strict=True))  # orange


@pytest.mark.parametrize(("dst", "arrows"), [("NZ", 3), ("ZZ", 3), ("ND", 0)])
def test_svg_leads_from_block_to_block(tmp_path: Path, dst: str, arrows: int) -> None:
    root = svg(tmp_path / "a.svg", (20, 28), dst)
    assert len([line for line in root.iter(f"{SVG}line") if line.get("marker-end")]) == arrows
    assert ("Arrows lead" in (tmp_path / "a.svg").read_text()) == bool(arrows)


def test_arrows_follow_memory(tmp_path: Path) -> None:
    root = svg(tmp_path / "a.svg", (32, 32), "NZ")
    steps = [
        tuple(np.sign(float(line.get(f"{axis}2")) - float(line.get(f"{axis}1"))) for axis in "xy")
        for line in root.iter(f"{SVG}line")
        if line.get("marker-end")
    ]
    assert steps == [(0, 1), (1, -1), (0, 1)]  # down a column of blocks, up to the next, down again


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / "a.PNG"
    pictures.save(path, (3, 5), "NZ", c0=4)
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:])
    root = svg(tmp_path / "a.svg", (3, 5), "NZ", c0=4)
    assert (width, height) == pytest.approx((1.5 * float(root.get("width")), 1.5 * float(root.get("height"))), abs=1)


def test_png_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: install the extra `plot`"):
        pictures.save(tmp_path / "a.png", (3, 5), "NZ")
    assert not list(tmp_path.iterdir())


def test_import_does_not_load_matplotlib() -> None:
    code = "import sys, xascend.pictures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["a.pdf", "a", "svg", "a.svg.txt"])
def test_other_endings(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"`path` must end in \.svg or \.png, got '.*{re.escape(name)}'"):
        pictures.save(tmp_path / name, (3, 5), "NZ")
    assert not list(tmp_path.iterdir())


def test_too_large_to_draw(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"`shape` must make at most 4096 places .* got 5120 .* smaller shape"):
        pictures.save(tmp_path / "a.svg", (64, 65), "NZ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("shape", "dst"), [((0, 5), "NZ"), ((16, 0, 2, 2), "FRACTAL_Z_C04")])
def test_nothing_to_draw(tmp_path: Path, shape: tuple, dst: str) -> None:
    with pytest.raises(ValueError, match=rf"`shape` must have at least one element to be drawn, got \({shape[0]}, "):
        pictures.save(tmp_path / "a.svg", shape, dst)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("limit", "least"), [("max_blocks", 3), ("max_rows", 3), ("max_columns", 40)])
def test_limits(limit: str, least: int) -> None:
    pictures.text((3, 5), "NZ", **{limit: least})
    with pytest.raises(ValueError, match=rf"`{limit}` must be an integer of at least {least}, got {least - 1}"):
        pictures.text((3, 5), "NZ", **{limit: least - 1})


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"dtype": "object"}, TypeError, "`dtype` object is not supported"),
        ({"c0": 0}, ValueError, "`c0` must be an integer of at least 1"),
        ({"groups": 2}, ValueError, "`groups` must be 1 unless"),
        ({"src_format": "NCWH"}, ValueError, "`src_format` 'NCWH' is not a known format"),
        ({"src_format": "NCHW"}, ValueError, "must have the axes"),
    ],
)
def test_bad_arguments(tmp_path: Path, options: dict, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        pictures.text((3, 5), "NZ", **options)
    with pytest.raises(error, match=match):
        pictures.save(tmp_path / "a.svg", (3, 5), "NZ", **options)
    assert not list(tmp_path.iterdir())


def test_show_prints_or_saves(tmp_path: Path) -> None:
    assert pictures.show((3, 5), "NZ", c0=4) == NZ
    assert pictures.show((4, 2, 1, 1), "FZ", c0=4, groups=2) == GROUPS
    path = tmp_path / "a.svg"
    assert pictures.show((3, 5), "NZ", c0=4, out=path) == f"saved {path}"
    pictures.save(tmp_path / "b.svg", (3, 5), "NZ", c0=4)
    assert path.read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_existing_files_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "a.svg", tmp_path / "b.svg"
    path.write_text("mine")
    link.symlink_to(tmp_path / "nowhere.svg")
    for taken in (path, link):
        with pytest.raises(FileExistsError, match=f"{taken.name}"):
            pictures.save(taken, (3, 5), "NZ")
    assert path.read_text() == "mine"
    pictures.save(path, (3, 5), "NZ", overwrite=True)
    pictures.show((3, 5), "NZ", out=link, overwrite=True)
    assert path.read_bytes() == (tmp_path / "nowhere.svg").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.svg", "b.svg", "nowhere.svg"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_appears_complete_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    path = tmp_path / "a.svg"
    if overwrite:
        path.write_text("mine")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        pictures.save(path, (3, 5), "NZ", overwrite=overwrite)
    assert [p.read_text() for p in tmp_path.iterdir()] == (["mine"] if overwrite else [])


def test_a_file_that_came_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.svg"
    monkeypatch.setattr("os.fsync", lambda _: path.write_text("mine"))
    with pytest.raises(FileExistsError):
        pictures.save(path, (3, 5), "NZ")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("dst", ["NZ", "FRACTAL_ZZ"])
def test_blocks_too_wide_to_be_shown(dst: str) -> None:
    assert "C0 = 256" in pictures.text((20, 28), dst, c0=256)
    with pytest.raises(ValueError, match=f"`c0` must be at most 256 to be shown, got {10**20}"):
        pictures.text((20, 28), dst, c0=10**20)
