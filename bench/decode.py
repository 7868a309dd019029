"""Inner loops of tagging, in nanoseconds per token: attributes of tokens, and the search with full and compact weights,
beside python-crfsuite's search on sequences that it has read already. CPU time, the best of several rounds in turn."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from bench import rival
from bench.measure import TEMPLATES, keep
from palmette import Tagger
from palmette.data import FormatSpec
from palmette.data.formats.registry import read_corpus
from palmette.kernels.chain.forms import make_trellis
from palmette.kernels.chain.viterbi import decode
from palmette.structures.chain.compact import compact_model

ROUNDS, IN_A_ROW = 5, 3


def bench_decode(data: Path, times: int) -> None:
    """CoNLL-2000, the 19 templates, averaged perceptron."""
    train, test = data / "conll2000" / "train.txt", data / "conll2000" / "test.txt"
    corpus = read_corpus(test, FormatSpec())
    tagger = Tagger(template=TEMPLATES / "crfpp.txt", learner="perceptron", passes=10, seed=1)
    model: Any = tagger.fit_file(train).model_
    small = compact_model(model)
    encoded, chain = model.encode(corpus), model.with_bias(model.bias)
    small_chain = small.with_bias(small.bias)
    trellis, out, scores = (
        make_trellis(chain, encoded),
        np.zeros(corpus.n_tokens, np.int32),
        np.zeros(corpus.n_sentences),
    )
    with tempfile.TemporaryDirectory() as name:
        file = Path(name, "m.crfsuite")
        rival.train(train, file)
        tagger = pycrfsuite.Tagger()
        tagger.open(str(file))
        sequences = [pycrfsuite.ItemSequence(rival.attributes(s)) for s in rival.read(test)]

        def theirs() -> None:
            for sequence in sequences:
                tagger.tag(sequence)

        found = _best(
            {
                "attributes": lambda: model.encode(corpus),
                "search": lambda: decode(chain, encoded, trellis, out, scores, False),
                "search, compact": lambda: decode(small_chain, encoded, trellis, out, scores, False),
                "python-crfsuite, search on ready sequences": theirs,
            },
            corpus.n_tokens,
        )
    keep("decode", found)
    for what, nanoseconds in found.items():
        print(f"{what:44}{nanoseconds:8.0f} ns a token")


def _best(work: dict[str, Callable[[], Any]], tokens: int) -> dict[str, float]:
    best = dict.fromkeys(work, np.inf)
    for _ in range(ROUNDS):
        for name, run in work.items():
            for _ in range(IN_A_ROW):  # the caches hold what the other work has used
                begun = time.process_time()
                run()
                best[name] = min(best[name], 1e9 * (time.process_time() - begun) / tokens)
    return best
