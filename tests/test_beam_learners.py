"""probPerc, MIRA and PA on a beam against their definitions, with prefixes cut where each update says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from beam_arrays import BeamCase, beam_cases, features_with_contexts
from chain_arrays import chain_of, data_of
from hypothesis import assume, given
from hypothesis import strategies as st
from learners import BeamRunner
from naive_beam import ListLearner, Task, learnt
from naive_latent import Tie
from naive_nbest import assert_close
from strategies import few

from palmette.options.learners import Arow, Mira, PassiveAggressive, ProbPerc
from palmette.options.search import LIST_UPDATES, Beam
from palmette.structures.chain.label_context import estimated_contexts
from palmette.structures.chain.weights import estimated, with_state

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
    learner = ProbPerc(nbest=min(n, B), add_gold=add_gold)
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
@given(drawn=beam_cases(learning=True), update=UPDATE, B=WIDTH, seed=SEED, recombine=st.booleans(), n=st.integers(1, 4))
def test_mira(cost: str, drawn: BeamCase, update: str, B: int, seed: int, recombine: bool, n: int) -> None:
    drawn = with_real_numbers(drawn, seed)
    rule = BeamRunner(
        Mira(nbest=min(n, B), cost=cost),
        Beam(B, update=update, recombine=recombine),
        drawn.contexts(),
        drawn.seen,
        len(drawn.case.sentences),
        LABELS,
    )
    twin = ListLearner("mira", min(n, B), labels=LABELS if cost == "span" else None)
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
