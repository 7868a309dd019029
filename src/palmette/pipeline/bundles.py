"""A model whose labels are bundles of parts, and how it is learnt; see pipeline/kernels/bundles.py.

Weights are on pairs of an attribute and a part, so that memory grows with what was seen together and not with labels
times attributes, and labels that share parts learn from each other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data import array_specs
from palmette.data.array_specs import AddsUpTo, ArraySpec, CheckedArrays, Offsets
from palmette.data.corpus import Corpus
from palmette.data.model_file import AGAIN
from palmette.data.text import NFC
from palmette.errors import ModelError
from palmette.features.encode import Encoder, in_order_of_keys, kept_attributes, without_keys
from palmette.features.resources import Resources
from palmette.kernels.chain.forms import Active
from palmette.kernels.core.hashing import FeatureIndex
from palmette.kernels.encode.encode import HERE
from palmette.pipeline.kernels.bundles import (
    Bundles,
    PartWeights,
    SmallWeights,
    list_bundles,
    tag_bundles,
    train_bundles,
)
from palmette.pipeline.known_words import SHORT
from palmette.structures.chain.data import ONES, Collected
from palmette.structures.chain.session import PLAIN, AttributeReader, CellReader, reader_for
from palmette.structures.stored import (
    Count,
    StoredTemplates,
    index_specs,
    pack_encoder,
    pack_index,
    unpack_encoder,
    unpack_index,
)
from palmette.structures.training_log import Epoch
from palmette.training.result import Progress

LARGEST = np.iinfo(np.int16).max  # of weights, parts and places of an attribute
_SLICE = 20_000  # tokens that are learnt from between two looks at signals and progress


class BundleModel(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Attributes, labels and weights."""

    encoder: Encoder
    attributes: FeatureIndex
    bundles: Bundles
    weights: SmallWeights
    n_parts: int
    unit: float  # what 1, the cost of a wrong label in training, is as a score

    def tag(self, corpus: Corpus, group: np.ndarray) -> np.ndarray:
        """The label i32[N] of each token, among those of its group i32[N]."""
        found = np.zeros(corpus.n_tokens, np.int32)
        tag_bundles(self.bundles, self.weights, self._encoded(corpus), group, self.n_parts, found)
        return found

    def best(self, corpus: Corpus, group: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The n best labels i32[N, n] of each token, -1 where there are no more, and their scores i32[N, n]."""
        found, scores = np.zeros((corpus.n_tokens, n), np.int32), np.zeros((corpus.n_tokens, n), np.int32)
        list_bundles(self.bundles, self.weights, self._encoded(corpus), group, self.n_parts, found, scores)
        return found, scores

    def _encoded(self, corpus: Corpus) -> Active:
        if corpus.n_tokens <= SHORT and (self._reads_one_token or corpus.n_sentences == 1):
            reader = self._reader
            if reader is not None and reader.read_columns([column.cells() for column in corpus.columns]) == PLAIN:
                return reader.actives[0]
        cells = self.encoder.cells(corpus)
        ptr, att, _, _ = self.encoder.encode(1, cells, corpus.offset, self.attributes, grow=False)
        return Active(ptr, att, ONES)

    @cached_property
    def _reads_one_token(self) -> bool:
        """Whether sentences do not matter."""
        program = self.encoder.programs[1]
        return not program.row.any() and bool((program.anchor == HERE).all())

    @cached_property
    def _local(self) -> threading.local:
        return threading.local()

    @property
    def _reader(self) -> CellReader | None:
        """What this thread reads short texts with; its arrays are written anew by each of them."""
        if not hasattr(self._local, "reader"):
            made = reader_for(self.encoder, {1: self.attributes})
            assert not isinstance(made, AttributeReader)
            if made is not None:
                made.resize(SHORT)
            self._local.reader = made
        found: CellReader | None = self._local.reader
        return found


class Lesson(NamedTuple):
    """What is learnt: the label of each token, and the group of labels among which it is to be found."""

    bundles: Bundles
    gold: np.ndarray  # i32[N]
    group: np.ndarray  # i32[N]

    @property
    def n_parts(self) -> int:
        return 1 + int(self.bundles.part.max(initial=-1))


class Schedule(NamedTuple):
    """How it is learnt."""

    passes: int
    seed: int
    cap: float  # of a step
    min_count: int = 1  # of attributes


def lists_of(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Lists of numbers as first i64[rows+1] and i32[all of them]."""
    first = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return first, np.array([k for row in rows for k in row], np.int32)


def learn_bundles(
    corpus: Corpus, encoder: Encoder, lesson: Lesson, schedule: Schedule, progress: Progress | None = None
) -> BundleModel:
    """The model of a corpus. Weights are the mean of those after every token."""
    collected = Collected(corpus, encoder, None, schedule.min_count)
    x, n_attributes = collected.actives[1], collected.feature_indexes[1].size
    first, part = _seen(x, n_attributes, lesson)
    w = PartWeights(first, part, np.zeros(part.size, np.float32), np.zeros(part.size, np.float64))
    steps = 1.0
    for number in range(1, schedule.passes + 1):
        steps = _one_pass(number, w, x, lesson, schedule, steps, progress)
    mean = w.w - w.a / steps
    most = float(np.abs(mean).max(initial=0.0))
    unit = LARGEST / most if most else 1.0
    small = np.rint(mean * unit).astype(np.int16)
    index, weights = _without_zeros(collected.feature_indexes[1], first, part, small)
    return BundleModel(encoder, index, lesson.bundles, weights, lesson.n_parts, unit)


def _one_pass(
    number: int, w: PartWeights, x: Active, lesson: Lesson, schedule: Schedule, steps: float, progress: Progress | None
) -> float:
    n, start, wrong = lesson.gold.size, time.perf_counter(), 0
    permutation = np.random.default_rng([schedule.seed, number]).permutation(n)
    for begin in range(0, n, _SLICE):
        end = min(n, begin + _SLICE)
        steps, missed = train_bundles(
            lesson.bundles, w, x, lesson.group, lesson.gold, permutation, begin, end, schedule.cap, steps
        )  # fmt: skip
        wrong += missed
        if progress is not None and end < n:
            progress(number, end, n, None)
    if progress is not None:
        progress(number, n, n, Epoch(number, wrong, wrong, 1.0 - wrong / max(1, n), time.perf_counter() - start))
    return steps


def _seen(x: Active, n_attributes: int, lesson: Lesson) -> tuple[np.ndarray, np.ndarray]:
    """The parts that each attribute occurs with: first i64[A+1] and part i32[]."""
    bundles = lesson.bundles
    n_labels = bundles.first.size - 1
    label = np.repeat(lesson.gold.astype(np.int64), np.diff(x.ptr))
    pairs = np.unique(x.att * np.int64(n_labels) + label)
    att, label = pairs // n_labels, pairs % n_labels
    size = np.diff(bundles.first)[label]
    end = np.cumsum(size)
    place = np.arange(int(size.sum())) - np.repeat(end - size, size) + np.repeat(bundles.first[label], size)
    pairs = np.unique(np.repeat(att, size) * lesson.n_parts + bundles.part[place])
    first = np.searchsorted(pairs, np.arange(n_attributes + 1) * np.int64(lesson.n_parts))
    return first.astype(np.int64), (pairs % lesson.n_parts).astype(np.int32)


def _without_zeros(
    index: FeatureIndex, first: np.ndarray, part: np.ndarray, w: np.ndarray
) -> tuple[FeatureIndex, SmallWeights]:
    """The attributes that have weights, in the order of their keys, and these weights."""
    size = np.diff(np.concatenate(([0], np.cumsum(w != 0)))[first])
    kept = kept_attributes(index, size > 0)
    part, w, size = part[w != 0], w[w != 0], size[size > 0]
    made = in_order_of_keys(kept)
    if made is None:  # two keys share the bits that sorted ones compare: a hash table has them all
        return kept, SmallWeights(starts(size), part.astype(np.int16), w)
    kept, order = made
    end = np.cumsum(size)
    place = np.repeat((end - size)[order], size[order])
    size = size[order]
    place += np.arange(place.size) - np.repeat(np.cumsum(size) - size, size)
    return kept, SmallWeights(starts(size), part[place].astype(np.int16), w[place])


SHARES = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)  # of the weights


def compact_bundles(model: BundleModel, score: Callable[[BundleModel], float], most_loss: float) -> BundleModel:
    """Return the model without its smallest weights: without the largest of SHARES that loses at most `most_loss` of
    the score."""
    before, made = score(model), model
    for share in SHARES:
        less = _without_small(model, share)
        if before - score(less) > most_loss:
            break
        made = less
    return made


def _without_small(model: BundleModel, share: float) -> BundleModel:
    """Return the model without a share of its weights, the smallest ones."""
    first, part, w = model.weights
    size = np.abs(w.astype(np.int32))
    least = float(np.quantile(size, share)) if size.size else 0.0
    index, weights = _without_zeros(model.attributes, first, part, np.where(size >= least, w, np.int16(0)))
    return msgspec.structs.replace(model, attributes=index, weights=weights)


def starts(sizes: np.ndarray) -> np.ndarray:
    """Where pieces of these sizes begin, and the end: i64[pieces+1]."""
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


# Models of bundles as arrays and metadata, to and from a file. The parts of the labels are not stored: they are made of
# the labels again.

_INDEX = "attribute"


class BundleMeta(msgspec.Struct, frozen=True):
    """The metadata that is stored with the arrays."""

    templates: StoredTemplates
    attributes: Count
    unit: float


class Rising(msgspec.Struct, frozen=True):
    """Strictly rising."""

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        return None if bool((array[1:] > array[:-1]).all()) else "does not rise strictly"


def _specs(arrays: Mapping[str, np.ndarray]) -> tuple[ArraySpec, ...]:
    return (
        *index_specs(_INDEX, arrays),
        ArraySpec("weights.part", np.int16, ("places",), low=0, high="parts"),
        ArraySpec("weights.w", np.int16, ("places",)),
        ArraySpec("weights.size", np.int16, (f"{_INDEX}.A",), low=1, rules=(AddsUpTo("places"),)),
        ArraySpec("group.member", np.int32, ("members",), low=0, high="labels"),
        ArraySpec("group.begin", np.int64, ("groups+1",), rules=(Offsets("members"), Rising())),
    )


def bundle_parts(model: BundleModel) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model."""
    arrays = pack_index(_INDEX, without_keys(model.attributes)) | {
        "weights.part": model.weights.part,
        "weights.w": model.weights.w,
        "weights.size": np.diff(model.weights.first).astype(np.int16),
        "group.member": model.bundles.member,
        "group.begin": model.bundles.begin,
    }
    templates = pack_encoder(model.encoder)["templates"]
    return arrays, {"templates": templates, "attributes": model.attributes.size, "unit": model.unit}


def bundle_from_parts(
    arrays: Mapping[str, np.ndarray], meta: BundleMeta, labels: Sequence[Sequence[int]], n_columns: int, source: str
) -> BundleModel:
    """The model that `bundle_parts` stored, all of it checked. `labels` has the parts of each label; the templates may
    read so many columns."""
    n_parts = 1 + max((part for row in labels for part in row), default=-1)
    begin = arrays.get("group.begin")
    groups = begin.size - 1 if begin is not None else 0
    if n_parts > LARGEST or not np.isfinite(meta.unit):
        raise ModelError("damaged model: its labels or its scores are out of range", file=source, hint=AGAIN)
    sizes = {"parts": n_parts, "labels": len(labels), "groups": groups, f"{_INDEX}.A": meta.attributes}
    found = array_specs.unpack(arrays, _specs(arrays), sizes, source)
    unknown = arrays.keys() - found.keys()
    if unknown:
        raise ModelError(f"damaged model: the array {min(unknown)[:60]!r} is not expected", file=source, hint=AGAIN)
    return BundleModel(
        _encoder(meta.templates, n_columns, source), unpack_index(found, _INDEX, meta.attributes),
        Bundles(*lists_of(labels), found["group.begin"], found["group.member"]),
        SmallWeights(starts(found["weights.size"]), found["weights.part"], found["weights.w"]), n_parts, meta.unit,
    )  # fmt: skip


def _encoder(templates: StoredTemplates, n_columns: int, source: str) -> Encoder:
    encoder = unpack_encoder(templates, Resources(), NFC, source)
    if encoder.n_columns > n_columns or set(encoder.programs) != {1}:
        raise ModelError("damaged model: templates that read other columns or labels", file=source, hint=AGAIN)
    return encoder
