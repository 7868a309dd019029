"""Picking the sentences most worth annotating, from the pool that the server was started with or from a request."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from palmette.errors import UsageError
from palmette.estimators.picking import Pool
from palmette.serve.correctable import MOST, Correctable, Sentences
from palmette.serve.failure import Failure
from palmette.serve.limits import Limits
from palmette.serve.served import Served
from palmette.serve.types import Correction, Picked, PickRequest


class _Found(NamedTuple):
    """A pool as a model sees it."""

    pool: Pool
    parts: list[Sentences]
    first: list[int]  # the number of the first sentence of each part

    def add(self, part: Sentences, by: str) -> None:
        if part.corpus.n_tokens:
            self.first.append(len(self.pool.keys))
            self.parts.append(part)
            self.pool.add(part.corpus, part.uncertainties(by))

    def sentence(self, s: int) -> tuple[Sentences, int]:
        b = int(np.searchsorted(self.first, s, side="right")) - 1
        return self.parts[b], s - self.first[b]


class Picker:
    """Picks from the files of a server. What it has read and measured is kept as long as the model stays the same."""

    def __init__(self, kind: Correctable, pool: str | None, train: str | None) -> None:
        self.kind, self.pool, self.train = kind, pool, train
        self.lock = threading.Lock()
        self.known: Pool | None = None  # the sentences of the training data
        self.found: tuple[tuple[int, str], _Found] | None = None  # of a generation and a measure

    def pick(self, served: Served, request: PickRequest, corrected: Sequence[Correction], limits: Limits) -> Picked:
        """The best sentences, with what the model guesses."""
        if request.texts is not None and request.sentences is not None:
            raise Failure(400, "give texts or sentences, not both")
        by = request.by or self.kind.measures[0]
        if by not in self.kind.measures:
            raise UsageError(f"by: of a {served.kind} there is no {by}; choose {' or '.join(self.kind.measures)}")
        with self.lock:
            if request.texts is None and request.sentences is None:
                found, prefix = self._of_file(served, by), "pool"
            else:
                found, prefix = _Found(Pool(), [], []), "sentence"
                found.add(self.kind.given(served, request, limits), by)
            known = self._excluded(served, corrected)
        made = []
        for one in found.pool.pick(request.n, request.diversity, known):
            part, s = found.sentence(one.sentence)
            words = hashlib.blake2b(
                found.pool.keys[one.sentence], digest_size=4
            ).hexdigest()  # of another file: another
            name = f"{prefix}-{one.sentence + 1}-{words}"  # another sentence at that place has another name
            about = {"id": name, "uncertainty": one.uncertainty, "novelty": one.novelty}
            made.append(part.shown(s, about | {"score": one.score}))
        return Picked(pool=len(found.pool.keys), sentences=made)

    def _of_file(self, served: Served, by: str) -> _Found:
        if self.pool is None:
            raise Failure(409, "the server has no pool of sentences: start it with --pool FILE, or send sentences")
        if self.found is not None and self.found[0] == (served.generation, by):
            return self.found[1]
        self.found = None
        found = _Found(Pool(), [], [])
        n_tokens = 0
        for part in self.kind.pool(served, self.pool):
            n_tokens += part.corpus.n_tokens
            if n_tokens > MOST:
                raise UsageError(f"{self.pool} has more than {MOST:,} tokens: pick from a part of it")
            found.add(part, by)
        self.found = (served.generation, by), found
        return found

    def _excluded(self, served: Served, corrected: Sequence[Correction]) -> Pool:
        """The sentences of the training data and those that are corrected."""
        if self.known is None:
            known = Pool()
            if self.train is not None:
                for corpus in self.kind.annotated(served, self.train):
                    if corpus.n_tokens:
                        known.add(corpus, np.zeros(corpus.n_sentences))
            self.known = known
        made = Pool()
        made.uncertainty, made.keys, made.pairs = (
            list(self.known.uncertainty), list(self.known.keys), list(self.known.pairs)
        )  # fmt: skip
        if corrected:
            corpus = self.kind.corrected(served, corrected)
            made.add(corpus, np.zeros(corpus.n_sentences))
        return made
