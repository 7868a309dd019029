"""The first pass over data that does not fit into memory: attributes are counted, labels and words collected."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.scratch import Scratch, shown_size
from palmette.data.sources import Source
from palmette.data.stream import map_in_order
from palmette.errors import DataError, counted
from palmette.features.counting import AttributeCounts
from palmette.features.encode import Encoder
from palmette.structures.chain.block_attributes import block_attributes
from palmette.structures.chain.model import check_columns
from palmette.training.chain.dev import SAME_COLUMNS
from palmette.training.chain.label_digest import LabelDigest

logger = logging.getLogger(__name__)
REPORT = 20.0  # seconds between messages about progress


class _Block(NamedTuple):
    corpus: Corpus
    counts: list[tuple[int, np.ndarray, np.ndarray]]  # order, keys, occurrences


class Pace:
    """Logs how far a pass over the data is, now and then."""

    def __init__(self, what: str) -> None:
        self.what, self.begun = what, time.monotonic()
        self.next = self.begun + REPORT

    def at(self, tokens: int) -> None:
        now = time.monotonic()
        if now >= self.next:
            self.next = now + REPORT
            logger.info("%s: %s so far, in %.0f s", self.what, counted(tokens, "token"), now - self.begun)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun


class WordHashes:
    """The distinct hashes of words, in memory that is a small multiple of theirs."""

    def __init__(self) -> None:
        self.known = np.zeros(0, np.uint64)
        self.pending: list[np.ndarray] = []
        self.waiting = 0

    def add(self, hashes: np.ndarray) -> None:
        self.pending.append(hashes)
        self.waiting += hashes.size
        if self.waiting > max(1 << 16, self.known.size):
            self.settle()

    def settle(self) -> np.ndarray:
        """All of them, in rising order."""
        self.known = np.unique(np.concatenate([self.known, *self.pending]))
        self.pending, self.waiting = [], 0
        return self.known


class BlockSurvey:
    """What the first pass finds. The label cells of all tokens are in a scratch file, as numbers of the digest."""

    def __init__(self, source: Source, encoder: Encoder | None, unicode: str, scratch: Scratch) -> None:
        self.source, self.encoder, self.unicode, self.scratch = source, encoder, unicode, scratch
        self.digest = LabelDigest(source.name)
        self.labels = scratch.file()
        self.words = WordHashes()
        self.counts: dict[int, AttributeCounts] = {}
        self.offsets: list[np.ndarray] = [np.zeros(1, np.int64)]
        self.tokens = 0
        self.valued = False  # whether attributes have values
        self.n_columns: int | None = None

    def run(self, pieces: Iterable[Any], threads: int) -> None:
        """Take all pieces of the source."""
        pace = Pace("counting attributes")
        for block in map_in_order(self._work, pieces, threads):
            if block is not None:
                self._add(block)
                pace.at(self.tokens)
        logger.info(
            "counted the attributes of %s in %.1f s (%s of scratch files)",
            counted(self.tokens, "token"), pace.seconds, shown_size(self.scratch.most),
        )  # fmt: skip

    def _work(self, piece: Any) -> _Block | None:
        corpus = self.source.corpus(piece)
        if not corpus.n_tokens:
            return None
        check_columns(corpus, self.encoder, SAME_COLUMNS)
        found = [(own.order, own.keys, own.counts()) for own in block_attributes(corpus, self.encoder)]
        return _Block(corpus, found)

    def _add(self, block: _Block) -> None:
        corpus = block.corpus
        if self.n_columns is None:
            self.n_columns = len(corpus.columns)
        if len(corpus.columns) != self.n_columns:
            raise DataError(
                f"{counted(len(corpus.columns), 'column')} besides the label, and the data before it has "
                f"{self.n_columns}", file=corpus.source, line=corpus.line_of(0),
            )  # fmt: skip
        self.labels.append(self.digest.add(corpus))
        for order, keys, counts in block.counts:
            if order not in self.counts:
                self.counts[order] = AttributeCounts(self.scratch)
            self.counts[order].add(keys, counts)
        if corpus.columns:
            self.words.add(corpus.columns[0].in_form(self.unicode).hash)
        if corpus.attributes is not None:
            self.valued = self.valued or corpus.attributes.val.size > 0
        self.offsets.append(corpus.offset[1:] + self.tokens)
        self.tokens += corpus.n_tokens

    def offset(self) -> np.ndarray:
        """Sentence offsets i64[S+1]."""
        if len(self.offsets) > 1:
            self.offsets = [np.concatenate(self.offsets)]
        return self.offsets[0]
