"""Training from files in shards, on the workers of a cluster: the scale `Shards`. The driver never holds the data.

    survey      every worker reads its files
    encode      attributes are counted by their 64-bit keys, cut off, and numbered in the order of keys
    train       passes by mixing, or sums of gradients            a checkpoint after each pass
    finish      workers spell the names of attributes

Whatever is settled is a function of what all shards say, put together in their order: the model is the same for threads
of this process and for a cluster, byte for byte.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from palmette.data.corpus import Attributes, Corpus, column_of_types
from palmette.data.labels.mask import LabelMask
from palmette.data.labels.schemes import Transitions, recognise_pairs
from palmette.errors import DataError, UsageError, counted
from palmette.features.counting import AttributeCounts
from palmette.features.encode import keys_of
from palmette.kernels.chain.forms import Active
from palmette.options.chain import ChainOptions, ChainSettings
from palmette.options.spelling import spelt
from palmette.structures.chain.constraints import constraints, rewriting
from palmette.structures.chain.data import ONES, allow_table
from palmette.structures.chain.lists import MANY_LABELS
from palmette.structures.chain.metadata import AboutTraining
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import estimated
from palmette.structures.training_log import Epoch
from palmette.training.chain.file_shard import Keys, Numbered, ShardPlan, ShardSurvey, index_by_number
from palmette.training.chain.finish import finish
from palmette.training.chain.learning import ChainLearning
from palmette.training.chain.mixing import MixedLearning, check_shards, writable
from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.request import Plan, TrainedChain, TrainingData, TrainRequest
from palmette.training.chain.scale import Scale, problem_of
from palmette.training.chain.settle import HMM, LABEL_TEMPLATES, SEVERAL, Survey, chosen, forbidden_pairs, labels_shown
from palmette.training.chain.start import starting_weights
from palmette.training.chain.train import Penalty, compacted
from palmette.training.cluster import Cluster
from palmette.training.lbfgs import squared_norm
from palmette.training.result import EpochLog, Progress, TrainResult, watcher_of

logger = logging.getLogger(__name__)
Keep = Callable[[ChainModel], None]
EVERY = 60.0  # seconds after which a training by L-BFGS writes its model again


class ShardsSurvey(Survey):
    """What the workers say about their shards, put together."""

    in_batches = False  # the shards share the work

    def __init__(self, surveys: Sequence[ShardSurvey], request: TrainRequest) -> None:
        self.surveys, old = surveys, request.resume
        labels, self.pairs = _labels(surveys, [] if old is None else list(old.labels))
        _check_labels(surveys, labels)
        like = _like(surveys, labels)
        super().__init__(like, chosen(request, like, warn=False))
        self.sentences, self.tokens = sum(one.sentences for one in surveys), sum(one.tokens for one in surveys)

    @property
    def offset(self) -> np.ndarray:
        return np.zeros(1, np.int64)  # workers check the memory that their sentences take

    def partial(self, settings: ChainSettings) -> bool | None:
        return settings.partial

    def scheme(self, settings: ChainSettings) -> str | None:
        asked = settings.constraints
        if asked not in ("auto", "none", "strict"):
            return str(asked).upper()
        assert self.labelled.labels is not None
        scheme = recognise_pairs(self.labelled.labels.types, self.pairs)
        if scheme is None and asked == "strict":
            raise DataError("the labels follow no tag scheme", hint=rewriting("IOB2"))
        return scheme

    def allowed(self, labels: list[str], known: LabelMask, scheme: str | None, settings: ChainSettings) -> Transitions:
        none, nothing, asked = np.zeros(0, np.int32), _no_tokens(self.labelled), str(settings.constraints)
        found = constraints(labels, none, nothing, scheme, asked, forbidden_pairs(self.request))
        _check_pairs(self.pairs, labels, found)
        return found

    def words(self) -> np.ndarray:
        """Hashes of the words of all shards, and of an older model, u64[] in rising order."""
        old = self.request.resume
        before = [] if old is None else [old.vocabulary]
        return np.unique(np.concatenate([*(one.words for one in self.surveys), *before]))


class Shards(Scale):
    """Files that the workers of a cluster read, each its own."""

    refuses: ClassVar[Mapping[str, str]] = {
        HMM: "hmm counts in one pass, not in shards: use fit_file",
        LABEL_TEMPLATES: "templates that read earlier labels (%y) do not apply to training from files in shards",
        SEVERAL: "choose one, such as avg: shards of files train once",
        "dev_share": "does not apply to files in shards, which no process has all of: give development data",
        **dict.fromkeys(
            ("state_features", "edge_features", "transition_features", "min_feature_count"),
            "from files in shards, all combinations have weights",
        ),
        **dict.fromkeys(("split_after", "restarts", "l1_then_l2"), "does not apply to training from files in shards"),
        "out_of_core": "does not apply to files in shards: each worker has its shard in memory",
    }

    def __init__(self, cluster: Cluster, keep: Keep | None = None) -> None:
        """keep: is given a model with a checkpoint after each pass of a learner that has one, and now and then one
        without by L-BFGS."""
        self.cluster, self.held, self.keep = cluster, closing(cluster), keep

    def survey(self, source: Cluster, request: TrainRequest) -> ShardsSurvey:
        cluster = source
        cluster.watcher, cluster.doing = watcher_of(request.progress), "reading"
        settings = request.settings.resolved()
        unicode = settings.unicode if request.resume is None else request.resume.settings.unicode
        each = [(settings.partial, unicode)] * cluster.size
        return ShardsSurvey(cluster.each("survey", each, lasting=True), request)

    def encode(self, survey: ShardsSurvey, plan: Plan, dev: Corpus | None) -> TrainingData:
        cluster, request, encoder, old = self.cluster, plan.request, plan.encoder, plan.request.resume
        self.tokens = survey.tokens
        (averaging, _), *_ = plan.settings.estimators_to_try(dev is not None)
        keys = _numbered(cluster, ShardPlan(
            plan.labels, plan.scheme, plan.allowed, plan.shape, None if encoder is None else encoder.templates,
            request.resources if encoder is None else encoder.resources, plan.settings, request.order, request.ends,
            survey.sentences, averaging != "last",
        ), old)  # fmt: skip
        data = f"{counted(survey.sentences, 'sentence')}, {counted(survey.tokens, 'token')}"
        attributes = counted(sum(k.size for k in keys.values()), "attribute")
        labels = labels_shown(plan.labels, plan.scheme)
        logger.info(f"{counted(cluster.size, 'shard')}: {data}, {labels}, {attributes}")
        empty = np.zeros(1, np.int64)
        collected = Numbered(
            _no_tokens(survey.labelled), encoder, {arity: index_by_number(own) for arity, own in keys.items()},
            {arity: Active(empty, np.zeros(0, np.int32), ONES) for arity in keys},
        )  # fmt: skip
        collected.spelling = partial(shard_names, cluster)
        if old is not None:
            for arity in old.names.keys() & keys.keys():  # which the model keeps
                collected.first[arity][: old.feature_indexes[arity].size] = -1
        columns = survey.surveys[0].columns
        about = AboutTraining(columns=columns) if columns else AboutTraining()
        return problem_of(
            plan, collected, collected.data(np.zeros(0, np.int32), allow_table(len(plan.labels))), dev,
            sentences=survey.sentences, vocabulary=survey.words(), about=about,
        )  # fmt: skip

    def learning(self, start: ChainLearning, problem: TrainingData) -> MixedLearning:
        check_shards(start)
        return MixedLearning(start, self.cluster, self.tokens, str(problem.settings.mixing))

    def watched(self, problem: TrainingData, learning: Any, log: EpochLog | None = None) -> Progress | None:
        told, settings = problem.request.progress, problem.settings
        if log is None:
            return told if self.keep is None else _Keeper(problem, learning, self.keep)
        keep = None if settings.chosen_learner.keeps_state else self.keep

        def after(number: int, done: int, total: int, finished: Epoch | None) -> None:
            if told is not None:
                told(number, done, total, finished)
            if finished is None:
                return
            _report_workers(number, learning.seconds)
            if keep is not None:
                best = log.best if log.best is not None else learning.snapshot()
                so_far = TrainResult(best, log.best_epoch, list(log.epochs), 0, f"checkpoint after pass {number}")
                estimator = learning.head.averaging
                own = settings.replace(estimator=estimator.estimator, mavg_every=estimator.every)
                trained = TrainedChain(so_far, own, learning.infeasible, learning.saved)
                keep(_without_names(problem, trained, checkpoint=True))

        return after

    def objective(self, problem: TrainingData, penalty: Penalty) -> ChainObjective:
        return ShardedObjective(self.cluster, problem, penalty.l2, self.tokens)


def _check_pairs(pairs: np.ndarray, labels: Sequence[str], allowed: Transitions) -> None:
    """The training data itself must keep to constraints that were asked for; those of `auto` fit it."""
    bad = np.argwhere(pairs[:-1, :-1] & ~allowed.pair)
    if bad.size:
        before, after = (labels[int(k)] for k in bad[0])
        raise DataError(
            f"the label {after!r} after {before!r} is forbidden, and the training data has it",
            hint=f"fix the data, or use {spelt(ChainOptions, 'constraints', 'auto')} or none",
        )


def _labels(surveys: Sequence[ShardSurvey], labels: list[str]) -> tuple[list[str], np.ndarray]:
    """All labels by first occurrence, after those of a model that goes on learning, and which follow each other."""
    labels = list(dict.fromkeys([*labels, *(label for one in surveys for label in one.labels)]))
    numbers = {label: k for k, label in enumerate(labels)}
    pairs = np.zeros((len(labels) + 1, len(labels) + 1), np.bool_)
    for one in surveys:
        places = np.array([*(numbers[label] for label in one.labels), len(labels)])
        pairs[np.ix_(places, places)] |= one.pairs
    return labels, pairs


def _check_labels(surveys: Sequence[ShardSurvey], labels: Sequence[str]) -> None:
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


def _like(surveys: Sequence[ShardSurvey], labels: Sequence[str]) -> Corpus:
    """A corpus with the labels of all shards, in a proportion near to theirs, and as many columns; for decisions."""
    total = sum(one.tokens for one in surveys)
    counts = [sum(one.counts[one.labels.index(label)] for one in surveys if label in one.labels) for label in labels]
    share = [max(1, round(1000 * n / max(1, total))) for n in counts]
    ids = np.repeat(np.arange(len(labels), dtype=np.int32), share)
    blank = column_of_types(np.zeros(ids.size, np.int32), ["-"])
    columns = [blank] * surveys[0].columns
    like = Corpus(np.array([0, ids.size]), columns, column_of_types(ids, list(labels)), source=surveys[0].source)
    if surveys[0].valued is not None:
        val = np.ones(ids.size if any(one.valued for one in surveys) else 0, np.float32)
        like.attributes = Attributes(np.arange(ids.size + 1), blank, val)
    return like


def _no_tokens(corpus: Corpus) -> Corpus:
    return Corpus(np.zeros(1, np.int64), source=corpus.source)


def _numbered(cluster: Cluster, plan: ShardPlan, old: ChainModel | None) -> Keys:
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


class _Keeper:
    """A `Progress` that gives the model of a training by L-BFGS to `keep` now and then, and passes on what it is
    told."""

    def __init__(self, problem: TrainingData, objective: ShardedObjective, keep: Keep) -> None:
        self.problem, self.objective, self.keep, self.told = problem, objective, keep, problem.request.progress
        self.epochs: list[Epoch] = []
        self.last = time.monotonic()

    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        if self.told is not None:
            self.told(number, done, total, finished)
        if finished is not None:
            self.epochs.append(finished)
        if finished is None or time.monotonic() - self.last < EVERY:
            return
        weights = compacted(estimated(self.objective.chain, None))
        so_far = TrainResult(weights, number, list(self.epochs), 0, f"written after iteration {number}")
        trained = TrainedChain(so_far, self.problem.settings, self.objective.infeasible, dict)
        assert isinstance(self.problem.collected, Numbered)
        self.keep(_without_names(self.problem._replace(collected=self.problem.collected.copied()), trained))
        self.last = time.monotonic()


def _report_workers(number: int, seconds: Sequence[float]) -> None:
    slowest = int(np.argmax(seconds))
    least, most = min(seconds), seconds[slowest]
    logger.info("pass %d: shards took %.2f to %.2f s (the slowest: shard %d)", number, least, most, slowest + 1)


def _without_names(problem: TrainingData, trained: TrainedChain, *, checkpoint: bool = False) -> ChainModel:
    """A model in the middle of a training, uncalibrated and without names."""
    request = replace(problem.request, checkpoint=checkpoint, names=False)
    return finish(problem._replace(request=request, dev_corpus=None), trained)


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


# The likelihood of a corpus in shards: each worker has the sum over its own sentences, which the driver adds up.


class ShardedObjective(ChainObjective):
    """Value and gradient, in float64 and in the order of the shards, so that they do not depend on the workers."""

    def __init__(self, cluster: Cluster, problem: TrainingData, l2: float, tokens: int) -> None:
        chain, _, _ = starting_weights(problem)
        super().__init__(chain, problem.data, l2, problem.request.n_threads)
        self.cluster, self.n_tokens = cluster, tokens

    @property
    def tokens(self) -> int:
        return self.n_tokens

    def __call__(self, vector: np.ndarray, gradient: np.ndarray) -> float:
        self.put(vector)
        self.cluster.doing = "gradient"
        value, total = 0.0, np.zeros(vector.size)
        self.wrong = self.infeasible = 0
        for own, part, wrong, infeasible in self.cluster.run("gradient", vector):
            value += own
            total += part
            self.wrong, self.infeasible = self.wrong + wrong, self.infeasible + infeasible
        total += (2 * self.l2) * vector
        gradient[:] = total
        return value + (self.l2 * squared_norm(self.workers, vector) if self.l2 else 0.0)
