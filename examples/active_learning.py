"""Choose the sentences that are most worth annotating, and compare with random ones."""

import random

from palmette import Tagger
from palmette.datasets import load_demo
from palmette.estimators import pick

sentences, labels = load_demo("train")
test = load_demo("test")
label_of = {tuple(sentence): gold for sentence, gold in zip(sentences, labels, strict=True)}  # the annotator
START, STEP = 50, 50


def trained(chosen: list[list[tuple[str, str]]]) -> Tagger:
    return Tagger("chunk", learner="crf", optimiser="adagrad", passes=5).fit(
        chosen, [label_of[tuple(each)] for each in chosen]
    )


first, rest = sentences[:START], sentences[START:]
found = [rest[each.sentence] for each in pick(trained(first), rest, STEP, exclude=first)]
print(f"{START} sentences            F1 {trained(first).score(*test):.3f}")
print(f"and {STEP} random ones      F1 {trained(first + random.Random(1).sample(rest, STEP)).score(*test):.3f}")
print(f"and {STEP} picked ones      F1 {trained(first + found).score(*test):.3f}")
