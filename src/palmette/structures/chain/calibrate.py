"""A model's temperature fitted on labelled data, and how reliable its confidences are there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.labelling import Confidence
from palmette.data.labels.mask import LabelMask, known_gold, label_names, mark_partial_labels, training_mask
from palmette.data.labels.schemes import unseen_scheme
from palmette.data.subset import take
from palmette.errors import DataError, UsageError, either
from palmette.evaluation.calibration import BINS, Reliability, reliability, sentence_hits, span_hits
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.posteriors import confidence_of
from palmette.structures.chain.temperature import COLDEST, HOTTEST, PRECISION, Calibration, gold_likelihood, lowest

logger = logging.getLogger(__name__)
Watch = Callable[[float, float], None]  # temperature, negative log-likelihood a token
MOST_SENTENCES = 500  # of development data that a temperature is fitted on: one number needs no more
ROUGH = 0.01  # precision of its logarithm at the end of a training
NOTHING = 1e-7  # of negative log-likelihood a token: below, gold is all there is


class Reliabilities(NamedTuple):
    """Of tokens, of spans (None: labels are none of spans) and of whole sentences."""

    tokens: Reliability
    spans: Reliability | None
    sentences: Reliability


def reliabilities(
    found: Confidence, gold: np.ndarray, guess: np.ndarray, offset: np.ndarray, labels: list[str],
    known: np.ndarray | None, n_bins: int = BINS, scheme: str | None = None,
) -> Reliabilities:  # fmt: skip
    """How reliable the confidences of guessed labels are, where gold is known. `scheme`: of bare labels."""
    certain = np.ones(gold.size, np.bool_) if known is None else known
    tokens = reliability(found.tokens[certain], (gold == guess)[certain], n_bins)
    hits = span_hits(gold, guess, offset, labels, known, scheme)
    spans = None
    if hits is not None and found.spans is not None:
        spans = reliability(found.spans.posterior[hits[0]], hits[1], n_bins)
    counted, right = sentence_hits(gold, guess, offset, known)
    return Reliabilities(tokens, spans, reliability(found.sentences[counted], right, n_bins))


def reliability_on(
    model: ChainModel, corpus: Corpus, guess: np.ndarray | None = None, bias: dict[str, float] | None = None
) -> Reliabilities:
    """Reliability of confidences on a labelled corpus, for the labels of the best paths or others i32[N]."""
    guess = model.tag(corpus, bias)[0] if guess is None else guess
    labels = model.labels + [label for label in label_names(corpus) if label not in set(model.labels)]
    gold, known = known_gold(corpus, labels)
    found, scheme = confidence_of(model, corpus, guess, bias), unseen_scheme(model.scheme)
    return reliabilities(found, gold, guess, corpus.offset, labels, known, scheme=scheme)


def _possible(model: ChainModel, corpus: Corpus) -> Corpus:
    """The sentences whose labels the model has and allows: the others have no likelihood at any temperature."""
    assert corpus.labels is not None
    sets, known = corpus.label_sets or {}, set(model.labels)
    there = np.array([sets.get(cell, frozenset((cell,))) <= known for cell in corpus.labels.types], np.bool_)
    strange = np.add.reduceat(~there[corpus.labels.ids], corpus.offset[:-1]) > 0
    small = corpus if not strange.any() else take(corpus, np.flatnonzero(~strange))
    if not small.n_tokens:
        return small
    check_memory(small.offset, model.shape, model.encoder)
    data = model.encode(small, _gold(model, small))
    never = np.isneginf(gold_likelihood(model.scoring(temperature=1.0), data))
    return take(small, np.flatnonzero(~never)) if never.any() else small


def _gold(model: ChainModel, corpus: Corpus) -> LabelMask:
    return training_mask(corpus, model.labels)


def fit_temperature(
    model: ChainModel, corpus: Corpus, watch: Watch | None = None, precision: float = PRECISION
) -> tuple[ChainModel, Calibration]:
    """The model with the temperature that makes the gold label sequences of a corpus most probable, and what was found.
    Sentences whose gold the model cannot make are left out. precision: of the logarithm of the temperature."""
    used = _possible(model, corpus)
    if not used.n_tokens:
        raise DataError(
            "no sentence has labels that the model could give", file=corpus.source,
            hint=f"is it data for another task? {either('labels_', '`palmette inspect`')} lists the model's labels",
        )  # fmt: skip
    data = model.encode(used, _gold(model, used))

    def loss(temperature: float) -> float:
        value = -float(gold_likelihood(model.scoring(temperature=temperature), data).sum()) / used.n_tokens
        if watch is not None:
            watch(temperature, value)
        return value

    temperature = lowest(loss, precision=precision)
    after = loss(temperature)
    if after < NOTHING or temperature in (COLDEST, HOTTEST):
        raise DataError(
            "the labels are all right, or all the same to the model: no temperature is better than a more extreme one",
            file=corpus.source,
            hint="calibrate on more sentences, and on others than the model was trained on",
        )
    fitted = Calibration(
        temperature=temperature, bias=model.bias, data=str(corpus.source), sentences=used.n_sentences,
        tokens=used.n_tokens,
    )  # fmt: skip
    calibrated = model.changed(meta=model.meta | {"calibration": msgspec.to_builtins(fitted)})
    figures = [_figures(which, used, value) for which, value in ((model, loss(model.temperature)), (calibrated, after))]
    fitted = msgspec.structs.replace(fitted, before=figures[0], after=figures[1])
    calibrated.meta["calibration"] = msgspec.to_builtins(fitted)
    return calibrated, fitted


def _figures(model: ChainModel, corpus: Corpus, value: float) -> dict[str, float]:
    """Negative log-likelihood a token, and the calibration errors."""
    found = reliability_on(model, corpus)
    tables = {name: table for name, table in found._asdict().items() if table is not None}
    return {"nll": value} | {f"ece_{name}": table.ece for name, table in tables.items()}


def calibrated_on(
    model: ChainModel, corpus: Corpus, watch: Watch | None = None, *, partial: bool | None = None
) -> tuple[ChainModel, Calibration]:
    """The model with a temperature fitted on a labelled corpus, and what was found; `watch` is called with each
    temperature that is tried and its loss. `partial`: whether labels may be partly known; None: as in training."""
    if corpus.labels is None or not corpus.n_tokens:
        raise DataError("no labelled sentence to calibrate on", file=corpus.source)
    mark_partial_labels(corpus, model.settings.partial if partial is None else partial, model.labels)
    return fit_temperature(model, corpus, watch)


def calibrated_on_dev(model: ChainModel, dev: Corpus | None) -> Calibration | None:
    """The temperature of a model whose weights were not learnt from the development data. None without such data, or
    where no temperature can be fitted."""
    if dev is None or model.reads_earlier_labels:
        return None
    mark_partial_labels(dev, model.settings.partial, model.labels)
    if dev.n_sentences > MOST_SENTENCES:
        drawn = np.random.default_rng(model.settings.seed).permutation(dev.n_sentences)[:MOST_SENTENCES]
        dev = take(dev, np.sort(drawn))
    try:
        _, found = fit_temperature(model, dev, precision=ROUGH)
    except (DataError, UsageError) as error:
        logger.info("the confidences of the model are not calibrated: %s", error)
        return None
    return found
