"""Kernels of labels that are bundles of parts, beside their twin."""

from __future__ import annotations

from collections.abc import Sequence

import naive_bundles as naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from palmette.kernels.chain.forms import Active
from palmette.pipeline.bundles import Lesson, _seen, lists_of
from palmette.pipeline.kernels.bundles import (
    Bundles,
    PartWeights,
    SmallWeights,
    list_bundles,
    tag_bundles,
    train_bundles,
)

ATTRIBUTES, PARTS, LABELS = 4, 5, 4
NO_VALUES = np.zeros(0, np.float32)

labels_strategy = st.lists(
    st.lists(st.integers(0, PARTS - 1), max_size=4, unique=True), min_size=LABELS, max_size=LABELS
)
group_strategy = st.lists(st.integers(0, LABELS - 1), min_size=1, unique=True).map(sorted)
token_strategy = st.lists(st.integers(0, ATTRIBUTES - 1), max_size=4, unique=True)


def active(tokens: Sequence[Sequence[int]]) -> Active:
    ptr, att = lists_of(tokens)
    return Active(ptr, att, NO_VALUES)


def bundles_of(labels: Sequence[Sequence[int]], groups: Sequence[Sequence[int]]) -> Bundles:
    return Bundles(*lists_of(labels), *lists_of(groups))


@given(
    labels_strategy,
    st.lists(st.tuples(token_strategy, group_strategy), min_size=1, max_size=5),
    st.lists(st.lists(st.integers(-3, 3), min_size=PARTS, max_size=PARTS), min_size=ATTRIBUTES, max_size=ATTRIBUTES),
    st.integers(1, 3),
)
def test_best_labels(
    labels: list[list[int]], words: list[tuple[list[int], list[int]]], table: list[list[int]], n: int
) -> None:
    tokens, groups = [token for token, _ in words], [group for _, group in words]
    w = {(a, p): float(table[a][p]) for a in range(ATTRIBUTES) for p in range(PARTS)}
    places = [[p for p in range(PARTS) if table[a][p]] for a in range(ATTRIBUTES)]
    first, part = lists_of(places)
    small = np.array([table[a][p] for a in range(ATTRIBUTES) for p in places[a]], np.int16)
    weights = SmallWeights(first, part.astype(np.int16), small)
    b, x, group = bundles_of(labels, groups), active(tokens), np.arange(len(words), dtype=np.int32)
    best = [naive.ranked(token, own, labels, w) for token, own in words]

    out = np.zeros(len(words), np.int32)
    tag_bundles(b, weights, x, group, PARTS, out)
    assert out.tolist() == [row[0] for row in best]

    listed, scores = np.zeros((len(words), n), np.int32), np.zeros((len(words), n), np.int32)
    list_bundles(b, weights, x, group, PARTS, listed, scores)
    for i, row in enumerate(best):
        expected = row[:n]
        assert listed[i].tolist() == expected + [-1] * (n - len(expected))
        assert scores[i, : len(expected)].tolist() == [naive.score(tokens[i], labels[y], w) for y in expected]


@given(
    labels_strategy,
    st.lists(st.tuples(token_strategy, group_strategy), min_size=1, max_size=6),
    st.sampled_from([0.125, 0.25, 16.0]),
    st.data(),
)
def test_learning(
    labels: list[list[int]], words: list[tuple[list[int], list[int]]], cap: float, data: st.DataObject
) -> None:
    tokens, groups = [token for token, _ in words], [group for _, group in words]
    gold = [data.draw(st.sampled_from(group)) for group in groups]
    order = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=1, max_size=12))
    last, mean, updates, doubtful = naive.learnt(tokens, gold, groups, labels, order, cap)
    assume(not doubtful)

    b, x = bundles_of(labels, groups), active(tokens)
    own = np.arange(len(words), dtype=np.int32)
    lesson = Lesson(b, np.array(gold, np.int32), own)
    first, part = _seen(x, ATTRIBUTES, lesson)
    w = PartWeights(first, part, np.zeros(part.size, np.float32), np.zeros(part.size, np.float64))
    half, clock, wrong = len(order) // 2, 1.0, 0
    for begin, end in ((0, half), (half, len(order))):  # slices do not change the result
        clock, missed = train_bundles(b, w, x, own, lesson.gold, np.array(order, np.int64), begin, end, cap, clock)
        wrong += missed
    assert (clock, wrong) == (len(order) + 1, updates)
    for a in range(ATTRIBUTES):
        for z in range(first[a], first[a + 1]):
            key = a, int(part[z])
            assert w.w[z] == pytest.approx(last.get(key, 0.0), abs=1e-4)
            assert w.w[z] - w.a[z] / clock == pytest.approx(mean.get(key, 0.0), abs=1e-4)


@given(st.lists(st.tuples(token_strategy, st.integers(0, LABELS - 1)), min_size=1, max_size=6), labels_strategy)
def test_weights_are_of_what_was_seen_together(words: list[tuple[list[int], int]], labels: list[list[int]]) -> None:
    tokens, gold = [token for token, _ in words], np.array([y for _, y in words], np.int32)
    b = bundles_of(labels, [list(range(LABELS))])
    first, part = _seen(active(tokens), ATTRIBUTES, Lesson(b, gold, np.zeros(len(words), np.int32)))
    for a in range(ATTRIBUTES):
        together = {p for token, y in words if a in token for p in labels[y]}
        assert part[first[a] : first[a + 1]].tolist() == sorted(together)
