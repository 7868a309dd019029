"""The attributes of one block of a corpus, numbered within the block: what is counted, and what is encoded once the
attributes of the whole corpus are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.subset import take
from palmette.features.encode import Encoder, keys_of, new_feature_index
from palmette.kernels.chain.forms import Active
from palmette.kernels.core.hashing import FeatureIndex, find_all, mixed_all
from palmette.kernels.encode.encode import TemplateCells, keep_attributes
from palmette.kernels.io.columns import join_types

NO_VALUES = np.zeros(0, np.float32)


class BlockAttributes(NamedTuple):
    """Attributes of one order, by their numbers in the block."""

    order: int
    active: Active
    keys: np.ndarray  # u64[A]
    first: np.ndarray  # i64[A]  where each occurs first, for its string
    cells: TemplateCells | None  # of columns; None: the corpus has ready-made attributes

    def counts(self) -> np.ndarray:
        """i64[A]: occurrences."""
        return np.bincount(self.active.att, minlength=self.keys.size)

    def numbered(self, index: FeatureIndex) -> tuple[Active, np.ndarray]:
        """The attributes that an index has, by their numbers there, and the number of each attribute of the block
        i32[A], -1: not in the index. The arrays of the block are overwritten."""
        numbers = find_all(index, self.keys)
        ptr, att, val = self.active
        z = keep_attributes(ptr, att, val, numbers)
        return Active(ptr, att[:z], val[:z] if val.size else val), numbers

    def names(self, corpus: Corpus, encoder: Encoder | None, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bytes and offsets of the strings of some attributes i64[]."""
        if encoder is not None:
            return self._spelt(corpus, encoder, self.first[which])
        assert corpus.attributes is not None
        names = corpus.attributes.names
        return join_types(names.data, names.start[which], names.end[which])

    def _spelt(self, corpus: Corpus, encoder: Encoder, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Strings of attributes that occur at `first`. Of few sentences only the types of these become strings."""
        assert self.cells is not None
        T = len(encoder.of_order(self.order))
        token, template = np.divmod(first, T)
        owner = np.searchsorted(corpus.offset, token, side="right") - 1
        sentences = np.unique(owner)
        if 2 * sentences.size > corpus.n_sentences:
            return encoder.spell(self.order, corpus, self.cells, first)
        few = take(corpus, sentences)
        moved = token + (few.offset[:-1] - corpus.offset[sentences])[np.searchsorted(sentences, owner)]
        return encoder.spell(self.order, few, encoder.cells(few), moved * T + template)


def block_attributes(corpus: Corpus, encoder: Encoder | None) -> Iterator[BlockAttributes]:
    """The attributes of a block, order by order."""
    if encoder is None:
        given = corpus.attributes
        assert given is not None
        active = Active(given.ptr.copy(), given.names.ids.copy(), given.val.copy())
        yield BlockAttributes(1, active, mixed_all(given.names.hash), np.arange(given.names.hash.size), None)
        return
    cells = encoder.cells(corpus)
    for order in encoder.programs:
        empty = new_feature_index(corpus.n_tokens * len(encoder.of_order(order)) // 8)
        ptr, att, index, first = encoder.encode(order, cells, corpus.offset, empty, grow=True)
        yield BlockAttributes(order, Active(ptr, att, NO_VALUES), keys_of(index), first, cells)
