"""From labelled tokens back to documents: chunks become spans by characters of the original text.

Documents of annotators keep their text and what else they have; their spans are replaced. Each line of raw text, or
each paragraph of running text, is a document, or all of it is one. Tokens without a text (columns, CoNLL-U, JSON lines)
are joined with spaces, a document per sentence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from palmette.connect.annotations.labelstudio import with_new_prediction
from palmette.data.corpus import Corpus, Surface
from palmette.data.document import PREDICTED, Document, TextSpan
from palmette.data.formats.confidence import Confidence
from palmette.data.formats.labelling import Labelling
from palmette.data.labels.convert import convert_labels
from palmette.data.labels.schemes import Span, are_chunk_labels, spans, split_label
from palmette.data.notes import Notes
from palmette.errors import UsageError

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
