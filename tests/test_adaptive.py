"""Rules that adapt to each weight by its learner state, on exact chains and beams, beside a twin from the definition:

scale_i = 1 / (1 + state_i), w_i += scale_i u_i, state_i += spread (u_i / sum of alphas)^2, u = sum of alpha_k d_k.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of, features_of
from hypothesis import assume, given
from hypothesis import strategies as st
from learners import PathRunner
from naive_chain import Example, Feature
from naive_nbest import (
    CLOSE,
    Learner,
    Rule,
    added,
    assert_close,
    box_optimum,
    learner_of,
    learning_cases,
    trained,
    with_real_weights,
)
from naive_nbest import Tie as Tied
from strategies import few

from palmette.kernels.learning.rule import MIRA
from palmette.kernels.learning.rule import Rule as Numbers
from palmette.structures.chain.weights import estimated, with_state
from palmette.training.trainer import shuffled


@dataclass
class AdaptiveTwin(Rule):
    """MIRA whose steps shrink with the state of each weight."""

    n: int
    C: float
    spread: float
    state: dict[Feature, float] = field(default_factory=dict)

    def scale(self, feature: Feature) -> float:
        return 1 / (1 + self.state.get(feature, 0.0))

    def __call__(self, learner: Learner, example: Example, clock: float, sentences: int) -> str:
        found, gold = learner.candidates(example, self.n), learner.gold(example)
        if gold is None:
            return "infeasible"
        bags, b = [], []
        for score, path in found:
            cost = learner.missed(example, path)
            bag = added([(1.0, learner.features(example, gold[1])), (-1.0, learner.features(example, path))])
            if cost and any(bag.values()):
                bags.append(bag)
                b.append(cost - (gold[0] - score))
        if max(b, default=-1.0) <= CLOSE:
            return "doubt" if max(b, default=-1.0) > -CLOSE else ""
        A = np.array([[sum(self.scale(f) * v * other.get(f, 0.0) for f, v in one.items()) for other in bags]
                      for one in bags])  # fmt: skip
        alphas = box_optimum(A, np.array(b), self.C)
        change = added(zip(alphas.tolist(), bags, strict=True))
        weights = learner.model.weights
        for feature, value in change.items():
            if value:
                step = example.weight * value * self.scale(feature)
                weights[feature] = weights.get(feature, 0.0) + step
                self.state[feature] = self.state.get(feature, 0.0) + self.spread * (value / alphas.sum()) ** 2
        return "update"


@pytest.mark.parametrize("order", [0, 1, 2])
@few()
@given(data=st.data(), n=st.integers(1, 3), spread=st.sampled_from([0.1, 1.0, 5.0]), seed=st.integers(0, 999))
def test_steps_shrink_with_the_state(order: int, data: st.DataObject, n: int, spread: float, seed: int) -> None:
    case: Case = with_real_weights(data.draw(learning_cases(order)), seed)._replace(share=0.0)
    twin_rule, size = AdaptiveTwin(n, 0.3, spread), len(case.sentences)
    first, second = shuffled(seed, 1, size), shuffled(seed, 2, size)
    try:
        twin, doubts = trained(learner_of(case, twin_rule), case.examples(), [first, second], False)
    except Tied:
        assume(False)
    assume(not doubts)  # the smallest update changes a state as much as any other
    chain, numbers = with_state(chain_of(case)), data_of(case)
    product = PathRunner(Numbers(MIRA, candidates=n, aggressiveness=0.3, spread=spread))
    one = product.learn(chain, numbers, first, 0, size, 1.0)
    two = product.learn(chain, numbers, second, 0, size, one.clock)
    assert one.updates + two.updates == twin.updates
    assert_close(features_of(chain), twin.last, 1e-3)
    assert_close(features_of(estimated(chain, two.clock)), twin.mean, 1e-3)
