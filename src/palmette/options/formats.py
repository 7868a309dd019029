"""Options of reading files: the format, its columns and its labels."""

from __future__ import annotations

from palmette.options.declare import Options, option

FORMATS = {
    "auto": "by the end of the file's name, columns if it tells nothing",
    "columns": "one token per line, blank lines between sentences",
    "conllu": "CoNLL-U and CoNLL-X",
    "attributes": "CRFsuite attribute files",
    "jsonl": "one JSON object per sentence",
    "text": "one sentence per line",
    "plain": "running text",
}
UNITS = ("word", "char")


def names_from_text(text: str) -> tuple[str, ...] | None:
    """Names separated by commas."""
    return tuple(text.replace(",", " ").split()) or None


class FormatOptions(Options):
    """How to read a file."""

    format: str = option(default="auto", choices=FORMATS, group="data", help="Format of the input.")
    separator: str = option(
        default="auto", group="data", metavar="NAME",
        help="Separator of columns: auto (TAB if the first line has one), tab, space (runs of spaces and TABs), comma, "
        "semicolon, bar, or one character.",
    )  # fmt: skip
    columns: tuple | None = option(
        default=None, group="data", metavar="NAME,...", parse=names_from_text,
        help="Columns that templates see as 0, 1, ...: numbers, CoNLL-U fields or JSON keys (default: all but the "
        "label; form; tokens).",
    )  # fmt: skip
    label: str | None = option(
        default=None, group="data", metavar="NAME",
        help="Column, CoNLL-U field or JSON key of the label: a number from 0 (default: -1, the last column; upos).",
    )  # fmt: skip
    tag_names: tuple | None = option(
        default=None, group="data", metavar="NAME,...", parse=names_from_text,
        help="Names of labels that are numbers in JSON lines: O,B-PER,I-PER.",
    )  # fmt: skip
    unit: str = option(default="word", choices=UNITS, group="data", help="What a token of raw text is.")
    penn_quotes: bool = option(
        default=False, group="data", help="Turn the quotes of raw text into `` and '', as in the Penn Treebank."
    )
    has_label: bool | None = option(
        default=None, python_only=True,
        help="False: do not read labels. A column file may then have the label in its last column or not.",
    )  # fmt: skip
