"""The classifier's kernels against twins that look at every structure: search, combination, steps, whole passes."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from classify_arrays import (
    NAMES,
    Case,
    case,
    every_feature,
    from_arrays,
    random_sentences,
    state_as_weights,
    to_arrays,
)
from hypothesis import given
from hypothesis import strategies as st
from naive_classify import Twin, dot, is_wellformed, length, vote
from strategies import few

from palmette.classification.kernels import search as classify_search
from palmette.classification.kernels.forms import (
    DECODED,
    N_COUNTS,
    SQUARED_LOSS,
    UPDATES,
    VECTORS,
    Decoding,
    Labelled,
    Store,
    Tally,
    Training,
    Views,
    Weights,
    Workspace,
    make_batch,
    make_tally,
    make_workspace,
)
from palmette.classification.kernels.train import add_new, decide, train_latent
from palmette.classification.model import chunk_view, new_store, no_rival, packed, snapshot, with_capacity
from palmette.classification.options import COMBINE, combine_number
from palmette.data import convert_labels
from palmette.kernels.core.compile import kernel
from palmette.kernels.core.team import make_team
from palmette.kernels.learning.rule import CAPPED, HARD, MIRA, PA, PERCEPTRON, PROBPERC, SOFT, Rule

# "In early trading in Hong Kong Monday , gold was quoted at $ 366.50 an ounce ."
FIVE_VIEWS = {
    "iob1": "O I I O I I B O I O O O I I B I O",
    "iob2": "O B I O B I B O B O O O B I B I O",
    "ioe1": "O I I O I E I O I O O O I E I I O",
    "ioe2": "O I E O I E E O E O O O I E I E O",
    "o+c": "O B E O B E S O S O O O B E B E O",
}


# What the twin calls a rule's kind and variant
LEARNERS = {
    (PA, HARD): "PA", (PA, CAPPED): "PA-I", (PA, SOFT): "PA-II", (MIRA, CAPPED): "mira",
    (PERCEPTRON, CAPPED): "perceptron", (PROBPERC, CAPPED): "probperc",
}  # fmt: skip


SEPARATE = [name for name in COMBINE if name != "joint"]  # each view is searched by itself


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, dict, Training, str, bool]:
    """A few sentences, views, and weights that are multiples of 1/64, so that every sum is exact."""
    latent = draw(st.sampled_from(["chunks", "chunks", "chunks", "none", 3]))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    types = draw(st.sampled_from([("",), ("X", "Y")])) if len(names) < 3 else ("",)
    how = draw(st.sampled_from(SEPARATE)) if latent == "chunks" and len(names) > 1 else "add"
    pairs, normalise = draw(st.booleans()), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made = case(latent, names, types, random_sentences(rng, 3), pairs)
    scale = draw(st.sampled_from([0, 1, 64]))
    weights = {f: int(rng.integers(-64, 65)) * scale / 64 / 64 for f in every_feature(made.views, pairs)}
    kind, variant = draw(st.sampled_from(list(LEARNERS)))
    size = draw(st.sampled_from([0.1, 1.0]))
    rule = Rule(
        kind,
        aggressiveness=size,
        variant=variant,
        rate=size,
        decay=draw(st.sampled_from([0.0, 0.5])),
        spread=draw(st.sampled_from([0.0, 0.5])),
    )
    return made, weights, Training(Decoding(combine_number(how), normalise), rule, 1), how, pairs


def twin_of(made: Case, weights: dict, how: Training, combine: str, pairs: bool) -> Twin:
    rule = how.rule
    learner, size = LEARNERS[rule.kind, rule.variant], rule.aggressiveness
    return Twin(
        made.views, combine, pairs, learner, size, how.decoding.normalise, how.cap, rule.decay, rule.spread,
        defaultdict(float, weights),
    )  # fmt: skip


def trained(
    made: Case, arrays: Weights, y: list[int], examples: list[int], how: Training, store: Store | None = None,
    clock: np.ndarray | None = None,
) -> Tally:  # fmt: skip
    """What is counted when the kernel learns from some sentences, or from structures of the store."""
    batch = make_batch(made.tables, 1, 20)
    tally = make_tally(made.tables, how, np.ones(2) if clock is None else clock, no_rival(arrays), batch, 60)
    data, workspace = Labelled(made.x, np.array(y, np.int8)), make_workspace(made.tables, 20, how.decoding.combine)
    store, team = new_store(0) if store is None else store, make_team(1)[0]
    train_latent(made.tables, arrays, data, store, np.array(examples), how, workspace, tally, team)
    return tally


@given(cases())
@few(0.5)
def test_structures_and_scores(drawn: tuple) -> None:
    made, weights, how, *_ = drawn
    twin = twin_of(*drawn)
    n = len(made.data)
    scores, states = np.zeros(n), np.zeros((len(made.views), int(made.x.offset[-1])), np.int16)
    workspace = make_workspace(made.tables, 3)
    decide(made.tables, to_arrays(made, weights), made.x, np.arange(n), how.decoding, workspace, scores, states)
    for s, sentence in enumerate(made.data):
        expected = twin.structures(sentence)
        own = states[:, made.x.offset[s] : made.x.offset[s + 1]]
        found = [tuple(v.tags[h] for h in row) for v, row in zip(made.views, own.tolist(), strict=True)]
        assert found == expected
        bag = twin.bag(sentence, expected)
        total = sum(twin.weights[f] * value for f, value in bag.items())
        size = length(bag) if how.decoding.normalise and bag else 1.0
        assert scores[s] == pytest.approx(total / size, abs=1e-5)


@given(cases(), st.sampled_from([1, -1]))
@few(0.5)
def test_a_step(drawn: tuple, y: int) -> None:
    made, weights, how, _, pairs = drawn
    twin = twin_of(*drawn)
    arrays = to_arrays(made, weights, adaptive=how.rule.spread > 0)
    if not twin.bag(made.data[0], twin.structures(made.data[0])):
        return  # no feature at all
    twin.examples, clock, counts = 2, np.array([1.0, 3.0]), np.zeros(N_COUNTS)
    for again in (False, True) if how.rule.spread else (False,):  # the second time some weights have a state
        if again:
            twin.gap = math.inf
            bag = twin.bag(made.data[0], twin.structures(made.data[0]))
            score = dot(twin.weights, bag)
            met = abs(1 - y * score / (length(bag) if twin.normalise else 1.0))  # a margin that is met but for rounding
            if min(twin.gap, abs(score), met) < 1e-4:  # rounding would decide
                break
        twin.example(made.data[0], y)
        counts += trained(made, arrays, [y, y, y], [0], how, clock=clock).counts
    found = from_arrays(made, arrays, pairs)
    for feature in found:
        assert found[feature] == pytest.approx(twin.weights[feature], abs=1e-4), feature
    if how.rule.spread:
        states = from_arrays(made, state_as_weights(arrays), pairs)
        for feature in states:
            assert states[feature] == pytest.approx(twin.state[feature], abs=1e-4), feature
    assert counts[UPDATES] == twin.updates
    assert counts[SQUARED_LOSS] == pytest.approx(twin.squared_loss, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("how", [*SEPARATE, "joint"])
def test_whole_passes(how: str) -> None:
    """Several passes with decoding again and the mean of all vectors, from random weights so that there are no ties;
    where the twin comes close to one, what follows is not compared."""
    compared = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        made = case("chunks", ["iob2", "ioe1", "o+c"], ("",), random_sentences(rng, 6), True)
        start = {f: int(rng.integers(-64, 65)) / 64 for f in every_feature(made.views, True)}
        method = Training(Decoding(combine_number(how), True), Rule(PA, variant=HARD), 20)
        twin, arrays = twin_of(made, start, method, how, True), to_arrays(made, start, averaged=True)
        twin.count()
        y = [1, -1, -1, 1, -1, -1]
        clock, found, decoded = np.ones(2), 0.0, 0
        for _ in range(3):
            order = rng.permutation(6)
            for k in range(6):
                decoded += twin.example(made.data[order[k]], y[order[k]])
                twin.count()
                if twin.gap < 1e-5:
                    break
                found += trained(made, arrays, y, [order[k]], method, clock=clock).counts[DECODED]
                compared += 1
                assert found == decoded
            if twin.gap < 1e-5:
                break
            last, mean = from_arrays(made, arrays), from_arrays(made, snapshot(arrays, clock[VECTORS]))
            for feature in last:
                assert last[feature] == pytest.approx(twin.weights[feature], abs=1e-4)
                assert mean[feature] == pytest.approx(twin.mean()[feature], abs=1e-4)
    assert compared > 40


@kernel
def converted(v: Views, workspace: Workspace, r: int, to: int, n: int) -> None:
    classify_search.read_chunks(v, workspace, r, n)
    classify_search.write_chunks(v, to, workspace.kind[r], workspace.starts[r], n, workspace.path[to])


@kernel
def voted(kind: np.ndarray, starts: np.ndarray, n: int, without: int, won: np.ndarray, begins: np.ndarray) -> None:
    classify_search.vote(kind, starts, n, without, won, begins)


def in_other_view(tags: list[str], types: tuple[str, ...], source: str, target: str) -> list[str]:
    views = [chunk_view(source, types), chunk_view(target, types)]
    tables = packed(views, types, True)
    workspace = make_workspace(tables, len(tags))
    workspace.best[0, : len(tags)] = [views[0].tags.index(tag) for tag in tags]
    converted(tables, workspace, 0, 1, len(tags))
    return [views[1].tags[h] for h in workspace.path[1, : len(tags)].tolist()]


@pytest.mark.jit
@pytest.mark.parametrize(("source", "target"), list(itertools.product(FIVE_VIEWS, FIVE_VIEWS)))
def test_the_published_table(source: str, target: str) -> None:
    assert in_other_view(FIVE_VIEWS[source].split(), ("",), source, target) == FIVE_VIEWS[target].split()


@pytest.mark.jit
@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.lists(st.integers(0, 8), min_size=1, max_size=8))
@few()
def test_conversion_of_anything(source: str, target: str, numbers: list[int]) -> None:
    """Also of what is ill-formed in its own view."""
    types = ("X", "Y")
    names = chunk_view(source, types).tags
    tags = [names[k % len(names)] for k in numbers]
    found = in_other_view(tags, types, source, target)
    assert found == convert_labels(tags, chunk_view(target, types).scheme)
    assert is_wellformed(found, chunk_view(target, types).scheme)
    if is_wellformed(tags, chunk_view(source, types).scheme):
        assert in_other_view(found, types, target, source) == tags


@pytest.mark.jit
@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=5), st.integers(-1, 4))
@few()
def test_votes(drawn: list[list[int]], without: int) -> None:
    labels = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    sequences = [convert_labels([labels[k] for k in row], "IOB2") for row in drawn]
    rest = [tags for r, tags in enumerate(sequences) if r != without]
    if not rest:
        return
    kind = np.array([["OXY".index(tag[-1]) - 1 for tag in tags] for tags in sequences], np.int32)
    starts = np.array([[tag[0] == "B" for tag in tags] for tags in sequences])
    won, begins = np.zeros(4, np.int32), np.zeros(4, np.bool_)
    voted(kind, starts, 4, without, won, begins)
    found = ["O" if k < 0 else f"{'B' if b else 'I'}-{'XY'[k]}" for k, b in zip(won.tolist(), begins, strict=True)]
    assert found == vote(rest)


def test_a_vote_by_hand() -> None:
    """Two of five say B, two I: the first view decides. An I that is left without a beginning becomes a B."""
    rows = [["B", "I"], ["I", "O"], ["B", "O"], ["I", "I"], ["O", "I"]]
    assert vote([["B", "I"], ["O", "I"], ["O", "I"]]) == ["O", "B"]
    assert vote(rows) == ["B", "I"]


def test_cached_structures_cause_updates() -> None:
    """A negative's older structure whose score is above 0 gets a step, though the newest one needs none."""
    made = case("chunks", ["iob2"], ("",), [[[0], [1]]], True)
    arrays = to_arrays(
        made, {("iob2", "one", 0, "B"): 2.0, ("iob2", "one", 0, "O"): -2.0, ("iob2", "one", 1, "O"): -2.0}
    )
    store = with_capacity(new_store(1), 4, 16)
    tags = made.views[0].tags
    for structure in (["B", "O"], ["O", "O"], ["B", "O"]):
        states = np.array([[tags.index(tag) for tag in structure]], np.int16)
        add_new(store, states, made.x.offset, np.arange(1))
    assert store.size[0] == 2  # the third was there
    how = Training(Decoding(0, False), Rule(PA, variant=HARD), 20)

    def updates(entry: int) -> float:
        return trained(made, arrays, [-1], [entry], how, store).counts[UPDATES]

    assert updates(1) == 0  # the newest scores -4
    before = from_arrays(made, arrays)
    assert updates(0) >= 1  # B O scored 0
    assert from_arrays(made, arrays) != before
    assert from_arrays(made, arrays)["iob2", "one", 0, "B"] == pytest.approx(2 - 1 / 5)
