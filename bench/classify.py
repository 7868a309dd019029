"""The classifier over latent structures on 20,000 real sentences and as many made ones: seconds a pass, and accuracy on
others after the last pass."""

from __future__ import annotations

import random
import statistics
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from bench.measure import keep
from palmette import Classifier, Tagger

SENTENCES, HELD_OUT = 20_000, 2_500  # of each class
LONGEST = 60
PASSES = 8  # the first one is left out: it makes the rows
DISCOUNT = 0.75
ROWS: dict[str, dict[str, Any]] = {
    "no structure": {"latent": "none", "estimator": "avg"},
    "one view, 1 type": {"types": 1},
    "one view, 4 types": {},
    "one view, 11 types": {"types": 11},
    "five views, add, 1 type": {"views": "all", "types": 1},
    "five views, add, 4 types": {"views": "all"},
    "five views, add, 11 types": {"views": "all", "types": 11},
    "five views, vote, 4 types": {"views": "all", "combine": "vote"},
    "five views, cotrain, 4 types": {"views": "all", "combine": "cotrain"},
    "five views, cotrain, 1 type": {"views": "all", "combine": "cotrain", "types": 1},
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
        """Nearly as many sentences, of the same lengths; the last ones would take long to come up."""
        wanted, made = Counter(map(len, sentences)), []
        while len(made) < 0.99 * len(sentences):
            sentence = self.sentence()
            if wanted[len(sentence)] > 0:
                wanted[len(sentence)] -= 1
                made.append(sentence)
        return made


def real_and_made(folder: Path, n: int) -> tuple[list[Any], list[Any]]:
    """About n real sentences and as many made ones, with parts of speech."""
    text = (folder / "sentences" / "reviews.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines()]
    real = [line for line in lines if 0 < len(line) <= LONGEST][:n]
    tagger = Tagger("pos", learner="perceptron", passes=5)
    blocks = (folder / "conll2000" / "train.txt").read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split() for line in block.split("\n")] for block in blocks]
    tagger.fit([[word.lower() for word, *_ in row] for row in rows], [[pos for _, pos, _ in row] for row in rows])
    made = Sampler(lines, 1).like(real)
    parts = [[list(zip(s, t, strict=True)) for s, t in zip(p, tagger.predict(p), strict=True)] for p in (real, made)]
    for part in parts:
        random.Random(2).shuffle(part)
    return parts[0], parts[1]


def bench_classify(folder: Path) -> None:
    """On one core, sentence by sentence."""
    real, made = real_and_made(folder, SENTENCES + HELD_OUT)
    train, test = (real[HELD_OUT:], made[HELD_OUT:]), (real[:HELD_OUT], made[:HELD_OUT])
    (X, y), held_out = (([*a, *b], [1] * len(a) + [0] * len(b)) for a, b in (train, test))
    tokens = sum(len(sentence) for part in train for sentence in part)
    print(f"{len(train[0]):,} + {len(train[1]):,} sentences, {tokens:,} tokens; word and POS 1- to 3-grams")
    found: dict[str, dict[str, float]] = {}
    for name, options in ROWS.items():
        classifier = Classifier(passes=PASSES, batch_size=1, **options).fit(X, y, names=False, threads=1)
        seconds = statistics.median(row["seconds"] for row in classifier.training_log_[1:])
        found[name] = {"seconds": seconds, "accuracy": classifier.score(*held_out)}
        told = f"{seconds:6.2f} s a pass, {tokens / seconds:>9,.0f} tokens a second"
        print(f"  {name:<30} {told}, accuracy {100 * found[name]['accuracy']:.1f}", flush=True)
    keep("classify", {"sentences": [len(part) for part in train], "tokens": tokens, "passes": PASSES, "rows": found})
