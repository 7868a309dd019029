"""The model file: named arrays and JSON metadata in one file that is mapped, never executed.

The bytes are those of the safetensors format, so that its library and viewers read a model too:

    8 bytes     length of the header, little-endian
    header      JSON: {"__metadata__": {string: string}, array: {"dtype", "shape", "data_offsets"}, ...}
    data        the arrays, one after the other without holes

`__metadata__` holds "format": "palmette", "version" (of this layout), "meta" (what the model stores
besides arrays, as JSON text) and "crc32" (of that text and the data). `load` trusts nothing: each number
of the header is checked against the size of the file before an array is made, and the arrays are views of a
private mapping, so the header never causes an allocation. What an array means (ids within bounds,
rising offsets) is declared by each kind of model and checked when it is loaded; see array_specs.py. What
`meta` holds is declared as a struct per kind of model and read by `read_metadata`.

Never change a model file in place while it is in use: a process that reads a mapped file that shrinks is killed
(SIGBUS), and changed bytes show up after they were checked. `save` replaces the file; a process that has the old one
mapped keeps the old one. `load(copy=True)` does not map.
"""

from __future__ import annotations

import io
import json
import math
import mmap
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data import files
from palmette.data.kinds import BY_TASK, TAGGER, Kind, how_to_make, how_to_use
from palmette.errors import DataError, ModelError
from palmette.kernels.core.types import aligned_zeros

# The header: written, read, and checked against the size of the file

FORMAT = "palmette"
VERSION = 2
"""The newest layout that this code reads, and the one it writes."""

HEADER_LIMIT = 16 << 20
"""JSON text can take 25 times its size as Python objects; large data belongs into arrays."""

_ALIGN = 64
RANK_LIMIT = 32
METADATA = "__metadata__"
AGAIN = "copy, download or train it again"

# In the order of the file. Wide items come first: the data begins at a multiple of 64, so each array
# begins at a multiple of its item size without holes. The safetensors library uses the same order: its copy
# of a model has the same data, byte for byte, and the same checksum.
DTYPES: dict[str, np.dtype[Any]] = {
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
RANK = {name: rank for rank, name in enumerate(DTYPES)}
NAME_OF = {dtype: name for name, dtype in DTYPES.items()}

# Other files that are passed by mistake, by their first bytes.
_STRANGERS = (
    (b"\x1f\x8b", "a gzip file", "unpack it first; a model is mapped and cannot be read compressed"),
    (b"PK\x03\x04", "a zip file", "unpack it first"),
    (
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        "a pickle",
        "palmette never loads pickles, which can run code",
    ),
    (b"lCRF", "a CRFsuite model", None),
    (b"#mdl#", "a Wapiti model", None),
    (
        b"\x64\0\0\0\0\0\0\0",  # version 100 and type 0, as 32-bit numbers
        "a binary model of CRF++",
        "its text form is read: MODEL.txt, which `crf_learn -t` writes next to MODEL",
    ),
)


def header_bytes(metadata: dict[str, str], named: Sequence[tuple[str, str, NDArray[Any]]]) -> bytes:
    """The header of arrays (name, dtype, array) in the order of the file, filled up to a multiple of 64 bytes."""
    entries: dict[str, Any] = {METADATA: metadata}
    start = 0
    for name, dtype, array in named:
        end = start + array.nbytes
        entries[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [start, end]}
        start = end
    header = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % _ALIGN)
    if len(header) > HEADER_LIMIT:
        raise ValueError(f"metadata and array names take {len(header)} bytes; keep what is large in arrays")
    return header


class ArrayEntry(NamedTuple):
    """An array of the file: its place in the data, and what its bytes are."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    end: int


def damaged(what: str, file: str) -> NoReturn:
    """Raise the error for a file that is not as it was written."""
    raise ModelError(f"damaged model file: {what}", file=file, hint=AGAIN)


def read_header(raw: BinaryIO, size: int, task: str, file: str) -> tuple[dict[str, Any], int]:
    """The parsed header, and where the data begins. `task`: of the model that the file should be, for messages."""
    if size == 0:
        raise ModelError("the file is empty, not a model", file=file, hint=AGAIN)
    first = raw.read(9)
    length = int.from_bytes(first[:8], "little")
    if first[8:] not in (b"{", b"") or (size >= 8 and not 2 <= length <= HEADER_LIMIT):
        _stranger(first, task, file)
    if size < 8:
        raise ModelError(f"not a palmette model, or truncated: it has {size} bytes", file=file, hint=AGAIN)
    if 8 + length > size:
        what = f"it has {size} bytes, and its header alone needs {8 + length}"
        raise ModelError(f"truncated model file: {what}", file=file, hint=AGAIN)
    text = first[8:] + raw.read(length - 1)
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        damaged("its header is not UTF-8", file)
    return parse_object(decoded, "header", file), 8 + length


def _stranger(first: bytes, task: str, file: str) -> NoReturn:
    for magic, what, hint in _STRANGERS:
        if first.startswith(magic):
            raise ModelError(f"not a palmette model but {what}", file=file, hint=hint)
    raise ModelError("not a palmette model", file=file, hint=how_to_make(task))


def parse_object(text: str, what: str, file: str) -> dict[str, Any]:
    """A JSON object without doubled keys."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        damaged(f"its {what} is not valid JSON ({str(error)[:100]})", file)
    if not isinstance(value, dict):
        damaged(f"its {what} is not a JSON object", file)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key occurs twice")
    return value


def checked_metadata(value: Any, file: str) -> dict[str, str]:
    """The metadata of a header that is a palmette model of a version that is read."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ModelError("a safetensors file, but not a palmette model", file=file)
    if not all(isinstance(item, str) for item in value.values()):
        damaged("its metadata are not strings", file)
    version = value.get("version", "")
    if not (version.isascii() and version.isdigit() and len(version) < 10 and int(version) > 0):
        damaged("its format version is not a number", file)
    if int(version) < VERSION:
        raise ModelError(
            f"made by an older palmette (format {int(version)}, this one reads format {VERSION})",
            file=file,
            hint="train the model again, or load and save it with palmette 0.2.0",
        )
    if int(version) > VERSION:
        raise ModelError(
            f"made by a newer palmette (format {int(version)}, this one reads format {VERSION}): upgrade",
            file=file,
            hint="pip install --upgrade palmette",
        )
    if "meta" not in value:
        damaged("its metadata has no `meta`", file)
    return value


def brief(name: str) -> str:
    """A name in messages."""
    return repr(name if len(name) <= 60 else name[:60] + "...")


def checked_entry(name: str, value: Any, file: str) -> ArrayEntry:
    """The description of an array, if it is possible."""
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        damaged(f"array {brief(name)} is not described by dtype, shape and data_offsets", file)
    shape, offsets = value["shape"], value["data_offsets"]
    if not isinstance(value["dtype"], str) or value["dtype"] not in DTYPES:
        damaged(f"array {brief(name)} has an unknown dtype", file)
    if not _naturals(shape) or len(shape) > RANK_LIMIT or not _naturals(offsets) or len(offsets) != 2:
        damaged(f"array {brief(name)} has an impossible shape or place", file)
    dtype = DTYPES[value["dtype"]]
    start, end = offsets
    if math.prod(shape) * dtype.itemsize != end - start:
        damaged(f"array {brief(name)} has a shape that does not fit its length", file)
    return ArrayEntry(name, dtype, tuple(shape), start, end)


def _naturals(value: Any) -> bool:
    # A bool is an int in Python but not in JSON.
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def check_tiling(entries: list[ArrayEntry], start: int, size: int, file: str) -> None:
    """The arrays lie one after the other, aligned, and end where the file ends."""
    total = start + max((entry.end for entry in entries), default=0)
    if total > size:
        what = f"it has {size} bytes, and its header promises {str(total)[:30]}"
        raise ModelError(f"truncated model file: {what}", file=file, hint=AGAIN)
    at = 0
    for entry in sorted(entries, key=lambda entry: (entry.start, entry.end)):
        if entry.start != at:
            what = "overlaps another one" if entry.start < at else "comes after a hole"
            damaged(f"array {brief(entry.name)} {what}", file)
        if entry.end > entry.start and (start + entry.start) % entry.dtype.itemsize:
            damaged(f"array {brief(entry.name)} is not aligned to its items", file)
        at = entry.end
    if total < size:
        damaged(f"{size - total} bytes follow its last array", file)


T = TypeVar("T")

# Saving


def check_output(path: files.FilePath) -> None:
    """DataError if a model cannot be saved there, as far as that is known; writes nothing."""
    name = os.fspath(path)
    if name.lower().endswith(".gz"):
        raise DataError("a model is mapped and cannot be compressed", file=name, hint="drop the .gz")
    files.check_output(path)


def peek_task(path: files.FilePath) -> str | None:
    """The task of a model file by its header, unchecked; None for any other file. It decides which loader is used."""
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


def _array(mapped: mmap.mmap | NDArray[np.uint8], start: int, entry: ArrayEntry, file: str) -> NDArray[Any]:
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


def declared(meta: dict[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The metadata to save. ValueError if it has an entry without a declaration, or lacks one."""
    fields = msgspec.structs.fields(kind)
    unknown = meta.keys() - {field.encode_name for field in fields}
    missing = {field.encode_name for field in fields if field.required} - meta.keys()
    if unknown or missing:
        raise ValueError(f"metadata: undeclared {sorted(unknown)}, missing {sorted(missing)}")
    return meta
