"""Seconds a pass of the classifier over latent structures: 20,000 real sentences against as many made ones."""

from __future__ import annotations

import random
import statistics
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from bench.measure import keep
from palmette import Classifier, Tagger

SENTENCES = 20_000  # of each class
LONGEST = 60
PASSES = 3  # the first one is left out: it makes the rows
DISCOUNT = 0.75
TYPES = 11  # those of CoNLL-2000
ROWS: dict[str, dict[str, Any]] = {
    "no structure": {"latent": "none"},
    "one view": {},
    "five views, add": {"views": "all"},
    "five views, vote": {"views": "all", "combine": "vote"},
    "five views, cotrain": {"views": "all", "combine": "cotrain"},
    "one view, 11 types": {"types": TYPES},
    "five views, 11 types, cotrain": {"views": "all", "combine": "cotrain", "types": TYPES},
}


class Sampler:
    """Sentences from trigrams with absolute discounts: enough to time the classifier with."""

    def __init__(self, sentences: list[list[str]], seed: int) -> None:
        self.rng = random.Random(seed)
        self.after: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for sentence in sentences:
            words = ["<s>", "<s>", *sentence, "</s>"]
            for i in range(2, len(words)):
                for size in range(3):
                    self.after[tuple(words[i - size : i])].append(words[i])
        self.types = {context: len(set(found)) for context, found in self.after.items()}

    def next(self, *context: str) -> str:
        found = self.after.get(context)
        if found is None or (context and self.rng.random() < DISCOUNT * self.types[context] / len(found)):
            return self.next(*context[1:])
        return self.rng.choice(found)

    def sentence(self) -> list[str]:
        words = ["<s>", "<s>"]
        while len(words) < LONGEST + 3 and words[-1] != "</s>":
            words.append(self.next(*words[-2:]))
        return words[2:-1]

    def like(self, sentences: list[list[str]]) -> list[list[str]]:
        """As many sentences, of the same lengths; a length that does not come up is given up."""
        wanted, made = Counter(map(len, sentences)), []
        for _ in range(20 * len(sentences)):
            sentence = self.sentence()
            if wanted[len(sentence)] > 0:
                wanted[len(sentence)] -= 1
                made.append(sentence)
        return made


def _data(folder: Path) -> tuple[list[Any], list[Any]]:
    """Real and made sentences with parts of speech."""
    text = (folder / "sentences" / "reviews.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines()]
    real = [line for line in lines if 0 < len(line) <= LONGEST][:SENTENCES]
    tagger = Tagger("pos", passes=5)
    blocks = (folder / "conll2000" / "train.txt").read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split() for line in block.split("\n")] for block in blocks]
    tagger.fit([[word.lower() for word, *_ in row] for row in rows], [[pos for _, pos, _ in row] for row in rows])
    made = Sampler(lines, 1).like(real)
    parts = [[list(zip(s, t, strict=True)) for s, t in zip(p, tagger.predict(p), strict=True)] for p in (real, made)]
    return parts[0], parts[1]


def bench_classify(folder: Path) -> None:
    """Seconds a pass over all of them, one core."""
    positives, negatives = _data(folder)
    tokens = sum(map(len, positives)) + sum(map(len, negatives))
    print(f"{len(positives):,} + {len(negatives):,} sentences, {tokens:,} tokens; word and POS 1- to 3-grams")
    seconds = {}
    for name, options in ROWS.items():
        classifier = Classifier(passes=PASSES, **options).fit(positives, negatives, names=False)
        seconds[name] = statistics.median(row["seconds"] for row in classifier.history_[1:])
        print(
            f"  {name:<30} {seconds[name]:6.2f} s a pass, {tokens / seconds[name]:>9,.0f} tokens a second", flush=True
        )
    keep("classify", {"sentences": [len(positives), len(negatives)], "tokens": tokens, "seconds": seconds})
