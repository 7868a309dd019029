"""The header of a model file: written, read, and checked against the size of the file; `model_file.py` describes it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from palmette.data.kinds import how_to_make
from palmette.errors import ModelError

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
        "its text form is read: MODEL.txt, which `crf_learn -t` writes beside MODEL",
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


class Entry(NamedTuple):
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


def checked_entry(name: str, value: Any, file: str) -> Entry:
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
    return Entry(name, dtype, tuple(shape), start, end)


def _naturals(value: Any) -> bool:
    # A bool is an int in Python but not in JSON.
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def check_tiling(entries: list[Entry], start: int, size: int, file: str) -> None:
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
