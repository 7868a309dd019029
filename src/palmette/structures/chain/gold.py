"""A labelled corpus beside what a chain model finds: gold and guess as numbers, and the scores of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import known_gold, label_names, mark_partial_labels
from palmette.data.labels.schemes import are_chunk_labels, unseen_scheme
from palmette.errors import DataError, UsageError
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.data.items import Items
    from palmette.evaluation.scores import LabelScores


def gold_and_guess(
    model: ChainModel,
    corpus: Corpus,
    bias: dict[str, float] | None = None,
    partial: bool | None = None,
    decode: str = "viterbi",
    guess: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Gold and guess as numbers i32[N], and the labels that they number (the model's first). Where gold is not fully
    known (see `certain`), its number means nothing. `guess`: the labels i32[N] if they were found before."""
    if corpus.labels is None or corpus.n_tokens == 0:
        raise DataError("no labelled sentence to score", file=corpus.source)
    mark_partial_labels(corpus, model.settings.partial if partial is None else partial, model.labels)
    guess = model.decode(corpus, decode, bias).labels if guess is None else guess
    labels = model.labels + [label for label in label_names(corpus) if label not in set(model.labels)]
    gold, sure = known_gold(corpus, labels)
    if sure is not None and not sure.any():
        raise DataError("no label is fully known: there is nothing to score", file=corpus.source)
    return gold, guess, labels


def certain(corpus: Corpus) -> np.ndarray | None:
    """Which tokens' gold labels are fully known, bool[N]; None: all of them."""
    return known_gold(corpus, label_names(corpus))[1]


def unseen(model: ChainModel, corpus: Corpus) -> np.ndarray | None:
    """Which tokens' words (column 0) were not in the training data, bool[N]; None if it is unknown."""
    if not corpus.columns or not model.vocabulary.size:
        return None
    words = corpus.columns[0].in_form(model.settings.unicode)
    return ~model.knows(words.hash)[words.ids]


def evaluated(model: ChainModel, corpus: Corpus, bias: dict[str, float] | None = None) -> LabelScores:
    """All scores on a labelled corpus."""
    from palmette.evaluation.scores import score

    gold, guess, labels = gold_and_guess(model, corpus, bias)
    scheme = unseen_scheme(model.scheme)
    return score(gold, guess, corpus.offset, labels, unseen(model, corpus), scheme, known=certain(corpus))


def main_score(
    model: ChainModel, items: Items, metric: str = "auto", sample_weight: Sequence[float] | None = None
) -> float:
    """F1 of spans (metric f1, or auto if the labels are spans) or the share of tokens that are right (accuracy), with
    sentences weighed by `sample_weight`."""
    from palmette.evaluation.significance import span_tally, token_tally
    from palmette.evaluation.spans import ChunkTables
    from palmette.evaluation.tokens import sentence_sums

    corpus = items.corpus
    weight = np.ones(corpus.n_sentences) if sample_weight is None else items.weights(sample_weight).astype(np.float64)
    gold, guess, labels = gold_and_guess(model, corpus)
    scheme, known = unseen_scheme(model.scheme), certain(corpus)
    spans = scheme is not None or are_chunk_labels(labels)
    if metric == "f1" and not spans:
        raise UsageError("the metric f1 scores spans, and the labels are not spans (B-X, I-X, O): choose accuracy")
    if known is not None and metric == "auto":  # spans are scored in sentences that are known throughout
        spans = spans and bool((sentence_sums(known, corpus.offset) == np.diff(corpus.offset)).any())
    if spans and metric != "accuracy":
        tally = span_tally(gold, guess, corpus.offset, ChunkTables.of(labels, scheme), known)
    else:
        tally = token_tally(gold, guess, corpus.offset, known)
    if not float(weight @ token_tally(gold, guess, corpus.offset, known).bottom) > 0:
        raise DataError("the sample weights of all scored tokens are 0")
    whole = float(weight @ tally.bottom)
    return float(weight @ tally.top) / whole if whole else 0.0
