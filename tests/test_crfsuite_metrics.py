"""Scores of label sequences: those of scikit-learn over all tokens, with sklearn-crfsuite as the judge."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn_crfsuite import metrics as judge
from sklearn_crfsuite import scorers as judge_scorers

from palmette.crfsuite import CRF, metrics, scorers
from palmette.crfsuite.metrics import flatten
from palmette.errors import DataError

GOLD = [["B-X", "I-X"], ["O", "B-X", "B-Y"], ["O"]]
GUESS = [["B-X", "O"], ["O", "B-X", "B-X"], ["O"]]
AVERAGED = {"average": "weighted", "zero_division": 0}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("flat_accuracy_score", {}),
    ("flat_precision_score", AVERAGED),
    ("flat_recall_score", AVERAGED),
    ("flat_f1_score", AVERAGED),
    ("flat_f1_score", {"average": "macro", "labels": ["B-X", "I-X", "B-Y"], "zero_division": 0}),
    ("flat_f1_score", {"average": None, "labels": ["O", "B-X"]}),
    ("flat_fbeta_score", {"beta": 2.0, **AVERAGED}),
    ("flat_classification_report", {"zero_division": 0}),
    ("flat_classification_report", {"labels": ["I-X", "B-X"], "digits": 3, "zero_division": 0}),
    ("flat_classification_report", {"output_dict": True, "zero_division": 0}),
    ("sequence_accuracy_score", {}),
]


@pytest.mark.parametrize(("name", "keywords"), CASES, ids=[f"{name}-{k}" for k, (name, _) in enumerate(CASES)])
def test_the_judge_says_the_same(name: str, keywords: dict[str, Any]) -> None:
    wanted = getattr(judge, name)(GOLD, GUESS, **keywords)
    np.testing.assert_equal(getattr(metrics, name)(GOLD, GUESS, **keywords), wanted)


pairs = st.lists(st.lists(st.tuples(*[st.sampled_from("abc")] * 2), max_size=4), min_size=1, max_size=6)


@given(pairs.filter(any))
def test_accuracies_by_their_definition(drawn: list[list[tuple[str, str]]]) -> None:
    gold, guess = ([[pair[k] for pair in one] for one in drawn] for k in (0, 1))
    tokens = [a == b for one in drawn for a, b in one]
    assert metrics.flat_accuracy_score(gold, guess) == pytest.approx(sum(tokens) / len(tokens))
    whole = [all(a == b for a, b in one) for one in drawn]
    assert metrics.sequence_accuracy_score(gold, guess) == pytest.approx(sum(whole) / len(whole))


def test_sequences_of_any_kind() -> None:
    arrays = np.array([tuple(one) for one in GUESS], object)
    wanted = metrics.flat_f1_score(GOLD, GUESS, **AVERAGED)
    assert metrics.flat_f1_score((tuple(one) for one in GOLD), arrays, **AVERAGED) == wanted
    assert metrics.sequence_accuracy_score(iter(GOLD), arrays) == metrics.sequence_accuracy_score(GOLD, GUESS)
    assert flatten(iter([[1, 2], (3,)])) == [1, 2, 3]


def test_beta_may_be_the_third_argument() -> None:
    wanted = judge.flat_fbeta_score(GOLD, GUESS, 0.5, **AVERAGED)
    assert metrics.flat_fbeta_score(GOLD, GUESS, 0.5, **AVERAGED) == wanted


def test_sequences_that_do_not_belong_together() -> None:
    assert metrics.sequence_accuracy_score([], []) == 0
    with pytest.raises(DataError, match="3 true sequences and 1 predicted"):
        metrics.sequence_accuracy_score(GOLD, GUESS[:1])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        metrics.flat_accuracy_score(GOLD, GUESS[:1])


def test_the_judge_has_no_other_names() -> None:
    theirs = {name for name, one in vars(judge).items() if inspect.isfunction(one)} - {"wraps"}
    assert {name for name in theirs if not name.startswith("_")} <= set(metrics.__all__)
    assert {name for name in vars(judge_scorers) if "accuracy" in name} == set(dir(scorers))


def test_scorers_score_an_estimator() -> None:
    X = [[["a"], ["b"]], [["b"], ["a"], ["a"]]]
    crf = CRF().fit(X, [["A", "B"], ["B", "A", "A"]])
    gold = [["A", "B"], ["B", "A", "B"]]
    assert scorers.flat_accuracy(crf, X, gold) == pytest.approx(4 / 5)
    assert scorers.sequence_accuracy(crf, X, gold) == pytest.approx(1 / 2)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = scorers.nothing  # type: ignore[attr-defined]
