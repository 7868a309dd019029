"""Encoding on several threads gives the arrays of encoding at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.data.corpus import Corpus, column_of_strings
from palmette.data.formats import columns
from palmette.data.formats.registry import read_corpus
from palmette.datasets.demo import demo_text
from palmette.features.encode import Encoder, new_feature_index
from palmette.features.encode_parts import encode_in_parts
from palmette.features.index import growing, keys_of
from palmette.features.named import named_set
from palmette.features.resources import Resources
from palmette.features.templates import parse

TEMPLATES = parse("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%x[-2,0]/%x[0,0]/%x[2,0]/%x[1,0]\nB1:%x[0,0]\nB\n")


def assert_same(encoder: Encoder, corpus: Corpus, parts: int, old: np.ndarray | None = None) -> None:
    cells = encoder.cells(corpus)
    for order in encoder.programs:
        if order > 3:
            continue
        index = new_feature_index()
        if old is not None:
            index = encoder.encode(order, cells._replace(ids=old), np.array([0, old.shape[1]]), index, grow=True)[2]
        whole = encoder.encode(order, cells, corpus.offset, growing(index), grow=True)
        found = encode_in_parts(encoder, order, cells, corpus.offset, index, parts)
        for k in (0, 1, 3):
            assert np.array_equal(found[k], whole[k])
        assert np.array_equal(keys_of(found[2]), keys_of(whole[2]))


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans())
def test_parts_number_attributes_as_the_whole_does(seed: int, parts: int, more: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 30, 400, 1500], rng.integers(1, 40), p=[0.2, 0.3, 0.3, 0.15, 0.05])
    words = column_of_strings(f"w{k}" for k in rng.zipf(1.5, sizes.sum()) % 200)
    corpus = Corpus(np.concatenate(([0], np.cumsum(sizes))), [words])
    old = np.ascontiguousarray(words.ids[None, :50]) if more else None  # a model that learns more has attributes before
    assert_same(Encoder(TEMPLATES, Resources()), corpus, parts, old)


def test_columns_on_threads_are_the_same(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.txt"
    path.write_text(demo_text("train"))
    whole = read_corpus(path)
    monkeypatch.setattr(columns, "MANY_TOKENS", 1)
    parts = read_corpus(path)
    for mine, theirs in zip((*parts.columns, parts.labels), (*whole.columns, whole.labels), strict=True):
        assert np.array_equal(mine.ids, theirs.ids)
        assert mine.types == theirs.types
    assert_same(Encoder(named_set("chunk", 2, 2, Resources()), Resources()), whole, 3)
