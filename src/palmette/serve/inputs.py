"""From a request to sentences of tokens, with the places of the tokens if they come from text."""

from __future__ import annotations

from typing import Any, NamedTuple

from palmette.data.formats.raw import Spans, character_spans, make_penn_quotes, sentence_spans, token_spans
from palmette.serve.failure import Failure
from palmette.serve.limits import Limits
from palmette.serve.types import Request

GIVEN = ("text", "texts", "tokens", "sentences")


class TextPart(NamedTuple):
    """A sentence of a text."""

    text: str  # all of the text
    offsets: Spans  # of each token, in the text


class Inputs(NamedTuple):
    """Sentences as they are given to a model."""

    sentences: list[list[Any]]
    origin: list[int] | None  # the number of the text of each sentence; None: each is its own
    parts: list[TextPart] | None  # None: tokens were given
    n_tokens: int

    def number(self, s: int) -> int:
        return s if self.origin is None else self.origin[s]


def inputs_of(request: Request, limits: Limits) -> Inputs:
    """The sentences of a request; Failure if there are none, several kinds, or too many."""
    if request.tokens is not None:
        sentences: list[list[Any]] | None = [request.tokens]
    else:
        sentences = request.sentences
    texts = request.texts if request.text is None else [request.text]
    given = [name for name in GIVEN if getattr(request, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        raise Failure(400, f"give one of {', '.join(GIVEN)}; the request has {found}")
    if sentences is not None:
        return Inputs(sentences, None, None, limits.check_sizes([len(sentence) for sentence in sentences]))
    assert texts is not None
    return cut_texts(texts, request, limits)


def texts_of(request: Request) -> list[str] | None:
    """The texts of a request, if it has some."""
    return request.texts if request.text is None else [request.text]


def cut_texts(texts: list[str], request: Request, limits: Limits) -> Inputs:
    """Sentences and tokens of texts."""
    sentences: list[list[Any]] = []
    origin: list[int] = []
    parts: list[TextPart] = []
    total = 0
    for number, text in enumerate(texts):
        for start, end in sentence_spans(text) if request.split else [(0, len(text))]:
            piece = text[start:end]
            limits.check_words(piece, request.unit)
            found = token_spans(piece, limits.sentence) if request.unit == "word" else character_spans(piece)
            if not found:
                continue
            total += len(found)
            if total > limits.tokens or len(found) > limits.sentence:
                limits.check(total, len(found))
            words = [piece[a:b] for a, b in found]
            sentences.append(make_penn_quotes(piece, words, found) if request.penn_quotes else words)
            origin.append(number)
            parts.append(TextPart(text, [(start + a, start + b) for a, b in found]))
    return Inputs(sentences, origin, parts, limits.check_sizes([len(sentence) for sentence in sentences]))
