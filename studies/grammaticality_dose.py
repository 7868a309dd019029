"""The dose of the negatives: all learners of the grammaticality study on negatives from unigrams, bigrams and trigrams.

Cells are part of the record of that study. Sentences of the Brown corpus against as many drawn from a model of the rest
of that corpus, words and lengths matched; test on held-out sentences of the same corpus and on film reviews against
sentences from a model of the reviews. Nothing is chosen: every learner has the same number of passes, from zero.
"""

from __future__ import annotations

import itertools
import random
import time
from functools import cache
from pathlib import Path
from typing import Any

from bench.dial import _drawn, _tagger
from palmette import Classifier, LanguageModel
from studies.common import Cell, Record, estimator_from, markdown, mean

ORDERS = (1, 2, 3)
TRAIN, TEST = 3_000, 1_000  # sentences of each class
SEEDS = (1, 2, 3, 4, 5)
PASSES, OUTER = 10, 5  # of online learners, and outer ones of the batch learners
# The published table: row, figure, settings
ROWS: dict[str, tuple[str, float, dict[str, Any]]] = {
    "online": ("online, one view (IOB2)", 98.75, {"passes": PASSES}),
    "add": ("online, five views, add", 98.70, {"passes": PASSES, "views": "all", "combine": "add"}),
    "vote": ("online, five views, vote", 98.78, {"passes": PASSES, "views": "all", "combine": "vote"}),
    "cotrain": ("online, five views, co-training", 98.85, {"passes": PASSES, "views": "all", "combine": "cotrain"}),
    "lclr-variant": ("LCLR, variant", 94.55, {"passes": OUTER, "learner": "lclr-variant", "inner_rounds": 20}),
    "lclr": ("LCLR, strict", 90.27, {"passes": OUTER, "learner": "lclr", "inner_rounds": 20}),
}
Sentences = list[list[tuple[str, str]]]


class Texts:
    """Sentences of both corpora with parts of speech, made once."""

    def __init__(self, data: Path) -> None:
        self.lines = {}
        for name in ("brown", "reviews"):
            lines = (data / "sentences" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            random.Random(1).shuffle(lines)
            self.lines[name] = lines
        self.tagger = _tagger(data)

    def tagged(self, rows: list[list[str]]) -> Sentences:
        return [list(zip(s, t, strict=True)) for s, t in zip(rows, self.tagger.predict(rows), strict=True)]

    @cache  # noqa: B019 (one object lives as long as the program)
    def dose(self, order: int) -> tuple[Sentences, dict[str, Sentences]]:
        """Training sentences, then those of each test: positives first, as many negatives after them."""
        positives = self.lines["brown"][TEST : TEST + TRAIN]
        words = {word for line in positives for word in line.split()}
        tests = {}
        for name, lines in self.lines.items():
            model = LanguageModel(order).fit(lines[TEST:])
            held_out = lines[:TEST]
            tests[name] = self.tagged([*(line.split() for line in held_out), *_drawn(model, held_out, 1)])
            if name == "brown":
                negatives = _drawn(model, positives, 101, vocabulary=words)
        return self.tagged([*(line.split() for line in positives), *negatives]), tests


def dosed(texts: Texts, order: int, method: str, seed: int) -> Cell:
    """Accuracy on both tests and on the training sentences."""
    train, tests = texts.dose(order)
    begun = time.process_time()
    made = estimator_from(Classifier, {"types": 1, "seed": seed, "learner": "pa", "pa_type": "PA"} | ROWS[method][2])
    truth = [1] * TRAIN + [0] * TRAIN
    made.fit(train, truth, names=False)
    seconds = time.process_time() - begun
    scores = {name: round(100 * float(made.score(rows, [1] * TEST + [0] * TEST)), 3) for name, rows in tests.items()}
    return scores | {"train": round(100 * float(made.score(train, truth)), 3), "cpu": round(seconds, 2)}


def run(record: Record, data: Path) -> None:
    """All rows at each dose."""
    made: list[Texts] = []

    def texts() -> Texts:
        if not made:
            made.append(Texts(data))
        return made[0]

    for seed, order, method in itertools.product(SEEDS, ORDERS, ROWS):
        what: Cell = {"stage": "dose", "order": order, "method": method}
        what |= {"seed": seed} if seed > 1 else {}  # the first ones were kept without it
        record.cell(what, lambda n=order, m=method, s=seed: dosed(texts(), n, m, s))


def part(record: Record) -> str:
    """A section of the page."""
    rows = []
    for method, (title, published, _) in ROWS.items():
        row = [title, f"{published:.2f}"]
        for order in ORDERS:
            cells = record.some(stage="dose", order=order, method=method)
            row += [mean((c[name] for c in cells), 1) if cells else "not run" for name in ("brown", "reviews")]
        rows.append(row)
    head = ["", "published", *(f"{name}, {test}" for name in ("unigrams", "bigrams", "trigrams")
                              for test in ("same corpus", "other corpus"))]  # fmt: skip
    return f"""## The dose of the negatives

All rows of the table of Clifton, Whitney and Sarkar (2013) with negatives from language models of order 1, 2 and 3:
{TRAIN:,} sentences of brown.txt against as many drawn from a model of the rest of it (words and lengths matched),
tested on {TEST:,} + {TEST:,} held-out ones of it, and of reviews.txt with negatives from a model of the reviews. Seeds
{", ".join(map(str, SEEDS))} of training, from zero, {PASSES} passes ({OUTER} outer ones of the batch learners), nothing
chosen. One view at nine doses, with 5,000 training and 2,000 test sentences, is in [how hard the negatives
are](../benchmarks.md#how-hard-the-negatives-are).

{markdown(head, rows)}
"""
