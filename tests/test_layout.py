"""The weights that exist as one vector: no padding, nothing that is not learnt, and back to the same places."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from chain_arrays import PAD, Case, chain_of, data_of
from hypothesis import given
from hypothesis import strategies as st
from objectives import by_feature, evaluated
from strategies import cases, few

from palmette.kernels.chain.gather import inverted, seen_labels
from palmette.structures import Seen
from palmette.training import ChainObjective


def objective_of(case: Case, seen: Seen | None = None, learnt: np.ndarray | None = None) -> ChainObjective:
    chain = chain_of(case)
    for w in (part.w for part in (*chain.transitions, *chain.weights)):
        w[w == PAD] = 0.0
    return ChainObjective(chain, data_of(case), 0.1, seen=seen, learnt=learnt)


@few(2)
@given(cases(latent=True, learning=True))
def test_a_vector_returns_to_its_places(case: Case) -> None:
    objective = objective_of(case)
    H = objective.chain.label_of.size
    before = [part.w.copy() for part in (*objective.chain.transitions, *objective.chain.weights)]
    vector = objective.start()
    objective.put(vector)
    for part, w in zip((*objective.chain.transitions, *objective.chain.weights), before, strict=True):
        assert part.w.tobytes() == w.tobytes()
    numbers = np.arange(1, vector.size + 1, dtype=np.float32)
    found = by_feature(objective, numbers)
    assert sorted(found.values()) == numbers.tolist()  # each at one place, none in the padding
    assert objective.start().tobytes() == numbers.tobytes()
    assert all(state < H for feature in found for state in feature[2:])


@few(2)
@given(cases(latent=True, learning=True), st.integers(0, 99))
def test_pairs_that_are_not_learnt_are_left_out(case: Case, drawn: int) -> None:
    """All else has the same value and gradient."""
    whole = objective_of(case)
    learnt = np.random.default_rng(drawn).random(whole.chain.forbid.shape) < 0.5
    part = objective_of(case, learnt=learnt)
    for objective in (whole, part):
        objective.chain.transitions[1].w[~learnt] = 0.0
    (value, gradient), (less, own) = evaluated(whole, whole.start()), evaluated(part, part.start())
    expected, found = by_feature(whole, gradient), by_feature(part, own)
    out = {feature for feature in expected if feature[0] == "pair" and not learnt[feature[1:]]}
    assert less == value
    assert found == {feature: slope for feature, slope in expected.items() if feature not in out}


@few(2)
@given(cases(latent=True, learning=True))
def test_chosen_weights_are_a_part_of_the_whole(case: Case) -> None:
    """Value and gradient of what is left are those of the whole, the others being zero."""
    whole, part = objective_of(case), objective_of(case)
    vector = whole.start()
    vector[np.random.default_rng(1).random(vector.size) < 0.5] = 0.0
    part.put(vector)
    part.keep_nonzero(0.1)
    there = vector != 0
    assert part.size == np.count_nonzero(there)
    assert part.start().tobytes() == vector[there].tobytes()
    (value, gradient), (less, own) = evaluated(whole, vector), evaluated(part)
    assert less == value
    assert own.tobytes() == gradient[there].tobytes()


@few(2)
@given(cases(latent=True, learning=True))
def test_seen_labels_are_the_only_weights_of_attributes(case: Case) -> None:
    chain = objective_of(case).chain
    attributes, labels = chain.weights[0].slot.size, chain.label_of.max() + 1
    random = np.random.default_rng(2)
    lists = [np.flatnonzero(random.random(labels) < 0.5) for _ in range(attributes)]
    first = np.concatenate(([0], np.cumsum([own.size for own in lists]))).astype(np.int64)
    combo = np.concatenate([*lists, np.zeros(0, np.int64)]).astype(np.int32)
    objective = objective_of(case, Seen(first, combo))
    found = by_feature(objective, np.ones(objective.size, np.float32))
    states = {(f[1], int(objective.chain.label_of[f[2]])) for f in found if f[0] == "one"}
    assert states == {(a, int(label)) for a, own in enumerate(lists) for label in own}


@few(2)
@given(cases(learning=True), st.integers(1, 3))
def test_seen_labels_are_those_of_the_tokens(case: Case, least: int) -> None:
    data, labels = data_of(case), chain_of(case).label_of.max() + 1
    active = data.features[0]
    attributes = chain_of(case).weights[0].slot.size
    wanted: list[Counter[int]] = [Counter() for _ in range(attributes)]
    for token, known in enumerate(data.known.tolist()):
        for a in active.att[active.ptr[token] : active.ptr[token + 1]].tolist():
            wanted[a].update([known] if known < labels else [])
    first, found = seen_labels(inverted(active, attributes, 0, data.known.size), data.known, int(labels), least)
    often = [sorted(label for label, times in own.items() if times >= least) for own in wanted]
    assert [found[a:b].tolist() for a, b in pairwise(first.tolist())] == often
