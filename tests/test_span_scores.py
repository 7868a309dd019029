"""`palmette.metrics`: spans of two lists of labels against seqeval, a naive twin, and scikit-learn's searches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval import metrics as judge
from seqeval.metrics.sequence_labeling import get_entities

from palmette import Tagger, metrics
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError

LABELS = ("O", "B-A", "I-A", "B-B", "I-B")
PAIRS = st.lists(st.lists(st.tuples(*[st.sampled_from(LABELS)] * 2), min_size=1, max_size=9), min_size=1, max_size=4)


def sides(pairs: list[list[tuple[str, str]]]) -> list[list[list[str]]]:
    return [[[pair[k] for pair in sentence] for sentence in pairs] for k in (0, 1)]


@given(PAIRS)
@settings(max_examples=150, deadline=None)
def test_figures_are_those_of_seqeval(pairs: list[list[tuple[str, str]]]) -> None:
    gold, guess = sides([*pairs, [("B-A", "B-A")]])  # seqeval wants a span
    for ours, theirs in (("f1", "f1"), ("precision", "precision"), ("recall", "recall")):
        for average in ("micro", "macro"):
            found = getattr(metrics, f"span_{ours}_score")(gold, guess, average=average)
            wanted = getattr(judge, f"{theirs}_score")(gold, guess, average=average, zero_division=0)
            assert found == pytest.approx(wanted, abs=1e-12)
    assert metrics.token_accuracy_score(gold, guess) == judge.accuracy_score(gold, guess)


def naive_overlap(gold: list[list[str]], guess: list[list[str]]) -> dict[str, list[int]]:
    """Correct, incorrect, partial, missing and spurious spans, with sets of tokens."""
    rules: dict[str, list[int]] = {rule: [0] * 5 for rule in ("strict", "exact", "partial", "type")}
    for one, two in zip(gold, guess, strict=True):
        left, right = ([(kind, set(range(a, b + 1))) for kind, a, b in get_entities(each)] for each in (one, two))
        ranks = (
            lambda a, b: a == b,
            lambda a, b: a[1] == b[1],
            lambda a, b: a[0] == b[0] and bool(a[1] & b[1]),
            lambda a, b: bool(a[1] & b[1]),
        )
        for fits in ranks:
            while pairs := [(a, b) for b in right for a in left if fits(a, b)]:
                most = max(len(a[1] & b[1]) for a, b in pairs)
                # Of equal pairs the one with the first gold span, and then the first predicted one.
                a, b = min(
                    (p for p in pairs if len(p[0][1] & p[1][1]) == most), key=lambda p: (min(p[0][1]), min(p[1][1]))
                )
                left.remove(a)
                right.remove(b)
                edges, kind = a[1] == b[1], a[0] == b[0]
                rules["strict"][0 if edges and kind else 1] += 1
                rules["exact"][0 if edges else 1] += 1
                rules["partial"][0 if edges else 2] += 1
                rules["type"][0 if kind else 1] += 1
        for counts in rules.values():
            counts[3] += len(left)
            counts[4] += len(right)
    return rules


@given(PAIRS)
@settings(max_examples=300, deadline=None)
def test_overlaps_are_those_of_sets_of_tokens(pairs: list[list[tuple[str, str]]]) -> None:
    gold, guess = sides([*pairs, [("B-A", "O")]])
    found = metrics.span_overlap_scores(gold, guess).to_dict()
    for rule, counts in naive_overlap(gold, guess).items():
        names = ("correct", "incorrect", "partial", "missing", "spurious")
        assert [found[rule][name] for name in names] == counts
    assert found["strict"]["f1"] == pytest.approx(metrics.span_f1_score(gold, guess), abs=1e-12)


def test_overlaps_by_hand() -> None:
    gold = [["B-A", "I-A", "O", "B-B", "O", "B-A"]]
    guess = [["B-A", "O", "O", "B-A", "B-B", "O"]]
    found = metrics.span_overlap_scores(gold, guess)
    assert (found.partial.correct, found.partial.partial, found.partial.missing, found.partial.spurious) == (1, 1, 1, 1)
    assert found.partial.precision == pytest.approx(1.5 / 3)
    assert (found.type.correct, found.type.incorrect) == (1, 1)
    assert str(found).split()[:3] == ["precision", "recall", "F1"]


def test_wrong_input_is_named() -> None:
    with pytest.raises(DataError, match="2 gold sequences and 1 predicted one"):
        metrics.span_f1_score([["O"], ["O"]], [["O"]])
    with pytest.raises(DataError, match="sequence 0: 1 gold label and 2 predicted ones"):
        metrics.span_f1_score([["O"]], [["O", "O"]])
    with pytest.raises(DataError, match="mark no spans"):
        metrics.span_f1_score([["N", "V"]], [["N", "V"]])
    with pytest.raises(UsageError, match="average='weighted'"):
        metrics.span_f1_score([["B-A"]], [["B-A"]], average="weighted")


def test_score_of_a_tagger_is_that_of_its_spans() -> None:
    (X, y), (more, gold) = [(one[0][:60], one[1][:60]) for one in (load_demo("train"), load_demo("test"))]
    tagger = Tagger("chunk", passes=2).fit(X, y)
    guess = tagger.predict(more)
    assert tagger.score(more, gold) == pytest.approx(metrics.span_f1_score(gold, guess), abs=1e-12)
    assert tagger.score(more, gold) == pytest.approx(metrics.span_scorer(tagger, more, gold), abs=1e-12)
    right = metrics.token_accuracy_score(gold, guess)
    assert tagger.set_params(metric="accuracy").score(more, gold) == pytest.approx(right, abs=1e-12)
    weights = np.array([2.0, 0.0, 1.0] * 20)
    twice = [k for k, w in enumerate(weights) for _ in range(int(w))]
    picked = [[each[k] for k in twice] for each in (gold, guess)]
    tagger.set_params(metric="auto")
    found = tagger.score(more, gold, sample_weight=weights)
    assert found == pytest.approx(metrics.span_f1_score(*picked), abs=1e-12)
    words = Tagger(passes=1, metric="f1", features="pos")
    with pytest.raises(UsageError, match="f1 scores spans"):
        words.fit([["a", "b"]], [["N", "V"]], dev=([["a"]], [["N"]]))


def test_a_search_of_scikit_learn_tunes_spans() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    X, y = (one[:40] for one in load_demo("train"))
    search = selection.GridSearchCV(Tagger("chunk", passes=1), {"order": [0, 1]}, cv=2, scoring=metrics.span_scorer)
    plain = selection.GridSearchCV(Tagger("chunk", passes=1), {"order": [0, 1]}, cv=2)
    found = [one.fit(X, y).cv_results_["mean_test_score"] for one in (search, plain)]
    assert found[0] == pytest.approx(found[1])
