"""Lexicons and clusters: files, phrases against the naive matcher, plain data for the model."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_templates import phrases
from time_limit import time_limit

from palmette.errors import DataError, ModelError, UsageError
from palmette.features import Clusters, Lexicon, Resources, read_clusters, read_lexicon
from palmette.features.resources import MOST_WORDS, match


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_a_lexicon_with_and_without_classes(tmp_path: Path) -> None:
    path = write(tmp_path / "city.v2.txt", "\ufeffNew  York\r\n\nParis\tperson\nParis\n# 1\n")
    lexicon = read_lexicon(path)
    assert lexicon == Lexicon("city", {"New York": "city", "Paris": "city+person", "# 1": "city"})
    assert read_lexicon(path, "place").classes["New York"] == "place"
    assert read_lexicon(path, fold=True).classes == {
        "new york": "city",
        "paris": "city+person",
        "# 1": "city",
    }


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a\tb\tc", 1, "3 fields"),
        ("a\n\t b", 2, "phrase is empty"),
        ("a\n\nb\t ", 3, "class is empty"),
    ],
)
def test_lexicon_errors(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read_lexicon(write(tmp_path / "l.txt", text))
    assert error.value.line == line
    assert error.value.hint


def test_unreadable_resources(tmp_path: Path) -> None:
    for read in (read_lexicon, read_clusters):
        with pytest.raises(DataError, match=r"no (phrase|word) found"):
            read(write(tmp_path / "empty.txt", "\n"))
        with pytest.raises(DataError, match=r"none\.txt"):
            read(tmp_path / "none.txt")
        (tmp_path / "latin.txt").write_bytes(b"a\tb\nMalm\xf6\tc\n")
        with pytest.raises(DataError, match=r"latin\.txt:2"):
            read(tmp_path / "latin.txt")
        with pytest.raises(UsageError, match="cannot name"):
            read(tmp_path / "latin.txt", "a:b")


def test_brown_paths_and_plain_clusters(tmp_path: Path) -> None:
    brown = read_clusters(write(tmp_path / "paths.txt", "0010\tRome\t12\n111\trun\t7\n"))
    assert brown == Clusters("paths", {"Rome": "0010", "run": "111"}, paths=True)
    plain = read_clusters(write(tmp_path / "w.txt", "rome\tplace\n1\t0\n"), "topic")
    assert plain == Clusters("topic", {"rome": "place", "1": "0"})
    assert [plain.find(word) for word in ("rome", "Rome", "x")] == ["place", "place", None]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("word", 1, "1 field"),
        ("a\tb\n\na\tb\tc", 3, "3 fields separated by TAB, expected 2 as on the first line"),
        ("010\ta\t1\n02\tb\t1", 2, "'02' is not a Brown path"),
        ("a\tb\na\tc", 2, "second class 'c'"),
        ("a\t", 1, "empty"),
    ],
)
def test_cluster_errors(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read_clusters(write(tmp_path / "c.txt", text))
    assert error.value.line == line


def tags(lexicon: Lexicon, sentences: list[list[str]]) -> list[list[str | None]]:
    types = sorted({word for sentence in sentences for word in sentence})
    ids = np.array([types.index(word) for s in sentences for word in s], dtype=np.int32)
    offset = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    found, values = match(lexicon, ids, offset, types)
    assert found.dtype == np.int32
    assert len(found) == len(ids)
    flat = [values[i] for i in found]
    return [flat[a:b] for a, b in pairwise(offset)]


def test_the_longest_phrase_wins_and_sentences_end_it() -> None:
    lexicon = Lexicon("l", {"New York": "city", "New York Times": "paper", "York": "city"})
    sentences = [["in", "New", "York", "Times"], [], ["New"], ["York", "Times", "New", "York"]]
    assert tags(lexicon, sentences) == [
        [None, "B-paper", "I-paper", "I-paper"],
        [],
        [None],
        ["B-city", None, "B-city", "I-city"],
    ]
    assert tags(lexicon, [["new", "york"]]) == [[None, None]]
    assert tags(Lexicon("l", {"new york": "city"}, fold=True), [["NEW", "York"]]) == [["B-city", "I-city"]]
    assert tags(lexicon, []) == []


WORD = st.sampled_from(["a", "b", "A", "c"])
PHRASE = st.lists(WORD, min_size=1, max_size=4).map(" ".join)


@given(
    st.dictionaries(PHRASE, st.sampled_from(["x", "y"]), max_size=6),
    st.booleans(),
    st.lists(st.lists(WORD, max_size=8), max_size=4),
)
def test_phrases_agree_with_the_naive_matcher(classes: dict[str, str], fold: bool, sentences: list[list[str]]) -> None:
    lexicon = Lexicon("l", {p.casefold(): c for p, c in classes.items()} if fold else classes, fold)
    assert tags(lexicon, sentences) == [phrases(lexicon, sentence) for sentence in sentences]


def test_resources_survive_json() -> None:
    resources = Resources(
        {"city": Lexicon("city", {"New York": "city"}, fold=True)},
        {"brown": Clusters("brown", {"é": "01"}, paths=True)},
    )
    assert resources.lexicons["city"].after("New") == ({"York": {None: "city"}}, 2)  # what is cached must not be saved
    plain = json.loads(json.dumps(resources.to_dict()))
    assert set(plain["lexicons"]["city"]) == {"name", "classes", "fold"}
    assert Resources.from_dict(plain) == resources
    assert Resources.from_dict(Resources().to_dict()) == Resources()


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        {"lexicons": []},
        {"lexicons": {"a": {"name": "b", "classes": {}}}},
        {"lexicons": {"a:b": {"name": "a:b", "classes": {}}}},
        {"clusters": {"a": {"name": "a", "classes": {"w": 1}}}},
        {"clusters": {"a": {"name": "a"}}},
    ],
)
def test_damaged_resources(plain: object) -> None:
    with pytest.raises(ModelError, match="lexicons, clusters or words"):
        Resources.from_dict(plain)


def test_long_phrases_take_bounded_time(tmp_path: Path) -> None:
    """A text that all but matches long phrases at every token; the old matcher joined all beginnings of each."""
    words = ["a"] * 20_000
    almost = Lexicon("l", {" ".join(["a"] * (MOST_WORDS - 1) + ["b"]): "x", " ".join(["a"] * 100 + ["c"]): "y"})
    with time_limit(30):
        assert tags(almost, [words]) == [[None] * len(words)]
    assert tags(almost, [[*["a"] * 100, "c"]]) == [["B-y", *["I-y"] * 100]]
    path = write(tmp_path / "l.txt", "New York\n" + " ".join(["a"] * 60_000) + "\n")
    with pytest.raises(DataError, match=r"l.txt:2: a phrase of 60,000 words, and at most 256 are possible: 'a a"):
        read_lexicon(path)
    with pytest.raises(DataError, match=r"the lexicon l has a phrase of 257 words"):
        tags(Lexicon("l", {" ".join(["a"] * 257): "x"}), [words])


def test_a_cell_of_several_words_may_end_a_phrase() -> None:
    lexicon = Lexicon("l", {"New York Times": "paper", "New York": "city"})
    assert tags(lexicon, [["New", "York Times", "x"]]) == [["B-paper", "I-paper", None]]
    assert tags(lexicon, [["New", "York  Times"]]) == [[None, None]]
    assert tags(lexicon, [["New York"]]) == [[None]]
