"""The first pass over data that does not fit into memory: attributes are counted, labels and words collected."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus, column_of_strings, column_of_types
from palmette.data.labels.mask import label_names, training_mask
from palmette.data.labels.repair import Violations, nearest_of, repaired, violations
from palmette.data.labels.schemes import are_chunk_labels, recognise, schemes_of
from palmette.data.scratch import Scratch, ScratchFile, shown_size
from palmette.data.sources import PieceSource
from palmette.data.stream import map_in_order
from palmette.data.subset import take
from palmette.errors import DataError, counted
from palmette.features.counting import AttributeCounts
from palmette.features.encode import Encoder
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import spelt
from palmette.structures.chain.constraints import rewriting, settle_scheme
from palmette.structures.chain.mapped import block_attributes
from palmette.structures.chain.model import check_columns
from palmette.training.chain.dev import SAME_COLUMNS

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

    def __init__(self, source: PieceSource, encoder: Encoder | None, unicode: str, scratch: Scratch) -> None:
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


# The labels of a corpus that is read in blocks: all of them, in order, and sentences that show every pair of labels
# that stand side by side. What is derived from the labels of a corpus depends on these alone, but for counts.

FEW = 1000  # labels up to which pairs are counted in a table


class LabelDigest:
    """Collects labels block by block."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.numbers: dict[str, int] = {}  # of the label cells, by first occurrence
        self.counts = np.zeros(0, np.int64)
        self.pairs: set[tuple[int, int]] = set()  # side by side; -1 is an end of a sentence
        self.samples: list[Corpus] = []
        self.sets: dict[str, frozenset[str]] | None = None

    def add(self, corpus: Corpus) -> np.ndarray:
        """Take the labels of a block; returns them as numbers of all label cells so far, i32[N]."""
        if corpus.labels is None:
            raise DataError("the training data has no labels", file=corpus.source)
        types = corpus.labels.types
        table = np.array([self.numbers.setdefault(cell, len(self.numbers)) for cell in types], np.int32)
        ids = table[corpus.labels.ids]
        counts = np.bincount(ids, minlength=len(self.numbers))
        counts[: self.counts.size] += self.counts
        self.counts = counts
        if corpus.label_sets is not None:
            self.sets = (self.sets or {}) | corpus.label_sets
        self._sample(corpus, ids)
        return ids

    def _sample(self, corpus: Corpus, ids: np.ndarray) -> None:
        """Keep the sentences that show a pair for the first time."""
        n = len(self.numbers) + 1
        marked = np.full(ids.size + corpus.n_sentences + 1, n - 1, np.int64)
        places = np.arange(ids.size) + np.repeat(np.arange(1, corpus.n_sentences + 1), np.diff(corpus.offset))
        marked[places] = ids
        codes = marked[:-1] * n + marked[1:]
        found = np.flatnonzero(np.bincount(codes, minlength=n * n)) if n <= FEW else np.unique(codes)
        pairs = [(a if a < n - 1 else -1, b if b < n - 1 else -1) for a, b in (divmod(c, n) for c in found.tolist())]
        new = np.array([pair not in self.pairs for pair in pairs])
        if not new.any():
            return
        self.pairs.update(pairs)
        _, first = np.unique(codes, return_index=True)  # in the order of `found`
        ends = corpus.offset[1:] + np.arange(1, corpus.n_sentences + 1)  # of the sentences in `marked`
        self.samples.append(take(corpus, np.unique(np.searchsorted(ends, first[new] + 1))))

    @property
    def types(self) -> list[str]:
        """All label cells, by first occurrence."""
        return list(self.numbers)

    def corpus(self) -> Corpus:
        """The sentences that were kept, as a corpus of labels alone. Its label cells have the order of `types`."""
        labels = [cell for sample in self.samples if sample.labels is not None for cell in sample.labels.cells()]
        sizes = np.concatenate([np.diff(sample.offset) for sample in self.samples])
        lines = [sample.token_lines for sample in self.samples]
        numbers = [sample.numbers for sample in self.samples]
        made = Corpus(
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), labels=column_of_strings(labels),
            label_sets=self.sets, source=self.source,
            label_numbers=self.samples[0].label_numbers,
        )  # fmt: skip
        if all(line is not None for line in lines):
            made.token_lines = np.concatenate([line for line in lines if line is not None])
        if all(number is not None for number in numbers):
            made.numbers = np.concatenate([number for number in numbers if number is not None])
        return made


# The tag scheme of labels that are on disk: recognised by the pairs that the digest shows, and where no scheme fits
# them all, by the number of ill-formed chunks in all blocks, which are then repaired as those of a corpus in memory
# are.

SENTENCES = 10_000  # of a block of labels


class LabelBlocks:
    """The label cells of all tokens as numbers i32[N] in a scratch file, and the sentence offsets."""

    def __init__(self, file: ScratchFile, offset: np.ndarray) -> None:
        self.file, self.offset = file, offset

    def cells(self, first: int, last: int) -> np.ndarray:
        """The labels of the tokens first..last - 1."""
        return self.file.read(4 * first, last - first, np.int32)

    def blocks(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """(the first token, sentence offsets i64[S+1] within the block, labels)."""
        for s in range(0, self.offset.size - 1, SENTENCES):
            own = self.offset[s : s + SENTENCES + 1]
            yield int(own[0]), own - own[0], self.cells(int(own[0]), int(own[-1]))


def rows_of_cells(corpus: Corpus, labels: list[str], digest: LabelDigest) -> np.ndarray:
    """The mask row of each label cell of the digest, whose corpus it is, i32[cells]."""
    assert corpus.labels is not None
    types = corpus.labels.types
    of_type = np.zeros(len(types), np.int32)
    of_type[corpus.labels.ids] = training_mask(corpus, labels).rows
    rows = np.zeros(len(digest.numbers), np.int32)
    rows[[digest.numbers[cell] for cell in types]] = of_type
    return rows


def settle_scheme_of_blocks(
    corpus: Corpus, digest: LabelDigest, blocks: LabelBlocks, asked: str
) -> tuple[Corpus, str | None]:
    """As `settle_scheme`, of labels on disk; `corpus` is that of the digest. Repaired labels are written back."""
    labels = label_names(corpus)
    if asked != "auto" or not are_chunk_labels(labels):
        return settle_scheme(corpus, asked)
    known = training_mask(corpus, labels).rows
    if recognise(labels, known, corpus.offset) is not None:
        return settle_scheme(corpus, asked)
    rows = rows_of_cells(corpus, labels, digest)
    found, taken = nearest_of([_all_violations(labels, rows, blocks, scheme) for scheme in schemes_of(labels)])
    n, scheme = found.tokens.size, found.scheme
    places = corpus.places(violations(labels, known, corpus.offset, scheme).tokens)
    summary = f"{n:,} of {counted(found.chunks, 'chunk')} {'is' if n == 1 else 'are'} ill-formed in {scheme} ({places})"
    if not taken or corpus.label_sets is not None or corpus.label_numbers is not None:
        logger.warning(
            "the labels follow no tag scheme, so that any label may follow any: %s; %s", summary, rewriting(scheme)
        )
        return corpus, None
    _repair(labels, rows, digest, blocks, scheme)
    strict = spelt(TaggerOptions, "constraints", "strict")
    logger.warning("%s; read as conlleval does, and repaired (%s: error)", summary, strict)
    return _corpus_of(digest, blocks, corpus), scheme


def _all_violations(labels: list[str], rows: np.ndarray, blocks: LabelBlocks, scheme: str) -> Violations:
    """The number of chunks, and of ill-formed ones, in all blocks; their tokens are not known."""
    chunks = bad = 0
    for _, offset, cells in blocks.blocks():
        found = violations(labels, rows[cells], offset, scheme)
        chunks, bad = chunks + found.chunks, bad + found.tokens.size
    return Violations(scheme, chunks, np.zeros(bad, np.int8))


def _repair(labels: list[str], rows: np.ndarray, digest: LabelDigest, blocks: LabelBlocks, scheme: str) -> None:
    """Write the ill-formed chunks of all blocks in the scheme."""
    types, counts = digest.types, dict(zip(digest.types, digest.counts.tolist(), strict=True))
    for first, offset, cells in blocks.blocks():
        found = violations(labels, rows[cells], offset, scheme)
        if not found.tokens.size:
            continue
        corpus = Corpus(offset, labels=column_of_types(cells, types))
        mended, _ = repaired(corpus, labels, rows[cells], found, counts)
        assert mended.labels is not None
        own = [digest.numbers.setdefault(cell, len(digest.numbers)) for cell in mended.labels.types]
        blocks.file.write(np.array(own, np.int32)[mended.labels.ids], 4 * first)


def _corpus_of(digest: LabelDigest, blocks: LabelBlocks, before: Corpus) -> Corpus:
    """The digest of repaired labels, by first occurrence."""
    again = LabelDigest(before.source)
    types = digest.types
    for _, offset, cells in blocks.blocks():
        again.add(Corpus(offset, labels=column_of_types(cells, types), source=before.source))
    digest.counts = np.bincount([], minlength=len(digest.numbers))
    for cell, number in again.numbers.items():
        digest.counts[digest.numbers[cell]] = again.counts[number]
    return again.corpus()
