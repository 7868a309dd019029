"""Guards against a task that is too easy: the bag of words against its twin, and figures to be counted by hand."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from cli_run import Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import EXAMPLES

from palmette.errors import UsageError
from palmette.lab.kernels.bag import bag_pass, bag_scores
from palmette.lab.sentences import parse_sentences, sentences_of
from palmette.lab.shallow_cues import cues_text, folds, length_accuracy, shallow_cues

RATE = 0.3


@pytest.fixture
def cli(tmp_path, capsys, monkeypatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def naive_pass(rows: list[list[int]], labels: list[float], w: dict[int, float], squares: dict[int, float]) -> None:
    """AdaGrad from its definition; the bias is number -1. A word that occurs twice is moved twice."""
    for row, label in zip(rows, labels, strict=True):
        score = w.get(-1, 0.0) + sum(w.get(k, 0.0) for k in row)
        slope = 1 / (1 + math.exp(-score)) - label
        for k in [*row, -1]:
            squares[k] = squares.get(k, 0.0) + slope**2
            w[k] = w.get(k, 0.0) - RATE * slope / math.sqrt(squares[k])


@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(st.lists(st.integers(0, 3), max_size=4), st.booleans()), min_size=1, max_size=6))
def test_the_bag_of_words_learns_as_defined(data: list[tuple[list[int], bool]]) -> None:
    rows, labels = [row for row, _ in data], [float(label) for _, label in data]
    ids = np.array([k for row in rows for k in row] or [0], np.int32)
    offset = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    w, squares = np.zeros(5), np.zeros(5)
    slow: dict[int, float] = {}
    sums: dict[int, float] = {}
    for _ in range(3):
        bag_pass(ids, offset, np.array(labels), np.arange(len(rows)), w, squares, RATE)
        naive_pass(rows, labels, slow, sums)
    assert w.tolist() == pytest.approx([slow.get(k, 0.0) for k in (0, 1, 2, 3, -1)])
    scores = [slow[-1] + sum(slow[k] for k in row) for row in rows]
    assert bag_scores(ids, offset, w).tolist() == pytest.approx(scores)


def drawn(words: str, n: int, length: int, seed: int) -> list[list[str]]:
    rng = random.Random(seed)
    return [rng.choices(words, k=length) for _ in range(n)]


def test_a_task_that_words_give_away() -> None:
    found = shallow_cues(sentences_of(drawn("abcx", 200, 6, 1)), sentences_of(drawn("abcy", 200, 6, 2)))
    assert found.too_easy
    assert found.words_accuracy > 0.9
    assert found.length_accuracy == 0.5  # all of one length: a tie, which counts as positive
    assert found.positives.shared_types == 0.75
    assert "Too easy: words alone" in cues_text(found)


def test_a_task_that_lengths_give_away() -> None:
    found = shallow_cues(sentences_of(drawn("ab", 100, 4, 1)), sentences_of(drawn("ab", 300, 7, 2)))
    assert found.too_easy
    assert found.length_accuracy == 1.0
    assert found.compared == 100
    assert found.negatives.lengths == [0, 0, 0, 0, 0, 0, 0, 300]
    assert "Too easy: lengths alone" in cues_text(found)


def test_a_task_that_nothing_gives_away() -> None:
    found = shallow_cues(sentences_of(drawn("abcdef", 400, 6, 1)), sentences_of(drawn("abcdef", 400, 6, 2)))
    assert not found.too_easy
    assert 0.4 < found.words_accuracy < 0.6


def test_overlap_is_counted_by_types_tokens_and_sentences() -> None:
    found = shallow_cues(parse_sentences(b"a b\na b\nc\nd\ne\n"), parse_sentences(b"a b\nx x x a\nc c\nx\nc e\n"))
    assert (found.positives.types, found.negatives.types) == (5, 5)
    assert found.positives.shared_types == pytest.approx(4 / 5)
    assert found.negatives.shared_types == pytest.approx(4 / 5)
    assert found.positives.shared_tokens == pytest.approx(6 / 7)
    assert found.negatives.shared_tokens == pytest.approx(7 / 11)
    assert found.positives.verbatim == pytest.approx(2 / 5)
    assert found.negatives.verbatim == pytest.approx(1 / 5)
    assert found.positives.repeated == pytest.approx(1 / 5)


def test_held_out_lengths_are_told_by_the_other_folds_only() -> None:
    label = np.array([1.0, 0.0] * 10)
    fold = folds(label, 1)
    assert sorted(fold.tolist()) == sorted([0, 1, 2, 3, 4] * 4)
    # A length that a fold alone has is new to it, and so called positive: every negative is wrong.
    lengths = fold + 1
    assert length_accuracy(lengths, label, fold) == 0.5
    assert length_accuracy(np.where(label == 1, 2, 3), label, fold) == 1.0


def test_the_command(cli: Cli) -> None:
    for name, letters in (("p.txt", "abcx"), ("n.txt", "abcy")):
        cli.write(name, "".join(" ".join(row) + "\n" for row in drawn(letters, 50, 5, len(name))))
    found = json.loads(cli.fine("classifier cues p.txt n.txt --json"))
    assert found["too_easy"] is True
    assert found["positives"]["sentences"] == 50
    text = cli.fine("classifier cues p.txt n.txt")
    assert "words alone" in text
    assert "█" in text
    cli.write("few.txt", "a\n")
    ran = cli("classifier cues p.txt few.txt")
    assert ran.code == 2
    assert "few.txt has 1 sentence" in ran.err


def test_too_few_sentences() -> None:
    with pytest.raises(UsageError, match="at least 5"):
        shallow_cues(sentences_of(["a"]), sentences_of(["b"]))
