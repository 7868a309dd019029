"""Items of the drop-in against python-crfsuite's own reading of them."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.crfsuite import ItemSequence
from palmette.crfsuite.sequences import Sequences

NAMES = st.text("ab:é😀\u0301 =", max_size=3)
STRINGS = NAMES | NAMES.map(str.encode)
NUMBERS = (
    st.integers(-5, 5)
    | st.floats(-1e6, 1e6, width=32)
    | st.booleans()
    | st.sampled_from([np.float32(0.5), np.float64(0.25), np.int64(3), np.True_, Decimal("0.5"), Fraction(1, 4)])
)
INNER = st.recursive(
    st.lists(STRINGS, max_size=3)
    | st.sets(NAMES, max_size=3)
    | st.dictionaries(STRINGS, STRINGS | NUMBERS, max_size=3),
    lambda inner: st.dictionaries(STRINGS, STRINGS | NUMBERS | inner, max_size=3),
    max_leaves=4,
)
DICTS = st.dictionaries(STRINGS, STRINGS | NUMBERS | INNER, max_size=4)
ITEMS = (
    DICTS
    | DICTS.map(OrderedDict)
    | st.lists(STRINGS, max_size=4)
    | st.lists(NAMES, max_size=3).map(tuple)
    | st.sets(NAMES, max_size=3)
    | st.frozensets(NAMES, max_size=3)
    | NAMES
)
WRONG = [{"a": None}, {"a": ("x",)}, {"a": frozenset("q")}, {1: 2}, [1], 5, None, {"a": 1j}, {"a": [{"b"}]}, ["\ud800"]]


@given(st.lists(ITEMS, max_size=3))
def test_items_are_those_of_python_crfsuite(sequence: list[Any]) -> None:
    own, theirs = ItemSequence(sequence), pycrfsuite.ItemSequence(sequence)
    assert own.items() == theirs.items()
    assert len(own) == len(theirs)
    assert repr(own) == repr(theirs)
    assert ItemSequence(own).items() == own.items() == pickle.loads(pickle.dumps(own)).items()


@given(st.lists(ITEMS, min_size=1, max_size=4), st.booleans())
def test_a_trainer_reads_what_an_item_sequence_holds(sequence: list[Any], as_items: bool) -> None:
    """Zeros too, whichever way is taken: the compiled reader, or the definition."""
    sequences = Sequences()
    sequences.append(ItemSequence(sequence) if as_items else sequence, ["A"] * len(sequence), 0)
    given = sequences.corpus().attributes
    assert given is not None
    names, values = given.names.cells(), given.val.tolist() or [1.0] * given.names.ids.size
    for place, pairs in enumerate(ItemSequence(sequence)._pairs):
        expected: dict[str, float] = {}
        for name, value in pairs:
            expected[name] = expected.get(name, 0.0) + float(np.float32(value))
        found: dict[str, float] = {}
        for k in range(given.ptr[place], given.ptr[place + 1]):
            found[names[k]] = found.get(names[k], 0.0) + values[k]
        assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("item", WRONG, ids=repr)
def test_what_python_crfsuite_does_not_take_is_an_error_with_its_place(item: Any) -> None:
    with pytest.raises(SystemError):
        pycrfsuite.ItemSequence([["a"], item])
    with pytest.raises((TypeError, ValueError), match="item 1: "):
        ItemSequence([["a"], item])


@pytest.mark.parametrize("item", [{"a": None}, {1: 2}, [1], {"a": float("nan")}, {"a": 1e39}], ids=repr)
def test_a_wrong_sequence_is_an_error_at_once_and_not_kept(item: Any) -> None:
    """A program may skip it and go on, also after a training."""
    sequences = Sequences()
    for _ in range(2):
        sequences.append([["a"]], ["A"], 0)
        with pytest.raises((TypeError, ValueError), match="item 1: "):
            sequences.append([["a"], item], ["B", "B"], 0)
        sequences.corpus()
    sequences.append([["b"], ["b"]], ["C", "C"], 0)
    corpus = sequences.corpus()
    assert corpus.attributes is not None
    assert corpus.labels is not None
    assert corpus.offset.tolist() == [0, 1, 2, 4]
    assert corpus.attributes.names.cells() == ["a", "a", "b", "b"]
    assert corpus.labels.cells() == ["A", "A", "C", "C"]


def test_blocks_of_any_size_are_read() -> None:
    sequences = Sequences()
    sizes = [1, 1500, 1023, 1, 2, 3000]
    for size in sizes:
        sequences.append([[f"n{k}"] for k in range(size)], ["A"] * size, 0)
    corpus = sequences.corpus()
    assert corpus.attributes is not None
    assert np.diff(corpus.offset).tolist() == sizes
    assert corpus.attributes.names.cells() == [f"n{k}" for size in sizes for k in range(size)]


def test_strings_are_sequences_of_letters() -> None:
    for sequence in ("ab", ["ab"], {"ab": 1}):
        assert ItemSequence(sequence).items() == pycrfsuite.ItemSequence(sequence).items()


def test_data_may_change_after_it_was_given() -> None:
    items, labels = [{"a": "b"}], ["A"]
    sequences = Sequences()
    sequences.append(items, labels, 0)
    items[0]["c"] = "d"
    items.append({})
    corpus = sequences.corpus()
    assert corpus.attributes is not None
    assert corpus.attributes.names.cells() == ["a:b"]


def test_sets_are_read_in_one_order() -> None:
    sequences = Sequences()
    sequences.append([{"k": {"c", "a", "b"}, "z": "1"}, {"z", "y", "x"}], ["A", "B"], 0)
    corpus = sequences.corpus()
    assert corpus.attributes is not None
    assert corpus.attributes.names.cells() == ["k:a", "k:b", "k:c", "z:1", "x", "y", "z"]
