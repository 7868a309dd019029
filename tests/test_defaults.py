"""What a tagger does that is told nothing: templates by the labels, a learner by the rule, sentences held out."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette import Beam, Crf, LabelHistory, Latent, Mira, Perceptron, Tagger
from palmette.cli import main
from palmette.data import corpus_from_items
from palmette.data.subset import held_out
from palmette.datasets import load_demo
from palmette.options.learners import HELD_OUT, LEAST_SENTENCES, MOST_LABELS, Auto, n_held_out
from palmette.structures import attribute_words
from palmette.training.chain.fit import n_to_hold_out

X = [["the", "old", "man"], ["a", "boat"], ["the", "man", "sings"]]
Y = [["D", "A", "N"], ["D", "N"], ["D", "N", "V"]]
MANY = LEAST_SENTENCES


def chosen(X: Any = X, y: Any = Y, **params: Any) -> Any:
    return Tagger(passes=1, **params).fit(X, y).model_.settings.learner


def same_weights(one: Tagger, other: Tagger) -> bool:
    return all(
        np.array_equal(a.w, b.w)
        for a, b in zip(
            (*one.model_.chain.weights, *one.model_.chain.transitions),
            (*other.model_.chain.weights, *other.model_.chain.transitions),
            strict=True,
        )
    )


# --- the learner --------------------------------------------------------------------------------------------


def test_nothing_said_is_mira_and_the_model_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "palmette"):
        tagger = Tagger(passes=3).fit(X, Y)
    assert "no learner was chosen: using `Mira(nbest=5)`" in caplog.text
    assert tagger.learner == "auto"  # parameters stay as they were given
    assert tagger.model_.settings.learner == Mira(nbest=5)
    assert same_weights(tagger, Tagger(learner=Mira(nbest=5), passes=3).fit(X, Y))
    assert same_weights(tagger, Tagger(learner="auto", passes=3).fit(X, Y))


def test_confidences_of_the_default_are_of_a_useful_size(tmp_path: Path) -> None:
    """Margins are small numbers; other learners, and mira if it is named, keep their own scale."""
    X, y = load_demo("train")
    some, gold = load_demo("dev")
    tagger = Tagger(passes=5).fit(X, y)
    pairs = zip(tagger.predict_marginals(some), gold, strict=True)
    of_gold = [row.get(label, 0.0) for rows, labels in pairs for row, label in zip(rows, labels, strict=True)]
    assert tagger.score(some, gold) - 0.05 < np.mean(of_gold)
    assert tagger.model_.temperature == 0.2
    assert Tagger(learner=Mira(nbest=5), passes=1).fit(X, y).model_.temperature == 1.0
    tagger.save(tmp_path / "m.palm")
    assert Tagger.load(tmp_path / "m.palm").model_.temperature == 0.2


@pytest.mark.parametrize(
    "params",
    [
        {"search": Beam(2)}, {"search": Beam(2, update="laso")}, {"states": Latent(2)},
        {"states": LabelHistory("bigram")}, {"transition_features": "seen"},
    ],
    ids=str,
)  # fmt: skip
def test_the_perceptron_where_lists_of_paths_do_not_serve(params: dict[str, Any]) -> None:
    assert chosen(**params) == Perceptron()


@pytest.mark.parametrize(
    "params", [{"order": 0}, {"order": 2}, {"estimator": "last"}, {"edge_features": "seen"}, {"constraints": "none"}]
)
def test_mira_whatever_else_is_asked_for(params: dict[str, Any]) -> None:
    assert chosen(**params) == Mira(nbest=5)


def test_steps_of_mira_depend_on_values() -> None:
    def items(value: float) -> list[list[dict[str, float]]]:
        return [[{word: value} for word in sentence] for sentence in X]

    assert chosen(items(0.5)) == Perceptron()
    assert chosen(items(1.0)) == Mira(nbest=5)  # an attribute that is there, or is not


def test_many_labels_have_the_perceptron() -> None:
    words = [f"w{k}" for k in range(MOST_LABELS + 1)]
    for n, learner in ((MOST_LABELS, Mira(nbest=5)), (MOST_LABELS + 1, Perceptron())):
        assert Auto().chosen(True, n) == learner
    assert chosen([[word] for word in words], [[word.upper()] for word in words]) == Perceptron()


def test_partial_labels_are_learnt_by_default() -> None:
    y: list[Any] = [["D", {"A", "N"}, "N"], ["D", None], ["D", "N", "V"]]
    tagger = Tagger(passes=5).fit(X, y)
    assert tagger.model_.settings.learner == Mira(nbest=5)
    assert tagger.predict([["the", "man", "sings"]]) == [["D", "N", "V"]]


def test_a_model_goes_on_with_the_learner_that_it_has() -> None:
    tagger = Tagger(passes=2).partial_fit(X, Y)
    words = [[f"w{k}"] for k in range(MOST_LABELS + 1)]
    tagger.partial_fit(words, [[word.upper()] for (word,) in words])  # a new tagger would have the perceptron
    assert tagger.model_.settings.learner == Mira(nbest=5)
    whole = Tagger(passes=4).partial_fit(X, Y)
    assert same_weights(whole, Tagger(passes=2).partial_fit(X, Y).partial_fit(X, Y))


def test_the_command_does_what_python_does(tmp_path: Path) -> None:
    text = "\n\n".join("\n".join(f"{w} {t}" for w, t in zip(s, y, strict=True)) for s, y in zip(X, Y, strict=True))
    (tmp_path / "train.txt").write_text(text + "\n", encoding="utf-8")
    main(["train", str(tmp_path / "train.txt"), "-o", str(tmp_path / "m.palm"), "-q"])
    loaded = Tagger.load(tmp_path / "m.palm")
    assert loaded.learner == Mira(nbest=5)
    assert loaded.predict_scored(X) == Tagger().fit(X, Y).predict_scored(X)
    more = ["train", str(tmp_path / "train.txt"), "-o", str(tmp_path / "m2.palm"), "-q", "--resume"]
    main([*more, str(tmp_path / "m.palm")])
    assert Tagger.load(tmp_path / "m2.palm").learner == Mira(nbest=5)


# --- templates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "labels", "name"),
    [
        (("a", "DT"), ["B-X", "I-X", "O"], "chunk"),
        (("a", "DT"), ["B-X", "O"], "chunk"),  # half of the tokens are in a span
        (("a", "DT"), ["B-X", "O", "O"], "ner"),
        (("a", "DT", "z"), ["B-X", "I-X", "O"], "chunk"),
        (("a",), ["B-X", "I-X", "O"], "ner"),  # there are no tags
        (("a", "DT"), ["X", "Y", "Z"], "pos"),
    ],
)
def test_the_labels_choose_the_templates(token: tuple[str, ...], labels: list[str], name: str) -> None:
    model = Tagger(passes=1).fit([[token] * len(labels)], [labels]).model_
    assert model.encoder is not None
    assert model.encoder.templates.name == name


def test_a_set_that_was_chosen_is_one_that_was_named(tmp_path: Path) -> None:
    X, y = load_demo("dev")
    chosen, named = (Tagger(name, passes=1).fit(X, y) for name in (None, "chunk"))
    assert attribute_words(chosen.model_)("U42:DT") == attribute_words(named.model_)("U42:DT") == "tag[0]=DT"
    chosen.save(tmp_path / "m.palm")
    loaded = Tagger.load(tmp_path / "m.palm")
    assert (chosen.features, loaded.features) == (None, "chunk")
    assert loaded.predict(X) == named.predict(X)


def test_unread_columns_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "palmette"):
        Tagger(passes=1).fit([[("a", "b"), ("c", "d")]], [["X", "Y"]])
    assert "using the named set `pos`, which reads 1 of 2 columns" in caplog.text


# --- what is held out ---------------------------------------------------------------------------------------


def test_how_many_sentences_are_held_out() -> None:
    assert [n_held_out(n) for n in (0, 1, MANY - 1)] == [0, 0, 0]
    assert n_held_out(MANY) == MANY // 10
    assert n_held_out(10**6) == HELD_OUT


@given(st.lists(st.lists(st.sampled_from("ABCDEFG"), min_size=1, max_size=4), min_size=1, max_size=12), st.data())
def test_every_label_can_still_be_learnt(y: list[list[str]], data: st.DataObject) -> None:
    n, seed = data.draw(st.integers(0, len(y))), data.draw(st.integers(0, 5))
    corpus = corpus_from_items([[f"w{k}"] * len(labels) for k, labels in enumerate(y)], y).corpus
    rest, dev = held_out(corpus, n, seed)
    assert dev.n_sentences <= n
    assert rest.labels is not None
    assert set(rest.labels.types) == {label for labels in y for label in labels}
    words = [sentence.columns[0].types for sentence in (rest, dev) if sentence.n_sentences]
    assert sorted(word for own in words for word in own) == sorted(f"w{k}" for k in range(len(y)))


def test_enough_data_chooses_the_number_of_passes(caplog: pytest.LogCaptureFixture) -> None:
    """As by hand: sentences held out, the best pass found on them, then all sentences in as many passes."""
    rng = np.random.default_rng(0)
    sentences = [[f"w{k}" for k in rng.integers(0, 40, 2)] for _ in range(MANY)]
    labels = [[f"L{int(word[1:]) % 5 if rng.random() < 0.8 else 0}" for word in words] for words in sentences]
    seen: list[Any] = []
    with caplog.at_level(logging.INFO, "palmette"):
        tagger = Tagger(passes=4).fit(sentences, labels, progress=lambda *told: seen.append(told[3]))
    assert f"{MANY // 10:,} sentences are held out" in caplog.text
    named: dict[str, Any] = {"learner": Mira(nbest=5)}
    rest, dev = held_out(corpus_from_items(sentences, labels).corpus, MANY // 10, 1)
    first = Tagger(**named, passes=4).fit_corpus(rest, dev)
    best = first.outcome_.best_epoch
    assert same_weights(tagger, Tagger(**named, passes=best).fit(sentences, labels))
    assert [row.dev for row in seen if row is not None] == [row["dev"] for row in first.training_log_] + [None] * best
    kept, fitted = (one.model_.meta["calibration"] for one in (tagger, first))
    assert kept["temperature"] == fitted["temperature"] == tagger.temperature_ != 0.2
    assert kept["data"].startswith("sentences held out of ")
    assert tagger.calibrated_


def test_when_nothing_is_held_out() -> None:
    corpus = corpus_from_items([["w"]] * MANY, [["A"], ["B"]] * (MANY // 2)).corpus
    assert n_to_hold_out(corpus, Tagger()._settings()) == MANY // 10
    for params in (
        {"learner": Mira(nbest=5)}, {"learner": "perceptron"}, {"patience": 2}, {"tune_bias": True},
        {"states": Latent(2)},
    ):  # fmt: skip
        assert n_to_hold_out(corpus, Tagger(**params)._settings()) == 0
    seen: list[Any] = []
    Tagger(passes=1, dev_share=0).fit_corpus(corpus, None, progress=lambda *told: seen.append(told[3]))
    Tagger(passes=1).fit_corpus(corpus, None, checkpoint=True, progress=lambda *told: seen.append(told[3]))
    assert [row.dev for row in seen if row is not None] == [None, None]


@pytest.mark.parametrize("odd", [None, {"L1", "L2"}])
def test_partly_known_labels_are_not_held_out(odd: Any) -> None:
    labels: list[Any] = [[f"L{k % 7}"] for k in range(MANY)]
    labels[0] = [odd]
    corpus = corpus_from_items([["w"]] * MANY, labels).corpus
    assert n_to_hold_out(corpus, Tagger()._settings()) == 0


def test_a_share_of_nothing_is_no_development_data(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["train", "x.txt", "-o", str(tmp_path / "m"), "--dev-share", "0", "--patience", "2"])
    with pytest.raises(ValueError, match="dev_share"):
        Tagger(dev_share=-0.1).fit(X, Y)
    few, labels = load_demo("dev")
    assert Tagger(dev_share=0, passes=1).fit(few, labels).training_log_[0]["dev"] is None
    assert Tagger(learner=Crf(iterations=1)).fit(few, labels).training_log_[0]["dev"] is None
