"""Raw text as a format: one sentence per line (text) or running text (plain), cut into tokens by `tokeniser`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, chain

import numpy as np

from palmette.data.corpus import Corpus, Lines, Surface, column_of_strings
from palmette.data.formats.format import Format, Output, Parser
from palmette.data.formats.jsonl import write_objects
from palmette.data.formats.labelling import token_records, write_cells
from palmette.data.formats.spec import UNITS, FormatSpec
from palmette.data.stream import LINES, Cut, after_blank_line
from palmette.data.text import check_utf8
from palmette.data.tokeniser import Spans, character_spans, make_penn_quotes, sentence_spans, token_spans
from palmette.errors import UsageError
from palmette.kernels.io.columns import TAB


def parse_text(
    data: bytes, source: str, first_line: int = 1, *, unit: str = "word", penn_quotes: bool = False
) -> Corpus:
    """A corpus from raw text, one sentence per line; lines without a word are left out."""
    check_utf8(data, source, first_line)
    text = data.decode()
    rows = text.split("\n")
    starts = accumulate((len(row) + 1 for row in rows), initial=0)
    sentences = [
        (line, start, row.removesuffix("\r"))
        for line, (start, row) in enumerate(zip(starts, rows, strict=False))
        if row and not row.isspace()
    ]
    corpus = _corpus(text, sentences, source, first_line, unit, penn_quotes)
    assert corpus.surface is not None
    corpus.surface.by_line = True
    return corpus


def parse_plain(
    data: bytes, source: str, first_line: int = 1, *, unit: str = "word", penn_quotes: bool = False
) -> Corpus:
    """A corpus from running text. A token's line is the one where its sentence starts."""
    check_utf8(data, source, first_line)
    text = data.decode()
    sentences = []
    line = at = 0
    for start, end in sentence_spans(text):
        line += text.count("\n", at, start)
        at = start
        sentences.append((line, start, text[start:end]))
    return _corpus(text, sentences, source, first_line, unit, penn_quotes)


def _corpus(
    whole: str, sentences: list[tuple[int, int, str]], source: str, first_line: int, unit: str, penn_quotes: bool
) -> Corpus:
    """A corpus of sentences: the line and the character where each starts, and its text."""
    cut = cutter(unit)
    tokens: list[str] = []
    spans: Spans = []
    sizes = []
    for _, _, text in sentences:
        found = cut(text)
        words = [text[a:b] for a, b in found]
        tokens += make_penn_quotes(text, words, found) if penn_quotes else words
        spans += found
        sizes.append(len(found))
    none, at = np.zeros(0, np.int64), np.array([line for line, _, _ in sentences], np.int64)
    places = np.repeat(at, np.array(sizes, np.int64))
    lines = Lines(np.zeros(0, np.uint8), none, none, np.zeros(0, np.uint8), places, none, none, TAB, first_line)
    span = np.fromiter(chain.from_iterable(spans), np.int64, 2 * len(spans))
    starts = np.array([start for _, start, _ in sentences], np.int64)
    surface = Surface([text for _, _, text in sentences], span.reshape(-1, 2), starts, whole)
    offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    columns = [column_of_strings(tokens)] if tokens else []
    return Corpus(offset, columns, lines=lines, surface=surface, source=source)


def cutter(unit: str) -> Callable[[str], Spans]:
    """What cuts a sentence into units."""
    if unit not in UNITS:
        raise UsageError(f"unknown unit {unit!r} of raw text: choose {', '.join(UNITS)}")
    return character_spans if unit == "char" else token_spans


def last_sentence(data: bytes) -> int:
    """The byte where the last sentence of running text starts: the text before it can be read on its own."""
    text = data.decode(errors="surrogateescape")
    start = 0
    for start, _ in sentence_spans(text):  # noqa: B007
        pass
    return len(text[:start].encode(errors="surrogateescape"))


def _parser(spec: FormatSpec, source: str) -> Parser:
    cutter(spec.unit)
    parse = parse_text if spec.format == "text" else parse_plain
    return lambda data, line: parse(data, source, line, unit=spec.unit, penn_quotes=spec.penn_quotes)


_OUTPUTS = {"columns": Output(write_cells), "jsonl": Output(write_objects)}

TEXT = Format(_parser, LINES, _OUTPUTS, records=token_records)
PLAIN = Format(_parser, Cut(after_blank_line, last_sentence), _OUTPUTS, records=token_records)
