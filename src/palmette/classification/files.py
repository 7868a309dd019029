"""Sentences with a class, as files: one sentence per line, columns, or JSON lines.

- lines: `CLASS<TAB>words<TAB>parts of speech`, words and parts of speech with spaces between them. Parts of speech
  may be missing in all lines, and so may the class if none is needed. Without a TAB the first word is the class.
- columns: one token per line, `word` or `word POS`, a blank line between sentences; without classes.
- jsonl: one object per line, `{"tokens": [...], "pos": [...], "label": ...}`.

Predicted classes are written as lines (`CLASS<TAB>score<TAB>words`, followed by the latent tags of each view as
comments) or as jsonl.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from palmette.data.files import FilePath, shown
from palmette.data.formats.recognise import format_by_content
from palmette.data.formats.spec import format_by_name
from palmette.data.stream import BLANK_LINES, BLOCK, LINES, cut_blocks
from palmette.data.text import PLAIN, TextSpec, check_utf8
from palmette.errors import DataError, UsageError, counted
from palmette.options.declare import OptionError
from palmette.options.spelling import argument

logger = logging.getLogger(__name__)

CLASSIFIED_FORMATS = ("lines", "columns", "jsonl")
CLASSIFIED_OUTPUTS = ("lines", "jsonl")


class ClassifiedSentence(NamedTuple):
    """Words, their parts of speech (None: not given), the class (None: not read), and its line in the file."""

    words: list[str]
    pos: list[str] | None
    label: str | None
    line: int

    @property
    def tokens(self) -> list[Any]:
        """As Python data: strings, or tuples with the part of speech."""
        return self.words if self.pos is None else list(zip(self.words, self.pos, strict=True))


class _Object(msgspec.Struct):
    tokens: list[str]
    pos: list[str] | None = None
    label: str | int | float | bool | None = None


def read_classified(
    path: FilePath, format: str | None = None, *, labelled: bool, spec: TextSpec = PLAIN
) -> list[ClassifiedSentence]:
    """The sentences of a file, with their classes if it is `labelled`."""
    return [sentence for block in stream_classified(path, format, labelled=labelled, spec=spec) for sentence in block]


def stream_classified(
    path: FilePath, format: str | None = None, *, labelled: bool, block: int = BLOCK, spec: TextSpec = PLAIN
) -> Iterator[list[ClassifiedSentence]]:
    """The sentences of a file in lists of about `block` bytes; from a pipe, as soon as they have arrived."""
    form = format or _format_of(path, spec.encoding)
    if form not in CLASSIFIED_FORMATS:
        raise OptionError("format", f"there is no {form!r}; choose one of {', '.join(CLASSIFIED_FORMATS)}")
    if form == "columns" and labelled:
        raise UsageError("columns have no field for a class: give two files, positives and negatives")
    name, cut = shown(path), BLANK_LINES if form == "columns" else LINES
    first: ClassifiedSentence | None = None
    for line, data in cut_blocks(path, cut, block, spec):
        check_utf8(data, name, line)
        found = list(_READERS[form](data.decode(), name, labelled, line))
        if found:
            first = first or found[0]
            _check_pos(found, first, name)
            yield found
    if first is None:
        raise DataError("there is no sentence in it", file=name)


def _format_of(path: FilePath, encoding: str) -> str:
    """jsonl if the name ends in it or the first line is a JSON object, else lines."""
    named = format_by_name(path)
    if named is None and format_by_content(path, encoding) == "jsonl":
        logger.info("%s is read as jsonl, by its first line (give the format lines if it is not)", shown(path))
        return "jsonl"
    return "jsonl" if named == "jsonl" else "lines"


def parse_line(line: str, name: str, number: int, labelled: bool) -> ClassifiedSentence:
    """One line of the format `lines`."""
    cells = line.split("\t")
    if labelled and len(cells) == 1:
        cells = line.split(None, 1)
    most = 3 if labelled else 2
    if not most - 1 <= len(cells) <= most:
        form = "write words, and perhaps <TAB>parts of speech"
        hint = form.replace("words", "CLASS<TAB>words", 1) if labelled else f"{form}; leave a class out: cut -f 2-"
        raise DataError(counted(len(cells), "field"), file=name, line=number, hint=hint)
    label = cells.pop(0).strip() if labelled else None
    words, pos = cells[0].split(), cells[1].split() if len(cells) == 2 else None
    if label == "":
        raise DataError("the class is empty", file=name, line=number, hint="write CLASS<TAB>words")
    if pos is not None and len(pos) != len(words):
        raise DataError(f"{len(pos)} parts of speech for {counted(len(words), 'word')}", file=name, line=number)
    if not words:
        raise DataError("a class without words", file=name, line=number)
    return ClassifiedSentence(words, pos, label, number)


def _lines(text: str, name: str, labelled: bool, first: int) -> Iterator[ClassifiedSentence]:
    for number, line in enumerate(text.split("\n"), first):
        if line.strip():
            yield parse_line(line.rstrip("\r"), name, number, labelled)


def _columns(text: str, name: str, labelled: bool, first: int) -> Iterator[ClassifiedSentence]:
    rows: list[list[str]] = []
    begun = first
    for number, line in enumerate([*text.split("\n"), ""], first):
        cells = line.split()
        if cells:
            if rows and len(cells) != len(rows[0]):
                raise DataError(
                    f"{counted(len(cells), 'column')}, and {len(rows[0])} before it", file=name, line=number
                )
            begun = begun if rows else number
            rows.append(cells)
        elif rows:
            yield ClassifiedSentence(
                [r[0] for r in rows], [r[1] for r in rows] if len(rows[0]) > 1 else None, None, begun
            )
            rows = []


def _jsonl(text: str, name: str, labelled: bool, first: int) -> Iterator[ClassifiedSentence]:
    decoder = msgspec.json.Decoder(_Object)
    for number, line in enumerate(text.split("\n"), first):
        if not line.strip():
            continue
        try:
            made = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            hint = 'write one object a line, such as {"tokens": ["a", "dog"], "pos": ["DT", "NN"], "label": 1}'
            raise DataError(f"cannot be read: {error}", file=name, line=number, hint=hint) from None
        if labelled and made.label is None:
            raise DataError("the object has no label", file=name, line=number)
        if made.pos is not None and len(made.pos) != len(made.tokens):
            raise DataError(
                f"{len(made.pos)} parts of speech for {counted(len(made.tokens), 'token')}", file=name, line=number
            )
        if made.tokens:
            label = made.label if isinstance(made.label, str) else msgspec.json.encode(made.label).decode()
            yield ClassifiedSentence(made.tokens, made.pos, label if labelled else None, number)


_READERS: dict[str, Callable[[str, str, bool, int], Iterator[ClassifiedSentence]]] = {
    "lines": _lines, "columns": _columns, "jsonl": _jsonl,
}  # fmt: skip


def _check_pos(found: list[ClassifiedSentence], first: ClassifiedSentence, name: str) -> None:
    """Either all sentences have parts of speech or none."""
    for sentence in found:
        if (sentence.pos is None) != (first.pos is None):
            here, there = ("no", "have them") if first.pos is not None else ("", "have none")
            raise DataError(
                f"{here} parts of speech, and the sentences before it {there}".strip(), file=name, line=sentence.line
            )


def check_classified_output(format: str) -> None:
    if format not in CLASSIFIED_OUTPUTS:
        raise OptionError("output", f"there is no {format!r}; choose one of {', '.join(CLASSIFIED_OUTPUTS)}", "to")


def classified_bytes(
    sentences: Iterable[Sequence[str]],
    labels: Iterable[str],
    scores: Iterable[float],
    structures: Iterable[Mapping[str, Sequence[str]] | None],
    format: str = "lines",
) -> bytes:
    """Sentences of words with predicted classes and scores, and the latent tags of each view (None: not written)."""
    rows = zip(sentences, labels, scores, structures, strict=True)
    return "".join(_WRITERS[format](*row) for row in rows).encode()


def _write_line(words: Sequence[str], label: str, score: float, tags: Mapping[str, Sequence[str]] | None) -> str:
    lines = [f"{label}\t{score:.4f}\t{' '.join(words)}\n"]
    lines += [f"# {name}\t{' '.join(own)}\n" for name, own in (tags or {}).items()]
    return "".join(lines)


def _write_object(words: Sequence[str], label: str, score: float, tags: Mapping[str, Sequence[str]] | None) -> str:
    record: dict[str, Any] = {"label": label, "score": score, "tokens": words}
    if tags is not None:
        record["structures"] = tags
    return msgspec.json.encode(record).decode() + "\n"


_WRITERS = {"lines": _write_line, "jsonl": _write_object}


def read_outputs(path: FilePath) -> list[ClassifiedSentence]:
    """Sentences with the classes that `classified_bytes` wrote, in either format. Latent tags are left out."""
    name = shown(path)
    found: list[ClassifiedSentence] = []
    for first, data in cut_blocks(path, LINES):
        check_utf8(data, name, first)
        for number, line in enumerate(data.decode().split("\n"), first):
            cells = line.rstrip("\r").split("\t")
            if not line.strip() or (cells[0].startswith("# ") and len(cells) == 2):
                continue
            if line.startswith("{"):
                found += _jsonl(line, name, True, number)
            elif len(cells) == 3 and cells[0] and cells[2].split():
                found.append(ClassifiedSentence(cells[2].split(), None, cells[0], number))
            else:
                hint = "give a model, or what `palmette classifier classify` wrote: CLASS<TAB>score<TAB>words"
                raise DataError(f"{len(cells)} fields", file=name, line=number, hint=hint)
    if not found:
        raise DataError("there is no sentence in it", file=name)
    return found


# Pairs of classes, negative and positive, whose order is known
_KNOWN = (
    ("0", "1"), ("-1", "1"), ("-1", "+1"), ("-", "+"), ("false", "true"), ("no", "yes"), ("neg", "pos"),
    ("negative", "positive"), ("ungrammatical", "grammatical"), ("bad", "good"),
)  # fmt: skip


def two_classes(labels: set[str], positive: str | None, name: str) -> tuple[str, str]:
    """The negative and the positive class of some data. positive: required unless the pair is a common one."""
    named = sorted(labels)
    if len(named) != 2:
        some = ", ".join(named[:5]) + (", ..." if len(named) > 5 else "")
        raise DataError(f"{counted(len(named), 'class', 'classes')} ({some}): two are expected", file=name)
    if positive is not None:
        if positive not in labels:
            raise UsageError(f"positive {positive}: the classes are {', '.join(named)}")
        return next(label for label in named if label != positive), positive
    for low, high in _KNOWN:
        if {label.lower() for label in labels} == {low, high}:
            return tuple(sorted(named, key=lambda label: label.lower() == high))  # type: ignore[return-value]
    raise UsageError(
        f"which class is positive, {named[0]} or {named[1]}? Give {argument('positive', named[1])}, for example"
    )
