"""The likelihood of a corpus on disk, for a batch optimiser: that of objective.py, bit for bit, block by block of
sentences.

The corpus is mapped. The tokens of each attribute, which gradients are gathered by, are written to scratch files once.
The pages of a block that is done are given back: memory has the weights, the vectors of the optimiser, and the tables
and pages of one block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.data.scratch import Scratch
from palmette.errors import counted
from palmette.kernels.chain.forms import Active, Chain, Data
from palmette.structures.chain.mapped import DONE, Features, MappedArray, MappedCorpus
from palmette.training.chain.objective import Block, ChainObjective, Occurrences


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
