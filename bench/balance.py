"""How much two threads could gain at most from batches: a batch is over when the slower thread is, and sentences of the
same length do not cost the same. Sentences are learnt from one by one, with their times, and then shared out on paper.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from palmette import Tagger
from palmette.data.corpus import Corpus
from palmette.training.chain import learning
from palmette.training.trainer import balanced, shuffled

PASSES = 4


def _costs(corpus: Corpus, learner: Any) -> list[np.ndarray]:
    """Seconds of each sentence, pass by pass; those of a call that learns nothing are taken off."""
    costs = np.zeros((PASSES, corpus.n_sentences))
    seen = np.zeros(corpus.n_sentences, np.int64)

    def timed(self: Any, examples: np.ndarray) -> Any:
        total = self.plain(examples[:0])
        for k in range(examples.size):
            begun = time.perf_counter()
            self.plain(examples[:0])
            empty, s = time.perf_counter() - begun, examples[k]
            begun = time.perf_counter()
            total = total + self.plain(examples[k : k + 1])
            costs[seen[s], s] = max(0.0, time.perf_counter() - begun - empty)
            seen[s] += 1
        return total

    classes: list[Any] = [learning.PathLearning, learning.DescentLearning]
    before = [kind.learn for kind in classes]
    try:
        for kind, plain in zip(classes, before, strict=True):
            kind.plain, kind.learn = plain, timed
        Tagger("chunk", learner=learner, passes=PASSES, batch_size=1).fit_corpus(corpus, None, threads=1)
    finally:
        for kind, plain in zip(classes, before, strict=True):
            kind.learn = plain
            del kind.plain
    return list(costs)


def most_gain(corpus: Corpus, learner: Any, batch: int) -> float:
    """The sum of all costs, divided by that of the slower threads of all batches."""
    lengths, whole, slower = np.diff(corpus.offset), 0.0, 0.0
    for number, costs in enumerate(_costs(corpus, learner), 1):
        costs = np.minimum(costs, np.percentile(costs, 99.9))  # a few were interrupted
        order = balanced(shuffled(1, number, lengths.size), lengths.astype(float), batch, 1, number)
        for first in range(0, order.size, batch):
            members = order[first : first + batch]
            busy = [0.0, 0.0]
            for s in members[np.argsort(-lengths[members], kind="stable")]:  # the free thread takes the longest
                busy[int(busy[1] < busy[0])] += float(costs[s])
            slower += max(busy)
        whole += costs.sum()
    return whole / slower
