"""A reader of columns without compiled code, for files that have gold and guess in their last two columns.

`palmette eval --guess` and scripts around it run often and on small files: loading Numba would take longer than
reading them. The rules are those of `columns`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.formats.ragged import FILLER, RaggedRows, usual_width
from palmette.data.formats.spec import FormatSpec
from palmette.data.text import PLAIN, TextSpec, check_utf8, read_text
from palmette.errors import DataError, UsageError, counted
from palmette.options.spelling import named, spelt

MARK = "-DOCSTART-"
ANYTHING = ("?", "_")  # partial labels that allow every label


class Guesses(NamedTuple):
    """Gold and guess as numbers of one list of labels, and the first column."""

    gold: np.ndarray  # i32[N]
    guess: np.ndarray  # i32[N]
    offset: np.ndarray  # i64[S+1]
    labels: list[str]
    words: Sequence[str]
    known: np.ndarray | None = None  # bool[N]: gold is a single label; None: everywhere


def read_guesses(path: FilePath, separator: str = "auto", spec: TextSpec = PLAIN, ragged: str = "error") -> Guesses:
    """The last two columns of a column file. `ragged`: `pad` makes all lines as wide as most."""
    data, file = read_text(path, spec), shown(path)
    check_utf8(data, file)
    found = _rows(data.decode(), separator)
    numbers: dict[str, int] = {}
    rows: list[tuple[int, int]] = []
    words: list[str] = []
    marks = [0]
    width = 0
    for number, cells in _evened(list(found), file) if ragged == "pad" else found:
        if not cells:
            marks.append(len(rows))
            continue
        width = width or len(cells)
        if len(cells) != width or width < 2:
            _ragged(cells, width, file, number)
        words.append(cells[0])
        rows.append(tuple(numbers.setdefault(cell, len(numbers)) for cell in cells[-2:]))  # type: ignore[arg-type]
    if not rows:
        raise DataError("no sentence to score", file=file)
    table = np.array(rows, np.int32)
    offset = np.array(sorted({*marks, len(rows)}), np.int64)  # np.unique would import numpy.ma
    return Guesses(table[:, 0].copy(), table[:, 1].copy(), offset, list(numbers), words)


def _rows(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line with its number; none where a sentence ends."""
    cut = _cutter(separator)
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip(" \t"):
            yield number, []
            continue
        cut = cut or ((lambda text: text.split("\t")) if "\t" in line else _runs)
        cells = cut(line)
        yield number, [] if cells[0] == MARK else cells


def _evened(rows: list[tuple[int, list[str]]], file: str) -> list[tuple[int, list[str]]]:
    """Rows of one width, if there is more than gold and guess in them."""
    width = usual_width([len(cells) for _, cells in rows if cells] or [0])
    if width <= 2:
        return rows
    ragged = RaggedRows(file)
    made = [(n, ragged.even(cells, FILLER, width, -2, n) if cells else cells) for n, cells in rows]
    ragged.report()
    return made


def _runs(text: str) -> list[str]:
    # Only spaces and TABs separate, as in `columns`; str.split() would also cut at a no-break space.
    return [cell for cell in text.replace("\t", " ").split(" ") if cell]


def _cutter(separator: str):  # type: ignore[no-untyped-def]
    if separator == "auto":
        return None
    if separator not in ("tab", "space"):
        raise UsageError(f"unknown separator {separator!r}: choose auto, tab or space")
    return (lambda text: text.split("\t")) if separator == "tab" else _runs


def _ragged(cells: list[str], width: int, file: str, number: int) -> None:
    if width < 2:
        raise DataError(
            "one column, but gold and guess are two",
            file=file,
            line=number,
            hint=f"see {named(FormatSpec, 'separator')}",
        )
    raise DataError(
        f"{counted(len(cells), 'column')} where {width} are expected", file=file, line=number,
        hint=f"each line needs as many columns as the first ({spelt(FormatSpec, 'ragged', 'pad')} adds or drops cells)",
    )  # fmt: skip


def certain_only(tagged: Guesses) -> Guesses:
    """These labels with `?`, `_` and `A|B` in gold taken as partial labels, which scores ignore."""
    unsure = np.array([label in ANYTHING or "|" in label for label in tagged.labels], np.bool_)
    known = ~unsure[tagged.gold]
    used = np.flatnonzero(np.bincount(np.concatenate((tagged.gold[known], tagged.guess))))
    new = np.zeros(len(tagged.labels), np.int32)
    new[used] = np.arange(used.size, dtype=np.int32)
    labels = [tagged.labels[k] for k in used.tolist()]
    gold = np.where(known, new[tagged.gold], 0).astype(np.int32)
    return tagged._replace(gold=gold, guess=new[tagged.guess], labels=labels, known=known)
