"""From documents to sentences and tokens with labels in IOB2.

A span becomes the label of the tokens that it covers. White space at its edges is left out. Tokens are cut at the edges
of spans, so that a span inside a token stays; without `split` it is widened to whole tokens. Of spans that overlap the
longest is kept, the first of equally long ones. The pieces of a discontinuous span are spans of their own. A sentence
does not end inside a span. Whatever is dropped or moved is noted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from palmette.connect.annotations.shared import left_out
from palmette.data.corpus import Corpus, Surface, column_of_strings
from palmette.data.document import Document, joined_pieces
from palmette.data.labels.schemes import Span, from_spans
from palmette.data.notes import Notes
from palmette.data.tokeniser import Spans, make_penn_quotes, sentence_spans

SCHEME = "IOB2"


class Flat(NamedTuple):
    """A span by characters, without white space at its edges."""

    start: int
    end: int
    label: str


class Sentence(NamedTuple):
    """A stretch of a document with its tokens and their labels."""

    start: int
    end: int
    tokens: Spans  # by characters of the document
    labels: list[str]


class Alignment(NamedTuple):
    """How documents become tokens."""

    cut: Callable[[str], Spans]  # the tokens of a sentence
    split: bool = True
    penn_quotes: bool = False
    labelled: bool = True  # False: spans are not read


def aligned(document: Document, how: Alignment, notes: Notes) -> list[Sentence]:
    """The sentences of a document that have a token."""
    sentences, tokens = _tokens(document, how.cut)
    spans = _flat(document, notes) if how.labelled else []
    if not how.split:
        spans = _widened(spans, tokens, document.place, notes)
    spans = _apart(spans, tokens, len(document.text), document.place, notes)
    tokens = _cut_at(tokens, spans)
    firsts, lasts = {start for start, _ in tokens}, {end for _, end in tokens}
    notes.add("widened", document.place, sum(a not in firsts or b not in lasts for a, b, _ in spans))
    starts = [start for start, _ in sentences]
    inside = {k for start, end, _ in spans for k in range(bisect_right(starts, start), bisect_left(starts, end))}
    inside |= {k for start, end in tokens for k in range(bisect_right(starts, start), bisect_left(starts, end))}
    notes.add("joined", document.place, len(inside))
    bounds = [k for k in range(len(starts)) if k not in inside]
    made = []
    for first, after in pairwise([*bounds, len(starts)]):
        start, end = sentences[first][0], sentences[after - 1][1]
        made.append(_sentence(start, end, tokens, spans))
    return [sentence for sentence in made if sentence.tokens]


def _tokens(document: Document, cut: Callable[[str], Spans]) -> tuple[Spans, Spans]:
    """Where sentences and tokens start and end. The tokens that the file gives are taken, but for white space."""
    text = document.text
    sentences = list(sentence_spans(text))
    if document.tokens is not None:
        return sentences, [place for a, b in document.tokens if (place := stripped(text, a, b)) is not None]
    return sentences, [(start + a, start + b) for start, end in sentences for a, b in cut(text[start:end])]


def _flat(document: Document, notes: Notes) -> list[Flat]:
    text, made = document.text, []
    for span in document.spans:
        pieces = joined_pieces(text, span.pieces)
        if len(pieces) > 1:
            notes.add("split", document.place)
        for start, end in pieces:
            place = stripped(text, start, end)
            if place is None:
                notes.add("empty", document.place)
            elif not span.label:
                notes.add("unlabelled", document.place)
            else:
                notes.add("trimmed", document.place, int(place != (start, end)))
                made.append(Flat(*place, span.label))
    return made


def stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    """A stretch without white space at its edges; None: it is nothing else."""
    inner = text[start:end]
    left = len(inner) - len(inner.lstrip())
    return (start + left, start + len(inner.rstrip())) if left < len(inner) else None


def _widened(spans: Sequence[Flat], tokens: Spans, place: str, notes: Notes) -> list[Flat]:
    """Spans that begin and end with tokens."""
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    made = []
    for span in spans:
        first, last = bisect_right(ends, span.start), bisect_left(starts, span.end) - 1
        if first <= last:
            wide = Flat(min(span.start, starts[first]), max(span.end, ends[last]), span.label)
            notes.add("widened", place, int(wide != span))
            span = wide
        made.append(span)
    return made


def _apart(spans: Sequence[Flat], tokens: Spans, size: int, place: str, notes: Notes) -> list[Flat]:
    """The spans that do not overlap, the longest first; in the order of the text."""
    taken, kept = bytearray(size), []
    seen: set[Flat] = set()
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    for span in sorted(spans, key=lambda each: each.start - each.end):
        if span in seen:
            notes.add("duplicate", place)
        elif b"\1" in taken[span.start : span.end]:
            notes.add("overlapping" if b"\0" in taken[span.start : span.end] else "nested", place)
        elif bisect_right(ends, span.start) >= bisect_left(starts, span.end):
            notes.add("between", place)
        else:
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
            kept.append(span)
        seen.add(span)
    return sorted(kept)


def _cut_at(tokens: Spans, spans: Sequence[Flat]) -> Spans:
    """The tokens, cut at the edges of spans."""
    edges = sorted({place for start, end, _ in spans for place in (start, end)})
    made: Spans = []
    for start, end in tokens:
        inside = edges[bisect_right(edges, start) : bisect_left(edges, end)]
        made += pairwise([start, *inside, end])
    return made


def _sentence(start: int, end: int, tokens: Spans, spans: list[Flat]) -> Sentence:
    own = tokens[bisect_left(tokens, (start, 0)) : bisect_left(tokens, (end, 0))]
    starts, ends = [a for a, _ in own], [b for _, b in own]
    inside = spans[bisect_left(spans, (start, 0)) : bisect_left(spans, (end, 0))]
    chunks = [Span(label, bisect_right(ends, a), bisect_left(starts, b)) for a, b, label in inside]
    return Sentence(start, end, own, from_spans(chunks, len(own), SCHEME))


def corpus_of(documents: Sequence[Document], how: Alignment, source: str, notes: Notes) -> Corpus:
    """The sentences of documents as a corpus that remembers them."""
    kept = [document for document in documents if not (how.labelled and left_out(document, notes))]
    words: list[str] = []
    labels: list[str] = []
    texts, places, numbers, sizes, lines = [], [], [], [], []
    spans: Spans = []
    for number, document in enumerate(kept):
        notes.add("others", document.place, document.others if how.labelled else 0)
        for sentence in aligned(document, how, notes):
            own = [(a - sentence.start, b - sentence.start) for a, b in sentence.tokens]
            text = document.text[sentence.start : sentence.end]
            tokens = [text[a:b] for a, b in own]
            words += make_penn_quotes(text, tokens, own) if how.penn_quotes else tokens
            labels += sentence.labels
            spans += own
            texts.append(text)
            places.append(sentence.start)
            numbers.append(number)
            sizes.append(len(own))
            lines += [document.line or 0] * len(own)
    surface = Surface(
        texts, np.array(spans, np.int64).reshape(-1, 2), start=np.array(places, np.int64), documents=kept,
        document=np.array(numbers, np.int64),
    )  # fmt: skip
    offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    has_lines = bool(kept) and kept[0].line is not None
    columns = [column_of_strings(words)] if words else []
    return Corpus(
        offset, columns, column_of_strings(labels) if how.labelled and words else None, surface=surface,
        source=source, token_lines=np.array(lines, np.int64) if has_lines else None,
    )  # fmt: skip
