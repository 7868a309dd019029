"""The model of another tool: its weights as they are, in float64, and the same answers as the tool gives.

The weights are lists (kernels/chain/double.py). Tags, posteriors and n-best lists are computed with them; `chain`,
which everything else asks for, has them in float32 and is made when it is first used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from palmette.data.corpus import with_exact_values
from palmette.data.labels.schemes import Transitions
from palmette.data.text import NONE
from palmette.errors import ModelError
from palmette.features.encode import Encoder, kept_attributes
from palmette.kernels.chain.double import DoubleTrellis, DoubleWeights, decode_double, make_double_trellis
from palmette.kernels.chain.forms import Chain, Data, FeatureWeights, TransitionWeights, no_state, no_sums, no_weights
from palmette.kernels.core.compile import prepared
from palmette.kernels.core.hashing import FeatureIndex, add_all, hash_index, hash_pieces, mixed_all
from palmette.options.chain import ChainSettings
from palmette.options.learners import Crf
from palmette.structures.chain.metadata import Imported
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import Shape, everything_allowed, new_chain
from palmette.structures.stored import Names, some_names

if TYPE_CHECKING:  # tagging does not wait for sums
    from palmette.structures.chain.scoring import Scoring

MOST_TABLE = 256 << 20
"""Bytes of a table of label pairs that a small file may ask for; a large one may ask for GROWTH times its size."""
GROWTH = 8


class ImportedModel(ChainModel):
    """A chain model with float64 lists of weights."""

    def __init__(self, *parts: Any, exact: DoubleWeights, **more: Any) -> None:
        super().__init__(*parts, **more)
        if self.encoder is None:
            self.feature_indexes = {1: with_exact_values(self.feature_indexes[1])}
        self._exact = exact
        self._cooled: tuple[float, DoubleWeights] = 1.0, exact  # the chain that is searched has no weights

    @property
    def exact(self) -> DoubleWeights:
        return self._exact

    def with_bias(self, bias: dict[str, float]) -> Chain:
        return self.chain._replace(bias=self.bias_row(bias))

    def _with_rows(self, arities: tuple[int, ...]) -> Chain:
        if self._unpacked is None or self._unpacked[0] is not self.searched:
            self._unpacked = self.searched, rounded(self.searched, self._exact)
        return self._unpacked[1]

    def without_zeros(self) -> Self:
        """The model without weights of 0, and without attributes that have no other."""
        exact, indexes, names = self._exact, dict(self.feature_indexes), dict(self.names)
        lists = {1: exact[:3], 2: exact[3:6]}
        for arity in self.feature_indexes:
            first, place, w = lists[arity]
            owner = np.repeat(np.arange(first.size - 1), np.diff(first))[w != 0]
            count = np.bincount(owner, minlength=first.size - 1)
            keep = count > 0
            kept = np.concatenate((np.zeros(1, np.int64), np.cumsum(count[keep])))
            lists[arity] = kept, place[w != 0], w[w != 0]
            index = kept_attributes(indexes[arity], keep)
            indexes[arity] = with_exact_values(index) if self.encoder is None else index
            if arity in names:
                names[arity] = some_names(names[arity], keep)
        made = self.changed(feature_indexes=indexes, names=names)
        made._exact = DoubleWeights(*lists[1], *lists[2], exact.transitions, exact.single)
        made._cooled = 1.0, made._exact
        return made

    def search(
        self, data: Data, bias: dict[str, float] | None, states: np.ndarray, scores: np.ndarray, restricted: bool
    ) -> None:
        chain = self.searched._replace(bias=self.bias_row(bias))
        decode_double(chain, self._exact, data, self.tables(data), states, scores, restricted)

    def prepared_search(self, data: Data, trellis: Any, states: np.ndarray, scores: np.ndarray) -> Callable[[], None]:
        chain = self.searched._replace(bias=self.bias_row(None))
        return prepared(decode_double, chain, self._exact, data, trellis, states, scores, False)

    def tables(self, data: Data, longest: int | None = None) -> DoubleTrellis:  # type: ignore[override]
        return make_double_trellis(self.searched, data, longest)

    def scoring(self, bias: dict[str, float] | None = None, temperature: float | None = None) -> Scoring:
        from palmette.structures.chain.imported.scoring import DoubleScoring, at_temperature

        self.need_exact("posteriors")
        heat = self.temperature if temperature is None else temperature
        if self._cooled[0] != heat:
            self._cooled = heat, at_temperature(self._exact, heat)
        row = self.bias_row(bias) * np.float32(1.0 / heat)
        return DoubleScoring(self.searched._replace(bias=row), self._cooled[1])


def rounded(bare: Chain, exact: DoubleWeights) -> Chain:
    """The chain with the weights in float32."""
    Y = bare.label_of.size
    pairs = np.zeros(bare.forbid.shape, np.float32)
    pairs[:, :Y] = exact.transitions
    ends, _, triples = bare.transitions
    one = _lists(exact.first, exact.label, exact.w, bare.bias.size)
    two = _lists(exact.pair_first, exact.pair, exact.pair_w, Y * bare.bias.size)
    transitions = ends, TransitionWeights(pairs, no_sums(), no_state()), triples
    return bare._replace(transitions=transitions, weights=(one, two, bare.weights[2]))


def _lists(first: np.ndarray, place: np.ndarray, w: np.ndarray, width: int) -> FeatureWeights:
    """Lists; the zero row of a dense table if there is no attribute."""
    if first.size <= 1:
        return no_weights()._replace(w=np.zeros((1, width), np.float32))
    values = w.astype(np.float32).reshape(-1, 1)
    return no_weights()._replace(slot=np.diff(first).astype(np.int32), first=first, combo=place, w=values)


def bare_chain(shape: Shape, allowed: Transitions) -> Chain:
    """A chain without weights."""
    blank = new_chain(shape, {}, allowed, {})
    ends, pairs, triples = (t._replace(a=no_sums()) for t in blank.transitions)
    return blank._replace(transitions=(ends, pairs, triples), weights=(no_weights(), no_weights(), no_weights()))


def imported_model(
    labels: list[str],
    exact: DoubleWeights,
    indexes: dict[int, FeatureIndex],
    names: dict[int, Names],
    about: Imported,
    encoder: Encoder | None = None,
    reading: dict[str, Any] | None = None,
) -> ImportedModel:
    """A model of the parts that a reader has found and checked. `reading`: how files for it are read."""
    shape = Shape(len(labels), 1, ends=False)
    allowed = everything_allowed(len(labels))
    origin = {"tool": about.tool, "file": os.path.basename(about.file)}
    meta: dict[str, Any] = {"history": [], "forbidden": [], "imported": origin}
    if reading is not None:
        meta["reading"] = reading
    return ImportedModel(
        labels, shape, allowed, None, encoder, indexes, bare_chain(shape, allowed), names,
        meta=meta, settings=ChainSettings(learner=Crf(), constraints="none", unicode=NONE).resolved(), exact=exact,
    )  # fmt: skip


# --- what readers share -------------------------------------------------------------------------------------


def check_labels(labels: list[str], size: int, source: str) -> None:
    """ModelError if labels are not distinct, or if the table of their pairs is far larger than the file."""
    if not labels:
        raise ModelError("damaged model: it has no labels", file=source)
    if len(set(labels)) != len(labels):
        twice = next(label for k, label in enumerate(labels) if label in labels[:k])
        raise ModelError(f"damaged model: the label {twice!r} occurs twice", file=source)
    if "" in labels:
        raise ModelError("an empty label, which a Palmette model cannot have", file=source)
    if 8 * len(labels) ** 2 > max(MOST_TABLE, GROWTH * size):
        raise ModelError(f"damaged model: {len(labels):,} labels in a file of {size:,} bytes", file=source)


def index_of(names: Names, source: str) -> FeatureIndex:
    """The index of attributes in the order of their names; ModelError if a name occurs twice."""
    size = len(names)
    keys = mixed_all(hash_pieces(_buffer(names.data), names.offset)[0])
    places = 1 << max(4, int(2 * size).bit_length())
    keys, numbers, given, _ = add_all(np.zeros(places, np.uint64), np.full(places, -1, np.int32), 0, keys)
    again = np.flatnonzero(given != np.arange(size))
    if again.size:
        raise ModelError(f"damaged model: the attribute {names[int(again[0])]!r} occurs twice", file=source)
    return hash_index(keys, numbers, size)


def _buffer(data: np.ndarray) -> np.ndarray:
    return data if data.size else np.zeros(1, np.uint8)  # Numba requires a buffer even if it is empty


def sorted_lists(
    owner: np.ndarray, place: np.ndarray, w: np.ndarray, n_owners: int, width: int, source: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lists (first i64[A + 1], place i32[], weight f64[]) from entries in any order; ModelError if an entry of
    `width` places occurs twice, or a weight is no number."""
    if not np.isfinite(w).all():
        raise ModelError(f"damaged model: a weight is {w[~np.isfinite(w)][0]}", file=source)
    key = owner.astype(np.int64) * width + place
    if (key[1:] <= key[:-1]).any():
        order = np.argsort(key, kind="stable")
        key, w = key[order], w[order]
        if (key[1:] == key[:-1]).any():
            raise ModelError("damaged model: an attribute has two weights for the same labels", file=source)
    owner, place = np.divmod(key, width)
    first = np.zeros(n_owners + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=n_owners), out=first[1:])
    return first, place.astype(np.int32), w.astype(np.float64)  # a copy: those of a file may lie at any byte


def no_lists() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lists of no attribute."""
    return np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float64)
