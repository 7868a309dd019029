"""Corrections of classifiers: the class of a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from palmette.classification.classifier import with_pos
from palmette.classification.files import stream_classified
from palmette.data.corpus import Corpus
from palmette.data.items import corpus_from_items
from palmette.data.subset import take
from palmette.errors import DataError
from palmette.serve.correctable import margin
from palmette.serve.inputs import cut_texts
from palmette.serve.limits import Limits
from palmette.serve.served import Served
from palmette.serve.types import Correction, PickedSentence, PickRequest, Request


class ClassifierSentences:
    """Sentences of words, with parts of speech if the model reads them."""

    def __init__(self, served: Served, sentences: Sequence[Any]) -> None:
        self.served = served
        self.corpus = corpus_from_items(sentences, mode="columns").corpus
        with_pos(self.corpus, served.estimator._tagger())

    def _scores(self, corpus: Corpus) -> np.ndarray:
        found: np.ndarray = self.served.estimator.model_.decide(corpus)[0]
        return found

    def uncertainties(self, by: str) -> np.ndarray:
        """By the distance of the score from 0, where the classes meet."""
        return margin(self._scores(self.corpus)) if self.corpus.n_tokens else np.zeros(0)

    def shown(self, s: int, about: dict[str, Any]) -> PickedSentence:
        alone = take(self.corpus, np.array([s]))
        rows = [row[: max(1, self.served.columns)] for row in alone.sentence(0)]
        guess = self.served.labels[int(self._scores(alone)[0] >= 0)]
        made = PickedSentence(tokens=[row[0] for row in rows], class_=guess, **about)
        if len(rows[0]) > 1:
            made.columns = rows
        return made


class CorrectClassifiers:
    """See Correctable."""

    measures: tuple[str, ...] = ("margin",)

    def check(self, served: Served, one: Correction, where: str) -> None:
        if one.class_ not in served.labels:
            raise DataError(f"{where} has the class {one.class_!r}; the classes are {', '.join(served.labels)}")
        rows = [[token] if isinstance(token, str) else token for token in one.tokens]
        width = len(rows[0])
        for i, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != width or not 1 <= width <= max(1, served.columns):
                raise DataError(f"{where}, token {i + 1}: a word is expected, or a word with its part of speech")
            if any(not cell or cell.split() != [cell] for cell in row):
                raise DataError(f"{where}, token {i + 1}: a cell is empty, or has a space, a TAB or a line end")

    def file(self, served: Served, corrections: Sequence[Correction]) -> tuple[str, bytes]:
        return f"{served.name}.corrected.jsonl", b"".join(_line(one) for one in corrections)

    def pool(self, served: Served, path: str) -> Iterator[ClassifierSentences]:
        for block in stream_classified(path, labelled=False):
            yield ClassifierSentences(served, [sentence.tokens for sentence in block])

    def given(self, served: Served, request: PickRequest, limits: Limits) -> ClassifierSentences:
        if request.texts is not None:
            served.check_text()
            return ClassifierSentences(served, cut_texts(request.texts, Request(), limits).sentences)
        sentences = [sentence for sentence in request.sentences or [] if sentence]
        limits.check_sizes([len(sentence) for sentence in sentences])
        return ClassifierSentences(served, sentences)

    def annotated(self, served: Served, path: str) -> Iterator[Corpus]:
        for block in stream_classified(path, labelled=True):
            yield corpus_from_items([sentence.words for sentence in block], mode="columns").corpus

    def corrected(self, served: Served, corrections: Sequence[Correction]) -> Corpus:
        return corpus_from_items([words_of(one) for one in corrections], mode="columns").corpus


def words_of(one: Correction) -> list[str]:
    return [token if isinstance(token, str) else next(iter(token)) for token in one.tokens]


def tokens_of(one: Correction) -> list[Any]:
    """The sentence as a classifier takes it: words, or tuples with the part of speech."""
    return [token if isinstance(token, str) or len(token) == 1 else tuple(token) for token in one.tokens]


def _line(one: Correction) -> bytes:
    record: dict[str, Any] = {"label": one.class_, "tokens": words_of(one)}
    rows = [token for token in one.tokens if isinstance(token, list) and len(token) > 1]
    if len(rows) == len(one.tokens):
        record["pos"] = [row[1] for row in rows]
    return msgspec.json.encode(record) + b"\n"
