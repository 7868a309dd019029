"""Clusters of words from raw text: the words that occur often enough in classes, and the classes in a binary tree.

The exchange is that of kernels/learning/clusters.py. It starts with the n-th most frequent word in class n modulo the
number of classes, and goes through the words, most frequent first, until few of them move. Nothing is drawn at random:
the same text gives the same clusters, for any number of threads.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from palmette.data.files import FilePath
from palmette.data.text import NFC, PLAIN, TextSpec
from palmette.errors import DataError, UsageError
from palmette.features.raw_words import Progress, RawCounts, count_words
from palmette.features.resources import Clusters, read_clusters
from palmette.kernels.core.team import Team
from palmette.kernels.learning.clusters import CONTEXTS, Classes, exchange, merge_classes, merge_losses
from palmette.options.chain import TaggerOptions
from palmette.options.clusters import CLASSES, WORDS_PER_CLASS, ClusterOptions
from palmette.options.spelling import spelt
from palmette.options.training import available_cores
from palmette.training.team import ThreadTeam, Workers

logger = logging.getLogger(__name__)
BATCH = 64  # words that find their best classes at the same time: part of the result
SLICE = 16 * BATCH  # words of a call
STILL = 0.002  # the exchange ends when fewer words than this share move
TABLE = 1 << 16  # numbers n whose n log n is looked up
ROWS, MERGES = 8, 16  # of the tree, of a call
MOST_TOKENS = 2**31 - 1


def learn_clusters(
    files: FilePath | Sequence[FilePath], *, classes: int | None = None, passes: int = ClusterOptions.passes,
    min_count: int = ClusterOptions.min_count, most_words: int = ClusterOptions.most_words, name: str = "raw",
    unicode: str = NFC, threads: int | None = None, scratch: str | None = None, spec: TextSpec = PLAIN,
    progress: Progress | None = None,
) -> Clusters:  # fmt: skip
    """Clusters of the words of raw text, one sentence or paragraph per line, by how they follow each other.

    classes: default 1,000, or one for each 8 words if that is less. min_count, most_words: which words get a class.
    Take them to a tagger by `clusters={"raw": clusters}`, or write them with `save`."""
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    counts = count_words(
        paths, min_count=min_count, most_words=most_words, unicode=unicode, spec=spec, scratch=scratch,
        progress=progress,
    )  # fmt: skip
    if counts.tokens > MOST_TOKENS:
        raise DataError(f"{counts.tokens:,} words, and at most {MOST_TOKENS:,} can be counted", file=str(paths[0]))
    if classes is None:
        classes = max(2, min(CLASSES, len(counts.words) // WORDS_PER_CLASS))
    if not 2 <= classes <= len(counts.words):
        raise UsageError(
            f"{classes:,} classes for {len(counts.words):,} words that occur {min_count} times or more: choose 2 to "
            f"{len(counts.words):,}"
        )
    workers = threads or available_cores()
    learning = Exchange(counts, classes, workers)
    for number in range(1, passes + 1):
        if learning.run(number, passes, progress) < STILL * len(counts.words):
            break
    paths_of = tree_paths(learning.classes[0], workers, progress)
    of = learning.classes[0].of[CONTEXTS:].tolist()
    return Clusters(
        name, {word: paths_of[c] for word, c in zip(counts.words, of, strict=True)}, paths=True,
        counts=dict(zip(counts.words, counts.counts.tolist(), strict=True)),
    )  # fmt: skip


RAW = "raw"  # the name of clusters that are learnt during a training


def clusters_of(
    given: Mapping[str, FilePath | Clusters] | None, raw: FilePath | Sequence[FilePath] | None, unicode: str,
    threads: int | None = None,
) -> dict[str, Clusters]:  # fmt: skip
    """The clusters of a training by name: those that are given, and those of its raw text, with a message."""
    found = {name: read_clusters(own, name, unicode=unicode) for name, own in (given or {}).items()}
    if not raw:
        return found
    if RAW in found:
        raise UsageError(f"{spelt(TaggerOptions, 'raw')} and clusters that are called {RAW!r}: choose another name")
    begun = time.perf_counter()
    found[RAW] = learn_clusters(raw, name=RAW, unicode=unicode, threads=threads)
    logger.info(
        "raw text: %s words in %s classes, %.1f s", f"{len(found[RAW].classes):,}",
        f"{len(found[RAW].members()):,}", time.perf_counter() - begun,
    )  # fmt: skip
    return found


def n_log_n() -> np.ndarray:
    """n log n of small numbers, f64."""
    n = np.arange(TABLE, dtype=np.float64)
    return np.asarray(n * np.log(np.maximum(n, 1)))


class Exchange:
    """Words in classes, and the passes that move them. Each thread has its own copy of the classes."""

    def __init__(self, counts: RawCounts, n_classes: int, threads: int, batch: int = BATCH) -> None:
        self.pairs = counts.pairs
        self.n_words = len(counts.words)
        self.table, self.best = n_log_n(), np.zeros(batch, np.int32)
        self.team = ThreadTeam(threads, batch)
        first = first_classes(counts, n_classes)
        self.classes = [first, *(_copied(first) for _ in self.team.members[1:])]
        self._behind = False  # whether the first thread alone has made the last moves

    def run(self, number: int, passes: int, progress: Progress | None) -> int:
        """One pass; the number of moves."""
        before = self.classes[0].told[1]
        for first in range(CONTEXTS, self.n_words + CONTEXTS, SLICE):
            last = min(first + SLICE, self.n_words + CONTEXTS)
            self.team.run(exchange, partial(self._arguments, first, last))
            if progress is not None:
                progress(f"pass {number} of at most {passes}", (last - CONTEXTS) / self.n_words)
        return int(self.classes[0].told[1] - before)

    def _arguments(self, first: int, last: int, member: Team) -> tuple[object, ...]:
        own = self.classes[member.number]
        if member.size == 1:
            self._behind = len(self.classes) > 1
        elif self._behind and member.number > 0:
            for to, made in zip(own, self.classes[0], strict=True):
                to[...] = made
            self._behind = member.number < len(self.classes) - 1
        return member, self.pairs, own, self.table, self.best, first, last


def first_classes(counts: RawCounts, n_classes: int) -> Classes:
    """The n-th word in class n modulo the number of classes."""
    pairs, K = counts.pairs, n_classes + CONTEXTS
    of = np.concatenate((np.arange(n_classes, K), np.arange(len(counts.words)) % n_classes)).astype(np.int32)
    one = np.repeat(of, np.diff(pairs.after_ptr)).astype(np.int64)
    flat = np.bincount(one * K + of[pairs.after], weights=pairs.after_count, minlength=K * K)
    table = flat.reshape(K, K).astype(np.int32)
    size = np.bincount(of, weights=pairs.often, minlength=K).astype(np.int64)
    none = np.zeros(K, np.int32)
    return Classes(of, table, np.ascontiguousarray(table.T), size, none, none.copy(), np.zeros(K), np.zeros(2))


def _copied(classes: Classes) -> Classes:
    return Classes(*(array.copy() for array in classes))


def tree_paths(classes: Classes, threads: int = 1, progress: Progress | None = None) -> list[str]:
    """The path of each class from the root of the tree, in 0 and 1."""
    merged = merges(classes, threads, progress)
    if not merged:
        return ["0"] * (classes.size.size - CONTEXTS)
    path = dict.fromkeys(range(classes.size.size - CONTEXTS), "")
    for left, right in reversed(merged):
        path[right] = path[left] + "1"
        path[left] += "0"
    return [path[c] for c in sorted(path)]


def merges(classes: Classes, threads: int = 1, progress: Progress | None = None) -> list[tuple[int, int]]:
    """Which two classes are merged, step by step; the union has the smaller number. Empty classes are left out."""
    pairs, turned, size, table = classes.pairs.copy(), classes.turned.copy(), classes.size.copy(), n_log_n()
    C = size.size - CONTEXTS
    losses = np.zeros((C, C))
    alive = np.bincount(classes.of[CONTEXTS:], minlength=C)[:C] > 0
    workers, told = Workers(threads), "tree"

    def rows(first: int, k: int) -> None:
        merge_losses(pairs, turned, size, table, losses, first + k * ROWS, min(C, first + (k + 1) * ROWS))

    for first in range(0, C, threads * ROWS):
        workers.each(partial(rows, first), -(-min(C - first, threads * ROWS) // ROWS))
        if progress is not None:
            progress(told, first / C / 2)
    found: list[tuple[int, int]] = []
    steps = int(alive.sum()) - 1
    while len(found) < steps:
        out = np.zeros((min(MERGES, steps - len(found)), 2), np.int32)
        merge_classes(pairs, turned, size, table, losses, alive, out)
        found += [(int(i), int(j)) for i, j in out]
        if progress is not None:
            progress(told, 0.5 + len(found) / steps / 2)
    return found
