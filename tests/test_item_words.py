"""The words that are shown for tokens of features."""

from __future__ import annotations

import pytest

from palmette import Tagger
from palmette.data.item_words import words_of

WORDS = ["Time", "flies"]


@pytest.mark.parametrize(
    "features",
    [
        lambda word: {"word": word, "end": word[-2:]},
        lambda word: {"bias": 1.0, "-1:word": "x", "form": word, "+1:word": "y"},
        lambda word: {"word.istitle": True, "word": word},
        lambda word: ["bias", "w[-1]=x", f"w[0]={word}", "pos=NN"],
        lambda word: ["prev:x", f"token:{word}"],
    ],
)
def test_the_feature_that_names_the_word(features) -> None:
    assert words_of([features(word) for word in WORDS]) == WORDS


@pytest.mark.parametrize("tokens", [WORDS, [("Time", "NN")], [{"end": "me"}], [{"word": "a"}, {"end": "b"}], []])
def test_no_word_is_named(tokens) -> None:
    assert words_of(tokens) is None


def test_explanations_trellises_and_sentences_name_words() -> None:
    X = [[{"word": word, "end": word[-2:]} for word in WORDS]]
    tagger = Tagger(learner="perceptron", passes=2).fit(X, [["NN", "VBZ"]])
    assert tagger.explain(X[0]).words == tagger.trellis(X[0]).tokens == WORDS
    assert str(tagger.show(X[0])).split()[0] == "Time"
    own = ["a", "b"]
    assert tagger.explain(X[0], words=own).words == tagger.trellis(X[0], words=own).tokens == own
