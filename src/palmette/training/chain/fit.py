"""From a corpus to a trained chain model.

prepare     labels, constraints, attributes, shape of the weights              prepare.py
train       example by example (online.py) or full-batch (batch.py)
finish      check, tune the bias, drop attributes without weights, name them   here
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.errors import DataError, UsageError, counted
from palmette.kernels.core.compile import check_compiled
from palmette.options.chain import ChainOptions, Latent, TaggerOptions, development_data
from palmette.options.learners import TEMPERATURE, Auto, Mira
from palmette.options.spelling import named
from palmette.structures.chain.data import Collected
from palmette.structures.chain.label_context import drop_unmoved_contexts
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import forget_forbidden
from palmette.structures.stored_features import Names, some_names
from palmette.training.chain.batch import MakeObjective, train_by_likelihood, warn_if_cut_short
from palmette.training.chain.calibration import calibrate_on_dev
from palmette.training.chain.dev import Dev
from palmette.training.chain.online import dev_score, train_by_examples
from palmette.training.chain.overflow import check_moved, check_weights, cure
from palmette.training.chain.prepare import forbidden_pairs, prepare
from palmette.training.chain.request import TrainedChain, TrainingData, TrainRequest
from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)
Train = Callable[[TrainingData], TrainedChain]


def fit_chain(corpus: Corpus, dev: Corpus | None, request: TrainRequest) -> tuple[ChainModel, TrainResult]:
    """Train a chain on a labelled corpus."""
    check_compiled("training")
    problem, scheme = prepare(corpus, dev, request)
    model, outcome = finished(corpus, problem, scheme, trained_chain(problem))
    calibrate_on_dev(model, dev)
    return model, outcome


def trained_chain(problem: TrainingData, make: MakeObjective | None = None) -> TrainedChain:
    """Train a chain on encoded data. make: the objective of a full-batch optimiser, if another one."""
    latent = problem.settings.latent
    full = problem.settings.chosen_learner.full_batch
    train: Train = partial(train_by_likelihood, make=make) if full else train_by_examples
    if latent is None or latent.restarts == 1:
        return train(problem)
    return _best_of_restarts(problem, latent.restarts, train)


def finished(
    corpus: Corpus, problem: TrainingData, scheme: str | None, trained: TrainedChain,
    vocabulary: np.ndarray | None = None,
) -> tuple[ChainModel, TrainResult]:  # fmt: skip
    """The model of a training that is over. vocabulary: hashes of the words of the training data, if not all of it is
    in the corpus."""
    request = problem.request
    _report_infeasible(trained, problem, corpus)
    outcome, settings, old = trained.outcome, trained.settings, request.resume
    warn_if_cut_short(outcome, settings.chosen_learner)
    beam = settings.beam
    chain, contexts = (outcome.best, None) if beam is None else outcome.best
    check_weights(chain, contexts, problem.data, settings.chosen_learner, corpus)
    if not settings.chosen_learner.full_batch:
        check_moved(outcome, chain, problem.data)
    if problem.shape.history is not None:
        forget_forbidden(chain)
    collected = problem.collected
    if vocabulary is None:
        vocabulary = _vocabulary(corpus, settings.unicode, old)
    model = ChainModel(
        problem.labels, problem.shape, problem.allowed, scheme, collected.encoder, collected.feature_indexes, chain, {},
        vocabulary, dict(old.bias) if old else {}, label_contexts=contexts,
        beam=0 if beam is None else beam.width, settings=settings, recombine=beam is not None and bool(beam.recombine),
    )  # fmt: skip
    model.meta = {
        "forbidden": forbidden_pairs(request),
        "history": msgspec.to_builtins(outcome.training_log),
        "best_pass": outcome.best_epoch,
        "ended": outcome.ended,
    }
    if isinstance(request.settings.learner, Auto) and isinstance(settings.learner, Mira):
        model.meta["temperature"] = TEMPERATURE
    if request.checkpoint and outcome.interrupted:
        logger.info("no checkpoint is kept: training was interrupted in the middle of a pass")
    elif request.checkpoint:
        model.checkpoint = trained.state()
    if settings.tune_bias:
        model.bias = tuned_bias(model, problem.dev)
    if not model.checkpoint:
        _drop_unmoved(model, collected)
    model.names = attribute_names(collected, old) if request.names else {}
    return model, outcome


def _best_of_restarts(problem: TrainingData, restarts: int, train: Train) -> TrainedChain:
    """The best of several trainings with different seeds: by development data, else by the objective."""
    settings = problem.settings
    if problem.dev is None and not settings.chosen_learner.full_batch:
        what = f"{named(Latent, 'restarts')} selects the best training on development data"
        raise UsageError(f"{what}: give {development_data()}")
    best, best_figure = None, -float("inf")
    for number in range(restarts):
        own = problem._replace(settings=settings.replace(seed=settings.seed + number))
        trained = train(own)
        figure = _how_good(trained.outcome, problem.dev is not None)
        shown = f"dev {100 * figure:.2f}" if problem.dev is not None else f"objective {abs(figure):.6g}"
        logger.info("start %d of %d, seed %d: %s", number + 1, restarts, own.settings.seed, shown)
        if best is None or figure > best_figure:
            best, best_figure = trained, figure
        if trained.outcome.interrupted:
            break
    assert best is not None
    return best


def _how_good(outcome: TrainResult, has_dev: bool) -> float:
    """The score of a training; larger is better."""
    if has_dev:
        return dev_score(outcome)
    return -outcome.training_log[-1].figures["objective"] if outcome.training_log else -float("inf")


def _report_infeasible(trained: TrainedChain, problem: TrainingData, corpus: Corpus) -> None:
    """Report sentences without an allowed gold path: an error if all are, else a warning."""
    learner = trained.settings.chosen_learner
    if trained.infeasible >= problem.n_sentences:
        steps = learner.maximises_likelihood and not learner.full_batch
        raise DataError(
            "no training sentence has a label sequence that satisfies both its annotation and the transition "
            "constraints" + (", or the steps were so large that scores overflowed" if steps else ""),
            file=corpus.source,
            hint=(f"{cure(problem.data, learner)}, or " if steps else "") + f"see {_rules()}",
        )  # fmt: skip
    if trained.infeasible:
        logger.warning(
            "%s left out: no label sequence satisfies both the annotation and the transition constraints; see %s",
            counted(trained.infeasible, "training sentence is", "training sentences are"),
            _rules(),
        )


def _drop_unmoved(model: ChainModel, collected: Collected) -> None:
    """Drop attributes without weights."""
    model.chain = collected.drop_unmoved(model.chain)
    if model.label_contexts is not None:
        model.label_contexts = drop_unmoved_contexts(collected, model.label_contexts)
    model.feature_indexes = collected.feature_indexes


def attribute_names(collected: Collected, old: ChainModel | None) -> dict[int, Names]:
    """The attributes' strings: those of the old model, then the new ones."""
    found = {
        arity: united_names(collected, arity, None if old is None else old.names.get(arity))
        for arity in collected.feature_indexes
    }
    return {arity: names for arity, names in found.items() if names is not None}


def united_names(collected: Collected, arity: int, before: Names | None) -> Names | None:
    """The strings of the attributes of one arity: those before, then the new ones. None if old attributes have no
    names: naming only new ones would mislead."""
    data, offset = collected.names(arity)
    if np.any(collected.first[arity] < 0):
        if before is None:
            return None
        if arity in collected.moved:
            before = some_names(before, collected.moved[arity][: len(before)])
        data = np.concatenate((before.data, data))
        offset = np.concatenate((before.offset, before.offset[-1] + offset[1:]))
    return Names(data, offset)


def _vocabulary(corpus: Corpus, unicode: str, old: ChainModel | None) -> np.ndarray:
    """Hashes of the words of the training data, to distinguish unseen words."""
    words = corpus.columns[0].in_form(unicode).hash if corpus.columns else np.zeros(0, np.uint64)
    return np.union1d(words, old.vocabulary) if old is not None else np.sort(words)


def _rules() -> str:
    """What forbids label sequences."""
    return f"{named(TaggerOptions, 'constraints')} and {named(TaggerOptions, 'forbidden')}"


def tuned_bias(model: ChainModel, dev: Dev | None) -> dict[str, float]:
    """The bias of the label O with the best F1 on development data, by grid search."""
    assert dev is not None
    if "O" not in model.labels:
        tune = named(ChainOptions, "tune_bias")
        raise UsageError(f"{tune} trades precision for recall of spans, and there is no label O")
    weights = model.chain.weights[0].w
    some = np.abs(weights[(weights != 0) & np.isfinite(weights)])
    scale = float(some.mean()) if some.size else 1.0
    figures = {0.0: dev.figure(model.with_bias({}))}
    for step in (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0):
        for value in (-step * scale, step * scale):
            figures[value] = dev.figure(model.with_bias({"O": value}))
    best = max(figures, key=lambda value: (figures[value], -abs(value)))
    logger.info("bias O=%.4g: %s %.4f on dev, %.4f without", best, dev.metric, figures[best], figures[0.0])
    return {"O": best} if best else {}
