"""What a search tries that is told nothing: by the labels, the columns and the size of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import are_chunk_labels
from palmette.options.chain import TaggerOptions
from palmette.options.learners import MOST_LABELS
from palmette.tuning.space import TEMPLATES, fixed_names

MOST_TRIPLES = 60  # labels from which on order 2 and sums over all paths take long
LARGE = 100_000  # tokens from which on rare attributes can be left out


def default_space(corpus: Corpus, base: TaggerOptions) -> dict[str, Any]:
    """The options to try on a labelled corpus and their values, but for those that the tagger has already."""
    assert corpus.labels is not None
    n_labels = len(corpus.labels.types)
    learners = ["perceptron"]
    if n_labels <= MOST_LABELS:
        learners.append("mira")
    if n_labels <= MOST_TRIPLES:
        learners.append("crf")
    found: dict[str, Any] = {"learner": learners}
    if corpus.attributes is None:
        found["features"] = _features(corpus)
    found |= {
        "order": [1, 2] if n_labels <= MOST_TRIPLES else [0, 1],
        "min_count": [1, 2, 3] if corpus.n_tokens < LARGE else [1, 2, 3, 5],
        "nbest": [1, 5],
        "aggressiveness": [0.03, 0.1, 0.3],
        "optimiser": ["adagrad"],  # after a third of its passes it is as far as others; L-BFGS is not
        "l2": [0.1, 0.3, 1.0, 3.0],
    }
    fixed = set(fixed_names(base))
    if fixed & set(TEMPLATES):
        fixed |= set(TEMPLATES)
    return {name: values for name, values in found.items() if name not in fixed}


def _features(corpus: Corpus) -> list[str]:
    """Named sets that may suit the labels: as `palmette train` would choose, and the nearest others."""
    assert corpus.labels is not None
    tagged = len(corpus.columns) > 1
    if are_chunk_labels(corpus.labels.types):
        found = ["chunk", "ner"] if tagged else ["ner", "pos"]
    else:
        found = ["pos", "ner", "chunk"] if tagged else ["pos", "ner"]
    words = corpus.columns[0]
    if np.mean([len(words.types[k]) == 1 for k in words.ids[:1000]]) > 0.5:
        found.append("char")
    return found
