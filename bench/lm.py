"""The language model: seconds to train on a million tokens of film reviews and to draw 50,000 sentences, perplexity on
held-out ones; NLTK's interpolated Kneser-Ney (one discount, pure Python) in the same run on a part of the same text,
and KenLM as a judge of our ARPA file, where they are installed."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import alternating, keep, median
from palmette import LanguageModel
from palmette.lab.sentences import sentences_of

TOKENS, HELD_OUT, DRAWN = 1_000_000, 3000, 50_000
RIVAL_SENTENCES, RIVAL_TEST = 3000, 100


def bench_lm(data: Path, times: int) -> None:
    lines = (data / "sentences" / "reviews.txt").read_text(encoding="utf-8").splitlines()
    test, rest, train, tokens = lines[:HELD_OUT], lines[HELD_OUT:], [], 0
    for line in rest:
        if tokens >= TOKENS:
            break
        train.append(line)
        tokens += len(line.split())
    with tempfile.TemporaryDirectory() as folder:
        result = _ours(train, test, Path(folder), times) | {"tokens": tokens, "sentences": len(train)}
        result["kenlm"] = _judged_by_kenlm(test, Path(folder))
    result["nltk"] = _nltk(train[:RIVAL_SENTENCES], test[:RIVAL_TEST])
    for name, value in result.items():
        print(f"{name:<12} {value}")
    keep("lm", result)


def _ours(train: list[str], test: list[str], folder: Path, times: int) -> dict[str, Any]:
    """File to model in memory, and the rest; after one run that compiles."""
    text = folder / "train.txt"
    text.write_text("\n".join(train) + "\n", encoding="utf-8")
    model = LanguageModel().fit_file(text)
    model.save(folder / "m.arpa")
    held_out = sentences_of(test)
    sides: dict[str, Callable[[], object]] = {
        "train": lambda: LanguageModel().fit_file(text),
        "score": lambda: model.evaluate(held_out),
        "sample": lambda: model.draw(DRAWN, new=True),
    }
    model.draw(1)
    seconds = {name: median(found) for name, found in alternating(sides, times).items()}
    return {"seconds": seconds, "test": {key: getattr(model.evaluate(held_out), key) for key in _FIGURES}}


_FIGURES = ("sentences", "tokens", "unknown", "perplexity", "perplexity_without_unknown")


def _judged_by_kenlm(test: list[str], folder: Path) -> dict[str, float] | str:
    """Perplexities that KenLM finds with our ARPA file; they must be ours."""
    try:
        import kenlm
    except ImportError:
        return "not installed"
    judge = kenlm.Model(str(folder / "m.arpa"))
    every = [score for line in test for score in judge.full_scores(line)]
    known = [score[0] for score in every if not score[2]]
    return {
        "perplexity": 10 ** (-sum(score[0] for score in every) / len(every)),
        "perplexity_without_unknown": 10 ** (-sum(known) / len(known)),
    }


def _nltk(train: list[str], test: list[str]) -> dict[str, float] | str:
    """Both on a part of the text, since NLTK scores some 25 words a second; perplexities are of the words seen in
    training to which NLTK gives a probability above 0."""
    try:
        from nltk.lm import KneserNeyInterpolated
        from nltk.lm.preprocessing import padded_everygram_pipeline
        from nltk.util import ngrams
    except ImportError:
        return "not installed"
    begun = time.perf_counter()
    rival = KneserNeyInterpolated(3)
    rival.fit(*padded_everygram_pipeline(3, [line.split() for line in train]))
    fitted = time.perf_counter()
    model = LanguageModel(3).fit(train)
    theirs, ours, skipped = 0.0, 0.0, 0
    n = 0
    scoring = 0.0
    for line in test:
        words = line.split()
        own = [*words, "</s>"]
        for i, gram in enumerate(ngrams(["<s>", "<s>", *own], 3)):
            at = time.perf_counter()
            p = rival.score(gram[2], gram[:2])
            scoring += time.perf_counter() - at
            if p > 0 and own[i] in rival.vocab:
                theirs += math.log(p)
                ours += math.log(model.probability(own[i], words[:i]))
                n += 1
            else:
                skipped += 1
    return {
        "train seconds, NLTK": fitted - begun, "score tokens a second, NLTK": (n + skipped) / scoring,
        "tokens": n, "skipped": skipped,
        "perplexity, NLTK": math.exp(-theirs / n), "perplexity, palmette": math.exp(-ours / n),
    }  # fmt: skip
