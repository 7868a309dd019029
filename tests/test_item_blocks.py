"""Attributes from bytes: the kernel against the definition in item_plain.py, over odd values, and over any bytes."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections import Counter, OrderedDict, namedtuple
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import few

from palmette.data import Corpus, corpus_from_items, item_blocks
from palmette.data.item_plain import attributes_of
from palmette.errors import DataError
from palmette.kernels.core.compile import LIBRARY, MODE
from palmette.kernels.core.hashing import hash_index
from palmette.kernels.io.items import FINE, FOUND, ODD, SIZE, STATUS, TOKENS, ItemRoom, make_item_room, read_items
from palmette.structures import Collected, allow_table, encode_corpus


class Own(str):
    """A string type with a way of its own to show itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return "shown"


class Colour(enum.Enum):
    RED = "r"
    TWO = 2
    NOTHING = None


class Word(str, enum.Enum):  # noqa: UP042 (shown as Word.A)
    A = "a"


class Size(enum.IntEnum):
    NONE = 0
    BIG = 7


Pair = namedtuple("Pair", "left right")
names = st.text("ab:é", max_size=3)
odd_names = st.one_of(
    names,
    names.map(Own),
    names.map(np.str_),
    st.sampled_from([1, None, b"a", Colour.RED, Word.A, "\ud800", ("a",), 1.5]),
)
numbers = st.one_of(
    st.booleans(), st.integers(-3, 3), st.integers(-(2**70), 2**70), st.floats(), st.floats(-4, 4, width=32),
    st.sampled_from([0.0, -0.0, 1e-60, 1e39, 3.4028234e38, 2**64 - 1, -(2**63), 10**400, np.float32(0.1), np.int8(-1),
                     np.uint64(2**64 - 1), np.bool_(False), np.float64(1.0), Fraction(1, 3), Decimal("2.5")]),
)  # fmt: skip
leaves = st.one_of(
    names, odd_names, numbers,
    st.sampled_from([Colour.RED, Colour.TWO, Colour.NOTHING, Size.NONE, Size.BIG, uuid.UUID(int=1), 1j, bytearray(b"x"),
                     datetime.date(2020, 1, 2), datetime.timedelta(3), Pair("a", "b"), object, range(2)]),
)  # fmt: skip


def within(key: st.SearchStrategy[Any], leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values nested in dictionaries, lists and sets."""
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.dictionaries(key, inner, max_size=3), st.dictionaries(key, inner, max_size=2).map(OrderedDict),
            st.lists(key, max_size=3), st.sets(key, max_size=3), st.frozensets(key, max_size=2),
            st.lists(key, max_size=2).map(tuple),
        ),
        max_leaves=8,
    )  # fmt: skip


def tokens_of(key: st.SearchStrategy[Any], leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.dictionaries(key, within(key, leaf), max_size=4), st.lists(key, max_size=3), st.sets(key, max_size=3),
        st.lists(key, max_size=2).map(tuple), st.lists(names, max_size=3).map(Counter),
    )  # fmt: skip


finite = st.one_of(st.booleans(), st.integers(-3, 300), st.floats(-1e6, 1e6), st.integers(-(2**40), 2**40))
usual = st.lists(st.lists(tokens_of(names, st.one_of(names, finite)), min_size=1, max_size=4), min_size=1, max_size=4)
odd = st.lists(
    st.lists(st.one_of(tokens_of(odd_names, leaves), tokens_of(names, numbers), leaves), min_size=1, max_size=3),
    min_size=1, max_size=3,
)  # fmt: skip


def told(corpus: Corpus) -> Any:
    """The names of the attributes of each token in order, their numbers, and their values by their bits."""
    found = corpus.attributes
    assert found is not None
    cells = found.names.cells()
    rows = [cells[a:b] for a, b in pairwise(found.ptr.tolist())]
    return rows, found.names.ids.tolist(), found.names.hash.tolist(), found.val.tobytes()


def result(X: Any) -> Any:
    """What becomes of the data, or the message."""
    try:
        return told(corpus_from_items(X, mode="attributes").corpus)
    except DataError as error:
        return str(error)


def by_definition(X: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_blocks, "encoded", lambda sentences: None)
        return result(X)


@few(3)
@given(usual, st.integers(1, 8))
def test_the_kernel_reads_what_the_definition_says(X: list[list[Any]], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_blocks, "BLOCK", block)
        found = result(X)
        patch.setattr(item_blocks.AttributeBlocks, "_read_plain", None)
        assert result(X) == found  # the definition was not needed
    assert found == by_definition(X)


@few(10)
@given(odd)
def test_odd_values_come_out_alike(X: list[list[Any]]) -> None:
    assert result(X) == by_definition(X)


@few(3)
@given(usual, st.data())
def test_look_up_is_numbering_and_dropping(X: list[list[Any]], data: st.DataObject) -> None:
    named = corpus_from_items(X, mode="attributes").corpus
    assert named.attributes is not None
    kept = data.draw(st.lists(st.sampled_from(sorted({*named.attributes.names.types, "none"})), unique=True))
    index = Collected(corpus_from_items([[kept]], mode="attributes").corpus, None).feature_indexes[1]
    nothing, allow = np.zeros(named.n_tokens, np.int32), allow_table(1)
    expected = encode_corpus(named, None, {1: index}, nothing, allow).features[0]
    for plain in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if plain:
                patch.setattr(item_blocks, "encoded", lambda sentences: None)
            patch.setattr(item_blocks, "BLOCK", 3)
            corpus = corpus_from_items(X, mode="attributes", index=index).corpus
        assert corpus.attributes is None
        active = encode_corpus(corpus, None, {1: index}, nothing, allow).features[0]
        assert active.ptr.tolist() == expected.ptr.tolist()
        assert active.att.tolist() == expected.att.tolist()
        ones = np.ones(active.att.size, np.float32)
        assert np.array_equal(active.val if active.val.size else ones, expected.val if expected.val.size else ones)


def test_an_index_of_another_model_is_not_used() -> None:
    index = hash_index(np.zeros(16, np.uint64), np.full(16, -1, np.int32), 0)
    corpus = corpus_from_items([[{"a": 1}]], index=index).corpus
    with pytest.raises(DataError, match="ready-made attributes"):
        encode_corpus(corpus, None, {1: index._replace(size=1)}, np.zeros(1, np.int32), allow_table(1))


def test_sets_have_an_order() -> None:
    letters = {f"{k:x}" for k in range(40)}
    X = [[{"a": letters, "b": {"c": frozenset(letters)}}, letters]]
    rows = told(corpus_from_items(X).corpus)[0]
    assert rows[0] == [f"a:{k}" for k in sorted(letters)] + [f"b:c:{k}" for k in sorted(letters)]
    assert rows[1] == sorted(letters)


def test_zeros_are_left_out() -> None:
    X = [
        [{"a": 0, "b": False, "c": 0.0, "d": 1, "e": np.bool_(False), "f": {"g": 0}, "h": -0.0, "i": 1e-60}],
        [{"a": 0}],
    ]
    corpus = corpus_from_items(X).corpus
    assert told(corpus)[0] == [["d"], []]
    assert corpus.attributes is not None
    assert corpus.attributes.val.size == 0


def test_many_attributes_and_long_names() -> None:
    X = [[{f"{'n' * (k % 700)}{k}": k + 1 for k in range(5000)}], [[f"{k}" for k in range(70_000)]]]
    X.append([{"outer" * 30: {f"{'x' * 400}{k}": "y" for k in range(300)}}])
    assert result(X) == by_definition(X)


def test_long_sentences_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    X: list[list[Any]] = [[{"a": f"{k}"} for k in range(3000)], [{"b": 1}]]
    assert result(X) == by_definition(X)
    X[0][2500] = {"a": None}
    assert result(X).startswith("X[0][2500]['a'] is None")
    monkeypatch.setattr(item_blocks, "MOST_BYTES", 3000)
    assert result([[{"b": "c"}], [{"a": "x" * 3000}]]).startswith(
        "the attributes of 2 tokens from X[0][0] on have names"
    )


def test_deep_nesting() -> None:
    for depth in (15, 16, 17, 40):
        token: Any = "end"
        for k in range(depth):
            token = {f"k{k}": token, "z": 2}
        assert result([[token]]) == by_definition([[token]])
    loop: dict[str, Any] = {}
    loop["a"] = loop
    with pytest.raises((DataError, RecursionError)):
        corpus_from_items([[loop]])


# --- any bytes -------------------------------------------------------------------------------------------------

GUARD = 8


def guarded(room: ItemRoom) -> tuple[ItemRoom, list[np.ndarray]]:
    """The room with bytes around each of its arrays that nobody may write."""
    made, around = [], []
    for array in room:
        whole = np.full(array.nbytes + 2 * GUARD * 8, 0xA5, np.uint8)
        own = whole[GUARD * 8 : GUARD * 8 + array.nbytes].view(array.dtype).reshape(array.shape)
        own[...] = array
        made.append(own)
        around.append(whole)
    return ItemRoom(*made), around


def intact(around: list[np.ndarray]) -> bool:
    return all((whole[: GUARD * 8] == 0xA5).all() and (whole[-GUARD * 8 :] == 0xA5).all() for whole in around)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Bytes of a block with some of them changed, cut off or added."""
    good = bytearray(msgspec.msgpack.encode(draw(usual)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(good) - 1)))
        action = draw(st.sampled_from(["change", "cut", "add", "drop"]))
        if action == "cut":
            good = good[:at]
        elif action == "drop":
            del good[at : at + 1]
        elif action == "change" and good:
            good[at] = draw(st.integers(0, 255))
        else:
            good[at:at] = draw(st.binary(max_size=3))
    return bytes(good)


@few(4)
@given(st.one_of(damaged(), st.binary(max_size=60)), st.booleans(), st.integers(0, 6), st.integers(0, 12))
def test_any_bytes_stay_within_the_arrays(data: bytes, spans: bool, tokens: int, attributes: int) -> None:
    room, around = guarded(make_item_room(tokens, attributes, spans=spans))
    bytes_of = np.frombuffer(data + b"\xdb", np.uint8)[: len(data)]
    room.counts[SIZE] = len(data)
    read_items(bytes_of, room)
    assert intact(around)
    if MODE == LIBRARY:  # uncompiled, an index that is too large is an error
        twin = ItemRoom(*(array.copy() for array in make_item_room(tokens, attributes, spans=spans)))
        twin.counts[SIZE] = len(data)
        with np.errstate(all="ignore"):
            read_items.py_func(bytes_of, twin)
        assert twin.counts.tolist() == room.counts.tolist()
        z = int(twin.counts[FOUND])
        assert twin.hash[:z].tolist() == room.hash[:z].tolist()


@few(4)
@given(damaged())
def test_bytes_that_are_fine_mean_what_they_say(data: bytes) -> None:
    room = make_item_room(500, 500, spans=True)
    room.counts[SIZE] = len(data)
    read_items(np.frombuffer(data or b"\xc1", np.uint8)[: len(data)], room)
    assert room.counts[STATUS] in (FINE, ODD)
    assume(room.counts[STATUS] == FINE)
    try:
        X = msgspec.msgpack.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):  # strings that are not UTF-8: the encoder makes none
        return
    tokens = [attributes_of(token, "") for sentence in X for token in sentence]
    assert len(tokens) == room.counts[TOKENS]
    for k, token in enumerate(tokens):
        values = room.val[room.ptr[k] : room.ptr[k + 1]].tolist()
        for _, value in token:  # a name that occurs twice in a map is one in a dictionary
            assert float(np.float32(value)) in values
