"""A sentence with the labels that a chain model finds, to look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from palmette.data.analysed import Reading, TaggedSentence
from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import unseen_scheme
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.nbest import nbest_lists
from palmette.structures.chain.posteriors import are_probabilities, confidence_of


def tagged_sentence(
    model: ChainModel, corpus: Corpus, words: Sequence[str] | None, nbest: int, confidence: bool,
    gold: Sequence[str] | None,
) -> TaggedSentence:  # fmt: skip
    """A corpus of one sentence with its n best label sequences; the options are those of `Tagger.show`."""
    (candidates,) = nbest_lists(model, corpus, nbest)
    readings = [Reading(one.output, one.score, one.probability) for one in candidates]
    if confidence:
        numbers = {label: k for k, label in enumerate(model.labels)}
        for k, one in enumerate(candidates):
            found = confidence_of(model, corpus, np.array([numbers[tag] for tag in one.output], np.int32))
            spans = None if found.spans is None else found.spans.posterior.tolist()
            readings[k] = replace(readings[k], confidence=found.tokens.tolist(), span_confidence=spans)
    plain = corpus.columns[0].cells() if corpus.columns else [str(i) for i in range(1, corpus.n_tokens + 1)]
    called = dict(zip(model.classes, model.labels, strict=True))
    right = None if gold is None else Reading([called.get(label, str(label)) for label in gold])
    written = plain if words is None else list(words)
    calibrated = are_probabilities(model) if confidence else None
    return TaggedSentence(written, readings, right, model.labels, unseen_scheme(model.scheme), calibrated)
