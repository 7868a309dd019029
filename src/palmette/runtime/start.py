"""`palmette tag MODEL FILE` on a small file of columns, by the runtime in C: nothing else is imported, and it takes a
fraction of the time of a start with NumPy.

The output is that of the command in every byte. Whatever is not plain (another option, format, kind of model, or
anything that deserves a message) is left to the command: `tagged` returns False and has done nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palmette.runtime.native import RuntimeModel

MOST_BYTES = 1 << 16  # of the file: more is worth a start with NumPy, whose kernels are faster
ENDINGS = ("", ".txt", ".iob", ".iob2", ".bio")
READING = {"format": "columns", "columns": None, "label": "-1", "separator": "auto"}  # how the training data was read
_PLAIN = bytes([9, 10, *range(32, 127), *range(128, 256)])


def tagged(words: Sequence[str]) -> bool:
    """Do what the words after `palmette tag` ask for, if that is plain."""
    wanted = _wanted(words)
    if wanted is None:
        return False
    model, source, target = wanted
    data = _content(source)
    rows = None if data is None else _rows(data)
    if data is None or rows is None:
        return False
    made = _labelled(model, rows, data.isascii())
    if made is None:
        return False
    if target is None:
        _write(made)
    else:
        from palmette.data.files import write_whole
        from palmette.errors import PalmetteError

        try:
            with write_whole(target) as file:
                file.write(made)
        except PalmetteError:  # the command says what is wrong
            return False
    return True


def _wanted(words: Sequence[str]) -> tuple[str, str, str | None] | None:
    """Model, file and output (None: standard output, which is no terminal)."""
    names, target, quiet, k = [], None, False, 0
    while k < len(words):
        word = words[k]
        if word in ("-q", "--quiet"):
            quiet = True
        elif word in ("-o", "--output", "--threads") and k + 1 < len(words):
            k += 1
            if word == "--threads":
                if not (words[k].isascii() and words[k].isdecimal() and 0 < int(words[k]) < 1000):
                    return None
            else:
                target = words[k]
        elif word.startswith("-"):
            return None
        else:
            names.append(word)
        k += 1
    if len(names) != 2 or not all(map(os.path.isfile, names)) or "PALMETTE_KERNELS" in os.environ:
        return None
    if os.path.splitext(names[1])[1].lower() not in ENDINGS or any(mark in names[1] for mark in "*?["):
        return None
    if target is None:
        return None if sys.stdout is None or sys.stdout.isatty() else (names[0], names[1], None)
    if not quiet or os.path.splitext(target)[1].lower() != ".txt" or os.path.islink(target):
        return None  # the speed is printed, or the name asks for more
    if os.path.exists(target) and any(os.path.samefile(target, name) for name in names):
        return None  # an error
    return names[0], names[1], target


def _content(source: str) -> bytes | None:
    try:
        with open(source, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    plain = len(data) <= MOST_BYTES and data.endswith(b"\n") and not data.translate(None, _PLAIN)
    plain = plain and not data.startswith((b"\xef\xbb\xbf", b"{", b"[", b"#")) and b"-DOCSTART-" not in data
    return data if plain else None


def _rows(data: bytes) -> tuple[list[bytes], list[list[bytes]], bytes] | None:
    """The lines, the cells of each (none in a blank line), and what separates them; None if lines differ."""
    lines = data.split(b"\n")[:-1]
    tabs = b"\t" in data
    if tabs and (b"=" in data or b":" in data):
        return None  # these may be attributes
    rows = []
    for line in lines:
        if line != line.strip(b" \t"):
            return None
        cells = line.split(b"\t") if tabs else [cell for cell in line.split(b" ") if cell]
        rows.append(cells if line else [])
    widths = {len(row) for row in rows if row}
    if len(widths) != 1 or (tabs and (widths & {1, 10} or any(b"" in row for row in rows))):
        return None
    return lines, rows, b"\t" if tabs or widths == {1} else b" "


def _labelled(model: str, given: tuple[list[bytes], list[list[bytes]], bytes], ascii: bool) -> bytes | None:
    from palmette.runtime.native import RuntimeFailure, RuntimeModel

    lines, rows, between = given
    try:
        runtime = RuntimeModel(model)
        if not (ascii or _same_unicode()) or not _reads_columns(runtime):
            return None
        labels = [label.encode() for label in runtime.labels]
        if any(set(label) & {9, 10, 13, 32} for label in labels) or runtime.columns > max(map(len, rows)):
            return None
        numbers = runtime.numbers([row[: runtime.columns] for row in rows])
    except (OSError, AttributeError, RuntimeFailure):
        return None
    made = [
        line + between + labels[number] if row else line for line, row, number in zip(lines, rows, numbers, strict=True)
    ]
    return b"\n".join([*made, b""])


def _same_unicode() -> bool:
    """Whether Python's letters and digits are those of the runtime; it may be of another version."""
    import unicodedata

    from palmette.runtime.native import library

    version: str = library().palmette_unicode().decode()
    return version == unicodedata.unidata_version


def _reads_columns(runtime: RuntimeModel) -> bool:
    """Whether the training data was in columns with the label in the last one."""
    import json

    reading = json.loads(runtime.metadata()).get("reading")
    return runtime.columns > 0 and reading is not None and all(reading.get(key) == READING[key] for key in READING)


def _write(data: bytes) -> None:
    sys.stdout.flush()
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
