"""The road of a training, at every scale: survey, settle, encode, train, finish.

    survey    what is known of the data: labels, words, counts        scale.py, disk.py, shards.py
    settle    labels, tag scheme, learner, constraints, shape         settle.py
    encode    the data as numbers                                     scale.py, disk.py, shards.py
    train     passes, or iterations of L-BFGS                         train.py, batch.py
    finish    checks, names, metadata, calibration                    finish.py

Sentences may be held out of the data first. A share that was asked for is development data. By the rule, sentences are
held out to choose the number of passes; then a model is trained on all sentences in as many passes, which is better
than the model without them. Its temperature is that of the model without them: weights that have learnt from a sentence
are too sure of it.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import partial_looks
from palmette.data.subset import held_out, split
from palmette.errors import UsageError, counted
from palmette.kernels.core.compile import check_compiled
from palmette.lazy import loaded
from palmette.options.chain import ChainSettings, SeveralStates, TaggerOptions
from palmette.options.declare import OptionError
from palmette.options.learners import Auto, HiddenMarkov, n_held_out
from palmette.options.spelling import spelt
from palmette.structures.chain.model import ChainModel
from palmette.training.chain.dev import check_labelled
from palmette.training.chain.finish import finish
from palmette.training.chain.request import Fitted, TrainingData, TrainRequest
from palmette.training.chain.scale import Memory, Scale
from palmette.training.chain.settle import asked, refuse, settle
from palmette.training.chain.templates import chosen
from palmette.training.chain.train import train
from palmette.training.lines import report_end
from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)
MEMORY = Memory()


def fit(source: Any, dev: Corpus | None, request: TrainRequest, scale: Scale = MEMORY) -> Fitted:
    """Train a chain on labelled data: a corpus, or what the scale reads."""
    check_compiled("training")
    _check(request, dev is not None, scale)
    n = 0
    if dev is None and isinstance(source, Corpus):
        check_labelled(source, "training")
        if request.dev_share:
            source, dev = split(source, request.dev_share, request.settings.seed)
        elif request.dev_share is None and request.resume is None and not request.checkpoint:
            n = n_to_hold_out(source, request.settings)
    if isinstance(request.settings.learner, HiddenMarkov):
        model, outcome = loaded("lab.hmm.learner:fit_hmm")(source, dev, request)
    elif n:
        model, outcome = _fit_after_holding_out(source, n, chosen(request, source))
    else:
        model, outcome = _fit(source, dev, request, scale)
    report_end(outcome, request.verbose)
    if request.compact is None:
        return Fitted(model, outcome)
    from palmette.structures.chain.compact import compact_on

    small, report = compact_on(model, dev, request.compact)
    return Fitted(small, outcome, report)


def _check(request: TrainRequest, has_dev: bool, scale: Scale) -> None:
    """An error for what is not possible, before any data is read."""
    old = request.resume
    if old is not None and old.packed is not None:
        raise UsageError("a compact model cannot be trained further: use the full model")
    if old is not None and old.exact is not None:
        raise UsageError("a model of another tool cannot be trained further: train a new one on its data")
    if has_dev and request.dev_share:
        raise OptionError("dev_share", "development data is given: leave it out")
    refuse(asked(request, has_dev), scale.refuses)


def _fit(source: Any, dev: Corpus | None, request: TrainRequest, scale: Scale) -> tuple[ChainModel, TrainResult]:
    survey = scale.survey(source, request)
    problem = scale.encode(survey, settle(survey, scale.refuses), dev)
    trained = train(problem, scale)
    if not request.checkpoint:
        trained = trained._replace(state=dict)  # the sums of the weights are no longer needed
    return finish(problem, trained), trained.outcome


def prepared(corpus: Corpus, request: TrainRequest) -> TrainingData:
    """A corpus as numbers, before its training."""
    survey = MEMORY.survey(corpus, request)
    return MEMORY.encode(survey, settle(survey, MEMORY.refuses), None)


def n_to_hold_out(corpus: Corpus, settings: ChainSettings) -> int:
    """How many sentences of a new training the rule holds out: none if the user has chosen a learner, wants more of
    development data than a number of passes, or has labels that are partly known."""
    assert corpus.labels is not None
    other = settings.patience is not None or settings.tune_bias or isinstance(settings.states, SeveralStates)
    partial = bool(corpus.label_sets) or bool(partial_looks(corpus.labels.types))
    return 0 if other or partial or not isinstance(settings.learner, Auto) else n_held_out(corpus.n_sentences)


def _fit_after_holding_out(corpus: Corpus, n: int, request: TrainRequest) -> tuple[ChainModel, TrainResult]:
    """Choose the number of passes on n sentences that are held out, then train on all sentences."""
    rest, dev = held_out(corpus, n, request.settings.seed)
    logger.info(
        "no development data was given: %s held out to choose the number of passes (%s: none)",
        counted(dev.n_sentences, "sentence is", "sentences are"),
        spelt(TaggerOptions, "dev_share", 0),
    )
    dev.source = f"sentences held out of {corpus.source}"
    model, outcome = _fit(rest, dev, request, MEMORY)
    if outcome.interrupted or outcome.kept is None or outcome.kept.dev is None:
        return model, outcome
    passes = counted(outcome.best_epoch, "pass", "passes")
    logger.info("%.2f on them after %s; now all sentences, in as many", 100 * outcome.kept.dev, passes)
    settings = model.settings.replace(passes=outcome.best_epoch)
    return _fit(corpus, None, replace(request, settings=settings, measured=model.meta), MEMORY)
