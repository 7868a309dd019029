"""Sessions: one sentence at a time gives what `predict` gives, for every kind of chain; from threads; after a fork."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitting import flat_tagger
from hypothesis import given
from hypothesis import strategies as st
from strategies import few

from palmette import Tagger
from palmette.datasets import load_demo
from palmette.errors import DataError
from palmette.features import parse
from palmette.kernels.core.hashing import BASE, RANDOM
from palmette.kernels.encode.sentence import NewCells, hash_cells
from palmette.structures import Session, items_of
from palmette.structures.chain import session as sessions

X, Y = load_demo("train")
X, Y = X[:80], Y[:80]
TEST = load_demo("test")[0][:25]
LONG = [(w, p) for s in TEST for w, p in s]
EDGES = "U0:%x[0,0]\nU1:%x[-1,0]/%x[1,1]\nB\nB1:%x[0,1]"
ANCHORS = "u:%x[0,0]\nu:%x[@1,1]/%x[@-1,0]/%x[@4,1]\n*:%x[-2,1]/%x[3,1]\nb"


def as_dicts(sentences: list[Any]) -> list[Any]:
    return [
        [{"w": w.lower(), "p": [p, w[:2]], "short": len(w) < 4, "n": {"size": len(w) / 8}} for w, p in s]
        for s in sentences
    ]


def as_lists(sentences: list[Any]) -> list[Any]:
    return [[[f"w={w}", f"p={p}"] for w, p in s] for s in sentences]


def as_sets(sentences: list[Any]) -> list[Any]:
    return [[{f"w={w}", f"p={p}"} for w, p in s] for s in sentences]


def general(tagger: Tagger, sentences: list[Any]) -> tuple[list[list[str]], list[float]]:
    """Labels and scores by the general way."""
    items = items_of(tagger.model_, sentences)
    labels, scores = tagger.model_.tag(items.corpus)
    cuts = items.corpus.offset.tolist()
    names = [tagger.labels_[k] for k in labels.tolist()]
    return [names[a:b] for a, b in pairwise(cuts)], scores.tolist()


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "order 0": {"order": 0},
    "order 2": {"order": 2},
    "constraints": {"constraints": "IOB2"},
    "pairs": {"features": None, "template": parse(EDGES)},
    "anchors": {"features": None, "template": parse(ANCHORS, syntax="wapiti")},
    "seen pairs": {"features": None, "template": parse(EDGES), "edge_features": "seen"},
    "triples": {"features": None, "template": parse("*0:%x[0,0]\nU1:%x[-1,0]\nB\nT")},
    "only transitions": {"features": None, "template": parse("B\n")},
    "latent": {"latent": 2},
    "history": {"label_history": "bigram"},
    "maxent": {"learner": "maxent", "iterations": 4},
    "crf": {"learner": "crf", "iterations": 5},
    "hmm": {"features": None, "learner": "hmm"},
    "beam": {"search": "beam", "beam": 3},
    "labels before": {"features": None, "template": parse("U0:%x[0,0]\nU1:%x[0,1]/%y[-2]\nB\n"), "search": "beam"},
}


def trained(**options: Any) -> Tagger:
    passes = {} if options.get("learner") in ("hmm", "crf", "maxent") else {"passes": 2}
    return flat_tagger(**{"features": "chunk", **passes, **options}).fit(X[:40], Y[:40])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_chain(kind: str) -> None:
    tagger = trained(**KINDS[kind])
    session = tagger.session()
    sentences = [*TEST[:12], [("unseen", "XX")], LONG[:150], TEST[0]]
    labels, scores = general(tagger, sentences)
    assert [session.tag_scored(s) for s in sentences] == list(zip(labels, scores, strict=True))
    assert [tagger.predict([s]) for s in sentences] == [[own] for own in labels]
    assert tagger.predict_scored(sentences[:3]) == (labels[:3], scores[:3])
    for s, own in zip(sentences, labels, strict=True):
        by_columns = session.quick_columns(list(zip(*s, strict=True)), len(s))
        assert (by_columns is None) == (session.quick(s) is None)
        assert by_columns is None or [tagger.labels_[k] for k in by_columns.tolist()] == own
    tagger.model_.bias = {tagger.labels_[0]: 0.75, tagger.labels_[-1]: -3.0}  # as --tune-bias sets it
    labels, scores = general(tagger, sentences)
    assert [session.tag(s) for s in sentences] == labels


@pytest.mark.parametrize("kind", ["plain", "order 2", "pairs", "latent"])
def test_compact_models(kind: str, tmp_path: Path) -> None:
    tagger = trained(**KINDS[kind])
    tagger.compact(TEST, load_demo("test")[1][:25])
    tagger.save(tmp_path / "small.palm")
    for own in (tagger, Tagger.load(tmp_path / "small.palm")):
        session = own.session()
        labels, scores = general(own, TEST)
        assert [session.tag_scored(s) for s in TEST] == list(zip(labels, scores, strict=True))
    assert "chain" not in own.model_.__dict__  # the weights were not unpacked


def test_compact_models_of_ready_made_attributes() -> None:
    tagger = Tagger(passes=3).fit(as_dicts(X), Y)
    tagger.compact(as_dicts(TEST), load_demo("test")[1][:25])
    sentences, session = as_dicts(TEST), tagger.session()
    labels, scores = general(tagger, sentences)
    assert [session.tag_scored(s) for s in sentences] == list(zip(labels, scores, strict=True))


def test_words_and_characters() -> None:
    words = [[w for w, _ in s] for s in X]
    tagger = Tagger("pos", passes=2).fit(words, [[p for _, p in s] for s in X])
    session = tagger.session()
    sentences = [[w for w, _ in s] for s in TEST]
    assert [session.tag(s) for s in sentences] == general(tagger, sentences)[0]
    assert [session.tag([(w,) for w in s]) for s in sentences] == general(tagger, sentences)[0]


def test_lexicons_take_the_general_way(tmp_path: Path) -> None:
    (tmp_path / "verbs.txt").write_text("takes\nis a\n", encoding="utf-8")
    tagger = Tagger("chunk", passes=2, lexicons={"verbs": tmp_path / "verbs.txt"}).fit(X[:40], Y[:40])
    assert [tagger.session().tag(s) for s in TEST] == general(tagger, TEST)[0]


@pytest.mark.parametrize("view", [as_dicts, as_lists, as_sets])
def test_ready_made_attributes(view: Any) -> None:
    tagger = Tagger(passes=3).fit(view(X), Y)
    session, sentences = tagger.session(), view([*TEST, LONG[:200]])
    labels, scores = general(tagger, sentences)
    assert [session.tag_scored(s) for s in sentences] == list(zip(labels, scores, strict=True))
    assert tagger.predict(sentences) == labels
    assert tagger.predict(sentences[:2]) == labels[:2]


names = st.text("abc:é", max_size=3)
values = st.one_of(names, st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, np.float32(2.0), {"a"}, ["b", "c"]]))
tokens = st.one_of(st.dictionaries(names, values, max_size=6), st.lists(names, max_size=4), st.sets(names, max_size=3))
HOT = Tagger(passes=3).fit(
    [[{"a": "b", "c": 1, "x": {"a": 2.0}}, ["a", "b", "c"]], [{"b": "a", "ab": 0.5}, {"a", "c"}]],
    [["A", "B"], ["C", "A"]],
)  # fmt: skip


@few(2)
@given(st.lists(st.lists(tokens, min_size=1, max_size=5), min_size=1, max_size=4))
def test_any_attributes(sentences: list[Any]) -> None:
    session = HOT.session()
    labels, scores = general(HOT, sentences)
    assert [session.tag_scored(s) for s in sentences] == list(zip(labels, scores, strict=True))


@few(1)
@given(st.lists(st.lists(st.tuples(st.text(max_size=3), st.sampled_from(["NN", "DT", "é"])), min_size=1), min_size=1))
def test_a_small_table_of_cells(sentences: list[Any]) -> None:
    tagger = CHUNKER
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "MOST_CELLS", 6)
        session = Session(tagger.model_)
        assert [session.tag(s) for s in sentences] == general(tagger, sentences)[0]


CHUNKER = trained()


@few(2)
@given(st.lists(st.one_of(st.none(), st.text(max_size=9)), max_size=12), st.integers(0, 3), st.integers(1, 3))
def test_new_cells_are_hashed_into_their_rows(texts: list[str | None], first: int, per_cell: int) -> None:
    """Against the definition: a polynomial of the bytes, and the power that moves it to the left."""
    n = len(texts) // per_cell
    pieces = [(text or "").encode() for text in texts]
    end = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    end = np.where([text is None for text in texts], -1, end).astype(np.int64)
    views = np.arange(per_cell, dtype=np.int32)[::-1].copy()
    data = np.frombuffer(b"".join(pieces) + b"-", np.uint8)
    hash, power = np.full((2, first + n, per_cell), 7, np.uint64)
    rows = np.array([first, n + 5])  # more than there is room for
    hash_cells(NewCells(rows, data, end, views), hash, power)
    for k, piece in enumerate(pieces[: n * per_cell]):
        wanted = 0
        for byte in piece:
            wanted = (wanted * int(BASE) + int(RANDOM[byte])) % 2**64
        r, v = first + k // per_cell, views[k % per_cell]
        assert hash[r, v] == wanted
        assert power[r, v] == (0 if texts[k] is None else pow(int(BASE), len(piece), 2**64))
    assert (hash[:first] == 7).all()


def test_the_table_of_cells_grows_with_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were given out stay what they are, whatever comes later, in a table that is full as well."""
    monkeypatch.setattr(sessions, "FIRST_CELLS", 4)
    monkeypatch.setattr(sessions, "MOST_CELLS", 200)
    tagger = Tagger("chunk", passes=1).fit(X, Y)
    session = Session(tagger.model_)
    assert [session.tag(sentence) for sentence in [*TEST, *X, *TEST]] == tagger.predict([*TEST, *X, *TEST])
    reader = session._local.room.reader
    assert len(reader.hash) <= 200
    assert len({word for sentence in [*TEST, *X] for word, _ in sentence}) > 200


def test_room_grows_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_ROOM", 128)
    tagger, session = CHUNKER, CHUNKER.session()
    for n in (3, 32, 33, 100, 129, 400, 5, 128):
        assert session.tag(LONG[:n]) == general(tagger, [LONG[:n]])[0][0]
    assert session._local.room.most == 128
    monkeypatch.setattr(sessions, "MOST_TABLES", 1)
    assert session.tag(LONG[:300]) == general(tagger, [LONG[:300]])[0][0]
    assert CHUNKER.session().tag(LONG[:5]) == general(tagger, [LONG[:5]])[0][0]


def test_a_room_that_would_be_too_large_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of triples grow with the cube of the labels: their size is known before they are made."""
    tagger = trained()
    assert tagger.session().quick(LONG[:5]) is not None
    monkeypatch.setattr(sessions, "MOST_TABLES", 1)
    monkeypatch.setattr(sessions, "Room", None)  # would fail if it were called
    assert tagger.session().tag(LONG[:5]) == general(tagger, [LONG[:5]])[0][0]


def test_sentences_with_many_attributes() -> None:
    session = HOT.session()
    large = [[{f"a{k}" * 9: "b" for k in range(m)} | {"a": "b"}] for m in (10, 300, 3000, 2, 90_000)]
    assert [session.tag(s) for s in large] == general(HOT, large)[0]


def test_empty_sentences_and_generators() -> None:
    for session in (HOT.session(), CHUNKER.session()):
        assert session.tag([]) == []
        assert session.tag_scored(()) == ([], 0.0)
    assert CHUNKER.session().tag(token for token in TEST[0]) == CHUNKER.predict([TEST[0]])[0]
    assert CHUNKER.session().tag(tuple(TEST[0])) == CHUNKER.predict([TEST[0]])[0]
    assert CHUNKER.predict([[], TEST[0], []]) == [[], CHUNKER.session().tag(TEST[0]), []]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ("text", r"X\[0\] is of type str"),
        ([("a", "b"), ("a",)], r"X\[0\]\[1\] has 1 column"),
        (["a", "b"], "the model reads 2 columns and the input has 1"),
        ([("a", "b"), "ab"], r"X\[0\]\[1\] is of type str"),
        ([("a", 1)], r"X\[0\]\[0\]\[1\] is of type int"),
        ([("a", "b", "c")], r"X\[0\]\[0\] has 3 columns, and the model was trained on 2"),
        ([("a", ["b"])], r"X\[0\]\[0\] holds a cell of type list"),
        ([("a", "\ud800")], "not valid Unicode"),
        ([("a", "b"), {}], r"X\[0\]\[1\] is of type dict"),
        ([()], "is empty"),
    ],
)
def test_errors_of_columns(tokens: Any, message: str) -> None:
    for tag in (CHUNKER.session().tag, lambda tokens: CHUNKER.predict([tokens])):
        with pytest.raises(DataError, match=message):
            tag(tokens)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([{"a": None}], r"X\[0\]\[0\]\['a'\] is None"),
        ([{"a": 1}, "b"], r"X\[0\]\[1\] is of type str"),
        ([{"a": float("nan")}], "is nan"),
        ([{1: 1}], "has an attribute of type int"),
        ([{"a": "\ud800"}], "not valid Unicode"),
        ([{"a": 3e38, "b": 3e38, "c": 3e38, "ab": 3e38, "x": {"a": 3e38}}] * 3, "its score overflows"),
    ],
)
def test_errors_of_attributes(tokens: Any, message: str) -> None:
    for tag in (HOT.session().tag, lambda tokens: HOT.predict([tokens])):
        with pytest.raises(DataError, match=message):
            tag(tokens)


def test_a_session_follows_its_model() -> None:
    tagger = trained()
    session = tagger.session()
    before = [session.tag(s) for s in TEST]
    tagger.search_with("beam", 1)
    assert [session.tag(s) for s in TEST] == general(tagger, TEST)[0]
    tagger.search_with("viterbi")
    assert [session.tag(s) for s in TEST] == before
    tagger.fit(X[40:], Y[40:])
    assert [session.tag(s) for s in TEST] == before  # the session has the model of its beginning
    assert [tagger.predict([s])[0] for s in TEST] == general(tagger, TEST)[0]


def test_pickled() -> None:
    tagger = pickle.loads(pickle.dumps(CHUNKER))
    assert tagger.predict([TEST[0]]) == CHUNKER.predict([TEST[0]])
    session = pickle.loads(pickle.dumps(CHUNKER.session()))
    assert session.tag(TEST[1]) == CHUNKER.predict([TEST[1]])[0]


# --- threads and processes -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Tagger, list[Any], list[list[str]]]]:
    """Models from files, sentences, and their labels."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for name, tagger, sentences in (
        ("columns", trained(), TEST),
        ("dicts", Tagger(passes=2).fit(as_dicts(X), Y), as_dicts(TEST)),
        ("beam", trained(search="beam", beam=3), TEST),
    ):
        tagger.save(folder / f"{name}.palm")
        again = Tagger.load(folder / f"{name}.palm")
        found[name] = again, sentences, general(again, sentences)[0]
    return found


@pytest.mark.parametrize("name", ["columns", "dicts", "beam"])
def test_threads(name: str, loaded: Any) -> None:
    tagger, sentences, expected = loaded[name]
    session = tagger.session()
    order = [k % len(sentences) for k in range(400)]
    random.Random(1).shuffle(order)
    with ThreadPoolExecutor(6) as pool:
        shared = list(pool.map(lambda k: session.tag(sentences[k]), order))
        predicted = list(pool.map(lambda k: tagger.predict([sentences[k]])[0], order))
    assert shared == predicted == [expected[k] for k in order]


def _in_a_child(given: tuple[Any, Any, Any]) -> Any:
    tagger, session, sentences = given
    return [session.tag(s) for s in sentences], [tagger.predict([s])[0] for s in sentences], tagger.predict(sentences)


_SHARED: list[Any] = []


def _on_shared(k: int) -> Any:
    return _in_a_child(_SHARED[k])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used before"])
@pytest.mark.filterwarnings("ignore:This process.*:DeprecationWarning")
def test_fork(used: bool, loaded: Any) -> None:
    """Children see the model, its session and its room as the parent left them, and do not disturb each other."""
    expected = []
    _SHARED.clear()
    for tagger, sentences, labels in loaded.values():
        session = tagger.session()
        if used:
            session.tag(sentences[0])
            tagger.predict([sentences[1]])
        _SHARED.append((tagger, session, sentences))
        expected.append((labels, labels, labels))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        waiting = [pool.apply_async(_on_shared, (k,)) for k in (0, 1, 2, 1, 0)]
        mine = [_on_shared(k) for k in range(3)]
        found = [result.get(60) for result in waiting]
    assert mine == expected
    assert found == [expected[k] for k in (0, 1, 2, 1, 0)]
