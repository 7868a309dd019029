"""JSON lines: what is read, what is refused, what is kept when tags are written back."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.data import Corpus, Writer
from palmette.data.formats.jsonl import JsonlParser, Keys
from palmette.errors import DataError, UsageError


def parse(*objects: object, **keys: object) -> Corpus:
    text = "\n".join(o if isinstance(o, str) else json.dumps(o) for o in objects)
    return JsonlParser(Keys(**keys), "f")(text.encode())  # type: ignore[arg-type]


words = st.lists(st.text(max_size=4).filter(lambda t: t.isprintable()), max_size=4)


@settings(max_examples=150)
@given(st.lists(words, max_size=5), st.booleans(), st.sampled_from(["\n", "\r\n", "\n \n"]))
def test_same_as_json(sentences: list[list[str]], ascii_only: bool, end: str) -> None:
    objects = [{"id": k, "tokens": s, "tags": [w.upper() for w in s]} for k, s in enumerate(sentences)]
    text = end.join(json.dumps(o, ensure_ascii=ascii_only) for o in objects)
    corpus = JsonlParser(Keys(), "f")(text.encode())
    kept = [s for s in sentences if s]
    assert [[cell for (cell,) in corpus.sentence(k)] for k in range(corpus.n_sentences)] == kept
    labels = [] if corpus.labels is None else corpus.labels.cells()
    assert labels == [w.upper() for s in kept for w in s]
    out = Writer("jsonl", None, ["X"]).write(corpus, np.zeros(corpus.n_tokens, np.int32))
    assert [json.loads(row) for row in out.splitlines()] == [o | {"tags": ["X"] * len(o["tokens"])} for o in objects]


def test_hugging_face_numbers() -> None:
    corpus = parse({"tokens": ["a", "b"], "ner_tags": [0, 2]}, names=("O", "B-X", "I-X"))
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["O", "I-X"]
    for objects, message in [
        ({"tokens": ["a"], "ner_tags": [3]}, "has no name: 3 names"),
        ({"tokens": ["a"], "ner_tags": [-1]}, "has no name"),
    ]:
        with pytest.raises(DataError, match=message):
            parse(objects, names=("O", "B-X", "I-X"))
    with pytest.raises(DataError, match="is a number") as error:
        parse({"tokens": ["a"], "ner_tags": [3]})
    assert "tag_names" in (error.value.hint or "")


def test_columns_and_label_keys() -> None:
    given_object = {"tokens": ["a", "b"], "pos": ["D", "N"], "tags": ["X", "Y"], "mine": ["P", "Q"]}
    corpus = parse(given_object, columns=("tokens", "pos"), label="mine")
    assert corpus.sentence(0) == [["a", "D"], ["b", "N"]]
    assert corpus.labels is not None
    assert corpus.labels.cells() == ["P", "Q"]
    assert parse(given_object, labelled=False).labels is None
    # A column is not taken for the labels.
    assert parse(given_object, columns=("tokens", "tags")).labels is None
    assert parse({"tokens": ["a"]}).labels is None
    # No labels in the first object: none are read.
    assert parse({"tokens": ["a"]}, {"tokens": ["b"], "tags": ["X"]}).labels is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"tokens": ["a"]}', "no key 'tags'"),
        ('{"tags": ["a"]}', "no key 'tokens'; the object has tags"),
        ('{"tokens": ["a"], "tags": []}', "0 items under 'tags' and 1 under 'tokens'"),
        ('{"tokens": "a b", "tags": []}', "under 'tokens' cannot be read"),
        ('{"tokens": ["a", 1], "tags": ["X", "Y"]}', "under 'tokens' cannot be read"),
        ('{"tokens": ["a"], "tags": [null]}', "under 'tags' cannot be read"),
        ('{"tokens": ["a"], "tags": [1.5]}', "under 'tags' cannot be read"),
        ('{"tokens": ["\\ud800"], "tags": ["X"]}', "cannot be read|not a JSON object"),
        ('["tokens"]', "not a JSON object"),
        ("{", "not a JSON object"),
        ('{"tokens": ["a"], "tags": ["X"]} x', "not a JSON object"),
        ('{"tokens": ["a"], "tags": ["X"], "deep": ' + "[" * 100_000, "not a JSON object"),
    ],
)
def test_errors_name_the_line(row: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        parse({"tokens": ["a"], "tags": ["X"]}, "", row)
    assert error.value.line == 3


def test_labels_that_must_be_there() -> None:
    with pytest.raises(DataError, match="no labels"):
        parse({"tokens": ["a"]}, labelled=True)
    with pytest.raises(DataError, match="1 item under 'pos' and 2 under 'tokens'"):
        parse({"tokens": ["a", "b"], "pos": ["D"]}, columns=("tokens", "pos"))


def test_other_keys_stay_as_they_are() -> None:
    row = '{"id": 1e2, "tokens": ["é", "b"], "ner_tags": [1, 2], "x": {"y": [ 1]}}'
    corpus = parse(row, {"tokens": [], "x": 1}, labelled=False)
    out = Writer("jsonl", None, ["A", "B"], scores=True).write(corpus, np.array([0, 1]), np.array([2.5]))
    first, second = out.decode().splitlines()
    assert re.sub(r"\s", "", row)[:-1] + ',"tags":["A","B"],"score":2.5}' == re.sub(r"\s", "", first)
    assert json.loads(second) == {"tokens": [], "x": 1, "tags": [], "score": 0.0}


def test_as_columns() -> None:
    corpus = parse(
        {"tokens": ["a", "b c"], "pos": ["D", "N"]}, {"tokens": ["d"], "pos": ["D"]}, columns=("tokens", "pos")
    )
    assert Writer("jsonl", "columns", ["X"]).write(corpus, np.zeros(3)) == b"a\tD\tX\nb c\tN\tX\n\nd\tD\tX\n\n"
    with pytest.raises(DataError, match="holds a TAB or a line end"):
        Writer("jsonl", "columns", ["X"]).write(parse({"tokens": ["a\nb"]}), np.zeros(1))
    with pytest.raises(UsageError, match=r"from jsonl one can write jsonl, columns, prodigy, .*, brat, not conllu"):
        Writer("jsonl", "conllu", ["X"])
    with pytest.raises(UsageError, match="none are given"):
        Writer("jsonl", None, ["X"], scores=True).write(corpus, np.zeros(3))


def test_large_things() -> None:
    word = "é" * 500_000
    assert parse({"tokens": [word, "b\0"]}).sentence(0) == [[word], ["b\0"]]
    assert parse({"tokens": ["w"] * 100_000}).n_tokens == 100_000
    assert parse("").n_sentences == 0
