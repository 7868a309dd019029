"""Training on data that need not fit into memory: the scale `Disk`.

survey      count attributes, collect labels and words             survey.py
encode      read again, write attribute numbers to mapped files    here, structures/chain/mapped.py
train       passes in shuffled blocks, or L-BFGS block by block    here, `MappedObjective`
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus
from palmette.data.labels.mask import mark_partial_labels
from palmette.data.scratch import Scratch, shown_size
from palmette.data.sources import PieceSource
from palmette.data.stream import map_in_order
from palmette.errors import DataError, counted
from palmette.features.counting import index_of
from palmette.features.encode import Encoder
from palmette.kernels.chain.forms import Active, Chain, Data, no_active
from palmette.kernels.core.hashing import FeatureIndex
from palmette.kernels.io.columns import join_types
from palmette.options.chain import ChainSettings
from palmette.structures.chain.data import Collected
from palmette.structures.chain.mapped import (
    DONE,
    BlockAttributes,
    BlockOrder,
    Features,
    MappedArray,
    MappedCorpus,
    block_attributes,
)
from palmette.structures.chain.weights import ARITIES
from palmette.training.chain.dev import check_labelled
from palmette.training.chain.finish import about_data
from palmette.training.chain.objective import Block, ChainObjective, Occurrences
from palmette.training.chain.request import Plan, TrainingData, TrainRequest
from palmette.training.chain.scale import ONE_PROCESS, Scale, problem_of
from palmette.training.chain.settle import HMM, Survey, chosen, report_partial, report_size
from palmette.training.chain.start import starting_weights
from palmette.training.chain.survey import BlockSurvey, LabelBlocks, Pace, rows_of_cells, settle_scheme_of_blocks
from palmette.training.chain.train import Penalty
from palmette.training.lbfgs import bytes_needed
from palmette.training.memory import free_memory

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

    def __init__(
        self, survey: BlockSurvey, encoder: Encoder | None, indexes: Mapping[int, FeatureIndex], names: bool
    ) -> None:
        self.survey, self.encoder, self.indexes, self.names = survey, encoder, indexes, names
        self.mapped = MappedCorpus(survey.scratch, list(indexes), survey.valued)
        self.strings = {
            order: AttributeStrings(survey.scratch, index.size if names else 0) for order, index in self.indexes.items()
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
        for own in block_attributes(corpus, self.encoder):
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
            yield own.order, numbers[new], *own.names(corpus, self.encoder, new)


class DiskSurvey(Survey):
    """What the first pass over blocks finds."""

    def __init__(self, blocks: BlockSurvey, first: Corpus, request: TrainRequest) -> None:
        """first: the first block."""
        super().__init__(blocks.digest.corpus(), request)
        self.blocks, self.first = blocks, first
        self.cells = LabelBlocks(blocks.labels, blocks.offset())

    @property
    def offset(self) -> np.ndarray:
        return self.cells.offset

    @property
    def valued(self) -> bool:
        return self.blocks.valued

    def partial(self, settings: ChainSettings) -> bool | None:
        mark_partial_labels(self.labelled, settings.partial)
        return settings.partial

    def scheme(self, settings: ChainSettings) -> str | None:
        self.labelled, scheme = settle_scheme_of_blocks(
            self.labelled, self.blocks.digest, self.cells, str(settings.constraints)
        )
        return scheme

    def stand_in(self) -> Corpus:
        """A corpus with the size, the words and the kind of the data, without its cells."""
        none, no_places = np.zeros(0, np.int32), np.zeros(0, np.int64)
        hashes = self.blocks.words.settle()
        words = Column(none, np.zeros(1, np.uint8), no_places, no_places, hashes, hashes)
        val = np.ones(1 if self.valued else 0, np.float32)
        return Corpus(
            self.offset, [words] if hashes.size else [], source=self.blocks.source.name,
            attributes=Attributes(no_places, words, val) if self.encoder is None else None,
        )  # fmt: skip


class Disk(Scale):
    """Data in blocks, on disk."""

    refuses: ClassVar[Mapping[str, str]] = ONE_PROCESS | {
        HMM: "an hmm is counted in memory",
        "dev_share": "a training out of core cannot draw from all sentences: give development data",
        **dict.fromkeys(
            ("state_features", "edge_features", "transition_features", "min_feature_count"),
            "looks at all data at once, which a training out of core does not; leave it out",
        ),
        **dict.fromkeys(("resume", "checkpoint"), "needs all data in memory, not out of core"),
    }

    def __init__(self, scratch: Scratch) -> None:
        self.held = self.scratch = scratch
        self.mapped: MappedCorpus | None = None

    def survey(self, source: PieceSource, request: TrainRequest) -> DiskSurvey:
        """Read all blocks. The first one decides what the data is checked for and, if the user does not, which
        templates read it."""
        pieces = source.pieces()
        first = next((block for block in map(source.corpus, pieces) if block.n_tokens), None)
        if first is None:
            raise DataError("the training data has no sentences", file=source.name)
        check_labelled(first, "training")
        request = chosen(request, first)
        blocks = BlockSurvey(source, request.encoder(), str(request.settings.unicode), self.scratch)
        blocks.run(chain([first], pieces), request.n_threads)
        return DiskSurvey(blocks, first, request)

    def encode(self, survey: DiskSurvey, plan: Plan, dev: Corpus | None) -> TrainingData:
        blocks, whole = survey.blocks, survey.stand_in()
        rows = rows_of_cells(survey.labelled, plan.labels, blocks.digest)
        indexes, found = _indexes(blocks, plan)
        encoding = _Encoding(blocks, plan.encoder, indexes, plan.request.names)
        encoding.run(survey.cells, rows, plan.request.n_threads)
        blocks.labels.close()
        mapped = self.mapped = encoding.mapped
        offset, known, weight, actives = mapped.arrays()
        collected = CollectedOnDisk(whole, plan.encoder, indexes, actives, found, encoding.strings)
        report_size(collected, plan)
        report_partial(int(blocks.digest.counts[rows >= len(plan.labels)].sum()), blocks.tokens)
        extremes = _data(np.array([0, 1]), np.zeros(1, np.int32), plan.allow, weight, mapped.extremes())
        return problem_of(
            plan, collected, _data(offset, known, plan.allow, weight, actives), dev, order=BlockOrder(mapped, offset),
            sentences=whole.n_sentences, extremes=extremes, about=about_data(survey.first),
            vocabulary=np.sort(blocks.words.settle()),
        )  # fmt: skip

    def objective(self, problem: TrainingData, penalty: Penalty) -> ChainObjective:
        assert self.mapped is not None
        chain, _, _ = starting_weights(problem)
        return MappedObjective(chain, problem.data, penalty.l2, problem.request.n_threads, self.mapped, self.scratch)


def _indexes(survey: BlockSurvey, plan: Plan) -> tuple[dict[int, FeatureIndex], dict[int, int]]:
    """The feature indexes of the attributes that are frequent enough, if memory has room for their weights and the disk
    for the encoded data; and how many attributes of each order there are at all."""
    free, settings = free_memory(), plan.settings
    made, found, occurrences = {}, {}, 0
    for order, counts in survey.counts.items():
        width = plan.shape.width(order) if order in ARITIES else 0
        each = ALL_MOVED if settings.chosen_learner.full_batch else MOVED * WEIGHT
        room = None if free is None else int(free / (PER_ATTRIBUTE + each * width))
        kept = counts.kept(settings.min_count, settings.max_attributes, room)
        counts.clear()
        occurrences += int(kept.counts.sum())
        made[order], found[order] = index_of(kept.keys), kept.found
    size = (4 + 8 * len(made)) * survey.tokens + (8 if survey.valued else 4) * occurrences
    survey.scratch.check_room(size, f"the attributes of {counted(survey.tokens, 'token')}")
    return made, found


def _data(
    offset: np.ndarray, known: np.ndarray, allow: np.ndarray, weight: np.ndarray, actives: Mapping[int, Active]
) -> Data:
    one, two, three = (actives.get(arity, no_active()) for arity in ARITIES)
    if 1 not in actives:  # no label features at all: every token has an empty list
        one = Active(np.zeros(known.size + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    return Data(offset, known, allow, weight, (one, two, three))


# The likelihood of a corpus on disk, for a batch optimiser: that of objective.py, bit for bit, block by block of
# sentences.
#
# The corpus is mapped. The tokens of each attribute, which gradients are gathered by, are written to scratch files
# once. The pages of a block that is done are given back: memory has the weights, the vectors of the optimiser, and the
# tables and pages of one block.


class _Place(NamedTuple):
    """Where the tokens of the attributes of one arity and one block begin in the scratch files."""

    ptr: int
    tokens: int
    n_tokens: int


class MappedObjective(ChainObjective):
    """Value and gradient over a mapped corpus."""

    def __init__(
        self, chain: Chain, data: Data, l2: float, threads: int, corpus: MappedCorpus, scratch: Scratch
    ) -> None:
        self.corpus = corpus
        size = sum((8 if own.val.size else 4) * own.att.size for own in data.features)
        scratch.check_room(size, f"the tokens of the attributes of {counted(data.known.size, 'token')}")
        self.inverse = [_files(scratch, own.val.size > 0) for own in data.features]
        self.places: dict[int, list[_Place | None]] = {}  # by the first token of a block
        super().__init__(chain, data, l2, threads)
        self.work = [block._replace(attributes=self._mapped(block)) for block in self.work]

    def block(self, first: int, last: int) -> Block:
        """The block of sentences first..last, whose attributes are written to disk."""
        made = super().block(first, last)
        places: list[_Place | None] = []
        kept: list[Occurrences | None] = []
        for of, files in zip(made.attributes, self.inverse, strict=True):
            if of is None:
                places.append(None)
                kept.append(None)
                continue
            ptr, att, val = of.tokens
            places.append(_Place(files.ptr.size, files.att.size, att.size))
            files.ptr.append(ptr)
            files.att.append(att)
            if files.val is not None:
                files.val.append(val)
            kept.append(of._replace(tokens=Active(ptr[:0], att[:0], val[:0])))
        self.places[made.start] = places
        self._release_data(made)
        return made._replace(attributes=kept)

    def _mapped(self, block: Block) -> list[Occurrences | None]:
        """The attributes of a block in the mapped files."""
        found: list[Occurrences | None] = []
        rows = zip(block.attributes, self.places[block.start], self.inverse, self.chain.weights, strict=True)
        for of, place, files, weights in rows:
            if of is None or place is None:
                found.append(None)
                continue
            tokens = slice(place.tokens, place.tokens + place.n_tokens)
            ptr = files.ptr.array()[place.ptr : place.ptr + weights.slot.size + 1]
            val = np.zeros(0, np.float32) if files.val is None else files.val.array()[tokens]
            found.append(of._replace(tokens=Active(ptr, files.att.array()[tokens], val)))
        return found

    def leave(self, block: Block) -> None:
        """Give back the pages of a block that is done."""
        self._release_data(block)
        for place, files, weights in zip(self.places[block.start], self.inverse, self.chain.weights, strict=True):
            if place is not None:
                files.ptr.advise(place.ptr, place.ptr + weights.slot.size + 1, DONE)
                for array in (files.att, files.val):
                    if array is not None:
                        array.advise(place.tokens, place.tokens + place.n_tokens, DONE)

    def _release_data(self, block: Block) -> None:
        first, last = block.start, block.start + block.tokens
        self.corpus.known.advise(first, last, DONE)
        for own in self.corpus.features.values():
            ptr = own.ptr.array()
            places = int(ptr[first]), int(ptr[last])
            own.ptr.advise(first, last + 1, DONE)
            for array in (own.att, own.val):
                if array is not None:
                    array.advise(*places, DONE)


def _files(scratch: Scratch, valued: bool) -> Features:
    val = MappedArray(scratch, np.float32) if valued else None
    return Features(MappedArray(scratch, np.int64), MappedArray(scratch, np.int32), val)
