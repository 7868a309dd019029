"""Posteriors as confidences, and when they are probabilities.

A posterior is exp(score / temperature), summed over some paths and divided by the sum over all of them. For a model
that was learnt by likelihood it is the probability that the model gives. For any other model the scale of its scores
means nothing until a temperature has been fitted on labelled data (`palmette calibrate`): before that it is a
confidence, not a probability.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.labelling import (
    NOT_CALIBRATED,
    Confidence,
    ConfidenceOutput,
    SpanPosteriors,
    confidence_records,
)
from palmette.data.labels.mask import LabelMask, check_feasible, training_mask
from palmette.data.labels.schemes import are_chunk_labels, unseen_scheme
from palmette.errors import UsageError, either
from palmette.evaluation.spans import ChunkTables, lenient_chunks
from palmette.kernels.chain.posteriors import Marks, Places, Posteriors
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.python_data import items_of, mask_of

if TYPE_CHECKING:
    from palmette.data.items import Items

logger = logging.getLogger(__name__)


def are_probabilities(model: ChainModel, bias: dict[str, float] | None = None) -> bool:
    """Whether the model's posteriors (with its own bias or another) are probabilities."""
    bias = model.bias if bias is None else bias
    fitted = model.meta.get("calibration")
    if fitted is not None:
        return _real(bias) == _real(fitted.get("bias", {}))
    return model.settings.chosen_learner.probabilistic and not _real(bias)


def _real(bias: dict[str, float]) -> dict[str, float]:
    return {label: value for label, value in bias.items() if value}


def named(model: ChainModel, bias: dict[str, float] | None = None) -> str:
    """The name of its posteriors for reports."""
    return "probability" if are_probabilities(model, bias) else NOT_CALIBRATED


def check_probabilities(model: ChainModel, what: str) -> None:
    """Raise UsageError unless the model has probabilities; `what` is the request that needs them."""
    if not are_probabilities(model):
        raise UsageError(
            f"{what}: the scores of this model are not calibrated, so there are no probabilities; calibrate it on "
            f"labelled data that it was not trained on ({either('calibrate(X, y)', '`palmette calibrate`')}), or ask "
            f"for {either('predict_marginals or predict_confidence', 'confidences')}, which make no such promise"
        )


def marks_of(labels: list[str], scheme: str | None = None) -> tuple[Marks, list[str]]:
    """Which pairs of labels begin, continue and end spans by conlleval's rules, and the types; no types if the labels
    are no chunk labels. `scheme`: that of bare ones."""
    Y = len(labels)
    if not are_chunk_labels(labels, scheme):
        none = np.zeros((Y, Y), np.bool_)
        return Marks(none, none, none, np.full(Y, -1, np.int64)), []
    tables = ChunkTables.of(labels, scheme)
    inside = tables.starts[Y, :Y]  # at the start of a sentence every label but O begins a span
    enter, leave = (np.ascontiguousarray(table[:Y, :Y]) for table in (tables.starts, tables.ends))
    kind = np.where(inside, tables.type_of[:Y], -1)
    return Marks(enter, inside[None, :] & ~enter, leave, kind), tables.types


def places_of(labels: np.ndarray, offset: np.ndarray, names: list[str], scheme: str | None = None) -> Places:
    """The spans of label sequences i32[N]; none if the labels are no chunk labels."""
    if not names or not are_chunk_labels(names, scheme):
        none = np.zeros(0, np.int64)
        return Places(none, none, none, none)
    found = lenient_chunks(labels, offset, ChunkTables.of(names, scheme))
    # Chunks count positions in all labels with a mark before, between and after the sentences.
    sentence = np.searchsorted(offset + np.arange(offset.size), found.start, side="right") - 1
    start = sentence + offset[sentence]
    return Places(sentence, found.start - start, found.end - start, found.type.astype(np.int64))


def confidence_of(
    model: ChainModel, corpus: Corpus, labels: np.ndarray, bias: dict[str, float] | None = None,
    known: LabelMask | None = None, *, marginals: bool = False, whole: bool = True,
) -> Confidence:  # fmt: skip
    """Posteriors of these labels i32[N] among what is known; see Confidence. `whole`: of spans and of sentences too."""
    N, S, Y = corpus.n_tokens, corpus.n_sentences, len(model.labels)
    scheme = unseen_scheme(model.scheme)
    places = places_of(labels, corpus.offset, model.labels if whole else [], scheme)
    marks, types = marks_of(model.labels, scheme)
    out = Posteriors(np.zeros(N), np.zeros((N if marginals else 0, Y)), np.zeros(places.sentence.size), np.zeros(S))
    alone = np.zeros(S)
    if N:
        check_memory(corpus.offset, model.shape, model.encoder)
        scoring, data = model.scoring(bias), model.encode(corpus, known)
        labels = np.ascontiguousarray(labels, np.int32)
        scoring.posteriors(data, labels, places, marks, out, known is not None)
        check_feasible(out.log_z, corpus)
        if whole:
            alone = scoring.log_partitions(data._replace(known=labels), True)
    found = None
    if whole and types:
        kinds = [types[k] for k in places.kind.tolist()]
        found = SpanPosteriors(places.sentence, places.first, places.end, kinds, out.spans)
    of_sentences = np.exp(np.minimum(alone - out.log_z, 0.0)) if whole else np.zeros(0)
    every = out.labels if marginals else None
    return Confidence(out.tokens, of_sentences, found, every, are_probabilities(model, bias))


def log_posterior(model: ChainModel, corpus: Corpus, wanted: LabelMask) -> np.ndarray:
    """Log posterior of the label sequences that `wanted` allows, f64[S]; -inf if there is none."""
    every, part = np.zeros(corpus.n_sentences), np.zeros(corpus.n_sentences)
    if corpus.n_tokens:
        check_memory(corpus.offset, model.shape, model.encoder)
        scoring, data = model.scoring(), model.encode(corpus, wanted)
        every = scoring.log_partitions(data, False)
        check_feasible(every, corpus)
        part = scoring.log_partitions(data, True)
    return np.minimum(part - every, 0.0)


# Sentences of Python.
#
# A confidence is the share of exp(score / temperature) that some label sequences have among all of them (or among those
# that `allowed` leaves); it is called a probability only where the learner makes it one, or calibration has.


told: set[str] = set()  # the warnings of this process


def warn_if_uncalibrated(model: ChainModel, method: str) -> None:
    """Log, once per process, that the confidences of a model are not probabilities: searches train many models."""
    if not are_probabilities(model) and "uncalibrated" not in told:
        told.add("uncalibrated")
        logger.warning(
            "%s: the confidences of this model are not calibrated; calibrate(X, y), or training with development "
            "data, makes them probabilities", method,
        )  # fmt: skip


def marginals_by_label(model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None) -> list[list[dict]]:
    """For each token the confidence of every label."""
    items, found = _marginals(model, X, allowed)
    labels = model.classes
    rows = [dict(zip(labels, row, strict=True)) for row in found.tolist()]
    return items.with_empty([rows[a:b] for a, b in pairwise(items.corpus.offset.tolist())], list)


def probabilities(model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None, method: str) -> list[np.ndarray]:
    """For each sentence the probabilities of labels f64[n, Y]; an error that names the method if they are none."""
    check_probabilities(model, method)
    items, found = _marginals(model, X, allowed)
    Y = found.shape[1]
    parts = [found[a:b] for a, b in pairwise(items.corpus.offset.tolist())]
    return items.with_empty(parts, lambda: np.zeros((0, Y)))


def _marginals(model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None) -> tuple[Items, np.ndarray]:
    items = items_of(model, X)
    known = mask_of(model, allowed, items)
    nothing = np.zeros(items.corpus.n_tokens, np.int32)
    found = confidence_of(model, items.corpus, nothing, known=known, marginals=True, whole=False)
    assert found.marginals is not None
    return items, found.marginals


def labels_with_confidence(
    model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None, decode: str
) -> list[dict[str, Any]]:
    """Labels and how sure they are, for each sentence."""
    items = items_of(model, X)
    known = mask_of(model, allowed, items)
    labels = model.decode(items.corpus, decode, known=known).labels
    found = confidence_of(model, items.corpus, labels, known=known)
    told = confidence_records(items.corpus.offset, found, model.labels, ConfidenceOutput(confidence=True))
    cuts = pairwise(items.corpus.offset.tolist())
    classes = model.classes
    names = [classes[k] for k in labels.tolist()]
    rows = [{"tags": names[a:b], **note} for (a, b), note in zip(cuts, told, strict=True)]
    empty: dict[str, Any] = {"tags": [], "confidence": 1.0, "token_confidence": [], "calibrated": found.calibrated}
    return items.with_empty(rows, lambda: empty | ({} if found.spans is None else {"span_confidence": []}))


def log_confidences(model: ChainModel, items: Items) -> list[float]:
    """log of the confidence of whole label sequences; those of a latent model sum over their states."""
    if not items.corpus.n_tokens:
        return [0.0] * items.size
    found = log_posterior(model, items.corpus, training_mask(items.corpus, model.labels))
    return items.with_empty(found.tolist(), float)
