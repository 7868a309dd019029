"""How hard negatives are by the order of the language model that they are drawn from: accuracy of a classifier with one
view, and of a bag of words, on held-out sentences of the same text and of another one."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from bench.measure import keep
from palmette import Classifier, LanguageModel, Tagger
from palmette.data.formats.sentences import sentences_of
from palmette.lab.shallow_cues import shallow_cues

ORDERS = (1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3)
TRAIN, TEST = 5_000, 2_000  # sentences of each class
LONGEST = 100


def _tagger(folder: Path) -> Tagger:
    blocks = (folder / "conll2000" / "train.txt").read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split() for line in block.split("\n")] for block in blocks]
    X = [[word.lower() for word, *_ in row] for row in rows]
    return Tagger("pos", learner="perceptron", passes=5).fit(X, [[pos for _, pos, _ in row] for row in rows])


def _drawn(model: LanguageModel, like: list[str], seed: int, **wishes: Any) -> list[list[str]]:
    lengths = [len(line.split()) for line in like]
    return model.sample(len(like), seed=seed, new=True, lengths=lengths, max_length=LONGEST, **wishes)


def bench_dial(folder: Path) -> None:
    """Held-out sentences are not in the text of a language model; test negatives have unfiltered words."""
    texts = {}
    for name in ("brown", "reviews"):
        lines = (folder / "sentences" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        random.Random(1).shuffle(lines)
        texts[name] = lines
    test, positives = {name: lines[:TEST] for name, lines in texts.items()}, texts["brown"][TEST : TEST + TRAIN]
    words, tagger = {w for line in positives for w in line.split()}, _tagger(folder)

    def tagged(sentences: list[Any]) -> list[Any]:
        rows = [s.split() if isinstance(s, str) else s for s in sentences]
        return [list(zip(s, t, strict=True)) for s, t in zip(rows, tagger.predict(rows), strict=True)]

    found: dict[str, dict[str, float]] = {}
    for order in ORDERS:
        begun = time.process_time()
        models = {name: LanguageModel(order).fit(lines[TEST:]) for name, lines in texts.items()}
        negatives = _drawn(models["brown"], positives, 101, vocabulary=words)
        cues = shallow_cues(sentences_of(positives), sentences_of(negatives))
        classifier = Classifier(types=1).fit(tagged([*positives, *negatives]), [1] * TRAIN + [0] * TRAIN, names=False)
        row = {"perplexity": models["brown"].evaluate(test["brown"]).perplexity, "words": cues.words_accuracy}
        for name, model in models.items():
            X = tagged([*test[name], *_drawn(model, test[name], 1)])
            row[name] = classifier.score(X, [1] * TEST + [0] * TEST)
        found[str(order)] = row | {"seconds": time.process_time() - begun}
        print(f"  order {order:<5}" + "".join(f"  {key} {value:.4f}" for key, value in row.items()), flush=True)
    keep("dial", {"sentences": [TRAIN, TEST], "passes": Classifier()._settings().n_passes(), "orders": found})
