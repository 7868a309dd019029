"""What picking sentences to annotate gains over random ones, simulated on CoNLL-2000.

Of the training sentences 1,000 are held out to score on, drawn by seed; test is not touched. Annotation begins with 200
random sentences, and four rounds add 200 of the others each: random ones, or those that the model of the round before
picks. F of chunks after each round, mean of three seeds; and how many tokens were annotated, since sentences differ in
length. The model is a CRF, five passes of AdaGrad, with the features `chunk`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import keep
from palmette import Crf, Tagger
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.subset import take
from palmette.estimators.picking import Pool, uncertainties

HELD_OUT, EACH, ROUNDS, SEEDS = 1000, 200, 4, (1, 2, 3)
WAYS: dict[str, tuple[str, float] | None] = {
    "random": None,
    "confidence": ("confidence", 1.0),
    "margin": ("margin", 1.0),
    "entropy": ("entropy", 1.0),
    "confidence, diversity 0": ("confidence", 0.0),
}


def _pool(corpus: Corpus, uncertainty: np.ndarray) -> Pool:
    made = Pool()
    made.add(corpus, uncertainty)
    return made


def _next(way: tuple[str, float] | None, tagger: Tagger, corpus: Corpus, own: np.ndarray, seed: int) -> np.ndarray:
    """The sentences of one more round."""
    others = np.setdiff1d(np.arange(corpus.n_sentences), own)
    if way is None:
        return np.random.default_rng([seed, own.size]).choice(others, EACH, replace=False)
    by, diversity = way
    rest, annotated = take(corpus, others), take(corpus, own)
    known = _pool(annotated, np.zeros(annotated.n_sentences))
    picked = _pool(rest, uncertainties(tagger.model_, rest, by)).pick(EACH, diversity, known)
    return others[[one.sentence for one in picked]]


def _simulated(way: tuple[str, float] | None, corpus: Corpus, dev: Corpus, seed: int) -> list[tuple[float, int]]:
    """F and annotated tokens after each round."""
    own = np.random.default_rng([seed, 0]).choice(corpus.n_sentences, EACH, replace=False)
    rows = []
    for turn in range(ROUNDS + 1):
        part = take(corpus, np.sort(own))
        tagger = Tagger("chunk", learner=Crf(optimiser="adagrad"), passes=5, seed=seed).fit_corpus(part, None)
        f1 = tagger.evaluate(dev).f1
        assert f1 is not None
        rows.append((100 * f1, part.n_tokens))
        if turn < ROUNDS:
            own = np.concatenate((own, _next(way, tagger, corpus, own, seed)))
    return rows


def bench_pick(data: Path) -> None:
    whole = read_corpus(data / "conll2000" / "train.txt")
    found: dict[str, Any] = {}
    sizes = [EACH * (k + 1) for k in range(ROUNDS + 1)]
    print(f"{'sentences':24}" + "".join(f"{size:>8,}" for size in sizes) + "   tokens")
    for name, way in WAYS.items():
        runs = []
        for seed in SEEDS:
            drawn = np.random.default_rng(seed).permutation(whole.n_sentences)
            corpus, dev = take(whole, np.sort(drawn[HELD_OUT:])), take(whole, np.sort(drawn[:HELD_OUT]))
            runs.append(_simulated(way, corpus, dev, seed))
        mean = np.array(runs).mean(axis=0)
        found[name] = {"sentences": sizes, "f1": mean[:, 0].tolist(), "tokens": mean[:, 1].tolist(), "runs": runs}
        print(f"{name:24}" + "".join(f"{f1:8.2f}" for f1 in mean[:, 0]) + f"{mean[-1, 1]:9,.0f}", flush=True)
    keep("pick", found)
