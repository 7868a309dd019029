"""Development data: encoded once, tagged and scored after every epoch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import known_gold, label_names, mark_partial_labels
from palmette.data.labels.schemes import are_chunk_labels, unseen_scheme
from palmette.data.stream import map_in_order
from palmette.errors import DataError, UsageError
from palmette.evaluation.scores import LabelScores, score
from palmette.features.encode import Encoder
from palmette.kernels.chain.forms import Active, Data
from palmette.kernels.core.hashing import FeatureIndex
from palmette.options.chain import ChainOptions, ChainSettings, development_data
from palmette.options.spelling import named, spelt
from palmette.structures.chain.beam import beam_labels
from palmette.structures.chain.constraints import repair_dev
from palmette.structures.chain.data import Collected, allow_table, encode_contexts, encode_corpus
from palmette.structures.chain.model import best_labels, check_columns
from palmette.structures.chain.search import BeamSearch

logger = logging.getLogger(__name__)
MANY = 0.02  # share of tokens with labels that only development data has, from which that is warned of
SAME_COLUMNS = "it needs the columns of the data that training began with"


@dataclass
class Dev:
    """Development data, encoded with the attributes of the training data."""

    data: Data
    gold: np.ndarray  # i32[N] into `labels`
    labels: list[str]  # those of the model, then those that only dev has
    metric: str  # f1 or accuracy
    sure: np.ndarray | None = None  # bool[N]: where gold is fully known; None: everywhere
    scheme: str | None = None  # of bare labels, which do not show it
    error: float = 1.0  # share of wrong tokens at the last call of `figure`
    threads: int = 1

    def scores(self, weights: Any) -> LabelScores:
        """LabelScores of a Chain."""
        guess = np.concatenate(self._on_threads(lambda data: best_labels(weights, data, restricted=False)[0]))
        return score(self.gold, guess, self.data.offset, self.labels, scheme=self.scheme, known=self.sure)

    def _on_threads(self, decode: Callable[[Data], np.ndarray]) -> list[np.ndarray]:
        """Decode parts of the data on threads, in order."""
        return list(map_in_order(decode, parts_of(self.data, self.threads), self.threads))

    def figure(self, weights: Any) -> float:
        found = self.scores(weights)
        self.error = 1.0 - found.accuracy
        return float(found.f1 if self.metric == "f1" and found.f1 is not None else found.accuracy)


@dataclass
class BeamDev(Dev):
    """Development data that is searched with the beam of the training."""

    seen: Active | None = None  # attributes of templates that read earlier labels
    beam: BeamSearch | None = None

    def scores(self, weights: Any) -> LabelScores:
        """LabelScores of `BeamWeights`."""
        assert self.seen is not None
        assert self.beam is not None
        guess, _ = beam_labels(weights, self.data, self.seen, self.beam, restricted=False)
        return score(self.gold, guess, self.data.offset, self.labels, scheme=self.scheme, known=self.sure)


def parts_of(data: Data, threads: int) -> list[Data]:
    """The sentences in several parts of about the same number of tokens for each thread; all of them for one thread."""
    offset, features = data.offset, data.features
    n = min(4 * threads if threads > 1 else 1, max(1, offset.size - 1))
    cuts = np.unique(np.searchsorted(offset, np.linspace(0, offset[-1], n + 1)))
    found = []
    for a, b in pairwise(cuts.tolist()):
        lo, hi = int(offset[a]), int(offset[b])
        one, two, three = (x._replace(ptr=x.ptr[lo : hi + 1]) if x.ptr.size else x for x in features)
        found.append(
            Data(offset[a : b + 1] - lo, data.known[lo:hi], data.allow, data.weight[a:b], (one, two, three))
        )  # fmt: skip
    return found or [data]


def check_labelled(corpus: Corpus, what: str) -> None:
    """DataError if the corpus has no sentences or no labels."""
    if corpus.n_tokens == 0:
        raise DataError(f"the {what} data has no sentences", file=corpus.source)
    if corpus.labels is None:
        raise DataError(f"the {what} data has no labels", file=corpus.source)


def held_out(
    dev: Corpus | None, encoder: Encoder | None, feature_indexes: Mapping[int, FeatureIndex], labels: list[str],
    settings: ChainSettings, scheme: str | None, threads: int = 1,
) -> Dev | None:  # fmt: skip
    """Development data for a model with these attributes, labels and tag scheme."""
    if dev is None:
        if settings.patience is not None or settings.tune_bias:
            both = f"{named(ChainOptions, 'patience')} and {named(ChainOptions, 'tune_bias')}"
            raise UsageError(f"{both} need development data: {development_data()}")
        return None
    check_labelled(dev, "development")
    check_columns(dev, encoder, SAME_COLUMNS)
    mark_partial_labels(dev, settings.partial, labels)
    if settings.constraints != "none":
        dev = repair_dev(dev, scheme)
    names = labels + [label for label in label_names(dev) if label not in set(labels)]
    if len(names) > len(labels):
        _report_new(dev, names[len(labels) :])
    gold, sure = known_gold(dev, names)
    if sure is not None and not sure.any():
        raise DataError("no label of the development data is fully known", file=dev.source)
    free = np.full(dev.n_tokens, len(labels), np.int32)
    data = encode_corpus(dev, encoder, feature_indexes, free, allow_table(len(labels)))
    bare = unseen_scheme(scheme)
    metric, spans = settings.metric, are_chunk_labels(names, bare)
    if metric == "f1" and not spans:
        raise UsageError(
            "the metric f1 scores spans, and the labels are not chunk labels (B-X, I-X, O): choose accuracy, or "
            f"{spelt(ChainOptions, 'constraints', 'bare')} if each run of equal labels is a span"
        )
    if metric == "auto":
        metric = "f1" if spans else "accuracy"
    return Dev(data, gold, names, metric, sure, bare, threads=threads)


def _report_new(dev: Corpus, new: list[str]) -> None:
    """Tell which labels only the development data has; many tokens with them are a sign of another label set."""
    assert dev.labels is not None
    counts = np.bincount(dev.labels.ids, minlength=len(dev.labels.types))
    share = sum(int(n) for label, n in zip(dev.labels.types, counts, strict=True) if label in set(new)) / dev.n_tokens
    told = f"{', '.join(new[:10])}{', ...' if len(new) > 10 else ''}"
    if share < MANY:
        logger.info("labels that only the development data has count as errors: %s", told)
        return
    logger.warning(
        "%.0f%% of the tokens of the development data have labels that the training data lacks, which count as errors: "
        "%s; do both files have the same label set, in the same column?",
        100 * share, told,
    )  # fmt: skip


def for_beam(dev: Dev | None, corpus: Corpus | None, beam: BeamSearch, collected: Collected) -> Dev | None:
    """Development data with the attributes of templates that read earlier labels."""
    if dev is None or corpus is None:
        return None
    seen = encode_contexts(corpus, collected.encoder, collected.feature_indexes)
    return BeamDev(dev.data, dev.gold, dev.labels, dev.metric, dev.sure, dev.scheme, seen=seen, beam=beam)
