"""Picking the sentences most worth annotating, from the pool that the server was started with or from a request."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.registry import stream_corpus
from palmette.data.items import corpus_from_items
from palmette.errors import UsageError
from palmette.estimators.pick import Pool, uncertainties
from palmette.serve.answers import with_helpers
from palmette.serve.failure import Failure
from palmette.serve.inputs import cut_texts
from palmette.serve.limits import Limits
from palmette.serve.served import Served
from palmette.serve.types import Correction, Picked, PickedSentence, PickRequest, Request
from palmette.structures.chain.files import with_columns

MOST = 5_000_000  # tokens of a pool


class _Found(NamedTuple):
    """A pool as a model sees it."""

    pool: Pool
    blocks: list[Corpus]
    first: list[int]  # the number of the first sentence of each block

    def sentence(self, s: int) -> tuple[Corpus, int]:
        b = int(np.searchsorted(self.first, s, side="right")) - 1
        return self.blocks[b], s - self.first[b]


class Picker:
    """Picks from the files of a server. What it has read and measured is kept as long as the model stays the same."""

    def __init__(self, pool: str | None, train: str | None) -> None:
        self.pool, self.train = pool, train
        self.lock = threading.Lock()
        self.known: Pool | None = None  # the sentences of the training data
        self.found: tuple[tuple[int, str], _Found] | None = None  # of a generation and a measure

    def pick(self, served: Served, request: PickRequest, corrected: Sequence[Correction], limits: Limits) -> Picked:
        """The best sentences, with the labels that the model guesses."""
        if request.texts is not None and request.sentences is not None:
            raise Failure(400, "give texts or sentences, not both")
        with self.lock:
            if request.texts is None and request.sentences is None:
                found, prefix = self._of_file(served, request.by), "pool"
            else:
                found, prefix = _of_request(served, request, limits), "sentence"
            known = self._excluded(served, corrected)
        picked = found.pool.pick(request.n, request.diversity, known)
        made = []
        for one in picked:
            corpus, s = found.sentence(one.sentence)
            made.append(_shown(served, corpus, s, f"{prefix}-{one.sentence + 1}", one))
        return Picked(pool=len(found.pool.keys), sentences=made)

    def _of_file(self, served: Served, by: str) -> _Found:
        if self.pool is None:
            raise Failure(409, "the server has no pool of sentences: start it with --pool FILE, or send sentences")
        if self.found is not None and self.found[0] == (served.generation, by):
            return self.found[1]
        self.found = None
        found = _Found(Pool(), [], [])
        helpers = [helper.model_ for helper in served.helpers.values()]
        n_tokens = 0
        for corpus in stream_corpus(self.pool, served.estimator.spec_for(self.pool)):
            n_tokens += corpus.n_tokens
            if n_tokens > MOST:
                raise UsageError(f"{self.pool} has more than {MOST:,} tokens: pick from a part of it")
            _add(found, served, with_columns(corpus, helpers, served.estimator.model_), by)
        self.found = (served.generation, by), found
        return found

    def _excluded(self, served: Served, corrected: Sequence[Correction]) -> Pool:
        """The sentences of the training data and those that are corrected."""
        if self.known is None:
            self.known = Pool()
            if self.train is not None:
                for corpus in stream_corpus(self.train, served.estimator.spec_for(self.train)):
                    self.known.add(corpus, np.zeros(corpus.n_sentences))
        made = Pool()
        made.uncertainty, made.keys, made.pairs = (
            list(self.known.uncertainty), list(self.known.keys), list(self.known.pairs)
        )  # fmt: skip
        if corrected:
            corpus = corpus_from_items([one.tokens for one in corrected], mode=served.estimator._mode()).corpus
            made.add(corpus, np.zeros(corpus.n_sentences))
        return made


def _add(found: _Found, served: Served, corpus: Corpus, by: str) -> None:
    found.first.append(len(found.pool.keys))
    found.blocks.append(corpus)
    found.pool.add(corpus, uncertainties(served.estimator.model_, corpus, by))


def _of_request(served: Served, request: PickRequest, limits: Limits) -> _Found:
    if request.texts is not None:
        served.check_text()
        sentences = with_helpers(served, cut_texts(request.texts, Request(), limits).sentences)
    else:
        sentences = [sentence for sentence in request.sentences or [] if sentence]
        limits.check_sizes([len(sentence) for sentence in sentences])
    found = _Found(Pool(), [], [])
    corpus = corpus_from_items(sentences, mode=served.estimator._mode()).corpus
    if corpus.n_tokens:
        _add(found, served, corpus, request.by)
    return found


def _shown(served: Served, corpus: Corpus, s: int, id: str, one: Any) -> PickedSentence:
    """A picked sentence with the labels that the model guesses."""
    from palmette.data.subset import take

    alone = take(corpus, np.array([s]))
    model = served.estimator.model_
    labels = [model.classes[k] for k in model.decode(alone, "viterbi").labels.tolist()]
    rows = alone.sentence(0) if alone.columns else _attribute_rows(alone)
    words = [row[0] for row in rows] if alone.columns else [str(i + 1) for i in range(len(rows))]
    made = PickedSentence(
        id=id, tokens=words, labels=labels, uncertainty=one.uncertainty, novelty=one.novelty, score=one.score
    )
    if len(alone.columns) != 1:
        made.columns = rows
    return made


def _attribute_rows(corpus: Corpus) -> list[list[str]]:
    given = corpus.attributes
    if given is None or given.val.size:
        raise UsageError("sentences of attributes with values cannot be picked here: see `palmette pick`")
    names, ptr = given.names.cells(), given.ptr.tolist()
    return [names[a:b] for a, b in pairwise(ptr)]
