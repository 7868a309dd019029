"""The table of formats, and reading a file of any of them, whole or as a stream of blocks in bounded memory.

To add a format, write a module that makes a `Format` and add a row to FORMATS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, read_all, shown
from palmette.data.formats import attributes, columns, conllu, jsonl, raw
from palmette.data.formats.format import Format, Parser
from palmette.data.stream import BLOCK, cut_blocks
from palmette.errors import ModelError, UsageError

FORMATS: dict[str, Format] = {
    "columns": columns.FORMAT,
    "conllu": conllu.FORMAT,
    "attributes": attributes.FORMAT,
    "jsonl": jsonl.FORMAT,
    "text": raw.TEXT,
    "plain": raw.PLAIN,
}
_OWN_OPTIONS = ("columns", "label", "separator", "tag_names")  # apply only if the format's row has them


class FormatSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How to read a file, as given by the user and as saved with a model.

    format: columns, conllu (also CoNLL-X), attributes, jsonl, text (one sentence per line), plain (running text);
        auto: by the ending of the file's name, else columns.
    separator: of columns: auto (TAB if the first line has one), tab, space (runs of spaces and TABs), comma,
        semicolon, bar, or one ASCII character.
    columns: what templates see as 0, 1, ...: column numbers, CoNLL-U fields, JSON keys. Default: all columns
        but the label; `form`; `tokens`.
    label: the label's column, field or key. Default: the last column; `upos`; see jsonl.LABEL_KEYS.
    has_label: False: do not read labels. Then a columns file may have the label in its last column or not,
        and that column is a feature like the others, which templates need not use. A label column
        elsewhere is left out; in CoNLL-U the label's field is where a writer puts the predicted label.
    tag_names: the names of labels that are numbers in JSON.
    unit: the token of raw text: word or char.
    penn_quotes: replace the quotes in raw text by `` and ''.
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
        """This specification with the format of this file and the defaults of that format."""
        format = self.format if self.format != "auto" else format_by_name(path) or "columns"
        if format not in FORMATS:
            raise UsageError(f"unknown format {format!r}: choose auto, {', '.join(FORMATS)}")
        missing = {k: v for k, v in FORMATS[format].defaults.items() if getattr(self, k) is None}
        return msgspec.structs.replace(self, format=format, **missing)

    def like(self, trained: Mapping[str, Any] | FormatSpec, path: FilePath) -> FormatSpec:
        """How to read a file for a model whose training data was read by `trained`: without labels, with the same
        columns if the format is the same. The file's name decides the format if its ending is known."""
        if not isinstance(trained, FormatSpec):
            try:
                trained = msgspec.convert(trained, FormatSpec)
            except msgspec.ValidationError as error:
                raise ModelError(f"damaged model: invalid format of its training data ({error})") from None
        given = self.format if self.format != "auto" else format_by_name(path) or trained.format
        unlabelled = msgspec.structs.replace(trained, has_label=False)
        return unlabelled.overridden(msgspec.structs.replace(self, format=given))

    def labelled(self) -> FormatSpec:
        """This specification with labels."""
        return msgspec.structs.replace(self, has_label=True)

    def overridden(self, given: FormatSpec) -> FormatSpec:
        """This specification with all fields that `given` sets. If that changes the format, columns, label and others
        that belong to the old format are dropped."""
        set_fields = {k: v for k in self.__struct_fields__ if (v := getattr(given, k)) != getattr(_DEFAULT, k)}
        base = self
        if set_fields.get("format", self.format) != self.format:
            base = FormatSpec(has_label=self.has_label, unit=self.unit, penn_quotes=self.penn_quotes)
        return msgspec.structs.replace(base, **set_fields)


_DEFAULT = FormatSpec()


def format_by_name(path: FilePath) -> str | None:
    """The format for the ending of a file's name; None if the ending is not known."""
    name = os.path.basename(os.fspath(path)).lower().removesuffix(".gz")
    ending = os.path.splitext(name)[1]
    return next((format for format, row in FORMATS.items() if ending in row.endings), None)


def parser_for(spec: FormatSpec, source: str) -> Parser:
    """The parser for a resolved specification; `source` names the file in messages."""
    row = FORMATS[spec.format]
    for name in _OWN_OPTIONS:
        if getattr(spec, name) != getattr(_DEFAULT, name) and name not in row.options:
            raise UsageError(f"{name} does not apply to the format {spec.format}")
    return row.parser(spec, source)


def read_corpus(path: FilePath, spec: FormatSpec | None = None) -> Corpus:
    """A whole file."""
    spec = (spec or FormatSpec()).resolved(path)
    return parser_for(spec, shown(path))(read_all(path), 1)


def stream_corpus(path: FilePath, spec: FormatSpec | None = None, block: int = BLOCK) -> Iterator[Corpus]:
    """A file as corpora of about `block` bytes, cut between sentences; from a pipe, as soon as one has arrived.

    A sentence is never cut, however long. Separator, number of columns and place of the labels are derived from the
    first block and hold for all. Parts without a sentence are yielded too, with lines only, so that they can be
    written back.
    """
    spec = (spec or FormatSpec()).resolved(path)
    parse = parser_for(spec, shown(path))
    for line, data in cut_blocks(path, FORMATS[spec.format].cut, block):
        yield parse(data, line)
