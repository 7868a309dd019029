"""A corpus as the chain kernels want it: known labels, and the attributes of each token by order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from palmette.data.corpus import Attributes, Corpus, wants_exact_values
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError, either
from palmette.features.encode import Encoder, growing, kept_attributes, new_feature_index
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import Active, Chain, Data, no_active, no_weights
from palmette.kernels.chain.gather import inverted, seen_labels
from palmette.kernels.core.hashing import FeatureIndex, add_all, find_all, hash_index, mixed_all, renumbered
from palmette.kernels.encode.encode import TemplateCells, keep_attributes
from palmette.kernels.io.columns import join_types
from palmette.options.spelling import spelt
from palmette.structures.chain.lists import without_zeros
from palmette.structures.chain.stored_rows import chosen_rows, is_stored
from palmette.structures.chain.weights import ARITIES, Seen, Shape

ONES = np.zeros(0, np.float32)


def allow_table(n_labels: int, extra: np.ndarray | None = None) -> np.ndarray:
    """bool[G, Y]: row y allows label y alone, row Y everything; then the sets in `extra`."""
    table = np.zeros((n_labels + 1 + (0 if extra is None else extra.shape[0]), n_labels), np.bool_)
    np.fill_diagonal(table[:n_labels], True)
    table[n_labels] = True
    if extra is not None:
        table[n_labels + 1 :] = extra
    return table


def encode_corpus(
    corpus: Corpus,
    encoder: Encoder | None,
    feature_indexes: Mapping[int, FeatureIndex],
    known: np.ndarray,
    allow: np.ndarray,
) -> Data:
    """A corpus for tagging: attributes that the feature indexes lack are left out."""
    actives = {}
    if encoder is None:
        actives[1] = _known_attributes(corpus, feature_indexes[1])
    else:
        cells = encoder.cells(corpus)
        for order in encoder.programs:
            if order != LABEL_CONTEXT:
                actives[order] = _locked(corpus, encoder, cells, feature_indexes, order)
    return _data(corpus, known, allow, actives)


def encode_contexts(corpus: Corpus, encoder: Encoder | None, feature_indexes: Mapping[int, FeatureIndex]) -> Active:
    """What templates that read earlier labels see of the observations; nothing where there are none."""
    if encoder is None or LABEL_CONTEXT not in encoder.programs:
        return no_active()
    return _locked(corpus, encoder, encoder.cells(corpus), feature_indexes, LABEL_CONTEXT)


def _locked(
    corpus: Corpus, encoder: Encoder, cells: TemplateCells, feature_indexes: Mapping[int, FeatureIndex], order: int
) -> Active:
    ptr, att, _, _ = encoder.encode(order, cells, corpus.offset, feature_indexes[order], grow=False)
    return Active(ptr, att, ONES)


def _attributes_of(corpus: Corpus) -> Attributes:
    if corpus.attributes is None:
        raise DataError(
            "the model was trained on ready-made attributes, and this input has columns",
            file=corpus.source,
            hint=f"give a CRFsuite attribute file ({spelt(FormatSpec, 'format', 'attributes')})"
            + either(", or dictionaries", ""),
        )
    return corpus.attributes


def _data(corpus: Corpus, known: np.ndarray, allow: np.ndarray, actives: Mapping[int, Active]) -> Data:
    weight = corpus.weight if corpus.weight is not None else np.ones(corpus.n_sentences, np.float32)
    one, two, three = (actives.get(arity, no_active()) for arity in ARITIES)
    if 1 not in actives:  # no label features at all: every token has an empty list
        one = Active(np.zeros(corpus.n_tokens + 1, np.int64), np.zeros(0, np.int32), ONES)
    return Data(corpus.offset, known, allow, weight.astype(np.float32), (one, two, three))


def _known_attributes(corpus: Corpus, feature_index: FeatureIndex) -> Active:
    found = corpus.found
    if found is not None and found.index is feature_index:
        return Active(found.ptr, found.att, found.val)
    given = _attributes_of(corpus)
    numbers = find_all(feature_index, mixed_all(given.names.hash))
    if given.rest.size and wants_exact_values(feature_index):
        ptr, att, val = _in_two_parts(given)
    else:
        ptr, att, val = given.ptr.copy(), given.names.ids.copy(), given.val.copy()
    z = keep_attributes(ptr, att, val, numbers)
    return Active(ptr, att[:z], val[:z] if val.size else val)


def _in_two_parts(given: Attributes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attributes (ptr, type, value); what float32 leaves of a value is the value of the same attribute once more."""
    more = np.flatnonzero(given.rest)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(given.rest != 0)))
    att = np.insert(given.names.ids, more + 1, given.names.ids[more])
    return given.ptr + before[given.ptr], att, np.insert(given.val, more + 1, given.rest[more])


class Collected:
    """The attributes of a training corpus, and the feature indexes that they make."""

    def __init__(
        self,
        corpus: Corpus,
        encoder: Encoder | None,
        feature_indexes: Mapping[int, FeatureIndex] | None = None,
        min_count: int = 1,
        max_attributes: int | None = None,
    ) -> None:
        self.corpus = corpus
        self.encoder = encoder
        self.cells: TemplateCells | None = None if encoder is None else encoder.cells(corpus)
        self.feature_indexes: dict[int, FeatureIndex] = dict(feature_indexes or {})
        self.actives: dict[int, Active] = {}
        self.first: dict[int, np.ndarray] = {}  # where an attribute was made first, -1 for old ones
        self.found: dict[int, int] = {}  # attributes before the cut-off
        self.moved: dict[int, np.ndarray] = {}  # bool[A]: which had a weight at the end, once the others are dropped
        for order in (1,) if encoder is None else encoder.programs:
            self._collect(order)
            self._cut(order, min_count, max_attributes)

    def _collect(self, order: int) -> None:
        if self.encoder is None:
            given = _attributes_of(self.corpus)
            old = self.feature_indexes.get(1, new_feature_index(given.names.hash.size))
            old = growing(old) if old.first.size else old
            keys, numbers, of_type, first = add_all(old.keys, old.numbers, old.size, mixed_all(given.names.hash))
            self.feature_indexes[1] = hash_index(keys, numbers, first.size)
            same = np.array_equal(of_type, np.arange(of_type.size))
            self.actives[1] = Active(given.ptr, given.names.ids if same else of_type[given.names.ids], given.val)
            self.first[1] = first
            return
        assert self.cells is not None
        T = len(self.encoder.of_order(order))
        empty = new_feature_index(self.corpus.n_tokens * T // 8)
        old = self.feature_indexes.get(order, empty)
        if old is not empty:  # the kernel adds in place, and the old model may still be in use
            old = growing(old)
        ptr, att, feature_index, first = self.encoder.encode(order, self.cells, self.corpus.offset, old, grow=True)
        self.feature_indexes[order], self.first[order] = feature_index, first
        self.actives[order] = Active(ptr, att, ONES)

    def _cut(self, order: int, min_count: int, most: int | None) -> None:
        """Drop rare attributes: new ones only, so that a resumed model keeps what it has."""
        feature_index, (ptr, att, val), first = self.feature_indexes[order], self.actives[order], self.first[order]
        self.found[order] = feature_index.size
        if min_count <= 1 and (most is None or feature_index.size <= most):
            return
        most = None if most is None else max(most, int(np.count_nonzero(first < 0)))
        count = np.bincount(att, minlength=feature_index.size)
        keep = (count >= min_count) | (first < 0)
        if most is not None and np.count_nonzero(keep) > most:
            rank = np.argsort(np.where(first < 0, -np.inf, -count.astype(np.float64)), kind="stable")
            top = np.zeros(keep.size, np.bool_)
            top[rank[:most]] = True
            keep &= top
        new = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
        kept = int(np.count_nonzero(keep))
        keys, numbers = renumbered(feature_index.keys, feature_index.numbers, new, kept)
        if self.encoder is None:  # they are the corpus's own, which stays as it is
            ptr, att, val = ptr.copy(), att.copy(), val.copy()
        z = keep_attributes(ptr, att, val, new)
        self.feature_indexes[order] = hash_index(keys, numbers, kept)
        self.actives[order] = Active(ptr, att[:z], val[:z] if val.size else val)
        self.first[order] = first[keep]

    def drop_unmoved(self, chain: Chain) -> Chain:
        """Forget the attributes that never got a weight of their own: two thirds of them as a rule, and they say
        nothing. The chain with its rows numbered anew; the corpus is not, so this comes after all learning."""
        parts, stored = list(chain.weights), list(chain.stored)
        for order in self.feature_indexes:
            if order == LABEL_CONTEXT or not parts[order - 1].slot.size:
                continue
            rows = parts[order - 1]
            if is_stored(stored[order - 1]):
                self.keep(order, rows.slot > 0)
                stored[order - 1] = chosen_rows(stored[order - 1], np.flatnonzero(rows.slot))
                parts[order - 1] = no_weights()
            elif not rows.first.size:
                self.keep(order, rows.slot > 0)
                parts[order - 1] = rows._replace(slot=rows.slot[rows.slot > 0])
            elif order == 1:
                parts[0], kept = without_zeros(rows)
                self.keep(order, kept)
        return chain._replace(weights=(parts[0], parts[1], parts[2]), stored=(stored[0], stored[1], stored[2]))

    def keep(self, order: int, kept: np.ndarray) -> np.ndarray:
        """Forget all attributes of an order but those in bool[A]; the new number of each i32[A], -1 for none."""
        new = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        self.feature_indexes[order] = kept_attributes(self.feature_indexes[order], kept)
        self.moved[order], self.first[order] = kept, self.first[order][kept]
        return new

    @property
    def sizes(self) -> dict[int, int]:
        return {order: feature_index.size for order, feature_index in self.feature_indexes.items()}

    def data(self, known: np.ndarray, allow: np.ndarray) -> Data:
        return _data(self.corpus, known, allow, self.actives)

    def names(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Bytes and offsets of the strings of the new attributes of one order."""
        first = self.first[order]
        new = first[first >= 0]
        if self.encoder is not None:
            assert self.cells is not None
            return self.encoder.spell(order, self.corpus, self.cells, new)
        column = _attributes_of(self.corpus).names
        return join_types(column.data, column.start[new], column.end[new])


def seen_combinations(data: Data, shape: Shape, order: int, n_attributes: int, least: int) -> Seen:
    """Which labels (order 1), label pairs (2) or triples (3) each attribute occurred with in the known labels, at least
    so many times."""
    active = data.features[order - 1]
    if order == 1:
        return Seen(*seen_labels(inverted(active, n_attributes, 0, data.known.size), data.known, shape.n_labels, least))
    combo = _combinations(data, order, shape)
    tokens = np.repeat(np.arange(data.known.size), np.diff(active.ptr))
    there = combo[tokens] >= 0
    pairs = active.att[there].astype(np.int64) * shape.combinations(order) + combo[tokens[there]]
    distinct, count = np.unique(pairs, return_counts=True)
    owner, number = np.divmod(distinct[count >= least], shape.combinations(order))
    first = np.searchsorted(owner, np.arange(n_attributes + 1))
    return Seen(first.astype(np.int64), number.astype(np.int32))


def _combinations(data: Data, order: int, shape: Shape) -> np.ndarray:
    """The number of each token's label n-gram, i64[N]; -1 where the labels are not fully known."""
    Y = shape.n_labels
    sure = data.known < Y
    known = data.known.astype(np.int64)
    combo = known.copy()
    position = np.arange(known.size) - np.repeat(data.offset[:-1], np.diff(data.offset))
    factor = Y
    for back in range(1, order):
        earlier = np.roll(known, back)
        combo += earlier * factor
        sure &= np.roll(data.known < Y, back)
        factor *= Y
    return np.where(sure & (position >= order - 1), combo, -1)
