"""The stop rule by an error window: when it stops, against the definition; its log; resumption; every trainer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_run import Cli, leave_demo
from fitting import epochs
from hypothesis import given
from hypothesis import strategies as st
from test_trainer import Counting

from palmette import Classifier, Crf, LinearClassifier, Parser, Tagger
from palmette.datasets import load_demo, load_trees
from palmette.errors import PalmetteError, UsageError
from palmette.options.training import StopWindow
from palmette.structures import Epoch
from palmette.training import Counts, EpochLog, train_epochs

TOKENS = 20 * 100  # of Counting


def naive_end(errors: Sequence[float], window: int, change: float) -> int:
    """Wapiti's rule, from its description: the number of the pass after which the highest and the lowest error of the
    last `window` passes differ by less than `change` points; all passes if there is none."""
    for n in range(window, len(errors) + 1):
        last = [100 * error for error in errors[n - window : n]]
        if max(last) - min(last) < change:
            return n
    return len(errors)


class Erring(Counting):
    """A learner with given numbers of wrong tokens."""

    def __init__(self, wrong: Sequence[int], scores: Sequence[float] = ()) -> None:
        super().__init__(scores)
        self.wrong = list(wrong)

    def learn(self, examples: np.ndarray) -> Counts:
        before = self.total
        super().learn(examples)
        return Counts(1, self.wrong[self.number - 1] if before % 20 == 0 else 0)


ERRORS = st.lists(st.integers(0, 6), min_size=1, max_size=12)


@given(ERRORS, st.integers(2, 5), st.sampled_from([0.01, 0.06, 0.11, 0.26]))
def test_it_stops_as_defined_on_training_data(wrong: list[int], window: int, change: float) -> None:
    log = EpochLog(window=StopWindow(window, change))
    found = train_epochs(Erring(wrong), 1, len(wrong), log)
    errors = [w / TOKENS for w in wrong]
    end = naive_end(errors, window, change)
    assert len(found.training_log) == end
    assert [row.figures["error"] for row in found.training_log] == pytest.approx(errors[:end])
    if end < len(wrong):
        told = f"stopped: the error on training data varied by less than {change} points in the last {window} passes"
        assert found.ended == told


@given(st.lists(st.sampled_from([0.5, 0.5001, 0.502, 0.51, 0.6]), min_size=1, max_size=10), st.integers(2, 4))
def test_it_stops_as_defined_on_development_data(scores: list[float], window: int) -> None:
    log = EpochLog(window=StopWindow(window, 0.02))
    found = train_epochs(Erring([0] * len(scores), scores), 1, len(scores), log)
    end = naive_end([1 - score for score in scores], window, 0.02)
    assert len(found.training_log) == end
    assert found.best_epoch == 1 + int(np.argmax(scores[:end]))
    assert end == len(scores) or "development data" in found.ended


@given(ERRORS, st.integers(2, 4), st.data())
def test_a_resumed_training_stops_where_a_whole_one_does(wrong: list[int], window: int, data: st.DataObject) -> None:
    rule = StopWindow(window, 0.06)
    whole = train_epochs(Erring(wrong), 1, len(wrong), EpochLog(window=rule)).training_log
    cut = data.draw(st.integers(0, len(whole) - 1))
    first = train_epochs(Erring(wrong), 1, cut, EpochLog(window=rule)).training_log
    second = train_epochs(Erring(wrong), 1, len(wrong), EpochLog(epochs=first, window=rule)).training_log
    assert [row.wrong for row in second] == [row.wrong for row in whole]


def test_only_errors_on_the_same_data_are_compared() -> None:
    """Passes without the figure, and on other data, begin a new window."""
    row = Epoch(1, 1, 0, 1.0, figures={"error": 0.0})
    mixed = [row, Epoch(2, 1, 0, 1.0)]
    for before in (mixed, [row, Epoch(2, 1, 0, 1.0, dev=0.5, figures={"error": 0.0})]):
        log = EpochLog(epochs=before, window=StopWindow(2, 0.1))
        log.add(Epoch(3, 1, 0, 1.0), 1, lambda: None)
        assert log.reason_to_stop is None
        log.add(Epoch(4, 1, 0, 1.0), 1, lambda: None)
        assert log.reason_to_stop is not None


def test_without_a_window_nothing_is_recorded() -> None:
    found = train_epochs(Erring([2, 2, 2]), 1, 3, EpochLog())
    assert all("error" not in row.figures for row in found.training_log)
    assert len(found.training_log) == 3


# Taggers

X, Y = load_demo("train")[0][:150], load_demo("train")[1][:150]
DEV = load_demo("dev")[0][:40], load_demo("dev")[1][:40]


def errors_of(tagger: Tagger) -> list[float]:
    return [row["figures"]["error"] for row in tagger.training_log_]


@pytest.mark.parametrize("learner", ["perceptron", "crf", Crf(optimiser="adagrad"), "mira"])
@pytest.mark.parametrize("dev", [None, DEV])
def test_taggers_stop(learner: Any, dev: Any) -> None:
    tagger = Tagger("chunk", learner=learner, stop_window=3, stop_error=0.8).fit(X, Y, dev=dev)
    rows, errors = tagger.training_log_, errors_of(tagger)
    assert len(rows) == naive_end(errors, 3, 0.8) < 100
    assert ("development" if dev else "training") in tagger.outcome_.ended
    if dev is None:
        assert errors == pytest.approx([1 - row["train_accuracy"] for row in rows])
        shorter = Tagger("chunk", **epochs(len(rows), learner)).fit(X, Y)
        assert shorter.predict(DEV[0]) == tagger.predict(DEV[0])
        assert [row["wrong"] for row in shorter.training_log_] == [row["wrong"] for row in rows]
    else:
        guess = tagger.predict(dev[0])
        wrong = sum(a != b for own, gold in zip(guess, dev[1], strict=True) for a, b in zip(own, gold, strict=True))
        kept = errors[tagger.outcome_.best_epoch - 1]  # of tokens, while dev scores are F1 of spans
        assert kept == pytest.approx(wrong / sum(map(len, dev[1])))


def test_the_command_line_shows_the_error_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    leave_demo(tmp_path)
    rule = "--stop-window 3 --stop-error 4 --dev test.txt --checkpoint"
    ran = cli(f"train dev.txt -o whole.palm --features chunk {rule}")
    assert ran.code == 0, ran.err
    assert "error" in next(line for line in ran.err.splitlines() if "updates" in line)
    assert "4 points in the last 3 passes" in ran.out
    whole = json.loads(cli.fine("inspect whole.palm --json"))["history"]
    assert "error, %" in cli.fine("inspect whole.palm")
    assert len(whole) == naive_end([row["figures"]["error"] for row in whole], 3, 4) > 2
    cli.fine(f"train dev.txt -o first.palm --features chunk --passes 2 {rule}")
    cli.fine(f"train dev.txt -o second.palm --resume first.palm {rule}")
    assert json.loads(cli.fine("inspect second.palm --json"))["history"] == whole
    one, other = (Tagger.load(tmp_path / f"{name}.palm") for name in ("whole", "second"))
    assert one.predict(DEV[0]) == other.predict(DEV[0])
    # A training that goes on does not take the rule over, as it does not take over the patience
    cli.fine("train dev.txt -o third.palm --resume whole.palm --passes 2 --dev test.txt")
    assert len(json.loads(cli.fine("inspect third.palm --json"))["history"]) == len(whole) + 2


def test_half_a_rule_is_an_error() -> None:
    with pytest.raises(PalmetteError, match="belongs to stop_window"):
        Tagger("chunk", stop_error=0.1).fit(X, Y)
    with pytest.raises(PalmetteError, match="belongs to stop_window"):
        Parser(stop_error=0.1)._settings()
    with pytest.raises(UsageError, match="stop_window"):
        Tagger("chunk", stop_window=1).fit(X, Y)
    with pytest.raises(PalmetteError, match="no effect with the learner hmm"):
        Tagger(learner="hmm", stop_window=5).fit(X, Y)


# Other trainers


def test_linear_classifiers_stop() -> None:
    rows = [{"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 0.5}, {"b": 1.0, "c": 1.0}] * 3
    linear = LinearClassifier(stop_window=2).fit(rows, ["x", "y", "x", "y"] * 3)
    assert "in the last 2 iterations" in linear.tagger_.outcome_.ended


def test_parsers_stop_by_words_with_a_wrong_head_or_relation() -> None:
    bank, dev = (load_trees(part) for part in ("train", "test"))
    parser = Parser("basic", stop_window=2, stop_error=8.0, passes=20).fit(bank, dev=dev)
    log = parser.training_log_
    errors = [1 - row["dev"] for row in log]  # the score is LAS
    assert [row["figures"]["error"] for row in log] == pytest.approx(errors)
    assert len(log) == naive_end(errors, 2, 8.0) < 20
    assert "development data" in parser.outcome_.ended
    shorter = Parser("basic", passes=len(log)).fit(bank)
    assert [row["wrong"] for row in shorter.training_log_] == [row["wrong"] for row in log]


def test_classifiers_stop_by_sentences_of_the_wrong_class() -> None:
    sentences = load_demo("train")[0][:40]
    texts = sentences + [own[::-1] for own in sentences]
    classifier = Classifier(stop_window=2, stop_error=20.0).fit(texts, ["1"] * 40 + ["0"] * 40)
    log = classifier.training_log_
    errors = [row["wrong"] / len(texts) for row in log]
    assert [row["figures"]["error"] for row in log] == pytest.approx(errors)
    assert len(log) == naive_end(errors, 2, 20.0) < 10
