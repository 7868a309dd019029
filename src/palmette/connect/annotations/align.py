"""From documents to sentences and tokens with labels in IOB2, and from labelled tokens back to documents."""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.connect.annotations.labelstudio import with_new_prediction
from palmette.connect.annotations.shared import left_out
from palmette.data.analysed import PREDICTED, Document, TextSpan, joined_pieces
from palmette.data.convert import convert_labels
from palmette.data.corpus import Corpus, Surface, column_of_strings
from palmette.data.formats.labelling import Confidence, Labelling
from palmette.data.formats.raw import Spans, make_penn_quotes, sentence_spans
from palmette.data.labels.schemes import Span, are_chunk_labels, from_spans, spans, split_label
from palmette.data.notes import Notes
from palmette.errors import UsageError

# From documents to sentences and tokens with labels in IOB2.
#
# A span becomes the label of the tokens that it covers. White space at its edges is left out. Tokens are cut at the
# edges of spans, so that a span inside a token stays; without `split` it is widened to whole tokens. Of spans that
# overlap the longest is kept, the first of equally long ones. The pieces of a discontinuous span are spans of their
# own. A sentence does not end inside a span. Whatever is dropped or moved is noted.

SCHEME = "IOB2"


class Flat(NamedTuple):
    """A span by characters, without white space at its edges."""

    start: int
    end: int
    label: str


class AlignedSentence(NamedTuple):
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


def aligned(document: Document, how: Alignment, notes: Notes) -> list[AlignedSentence]:
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


def _sentence(start: int, end: int, tokens: Spans, spans: list[Flat]) -> AlignedSentence:
    own = tokens[bisect_left(tokens, (start, 0)) : bisect_left(tokens, (end, 0))]
    starts, ends = [a for a, _ in own], [b for _, b in own]
    inside = spans[bisect_left(spans, (start, 0)) : bisect_left(spans, (end, 0))]
    chunks = [Span(label, bisect_right(ends, a), bisect_left(starts, b)) for a, b, label in inside]
    return AlignedSentence(start, end, own, from_spans(chunks, len(own), SCHEME))


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


# From labelled tokens back to documents: chunks become spans by characters of the original text.
#
# Documents of annotators keep their text and what else they have; their spans are replaced. Each line of raw text, or
# each paragraph of running text, is a document, or all of it is one. Tokens without a text (columns, CoNLL-U, JSON
# lines) are joined with spaces, a document per sentence.

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
Scores = dict[tuple[int, int, int], float]


def documents_of(given: Labelling, notes: Notes, *, answer: str = PREDICTED, whole: bool = False) -> list[Document]:
    """The documents of a corpus with spans by its labels. `whole`: all of a raw text is one document."""
    corpus = given.corpus
    other = next((label for label in given.labels if not split_label(label)[0]), None)
    if other is not None and not are_chunk_labels(given.labels):
        raise UsageError(
            f"the label {other!r} is none of a span: formats of annotators need labels such as B-PER, I-PER and O"
        )
    if corpus.surface is None and not corpus.columns and corpus.n_tokens:
        raise UsageError("attributes have no tokens to write: choose columns of words, or raw text")
    tags, marks = given.tags(), corpus.offset.tolist()
    sentences = [tags[a:b] for a, b in pairwise(marks)]
    if other is not None:  # another notation, which only all labels together show
        sentences = convert_labels(sentences, "iob2")
    chunks = [spans(sentence) for sentence in sentences]
    scores = _scores(given.confidence)
    surface = corpus.surface
    if surface is None:
        return list(_joined(corpus, chunks, scores, answer))
    found = _Spans(surface, corpus.offset.tolist(), chunks, scores)
    if surface.documents is not None:
        return [_with_spans(document, found.of(k), answer, notes) for k, document in enumerate(surface.documents)]
    return list(_of_raw(surface, found, answer, whole, corpus.source))


def _scores(found: Confidence | None) -> Scores:
    """The confidence of each span by sentence, first token and the token after its last."""
    if found is None or found.spans is None:
        return {}
    rows = zip(*(column.tolist() for column in found.spans[:3]), strict=True)
    return {row: round(score, 6) for row, score in zip(rows, found.spans.posterior.tolist(), strict=True)}


class _Spans:
    """The chunks and tokens of sentences by characters of the text that each sentence is in."""

    def __init__(self, surface: Surface, marks: list[int], chunks: Sequence[list[Span]], scores: Scores) -> None:
        self.surface, self.marks, self.chunks, self.scores = surface, marks, chunks, scores
        self.places = surface.span.tolist()
        self.starts = surface.start.tolist()
        self.sentences: dict[int, list[int]] = {}
        if surface.document is not None:
            for s, document in enumerate(surface.document.tolist()):
                self.sentences.setdefault(document, []).append(s)

    def spans(self, s: int, before: int = 0) -> list[TextSpan]:
        """The spans of a sentence; `before`: characters of the text before the document."""
        first, start = self.marks[s], self.starts[s] - before
        return [
            TextSpan(
                start + self.places[first + chunk.start][0], start + self.places[first + chunk.end - 1][1], chunk.type,
                score=self.scores.get((s, chunk.start, chunk.end)),
            )
            for chunk in self.chunks[s]
        ]  # fmt: skip

    def tokens(self, s: int, before: int = 0) -> list[tuple[int, int]]:
        start = self.starts[s] - before
        return [(start + a, start + b) for a, b in self.places[self.marks[s] : self.marks[s + 1]]]

    def of(self, document: int) -> tuple[list[TextSpan], list[tuple[int, int]]]:
        own = self.sentences.get(document, [])
        return [span for s in own for span in self.spans(s)], [token for s in own for token in self.tokens(s)]


def _with_spans(
    document: Document, found: tuple[list[TextSpan], list[tuple[int, int]]], answer: str, notes: Notes
) -> Document:
    """A document with other spans. What refers to its old ones is left out, except in Label Studio's tasks, which
    keep their annotations beside a prediction."""
    made, tokens = found
    kept, others = document.kept, 0
    if document.format != "labelstudio":
        notes.add("replaced", document.place, len(document.spans))
        notes.add("others", document.place, document.others)
        kept = {key: value for key, value in kept.items() if key not in ("relations", "lines")}
    else:
        kept, others = with_new_prediction(kept), document.others
    return msgspec.structs.replace(
        document, spans=made, answer=answer, tokens=document.tokens if document.tokens is not None else tokens,
        kept=kept, others=others,
    )  # fmt: skip


def _of_raw(surface: Surface, found: _Spans, answer: str, whole: bool, source: str) -> Iterator[Document]:
    """Documents of raw text. With `whole` the blocks of a text follow each other without anything between them."""
    if whole:
        every = range(len(surface.sentences))
        spans = [span for s in every for span in found.spans(s)]
        name = os.path.splitext(os.path.basename(source))[0] if os.path.isfile(source) else None
        yield Document(surface.text, spans, answer=answer, name=name, format="raw", place=source)
        return
    groups: list[list[int]] = []
    end = 0
    for s, (start, sentence) in enumerate(zip(found.starts, surface.sentences, strict=True)):
        if not groups or surface.by_line or _BLANK_LINE.search(surface.text, end, start):
            groups.append([])
        groups[-1].append(s)
        end = start + len(sentence)
    for own in groups:
        start = found.starts[own[0]]
        end = found.starts[own[-1]] + len(surface.sentences[own[-1]])
        yield Document(
            surface.text[start:end], [span for s in own for span in found.spans(s, start)], answer=answer,
            tokens=[token for s in own for token in found.tokens(s, start)], place=source,
        )  # fmt: skip


def _joined(corpus: Corpus, chunks: Sequence[list[Span]], scores: Scores, answer: str) -> Iterator[Document]:
    words = corpus.columns[0].cells() if corpus.columns else []
    for s, (first, last) in enumerate(pairwise(corpus.offset.tolist())):
        own = words[first:last]
        tokens, at = [], 0
        for word in own:
            tokens.append((at, at + len(word)))
            at += len(word) + 1
        made = [
            TextSpan(tokens[chunk.start][0], tokens[chunk.end - 1][1], chunk.type,
                     score=scores.get((s, chunk.start, chunk.end)))
            for chunk in chunks[s]
        ]  # fmt: skip
        place = corpus.place(first)
        yield Document(" ".join(own), made, answer=answer, tokens=tokens, place=place, line=corpus.line_of(first))
