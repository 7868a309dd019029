"""Batches of a classifier over latent structures: the twin's, from the definition; any number of threads gives the same
bits; a batch of one sentence is the learner without batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from classify_arrays import Case, case, every_feature, from_arrays, random_sentences, to_arrays
from hypothesis import given
from hypothesis import strategies as st
from strategies import few
from test_classify_kernels import cases, twin_of

from palmette import Arow, Classifier, Perceptron
from palmette.classification.kernels.forms import (
    DECODED,
    SQUARED_LOSS,
    UPDATES,
    VECTORS,
    Decoding,
    Labelled,
    Store,
    Tally,
    Training,
    Weights,
    for_thread,
    make_batch,
    make_tally,
    make_workspace,
)
from palmette.classification.kernels.train import add_new, decide, train_latent
from palmette.classification.model import ClassifierModel, new_store, no_rival, rival, snapshot, with_capacity
from palmette.classification.options import combine_number
from palmette.datasets import load_grammaticality
from palmette.errors import DataError, UsageError
from palmette.kernels.learning.rule import CAPPED, HARD, PA, PROBPERC, Rule
from palmette.training import ThreadTeam

LONGEST = 20


def learnt(
    made: Case, arrays: Weights, y: list[int], order: np.ndarray, how: Training, team: ThreadTeam,
    store: Store | None = None, bound: bool = False,
) -> Tally:  # fmt: skip
    """Learn from sentences, or from structures of the store, in their order."""
    other = rival(snapshot(arrays, None)) if bound else no_rival(arrays)
    tally = make_tally(made.tables, how, np.ones(2), other, make_batch(made.tables, team.batch, LONGEST), 60)
    own = [
        (make_workspace(made.tables, LONGEST, how.decoding.combine), for_thread(tally), member)
        for member in team.members
    ]
    data, given_store = Labelled(made.x, np.array(y, np.int8)), new_store(0) if store is None else store
    team.run(train_latent, lambda t: (made.tables, arrays, data, given_store, order, how, *own[t.number]))
    return tally


RULES = {
    "pa": Rule(PA, variant=HARD),
    "adaptive": Rule(PA, aggressiveness=0.5, variant=CAPPED, spread=0.5),
    "decaying": Rule(PROBPERC, aggressiveness=0.5, rate=0.5, decay=0.3),
}


@pytest.mark.parametrize("combine", ["add", "cotrain", "joint"])
@pytest.mark.parametrize("name", RULES)
def test_batches_are_those_of_the_twin(combine: str, name: str) -> None:
    """From random weights, so that there are no ties; where the twin comes close to one, nothing is compared."""
    compared = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        made = case("chunks", ["iob2", "ioe1", "o+c"], ("",), random_sentences(rng, 6), True)
        start = {f: int(rng.integers(-64, 65)) / 64 for f in every_feature(made.views, True)}
        method = Training(Decoding(combine_number(combine), True), RULES[name], 5)
        twin = twin_of(made, start, method, combine, True)
        twin.cap = 5
        arrays = to_arrays(made, start, averaged=True, adaptive=name == "adaptive")
        twin.count()
        y, order, size = [1, -1, -1, 1, -1, -1], rng.permutation(6), 2 + seed % 3
        rounds = [
            n for first in range(0, 6, size)
            for n in twin.batch([(made.data[s], y[s]) for s in order[first : first + size]])
        ]  # fmt: skip
        if twin.gap < 1e-5:
            continue
        tally = learnt(made, arrays, y, order, method, ThreadTeam(2, size))
        assert tally.counts[DECODED] == sum(rounds)
        doubtful = sum(loss < 1e-5 for _, _, loss in twin.met)  # margins that may be met or not by rounding
        assert abs(tally.counts[UPDATES] - twin.updates) <= doubtful
        assert tally.counts[SQUARED_LOSS] == pytest.approx(twin.squared_loss, rel=1e-3)
        last, mean = from_arrays(made, arrays), from_arrays(made, snapshot(arrays, tally.clock[VECTORS]))
        for feature in last:
            assert last[feature] == pytest.approx(twin.weights[feature], abs=1e-4), feature
            assert mean[feature] == pytest.approx(twin.mean()[feature], abs=1e-4), feature
        compared += 1
    assert compared > 1


def bits(arrays: Weights, tally: Tally) -> list[bytes]:
    parts = (arrays.end, arrays.pair, arrays.end_a, arrays.pair_a, arrays.state)
    rows = (arrays.one.slot, arrays.one.used, arrays.one.w, arrays.one.a)
    return [part.tobytes() for part in (*parts, *rows, tally.clock, tally.counts, tally.again)]


def stored(made: Case, arrays: Weights, how: Training) -> Store:
    """The best structures of all sentences."""
    n, tokens = len(made.data), int(made.x.offset[-1])
    states, scores = np.zeros((len(made.views), tokens), np.int16), np.zeros(n)
    workspace = make_workspace(made.tables, LONGEST, how.decoding.combine)
    decide(made.tables, arrays, made.x, np.arange(n), how.decoding, workspace, scores, states)
    store = with_capacity(new_store(n), n, states.size)
    add_new(store, states, made.x.offset, np.arange(n))
    return store


@given(cases(), st.integers(2, 5), st.integers(2, 4), st.booleans(), st.booleans())
@few(1)
def test_threads_give_the_same_bits(drawn: tuple, size: int, threads: int, fixed: bool, bound: bool) -> None:
    made, weights, how, *_ = drawn
    how, found = how._replace(cap=3), []
    for number in (1, threads):
        arrays = to_arrays(made, weights, averaged=True, adaptive=how.rule.spread > 0)
        store = stored(made, arrays, how) if fixed else None
        order = np.arange(len(made.data)).repeat(3)[::-1].copy()
        tally = learnt(made, arrays, [1, -1, -1], order, how, ThreadTeam(number, size), store, bound)
        found.append(bits(arrays, tally))
    assert found[0] == found[1]


def same(one: ClassifierModel, other: ClassifierModel) -> bool:
    pairs = zip(_arrays(one), _arrays(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def _arrays(model: ClassifierModel) -> list[np.ndarray]:
    w = model.weights
    return [w.end, w.pair, w.one.w, w.one.slot]


X, Y = load_grammaticality("train")
X, Y = X[:80], Y[:80]
WAYS: dict[str, dict[str, Any]] = {
    "one view": {},
    "cotrain": {"views": "all", "combine": "cotrain"},
    "joint": {"views": "iob2,ioe2", "combine": "joint", "types": 1},
    "arow": {"learner": Arow()},
    "perceptron": {"learner": Perceptron(), "estimator": "avg"},
    "bound": {"bound": True},
}


@pytest.mark.parametrize("way", WAYS)
def test_whole_trainings_on_threads_give_the_same_bits(way: str) -> None:
    options = {"passes": 2, **WAYS[way]}
    one, two = (Classifier(**options, batch_size=8).fit(X, Y, threads=threads) for threads in (1, 3))
    assert same(one.model_, two.model_)
    assert [_without_time(row) for row in one.training_log_] == [_without_time(row) for row in two.training_log_]
    plain = Classifier(**options, batch_size=1).fit(X, Y, threads=2)
    assert same(plain.model_, Classifier(**options).fit(X, Y).model_)
    assert not same(plain.model_, one.model_)


def _without_time(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "seconds"}


@pytest.mark.parametrize("learner", ["lclr", "lclr-variant"])
def test_batch_learners_decode_on_threads(learner: str) -> None:
    one, two = (Classifier(learner=learner, passes=2).fit(X[:40], Y[:40], threads=threads) for threads in (1, 3))
    assert same(one.model_, two.model_)
    with pytest.raises(UsageError, match="decodes all sentences with the same weights"):
        Classifier(learner=learner, batch_size=4)._settings()


def test_the_rule_for_the_size_of_batches() -> None:
    settings = Classifier()._settings()
    sizes = [settings.with_batch_size_for(n).batch_size for n in (4_999, 5_000, 10**7)]
    assert sizes == [None, 4, 4]
    assert Classifier(batch_size=16)._settings().with_batch_size_for(10**4).batch_size == 16
    assert Classifier(views="all")._settings().with_batch_size_for(10**7).batch_size is None
    assert Classifier(learner="lclr")._settings().with_batch_size_for(10**7).batch_size is None


def test_batches_that_are_too_large_are_an_error() -> None:
    with pytest.raises(DataError, match=r"overflowed.*\n.*40 sentences add up to too much: .*smaller batch_size"):
        Classifier(views="all", combine="cotrain", types=1, batch_size=40, passes=60, cap=100).fit(X, Y)


def test_a_training_in_batches_goes_on_exactly() -> None:
    options = {"batch_size": 4, "estimator": "avg"}
    four = Classifier(passes=4, **options).fit(X, Y, checkpoint=True)
    two = Classifier(passes=2, **options).fit(X, Y, checkpoint=True)
    more = Classifier(passes=2, **options).fit(X, Y, resume=two.model_, checkpoint=True)
    assert same(four.model_, more.model_)


def test_development_data_is_scored_by_all_threads() -> None:
    one, two = (
        Classifier(passes=2, seed=3).fit(X, Y, dev=(X[:40], Y[:40]), threads=threads).training_log_
        for threads in (1, 3)
    )
    assert [row["dev"] for row in one] == [row["dev"] for row in two]
