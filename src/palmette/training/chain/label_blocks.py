"""The tag scheme of labels that are on disk: recognised by the pairs that the digest shows, and where no scheme fits
them all, by the number of ill-formed chunks in all blocks, which are then repaired as those of a corpus in memory are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np

from palmette.data.corpus import Corpus, column_of_types
from palmette.data.labels.mask import label_names, training_mask
from palmette.data.labels.repair import Violations, nearest_of, repaired, violations
from palmette.data.labels.schemes import are_chunk_labels, recognise, schemes_of
from palmette.data.scratch import ScratchFile
from palmette.errors import counted
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import spelt
from palmette.structures.chain.constraints import rewriting, settle_scheme
from palmette.training.chain.label_digest import LabelDigest

logger = logging.getLogger(__name__)
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
