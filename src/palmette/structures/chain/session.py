"""One sentence at a time: a session keeps what a call would make anew, and calls kernels on arguments that stay where
they are.

    tokens -> attribute numbers (session_rooms.py) -> best path -> labels

Each thread that uses a session has a room of its own, so that sessions are safe to share, and to use after a fork. A
room grows with the longest sentence, up to a limit; longer sentences, and models that search by a beam or read
lexicons, are tagged as `ChainModel.tag` does it, with the same result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.item_blocks import is_matrix
from palmette.kernels.chain.forms import Active, Data
from palmette.structures.chain.data import ONES, allow_table
from palmette.structures.chain.model import search_bytes
from palmette.structures.chain.session_rooms import GENERAL, GROW, VALUED, AttributeReader, CellReader, reader_for

if TYPE_CHECKING:
    from palmette.structures.chain.model import ChainModel

FIRST_ROOM = 32  # tokens
MOST_ROOM = 1024
MOST_BYTES = 1 << 24  # of the tables of a search


class SearchRoom:
    """The arrays of a search in sentences of up to `most` tokens."""

    def __init__(self, model: ChainModel, actives: Sequence[Active], most: int) -> None:
        offset, states, scores = np.zeros(2, np.int64), np.zeros(most, np.int32), np.zeros(1)
        known, allow = np.full(most, len(model.labels), np.int32), allow_table(len(model.labels))
        one, two, three = actives
        plain = Data(offset, known, allow, np.ones(1, np.float32), (one._replace(val=ONES), two, three))
        valued = plain._replace(features=(one, two, three))
        trellis = model.tables(plain, most)
        self.size = sum(table.nbytes for table in (trellis.U, trellis.E, trellis.S, trellis.D))
        self.run = model.prepared_search(plain, trellis, states, scores)
        self.run_valued = model.prepared_search(valued, trellis, states, scores)
        self.offset, self.states, self.scores = offset.data, states.data, scores.data


class Room:
    """What one thread needs to tag sentences of up to `most` tokens with a model as it is now."""

    def __init__(self, model: ChainModel, reader: AttributeReader | CellReader, most: int) -> None:
        self.model, self.reader = model, reader
        self.searched, self.bias, self.beam = model.searched, dict(model.bias), model.beam
        self.names = _taken(model.classes, self.searched.label_of)
        self._resize(most)

    def _resize(self, most: int) -> None:
        self.most = most
        self.reader.resize(most)
        self.search = SearchRoom(self.model, self.reader.actives, most)

    def fits(self) -> bool:
        """Whether the model is still as it was."""
        model = self.model
        return self.searched is model.searched and self.beam == model.beam and self.bias == model.bias

    def _grown(self, n: int) -> bool:
        """Make room for n tokens, if that is not too much."""
        most = 1 << (n - 1).bit_length()
        if most > MOST_ROOM or self.search.size // self.most * most > MOST_BYTES:
            return False
        self._resize(most)
        return True

    def tag(self, tokens: Any) -> tuple[list[Any], float] | None:
        """Labels and score; None if this is not the way to find them, or to say what is wrong."""
        n = len(tokens) if isinstance(tokens, list | tuple) else tokens.shape[0]
        return self.tag_read(tokens, n, self.reader.read)

    def tag_read(self, given: Any, n: int, reading: Callable[[Any], int]) -> tuple[list[Any], float] | None:
        """As `tag`, for n tokens that are given in a form which a method of the reader reads."""
        if not self.search_read(given, n, reading):
            return None
        names, search = self.names, self.search
        return [names[state] for state in search.states[:n].tolist()], search.scores[0]

    def search_read(self, given: Any, n: int, reading: Callable[[Any], int]) -> bool:
        """Write the best path of n tokens to the arrays of the search; False if this is not the way to find it."""
        if n > self.most and not self._grown(n):
            return False
        read = reading(given)
        while read == GROW:
            self._resize(self.most)
            read = reading(given)
        if read == GENERAL:
            return False
        search = self.search
        search.offset[1] = n
        if read == VALUED:
            search.run_valued()
        else:
            search.run()
        return isfinite(search.scores[0])


class Session:
    """Tags one sentence after another with a fitted tagger: `session.tag(tokens)`."""

    def __init__(self, model: ChainModel) -> None:
        self._model = model
        self._local = threading.local()

    def tag(self, tokens: Any) -> list[Any]:
        """The labels of a sentence, as `Tagger.predict([tokens])[0]` has them."""
        return self.tag_scored(tokens)[0]

    def tag_scored(self, tokens: Any) -> tuple[list[Any], float]:
        """The labels of a sentence and the score of its best path."""
        found = self.quick(tokens)
        return self._general(tokens) if found is None else found

    def quick(self, tokens: Any) -> tuple[list[Any], float] | None:
        """As `tag_scored`; None if the sentence takes the general way."""
        kind = type(tokens)
        if kind is not list and kind is not tuple:
            if not is_matrix(tokens) or not tokens.shape[0]:
                return None
        elif not tokens:
            return None
        room = self._room()
        return None if room is None else room.tag(tokens)

    def quick_encoded(self, data: bytes, n: int) -> tuple[list[Any], float] | None:
        """As `quick`, for n tokens of ready-made attributes in the bytes that `encode((tokens,))` makes of them."""
        room = self._room()
        if room is None or not isinstance(room.reader, AttributeReader):
            return None
        return room.tag_read(data, n, room.reader.read_encoded)

    def quick_columns(self, columns: Sequence[Sequence[str]], n: int) -> np.ndarray | None:
        """The labels i32[n] of n tokens whose cells are given column by column; None if the sentence takes the general
        way."""
        room = self._room()
        if room is None or not isinstance(room.reader, CellReader):
            return None
        if not room.search_read(columns, n, room.reader.read_columns):
            return None
        found = np.array(room.search.states[:n], np.int32)
        return found if room.searched.plain else room.searched.label_of[found]

    def _room(self) -> Room | None:
        room: Room | None = getattr(self._local, "room", None)
        return room if room is not None and room.fits() else self._new_room()

    def _new_room(self) -> Room | None:
        """A room for this thread; None if the model has no use for one."""
        model, room = self._model, None
        # A room that would be far too large is not tried: tables of many states are larger than the model.
        far = search_bytes(FIRST_ROOM, model.shape, model.encoder) > 4 * MOST_BYTES
        reader = None
        if not (model.beam or far):
            reader = reader_for(
                model.encoder, model.feature_indexes, model.meta.get("vectors"), model.meta.get("columns")
            )
        if reader is not None:
            room = Room(model, reader, FIRST_ROOM)
            if room.search.size > MOST_BYTES:
                room = None
        self._local.room = room
        return room

    def __reduce__(self) -> tuple[Any, ...]:
        """Rooms are made again where they are needed."""
        return Session, (self._model,)

    def _general(self, tokens: Any) -> tuple[list[Any], float]:
        from palmette.data.items import corpus_from_items

        model = self._model
        mode, index = ("attributes", model.feature_indexes[1]) if model.encoder is None else ("columns", None)
        corpus = corpus_from_items(
            [tokens], mode=mode, index=index, widths=model.meta.get("vectors"), columns=model.meta.get("columns")
        ).corpus
        labels, scores = model.tag(corpus)
        return _taken(model.classes, labels), float(scores.sum())


def _taken(names: Sequence[Any], numbers: np.ndarray) -> list[Any]:
    return [names[number] for number in numbers.tolist()]
