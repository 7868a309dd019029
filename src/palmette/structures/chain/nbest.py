"""The best label sequences of a sentence, not the best one alone.

Sequences are distinct and ranked by score; with latent states that of the best path of states that has these labels. A
model that was learnt as a distribution, or calibrated, tells the probability of each too, which with latent states is
that of all its paths together (so a lower rank may be the more probable). A model that is searched with a beam lists
what its last beam holds, without probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec.structs import replace

from palmette.data.analysed import Candidate, LabelLists, SentenceLabels, TaggedSentence
from palmette.data.corpus import Corpus
from palmette.data.labels.mask import LabelMask, check_feasible
from palmette.data.labels.schemes import unseen_scheme
from palmette.options.declare import OptionError
from palmette.structures.chain.beam import beam_lists
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.posteriors import are_probabilities, confidence_of

MOST_BEST = 1000
CELLS = 1 << 20  # labels that a call of the kernel makes room for, unless one sentence needs more


def of_no_token(model: ChainModel) -> Candidate[list[str]]:
    """The only candidate of an empty sentence."""
    return Candidate([], 0.0, 1.0 if are_probabilities(model) else None)


def check_count(n: int) -> None:
    if type(n) is not int or not 1 <= n <= MOST_BEST:
        raise OptionError("nbest", f"{n!r} is not a number of label sequences between 1 and {MOST_BEST}")


def nbest_lists(
    model: ChainModel,
    corpus: Corpus,
    n: int,
    bias: dict[str, float] | None = None,
    known: LabelMask | None = None,
    names: Sequence[Any] | None = None,
) -> Iterator[list[Candidate[list[str]]]]:
    """Of each sentence the n best label sequences, best first; fewer where there are no more. `names`: what the labels
    are called there."""
    for part in label_lists(model, corpus, n, bias, known):
        yield from part.candidates(model.labels if names is None else names)


def label_lists(
    model: ChainModel,
    corpus: Corpus,
    n: int,
    bias: dict[str, float] | None = None,
    known: LabelMask | None = None,
) -> Iterator[LabelLists]:
    """The n best label sequences of all sentences as arrays, those of some sentences after the other."""
    check_count(n)
    if not corpus.n_tokens:
        return
    if model.beam:
        yield _last_beams(model, corpus, n, bias, known)
        return
    check_memory(corpus.offset, model.shape, model.encoder)
    data = model.encode(corpus, known)
    sure = are_probabilities(model, bias)
    lists = model.scoring(bias).lists(data, n)
    for first, last in _slices(corpus.offset, max(1, CELLS // n)):
        tokens, size = int(corpus.offset[last] - corpus.offset[first]), last - first
        out, scores = np.zeros((n, tokens), np.int32), np.full((size, n), -np.inf)
        probability = np.zeros((size, n) if sure else (0, n))
        found = lists.fill(first, last, out, scores, probability, known is not None)
        check_feasible(_padded(scores[:, 0], first, last, corpus.n_sentences), corpus)
        offset = corpus.offset[first : last + 1] - corpus.offset[first]
        yield LabelLists(offset, out, scores * model.temperature, probability if sure else None, found)


def _last_beams(
    model: ChainModel, corpus: Corpus, n: int, bias: dict[str, float] | None, known: LabelMask | None
) -> LabelLists:
    """What the last beam holds of each sentence, best first. Hidden states: of equal labels only the first."""
    weights, data, seen = model.weights(bias), model.encode(corpus, known), model.encode_contexts(corpus)
    most = min(n, model.beam) if weights.chain.plain else model.beam
    out, scores, found = beam_lists(weights, data, seen, model.beam_search, most, known is not None)
    check_feasible(scores[:, 0], corpus, model.beam)
    labels = weights.chain.label_of[out]
    if not weights.chain.plain:
        for s, (lo, hi) in enumerate(pairwise(corpus.offset.tolist())):
            first: dict[bytes, int] = {}
            for k in range(int(found[s])):
                first.setdefault(labels[k, lo:hi].tobytes(), k)
            kept = list(first.values())[:n]
            m = found[s] = len(kept)
            labels[:m, lo:hi], scores[s, :m] = labels[kept, lo:hi], scores[s, kept]
    return LabelLists(corpus.offset, labels[:n].copy(), scores[:, :n], None, found)


def _slices(offset: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of sentences with at most that many tokens, or with a single sentence."""
    first, n_sentences = 0, offset.size - 1
    while first < n_sentences:
        last = int(np.searchsorted(offset, offset[first] + most, side="right")) - 1
        last = max(first + 1, last)
        yield first, last
        first = last


def _padded(scores: np.ndarray, first: int, last: int, size: int) -> np.ndarray:
    """The scores of some sentences among those of all, so that an error names the right one."""
    everywhere = np.zeros(size)
    everywhere[first:last] = scores
    return everywhere


# A sentence with the labels that a chain model finds, to look at.


def tagged_sentence(
    model: ChainModel, corpus: Corpus, words: Sequence[str] | None, nbest: int, confidence: bool,
    gold: Sequence[str] | None,
) -> TaggedSentence:  # fmt: skip
    """A corpus of one sentence with its n best label sequences; the options are those of `Tagger.show`."""
    (candidates,) = nbest_lists(model, corpus, nbest)
    readings = [SentenceLabels(one.output, one.score, one.probability) for one in candidates]
    if confidence:
        numbers = {label: k for k, label in enumerate(model.labels)}
        for k, one in enumerate(candidates):
            found = confidence_of(model, corpus, np.array([numbers[tag] for tag in one.output], np.int32))
            spans = None if found.spans is None else found.spans.posterior.tolist()
            readings[k] = replace(readings[k], confidence=found.tokens.tolist(), span_confidence=spans)
    plain = corpus.columns[0].cells() if corpus.columns else [str(i) for i in range(1, corpus.n_tokens + 1)]
    called = dict(zip(model.classes, model.labels, strict=True))
    right = None if gold is None else SentenceLabels([called.get(label, str(label)) for label in gold])
    written = plain if words is None else list(words)
    calibrated = are_probabilities(model) if confidence else None
    return TaggedSentence(written, readings, right, model.labels, unseen_scheme(model.scheme), calibrated)
