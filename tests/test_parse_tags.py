"""Tags for a parser: by a model, and jackknifed for its training data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palmette import Tagger
from palmette.data import FormatSpec, Treebank, column_of_strings, treebank_from_sentences, write_treebank
from palmette.errors import UsageError
from palmette.parsing import jackknife
from palmette.parsing.retag import prepare_training, retagged, tag_field

WORDS = {"the": "DET", "a": "DET", "sea": "NOUN", "moon": "NOUN", "shines": "VERB", "falls": "VERB"}


def sample(n: int = 24) -> Treebank:
    rng = np.random.default_rng(1)
    names = list(WORDS)
    sentences = []
    for _ in range(n):
        det, noun, verb = names[rng.integers(0, 2)], names[rng.integers(2, 4)], names[rng.integers(4, 6)]
        sentences.append([(word, WORDS[word], WORDS[word][:1]) for word in (det, noun, verb)])
    return treebank_from_sentences(sentences)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tags") / "sample.conllu"
    write_treebank(path, sample())
    return path


def test_a_tagger_fills_the_field_it_was_trained_on(file: Path) -> None:
    tagger = Tagger(features="pos", passes=3).fit_file(file, spec=FormatSpec(label="xpos"))
    bare = treebank_from_sentences([[(word, "X") for word in ("the", "moon", "falls")]])
    made = retagged(bare, tagger)
    assert tag_field(tagger) == "xpos"
    assert made.column("xpos").cells() == ["D", "N", "V"]
    assert made.column("upos").cells() == ["X"] * 3
    assert retagged(bare, tagger, "upos").column("upos").cells() == ["D", "N", "V"]
    assert retagged(treebank_from_sentences([]), tagger).n_tokens == 0
    with pytest.raises(UsageError, match="upos or xpos, not 'lemma'"):
        retagged(bare, tagger, "lemma")


@pytest.mark.parametrize("column", ["99", "-1", "\u00b2", "7" * 5000, "head"])
def test_a_tagger_that_reads_no_field_of_a_treebank(file: Path, column: str) -> None:
    """Whatever the metadata of its file says."""
    tagger = Tagger(features="pos", passes=1).fit_file(file, spec=FormatSpec(label="xpos"))
    tagger.model_.meta["reading"] |= {"columns": [column]}
    with pytest.raises(UsageError, match="the tagger reads more than the words"):
        retagged(treebank_from_sentences([[("a", "X")]]), tagger)
    tagger.model_.meta["reading"] |= {"label": column}
    with pytest.raises(UsageError, match="not trained on upos or xpos"):
        tag_field(tagger)


def test_a_tagger_that_does_not_say_what_it_makes(file: Path) -> None:
    tagger = Tagger(features="pos", passes=2).fit([["the", "sea"]], [["DET", "NOUN"]])
    bare = treebank_from_sentences([["the", "sea"]])
    with pytest.raises(UsageError, match="name the field that it makes"):
        retagged(bare, tagger)
    assert retagged(bare, tagger, "upos").column("upos").cells() == ["DET", "NOUN"]
    wide = Tagger(features="chunk", passes=2).fit([[["the", "DT"]]], [["B-NP"]])
    with pytest.raises(UsageError, match="reads more than the words"):
        retagged(bare, wide, "upos")


def test_no_fold_sees_its_own_tags(caplog: pytest.LogCaptureFixture) -> None:
    """One word has a tag that no other has: whoever tags it cannot know it."""
    bank = sample()
    expected = bank.column("upos").cells()
    tags = [*expected[:15], "ODD", *expected[16:]]
    forms = [*bank.forms.cells()[:15], "zork", *bank.forms.cells()[16:]]
    given = bank.with_column("form", column_of_strings(forms)).with_column("upos", column_of_strings(tags))
    with caplog.at_level("INFO", logger="palmette.parsing.retag"):
        made = jackknife(given, ["upos"], 3, passes=2).column("upos").cells()
    assert made[15] != "ODD"
    assert made[:15] + made[16:] == expected[:15] + expected[16:]
    told = [message for message in caplog.messages if "fold" in message]
    assert [message.partition(":")[2][1:19] for message in told] == [f"upos, fold {k} of 3:" for k in (1, 2, 3)]
    assert sorted("100.00%" in message for message in told) == [False, True, True]
    odd = [*given.column("xpos").cells()[:15], "ODD", *given.column("xpos").cells()[16:]]
    both = jackknife(given.with_column("xpos", column_of_strings(odd)), None, 3, passes=2)
    assert both.column("upos").cells() == made
    assert both.column("xpos").cells()[15] != "ODD"


def test_training_and_dev_data_get_the_tags_of_other_taggers() -> None:
    bank = sample()
    dev = treebank_from_sentences([[("the", "X"), ("moon", "X"), ("falls", "X")]])
    made = prepare_training(bank, dev, folds=3, ignored=["lemma"])
    assert made.about == {"ignored": ["lemma"], "tags": dict.fromkeys(("upos", "xpos"), "jackknifed, 3 folds")}
    assert made.training.column("upos").cells() == bank.column("upos").cells()
    assert made.dev is not None
    assert made.dev.column("upos").cells() == ["DET", "NOUN", "VERB"]
    plain = prepare_training(bank, dev, ignored=["upos"])
    assert plain.training.column("upos").types == ["_"]
    assert plain.about == {"ignored": ["upos"], "tags": {}}
    with pytest.raises(UsageError, match="no tags to learn from"):
        prepare_training(treebank_from_sentences([["a"], ["b"]]), folds=2)


@pytest.mark.parametrize(
    ("field", "folds", "message"),
    [("upos", 1, "1 fold"), ("upos", 99, "99 folds"), ("form", 3, "not 'form'"), ("xpos", 3, "no xpos to learn")],
)
def test_what_cannot_be_jackknifed(field: str, folds: int, message: str) -> None:
    bank = treebank_from_sentences([[("the", "DET")], [("sea", "NOUN")], [("a", "DET")]])
    with pytest.raises(UsageError, match=message):
        jackknife(bank, [field], folds)
