"""`make_golden`: inputs and expected output of an operator test, written in one call."""

from __future__ import annotations

import hashlib
import importlib.resources
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xascend._dtypes import resolve_dtype
from xascend._plan import as_size
from xascend.golden import brcb, fixpipe, transdata, transdata5hd
from xascend.golden._arrays import described_values, make_array
from xascend.golden._folder import new_folder, require_free, require_outside
from xascend.golden._manifest import MANIFEST, ArrayFile, Manifest, StoredAs
from xascend.golden._operator import NumpyArray, Operator, Result
from xascend.golden._tables import as_plain, read_table
from xascend.testing._places import make_storage

__all__ = ["OPERATORS", "example_config", "make_golden"]

_REFUSALS = (ValueError, TypeError, NotImplementedError, MemoryError)
OPERATORS = (transdata5hd.OPERATOR, brcb.OPERATOR, transdata.OPERATOR, fixpipe.OPERATOR)


def make_golden(
    op: str,
    config: str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
    /,
    *,
    overwrite: bool = False,
) -> Manifest:
    """Write the inputs of an operator test and the output that is right for them.

    The folder gets ``input/NAME.bin`` for every array that goes in, ``output/golden.bin``, and ``manifest.json`` that
    tells what they hold. A .bin file has little-endian elements in C order and nothing else. The same configuration
    makes the same bytes, with every version of NumPy.

    Parameters
    ----------
    op
        Operator: ``TransDataTo5HD``, ``Brcb``, ``Transdata`` (ATB's) or ``Fixpipe``, in any case, underscores or not.
    config
        A TOML file (`example_config` gives one to start from), or its content as a mapping, which may also hold NumPy's
        numbers and arrays, tuples, and members of enumerations such as ``QuantMode.REQ8``. Keys are the operator's
        parameters, in snake_case or as in C++ (``dstRepStride``); see Notes.
    out
        Folder to make, parents included. It appears when it is complete.
    overwrite
        Replace `out`, if it is empty or holds golden data: its manifest and the files that this lists, nothing else.

    Returns
    -------
    Manifest
        What was written.

    Raises
    ------
    ValueError
        The operator is not known; `out` exists, or holds files of others; `config` lies in it; a key is unknown,
        doubled or missing; or a value does not fit. The message names the file, the key, what came and what would be
        accepted.
    TypeError
        A value is of the wrong type, or the operator does not support an element type.
    NotImplementedError
        No public document settles what the operator does: see `ascendc.fixpipe`.
    MemoryError
        There is no memory for an array of this shape.
    OSError
        A file cannot be read or written.

    Notes
    -----
    Every array is a table with ``dtype``, ``shape`` and ``values``: ``"arange"`` (0, 1, 2, ..., and from 0 again after
    the largest integer of the type, or after ``2**p - 1`` in a floating-point type of p significant bits, which is
    2047 in float16), ``"random"`` (evenly from ``low`` to ``high``, from the PCG64 stream of ``seed``, by default
    0, and the array's name), one number, a list with a number for each element, or quantisation words: a table with
    the arguments of `ascendc.pack_quant_param`, in which ``scale`` and ``offset`` may be lists. ``deq_scalar`` may be
    such a table too.

    ============== ============================ =======================================================================
    operator       arrays                       other keys
    ============== ============================ =======================================================================
    TransDataTo5HD ``src``, ``dst``             ``src_list``, ``dst_list``: 16 offsets in elements; ``product``;
                                                ``params``: the fields of `ascendc.TransDataTo5HDParams`
    Brcb           ``src``, ``dst``             ``repeat_times``; ``product``; ``params``: `ascendc.BrcbRepeatParams`
    Transdata      ``x``                        ``params``: `atb.TransdataParam`
    Fixpipe        ``src``, ``dst``,            ``params``: the fields of ``params_type``, by default
                   ``quant_tensor``,            ``"FixpipeParamsV220"``; ``config``: ``"CFG_ROW_MAJOR"`` by default;
                   ``relu_tensor``              ``saturate``; ``product``
    ============== ============================ =======================================================================

    ``dst`` is the destination before the instruction, which leaves gaps as they are. Where the output stores a tensor
    in a format, the table ``output`` can say so, with ``format``, ``shape`` (the tensor's own) and optionally
    ``plain_format``, ``c0`` and ``groups``: `compare_files` then tells differences in the tensor's own indices.

    Sources: "TransDataTo5HD", "Brcb" and "Fixpipe", Ascend C API, and "TransdataOperation" in the ATB reference.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from xascend.golden import make_golden
    >>> config = '''
    ... repeatTimes = 1
    ...
    ... [src]
    ... dtype = "float16"
    ... shape = [8]
    ... values = "arange"
    ...
    ... [dst]
    ... dtype = "float16"
    ... shape = [8, 16]
    ... values = -1
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "brcb.toml")
    ...     _ = path.write_text(config)
    ...     manifest = make_golden("Brcb", path, pathlib.Path(folder, "case"))
    ...     sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder, "case").rglob("*.bin"))
    ['case/input/dst.bin', 'case/input/src.bin', 'case/output/golden.bin']
    >>> manifest.output.shape, manifest.parameters["params"]
    ((8, 16), {'dst_blk_stride': 1, 'dst_rep_stride': 8})
    """
    operator = _find_operator(op)
    folder = Path(out)
    require_free(folder, overwrite)
    if not isinstance(config, Mapping):
        require_outside(Path(config), folder)
    where, fields = _read_config(config)
    try:
        made = _carry_out(operator, fields)
    except _REFUSALS as error:
        kind = next(kind for kind in _REFUSALS if isinstance(error, kind))
        raise kind(f"{where}: {error}") from error
    with new_folder(folder, overwrite) as target:
        inputs = tuple(_write(target, name, f"input/{name}.bin", array, None) for name, array in made.arrays.items())
        output = _write(target, "golden", "output/golden.bin", made.result.output, made.storage)
        manifest = Manifest(operator.name, made.result.parameters, made.seed, made.values, inputs, output)
        (target / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


def example_config(op: str, /) -> str:
    """Return a configuration for `make_golden` that works as it stands, to start from.

    Parameters
    ----------
    op
        Operator, as in `make_golden`.

    Returns
    -------
    str
        The text of a TOML file.

    Raises
    ------
    ValueError
        The operator is not known.

    Examples
    --------
    >>> from xascend.golden import example_config
    >>> print(example_config("Transdata"))
    # ATB's Transdata: ND (2, 3, 4) to FRACTAL_NZ (2, 1, 16, 32).
    [params]
    transdata_type = "ND_TO_FRACTAL_NZ"
    <BLANKLINE>
    [x]
    dtype = "int8"
    shape = [2, 3, 4]
    values = "arange"
    <BLANKLINE>
    """
    file = importlib.resources.files("xascend.golden").joinpath("examples", f"{_find_operator(op).name}.toml")
    return file.read_text(encoding="utf-8")


def _find_operator(op: str) -> Operator:
    spelled = str(op).replace("_", "").lower()
    for operator in OPERATORS:
        if operator.name.lower() == spelled:
            return operator
    raise ValueError(f"`op` must be one of {', '.join(operator.name for operator in OPERATORS)}; got {op!r}")


def _read_config(config: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    if isinstance(config, Mapping):
        return "config", as_plain("`config`", config)
    path = Path(config)
    try:
        return str(path), tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no TOML file: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply to be read") from error


@dataclass(frozen=True, slots=True)
class _Made:
    """What a configuration says, carried out."""

    seed: int
    values: dict[str, Any]  # of each input array
    arrays: dict[str, NumpyArray]
    result: Result
    storage: StoredAs | None


def _carry_out(operator: Operator, fields: Mapping[str, Any]) -> _Made:
    required = (*operator.settings, *operator.arrays)
    optional = ("seed", *operator.optional_settings, *operator.optional_arrays, "output")
    settings = read_table("the configuration", fields, required, optional)
    seed = as_size("seed", settings.get("seed", 0), 0)
    names = [name for name in (*operator.arrays, *operator.optional_arrays) if name in settings]
    arrays = {name: make_array(name, settings[name], seed) for name in names}
    values = {name: described_values(settings[name]) for name in names}
    result = operator.run(settings, {name: array.copy() for name, array in arrays.items()})
    storage = _stored_as(settings["output"], result.output) if "output" in settings else result.storage
    return _Made(seed, values, arrays, result, storage)


def _stored_as(table: Any, output: NumpyArray) -> StoredAs:
    said = read_table("[output]", table, ("format", "shape"), ("plain_format", "c0", "groups"))
    options = (said.get("plain_format"), said["shape"], said.get("c0"), said.get("groups", 1))
    plan = make_storage(output.shape, resolve_dtype(output.dtype), said["format"], *options).plan
    return StoredAs(plan.src_format.value, plan.dst_format.value, plan.sizes, plan.src_c0 or None, plan.groups)


def _write(folder: Path, name: str, file: str, array: NumpyArray, storage: StoredAs | None) -> ArrayFile:
    data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    return ArrayFile(name, file, array.dtype.name, array.shape, len(data), digest, storage)
