"""Rows of Hugging Face data sets: what comes back has the features that went in; plain dicts need no such library."""

from __future__ import annotations

import doctest
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fitting import same_bits

from palmette import Tagger
from palmette.connect.datasets import Predictor, fit_dataset, predict_dataset, read_dataset, score_dataset
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError

X, Y = load_demo("train")
X, Y = X[:40], Y[:40]
WORDS, TAGS = [[w for w, _ in s] for s in X], [[t for _, t in s] for s in X]
NAMES, TAG_NAMES = (sorted({k for own in column for k in own}) for column in (Y, TAGS))
BOTH = ["tokens", "pos_tags"]
ROWS: list[dict[str, Any]] = [
    {"id": k, "tokens": words, "pos_tags": tags, "ner_tags": [NAMES.index(label) for label in labels]}
    for k, (words, tags, labels) in enumerate(zip(WORDS, TAGS, Y, strict=True))
]


@pytest.fixture(scope="module")
def hub() -> Any:
    import datasets

    return datasets


@pytest.fixture(scope="module")
def data(hub: Any) -> Any:
    """The rows as a data set; tags are numbers with names too."""
    columns = {
        "id": list(range(len(X))), "tokens": WORDS, "pos_tags": [[TAG_NAMES.index(t) for t in s] for s in TAGS],
        "ner_tags": [row["ner_tags"] for row in ROWS],
        "vector": [[[float(len(w)), 1.0, -0.5] for w in s] for s in WORDS],
    }  # fmt: skip
    features = hub.Features({
        "id": hub.Value("int64"), "tokens": hub.Sequence(hub.Value("string")),
        "pos_tags": hub.Sequence(hub.ClassLabel(names=TAG_NAMES)),
        "ner_tags": hub.Sequence(hub.ClassLabel(names=NAMES)),
        "vector": hub.Sequence(hub.Sequence(hub.Value("float32"))),
    })  # fmt: skip
    return hub.Dataset.from_dict(columns, features=features)


def chunker() -> Tagger:
    return Tagger("chunk", passes=2)


@pytest.fixture(scope="module")
def expected() -> Tagger:
    """The model of the same data as Python has it."""
    return chunker().fit(X, Y)


def test_a_data_set_in_and_out(data: Any, expected: Tagger) -> None:
    tagger = fit_dataset(chunker(), data, tokens=BOTH)
    assert same_bits(tagger.model_, expected.model_)
    tagged = predict_dataset(tagger, data, tokens=BOTH)
    assert tagged.features["predicted"] == data.features["ner_tags"]
    assert tagged.column_names == [*data.column_names, "predicted"]
    assert tagged.remove_columns("predicted")[3] == data[3]
    names = data.features["ner_tags"].feature.int2str
    assert [names(own) for own in tagged["predicted"]] == expected.predict(X)
    correct = [p == g for row in tagged for p, g in zip(row["predicted"], row["ner_tags"], strict=True)]
    assert score_dataset(tagger, data, tokens=BOTH) == pytest.approx(np.mean(correct))


def test_read_dataset_gives_what_fit_takes(data: Any, expected: Tagger) -> None:
    found, y, names = read_dataset(data, tokens=BOTH)
    assert (found, y, names) == (X, [row["ner_tags"] for row in ROWS], NAMES)
    assert same_bits(chunker().fit(found, y, labels=names).model_, expected.model_)
    assert read_dataset(data).X == WORDS
    for form in ("numpy", "pandas"):
        assert read_dataset(data.with_format(form), tokens=BOTH) == (found, y, names)
    assert read_dataset(data.to_iterable_dataset(), tokens=BOTH) == (found, y, names)
    (one, two), _, _ = read_dataset(data.select([5, 2]), tokens=BOTH)
    assert (one, two) == (X[5], X[2])


def test_splits_and_streams(hub: Any, data: Any, expected: Tagger) -> None:
    tagger = fit_dataset(chunker(), data, tokens=BOTH)
    splits = hub.DatasetDict({"one": data.select(range(3)), "two": data.select([7])})
    tagged = predict_dataset(tagger, splits, tokens=BOTH, column="guess")
    assert isinstance(tagged, hub.DatasetDict)
    assert list(tagged["two"]["guess"]) == tagger.predict([X[7]])
    stream = predict_dataset(tagger, data.to_iterable_dataset(), tokens=BOTH)
    assert stream.features["predicted"] == data.features["ner_tags"]
    assert [row["predicted"] for row in stream] == tagger.predict(X)


def test_a_function_for_map(data: Any) -> None:
    tagger = fit_dataset(Tagger("pos", passes=2), data)
    predict = pickle.loads(pickle.dumps(Predictor(tagger, column="guess")))
    features = type(data.features)({**data.features, "guess": data.features["ner_tags"]})
    mapped = data.map(predict, batched=True, batch_size=7, features=features)
    assert mapped.features["guess"] == data.features["ner_tags"]
    assert list(mapped["guess"]) == tagger.predict(WORDS)


def test_other_numbers_for_the_same_names(hub: Any, data: Any) -> None:
    """Development and test data may number their labels in another way."""
    turned = data.cast_column("ner_tags", hub.Sequence(hub.Value("int64"))).map(
        lambda row: {"ner_tags": [len(NAMES) - 1 - k for k in row["ner_tags"]]}
    )
    turned = turned.cast_column("ner_tags", hub.Sequence(hub.ClassLabel(names=NAMES[::-1])))
    tagger = fit_dataset(chunker(), data, tokens=BOTH, dev=turned)
    assert same_bits(tagger.model_, fit_dataset(chunker(), data, tokens=BOTH, dev=data).model_)
    assert score_dataset(tagger, turned, tokens=BOTH) == score_dataset(tagger, data, tokens=BOTH) > 0.9


def test_strings_and_numbers_without_names(hub: Any, data: Any, expected: Tagger) -> None:
    strings = data.remove_columns("ner_tags").add_column("ner_tags", Y)
    tagger = fit_dataset(chunker(), strings, tokens=BOTH)
    assert same_bits(tagger.model_, expected.model_)
    assert predict_dataset(tagger, strings, tokens=BOTH).features["predicted"] == strings.features["ner_tags"]
    assert score_dataset(tagger, data, tokens=BOTH) == score_dataset(tagger, strings, tokens=BOTH)
    bare = data.cast_column("ner_tags", hub.Sequence(hub.Value("int64")))
    tagger = fit_dataset(chunker(), bare, tokens=BOTH)
    assert tagger.classes_ == [int(label) for label in tagger.labels_]
    assert predict_dataset(tagger, bare, tokens=BOTH).features["predicted"] == bare.features["ner_tags"]
    assert score_dataset(tagger, data, tokens=BOTH) == score_dataset(tagger, bare, tokens=BOTH) > 0.9
    assert fit_dataset(chunker(), bare, tokens=BOTH, names=NAMES).labels_ == expected.labels_


def test_vectors(data: Any) -> None:
    matrices = [np.array([[len(w), 1.0, -0.5] for w in s], np.float32) for s in WORDS]
    tagger = fit_dataset(Tagger(passes=2), data, tokens="vector")
    assert same_bits(tagger.model_, Tagger(passes=2).fit(matrices, Y).model_)
    dicts = [[{"w": w, "v": v} for w, v in zip(*own, strict=True)] for own in zip(WORDS, matrices, strict=True)]
    tagger = fit_dataset(Tagger(passes=2), data, tokens={"w": "tokens", "v": "vector"})
    assert same_bits(tagger.model_, Tagger(passes=2).fit(dicts, Y).model_)
    tagged = predict_dataset(tagger, data, tokens={"w": "tokens", "v": "vector"})
    assert list(tagged["predicted"]) == tagger.predict(dicts)


def test_plain_rows_need_no_library(expected: Tagger) -> None:
    tagger = fit_dataset(chunker(), ROWS, tokens=BOTH, names=NAMES)
    assert same_bits(tagger.model_, expected.model_)
    tagged = predict_dataset(tagger, iter(ROWS), tokens=BOTH)
    assert [{k: v for k, v in row.items() if k != "predicted"} for row in tagged] == ROWS
    assert [[NAMES[k] for k in row["predicted"]] for row in tagged] == expected.predict(X)
    assert score_dataset(tagger, ROWS, tokens=BOTH, names=NAMES) == expected.score(X, Y)
    script = (
        "import sys; sys.modules['datasets'] = None\n"
        "from palmette import Tagger\nfrom palmette.connect.datasets import fit_dataset, predict_dataset\n"
        "rows = [{'tokens': ['a', 'b'], 'ner_tags': [1, 0]}]\n"
        "print(predict_dataset(fit_dataset(Tagger('pos', passes=3), rows), rows)[0]['predicted'])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[1, 0]\n"


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ({"train": ROWS, "test": ROWS}, {}, "these are several splits (train, test): choose one"),
        (3, {}, "rows are of type int"),
        (ROWS, {"labels": "tags"}, "row 0 has no column 'tags', only id, tokens, pos_tags, ner_tags: see tokens="),
        ([ROWS[0], {"tokens": []}], {}, "row 1 has no column 'ner_tags'"),
        ([ROWS[0], 4], {}, "row 1 is of type int: a dict is expected"),
        (ROWS, {"names": ["O"]}, "labels are the numbers from 0 to 0, which have names"),
        ([{"tokens": ["a", "b"], "tags": ["c"], "ner_tags": [0, 0]}], {"tokens": ["tokens", "tags"]},
         "a row has 2 tokens in 'tokens' and 1 in 'tags'"),
        ([{"tokens": ["a"], "ner_tags": [-1]}], {}, "y[0][0] is -1"),
    ],
)  # fmt: skip
def test_rows_that_do_not_fit(rows: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=re.escape(message)):
        fit_dataset(chunker(), rows, **options)


def test_the_example_of_the_documentation(hub: Any) -> None:
    page = Path(__file__).resolve().parents[1] / "docs" / "python_data.md"
    examples = re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 1
    parsed = doctest.DocTestParser().get_doctest(examples[0], {}, page.name, page.name, 0)
    report: list[str] = []
    assert doctest.DocTestRunner().run(parsed, out=report.append) == (0, len(parsed.examples)), "".join(report)


def test_columns_that_do_not_fit(hub: Any, data: Any) -> None:
    with pytest.raises(UsageError, match="the rows have no column 'labels', only id, tokens"):
        fit_dataset(chunker(), data, labels="labels")
    tagger = fit_dataset(Tagger("pos", passes=1), data)
    with pytest.raises(UsageError, match="the rows have a column 'id'"):
        predict_dataset(tagger, data, column="id")
    unknown = hub.Dataset.from_dict(
        {"tokens": [["a"]], "pos_tags": [[-1]], "ner_tags": [[0]]},
        features=hub.Features({name: data.features[name] for name in ("tokens", "pos_tags", "ner_tags")}),
    )
    with pytest.raises(DataError, match="holds -1, which has no name"):
        fit_dataset(chunker(), unknown, tokens=BOTH)
