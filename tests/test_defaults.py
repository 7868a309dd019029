"""What a tagger does that is told nothing: templates by the labels, learner, order and passes by the rule, confidences
calibrated by a model of a sample."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palmette import Beam, Crf, LabelHistory, Latent, Mira, Perceptron, Tagger
from palmette.cli import main
from palmette.data import corpus_from_items
from palmette.data.subset import take
from palmette.datasets import load_demo
from palmette.options import ChainSettings
from palmette.options.learners import MOST_LABELS, MOST_LABELS_IN_PAIRS, PASSES_OF_MIRA, Auto
from palmette.structures import attribute_words
from palmette.structures.chain.calibrate import calibrated_on_dev
from palmette.training.chain.calibration import ASIDE, GROWTH, LEAST, SAMPLE, SHARE, parts_to_calibrate

X = [["the", "old", "man"], ["a", "boat"], ["the", "man", "sings"]]
Y = [["D", "A", "N"], ["D", "N"], ["D", "N", "V"]]


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
    assert same_weights(tagger, Tagger(learner=Mira(nbest=5), passes=3, order=2).fit(X, Y))
    assert same_weights(tagger, Tagger(learner="auto", passes=3).fit(X, Y))


def test_confidences_of_the_default_are_of_a_useful_size(tmp_path: Path) -> None:
    """Margins are small numbers; other learners, and mira if it is named, keep their own scale."""
    X, y = load_demo("train")
    some, gold = load_demo("dev")
    tagger = Tagger(passes=5, dev_share=0).fit(X, y)
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


# --- order, passes, batches ---------------------------------------------------------------------------------


def test_the_default_is_what_these_options_give() -> None:
    for X_, labels in ((X, Y), (items_of(X), Y)):
        named = Tagger(learner=Mira(nbest=5), order=2, passes=PASSES_OF_MIRA, batch_size=1).fit(X_, labels)
        assert same_weights(Tagger().fit(X_, labels), named)


def items_of(sentences: list[list[str]]) -> list[list[dict[str, bool]]]:
    return [[{word: True} for word in sentence] for sentence in sentences]


def test_many_labels_depend_on_one_label_before_them() -> None:
    for n, order in ((MOST_LABELS_IN_PAIRS, 2), (MOST_LABELS_IN_PAIRS + 1, 1)):
        words = [[f"w{k}"] for k in range(n)]
        labels = [[f"L{k}"] for k in range(n)]
        assert Tagger(passes=1).fit(words, labels).model_.shape.order == order
        assert Tagger(passes=1).fit(items_of(words), labels).model_.shape.order == order


@pytest.mark.parametrize(
    "params",
    [
        {"order": 1}, {"learner": Mira(nbest=5)}, {"learner": "perceptron"}, {"search": Beam(2)},
        {"states": Latent(2)}, {"transition_features": "seen"},
    ],
    ids=str,
)  # fmt: skip
def test_order_1_where_it_is_given_or_a_learner_is(params: dict[str, Any]) -> None:
    assert Tagger(passes=1, **params).fit(X, Y).model_.shape.order == 1


def test_the_number_of_passes_is_that_of_the_learner_or_of_the_user() -> None:
    def passes(**params: Any) -> int:
        return ChainSettings(**params).with_learner_for(3, valued=False).n_passes()

    assert passes() == PASSES_OF_MIRA
    assert ChainSettings().n_passes() == PASSES_OF_MIRA  # what a display of progress shows before training
    assert [passes(passes=3), passes(patience=2), passes(learner="mira"), passes(search=Beam(2))] == [3, 100, 10, 10]


def test_learners_with_margins_learn_one_by_one() -> None:
    for learner in ("mira", "pa", "arow"):
        assert ChainSettings(learner=learner).with_batch_size_for(10**9).batch_size is None


# --- confidences --------------------------------------------------------------------------------------------


def noisy(n: int) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences of two words, a fifth of whose labels cannot be learnt."""
    rng = np.random.default_rng(0)
    words = [[f"w{k}" for k in rng.integers(0, 40, 2)] for _ in range(n)]
    return words, [[f"L{int(word[1:]) % 5 if rng.random() < 0.8 else 0}" for word in own] for own in words]


def test_a_model_of_a_sample_calibrates_that_of_all_sentences(caplog: pytest.LogCaptureFixture) -> None:
    """As by hand: a part is set aside, a model of the others is calibrated on it; all sentences are learnt from."""
    sentences, labels = noisy(LEAST)
    seen: list[Any] = []
    with caplog.at_level(logging.INFO, "palmette"):
        tagger = Tagger(passes=3).fit(sentences, labels, progress=lambda *told: seen.append(told[3]))
    assert f"calibrated on {LEAST // SHARE} sentences, by a model of {LEAST - LEAST // SHARE} others" in caplog.text
    assert caplog.text.count("attributes, order 2") == 1
    assert [row.dev for row in seen if row is not None] == [None] * 3
    corpus = corpus_from_items(sentences, labels).corpus
    parts = parts_to_calibrate(corpus, Tagger(passes=3)._request())
    assert parts is not None
    numbers = [set(part.numbers.tolist()) for part in parts if part.numbers is not None]
    assert not numbers[0] & numbers[1]
    assert len(numbers[0] | numbers[1]) == LEAST
    named: dict[str, Any] = {"learner": Mira(nbest=5), "order": 2, "passes": 3}
    assert same_weights(tagger, Tagger(**named).fit(sentences, labels))
    other = calibrated_on_dev(Tagger(**named).fit_corpus(parts.sample, None).model_, parts.aside)
    assert other is not None
    assert tagger.temperature_ == pytest.approx(other.temperature * (LEAST / parts.sample.n_sentences) ** GROWTH)
    assert tagger.calibrated_


def test_a_sample_has_a_limit() -> None:
    corpus = corpus_from_items([["w"]] * 2 * SAMPLE, [["A"], ["B"]] * SAMPLE).corpus
    parts = parts_to_calibrate(corpus, Tagger()._request())
    assert parts is not None
    assert (parts.sample.n_sentences, parts.aside.n_sentences) == (SAMPLE, ASIDE)


@pytest.mark.parametrize(
    "params",
    [
        {"learner": Mira(nbest=5)}, {"learner": "perceptron"}, {"patience": 2}, {"tune_bias": True},
        {"states": Latent(2)}, {"dev_share": 0},
    ],
    ids=str,
)  # fmt: skip
def test_when_no_sample_is_drawn(params: dict[str, Any]) -> None:
    corpus = corpus_from_items([["w"]] * LEAST, [["A"], ["B"]] * (LEAST // 2)).corpus
    assert parts_to_calibrate(corpus, Tagger()._request()) is not None
    assert parts_to_calibrate(corpus, Tagger(**params)._request()) is None
    assert parts_to_calibrate(corpus, Tagger()._request(checkpoint=True)) is None
    assert parts_to_calibrate(take(corpus, np.arange(LEAST - 1)), Tagger()._request()) is None


@pytest.mark.parametrize("odd", [None, {"L1", "L2"}])
def test_partly_known_labels_calibrate_nothing(odd: Any) -> None:
    labels: list[Any] = [[f"L{k % 7}"] for k in range(LEAST)]
    labels[0] = [odd]
    corpus = corpus_from_items([["w"]] * LEAST, labels).corpus
    assert parts_to_calibrate(corpus, Tagger()._request()) is None


def test_a_share_of_nothing_is_no_development_data(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["train", "x.txt", "-o", str(tmp_path / "m"), "--dev-share", "0", "--patience", "2"])
    with pytest.raises(ValueError, match="dev_share"):
        Tagger(dev_share=-0.1).fit(X, Y)
    few, labels = load_demo("dev")
    assert Tagger(dev_share=0, passes=1).fit(few, labels).training_log_[0]["dev"] is None
    assert Tagger(learner=Crf(iterations=1)).fit(few, labels).training_log_[0]["dev"] is None
