"""One sentence at a time: a session keeps what a call would make anew, and calls kernels on arguments that stay where
they are.

    tokens -> attribute numbers (`AttributeReader`, `CellReader`) -> best path -> labels

Each thread that uses a session has a room of its own, so that sessions are safe to share, and to use after a fork. A
room grows with the longest sentence, up to a limit; longer sentences, and models that search by a beam or read
lexicons, are tagged as `ChainModel.tag` does it, with the same result.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.corpus import wants_exact_values
from palmette.data.item_blocks import KEY, AttributeRows, Split, Vectors, encode, holds_sets, is_matrix, joined
from palmette.data.item_plain import KnownNames, is_unicode, is_vector
from palmette.errors import DataError
from palmette.features.encode import LEXICON, Encoder
from palmette.features.templates import LABEL_CONTEXT
from palmette.kernels.chain.forms import Active, Data, no_active
from palmette.kernels.core.compile import prepared
from palmette.kernels.core.hashing import FeatureIndex
from palmette.kernels.encode.sentence import NewCells, SentenceCells, encode_sentence, hash_cells
from palmette.kernels.io import items
from palmette.kernels.io.items import find_items, make_item_room
from palmette.structures.chain.data import ONES, allow_table
from palmette.structures.chain.model import search_bytes
from palmette.structures.chain.weights import ARITIES

if TYPE_CHECKING:
    from palmette.structures.chain.model import ChainModel

# From the tokens of one sentence to attribute numbers, in arrays that are kept: ready-made attributes from bytes, and
# words or columns by way of a table of the cells met so far.

# What reading a sentence has shown: all values are 1; some are not; it needs more room, and is read again; the general
# way must read it, or say what is wrong
PLAIN, VALUED, GROW, GENERAL = 0, 1, 2, 3
MOST_BYTES = 1 << 22  # of an encoded sentence that takes this way
MOST_ATTRIBUTES = 1 << 20  # of a sentence with vectors
CELL_BYTES = 1 << 22  # of the table of cells, which every thread has for every model
MOST_CELLS = 1 << 16
FIRST_CELLS = 1 << 8
LONGEST_CELL = 256  # characters: the table is for words
_TOKENS = frozenset((dict, list, tuple))
_ROWS = frozenset((tuple, list))
_STRINGS = frozenset((str,))


def reader_for(
    encoder: Encoder | None, feature_indexes: Mapping[int, FeatureIndex], widths: Mapping[str, int] | None = None,
    columns: int | None = None,
) -> AttributeReader | CellReader | None:  # fmt: skip
    """What reads the sentences of a model; None if its templates look at more than single cells. `widths`: of the
    vectors that it was trained on; `columns`: how many of them."""
    if encoder is None:
        return AttributeReader(feature_indexes[1], widths)
    if LABEL_CONTEXT in encoder.programs or any(view.atom.startswith(LEXICON) for view in encoder.views):
        return None
    return CellReader(encoder, feature_indexes, columns)


class AttributeReader:
    """Ready-made attributes: encoded, read and looked up."""

    def __init__(
        self, index: FeatureIndex, widths: Mapping[str, int] | None = None, most_bytes: int = MOST_BYTES
    ) -> None:
        self.index, self.most_bytes = index, most_bytes  # of an encoded sentence
        self.vectors = Vectors(KnownNames(index), widths) if widths else None
        self.bytes, self.attributes = 1 << 13, 1 << 10

    def resize(self, most: int) -> None:
        """Make room for so many tokens."""
        data, room = np.zeros(self.bytes, np.uint8), make_item_room(most, self.attributes, spans=False)
        room.counts[items.EXACT] = wants_exact_values(self.index)
        att = np.zeros(self.attributes, np.int32)
        self.find = prepared(find_items, data, room, self.index, att)
        self.data, self.counts = data.data, room.counts.data
        self.actives = Active(room.ptr, att, room.val), no_active(), no_active()

    def read(self, tokens: Any) -> int:
        """Read a sentence: one of the numbers above."""
        if self.vectors is not None:
            try:
                return self._read_vectors(tokens, self.vectors)
            except DataError:  # the general way says where
                return GENERAL
        return self._read_dicts(tokens)

    def _read_vectors(self, tokens: Any, vectors: Vectors) -> int:
        """Read a sentence for a model of vectors: a matrix, vectors, or dicts that may hold some."""
        if is_matrix(tokens) or is_vector(tokens[0]):
            if KEY not in vectors.trained:
                return GENERAL
            return self._write(vectors.rows(KEY, vectors.matrix(tokens, 0), str))
        split = Split((tokens,))
        if not split.vectors.keys() <= vectors.trained:
            return GENERAL
        read = self._read_dicts(split.rest[0])
        if read in (GROW, GENERAL) or not split.vectors:
            return read
        (ptr, att, val), z = self.actives[0], self.counts[items.FOUND]
        own = AttributeRows(np.diff(ptr[: len(tokens) + 1]), att[:z], val[:z] if read == VALUED else None)
        return self._write(joined([own, *split.parts(vectors, str)]))

    def _write(self, rows: AttributeRows) -> int:
        """Write attributes to the arrays of the search."""
        (ptr, att, val), z = self.actives[0], rows.att.size
        if z > self.attributes:
            if z > MOST_ATTRIBUTES:
                return GENERAL
            self.attributes = 1 << (z - 1).bit_length()
            return GROW
        np.cumsum(rows.sizes, out=ptr[1 : rows.sizes.size + 1])
        att[:z] = rows.att
        val[:z] = 1.0 if rows.val is None else rows.val
        return PLAIN if rows.val is None else VALUED

    def _read_dicts(self, tokens: Sequence[Any]) -> int:
        if not _TOKENS.issuperset(map(type, tokens)):
            return GENERAL
        try:
            data = encode((tokens,))
        except Exception:  # of the encoder, or of a type of the user's
            return GENERAL
        read = self.read_encoded(data)
        if self.counts[items.NESTED] and read in (PLAIN, VALUED) and any(map(holds_sets, tokens)):
            return GENERAL
        return read

    def read_encoded(self, data: bytes) -> int:
        """Read a sentence from the bytes that `encode((tokens,))` makes of it, in the order that sets have there."""
        size, counts = len(data), self.counts
        if size > self.bytes:
            if size > self.most_bytes:
                return GENERAL
            self.bytes = 1 << (size - 1).bit_length()
            return GROW
        self.data[:size] = data
        counts[items.SIZE] = size
        self.find()
        if counts[items.STATUS] == items.NO_ROOM:
            self.attributes *= 2  # as many as bytes at most
            return GROW
        if counts[items.STATUS] != items.FINE:
            return GENERAL
        return VALUED if counts[items.VALUED] else PLAIN


class CellReader:
    """Words or columns: each cell is hashed in all its views when it is met first. A table that is full starts anew."""

    def __init__(
        self, encoder: Encoder, feature_indexes: Mapping[int, FeatureIndex], most_columns: int | None = None
    ) -> None:
        self.encoder, self.indexes, self.most_columns = encoder, feature_indexes, most_columns
        self.n_columns, views = encoder.n_columns, encoder.views
        self.rows: list[dict[str, int]] = [{} for _ in range(self.n_columns)]
        self.used, self.most_cells = 0, min(MOST_CELLS, CELL_BYTES // (16 * max(1, len(views))))
        self.hash = np.zeros((min(FIRST_CELLS, self.most_cells), max(1, len(views))), np.uint64)
        self.power = np.zeros(self.hash.shape, np.uint64)
        self.column = np.array([view.column for view in views], np.int32)
        self.views = [np.array(encoder.views_of(column), np.int32) for column in range(self.n_columns)]
        self._make_room(FIRST_CELLS * 8, FIRST_CELLS)

    def _make_room(self, size: int, texts: int) -> None:
        """Arrays for so many bytes of new cells, in so many texts."""
        rows, data, end = np.zeros(2, np.int64), np.zeros(size, np.uint8), np.zeros(texts, np.int64)
        self.new_rows, self.data, self.end = rows.data, data.data, end.data
        self.new_cells = [NewCells(rows, data, end, views) for views in self.views]
        self._prepare_hashing()

    def _prepare_hashing(self) -> None:
        self.hash_new = [prepared(hash_cells, new, self.hash, self.power) for new in self.new_cells]

    def resize(self, most: int) -> None:
        """Make room for so many tokens."""
        self.most = most
        size, ids = np.zeros(1, np.int64), np.zeros((max(1, self.n_columns), most), np.int32)
        self.given = size, ids, self.column
        self.size, self.ids = size.data, ids.reshape(-1).data
        self.scratch: dict[int, np.ndarray] = {}
        actives = {1: Active(np.zeros(most + 1, np.int64), np.zeros(0, np.int32), ONES)}
        for order, program in self.encoder.programs.items():
            T = program.macro.size - 1
            actives[order] = Active(np.zeros(most + 1, np.int64), np.zeros(most * T + 1, np.int32), ONES)
            self.scratch[order] = np.zeros((most, T), np.uint64)
        one, two, three = (actives.get(arity, no_active()) for arity in ARITIES)
        self.actives = one, two, three
        self.encoders = self._calls(self.hash, self.power)

    def _calls(self, hash: np.ndarray, power: np.ndarray) -> list[Callable[[], None]]:
        """What encodes a sentence with a table of cells."""
        cells, made = SentenceCells(*self.given, hash, power), []
        for order, program in self.encoder.programs.items():
            active, scratch = self.actives[order - 1], self.scratch[order]
            call = prepared(encode_sentence, program, cells, self.indexes[order], scratch, active.ptr, active.att)
            made.append(call)
        return made

    def read(self, tokens: Sequence[Any]) -> int:
        """Read a sentence: PLAIN or GENERAL."""
        if _STRINGS.issuperset(map(type, tokens)):
            columns: Sequence[Sequence[str]] = (tokens,)
        elif _ROWS.issuperset(map(type, tokens)):
            try:
                columns = tuple(zip(*tokens, strict=True))
            except ValueError:  # not as many cells in all rows
                return GENERAL
        else:
            return GENERAL
        if self.most_columns is not None and len(columns) > self.most_columns:
            return GENERAL  # an error
        others = columns[self.n_columns :]
        if len(columns) < max(1, self.n_columns) or not all(_STRINGS.issuperset(map(type, cells)) for cells in others):
            return GENERAL
        return self.read_columns(columns)

    def read_columns(self, columns: Sequence[Sequence[str]]) -> int:
        """As `read`, for a sentence whose cells are given column by column, at least as many as templates read."""
        if not self._number(columns):
            return GENERAL
        self.size[0] = len(columns[0])
        for encode_order in self.encoders:
            encode_order()
        return PLAIN

    def _number(self, columns: Sequence[Sequence[str]], again: bool = True) -> bool:
        """Write the rows of the cells; False if some are not words, or too many. A full table is emptied, once."""
        at, ids = 0, self.ids
        for column, rows in enumerate(self.rows):
            cells = columns[column]
            try:
                found = array("i", map(rows.__getitem__, cells))
            except KeyError:
                new = list(dict.fromkeys(cell for cell in cells if cell not in rows))
                if not all(type(cell) is str and len(cell) <= LONGEST_CELL and is_unicode(cell) for cell in new):
                    return False
                if self.used + len(new) > self.most_cells:
                    self._forget()
                    return again and self._number(columns, again=False)
                self._add(column, new)
                found = array("i", map(rows.__getitem__, cells))
            except TypeError:
                return False
            ids[at : at + len(found)] = found
            at += self.most
        return True

    def _forget(self) -> None:
        self.used = 0
        for rows in self.rows:
            rows.clear()

    def _add(self, column: int, cells: list[str]) -> None:
        texts = self.encoder.texts_of(column, cells)
        pieces = [b"" if text is None else text.encode() for text in texts]
        data, last = b"".join(pieces), self.used + len(cells)
        if last > len(self.hash):
            self._enlarge(last)
        if len(data) > len(self.data) or len(texts) > len(self.end):
            self._make_room(max(2 * len(data), len(self.data)), max(2 * len(texts), len(self.end)))
        self.new_rows[0], self.new_rows[1] = self.used, len(cells)
        self.data[: len(data)] = data
        end, at = self.end, 0
        for k, piece in enumerate(pieces):
            at += len(piece)
            end[k] = at if texts[k] is not None else -1
        self.hash_new[column]()
        self.rows[column].update(zip(cells, range(self.used, last), strict=True))
        self.used = last

    def _enlarge(self, least: int) -> None:
        """Make room for so many cells, and for as many again. The calls change with the table, or none does."""
        hash = np.zeros((min(self.most_cells, 2 * least), self.hash.shape[1]), np.uint64)
        power = np.zeros(hash.shape, np.uint64)
        hash[: self.used], power[: self.used] = self.hash[: self.used], self.power[: self.used]
        self.hash, self.power, self.encoders = hash, power, self._calls(hash, power)
        self._prepare_hashing()


FIRST_ROOM = 32  # tokens
MOST_ROOM = 1024
MOST_TABLES = 1 << 24  # of the tables of a search


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
        if most > MOST_ROOM or self.search.size // self.most * most > MOST_TABLES:
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
        far = search_bytes(FIRST_ROOM, model.shape, model.encoder) > 4 * MOST_TABLES
        reader = None
        if not (model.beam or far):
            reader = reader_for(
                model.encoder, model.feature_indexes, model.meta.get("vectors"), model.meta.get("columns")
            )
        if reader is not None:
            room = Room(model, reader, FIRST_ROOM)
            if room.search.size > MOST_TABLES:
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
