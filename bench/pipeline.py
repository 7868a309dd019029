"""A tagger in a spaCy pipeline, beside `Tagger.predict` on lists of words: what documents cost. CPU time, in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import keep, median
from palmette import Tagger
from palmette.data import FormatSpec
from palmette.data.formats.registry import read_corpus

TRAINED = 2000  # sentences


def _words_and_tags(path: Path, most: int | None = None) -> tuple[list[list[str]], list[list[str]]]:
    corpus = read_corpus(path, FormatSpec().resolved(path))
    words, tags = (corpus.columns[c].cells() for c in (0, 1))
    cuts = list(zip(corpus.offset.tolist()[:most], corpus.offset.tolist()[1:], strict=False))
    return [words[a:b] for a, b in cuts], [tags[a:b] for a, b in cuts]


def bench_spacy(data: Path, times: int) -> None:
    """Tokens per second of each way to tag the test data of CoNLL-2000."""
    import spacy
    from spacy.tokens import Doc

    import palmette.connect.spacy  # noqa: F401  (registers the components also where palmette is not installed)

    tagger = Tagger("pos", learner="perceptron", passes=5)
    tagger.fit(*_words_and_tags(data / "conll2000" / "train.txt", TRAINED))
    X, _ = _words_and_tags(data / "conll2000" / "test.txt")
    nlp = spacy.blank("en")
    component: Any = nlp.add_pipe("palmette_tagger")
    component.use(tagger)
    docs = [Doc(nlp.vocab, words=words) for words in X]
    sides: dict[str, Callable[[], Any]] = {
        "predict": lambda: tagger.predict(X),
        "nlp.pipe(docs)": lambda: list(nlp.pipe(docs)),
        "component(doc)": lambda: [component(doc) for doc in docs],
    }
    assert [[token.tag_ for token in doc] for doc in nlp.pipe(docs)] == tagger.predict(X)
    n = sum(map(len, X))
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(times):
        for name, work in sides.items():
            begun = time.process_time()
            work()
            found[name].append(n / (time.process_time() - begun))
    for name, speeds in found.items():
        print(f"{name:<16} {median(speeds):10,.0f} tokens per second")
    keep("spacy", {"tokens": n, "sentences": len(X), "tokens_per_second": found})
