"""Training of a chain on data that need not fit into memory.

survey      count attributes, collect labels and words             survey.py, label_digest.py
settle      labels, tag scheme, attributes to keep                 here, label_blocks.py
encode      read again, write attribute numbers to mapped files    here, structures/chain/mapped.py
train       as in memory, in shuffled blocks                       online.py
            or by L-BFGS, block by block                           mapped_objective.py
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus
from palmette.data.labels.mask import check_fully_known, training_mask
from palmette.data.labels.partial import mark_partial_labels
from palmette.data.labels.schemes import Transitions
from palmette.data.scratch import Scratch, shown_size
from palmette.data.sources import Source
from palmette.data.stream import map_in_order
from palmette.errors import counted
from palmette.features.counting import index_of
from palmette.features.encode import Encoder
from palmette.kernels.chain.forms import Active, Data, no_active
from palmette.kernels.core.compile import check_compiled
from palmette.kernels.core.index import FeatureIndex
from palmette.kernels.io.columns import join_types
from palmette.options.chain import ChainOptions, ChainSettings
from palmette.options.learners import HiddenMarkov, MaxEnt
from palmette.options.spelling import named
from palmette.structures.chain.block_attributes import BlockAttributes, block_attributes
from palmette.structures.chain.constraints import constraints
from palmette.structures.chain.data import Collected, allow_table
from palmette.structures.chain.mapped import BlockOrder, MappedArray, MappedCorpus
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.search import BeamSearch, check_searchable
from palmette.structures.chain.weights import ARITIES, Shape
from palmette.training.chain.batch import Penalty
from palmette.training.chain.beam import check_beam
from palmette.training.chain.calibration import calibrate_on_dev
from palmette.training.chain.dev import for_beam, held_out
from palmette.training.chain.fit import finished, trained_chain
from palmette.training.chain.label_blocks import LabelBlocks, rows_of_cells, settle_scheme_of_blocks
from palmette.training.chain.mapped_objective import MappedObjective
from palmette.training.chain.objective import ChainObjective
from palmette.training.chain.prepare import (
    encoder_of,
    forbidden_pairs,
    labels_of,
    labels_shown,
    report_partial,
    report_size,
    shape_of,
    with_learner,
)
from palmette.training.chain.request import TrainingData, TrainRequest
from palmette.training.chain.start import starting_weights
from palmette.training.chain.survey import Pace, Survey
from palmette.training.checks import warn_of_same_labels
from palmette.training.lbfgs.minimise import bytes_needed
from palmette.training.memory import free_memory
from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)
PER_ATTRIBUTE = 64  # bytes besides weights
WEIGHT = 12  # bytes of a weight and its sum
ALL_MOVED = 4 + bytes_needed(1)  # of a weight in L-BFGS, where all attributes have some
MOVED = 0.5  # share of the attributes that get weights, as a rule at most


class AttributeStrings:
    """The strings of attributes in a scratch file, in the order in which they are met."""

    def __init__(self, scratch: Scratch, n: int) -> None:
        self.text = MappedArray(scratch, np.uint8)
        self.start, self.length = np.full(n, -1, np.int64), np.zeros(n, np.int32)

    def add(self, numbers: np.ndarray, data: np.ndarray, offset: np.ndarray) -> None:
        """The strings data[offset[k]:offset[k+1]] of attributes."""
        self.start[numbers] = self.text.size + offset[:-1]
        self.length[numbers] = np.diff(offset)
        self.text.append(data[: offset[-1]])

    def of(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bytes and offsets of the strings of some attributes i64[]."""
        start = self.start[numbers]
        text = self.text.array() if self.text.size else np.zeros(1, np.uint8)
        found: tuple[np.ndarray, np.ndarray] = join_types(text, start, start + self.length[numbers])
        return found


class CollectedOnDisk(Collected):
    """The attributes of a corpus in mapped files. `first` has the number of each attribute when it was encoded."""

    def __init__(
        self, corpus: Corpus, encoder: Encoder | None, indexes: Mapping[int, FeatureIndex],
        actives: Mapping[int, Active], found: Mapping[int, int], strings: Mapping[int, AttributeStrings],
    ) -> None:  # fmt: skip
        self.corpus, self.encoder, self.cells = corpus, encoder, None
        self.feature_indexes, self.actives = dict(indexes), dict(actives)
        self.first = {order: np.arange(index.size) for order, index in indexes.items()}
        self.found, self.moved, self.strings = dict(found), {}, dict(strings)

    def names(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        return self.strings[order].of(self.first[order])


class _Encoded(NamedTuple):
    """A block, encoded with the attributes of the whole corpus."""

    offset: np.ndarray
    weight: np.ndarray | None
    actives: dict[int, Active]
    names: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]  # order, attributes, and their strings


class _Encoding:
    """The second pass."""

    def __init__(self, survey: Survey, indexes: Mapping[int, FeatureIndex], request: TrainRequest) -> None:
        self.survey, self.indexes, self.names = survey, indexes, request.names
        self.mapped = MappedCorpus(survey.scratch, list(indexes), survey.valued)
        self.strings = {
            order: AttributeStrings(survey.scratch, index.size if request.names else 0)
            for order, index in self.indexes.items()
        }

    def run(self, labels: LabelBlocks, rows: np.ndarray, threads: int) -> None:
        pace, source = Pace("encoding"), self.survey.source
        for block in map_in_order(self._work, source.pieces(), threads):
            if block is None:
                continue
            for order, numbers, text, offset in block.names:
                self.strings[order].add(numbers, text, offset)
            first = self.mapped.tokens
            known = rows[labels.cells(first, first + int(block.offset[-1]))]
            self.mapped.append(block.offset, known, block.weight, block.actives)
            pace.at(self.mapped.tokens)
        most = shown_size(self.survey.scratch.most)
        logger.info(
            "encoded in %.1f s; the scratch files take %s on disk (in %s)",
            pace.seconds, most, self.survey.scratch.folder,
        )  # fmt: skip

    def _work(self, piece: Any) -> _Encoded | None:
        corpus = self.survey.source.corpus(piece)
        if not corpus.n_tokens:
            return None
        actives: dict[int, Active] = {}
        names: list[Any] = []
        for own in block_attributes(corpus, self.survey.encoder):
            if own.order not in self.indexes:
                continue
            actives[own.order], numbers = own.numbered(self.indexes[own.order])
            if self.names:
                names += self._new_names(corpus, own, numbers)
        return _Encoded(corpus.offset, corpus.weight, actives, names)

    def _new_names(self, corpus: Corpus, own: BlockAttributes, numbers: np.ndarray) -> Iterator[Any]:
        """The strings of attributes that have none yet. Two blocks may find the same one: it has one string."""
        there = np.flatnonzero(numbers >= 0)
        new = there[self.strings[own.order].start[numbers[there]] < 0]
        if new.size:
            yield own.order, numbers[new], *own.names(corpus, self.survey.encoder, new)


def obstacle(settings: ChainSettings) -> str | None:
    """What of the settings needs all data in memory; None: nothing."""
    learner = settings.chosen_learner
    if isinstance(learner, HiddenMarkov):
        return "an hmm is counted in memory"
    seen = [
        name for name in ("state_features", "edge_features", "transition_features") if getattr(settings, name) != "all"
    ]
    if seen or settings.min_feature_count > 1:
        name = seen[0] if seen else "min_feature_count"
        return f"{named(ChainOptions, name)} looks at all data at once; leave it out"
    return None


class _Settled(NamedTuple):
    """What the first pass decides."""

    settings: ChainSettings
    labels: list[str]
    scheme: str | None
    rows: np.ndarray  # i32[cells]  the mask row of each label cell of the digest
    allow: np.ndarray  # bool[G, Y]
    allowed: Transitions
    shape: Shape


def fit_out_of_core(
    source: Source, begun: tuple[Corpus, Iterable[Any]], dev: Corpus | None, request: TrainRequest, scratch: Scratch
) -> tuple[ChainModel, TrainResult]:
    """Train a chain on a source. `begun`: its first block, and the pieces that follow."""
    check_compiled("training")
    threads = request.n_threads
    encoder = encoder_of(request)
    survey = Survey(source, encoder, request.settings.unicode, scratch)
    survey.run(chain([begun[0]], begun[1]), threads)
    blocks, whole = LabelBlocks(survey.labels, survey.offset()), _stand_in(survey)
    settled = _settled(survey, blocks, whole, request)
    indexes, found = _indexes(survey, settled)
    encoding = _Encoding(survey, indexes, request)
    encoding.run(blocks, settled.rows, threads)
    survey.labels.close()
    offset, known, weight, actives = encoding.mapped.arrays()
    collected = CollectedOnDisk(whole, encoder, indexes, actives, found, encoding.strings)
    settings, labels, scheme, rows, allow, allowed, shape = settled
    report_size(collected, shape, settings, labels_shown(labels, scheme))
    report_partial(int(survey.digest.counts[rows >= len(labels)].sum()), survey.tokens)
    on_dev = held_out(dev, encoder, collected.feature_indexes, labels, settings, scheme)
    if settings.beam is not None:
        beam = BeamSearch(settings.beam.width, bool(settings.beam.recombine))
        on_dev = for_beam(on_dev, dev, beam, collected)
    data = _data(offset, known, allow, weight, actives)
    order = BlockOrder(encoding.mapped, offset)
    problem = TrainingData(
        collected, data, shape, allowed, labels, on_dev, settings, request, scheme, order, whole.n_sentences
    )
    make = partial(_objective, encoding.mapped, scratch) if settings.chosen_learner.full_batch else None
    trained = trained_chain(problem, make)._replace(state=dict)  # the sums of the weights are no longer needed
    extremes = _data(np.array([0, 1]), np.zeros(1, np.int32), allow, weight, encoding.mapped.extremes())
    model, outcome = finished(whole, problem._replace(data=extremes), scheme, trained)
    calibrate_on_dev(model, dev)
    return model, outcome


def _objective(mapped: MappedCorpus, scratch: Scratch, problem: TrainingData, penalty: Penalty) -> ChainObjective:
    chain, _, _ = starting_weights(problem)
    return MappedObjective(chain, problem.data, penalty.l2, problem.request.n_threads, mapped, scratch)


def _settled(survey: Survey, blocks: LabelBlocks, whole: Corpus, request: TrainRequest) -> _Settled:
    """Labels, tag scheme, learner and shape, as training in memory finds them."""
    settings = request.settings.resolved()
    digest = survey.digest.corpus()
    mark_partial_labels(digest, settings.partial)
    digest, scheme = settle_scheme_of_blocks(digest, survey.digest, blocks, settings.constraints)
    labels = labels_of(digest, None)
    warn_of_same_labels(labels)
    settings = with_learner(settings, whole, None, len(labels)).with_batch_size_for(whole.n_sentences)
    known = training_mask(digest, labels)
    if isinstance(settings.learner, MaxEnt):
        check_fully_known(known, digest, len(labels))
    if settings.beam is not None:
        check_beam(known.rows, digest, len(labels))
    allowed = constraints(labels, known.rows, digest, scheme, settings.constraints, forbidden_pairs(request))
    check_searchable(survey.encoder, settings.search.kind)  # type: ignore[union-attr]
    shape = shape_of(labels, survey.encoder, request)
    check_memory(blocks.offset, shape, survey.encoder)
    rows = rows_of_cells(digest, labels, survey.digest)
    return _Settled(settings, labels, scheme, rows, allow_table(len(labels), known.sets), allowed, shape)


def _indexes(survey: Survey, settled: _Settled) -> tuple[dict[int, FeatureIndex], dict[int, int]]:
    """The feature indexes of the attributes that are frequent enough, if memory has room for their weights and the disk
    for the encoded data; and how many attributes of each order there are at all."""
    free, settings = free_memory(), settled.settings
    made, found, occurrences = {}, {}, 0
    for order, counts in survey.counts.items():
        width = settled.shape.width(order) if order in ARITIES else 0
        each = ALL_MOVED if settings.chosen_learner.full_batch else MOVED * WEIGHT
        room = None if free is None else int(free / (PER_ATTRIBUTE + each * width))
        kept = counts.kept(settings.min_count, settings.max_attributes, room)
        counts.clear()
        occurrences += int(kept.counts.sum())
        made[order], found[order] = index_of(kept.keys), kept.found
    size = (4 + 8 * len(made)) * survey.tokens + (8 if survey.valued else 4) * occurrences
    survey.scratch.check_room(size, f"the attributes of {counted(survey.tokens, 'token')}")
    return made, found


def _stand_in(survey: Survey) -> Corpus:
    """A corpus with the size, the words and the kind of the data, without its cells."""
    none, no_places = np.zeros(0, np.int32), np.zeros(0, np.int64)
    hashes = survey.words.settle()
    words = Column(none, np.zeros(1, np.uint8), no_places, no_places, hashes, hashes)
    val = np.ones(1 if survey.valued else 0, np.float32)
    return Corpus(
        survey.offset(), [words] if hashes.size else [], source=survey.source.name,
        attributes=Attributes(no_places, words, val) if survey.encoder is None else None,
    )  # fmt: skip


def _data(
    offset: np.ndarray, known: np.ndarray, allow: np.ndarray, weight: np.ndarray, actives: Mapping[int, Active]
) -> Data:
    one, two, three = (actives.get(arity, no_active()) for arity in ARITIES)
    if 1 not in actives:  # no label features at all: every token has an empty list
        one = Active(np.zeros(known.size + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    return Data(offset, known, allow, weight, (one, two, three))
