"""The kernel of CRFsuite's online algorithms against a twin that lists all label sequences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_crfsuite import Feature, Twin
from strategies import few

from palmette.kernels.chain.forms import Active, Chain, Data, no_active
from palmette.kernels.chain.train_margins import make_margin_workspace, train_margins
from palmette.kernels.learning.rule import AROW, CAPPED, HARD, ONE, PA, PERCEPTRON, ROOT, SOFT, TOKENS, Rule
from palmette.structures import Seen, Shape, allow_table, estimated, everything_allowed, new_chain, with_state

Y, A = 3, 4
FACTS = st.lists(st.tuples(st.integers(0, A - 1), st.sampled_from([1.0, 0.5, -1.0, 2.0])), max_size=3)
SENTENCES = st.lists(st.lists(st.tuples(FACTS, st.integers(0, Y - 1)), min_size=1, max_size=4), min_size=1, max_size=4)
STATES = st.sets(st.tuples(st.integers(0, A - 1), st.integers(0, Y - 1)))
PAIRS = st.sets(st.tuples(st.integers(0, Y - 1), st.integers(0, Y - 1)))


def chain_of(states: set[tuple[int, int]]) -> Chain:
    places = sorted(states)
    first = np.searchsorted([a for a, _ in places], np.arange(A + 1)).astype(np.int64)
    seen = Seen(first, np.array([label for _, label in places], np.int32))
    return new_chain(Shape(Y, 1, ends=False), {1: A}, everything_allowed(Y), {1: seen})


def data_of(sentences: list, valued: bool) -> Data:
    tokens = [token for sentence in sentences for token, _ in sentence]
    ptr = np.concatenate(([0], np.cumsum([len(token) for token in tokens]))).astype(np.int64)
    att = np.array([a for token in tokens for a, _ in token], np.int32)
    val = np.array([v for token in tokens for _, v in token] if valued else [], np.float32)
    offset = np.concatenate(([0], np.cumsum([len(sentence) for sentence in sentences]))).astype(np.int64)
    known = np.array([label for sentence in sentences for _, label in sentence], np.int32)
    weight = np.ones(len(sentences), np.float32)
    return Data(offset, known, allow_table(Y), weight, (Active(ptr, att, val), no_active(), no_active()))


def weights_of(chain: Chain) -> dict[Feature, float]:
    rows, pairs = chain.weights[0], chain.transitions[1].w
    found: dict[Feature, float] = {("pair", f, g): float(pairs[f, g]) for f in range(Y) for g in range(Y)}
    for a in range(A):
        for place in range(rows.first[a], rows.first[a + 1]):
            found["state", a, int(rows.combo[place])] = float(rows.w[place, 0])
    return found


def start(chain: Chain, learnt: np.ndarray, twin: Twin) -> None:
    draw = np.random.default_rng(7)
    chain.weights[0].w[:] = draw.normal(size=chain.weights[0].w.shape)
    chain.transitions[1].w[learnt] = draw.normal(size=int(learnt.sum()))
    twin.w.update({feature: weight for feature, weight in weights_of(chain).items() if feature in twin.exists})


KINDS = (PERCEPTRON, CAPPED), (PA, HARD), (PA, CAPPED), (PA, SOFT), (AROW, CAPPED)  # as the twin numbers them
RULES = st.tuples(st.integers(0, 4), st.sampled_from([0.1, 1.0]), st.booleans())


@few(2)
@given(SENTENCES, STATES, PAIRS, RULES, st.booleans(), st.integers(1, 3))
def test_kernel_does_what_the_twin_does(
    sentences: list, states: set, pairs: set, rule: tuple[int, float, bool], valued: bool, passes: int
) -> None:
    kind, strength, counts_errors = rule
    chain, data = chain_of(states), data_of(sentences, valued)
    if kind == 4:
        chain = with_state(chain)
        chain.weights[0].state.fill(1.5)
        chain.transitions[1].state.fill(1.5)
    learnt = np.zeros(chain.forbid.shape, np.bool_)
    for f, g in pairs:
        learnt[f, g] = True
    exists: set[Feature] = {("state", *place) for place in states} | {("pair", *place) for place in pairs}
    twin = Twin(exists, Y, (kind, strength, counts_errors), 1.5)
    if kind != 0:  # weights that make few ties; those of the perceptron are exact
        start(chain, learnt, twin)
    order = np.tile(np.arange(len(sentences))[::-1], passes)
    for s in order:
        tokens = [[(a, v if valued else 1.0) for a, v in token] for token, _ in sentences[s]]
        twin.learn(tokens, [label for _, label in sentences[s]])
    assume(not twin.doubtful)
    workspace = make_margin_workspace(chain, data, learnt)
    own, variant = KINDS[kind]
    loss = TOKENS if own == AROW else ROOT if counts_errors else ONE
    by = Rule(own, aggressiveness=strength, variant=variant, loss=loss)
    half = order.size // 2
    clock, total, wrong = 1.0, 0.0, 0
    for first, last in ((0, half), (half, order.size)):
        clock, more, missed = train_margins(chain, data, workspace, order, first, last, clock, by)
        total, wrong = total + more, wrong + missed
    assert (clock, wrong) == (twin.clock, twin.wrong)
    assert total == pytest.approx(twin.loss, rel=1e-4, abs=1e-4)
    expected = {feature: twin.w.get(feature, 0.0) for feature in weights_of(chain)}
    assert weights_of(chain) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    mean = twin.mean()
    expected = {feature: mean.get(feature, 0.0) for feature in expected}
    assert weights_of(estimated(chain, clock)) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert not workspace.change.any()
    assert not workspace.marked.any()
