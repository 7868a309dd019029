"""The model file: named arrays and JSON metadata in one file that is mapped, never executed.

The bytes are those of the safetensors format, so that its library and viewers read a model too:

    8 bytes     length of the header, little-endian
    header      JSON: {"__metadata__": {string: string}, array: {"dtype", "shape", "data_offsets"}, ...}
    data        the arrays, one after the other without holes

`__metadata__` holds "format": "palmette", "version" (of this layout), "meta" (what the model stores
besides arrays, as JSON text) and "crc32" (of that text and the data). `load` trusts nothing: each number
of the header is checked against the size of the file before an array is made, and the arrays are views of a
private mapping, so nothing is allocated because a header says so. What an array means (ids within bounds,
rising offsets) is declared by each kind of model and checked when it is loaded; see array_specs.py. What
`meta` holds is declared as a struct per kind of model and read by `read_metadata`.

Never change a model file in place while it is in use: a process that reads a mapped file that shrinks is killed
(SIGBUS), and changed bytes show up after they were checked. `save` replaces the file; a process that has the old one
mapped keeps the old one. `load(copy=True)` does not map.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data import files
from palmette.data.kinds import BY_TASK, TAGGER, Kind, how_to_use
from palmette.data.model_header import (
    AGAIN,
    DTYPES,
    FORMAT,
    HEADER_LIMIT,
    METADATA,
    NAME_OF,
    RANK,
    RANK_LIMIT,
    VERSION,
    Entry,
    brief,
    check_tiling,
    checked_entry,
    checked_metadata,
    damaged,
    header_bytes,
    parse_object,
    read_header,
)
from palmette.errors import DataError, ModelError
from palmette.kernels.core.aligned import aligned_zeros

T = TypeVar("T")

# Saving


def check_output(path: files.FilePath) -> None:
    """DataError if a model cannot be saved there, as far as that is known; writes nothing."""
    name = os.fspath(path)
    if name.lower().endswith(".gz"):
        raise DataError("a model is mapped and cannot be compressed", file=name, hint="drop the .gz")
    files.check_output(path)


def peek_task(path: files.FilePath) -> str | None:
    """The task of a model file by its header, unchecked; None for any other file. It tells which loader to use."""
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            metadata = json.loads(file.read(size))[METADATA] if size <= HEADER_LIMIT else {}
        return str(json.loads(metadata["meta"])["task"]) if metadata["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def peek_kind(path: files.FilePath) -> Kind:
    """The kind of a model file by its header, unchecked. Anything else is a model of another tool, which are taggers,
    or their loader says what it is."""
    return BY_TASK.get(peek_task(path) or "", TAGGER)


def load_any(path: files.FilePath, verb: str, *, copy: bool = False) -> Any:
    """The estimator of a model file of whatever kind; UsageError if its kind does not have the verb."""
    kind = peek_kind(path)
    kind.check(verb, files.shown(path))
    return kind.loads.load(path, copy=copy) if copy else kind.loads.load(path)


def save(
    path: files.FilePath, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], *, sync: bool = False
) -> None:
    """Write a model file, whole or not at all. Equal arrays and equal `meta` give equal bytes.

    `meta` holds JSON values with strings as keys, and NumPy scalars, which become numbers.
    """
    check_output(path)
    pieces = _pieces(arrays, meta)
    with files.write_whole(path, sync=sync) as out:
        for piece in pieces:
            out.write(piece)


def to_bytes(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> bytes:
    """The bytes that `save` writes."""
    return b"".join(_pieces(arrays, meta))


def _pieces(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> list[bytes | memoryview]:
    """The content of a model file, piece by piece."""
    named = sorted(((name, *_storable(name, array)) for name, array in arrays.items()), key=_place)
    # NaN and infinities are written as Python's JSON does: a strange number in a training log is no reason
    # to lose the model.
    text = json.dumps(dict(meta), sort_keys=True, separators=(",", ":"), default=_scalar)
    views = [_bytes_of(array) for _, _, array in named if array.size]
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "meta": text,
        "crc32": _checksum(text, views),
    }
    header = header_bytes(metadata, named)
    return [len(header).to_bytes(8, "little"), header, *views]


def _storable(name: str, array: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    """The dtype's name, and the array contiguous in the file's byte order; a copy only if needed."""
    if not isinstance(name, str) or name == METADATA:
        raise ValueError(f"an array cannot be named {name!r}")
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<")
    if dtype not in NAME_OF:
        raise TypeError(f"array {name!r} is of {array.dtype}; a model file holds {', '.join(DTYPES)}")
    if array.ndim > RANK_LIMIT:
        raise ValueError(f"array {name!r} has {array.ndim} dimensions; a model file allows {RANK_LIMIT}")
    return NAME_OF[dtype], np.asarray(array, dtype=dtype, order="C")


def _place(named: tuple[str, str, NDArray[Any]]) -> tuple[int, str]:
    name, dtype, _ = named
    return RANK[dtype], name


def _scalar(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"metadata of type {type(value).__name__} cannot be saved; make it an array or plain data")


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _checksum(text: str, views: Iterable[memoryview]) -> str:
    crc = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    for view in views:
        crc = zlib.crc32(view, crc)
    return f"{crc:08x}"


# Loading


def load(
    path: files.FilePath, task: str = "chain", *, verify: bool = True, copy: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the metadata of a model file; ModelError if it is not one.

    `task` is that of the model that is expected, for messages; `check_task` compares it.
    The arrays are views of a private mapping: they can be written to, and the file never changes.
    `verify` compares the checksum and so reads the whole file once; without it, pages are read when used.
    `copy` reads the file into memory instead, so that later changes of the file do not matter.
    """
    file = os.fspath(path)
    with _opened(file) as raw:
        return _loaded(raw, os.fstat(raw.fileno()).st_size, task, file, verify=verify, copy=copy)


def from_bytes(data: bytes, task: str, source: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """As `load`, from the bytes of a model file; `source` names them in messages."""
    return _loaded(io.BytesIO(data), len(data), task, source, verify=True, copy=True)


def _loaded(
    raw: BinaryIO, size: int, task: str, file: str, *, verify: bool, copy: bool
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    header, start = read_header(raw, size, task, file)
    metadata = checked_metadata(header.pop(METADATA, None), file)
    entries = [checked_entry(name, value, file) for name, value in header.items()]
    check_tiling(entries, start, size, file)
    meta = parse_object(metadata["meta"], "metadata", file)
    mapped: Any = _copied(raw, size, file) if copy else _mapped(raw, size, file)
    if verify and "crc32" in metadata:
        found = _checksum(metadata["meta"], [memoryview(mapped)[start:]])
        if found != metadata["crc32"]:
            damaged(f"its checksum is {found} and should be {metadata['crc32']}", file)
    return {entry.name: _array(mapped, start, entry, file) for entry in entries}, meta


def _opened(file: str) -> BinaryIO:
    if file == "-":
        raise ModelError("a model is mapped and cannot come from standard input", file=file)
    try:
        # Checked before it is opened: opening a pipe would wait for a writer.
        if not file or not stat.S_ISREG(os.stat(file).st_mode):
            what = "is a folder" if os.path.isdir(file) else "is not a plain file"
            raise ModelError(f"{what}; a model is one plain file", file=file)
        return open(file, "rb", buffering=0)
    except ModelError:
        raise
    except ValueError as error:
        raise ModelError(f"{file!r} is not a file name") from error
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise ModelError(f"cannot open the model: {reason}", file=file) from error


def _mapped(raw: BinaryIO, size: int, file: str) -> mmap.mmap:
    try:
        return mmap.mmap(raw.fileno(), size, access=mmap.ACCESS_COPY)
    except (OSError, ValueError) as error:  # too large for the address space, or just cut shorter
        raise ModelError(f"cannot map the file: {error}", file=file) from error


def _copied(raw: BinaryIO, size: int, file: str) -> NDArray[np.uint8]:
    """All bytes of the file, aligned as a mapping is."""
    memory = aligned_zeros((size,), np.uint8)
    raw.seek(0)
    at = 0
    while at < size and (done := raw.readinto(memory.data[at:])):  # type: ignore[attr-defined]
        at += done
    if at < size:
        raise ModelError(f"truncated model file: {at} bytes of {size} could be read", file=file, hint=AGAIN)
    return memory


def _array(mapped: mmap.mmap | NDArray[np.uint8], start: int, entry: Entry, file: str) -> NDArray[Any]:
    offset = start + entry.start if entry.end > entry.start else 0
    try:
        array: NDArray[Any] = np.ndarray(entry.shape, entry.dtype, buffer=mapped, offset=offset)
    except (ValueError, TypeError, OverflowError):  # no items, but dimensions beyond what NumPy can count
        damaged(f"array {brief(entry.name)} has an impossible shape", file)
    if entry.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        damaged(f"array {brief(entry.name)} has truth values that are neither 0 nor 1", file)
    return array if sys.byteorder == "little" else array.astype(entry.dtype.newbyteorder("="))


# Metadata


def check_task(meta: Mapping[str, Any], task: str, file: str) -> None:
    """ModelError unless the model is of this task."""
    found = meta.get("task")
    if found == task:
        return
    if isinstance(found, str) and found in BY_TASK:
        raise ModelError(f"{BY_TASK[found].words}, not {BY_TASK[task].words}", file=file, hint=how_to_use(found, task))
    raise ModelError(f"a model for the task {brief(str(found))}, not {BY_TASK[task].words}", file=file)


def read_metadata(meta: Any, kind: type[T], what: str, file: str) -> T:
    """A part of the metadata as the declared type, strictly: no number for another kind of number, no null unless
    declared. `what` names the part in the ModelError."""
    try:
        return msgspec.convert(meta, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # half of a surrogate pair as a key
        raise ModelError(f"damaged model: its {what} cannot be read ({error})", file=file, hint=AGAIN) from None


def check_text(strings: Iterable[str], what: str, file: str) -> None:
    """ModelError if a string is not valid Unicode: JSON can spell half of a surrogate pair."""
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        raise ModelError(f"damaged model: {what} is not valid Unicode", file=file, hint=AGAIN) from None


def check_field_types(values: Mapping[str, Any], kind: type[msgspec.Struct], what: str, file: str) -> None:
    """Compare the types of values with those of the fields of the same names; names without a field are ignored."""
    for field in msgspec.structs.fields(kind):
        if field.name in values:
            read_metadata(values[field.name], field.type, f"{what} {field.name!r}", file)


def declared(meta: dict[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The metadata to save. ValueError if it has an entry without a declaration, or lacks one."""
    fields = msgspec.structs.fields(kind)
    unknown = meta.keys() - {field.encode_name for field in fields}
    missing = {field.encode_name for field in fields if field.required} - meta.keys()
    if unknown or missing:
        raise ValueError(f"metadata: undeclared {sorted(unknown)}, missing {sorted(missing)}")
    return meta
