"""The labels of a corpus that is read in blocks: all of them, in order, and sentences that show every pair of labels
that stand side by side. What is derived from the labels of a corpus depends on these alone, but for counts.
"""

from __future__ import annotations

import numpy as np

from palmette.data.corpus import Corpus, column_of_strings
from palmette.data.subset import take
from palmette.errors import DataError

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
