"""One shard of files in training: reads its files, counts and numbers its attributes, learns from its sentences.

The steps, each a method that the driver (shards.py) calls on the shards of all workers:

    survey      labels, pairs of labels and words of the shard
    count       the 64-bit keys of its attributes with their counts, by the templates of the plan
    number      the attributes of all shards get numbers, which all shards share
    learn_pass  one pass, for mixing (mixing.py); or `gradient`: value and gradient of the likelihood
    names       the strings of attributes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.mask import label_names, mark_partial_labels, partial_looks, training_mask
from palmette.data.labels.schemes import Transitions, seen_pairs
from palmette.data.sources import Piece, read_pieces
from palmette.features.encode import Encoder, keys_of
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet
from palmette.kernels.chain.forms import Active
from palmette.kernels.core.hashing import FeatureIndex, add_all, hash_index
from palmette.kernels.encode.encode import keep_attributes
from palmette.options.chain import ChainSettings
from palmette.structures.chain.data import Collected, allow_table
from palmette.structures.chain.model import check_columns, check_memory
from palmette.structures.chain.weights import Shape
from palmette.training.chain.dev import SAME_COLUMNS, check_labelled
from palmette.training.chain.learning import LAST, DescentLearning
from palmette.training.chain.mixing import Changes, ShardPass, ShardWorker, check_shards, writable
from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.request import TrainingData, TrainRequest
from palmette.training.chain.start import starting_weights
from palmette.training.chain.train import start_learning
from palmette.training.cluster import Worker

Keys = dict[int, np.ndarray]  # by arity, u64[A]


class ShardSurvey(NamedTuple):
    """What the driver must know of a shard before templates and labels are settled."""

    sentences: int
    tokens: int
    labels: list[str]  # by first occurrence
    counts: list[int]  # tokens of each label
    pairs: np.ndarray  # bool[Y+1, Y+1]: labels that follow each other; index Y: outside of the sentence
    columns: int
    valued: bool | None  # whether ready-made attributes have values; None: there are columns
    words: np.ndarray  # u64[]  hashes of distinct words
    partial: list[str]  # labels that look partly known
    source: str


class ShardPlan(NamedTuple):
    """What all shards are trained by."""

    labels: list[str]
    scheme: str | None
    allowed: Transitions
    shape: Shape
    templates: TemplateSet | None
    resources: Resources
    settings: ChainSettings
    order: int
    ends: bool
    sentences: int  # of all shards
    averages: bool  # whether the mean of all weights is wanted


class Numbered(Collected):
    """Attributes that have numbers already, by their keys, whatever corpus they came from."""

    def __init__(
        self, corpus: Corpus, encoder: Encoder | None, indexes: Mapping[int, FeatureIndex], actives: dict[int, Active]
    ) -> None:
        self.corpus, self.encoder, self.cells = corpus, encoder, None
        self.feature_indexes, self.actives = dict(indexes), actives
        self.first = {arity: np.zeros(index.size, np.int64) for arity, index in indexes.items()}
        self.found = {arity: index.size for arity, index in indexes.items()}
        self.moved = {}
        self.spelling: Callable[[int, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None

    def copied(self) -> Numbered:
        """A copy for a model that may drop attributes, which leaves these as they are."""
        made = Numbered(self.corpus, self.encoder, self.feature_indexes, self.actives)
        made.first, made.found, made.spelling = dict(self.first), dict(self.found), self.spelling
        return made

    def names(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        assert self.spelling is not None
        return self.spelling(order, keys_of(self.feature_indexes[order])[self.first[order] >= 0])


def index_by_number(keys: np.ndarray) -> FeatureIndex:
    """The index of keys u64[A], whose numbers are their places."""
    size = 1 << max(4, int(2 * keys.size).bit_length())
    table, numbers, _, _ = add_all(np.zeros(size, np.uint64), np.full(size, -1, np.int32), 0, writable(keys))
    return hash_index(table, numbers, keys.size)


class FileShard(Worker):
    """The worker of a shard of files."""

    def __init__(self, pieces: Sequence[Piece], spec: FormatSpec, shard: int) -> None:
        super().__init__()
        self.pieces, self.spec, self.shard = list(pieces), spec, shard

    def survey(self, partial: bool | None, unicode: str) -> ShardSurvey:
        """Read the files."""
        corpus = self.corpus = read_pieces(self.pieces, self.spec)
        check_labelled(corpus, "training")
        assert corpus.labels is not None
        looks = partial_looks(corpus.labels.types) if partial is None else []
        mark_partial_labels(corpus, bool(partial))
        labels = label_names(corpus)
        rows = training_mask(corpus, labels).rows
        given = corpus.attributes
        words = corpus.columns[0].in_form(unicode).hash if corpus.columns else np.zeros(0, np.uint64)
        return ShardSurvey(
            corpus.n_sentences, corpus.n_tokens, labels,
            np.bincount(np.minimum(rows, len(labels)), minlength=len(labels) + 1)[:-1].tolist(),
            seen_pairs(rows, corpus.offset, len(labels)), len(corpus.columns),
            None if given is None else bool(given.val.size), np.unique(words), looks, corpus.source,
        )  # fmt: skip

    def count(self, plan: ShardPlan) -> tuple[Keys, Keys]:
        """The keys of the attributes by arity, and how often each occurs."""
        self.plan = plan
        encoder = None if plan.templates is None else Encoder(plan.templates, plan.resources, plan.settings.unicode)
        check_columns(self.corpus, encoder, SAME_COLUMNS)
        check_memory(self.corpus.offset, plan.shape, encoder)
        self.own = Collected(self.corpus, encoder)
        self.keys = {arity: keys_of(index) for arity, index in self.own.feature_indexes.items()}
        counts = {
            arity: np.bincount(self.own.actives[arity].att, minlength=keys.size) for arity, keys in self.keys.items()
        }
        return self.keys, counts

    def number(self, keys: Keys, counts: Keys) -> None:
        """Take the numbers of attributes, which are the places of their keys, and start learning. counts: of each
        attribute in all shards."""
        actives = {arity: self._renumbered(arity, all_keys) for arity, all_keys in keys.items()}
        indexes = {arity: index_by_number(own) for arity, own in keys.items()}
        plan, settings = self.plan, self.plan.settings
        known = training_mask(self.corpus, plan.labels)
        collected = Numbered(self.corpus, self.own.encoder, indexes, actives)
        data = collected.data(known.rows, allow_table(len(plan.labels), known.sets))
        request = TrainRequest(None, settings, plan.order, plan.resources, ends=plan.ends, names=False, threads=1)
        problem = TrainingData(
            collected, data, plan.shape, plan.allowed, plan.labels, None, settings, request, plan.scheme,
            sentences=plan.sentences,
        )  # fmt: skip
        if settings.chosen_learner.full_batch:
            self.objective = ChainObjective(starting_weights(problem)[0], data, 0.0)
            return
        learning, _ = start_learning(problem, LAST, None)
        check_shards(learning)
        if isinstance(learning, DescentLearning):
            learning.be_part_of(plan.sentences, [counts.get(arity, np.zeros(0, np.int64)) for arity in (1, 2, 3)])
        examples = np.arange(self.corpus.n_sentences)
        self.learner = ShardWorker(learning, examples, self.shard, settings.seed, plan.averages)
        self.learner.interrupt = self.interrupt
        self.learner.report = self.report  # type: ignore[method-assign]

    def _renumbered(self, arity: int, keys: np.ndarray) -> Active:
        """The attributes of the shard by their numbers; those without one are left out."""
        order = np.argsort(keys, kind="stable")
        ordered, own = keys[order], self.keys[arity]
        place = np.minimum(np.searchsorted(ordered, own), max(0, keys.size - 1))
        there = ordered[place] == own if keys.size else np.zeros(own.size, np.bool_)
        new = np.where(there, order[place] if keys.size else -1, -1).astype(np.int32)
        ptr, att, val = (array.copy() for array in self.own.actives[arity])
        z = keep_attributes(ptr, att, val, new)
        return Active(ptr, att[:z].copy(), val[:z] if val.size else val)

    def learn_pass(self, number: int, clock: float, news: Sequence[Changes]) -> ShardPass:
        """One pass over the shard."""
        return self.learner.learn_pass(number, clock, news)

    def gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray, int, int]:
        """Value and gradient f32[] of the negative log-likelihood of the shard, without penalty; wrong tokens,
        sentences without a path."""
        out = np.zeros(vector.size, np.float32)
        value = self.objective(writable(vector), out)
        return value, out, self.objective.wrong, self.objective.infeasible

    def names(self, arity: int, keys: np.ndarray) -> tuple[np.ndarray, Any, Any]:
        """Which of the keys the shard has, bool[], and bytes and offsets of their strings, in their order."""
        own = self.keys[arity]
        order = np.argsort(own, kind="stable")
        place = np.minimum(np.searchsorted(own[order], keys), max(0, own.size - 1))
        there = own[order][place] == keys if own.size else np.zeros(keys.size, np.bool_)
        local = order[place[there]] if own.size else np.zeros(0, np.int64)
        first = self.own.first
        self.own.first = {**first, arity: first[arity][local]}
        data, offset = self.own.names(arity)
        self.own.first = first
        return there, data, offset
