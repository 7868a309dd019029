"""The end of a training: check the weights, tune the bias, drop attributes without weights, write the metadata."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from palmette.data.corpus import Corpus
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, UsageError, counted
from palmette.options.chain import ChainOptions, TaggerOptions
from palmette.options.learners import TEMPERATURE, Auto, Mira
from palmette.options.spelling import named
from palmette.structures.chain.calibrate import calibrated_on_dev
from palmette.structures.chain.data import Collected
from palmette.structures.chain.label_context import drop_unmoved_contexts
from palmette.structures.chain.metadata import AboutTraining
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.stored_rows import with_many_labels, with_own_rows
from palmette.structures.chain.weights import forget_forbidden
from palmette.structures.stored import Names, some_names
from palmette.training.chain.dev import Dev
from palmette.training.chain.request import TrainedChain, TrainingData, TrainRequest
from palmette.training.chain.settle import forbidden_pairs
from palmette.training.chain.train import warn_if_cut_short
from palmette.training.checks import check_moved, check_weights, cure
from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)
OF_DATA = ("reading", "features")
KEPT = ("features", "reading", "label_numbers", "vectors", "temperature", "columns")  # if a model is trained further


def finish(problem: TrainingData, trained: TrainedChain) -> ChainModel:
    """The model of a training that is over."""
    request, corpus = problem.request, problem.collected.corpus
    data = problem.data if problem.extremes is None else problem.extremes
    _report_infeasible(trained, problem, corpus)
    outcome, settings, old = trained.outcome, trained.settings, request.resume
    warn_if_cut_short(outcome, settings.chosen_learner)
    beam = settings.beam
    chain, contexts = (outcome.best, None) if beam is None else outcome.best
    check_weights(chain, contexts, data, settings.chosen_learner, corpus)
    if not settings.chosen_learner.full_batch:
        check_moved(outcome, chain, data)
    if problem.shape.history is not None:
        forget_forbidden(chain)
    collected, words = problem.collected, problem.vocabulary
    model = ChainModel(
        problem.labels, problem.shape, problem.allowed, problem.scheme, collected.encoder, collected.feature_indexes,
        chain, {}, np.zeros(0, np.uint64) if words is None else words, dict(old.bias) if old else {},
        label_contexts=contexts, beam=0 if beam is None else beam.width, settings=settings,
        recombine=beam is not None and bool(beam.recombine),
    )  # fmt: skip
    if request.checkpoint and outcome.interrupted:
        logger.info("no checkpoint is kept: training was interrupted in the middle of a pass")
    elif request.checkpoint:
        model.checkpoint = trained.state()
        model.searched = with_own_rows(model.searched, model.shape)
    if settings.tune_bias:
        model.bias = tuned_bias(model, problem.dev)
    if not model.checkpoint:
        _drop_unmoved(model, collected)
    model.names = attribute_names(collected, old) if request.names else {}
    write_metadata(model, outcome, request, problem.about, problem.dev_corpus)
    return model


def write_metadata(
    model: ChainModel, outcome: TrainResult, request: TrainRequest, data: AboutTraining, dev: Corpus | None
) -> None:
    """Set the metadata of a trained model. `data` holds what is known of its data; `dev` calibrates the model."""
    about = replace(
        data if request.resume is None else _kept(request.resume, data), history=outcome.training_log,
        forbidden=forbidden_pairs(request), best_pass=outcome.best_epoch, ended=outcome.ended,
    )  # fmt: skip
    if request.resume is None and request.features is not msgspec.UNSET:
        about = replace(about, features=request.features)
    if request.reading is not None:
        about = replace(about, reading=_explicit(request.reading, data.columns).stored())
    about = replace(about, rows=request.rows, **({} if request.again is None else stored(request.again, OF_DATA)))
    automatic = isinstance(request.settings.learner, Auto) and isinstance(model.settings.learner, Mira)
    if automatic and about.temperature is msgspec.UNSET:
        about = replace(about, temperature=TEMPERATURE)
    model.meta = msgspec.to_builtins(about)
    found = calibrated_on_dev(model, dev)
    if found is not None:
        logger.info("calibrated on %s: temperature %.4g", counted(found.sentences, "sentence"), found.temperature)
        model.meta = msgspec.to_builtins(replace(about, calibration=found))


def stored(model: ChainModel, names: Sequence[str]) -> dict[str, Any]:
    """Some of the metadata of a model, as `AboutTraining` has it."""
    own = msgspec.convert({name: model.meta[name] for name in names if name in model.meta}, AboutTraining)
    return {name: getattr(own, name) for name in names if name in model.meta}


def _kept(old: ChainModel, data: AboutTraining) -> AboutTraining:
    """The metadata that a model keeps when it is trained further, unless the new data has its own."""
    return replace(AboutTraining(**stored(old, KEPT)), **{
        name: value for name in ("vectors", "label_numbers", "columns")
        if (value := getattr(data, name)) is not msgspec.UNSET
    })  # fmt: skip


def about_data(corpus: Corpus) -> AboutTraining:
    """What a model keeps about the data that it was trained on, which later data is compared with."""
    none = msgspec.UNSET
    return AboutTraining(
        vectors=none if corpus.vectors is None else corpus.vectors,
        label_numbers=none if corpus.label_numbers is None else corpus.label_numbers,
        columns=len(corpus.columns) or none,
    )


def _explicit(spec: FormatSpec, n_columns: Any) -> FormatSpec:
    """Name the feature columns when the label is not the last one: without labels they would shift."""
    if spec.format != "columns" or spec.columns is not None or spec.label is None or n_columns is msgspec.UNSET:
        return spec
    n = int(n_columns) + 1
    label = int(spec.label) % n
    if label == n - 1:
        return spec
    return spec.replace(columns=tuple(str(c) for c in range(n) if c != label))


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
    model.searched = collected.drop_unmoved(model.searched)
    if model.label_contexts is not None:
        model.label_contexts = drop_unmoved_contexts(collected, model.label_contexts)
    model.searched = with_many_labels(model.searched, model.shape)
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


def _rules() -> str:
    """What forbids label sequences."""
    return f"{named(TaggerOptions, 'constraints')} and {named(TaggerOptions, 'forbidden')}"


def tuned_bias(model: ChainModel, dev: Dev | None) -> dict[str, float]:
    """The bias of the label O with the best F1 on development data, by grid search."""
    assert dev is not None
    if "O" not in model.labels:
        tune = named(ChainOptions, "tune_bias")
        raise UsageError(f"{tune} trades precision for recall of spans, and there is no label O")
    weights = model.searched.stored[0].value if model.searched.stored[0].kind else model.searched.weights[0].w
    some = np.abs(weights[(weights != 0) & np.isfinite(weights)])
    scale = float(some.mean()) if some.size else 1.0
    figures = {0.0: dev.figure(model.with_bias({}))}
    for step in (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0):
        for value in (-step * scale, step * scale):
            figures[value] = dev.figure(model.with_bias({"O": value}))
    best = max(figures, key=lambda value: (figures[value], -abs(value)))
    logger.info("bias O=%.4g: %s %.4f on dev, %.4f without", best, dev.metric, figures[best], figures[0.0])
    return {"O": best} if best else {}
