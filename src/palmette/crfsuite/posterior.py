"""Sums over all label sequences of one sequence of items, in arrays that are kept from one sequence to the next."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from palmette.crfsuite.sequences import items_by_definition
from palmette.data.item_blocks import MOST_BYTES, encode
from palmette.kernels.chain.forms import Data
from palmette.kernels.chain.posteriors import Marks, Places, Posteriors
from palmette.structures.chain.data import ONES, allow_table
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.session import GENERAL, GROW, VALUED, AttributeReader

FIRST_ITEMS = 32  # items
_NONE = np.zeros(0, np.int64)


class PosteriorsByThread:
    """A room for each thread, so that a tagger may be shared."""

    def __init__(self, model: ChainModel) -> None:
        self.model, self.local = model, threading.local()

    def holding(self, given: tuple[bytes, int]) -> KeptPosteriors:
        """The room of this thread with a sequence, its bytes and its size, in it."""
        room: KeptPosteriors | None = getattr(self.local, "room", None)
        if room is None:
            room = self.local.room = KeptPosteriors(self.model)
        if room.given is not given:
            room.given = None
            room.read(*given)
            room.given = given
        return room

    def __reduce__(self) -> tuple[type[PosteriorsByThread], tuple[ChainModel]]:
        """Rooms are made again where they are needed."""
        return PosteriorsByThread, (self.model,)


class KeptPosteriors:
    """The marginals of the sequence that was read last, and the probability of its labellings."""

    def __init__(self, model: ChainModel) -> None:
        self.given: tuple[bytes, int] | None = None
        self.model, self.reader = model, AttributeReader(model.feature_indexes[1], most_bytes=MOST_BYTES)
        self._resize(FIRST_ITEMS)

    def _resize(self, most: int) -> None:
        """Grow the arrays to a number of items."""
        model, Y = self.model, len(self.model.labels)
        self.most, self.offset = most, np.array([0, most], np.int64)
        check_memory(self.offset, model.shape, None)
        self.reader.resize(most)
        one, two, three = self.reader.actives
        self.known, self.alone = np.full(most, Y, np.int32), np.zeros(1)
        plain = Data(
            self.offset, self.known, allow_table(Y), np.ones(1, np.float32), (one._replace(val=ONES), two, three)
        )  # fmt: skip
        none = np.zeros((Y, Y), np.bool_)
        marks, places = Marks(none, none, none, np.full(Y, -1, np.int64)), Places(*[_NONE] * 4)
        self.out, first = (
            Posteriors(np.zeros(most), np.zeros((most, Y)), np.zeros(0), np.zeros(1)),
            np.zeros(most, np.int32),
        )
        scoring, both = model.scoring(), (plain, plain._replace(features=(one, two, three)))
        self.fill = [scoring.prepared_posteriors(data, first, places, marks, self.out) for data in both]
        self.sum_allowed = [scoring.prepared_partitions(data, self.alone) for data in both]

    def read(self, data: bytes, size: int) -> None:
        """Read a sequence of `size` items from its bytes, and fill the marginals."""
        read = self._read(data, size)
        if read == GENERAL:
            read = self._read(encode((items_by_definition(data),)), size)
            if read == GENERAL:
                raise ValueError(f"a sequence of {len(data):,} bytes: at most {MOST_BYTES:,} can be read")
        self.size, self.valued = size, int(read == VALUED)
        self.offset[1] = self.size
        self.fill[self.valued]()
        self.marginals = self.out.labels[: self.size].copy()

    def _read(self, data: bytes, size: int) -> int:
        if size > self.most:
            self._resize(1 << (size - 1).bit_length())
        read = self.reader.read_encoded(data)
        while read == GROW:
            self._resize(self.most)
            read = self.reader.read_encoded(data)
        return read

    def probability(self, labels: Sequence[int]) -> float:
        """Of one label per item."""
        self.known[: self.size] = labels
        self.sum_allowed[self.valued]()
        return float(np.exp(min(self.alone[0] - self.out.log_z[0], 0.0)))
