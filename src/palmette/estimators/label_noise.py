"""Doubtful labels: what a model that has not seen a sentence thinks of its labels.

The sentences are dealt into folds. A conditional random field (five passes of AdaGrad, which is quick and whose
probabilities are good) learns from all folds but one and tells, for each token of that one, the probability of the
label that it has. Labels that are less probable than another are listed, the least probable first; neighbouring tokens
are one item, since a wrong span is several wrong labels.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.subset import dealt, take
from palmette.data.treebank import tokens_of
from palmette.estimators.tagger import Tagger
from palmette.evaluation.findings import DataView, Finding
from palmette.options.learners import Crf
from palmette.structures.chain.posteriors import confidence_of

DOUBTFUL = 0.1
"""Labels with a smaller probability are listed."""
PASSES = 5

Progress = Callable[[int, int], None]
"""Called after each fold with the number of folds done and of all."""


class LabelDoubts(NamedTuple):
    """Per token the probability of its label, and the most probable label."""

    probability: np.ndarray  # f64[N]  1 where the label is not fully known
    guess: np.ndarray  # i32[N]  number of a label of the corpus


def label_doubts(
    corpus: Corpus, folds: int = 5, *, threads: int = 1, seed: int = 1, progress: Progress | None = None
) -> LabelDoubts:
    """Cross-validated probabilities of the labels of a corpus; any number of threads gives the same."""
    assert corpus.labels is not None
    fold = dealt(corpus.n_sentences, folds, seed)
    numbers = {label: k for k, label in enumerate(corpus.labels.types)}
    made = LabelDoubts(np.ones(corpus.n_tokens), corpus.labels.ids.copy())

    def work(k: int) -> tuple[np.ndarray, LabelDoubts]:
        held_out = np.flatnonzero(fold == k)
        tagger = Tagger(learner=Crf(optimiser="adagrad"), passes=PASSES, seed=seed)
        tagger.fit_corpus(take(corpus, np.flatnonzero(fold != k)), None, names=False, threads=1)
        if tagger.outcome_.interrupted:
            raise KeyboardInterrupt
        return tokens_of(corpus.offset, held_out), _judged(tagger, take(corpus, held_out), numbers)

    with ThreadPoolExecutor(threads) as pool:
        done = map(work, range(folds)) if threads == 1 else pool.map(work, range(folds))
        for k, (tokens, part) in enumerate(done):
            made.probability[tokens], made.guess[tokens] = part
            if progress is not None:
                progress(k + 1, folds)
    unknown = DataView(corpus).unknown[corpus.labels.ids]
    made.probability[unknown] = 1.0
    return made


def _judged(tagger: Tagger, corpus: Corpus, numbers: dict[str, int]) -> LabelDoubts:
    """What a model thinks of sentences that it has not seen. A label that it does not know has probability 0."""
    assert corpus.labels is not None
    model = tagger.model_
    known = {label: k for k, label in enumerate(model.labels)}
    gold = np.array([known.get(label, -1) for label in corpus.labels.types], np.int32)[corpus.labels.ids]
    found = confidence_of(model, corpus, np.maximum(gold, 0), marginals=True, whole=False)
    assert found.marginals is not None
    names = np.array([numbers[label] for label in model.labels], np.int32)
    return LabelDoubts(np.where(gold < 0, 0.0, found.tokens), names[found.marginals.argmax(axis=1)])


def doubtful_labels(view: DataView, doubts: LabelDoubts, below: float = DOUBTFUL) -> list[Finding]:
    """The labels with a probability below this, the least probable first; neighbours are one finding."""
    corpus = view.corpus
    assert corpus.labels is not None
    doubtful = (doubts.probability < below) & (doubts.guess != corpus.labels.ids)
    begins = doubtful.copy()
    begins[1:] &= ~doubtful[:-1]
    begins[corpus.offset[:-1]] = doubtful[corpus.offset[:-1]]
    starts = np.flatnonzero(begins)
    run = np.cumsum(begins) - 1
    sizes = np.bincount(run[doubtful], minlength=starts.size)
    rows = [_doubt(view, doubts, int(a), int(n)) for a, n in zip(starts, sizes, strict=True)]
    return sorted(rows, key=lambda finding: finding.details["probability"])


def _doubt(view: DataView, doubts: LabelDoubts, start: int, size: int) -> Finding:
    corpus = view.corpus
    assert corpus.labels is not None
    tokens = range(start, start + size)
    words, gold = [view.word(t) for t in tokens], [view.label(t) for t in tokens]
    guess = [corpus.labels.types[int(doubts.guess[t])] for t in tokens]
    probability = float(doubts.probability[start : start + size].min())
    message = f"{' '.join(words)}: {' '.join(gold)}, rather {' '.join(guess)} (probability {probability:.2g})"
    details = {"words": words, "gold": gold, "guess": guess, "probability": probability}
    return Finding("noise", corpus.source, view.line(start), message, details)
