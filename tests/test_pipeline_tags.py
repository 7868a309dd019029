"""UPOS, XPOS and FEATS of words, as a component of pipelines."""

from __future__ import annotations

import copy
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from pipeline_words import treebank

from palmette.data import Treebank, column_of_strings
from palmette.errors import ModelError, UsageError
from palmette.pipeline import Lemmas
from palmette.pipeline.model import words_only
from palmette.pipeline.morphology import learn_morphology, parts_of, templates_text, with_known_words
from palmette.pipeline.tags import Tags
from palmette.pipeline.train import annotated_fold, folds_of, joined_folds

FIELDS = ("upos", "xpos", "feats")


def cells(words: Treebank, fields: tuple[str, ...] = FIELDS) -> list[list[str]]:
    return [words.column(field).cells() for field in fields]


@pytest.fixture(scope="module")
def tags() -> Tags:
    return Tags(seed=3).fit(treebank(60, 1))


def test_regular_endings_of_new_words_are_found(tags: Tags) -> None:
    gold = treebank(20, 2, unseen=True)
    found = tags.apply(words_only(gold))
    assert cells(found) == cells(gold)
    assert found.column("form").cells() == gold.column("form").cells()


def test_gold_tags_of_the_input_are_not_read(tags: Tags) -> None:
    gold = treebank(10, 5)
    assert cells(tags.apply(gold)) == cells(tags.apply(words_only(gold)))


def test_fields_that_are_empty_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        made = Tags().fit(treebank(30, 1, without=("xpos",)))
    assert "no XPOS" in caplog.text
    gold = treebank(10, 2)
    found = made.apply(words_only(gold))
    assert cells(found, ("upos", "feats")) == cells(gold, ("upos", "feats"))
    assert found.column("xpos").types == ["_"]


def test_upos_alone_and_feats_alone() -> None:
    gold = treebank(10, 2)
    only = Tags().fit(treebank(30, 1, without=("xpos", "feats")))
    assert only.morphology_ is None
    assert cells(only.apply(words_only(gold)), ("upos",)) == cells(gold, ("upos",))
    other = Tags().fit(treebank(30, 1, without=("upos", "xpos")))
    assert other.upos_ is None
    found = other.apply(gold)
    assert cells(found, ("feats", "upos")) == cells(gold, ("feats", "upos"))  # UPOS of the input stay


def test_nothing_to_learn_is_an_error() -> None:
    with pytest.raises(UsageError, match="no tags to learn"):
        Tags().fit(treebank(3, 1, without=FIELDS))
    with pytest.raises(UsageError, match="not trained"):
        Tags().apply(treebank(3, 1))


def test_no_words(tags: Tags) -> None:
    none = treebank(3, 1).take(np.zeros(0, np.int64))
    assert tags.apply(none).n_tokens == 0


def test_parts_of_a_label() -> None:
    label = ("N", "Case=Gen|Number=Sing")
    assert parts_of(label, ("xpos", "feats"), "categories") == ["xpos N", "Case=Gen", "Number=Sing"]
    assert parts_of(label, ("xpos", "feats"), "whole") == ["xpos N", "feats Case=Gen|Number=Sing"]
    assert set(parts_of(label, ("xpos", "feats"), "both")) == {
        "xpos N", "feats Case=Gen|Number=Sing", "Case=Gen", "Number=Sing",
    }  # fmt: skip
    assert parts_of(("_",), ("feats",), "categories") == ["feats _"]  # no label is without a part


@pytest.mark.parametrize("parts", ["both", "categories", "whole"])
def test_labels_are_those_of_the_upos_and_of_known_words(parts: str) -> None:
    train = treebank(40, 1)
    made = learn_morphology(train, ("xpos", "feats"), parts=parts, passes=3)
    gold = treebank(20, 2, unseen=True)
    assert cells(made.apply(gold)) == cells(gold)
    seen: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for form, upos, xpos, feats in zip(*cells(train, ("form", *FIELDS)), strict=True):
        seen.setdefault((form, upos), set()).add((xpos, feats))
    shuffled = train.with_column("form", train.take(np.arange(train.n_sentences)[::-1]).column("form"))  # wrong words
    found = with_known_words(made, train, 1).apply(shuffled)
    for form, upos, xpos, feats in zip(*cells(found, ("form", *FIELDS)), strict=True):
        if (form, upos) in seen:
            assert (xpos, feats) in seen[form, upos]


def test_templates_of_a_near_context() -> None:
    """They are among the others but for endings without vowels, and say nothing of words two away nor of two words
    together."""
    wide, near = (templates_text(context).splitlines() for context in ("wide", "near"))
    assert [line for line in wide if line in near] == [line for line in near if "skeleton" not in line]
    assert "U94:%x[0,1]/%x[0,0,skeleton.suffix4]" in near
    for line, kept in {
        "U00:%x[0,0]": True, "U05:%x[1,0,lower]": True, "U06:%x[2,0,lower]": False,
        "U08:%x[-1,0,lower]/%x[0,0,lower]": False, "U34:%x[-1,0,lower.suffix3]/%x[0,0,lower]": False,
        "U57:%x[-1,1]/%x[0,1]/%x[1,1]": True, "U58:%x[-2,1]/%x[-1,1]/%x[0,1]": False,
        "U60:%x[0,1]/%x[0,0,lower]": True, "U66:%x[-1,1]/%x[0,0,lower]": False,
    }.items():  # fmt: skip
        assert line in wide
        assert (line in near) == kept


def test_development_data_chooses(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Tags(passes=2).fit(treebank(30, 1), treebank(10, 2))
    assert "XPOS AND FEATS learnt by" in caplog.text
    assert "UPOS learnt from words" in caplog.text


def test_the_same_seed_gives_the_same_model() -> None:
    one, two = (Tags(passes=3, seed=5).fit(treebank(20, 1)).parts() for _ in range(2))
    assert json.dumps(one[1], sort_keys=True) == json.dumps(two[1], sort_keys=True)
    assert all(np.array_equal(one[0][name], two[0][name]) for name in one[0])


@pytest.mark.parametrize("compact", [False, True])
def test_parts_make_the_same_component(compact: bool) -> None:
    made = Tags(passes=3).fit(treebank(30, 1))
    if compact:
        made.compact(treebank(10, 4), 5.0)
    arrays, meta = made.parts()
    again = Tags.from_parts(arrays, json.loads(json.dumps(meta)), "the test")
    words = words_only(treebank(20, 2, unseen=True))
    assert cells(again.apply(words)) == cells(made.apply(words))


def _morphology(meta: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = meta["morphology"]
    return found


HOSTILE_META = {
    "nothing": lambda meta: meta.clear(),
    "no models": lambda meta: meta.update(models=3),
    "another model": lambda meta: meta["models"].update(other={}),
    "a model that is none": lambda meta: meta["models"].update(upos=None),
    "no upos model": lambda meta: meta["models"].clear(),
    "fields": lambda meta: _morphology(meta).update(fields=["form", "feats"]),
    "a field twice": lambda meta: _morphology(meta).update(fields=["feats", "feats"]),
    "labels of one cell": lambda meta: _morphology(meta).update(labels=[["N"]]),
    "fewer labels": lambda meta: _morphology(meta)["labels"].pop(),
    "an empty cell": lambda meta: _morphology(meta)["labels"][0].__setitem__(0, ""),
    "half a surrogate pair": lambda meta: _morphology(meta)["labels"][0].__setitem__(0, "\ud800"),
    "a line end": lambda meta: _morphology(meta)["labels"][0].__setitem__(0, "a\nb"),
    "more upos than groups": lambda meta: _morphology(meta).update(upos=[str(k) for k in range(1000)]),
    "parts": lambda meta: _morphology(meta).update(parts="none"),
    "other parts": lambda meta: _morphology(meta).update(parts="whole", labels=[["N", "_"]]),
    "columns": lambda meta: _morphology(meta)["model"]["templates"].update(text="U:%x[0,7]\n"),
    "pairs": lambda meta: _morphology(meta)["model"]["templates"].update(text="B:%x[0,0]\n"),
    "attributes": lambda meta: _morphology(meta)["model"].update(attributes=5),
    "no morphology": lambda meta: meta.update(morphology=None),
}


@pytest.mark.parametrize("name", HOSTILE_META)
def test_hostile_metadata(tags: Tags, name: str) -> None:
    arrays, meta = tags.parts()
    meta = copy.deepcopy(meta)
    HOSTILE_META[name](meta)
    with pytest.raises(ModelError):
        Tags.from_parts(arrays, meta, "the test")


HOSTILE_ARRAYS = {
    "weights.part": lambda a: np.full_like(a, 30_000),
    "weights.size": lambda a: a[:-1],
    "weights.w": lambda a: a.astype(np.float32),
    "group.member": lambda a: a - 1,
    "group.begin": lambda a: np.zeros_like(a),
    "word.group": lambda a: np.append(a, np.int32(10**6)),
    "word.key": lambda a: a[::-1].copy(),
    "attribute.low": lambda a: a[:3],
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
def test_hostile_arrays(tags: Tags, name: str) -> None:
    arrays, meta = tags.parts()
    arrays = dict(arrays)
    arrays[f"morphology.{name}"] = HOSTILE_ARRAYS[name](arrays[f"morphology.{name}"])
    with pytest.raises(ModelError):
        Tags.from_parts(arrays, meta, "the test")
    del arrays[f"morphology.{name}"]
    with pytest.raises(ModelError):
        Tags.from_parts(arrays, meta, "the test")


def test_an_array_too_many(tags: Tags) -> None:
    arrays, meta = tags.parts()
    for name in ("other/weights", "morphology.other", "other"):
        with pytest.raises(ModelError):
            Tags.from_parts(arrays | {name: np.zeros(1)}, meta, "the test")


def jackknifed(train: Treebank, folds: int, threads: int, passes: int) -> Treebank:
    """Tags and lemmas of each fold by components of the other folds, as the training of a pipeline has them."""
    fold, makers = folds_of(train, folds, 1), [partial(kind, passes=passes) for kind in (Tags, Lemmas)]
    with ThreadPoolExecutor(threads) as pool:
        work = partial(annotated_fold, train, fold, components=makers, progress=None)
        return joined_folds(train, pool.map(work, range(folds)))


def test_jackknifed_columns_are_of_models_that_have_not_seen_them(caplog: pytest.LogCaptureFixture) -> None:
    train = treebank(40, 1)
    wrong = train.column("xpos").cells()
    wrong[1] = "ODD"  # a label that one sentence has: others cannot know it

    train = train.with_column("xpos", column_of_strings(wrong))
    with caplog.at_level(logging.INFO):
        made = jackknifed(train, 4, threads=2, passes=3)
    assert "jackknife: FEATS" in caplog.text
    assert "ODD" not in made.column("xpos").types
    assert made.column("form").cells() == train.column("form").cells()
    assert np.array_equal(made.heads, train.heads)
    right = [a == b for a, b in zip(made.column("lemma").cells(), train.column("lemma").cells(), strict=True)]
    assert np.mean(right) > 0.9
    assert cells(jackknifed(train, 4, threads=1, passes=3)) == cells(made)
