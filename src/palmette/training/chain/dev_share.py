"""Sentences that are held out of the training data: a share that was asked for, or what the rule says.

A share that was asked for is development data. By the rule, sentences are held out to choose the number of passes; then
a model is trained on all sentences in as many passes, which is better than the model without them. Its temperature is
that of the model without them: weights that have learnt from a sentence are too sure of it.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import partial_looks
from palmette.data.subset import held_out
from palmette.errors import counted
from palmette.options.chain import ChainSettings, SeveralStates, TaggerOptions
from palmette.options.learners import Auto, n_held_out
from palmette.options.spelling import spelt
from palmette.structures.chain.model import ChainModel
from palmette.training.chain.fit import fit_chain
from palmette.training.chain.request import TrainRequest
from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)


def n_to_hold_out(corpus: Corpus, settings: ChainSettings) -> int:
    """How many sentences of a new training the rule holds out: none if the user has chosen a learner, wants more of
    development data than a number of passes, or has labels that are partly known."""
    assert corpus.labels is not None
    other = settings.patience is not None or settings.tune_bias or isinstance(settings.states, SeveralStates)
    partial = bool(corpus.label_sets) or bool(partial_looks(corpus.labels.types))
    return 0 if other or partial or not isinstance(settings.learner, Auto) else n_held_out(corpus.n_sentences)


def fit_after_holding_out(corpus: Corpus, n: int, request: TrainRequest) -> tuple[ChainModel, TrainResult]:
    """Choose the number of passes on n sentences that are held out, then train on all sentences."""
    rest, dev = held_out(corpus, n, request.settings.seed)
    logger.info(
        "no development data was given: %s held out to choose the number of passes (%s: none)",
        counted(dev.n_sentences, "sentence is", "sentences are"),
        spelt(TaggerOptions, "dev_share", 0),
    )
    model, outcome = fit_chain(rest, dev, request)
    if "calibration" in model.meta:
        model.meta["calibration"]["data"] = f"sentences held out of {corpus.source}"
    if outcome.interrupted or outcome.kept is None or outcome.kept.dev is None:
        return model, outcome
    passes = counted(outcome.best_epoch, "pass", "passes")
    logger.info("%.2f on them after %s; now all sentences, in as many", 100 * outcome.kept.dev, passes)
    settings = model.settings.replace(passes=outcome.best_epoch)
    whole, outcome = fit_chain(corpus, None, replace(request, settings=settings))
    whole.meta |= {name: model.meta[name] for name in ("temperature", "calibration") if name in model.meta}
    return whole, outcome
