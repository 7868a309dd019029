"""Treebanks written back: the very lines they were read from with new trees in them, or CoNLL-U made from the cells.

Of the lines only the fields that are asked for change; comments, multi-word tokens, empty nodes, line ends and all
other cells come back byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from palmette.data.corpus import Column, Lines, bytes_of
from palmette.data.files import FilePath, write_whole
from palmette.data.formats.columns import CONLLU_FIELDS
from palmette.data.tree_checks import UNKNOWN
from palmette.data.treebank import FIELDS, NOTHING, Treebank
from palmette.errors import DataError, UsageError
from palmette.kernels.io.columns import DROPPED_LINE, TAB, split_cells
from palmette.kernels.io.splice import splice

TREE = ("head", "deprel")


def write_treebank(path: FilePath, treebank: Treebank | Iterable[Treebank], *, fields: Sequence[str] = TREE) -> None:
    """A treebank, or one after the other as they come from `stream_treebank`, to a file: whole or not at all."""
    with write_whole(path) as file:
        for part in (treebank,) if isinstance(treebank, Treebank) else treebank:
            file.write(treebank_bytes(part, fields=fields))


def treebank_bytes(treebank: Treebank, *, fields: Sequence[str] = TREE) -> bytes:
    """The text of a treebank. `fields` are those that its own lines get anew: head, deprel, and any of FIELDS."""
    unknown = [name for name in fields if name not in (*FIELDS, *TREE)]
    if unknown:
        raise UsageError(f"cannot write the field {unknown[0]!r}: choose {', '.join((*FIELDS, *TREE))}")
    lines = treebank.corpus.lines
    return _from_cells(treebank) if lines is None else _into_lines(treebank, lines, sorted(fields, key=_place))


def _place(field: str) -> int:
    return CONLLU_FIELDS.index(field)


def _cells(treebank: Treebank, field: str) -> tuple[np.ndarray, Sequence[str]]:
    """The type i32[N] of each token's cell, and the types."""
    if field == "head":
        largest = int(treebank.heads.max(initial=0))
        return treebank.heads - UNKNOWN, [NOTHING, *map(str, range(largest + 1))]
    column: Column = treebank.relations if field == "deprel" else treebank.column(field)
    if broken := next((cell for cell in column.types if not cell or any(c in cell for c in "\t\n\r")), None):
        raise DataError(f"the {field} {broken!r} cannot stand in CoNLL-U: it holds a TAB or a line end")
    return column.ids, column.types


def _into_lines(treebank: Treebank, lines: Lines, fields: Sequence[str]) -> bytes:
    """Stretches of the text to be replaced: a cell for each token and field, and the lines of what was left out."""
    start, end, piece, strings = [], [], [], [""]
    if treebank.n_tokens:
        cell_start, cell_end, _, _ = split_cells(
            lines.data, lines.start, lines.end, lines.tokens, len(CONLLU_FIELDS), TAB
        )
        for field in fields:
            ids, types = _cells(treebank, field)
            start.append(cell_start[_place(field)])
            end.append(cell_end[_place(field)])
            piece.append(ids.astype(np.int64) + len(strings))
            strings += types
    gone = np.flatnonzero(lines.kind == DROPPED_LINE)
    start.append(lines.start[gone])
    end.append(np.append(lines.start[1:], lines.data.size)[gone])
    piece.append(np.zeros(gone.size, np.int64))
    starts = np.concatenate(start)
    order = np.argsort(starts, kind="stable")
    text, offset = bytes_of(strings)
    pieces = np.concatenate(piece)
    return splice(lines.data, starts[order], np.concatenate(end)[order], pieces[order], text, offset).tobytes()


def _from_cells(treebank: Treebank) -> bytes:
    """CoNLL-U of a treebank that was made in Python or drawn from others."""
    cells: dict[str, list[str]] = {}
    for field in (*FIELDS, *TREE):
        ids, types = _cells(treebank, field)
        cells[field] = [types[k] for k in ids.tolist()]
    made = []
    for first, last in pairwise(treebank.offset.tolist()):
        for i in range(first, last):
            row = [cells[field][i] for field in (*FIELDS, *TREE)]
            made.append("\t".join([str(i - first + 1), *row, NOTHING, NOTHING]))
        made.append("")
    return "".join(row + "\n" for row in made).encode()
