"""Python data to corpora: python-crfsuite is the judge of attributes; and what is refused, with its place."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.data import Corpus, corpus_from_items
from palmette.errors import DataError, UsageError

names = st.text("ab:é[]-", min_size=0, max_size=4)
values = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-1e6, 1e6, width=32),
    st.sampled_from([1, 1.0, True, np.float32(0.5), np.int64(2), np.float64(1.0), np.bool_(False)]),
    names,
)
nested = st.recursive(
    values,
    lambda inner: st.one_of(
        st.dictionaries(names, inner, max_size=3), st.lists(names, max_size=3), st.sets(names, max_size=3)
    ),
    max_leaves=6,
)
tokens = st.one_of(st.dictionaries(names, nested, max_size=5), st.lists(names, max_size=4), st.sets(names, max_size=4))


def attributes_of(corpus: Corpus) -> list[list[tuple[str, float]]]:
    given_attributes = corpus.attributes
    assert given_attributes is not None
    cells = given_attributes.names.cells()
    val = given_attributes.val.tolist() or [1.0] * len(cells)
    pairs = list(zip(cells, val, strict=True))
    return [pairs[a:b] for a, b in pairwise(given_attributes.ptr.tolist())]


@settings(max_examples=400)
@given(st.lists(st.lists(tokens, min_size=1, max_size=3), min_size=1, max_size=3))
def test_attributes_as_python_crfsuite_has_them(X: list[list[Any]]) -> None:
    corpus = corpus_from_items(X).corpus
    expected = [item for sentence in X for item in pycrfsuite.ItemSequence(_plain(sentence)).items()]
    found = [dict(token) for token in attributes_of(corpus)]
    assert found == [{k: np.float32(v) for k, v in token.items()} for token in expected]
    assert corpus.offset.tolist() == np.cumsum([0, *(len(s) for s in X)]).tolist()


def _plain(value: Any) -> Any:
    """python-crfsuite refuses some of NumPy's numbers, and keeps attributes of value 0."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if isinstance(v, str | dict | list | set) or np.float32(v) != 0}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def test_all_ones_have_no_values() -> None:
    corpus = corpus_from_items([[{"a": 1, "b": True, "c": "d", "e": ["f"]}, {"a": 1.0}]]).corpus
    assert corpus.attributes is not None
    assert corpus.attributes.val.size == 0
    assert corpus.attributes.names.cells() == ["a", "b", "c:d", "e:f", "a"]


def test_the_same_in_every_run() -> None:
    corpus = corpus_from_items([[{"z", "a", "m"}]]).corpus
    assert corpus.attributes is not None
    assert corpus.attributes.names.cells() == ["a", "m", "z"]


def test_columns() -> None:
    words = corpus_from_items([["a", "b"], ["a"]], [["X", "Y"], ["X"]]).corpus
    assert [words.sentence(s) for s in range(2)] == [[["a"], ["b"]], [["a"]]]
    assert words.labels is not None
    assert words.labels.cells() == ["X", "Y", "X"]
    assert corpus_from_items([[("a", "D"), ("b", "N")]]).corpus.sentence(0) == [["a", "D"], ["b", "N"]]
    assert corpus_from_items([[["a", "D"]]], mode="columns").corpus.sentence(0) == [["a", "D"]]
    assert attributes_of(corpus_from_items([[("a", "D")]], mode="attributes").corpus) == [[("a", 1.0), ("D", 1.0)]]
    arrays = corpus_from_items(np.array([["a", "b"], ["c", "d"]]), np.array([["X", "Y"], ["X", "X"]])).corpus
    assert arrays.sentence(1) == [["c"], ["d"]]
    assert type(arrays.columns[0].types[0]) is str


def test_generators() -> None:
    X = ((word for word in sentence.split()) for sentence in ("a b", "c"))
    y = (iter(tags) for tags in (["X", "Y"], ["Z"]))
    corpus = corpus_from_items(X, y).corpus
    assert corpus.n_sentences == 2
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["X", "Y", "Z"]


def test_empty_sentences_keep_their_places() -> None:
    items = corpus_from_items([[], ["a", "b"], [], ["c"], []], [[], ["X", "Y"], [], ["Z"], []])
    assert items.corpus.offset.tolist() == [0, 2, 3]
    assert items.places.tolist() == [1, 3]
    assert items.with_empty([["X", "Y"], ["Z"]], list) == [[], ["X", "Y"], [], ["Z"], []]
    assert items.with_empty([1.5, 2.5], float) == [0.0, 1.5, 0.0, 2.5, 0.0]
    for X in ([], [[]]):
        nothing = corpus_from_items(X, X)
        assert nothing.corpus.n_sentences == nothing.corpus.n_tokens == 0
        assert nothing.with_empty([], list) == X


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("text", "X is of type str: a list of sentences"),
        (None, "X is None"),
        ({"a": 1}, "X is of type dict"),
        ([["a"], "b c"], "X[1] is of type str: a list of tokens"),
        ([["a"], None], "X[1] is None"),
        ([["a"], {"b": 1}], "X[1] is of type dict"),
        ([["a", "b"], ["c", 5]], "X[1][1] is of type int: a token is a string, as the tokens before"),
        ([["a", b"b"]], "X[0][1] is of type bytes"),
        ([[b"b"]], "X[0][0] is of type bytes"),
        ([[1.5]], "X[0][0] is of type float"),
        ([["a", ("b",)]], "X[0][1] is of type tuple"),
        ([[("a",), "b"]], "X[0][1] is of type str: a token is a tuple"),
        ([[("a", "b"), ("a",)]], "X[0][1] has 1 column, but the tokens before it have 2"),
        ([[("a", "b")], [("a", 2)]], "X[1][0][1] is of type int: a cell is a string"),
        ([[("a", ["b"])]], "X[0][0] holds a cell of type list"),
        ([[()]], "X[0][0] is empty"),
        ([[], [{"a": 1}, "b"]], "X[1][1] is of type str: a token is a dict, list or set"),
        ([[{"a": 1}], [None]], "X[1][0] is None"),
        ([[{"a": None}]], "X[0][0]['a'] is None: a value is"),
        ([[{"a": b"x"}]], "X[0][0]['a'] is of type bytes"),
        ([[{"a": {"b": None}}]], "X[0][0]['a:b'] is None"),
        ([[{"a": NAN}]], "X[0][0]['a'] is nan"),
        ([[{"a": {"b": -INF}}]], "X[0][0]['a:b'] is -inf"),
        ([[{"a": 1e39}]], "X[0][0]['a'] is 1e+39"),
        ([[{"a": 10**400}]], "X[0][0]['a'] is inf"),
        ([[{1: 2}]], "X[0][0] has an attribute of type int: a name is a string"),
        ([[{"a": {1: 2}}]], "X[0][0] has an attribute of type int in 'a'"),
        ([[["a", 1]]], "X[0][0] has an attribute of type int"),
        ([[{"a": [["b"]]}]], "X[0][0] has an attribute of type list in 'a:'"),
        ([[{"a", 1}]], "X[0][0] has an attribute of type int"),
        ([[[b"a"]]], "X[0][0] has an attribute of type bytes"),
        ([["a", "\ud800"]], "X[0][1] is not valid Unicode"),
        ([[("a", "\ud800")]], "X[0][0][1] is not valid Unicode"),
        ([[{"a": 1}, {"b": "\ud800"}]], "X[0][1], an attribute, is not valid Unicode"),
    ],
)
def test_errors_name_the_place(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        corpus_from_items(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["X", "Y"]], "y has 1 sentence, but X has more"),
        ([["X", "Y"], ["Z"], ["Z"]], "y has more sentences than X, which has 2"),
        ([["X"], ["Z"]], "y[0] has 1 label, but X[0] has 2 tokens"),
        ([["X", "Y"], "Z"], "y[1] is of type str: a list of tokens"),
        ("XY", "y is of type str"),
        ([["X", "Y"], [1]], "y[1][0] is of type int"),
        ([["X", ["Y"]], ["Z"]], "y[0][1] is of type list"),
        ([["X", "Y"], [""]], "y[1][0] is an empty label"),
        ([["X", "Y"], [b"Z"]], "y[1][0] is of type bytes"),
    ],
)
def test_labels_that_do_not_fit(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        corpus_from_items([["a", "b"], ["c"]], y)


def test_unknown_mode() -> None:
    with pytest.raises(UsageError, match="unknown mode"):
        corpus_from_items([], mode="words")
