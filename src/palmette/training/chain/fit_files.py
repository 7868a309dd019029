"""Training from files in shards, on the workers of a cluster: the driver, which never holds the data.

    survey      every worker reads its files                      labels, tag scheme, templates and learner are settled
    count       attributes by their 64-bit keys, with counts      cut off, and numbered in the order of keys
    train       passes by mixing, or sums of gradients            a checkpoint after each pass
    finish      as in fit.py; workers spell the names of attributes

Whatever is settled is a function of what all shards say, put together in their order: the model is the same for threads
of this process and for a cluster, byte for byte.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Corpus, column_of_types
from palmette.data.labels.schemes import recognise_pairs
from palmette.errors import DataError, UsageError, counted
from palmette.features.counting import AttributeCounts
from palmette.features.encode import Encoder
from palmette.features.index import keys_of
from palmette.features.templates import LABEL_CONTEXT, TemplateSet
from palmette.kernels.chain.forms import Active
from palmette.kernels.core.compile import check_compiled
from palmette.options.chain import ChainOptions, ChainSettings
from palmette.options.spelling import named, spelt
from palmette.structures.chain.constraints import constraints, rewriting
from palmette.structures.chain.data import ONES, allow_table
from palmette.structures.chain.lists import MANY_LABELS
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.search import BeamSearch, check_searchable
from palmette.structures.chain.weights import estimated
from palmette.structures.training_log import Epoch
from palmette.training.chain.batch import Penalty, compacted, train_by_likelihood
from palmette.training.chain.calibration import calibrate_on_dev
from palmette.training.chain.changes import writable
from palmette.training.chain.dev import for_beam, held_out
from palmette.training.chain.exact import Averaging
from palmette.training.chain.file_shard import Keys, Numbered, Plan, Survey, index_by_number
from palmette.training.chain.fit import finished
from palmette.training.chain.mixing import MixedLearning, check_shards
from palmette.training.chain.online import start_learning
from palmette.training.chain.prepare import forbidden_pairs, labels_shown, shape_of, with_learner
from palmette.training.chain.request import TrainedChain, TrainingData, TrainRequest
from palmette.training.chain.sharded_objective import ShardedObjective
from palmette.training.chain.start import training_log_of
from palmette.training.checks import warn_of_same_labels
from palmette.training.cluster import Cluster
from palmette.training.result import EpochLog, TrainResult, watcher_of
from palmette.training.trainer import train_epochs

logger = logging.getLogger(__name__)
Choose = Callable[[Corpus], TemplateSet | None]
Keep = Callable[[ChainModel], None]
EVERY = 60.0  # seconds after which a training by L-BFGS writes its model again


class _Settled(NamedTuple):
    """A training from files before its first pass."""

    problem: TrainingData
    plan: Plan
    words: np.ndarray
    tokens: int


def fit_files(
    cluster: Cluster, dev: Corpus | None, request: TrainRequest, choose: Choose, keep: Keep | None = None
) -> tuple[ChainModel, TrainResult]:
    """Train on the shards of a cluster. choose: the templates for a corpus like this; keep: is given a model with a
    checkpoint after each pass of a learner that has one, and now and then one without by L-BFGS."""
    check_compiled("training")
    check_request(request)
    cluster.watcher = watcher_of(request.progress)
    settled = _settle(cluster, dev, request, choose)
    by = _by_likelihood if settled.problem.settings.chosen_learner.full_batch else _by_passes
    trained = by(cluster, settled, keep)
    model, outcome = _finished(settled, trained)
    calibrate_on_dev(model, dev)
    return model, outcome


def check_request(request: TrainRequest) -> None:
    """UsageError for what only a corpus in one piece can be trained with."""
    settings = request.settings
    refused = {
        "min_feature_count": settings.min_feature_count > 1,
        "state_features": settings.state_features != "all",
        "edge_features": settings.edge_features != "all",
        "transition_features": settings.transition_features != "all",
    }
    for name, is_refused in refused.items():
        if is_refused:
            raise UsageError(f"{named(ChainOptions, name)}: from files in shards, all combinations have weights")
    if settings.latent is not None and (settings.latent.split_after or settings.latent.restarts > 1):
        raise UsageError("split_after and restarts do not apply to training from files in shards")
    if getattr(settings.chosen_learner, "l1_then_l2", False):
        raise UsageError("l1_then_l2 does not apply to training from files in shards")


# Settling


def _settle(cluster: Cluster, dev: Corpus | None, request: TrainRequest, choose: Choose) -> _Settled:
    settings, old = request.settings.resolved(), request.resume
    if old is not None:
        settings = settings.replace(unicode=old.settings.unicode)
    each = [(settings.partial, settings.unicode)] * cluster.size
    cluster.doing = "reading"
    surveys: list[Survey] = cluster.each("survey", each, lasting=True)
    labels, pairs = _labels(surveys, [] if old is None else list(old.labels))
    warn_of_same_labels(labels)
    _check_labels(surveys, labels)
    like = _like(surveys, labels)
    settings = with_learner(settings, like, old, len(labels)).replace(partial=settings.partial)
    if request.templates is None and old is None:
        request.templates = choose(like)
    scheme = _scheme(labels, pairs, settings)
    encoder = old.encoder if old is not None else _encoder(request, settings)
    check_searchable(encoder, settings.search.kind)  # type: ignore[union-attr]
    if encoder is not None and LABEL_CONTEXT in encoder.programs:
        raise UsageError("templates that read earlier labels (%y) do not apply to training from files in shards")
    none = np.zeros(0, np.int32)
    allowed = constraints(labels, none, _no_tokens(like), scheme, settings.constraints, forbidden_pairs(request))
    shape = shape_of(labels, encoder, request)
    sentences, tokens = sum(one.sentences for one in surveys), sum(one.tokens for one in surveys)
    templates = None if encoder is None else encoder.templates
    resources = request.resources if encoder is None else encoder.resources
    averages = _averaging(settings, dev is not None).estimator != "last"
    plan = Plan(
        labels, scheme, allowed, shape, templates, resources, settings, request.order, request.ends, sentences, averages
    )
    keys = _numbered(cluster, plan, old)
    what = f"{counted(sentences, 'sentence')}, {counted(tokens, 'token')}, {labels_shown(labels, scheme)}"
    logger.info(f"{counted(cluster.size, 'shard')}: {what}, {counted(sum(k.size for k in keys.values()), 'attribute')}")
    words = np.unique(np.concatenate([one.words for one in surveys] + ([] if old is None else [old.vocabulary])))
    _check_pairs(pairs, plan)
    problem = _problem(plan, keys, like, dev, request, encoder)
    collected = problem.collected
    assert isinstance(collected, Numbered)
    collected.spelling = partial(shard_names, cluster)
    if old is not None:
        for arity in old.names.keys() & keys.keys():  # which the model keeps
            collected.first[arity][: old.feature_indexes[arity].size] = -1
    return _Settled(problem, plan, words, tokens)


def _check_pairs(pairs: np.ndarray, plan: Plan) -> None:
    """The training data itself must keep to constraints that were asked for; those of `auto` fit it."""
    bad = np.argwhere(pairs[:-1, :-1] & ~plan.allowed.pair)
    if bad.size:
        before, after = (plan.labels[int(k)] for k in bad[0])
        raise DataError(
            f"the label {after!r} after {before!r} is forbidden, and the training data has it",
            hint=f"mend the data, or use {spelt(ChainOptions, 'constraints', 'auto')} or none",
        )


def _labels(surveys: Sequence[Survey], labels: list[str]) -> tuple[list[str], np.ndarray]:
    """All labels by first occurrence, after those of a model that goes on learning, and which follow each other."""
    labels = list(dict.fromkeys([*labels, *(label for one in surveys for label in one.labels)]))
    numbers = {label: k for k, label in enumerate(labels)}
    pairs = np.zeros((len(labels) + 1, len(labels) + 1), np.bool_)
    for one in surveys:
        places = np.array([*(numbers[label] for label in one.labels), len(labels)])
        pairs[np.ix_(places, places)] |= one.pairs
    return labels, pairs


def _check_labels(surveys: Sequence[Survey], labels: Sequence[str]) -> None:
    for one in surveys:
        if one.partial:
            raise DataError(
                f"the label {one.partial[0]!r} looks like a partial one", file=one.source,
                hint=f"give {spelt(ChainOptions, 'partial', True)} if `?` means any label and `A|B` one of several, "
                f"{spelt(ChainOptions, 'partial', False)} if they are labels",
            )  # fmt: skip
        if one.columns != surveys[0].columns:
            raise DataError(
                f"{counted(one.columns, 'column')}, and {surveys[0].source} has {surveys[0].columns}", file=one.source
            )
    if not labels or "" in labels:
        raise DataError("no label is known" if not labels else "a label is empty", file=surveys[0].source)
    if len(labels) >= MANY_LABELS:
        raise UsageError(f"{len(labels)} labels: training from files in shards takes fewer than {MANY_LABELS}")


def _like(surveys: Sequence[Survey], labels: Sequence[str]) -> Corpus:
    """A corpus with the labels of all shards, in a proportion near to theirs, and as many columns; for decisions."""
    total = sum(one.tokens for one in surveys)
    counts = [sum(one.counts[one.labels.index(label)] for one in surveys if label in one.labels) for label in labels]
    share = [max(1, round(1000 * n / max(1, total))) for n in counts]
    ids = np.repeat(np.arange(len(labels), dtype=np.int32), share)
    blank = column_of_types(np.zeros(ids.size, np.int32), ["-"])
    columns = [blank] * surveys[0].columns
    like = Corpus(np.array([0, ids.size]), columns, column_of_types(ids, list(labels)), source=surveys[0].source)
    if surveys[0].valued is not None:
        from palmette.data.corpus import Attributes

        val = np.ones(ids.size if any(one.valued for one in surveys) else 0, np.float32)
        like.attributes = Attributes(np.arange(ids.size + 1), blank, val)
    return like


def _no_tokens(corpus: Corpus) -> Corpus:
    return Corpus(np.zeros(1, np.int64), source=corpus.source)


def _scheme(labels: list[str], pairs: np.ndarray, settings: ChainSettings) -> str | None:
    asked = settings.constraints
    if asked not in ("auto", "none", "strict"):
        return str(asked).upper()
    scheme = recognise_pairs(labels, pairs)
    if scheme is None and asked == "strict":
        raise DataError("the labels follow no tag scheme", hint=rewriting("IOB2"))
    return scheme


def _encoder(request: TrainRequest, settings: ChainSettings) -> Encoder | None:
    return None if request.templates is None else Encoder(request.templates, request.resources, settings.unicode)


def _averaging(settings: ChainSettings, has_dev: bool) -> Averaging:
    choices = settings.estimators_to_try(has_dev)
    if len(choices) > 1:
        raise UsageError(f"choose one {named(ChainOptions, 'estimator')}, such as avg: shards of files train once")
    return Averaging(*choices[0])


def _numbered(cluster: Cluster, plan: Plan, old: ChainModel | None) -> Keys:
    """Count the attributes of all shards, cut off rare ones, and number them: those of an older model first, then by
    their keys."""
    cluster.doing = "counting"
    counted_parts: list[tuple[Keys, Keys]] = cluster.each("count", [(plan,)] * cluster.size, lasting=True)
    keys, totals = {}, {}
    for arity in counted_parts[0][0]:
        counts = AttributeCounts()
        for own, times in counted_parts:
            counts.add(writable(own[arity]), writable(times[arity]))
        kept = counts.kept(plan.settings.min_count, plan.settings.max_attributes)
        keys[arity], totals[arity] = kept.keys, kept.counts
        if old is not None and arity in old.feature_indexes:
            before = keys_of(old.feature_indexes[arity])
            new = ~np.isin(kept.keys, before)
            keys[arity] = np.concatenate((before, kept.keys[new]))
            times_before = np.zeros(before.size, np.int64)
            there = np.isin(before, kept.keys)
            times_before[there] = kept.counts[np.searchsorted(kept.keys, before[there])]
            totals[arity] = np.concatenate((times_before, kept.counts[new]))
    cluster.doing = "encoding"
    cluster.each("number", [(keys, totals)] * cluster.size, lasting=True)
    return keys


def _problem(
    plan: Plan, keys: Keys, like: Corpus, dev: Corpus | None, request: TrainRequest, encoder: Encoder | None
) -> TrainingData:
    """The training as the driver sees it: all weights, and no sentence."""
    empty = np.zeros(1, np.int64)
    indexes = {arity: index_by_number(own) for arity, own in keys.items()}
    actives = {arity: Active(empty, np.zeros(0, np.int32), ONES) for arity in keys}
    collected = Numbered(_no_tokens(like), encoder, indexes, actives)
    data = collected.data(np.zeros(0, np.int32), allow_table(len(plan.labels)))
    on_dev = held_out(dev, encoder, collected.feature_indexes, plan.labels, plan.settings, plan.scheme)
    problem = TrainingData(
        collected, data, plan.shape, plan.allowed, plan.labels, on_dev, plan.settings, request, plan.scheme,
        sentences=plan.sentences,
    )  # fmt: skip
    beam = plan.settings.beam
    if beam is not None:
        problem = problem._replace(dev=for_beam(on_dev, dev, BeamSearch(beam.width, bool(beam.recombine)), collected))
    return problem


# Training


def _by_passes(cluster: Cluster, settled: _Settled, keep: Keep | None) -> TrainedChain:
    problem = settled.problem
    settings, request = problem.settings, problem.request
    averaging = _averaging(settings, problem.dev is not None)
    settings = settings.replace(estimator=averaging.estimator, mavg_every=averaging.every)
    before_it = training_log_of(request.resume)
    head, before = start_learning(problem, averaging, None)
    check_shards(head)
    learning = MixedLearning(head, cluster, settled.tokens, settings.mixing)
    log = EpochLog(settings.patience, None, before_it, before, window=settings.stop_rule())
    exact = keep is not None and not settings.chosen_learner.keeps_state

    def after(number: int, done: int, total: int, finished: Epoch | None) -> None:
        if request.progress is not None:
            request.progress(number, done, total, finished)
        if finished is not None:
            _report_workers(number, learning.seconds)
            if exact:
                assert keep is not None
                best = log.best if log.best is not None else learning.snapshot()
                so_far = TrainResult(best, log.best_epoch, list(log.epochs), 0, f"checkpoint after pass {number}")
                keep(_checkpoint(settled, TrainedChain(so_far, settings, learning.infeasible, learning.saved)))

    log.progress = after
    outcome = train_epochs(learning, settings.seed, len(before_it) + settings.n_passes(), log)
    return TrainedChain(outcome, settings, learning.infeasible, learning.saved)


def _report_workers(number: int, seconds: Sequence[float]) -> None:
    slowest = int(np.argmax(seconds))
    least, most = min(seconds), seconds[slowest]
    logger.info("pass %d: shards took %.2f to %.2f s (the slowest: shard %d)", number, least, most, slowest + 1)


def _by_likelihood(cluster: Cluster, settled: _Settled, keep: Keep | None) -> TrainedChain:
    problem = settled.problem
    keeper = _Keeper(settled, keep)

    def make(problem: TrainingData, penalty: Penalty) -> ShardedObjective:
        keeper.objective = ShardedObjective(cluster, problem, penalty.l2, settled.tokens)
        return keeper.objective

    own = problem if keep is None else problem._replace(request=replace(problem.request, progress=keeper))
    return train_by_likelihood(own, make)


class _Keeper:
    """A `Progress` that gives the model of a training by L-BFGS to `keep` now and then, and passes on what it is
    told."""

    def __init__(self, settled: _Settled, keep: Keep | None) -> None:
        self.settled, self.keep, self.told = settled, keep, settled.problem.request.progress
        self.objective: ShardedObjective | None = None
        self.epochs: list[Epoch] = []
        self.last = time.monotonic()

    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        if self.told is not None:
            self.told(number, done, total, finished)
        if finished is not None:
            self.epochs.append(finished)
        if finished is None or self.keep is None or self.objective is None or time.monotonic() - self.last < EVERY:
            return
        weights = compacted(estimated(self.objective.chain, None))
        so_far = TrainResult(weights, number, list(self.epochs), 0, f"written after iteration {number}")
        trained = TrainedChain(so_far, self.settled.problem.settings, self.objective.infeasible, dict)
        problem = self.settled.problem
        assert isinstance(problem.collected, Numbered)
        own = self.settled._replace(problem=problem._replace(collected=problem.collected.copied()))
        self.keep(_without_names(own, trained))
        self.last = time.monotonic()


# Finishing


def _finished(settled: _Settled, trained: TrainedChain) -> tuple[ChainModel, TrainResult]:
    problem = settled.problem
    return finished(problem.collected.corpus, problem, settled.plan.scheme, trained, settled.words)


def _checkpoint(settled: _Settled, trained: TrainedChain) -> ChainModel:
    """A model in the middle of a training, with what an exact resumption needs, without names."""
    return _without_names(settled, trained, checkpoint=True)


def _without_names(settled: _Settled, trained: TrainedChain, checkpoint: bool = False) -> ChainModel:
    request = settled.problem.request
    asked = request.checkpoint, request.names
    request.checkpoint, request.names = checkpoint, False
    try:
        return _finished(settled, trained)[0]
    finally:
        request.checkpoint, request.names = asked


def shard_names(cluster: Cluster, arity: int, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bytes and offsets of the strings of attributes u64[A], by the first shard that has each."""
    texts = [b""] * keys.size
    cluster.doing = "naming"
    for there, data, offset in cluster.each("names", [(arity, keys)] * cluster.size):
        raw, marks = data.tobytes(), offset.tolist()
        spelt_here = [raw[a:b] for a, b in pairwise(marks)]
        for k, text in zip(np.flatnonzero(there).tolist(), spelt_here, strict=True):
            texts[k] = texts[k] or text
    offset = np.concatenate(([0], np.cumsum([len(text) for text in texts]))).astype(np.int64)
    return np.frombuffer(b"".join(texts) + b"\n", np.uint8), offset
