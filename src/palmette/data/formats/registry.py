"""Reading a file of any format, whole or as a stream of blocks in bounded memory. The table of formats is in `spec`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from palmette.data.corpus import Corpus, check_cells
from palmette.data.files import FilePath, shown
from palmette.data.formats.format import Format, Parser
from palmette.data.formats.spec import FORMATS, FormatSpec
from palmette.data.stream import BLOCK, cut_blocks
from palmette.data.text import read_text
from palmette.errors import UsageError
from palmette.lazy import loaded

if TYPE_CHECKING:
    from palmette.data.notes import Notes


DOCUMENT = 1 << 10
"""Bytes that a document counts as where documents are read at once."""


def load_format(name: str) -> Format:
    """The format with this name."""
    if name not in FORMATS:
        raise UsageError(f"unknown format {name!r}: choose {', '.join(FORMATS)}")
    found: Format = loaded(FORMATS[name].home)
    return found


class CheckedParser:
    """The parser for a resolved specification, with the limit of cells; `source` names the file in messages."""

    def __init__(self, spec: FormatSpec, source: str) -> None:
        spec.check_applies()
        self.max_cell = spec.max_cell
        self.parser: Parser = load_format(spec.format).parser(spec, source)

    def __call__(self, data: bytes, first_line: int) -> Corpus:
        corpus = self.parser(data, first_line)
        check_cells(corpus, self.max_cell)
        return corpus

    def report(self) -> None:
        """Log what the parser has to say at the end of a file, if it has."""
        if (report := getattr(self.parser, "report", None)) is not None:
            report()


def read_corpus(path: FilePath, spec: FormatSpec | None = None, notes: Notes | None = None) -> Corpus:
    """A whole file. What the reader could not keep as it was is added to `notes`, or logged."""
    spec = (spec or FormatSpec()).resolved(path)
    if load_format(spec.format).read is not None:
        corpus = next(_blocks(path, spec, sys.maxsize))
    else:
        parse = CheckedParser(spec, shown(path))
        corpus = parse(read_text(path, spec), 1)
        parse.report()
    if corpus.notes is not None:
        if notes is None:
            corpus.notes.log()
        else:
            notes.take(corpus.notes)
    return corpus


def stream_corpus(
    path: FilePath, spec: FormatSpec | None = None, block: int = BLOCK, notes: Notes | None = None
) -> Iterator[Corpus]:
    """A file as corpora of about `block` bytes, cut between sentences; from a pipe, as soon as one has arrived.

    A sentence is never cut, however long. Separator, number of columns and place of the labels are derived from the
    first block and hold for all. Parts without a sentence are yielded too, with lines only, so that they can be
    written back. What the reader could not keep as it was is added to `notes`, or logged at the end.
    """
    spec = (spec or FormatSpec()).resolved(path)
    found = notes
    for corpus in _blocks(path, spec, block):
        if corpus.notes is not None:
            found = found if found is not None else type(corpus.notes)()
            found.take(corpus.notes)
        yield corpus
    if notes is None and found is not None:
        found.log()


def _blocks(path: FilePath, spec: FormatSpec, block: int) -> Iterator[Corpus]:
    row = load_format(spec.format)
    if row.read is not None:
        spec.check_applies()
        for corpus in row.read(path, spec, max(1, block // DOCUMENT)):
            check_cells(corpus, spec.max_cell)
            yield corpus
        return
    parse = CheckedParser(spec, shown(path))
    for line, data in cut_blocks(path, row.cut, block, spec):
        yield parse(data, line)
    parse.report()
