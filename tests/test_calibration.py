"""Reliability tables and the expected calibration error against the definition; temperatures that are known."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from chain_arrays import column_corpus
from fitting import TEMPLATES, fit, noisy
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from strategies import few

from palmette import Beam, Crf, Latent, LinearClassifier, Tagger
from palmette.data import spans
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError
from palmette.evaluation.calibration import reliability, sentence_hits, span_hits
from palmette.reports.reliability import print_reliability
from palmette.structures import ChainModel, are_probabilities, confidence_of, fit_temperature, named, with_temperature
from palmette.structures.chain import calibrate
from palmette.structures.chain.calibrate import Reliabilities, reliability_on

# --- tables -------------------------------------------------------------------------------------------------


def test_a_table_made_by_hand() -> None:
    confidence = np.array([0.95, 0.85, 1.0, 0.05, 0.9, 0.3])
    right = np.array([True, False, True, False, True, True])
    found = reliability(confidence, right)
    assert [(b.low, b.high, b.count) for b in found.bins] == [(0, 0.1, 1), (0.3, 0.4, 1), (0.8, 0.9, 1), (0.9, 1, 3)]
    assert [b.accuracy for b in found.bins] == [0, 1, 0, 1]
    assert found.bins[3].confidence == pytest.approx(0.95)
    assert found.ece == pytest.approx((0.05 + 0.7 + 0.85 + 3 * 0.05) / 6)
    assert (found.count, found.accuracy, found.confidence) == (6, pytest.approx(4 / 6), pytest.approx(4.05 / 6))


def test_the_table_of_a_large_file_fits_80_columns() -> None:
    many = reliability(np.full(211_727, 0.95), np.ones(211_727, np.bool_))
    console = Console(width=80, file=io.StringIO())
    print_reliability(Reliabilities(many, many, many), "probability", 1.0, console)
    text = console.file.getvalue()
    assert "211,727" in text
    assert "…" not in text
    assert text.rstrip().endswith("expected calibration error, %: tokens 5.00, spans 5.00, sentences 5.00")


def test_a_model_that_is_as_right_as_it_says_has_no_error() -> None:
    confidence = np.repeat([0.25, 0.75], 4)
    right = np.array([1, 0, 0, 0, 1, 1, 1, 0], np.bool_)
    assert reliability(confidence, right).ece == 0.0
    assert reliability(confidence, ~right).ece == 0.5


def naive_ece(pairs: list[tuple[float, bool]], n_bins: int) -> float:
    total = 0.0
    for b in range(n_bins):
        mine = [(c, r) for c, r in pairs if b / n_bins <= c < (b + 1) / n_bins or (b == n_bins - 1 and c == 1.0)]
        if mine:
            said, is_so = sum(c for c, _ in mine) / len(mine), sum(r for _, r in mine) / len(mine)
            total += len(mine) / len(pairs) * abs(said - is_so)
    return total


CONFIDENCES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.6, 0.7, 0.9, 1.0]))


@few(3)
@given(st.lists(st.tuples(CONFIDENCES, st.booleans()), min_size=1, max_size=30), st.integers(1, 12))
def test_the_error_against_its_definition(pairs: list[tuple[float, bool]], n_bins: int) -> None:
    confidence, right = (np.array(values) for values in zip(*pairs, strict=True))
    found = reliability(confidence, right, n_bins)
    assert found.ece == pytest.approx(naive_ece(pairs, n_bins), abs=1e-12)
    assert sum(b.count for b in found.bins) == found.count == len(pairs)
    assert found.ece >= abs(found.confidence - found.accuracy) - 1e-12


def test_nothing_to_score_and_wrong_input() -> None:
    empty = reliability(np.zeros(0), np.zeros(0, np.bool_))
    assert (empty.count, empty.ece, empty.bins) == (0, 0.0, [])
    for confidence, right, n_bins in (([0.5], [True, False], 10), ([1.5], [True], 10), ([0.5], [True], 0)):
        with pytest.raises(UsageError):
            reliability(np.array(confidence), np.array(right), n_bins)


LABELS = ["O", "B-X", "I-X", "B-Y"]
LABEL_LISTS = st.lists(st.lists(st.tuples(*[st.integers(0, 3)] * 2, st.booleans()), min_size=1, max_size=5), max_size=4)


@few(2)
@given(LABEL_LISTS, st.booleans())
def test_which_spans_and_sentences_are_right(drawn: list[list[tuple[int, int, bool]]], partial: bool) -> None:
    gold, guess, known = (np.array([token[k] for sent in drawn for token in sent], np.int64) for k in range(3))
    offset = np.cumsum([0, *map(len, drawn)])
    hits = span_hits(gold, guess, offset, LABELS, known.astype(np.bool_) if partial else None)
    assert hits is not None
    counted, right = [], []
    whole, correct = [], []
    for sentence in drawn:
        one, other = ([LABELS[token[k]] for token in sentence] for k in range(2))
        sure = not partial or all(token[2] for token in sentence)
        counted += [sure] * len(spans(other))
        right += [span in spans(one) for span in spans(other)] if sure else []
        whole.append(sure)
        correct += [one == other] if sure else []
    assert (hits[0].tolist(), hits[1].tolist()) == (counted, right)
    found = sentence_hits(gold, guess, offset, known.astype(np.bool_) if partial else None)
    assert (found[0].tolist(), found[1].tolist()) == (whole, correct)
    assert span_hits(gold, guess, offset, ["N", "V", "D", "A"]) is None


# --- temperatures -------------------------------------------------------------------------------------------


def trained(order: int = 1, learner: str = "crf", **options) -> ChainModel:
    return fit(column_corpus(*noisy(0)), TEMPLATES[order], learner=learner, **options)[0]


DEV = noisy(1, 60)


@pytest.mark.parametrize(
    ("order", "learner", "options"),
    [(0, "crf", {}), (1, "crf", {}), (2, "crf", {"l2": 0.1}), (1, "perceptron", {}), (1, "dplvm", {"latent": 2})],
)
def test_weights_that_are_three_times_as_large(order: int, learner: str, options: dict) -> None:
    """The temperature undoes it, and everything else is as it was."""
    model, dev = trained(order, learner, **options), column_corpus(*DEV)
    large = model.changed(searched=with_temperature(model.searched, 1 / 3))
    (plain, first), (same, second) = fit_temperature(model, dev), fit_temperature(large, dev)
    assert second.temperature == pytest.approx(3 * first.temperature, rel=2e-3)
    assert second.after["nll"] == pytest.approx(first.after["nll"], rel=1e-5)
    assert plain.tag(dev)[0].tolist() == same.tag(dev)[0].tolist()
    one, other = (confidence_of(m, dev, model.tag(dev)[0]) for m in (plain, same))
    assert one.tokens == pytest.approx(other.tokens, abs=1e-3)


def test_no_temperature_nearby_is_better() -> None:
    model, dev = trained(learner="perceptron"), column_corpus(*DEV)
    tried: list[tuple[float, float]] = []
    fitted, found = fit_temperature(model, dev, lambda t, loss: tried.append((t, loss)))
    assert found.after["nll"] == pytest.approx(min(loss for _, loss in tried), rel=1e-6)
    assert found.before["nll"] > found.after["nll"]
    assert (found.sentences, found.tokens) == (dev.n_sentences, dev.n_tokens)
    assert fitted.temperature == found.temperature > 1
    assert found.before["ece_tokens"] == reliability_on(model, dev).tokens.ece
    assert found.after["ece_tokens"] == reliability_on(fitted, dev).tokens.ece < found.before["ece_tokens"]
    assert "ece_spans" not in found.after


def test_the_model_that_was_fitted_is_left_alone() -> None:
    model, dev = trained(learner="perceptron"), column_corpus(*DEV)
    fitted, _ = fit_temperature(model, dev)
    assert "calibration" not in model.meta
    again, found = fit_temperature(fitted, dev)
    assert found.temperature == pytest.approx(fitted.temperature)
    assert found.before["nll"] == pytest.approx(found.after["nll"], rel=1e-6)
    assert again.for_posteriors() is not fitted.for_posteriors()


def test_when_a_confidence_is_a_probability() -> None:
    dev = column_corpus(*DEV)
    perceptron, crf = trained(learner="perceptron"), trained()
    assert named(perceptron) == "confidence (not calibrated)"
    assert named(crf) == "probability"
    assert not are_probabilities(crf, {"N": 1.0})  # a bias moves them away from what was learnt
    assert are_probabilities(crf, {"N": 0.0})
    fitted, _ = fit_temperature(perceptron, dev)
    assert are_probabilities(fitted)
    assert not are_probabilities(fitted, {"N": 1.0})
    biased, _ = fit_temperature(replace(perceptron, bias={"N": 1.0}), dev)
    assert are_probabilities(biased)
    assert not are_probabilities(biased, {})


def test_sentences_without_a_likelihood_are_left_out() -> None:
    sentences, labels = DEV
    odd = [[label if i else "?!" for i, label in enumerate(own)] for own in labels[:7]]
    pairs = [(words, own) for words, own in zip(*noisy(0), strict=True) if "NV" not in "".join(own)]
    corpus = column_corpus([words for words, _ in pairs], [own for _, own in pairs])
    model, _ = fit(corpus, TEMPLATES[1], learner="crf", forbidden=[("N", "V")])
    _, found = fit_temperature(model, column_corpus(sentences, odd + labels[7:]))
    forbidden = sum("NV" in "".join(own) for own in labels[7:])
    assert 0 < forbidden < 40
    assert found.sentences == len(sentences) - 7 - forbidden
    with pytest.raises(DataError, match="no sentence has labels that the model could give"):
        fit_temperature(model, column_corpus(sentences[:7], odd))


def test_labels_that_are_all_right_have_no_temperature() -> None:
    model = trained(learner="perceptron")
    dev = column_corpus(DEV[0][:3])
    sure = [[model.labels[k] for k in model.tag(dev)[0]]]
    cut = [sure[0][a:b] for a, b in zip(dev.offset, dev.offset[1:], strict=False)]
    with pytest.raises(DataError, match="no temperature is better"):
        fit_temperature(model, column_corpus(DEV[0][:3], cut))


def test_attributes_are_calibrated_too() -> None:
    """The data was looked up for the model before, and is for the one after too."""
    X = [[{"w": "the"}, {"w": "cat"}], [{"w": "a"}, {"w": "dog"}]]
    y = [["D", "N"], ["D", "N"]]
    tagger = Tagger(learner=Crf(iterations=5)).fit(X, y)
    found = tagger.calibrate([*X, X[0]], [*y, ["N", "N"]])
    assert found.sentences == 3
    assert tagger.model_.temperature == found.temperature != 1.0


# --- in training --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {}, {"learner": "perceptron"}, {"learner": "arow"}, {"learner": "crf"}, {"learner": "maxent"},
        {"learner": "hmm"}, {"search": Beam(4)}, {"states": Latent(2)}, {"shards": 2}, {"out_of_core": True},
        {"order": 2},
        {"order": 0},
    ],
)  # fmt: skip
def test_training_calibrates_on_development_data(options: dict) -> None:
    X, y = (part[:100] for part in load_demo("train"))
    dev = load_demo("dev")
    passes = {} if options.get("learner") in ("crf", "maxent", "hmm") else {"passes": 2}
    tagger = Tagger(**options, **passes).fit(X, y, dev=dev)
    assert tagger.calibrated_
    fitted = tagger.model_.meta["calibration"]
    assert fitted["temperature"] == tagger.temperature_
    assert fitted["after"]["nll"] <= fitted["before"]["nll"] + 1e-4
    assert tagger.predict_confidence(dev[0][:1])[0]["calibrated"] is True
    by_hand = tagger.calibrate(*dev)
    assert by_hand.temperature == pytest.approx(fitted["temperature"], rel=0.02)


def test_training_without_development_data_is_not_calibrated_and_its_numbers_state_it(caplog) -> None:
    X, y = load_demo("train")
    tagger = Tagger("chunk", passes=2, dev_share=0).fit(X, y)
    assert not tagger.calibrated_
    assert tagger.predict_confidence(X[:1])[0]["calibrated"] is False
    assert caplog.text.count("not calibrated") == 1
    tagger.predict_confidence(X[:1])
    assert caplog.text.count("not calibrated") == 1


def test_development_data_without_an_error_leaves_a_model_uncalibrated(caplog) -> None:
    with caplog.at_level("INFO", "palmette"):
        tagger = Tagger("pos", passes=3).fit([["a", "b"]] * 20, [["A", "B"]] * 20, dev=([["a", "b"]], [["A", "B"]]))
    assert not tagger.calibrated_
    assert "the confidences of the model are not calibrated" in caplog.text


def test_a_temperature_is_fitted_on_a_bounded_number_of_sentences(monkeypatch) -> None:
    monkeypatch.setattr(calibrate, "MOST_SENTENCES", 30)
    tagger = Tagger("chunk", passes=2).fit(*load_demo("train"), dev=load_demo("dev"))
    assert 25 <= tagger.model_.meta["calibration"]["sentences"] <= 30


def test_a_linear_classifier_has_probabilities_if_it_was_trained_with_development_data() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, "up", "down")
    plain = LinearClassifier("perceptron", passes=3).fit(X[:200], y[:200])
    with pytest.raises(UsageError, match="not calibrated"):
        plain.predict_proba(X[:2])
    found = LinearClassifier("perceptron", passes=3).fit(X[:200], y[:200], dev=(X[200:], y[200:]))
    shares = found.predict_proba(X[200:])
    right = shares[np.arange(100), np.searchsorted(found.classes_, y[200:])]
    scores = found.decision_function(X[200:])
    raw = np.exp(scores - scores.max(axis=1, keepdims=True))
    raw = (raw / raw.sum(axis=1, keepdims=True))[np.arange(100), np.searchsorted(found.classes_, y[200:])]
    assert np.log(right).mean() > np.log(raw).mean()


def test_a_compact_model_is_calibrated_with_its_own_weights() -> None:
    dev = load_demo("dev")
    tagger = Tagger("chunk", passes=3).fit(*load_demo("train"), dev=dev)
    full, before = tagger.model_, dict(tagger.model_.meta["calibration"])
    tagger.compact(*dev, most_loss=5)
    by_hand = tagger.calibrate(*dev)
    assert full.meta["calibration"] == before
    tagger.model_ = full
    tagger.compact(*dev, most_loss=5)
    assert tagger.temperature_ == pytest.approx(by_hand.temperature, rel=0.02)
    assert tagger.temperature_ != pytest.approx(before["temperature"], rel=0.02)
