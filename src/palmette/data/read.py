"""The one door for files: any format, whole or as a stream of blocks in bounded memory.

`FormatSpec` is what the user says about a file, as it is typed and as it is saved with a model. A format is a
row in FORMATS: how to make its parser (bytes of whole sentences -> Corpus) and where a stream may be cut.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, read_all, read_blocks, shown
from palmette.data.formats.attributes import parse_attributes
from palmette.data.formats.columns import Layout, field_number, parse_columns, settled
from palmette.data.formats.jsonl import JsonlParser, Keys
from palmette.data.formats.raw import UNITS, last_sentence, parse_plain, parse_text
from palmette.errors import ModelError, UsageError

BLOCK = 1 << 20
ENDINGS = {
    ".conllu": "conllu", ".conllx": "conllu", ".jsonl": "jsonl", ".ndjson": "jsonl", ".jsonlines": "jsonl",
    ".crfsuite": "attributes", ".attr": "attributes",
}  # fmt: skip
_DEFAULTS: dict[str, dict[str, Any]] = {
    "columns": {"label": "-1"},
    "conllu": {"label": "upos", "columns": ("form",)},
    "jsonl": {"columns": ("tokens",)},
}

Parser = Callable[[bytes, int], Corpus]


class FormatSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How to read a file.

    format: columns, conllu (also CoNLL-X), attributes, jsonl, text (a sentence a line), plain (running text);
        auto: by the end of the file's name, columns if it says nothing.
    separator: of columns: auto (TAB if the first line has one), tab, space (runs of spaces and TABs), comma,
        semicolon, bar, or one ASCII character.
    columns: what templates see as 0, 1, ...: column numbers, CoNLL-U fields, JSON keys. Default: all columns
        but the label; `form`; `tokens`.
    label: the label's column, field or key. Default: the last column; `upos`; see jsonl.LABEL_KEYS.
    has_label: False: do not read labels. Then a columns file may have the label in its last column or not,
        and that column is a feature like the others, which templates need not look at. A label column
        elsewhere is left out; in CoNLL-U the label's field is where a writer puts the guess.
    tag_names: the names of labels that are numbers in JSON.
    unit: what a token of raw text is: word or char.
    penn_quotes: make `` and '' of the quotes in raw text.
    """

    format: str = "auto"
    separator: str = "auto"
    columns: tuple[str, ...] | None = None
    label: str | None = None
    has_label: bool | None = None
    tag_names: tuple[str, ...] | None = None
    unit: str = "word"
    penn_quotes: bool = False

    def resolved(self, path: FilePath) -> FormatSpec:
        """The reading with the format of this file and its defaults."""
        format = self.format if self.format != "auto" else format_by_name(path) or "columns"
        if format not in FORMATS:
            raise UsageError(f"unknown format {format!r}: choose auto, {', '.join(FORMATS)}")
        made = msgspec.structs.replace(self, format=format)
        missing = {k: v for k, v in _DEFAULTS.get(format, {}).items() if getattr(self, k) is None}
        return msgspec.structs.replace(made, **missing)

    def like(self, trained: Mapping[str, Any] | FormatSpec, path: FilePath) -> FormatSpec:
        """How to read a file to tag it with a model that was trained with that reading: without labels, with
        the same columns if the format is the same. The file's name decides the format if it tells one."""
        if not isinstance(trained, FormatSpec):
            try:
                trained = msgspec.convert(trained, FormatSpec)
            except msgspec.ValidationError as error:
                raise ModelError(f"damaged model: how its data was read is misstated ({error})") from None
        given = self.format if self.format != "auto" else format_by_name(path) or trained.format
        unlabelled = msgspec.structs.replace(trained, has_label=False)
        return unlabelled.overridden(msgspec.structs.replace(self, format=given))

    def labelled(self) -> FormatSpec:
        """The same with labels."""
        return msgspec.structs.replace(self, has_label=True)

    def overridden(self, given: FormatSpec) -> FormatSpec:
        """The same where `given` says nothing. Columns and label of another format say nothing either."""
        said = {k: v for k in self.__struct_fields__ if (v := getattr(given, k)) != getattr(_NOTHING, k)}
        base = self
        if said.get("format", self.format) != self.format:
            base = FormatSpec(has_label=self.has_label, unit=self.unit, penn_quotes=self.penn_quotes)
        return msgspec.structs.replace(base, **said)


_NOTHING = FormatSpec()


def format_by_name(path: FilePath) -> str | None:
    """The format that a file's name tells, if it tells one."""
    name = os.path.basename(os.fspath(path)).lower().removesuffix(".gz")
    return ENDINGS.get(os.path.splitext(name)[1])


def read_corpus(path: FilePath, reading: FormatSpec | None = None) -> Corpus:
    """A whole file."""
    reading = (reading or FormatSpec()).resolved(path)
    return parser_for(reading, shown(path))(read_all(path), 1)


def stream(path: FilePath, reading: FormatSpec | None = None, block: int = BLOCK) -> Iterator[Corpus]:
    """A file in corpora of about `block` bytes, cut between sentences; from a pipe, as soon as one is there.

    A sentence is never cut, however long. What the first block shows (separator, number of columns, where the
    labels are) holds for all. Parts without a sentence come too, with lines only, so that they can be written
    back.
    """
    reading = (reading or FormatSpec()).resolved(path)
    parse = parser_for(reading, shown(path))
    for line, data in cut_blocks(path, FORMATS[reading.format].cut, block):
        yield parse(data, line)


def parser_for(reading: FormatSpec, source: str) -> Parser:
    """From bytes that end between sentences, and the number of their first line, to a corpus."""
    row = FORMATS[reading.format]
    for name in ("columns", "label", "separator", "tag_names"):
        if getattr(reading, name) != getattr(_NOTHING, name) and name not in row.options:
            raise UsageError(f"{name} does not apply to the format {reading.format}")
    return row.parser(reading, source)


# The formats


class _ColumnsParser:
    """Blocks of columns. What the first one shows holds for those that follow."""

    def __init__(self, reading: FormatSpec, source: str) -> None:
        conllu = reading.format == "conllu"
        columns = label = None
        if reading.columns is not None:
            columns = tuple(field_number(name, conllu) for name in reading.columns)
        if reading.label is not None:
            label = field_number(reading.label, conllu)
        self.layout = Layout(conllu, reading.separator, columns, label, reading.has_label is not False)
        self.source = source

    def __call__(self, data: bytes, first_line: int) -> Corpus:
        corpus = parse_columns(data, self.layout, self.source, first_line)
        self.layout = settled(self.layout, corpus)
        return corpus


def _attributes_parser(reading: FormatSpec, source: str) -> Parser:
    return lambda data, line: parse_attributes(data, source, line, reading.has_label is not False)


def _jsonl_parser(reading: FormatSpec, source: str) -> Parser:
    keys = Keys(reading.columns or ("tokens",), reading.label, reading.has_label, reading.tag_names)
    return JsonlParser(keys, source)


def _raw_parser(reading: FormatSpec, source: str) -> Parser:
    if reading.unit not in UNITS:
        raise UsageError(f"unknown unit {reading.unit!r} of raw text: choose {', '.join(UNITS)}")
    parse = parse_text if reading.format == "text" else parse_plain
    return lambda data, line: parse(data, source, line, unit=reading.unit, penn_quotes=reading.penn_quotes)


# Streams


class Cut(NamedTuple):
    """Where bytes of whole lines may be cut: behind the position `last` gives, 0 for nowhere. For sentences
    that do not end at line ends, `long` finds a place in more than a block without one. The first block is held
    back until it is `ready`."""

    last: Callable[[bytes], int]
    long: Callable[[bytes], int] | None = None
    ready: Callable[[bytes], object] = bool


def _behind_blank_line(data: bytes) -> int:
    """Behind the last blank line."""
    at = len(data)
    while at > 0:
        start = data.rfind(b"\n", 0, at - 1) + 1
        if not data[start : at - 1].removesuffix(b"\r").strip(b" \t"):
            return at
        at = start
    return 0


def cut_blocks(path: FilePath, cut: Cut, block: int) -> Iterator[tuple[int, bytes]]:
    """Pieces of the file that end between sentences, each with the number of its first line.

    Every byte is looked at once: `whole` has lines without a place to cut, `tail` the last line's start."""
    line = 1
    whole: list[bytes] = []
    tail: list[bytes] = []
    patience = block
    for piece in read_blocks(path, block):
        end = piece.rfind(b"\n") + 1
        if end == 0:
            tail.append(piece)
            continue
        fresh = b"".join([*tail, piece[:end]])
        tail = [piece[end:]]
        at = cut.last(fresh)
        if at == 0 and cut.long is not None and sum(map(len, whole)) + len(fresh) >= patience:
            fresh = b"".join([*whole, fresh])
            whole = []
            at = cut.long(fresh)
            patience = block if at else 2 * len(fresh)
        if at == 0:
            whole.append(fresh)
            continue
        data = b"".join([*whole, fresh[:at]])
        whole = [fresh[at:]]
        if line == 1 and not cut.ready(data):
            whole.insert(0, data)
            continue
        yield line, data
        line += data.count(b"\n")
    if rest := b"".join([*whole, *tail]):
        yield line, rest


class Format(NamedTuple):
    """A row of the table of formats."""

    parser: Callable[[FormatSpec, str], Parser]
    cut: Cut
    options: tuple[str, ...] = ()  # fields of Reading that mean something here


_SENTENCES = Cut(_behind_blank_line)
# A document mark gets a label too, and only a token tells how the columns are separated.
_COLUMNS = Cut(_behind_blank_line, ready=re.compile(rb"^(?!-DOCSTART-\s)[ \t]*[^ \t\r\n]", re.MULTILINE).search)
_LINES = Cut(len)

FORMATS = {
    "columns": Format(_ColumnsParser, _COLUMNS, ("columns", "label", "separator")),
    "conllu": Format(_ColumnsParser, _SENTENCES, ("columns", "label")),
    "attributes": Format(_attributes_parser, _SENTENCES),
    "jsonl": Format(_jsonl_parser, _LINES, ("columns", "label", "tag_names")),
    "text": Format(_raw_parser, _LINES),
    "plain": Format(_raw_parser, Cut(_behind_blank_line, last_sentence)),
}
