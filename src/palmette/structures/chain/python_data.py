"""Sentences of Python through a chain model: reading them as it was trained, and the labels that it finds.

A short list goes by the model's session, whose arrays are kept from call to call; a long one by the general reader,
which numbers the cells of all sentences together. `predicted` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import LabelMask, mask_from_items
from palmette.data.labels.numbers import label_numbers
from palmette.errors import DataError, UsageError
from palmette.structures.chain.model import CAP, ChainModel, check_columns

if TYPE_CHECKING:
    from palmette.data.items import Items

FEW = 128  # sentences up to which a list is tagged one by one: by the session, which is faster on short lists


def mode_of(model: ChainModel) -> str:
    """Whether a list as a token means columns or attributes."""
    return "attributes" if model.encoder is None else "columns"


def items_of(model: ChainModel, X: Iterable[Any], y: Iterable[Any] | None = None) -> Items:
    """A corpus for the model, which looks ready-made attributes up."""
    try:
        items = _read(model, X, y)
        items = replace(items, corpus=model.completed(items.corpus))
        check_columns(items.corpus, model.encoder)
    except DataError:
        if y is None and _is_one_sentence(model, X):
            raise DataError("X looks like one sentence: give a list of sentences, as in predict([sentence])") from None
        raise
    return items


def _read(model: ChainModel, X: Iterable[Any], y: Iterable[Any] | None = None) -> Items:
    from palmette.data.items import corpus_from_items

    index = model.feature_indexes[1] if model.encoder is None else None
    return corpus_from_items(
        X, y, mode=mode_of(model), index=index, widths=model.meta.get("vectors"), numbers=model.label_numbers,
        columns=model.meta.get("columns"),
    )  # fmt: skip


def _is_one_sentence(model: ChainModel, X: Any) -> bool:
    """Whether what cannot be read as sentences is read as the tokens of one. A string with spaces is a text, and a list
    of one list is one sentence that lacks something."""
    if not isinstance(X, list | tuple) or not X or (len(X) == 1 and not isinstance(X[0], Mapping)):
        return False
    if any(isinstance(token, str) and len(token.split()) > 1 for token in X):
        return False
    try:
        check_columns(model.completed(_read(model, [X]).corpus), model.encoder)
    except DataError:
        return False
    return True


def corpus_of(model: ChainModel, X: Iterable[Any], y: Iterable[Any], labels: Any = None) -> Corpus:
    """A corpus with the names of its attributes, which models of other indexes read too."""
    from palmette.data.items import corpus_from_items

    if labels is not None and label_numbers(labels) != model.label_numbers:
        raise UsageError("labels: the model has other names; leave them out to train it further")
    return corpus_from_items(
        X, y, mode=mode_of(model), widths=model.meta.get("vectors"), numbers=model.label_numbers,
        columns=model.meta.get("columns"),
    ).corpus  # fmt: skip


def sentence_of(model: ChainModel, tokens: Any, without: str) -> Corpus:
    """A corpus of one sentence, which must have tokens."""
    corpus = model.completed(_read(model, [tokens]).corpus)
    if not corpus.n_tokens:
        raise DataError(f"a sentence without tokens has {without}")
    return corpus


def mask_of(model: ChainModel, allowed: Iterable[Any] | None, items: Items) -> LabelMask | None:
    """The labels that the user allows."""
    return None if allowed is None else mask_from_items(allowed, items.corpus, model.labels, model.label_numbers)


class Predicted(NamedTuple):
    """What a search finds, sentence by sentence."""

    labels: list[list[Any]]
    scores: list[float]  # of the best path
    proven: list[bool]  # whether no other label sequence has a larger share of all paths


def by_session(model: ChainModel, X: Iterable[Any]) -> Predicted | None:
    """The labels of a short list by the session of the model; None if it is long, or a sentence takes the general
    way."""
    if type(X) is not list or not 0 < len(X) <= FEW:
        return None
    quick = model.session().quick
    found = []
    for sentence in X:
        one = quick(sentence)
        if one is None:
            return None
        found.append(one)
    return Predicted([labels for labels, _ in found], [score for _, score in found], [True] * len(found))


def predicted(
    model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None = None, decode: str = "viterbi", cap: int = CAP
) -> Predicted:
    """The labels of each sentence; `decode` is one of DECODINGS."""
    if allowed is None and decode == "viterbi":
        few = by_session(model, X)
        if few is not None:
            return few
    items = items_of(model, X)
    found = model.decode(items.corpus, decode, known=mask_of(model, allowed, items), cap=cap)
    classes = model.classes
    labels = [classes[i] for i in found.labels.tolist()]
    cuts = items.corpus.offset.tolist()
    tagged = items.with_empty([labels[a:b] for a, b in pairwise(cuts)], list)
    proven = np.ones(items.corpus.n_sentences, np.bool_) if found.proven is None else found.proven
    scores = items.with_empty(found.scores.tolist(), float)
    return Predicted(tagged, scores, items.with_empty(proven.tolist(), lambda: True))
