"""probPerc, MIRA and PA on a beam against their definitions, with prefixes cut where each update says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from beam_arrays import BeamCase, beam_cases, features_with_contexts
from chain_arrays import Case, chain_of, data_of
from hypothesis import assume, given
from hypothesis import strategies as st
from learners import BeamRunner
from naive_beam import ListLearner, Task, beam_perceptron, learnt
from naive_chain import Model, Token
from naive_latent import Tie
from naive_nbest import assert_close
from strategies import few

from palmette import Arow, Beam, Mira, PassiveAggressive, Perceptron, ProbPerc
from palmette.options import LIST_UPDATES
from palmette.structures import estimated, estimated_contexts, with_state

LABELS = ["O", "B-X", "I-X"]


def assert_learns(drawn: BeamCase, rule, twin: ListLearner, B: int, update: str, seed: int) -> None:
    """Some sentences twice, in two slices: the weights and averages of the twin."""
    case, reach = drawn.case, drawn.reach if rule.learner.recombine else None
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(case.sentences)), 2))
    now = learnt(case.model.weights)
    try:
        for k in order.tolist():
            example = case.examples()[k]
            task = Task(replace(case.model, weights=now.last), example.sentence, drawn.readings[k], reach)
            gold = tuple(min(states) for states in example.allowed)
            if task.score(gold) > -np.inf:
                change = twin.learn(task, example, gold, B, update, float(now.vectors), len(case.sentences))
                for feature, value in change.items():
                    now.last[feature] += example.weight * value
            now.count()
    except Tie:
        assume(False)
    chain, data, half = chain_of(case), data_of(case), order.size // 2
    if twin.kind == "arow":
        chain, rule.contexts = with_state(chain), rule.contexts._replace(state=np.zeros_like(rule.contexts.w))
    clock = rule.learn(chain, data, order, 0, half, 1.0).clock
    clock = rule.learn(chain, data, order, half, order.size, clock).clock
    assert clock == now.vectors
    assert_close(features_with_contexts(chain, rule.contexts), now.last, 1e-3)
    averaged = features_with_contexts(estimated(chain, clock), estimated_contexts(rule.contexts, clock))
    assert_close(averaged, now.mean, 1e-3)


def with_real_numbers(drawn: BeamCase, seed: int) -> BeamCase:
    """Weights that do not tie."""
    rng = np.random.default_rng(seed)
    model = drawn.case.model
    weights = {f: float(np.float32(w + rng.normal())) for f, w in model.weights.items() if f[0] != "bias"}
    return drawn._replace(case=drawn.case._replace(model=replace(model, weights=weights)))


CAP = st.sampled_from(["each", "sum"])
UPDATE, WIDTH, SEED = st.sampled_from(LIST_UPDATES), st.sampled_from([1, 2, 4]), st.integers(0, 999)


@few(2)
@given(
    drawn=beam_cases(learning=True),
    update=UPDATE,
    B=WIDTH,
    seed=SEED,
    recombine=st.booleans(),
    n=st.integers(1, 4),
    add_gold=st.booleans(),
)
def test_probperc(drawn: BeamCase, update: str, B: int, seed: int, recombine: bool, n: int, add_gold: bool) -> None:
    drawn = with_real_numbers(drawn, seed)
    learner = ProbPerc(nbest=min(n, B), rate=0.2, rate_schedule="falling", add_gold=add_gold)
    rule = BeamRunner(
        learner,
        Beam(B, update=update, recombine=recombine),
        drawn.contexts(),
        drawn.seen,
        len(drawn.case.sentences),
        LABELS,
    )
    assert_learns(drawn, rule, ListLearner("probperc", min(n, B), add_gold=add_gold), B, update, seed)


@pytest.mark.parametrize("kind", ["PA", "PA-I", "PA-II"])
@few()
@given(drawn=beam_cases(learning=True), update=UPDATE, B=WIDTH, seed=SEED, recombine=st.booleans())
def test_passive_aggressive(kind: str, drawn: BeamCase, update: str, B: int, seed: int, recombine: bool) -> None:
    drawn = with_real_numbers(drawn, seed)
    rule = BeamRunner(
        PassiveAggressive(pa_type=kind),
        Beam(B, update=update, recombine=recombine),
        drawn.contexts(),
        drawn.seen,
        len(drawn.case.sentences),
        LABELS,
    )
    assert_learns(drawn, rule, ListLearner(kind), B, update, seed)


@pytest.mark.parametrize("cost", ["hamming", "span"])
@few()
@given(
    drawn=beam_cases(learning=True),
    update=UPDATE,
    B=WIDTH,
    seed=SEED,
    recombine=st.booleans(),
    n=st.integers(1, 4),
    cap=CAP,
)
def test_mira(cost: str, drawn: BeamCase, update: str, B: int, seed: int, recombine: bool, n: int, cap: str) -> None:
    drawn = with_real_numbers(drawn, seed)
    rule = BeamRunner(
        Mira(nbest=min(n, B), step_cap=cap, cost=cost),
        Beam(B, update=update, recombine=recombine),
        drawn.contexts(),
        drawn.seen,
        len(drawn.case.sentences),
        LABELS,
    )
    twin = ListLearner("mira", min(n, B), cap=cap, labels=LABELS if cost == "span" else None)
    assert_learns(drawn, rule, twin, B, update, seed)


@few()
@given(drawn=beam_cases(learning=True), update=UPDATE, B=WIDTH, seed=SEED, recombine=st.booleans(), n=st.integers(1, 3))
def test_arow(drawn: BeamCase, update: str, B: int, seed: int, recombine: bool, n: int) -> None:
    drawn = with_real_numbers(drawn, seed)
    learner = Arow(nbest=min(n, B), aggressiveness=0.5)
    rule = BeamRunner(
        learner,
        Beam(B, update=update, recombine=recombine),
        drawn.contexts(),
        drawn.seen,
        len(drawn.case.sentences),
        LABELS,
    )
    assert_learns(drawn, rule, ListLearner("arow", min(n, B), C=0.5), B, update, seed)


@few(2)
@given(drawn=beam_cases(learning=True), B=st.sampled_from([1, 2, 3, 4]), seed=SEED)
def test_laso_against_the_mean_of_the_beam(drawn: BeamCase, B: int, seed: int) -> None:
    """Daumé and Marcu (2005): where gold is lost, or not the best one at the end, gold goes up by 1 and the queue, gold
    included, down by 1 in all; then the search continues from gold."""
    drawn = with_real_numbers(drawn, seed)
    case = drawn.case
    order = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(case.sentences)), 2))
    try:
        twin = beam_perceptron(case.model, case.examples(), drawn.readings, order.tolist(), B, "laso-mean")
    except Tie:
        assume(False)
    assume(all(abs(product) > 1e-4 for product in twin.products))
    rule = BeamRunner(Perceptron(), Beam(B, update="laso-mean"), drawn.contexts(), drawn.seen, len(case.sentences))
    chain, data, half = chain_of(case), data_of(case), order.size // 2
    first = rule.learn(chain, data, order, 0, half, 1.0)
    second = rule.learn(chain, data, order, half, order.size, first.clock)
    assert second.clock == twin.vectors
    assert first.updates + second.updates == twin.updates
    assert first.wrong + second.wrong == twin.wrong
    assert rule.bad == twin.bad
    assert_close(features_with_contexts(chain, rule.contexts), twin.last, 1e-3)
    averaged = features_with_contexts(estimated(chain, second.clock), estimated_contexts(rule.contexts, second.clock))
    assert_close(averaged, twin.mean, 1e-3)


def test_the_queue_is_shared_out_evenly() -> None:
    """Three labels, one token, a beam of two: gold (the third label) is lost, both others go down by a half."""
    model = Model(0, 3, {}, ends=False)
    case = Case(model, (0, 1, 2), (1, 0, 0), [[Token(((0, 1.0),))]], [[frozenset([2])]], [1.0])
    drawn = BeamCase(case, [[[]]], 0)
    for update, others in (("laso", (-1.0, 0.0)), ("laso-mean", (-0.5, -0.5))):
        chain = chain_of(case)
        rule = BeamRunner(Perceptron(), Beam(2, update=update), drawn.contexts(), drawn.seen, 1)
        rule.learn(chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
        found = features_with_contexts(chain, rule.contexts)
        assert tuple(found.get(("one", 0, h), 0.0) for h in range(3)) == (*others, 1.0)
