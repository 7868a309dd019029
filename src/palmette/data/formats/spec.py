"""The table of formats, and the options of reading a file.

To add a format, write a module with a `Format` (see registry.py) and add a row to FORMATS. This module does not import
the formats themselves, so that the help of a command does not wait for compiled code.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from palmette.data.files import FilePath, shown
from palmette.data.text import TextSpec
from palmette.errors import ModelError, UsageError
from palmette.options.declare import OptionError, option
from palmette.options.spelling import spelt

logger = logging.getLogger(__name__)
ANYTHING = ("?", "_")  # labels in files that allow every label


class FormatRow(NamedTuple):
    """A format by its name."""

    home: str  # the module below `palmette` and the name of its `Format`
    help: str
    options: tuple[str, ...] = ()  # fields of FormatSpec that apply to some formats only, and to this one
    defaults: Mapping[str, Any] = {}  # of fields of FormatSpec
    endings: tuple[str, ...] = ()  # of file names
    convert: str = ""  # of formats of documents: what converts to them (`module:name`)


DOCUMENTS = "connect.annotations.files:to_documents"
FORMATS: dict[str, FormatRow] = {
    "columns": FormatRow(
        "data.formats.columns:FORMAT", "one token per line, blank lines between sentences",
        options=("columns", "label", "separator", "ragged"), defaults={"label": "-1"},
    ),
    "conllu": FormatRow(
        "data.formats.conllu:FORMAT", "CoNLL-U and CoNLL-X",
        options=("columns", "label"), defaults={"label": "upos", "columns": ("form",)}, endings=(".conllu", ".conllx"),
    ),
    "attributes": FormatRow(
        "data.formats.attributes:FORMAT", "CRFsuite attribute files", endings=(".crfsuite", ".attr"),
    ),
    "jsonl": FormatRow(
        "data.formats.jsonl:FORMAT", "one JSON object per sentence",
        options=("columns", "label", "tag_names"), defaults={"columns": ("tokens",)},
        endings=(".jsonl", ".ndjson", ".jsonlines"),
    ),
    "text": FormatRow("data.formats.raw:TEXT", "raw text, one sentence per line"),
    "plain": FormatRow("data.formats.raw:PLAIN", "raw running text"),
    "prodigy": FormatRow(
        "connect.annotations.formats:PRODIGY", "Prodigy's JSON lines",
        options=("columns", "label", "split_at_spans"), convert=DOCUMENTS,
    ),
    "labelstudio": FormatRow(
        "connect.annotations.formats:LABELSTUDIO", "Label Studio's JSON",
        options=("columns", "label", "split_at_spans", "offsets"), convert=DOCUMENTS,
    ),
    "doccano": FormatRow(
        "connect.annotations.formats:DOCCANO", "doccano's JSON lines",
        options=("columns", "label", "split_at_spans", "offsets"), convert=DOCUMENTS,
    ),
    "brat": FormatRow(
        "connect.annotations.formats:BRAT", "brat standoff: a pair of .txt and .ann, or a folder",
        options=("split_at_spans",), convert=DOCUMENTS,
        endings=(".ann",),
    ),
}  # fmt: skip
ANNOTATORS = {name: row.help for name, row in FORMATS.items() if row.convert}
OFFSETS = {
    "auto": "by the text that Label Studio gives to spans; units in doccano, where they are possible",
    "characters": "Unicode characters",
    "utf16": "UTF-16 units, as browsers count: most emoji are two",
}
AUTO = {"auto": "by the ending of the file's name, else by its first lines, else columns"}
UNITS = ("word", "char")
RAGGED = {
    "error": "stop at the first such line",
    "pad": "add cells `_` or drop cells, with a warning; the label stays",
}


def format_by_name(path: FilePath) -> str | None:
    """The format for the ending of a file's name; None if the ending is not known."""
    name = os.path.basename(os.fspath(path)).lower().removesuffix(".gz")
    ending = os.path.splitext(name)[1]
    return next((format for format, row in FORMATS.items() if ending in row.endings), None)


def names_from_text(text: str) -> tuple[str, ...] | None:
    """Names separated by commas."""
    return tuple(text.replace(",", " ").split()) or None


def _check_names(name: str) -> Any:
    def check(value: tuple[str, ...]) -> None:
        if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
            raise OptionError(name, f"{value!r} is not a tuple of strings")

    return check


class FormatSpec(TextSpec):
    """How to read a file, as given by the user and (but for the encoding and the limits) as saved with a model."""

    format: str = option(
        default="auto", choices=AUTO | {name: row.help for name, row in FORMATS.items()}, group="data",
        help="Format of the input.",
    )  # fmt: skip
    separator: str = option(
        default="auto", group="data", metavar="NAME",
        help="Separator of columns: auto (TAB if the first line has one), tab, space (runs of spaces and TABs), comma, "
        "semicolon, bar, or one character.",
    )  # fmt: skip
    columns: tuple[str, ...] | None = option(
        default=None, group="data", metavar="NAME,...", parse=names_from_text, check=_check_names("columns"),
        help="Columns that templates see as 0, 1, ...: numbers, CoNLL-U fields or JSON keys (default: all but the "
        "label; of CoNLL-U form; of JSON tokens). Of annotated texts the key of the text.",
    )  # fmt: skip
    label: str | None = option(
        default=None, group="data", metavar="NAME",
        help="Column (a number from 0), CoNLL-U field or JSON key of the label (default: the last column, -1; of "
        "CoNLL-U upos; of JSON the first of tags, ner_tags, labels, pos_tags, chunk_tags, upos and xpos). Of annotated "
        "texts the key of the spans, or the name of the control that made them.",
    )  # fmt: skip
    tag_names: tuple[str, ...] | None = option(
        default=None, group="data", metavar="NAME,...", parse=names_from_text, check=_check_names("tag_names"),
        help="Names of labels that are numbers in JSON lines: O,B-PER,I-PER.",
    )  # fmt: skip
    ragged: str = option(
        default="error", choices=RAGGED, group="data",
        help="What to do with lines of columns that have more or fewer cells than the others. A model does not "
        "remember it.",
    )  # fmt: skip
    unit: str = option(default="word", choices=UNITS, group="data", help="The tokens of raw text.")
    penn_quotes: bool = option(
        default=False, group="data", help="Replace the quotes of raw text by `` and '', as in the Penn Treebank."
    )
    split_at_spans: bool = option(
        default=True, group="data",
        help="Cut the tokens of annotated texts where spans begin or end inside of them; otherwise such spans are "
        "widened to whole tokens.",
    )  # fmt: skip
    offsets: str = option(
        default="auto",
        choices=OFFSETS,
        group="data",
        help="What the offsets of Label Studio and doccano count. A model does not remember it.",
    )
    has_label: bool | None = option(
        default=None, python_only=True,
        help="False: do not read labels. A column file may then have the label in its last column or not, and that "
        "column is a feature like the others; a label column elsewhere is left out. In CoNLL-U the label's field is "
        "where the predicted label is written.",
    )  # fmt: skip

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any], file: str | None = None) -> FormatSpec:
        """The specification in the metadata of a model; ModelError if there is none."""
        try:
            values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
            return cls(**values)
        except UsageError as error:
            raise ModelError(f"damaged model: invalid format of its training data ({error})", file=file) from None

    def resolved(self, path: FilePath, expected: str = "columns") -> FormatSpec:
        """This specification with the format of this file and the defaults of that format. `expected`: the format if
        neither its name nor its first lines show one."""
        format = self.format if self.format != "auto" else self._shown_by(path, expected) or expected
        missing = {k: v for k, v in FORMATS[format].defaults.items() if getattr(self, k) is None}
        return self.replace(format=format, **missing)

    def like(self, trained: Mapping[str, Any] | FormatSpec, path: FilePath) -> FormatSpec:
        """How to read a file for a model whose training data was read by `trained`: without labels, with the same
        columns if the format is the same. The file's name decides the format if its ending is known, else its first
        lines if they show one."""
        trained = trained if isinstance(trained, FormatSpec) else FormatSpec.from_stored(trained)
        given = self.format if self.format != "auto" else self._shown_by(path, trained.format) or trained.format
        return trained.replace(has_label=False).overridden(self.replace(format=given))

    def _shown_by(self, path: FilePath, expected: str) -> str | None:
        """The format that the name of the file or its first lines show; None: they show none. A format by the first
        lines that is not the expected one is logged."""
        named = "brat" if os.path.isdir(path) else format_by_name(path)
        of_columns = self.separator != "auto" or self.ragged != "error"
        if (named is not None and named != "jsonl") or of_columns:
            return named
        from palmette.data.formats.recognise import format_by_content, lacks_attributes

        found = format_by_content(path, self.encoding)
        if found is None and expected == "attributes" and lacks_attributes(path, self.encoding):
            found = "columns"
        if named == "jsonl" and found not in ANNOTATORS:  # lines of annotators have the same endings
            return expected if found is None and expected in ANNOTATORS else named
        if found not in (None, expected):
            usual = named or expected
            other = spelt(FormatSpec, "format", usual)
            logger.info("%s is read as %s, by its first lines (%s if it is not)", shown(path), found, other)
        return found

    def stored(self) -> dict[str, Any]:
        """What a model remembers: not the encoding, the limits, ragged lines and what offsets count, since other files
        may have others."""
        forgotten = (*TextSpec.__options__, "ragged", "offsets")
        return {name: value for name, value in self.values().items() if name not in forgotten}

    def labelled(self) -> FormatSpec:
        """This specification with labels."""
        return self.replace(has_label=True)

    def overridden(self, given: FormatSpec) -> FormatSpec:
        """This specification with all options that `given` sets. If that changes the format, columns, label and others
        that belong to the old format are dropped."""
        changes, base = given.changed(), self
        if changes.get("format", self.format) != self.format:
            base = FormatSpec(has_label=self.has_label, unit=self.unit, penn_quotes=self.penn_quotes)
            if changes.get("format") in ANNOTATORS and self.format in ANNOTATORS:
                base = base.replace(split_at_spans=self.split_at_spans)
        return base.replace(**changes)

    def check_applies(self) -> None:
        """UsageError if an option is set that does not apply to the format."""
        for name in self.changed():
            if name in _SOME and name not in FORMATS[self.format].options:
                raise UsageError(f"{name} does not apply to the format {self.format}")


_SOME = frozenset(name for row in FORMATS.values() for name in row.options)
