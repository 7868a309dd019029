"""Rules that adapt to each weight by its learner state, on exact chains and beams, beside a twin from the definition:

scale_i = 1 / (1 + state_i), w_i += scale_i u_i, state_i += spread (u_i / sum of alphas)^2, u = sum of alpha_k d_k.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of, features_of
from fitting import noisy
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

from palmette import Arow, Beam, Classifier, Latent, Parser, Tagger
from palmette.data import corpus_from_items
from palmette.errors import UsageError
from palmette.features import parse
from palmette.kernels.learning.rule import MIRA
from palmette.kernels.learning.rule import Rule as Numbers
from palmette.structures import estimated, with_state
from palmette.training import shuffled


@dataclass
class AdaptiveTwin(Rule):
    """MIRA, or with `ridge` AROW, whose steps shrink with the state of each weight."""

    n: int
    C: float
    spread: float
    ridge: float = 0.0  # added to the squared length of each difference: r of AROW
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
        alphas = box_optimum(A + self.ridge * np.eye(len(b)), np.array(b), self.C)
        change = added(zip(alphas.tolist(), bags, strict=True))
        weights = learner.model.weights
        for feature, value in change.items():
            if value:
                step = example.weight * value * self.scale(feature)
                weights[feature] = weights.get(feature, 0.0) + step
                self.state[feature] = self.state.get(feature, 0.0) + self.spread * (value / alphas.sum()) ** 2
        return "update"


def assert_adapts(case: Case, twin_rule: AdaptiveTwin, rule: Numbers, seed: int) -> None:
    """Two passes give the weights and averages of the twin."""
    size = len(case.sentences)
    first, second = shuffled(seed, 1, size), shuffled(seed, 2, size)
    try:
        twin, doubts = trained(learner_of(case, twin_rule), case.examples(), [first, second], False)
    except Tied:
        assume(False)
    assume(not doubts)  # the smallest update changes a state as much as any other
    chain, numbers, product = with_state(chain_of(case)), data_of(case), PathRunner(rule)
    one = product.learn(chain, numbers, first, 0, size, 1.0)
    two = product.learn(chain, numbers, second, 0, size, one.clock)
    assert one.updates + two.updates == twin.updates
    assert_close(features_of(chain), twin.last, 1e-3)
    assert_close(features_of(estimated(chain, two.clock)), twin.mean, 1e-3)


def drawn_case(data: st.DataObject, order: int, seed: int) -> Case:
    return with_real_weights(data.draw(learning_cases(order)), seed)._replace(tied_update=0.0)


@pytest.mark.parametrize("order", [0, 1, 2])
@few()
@given(data=st.data(), n=st.integers(1, 3), spread=st.sampled_from([0.1, 1.0, 5.0]), seed=st.integers(0, 999))
def test_steps_shrink_with_the_state(order: int, data: st.DataObject, n: int, spread: float, seed: int) -> None:
    rule = Numbers(MIRA, candidates=n, aggressiveness=0.3, spread=spread)
    assert_adapts(drawn_case(data, order, seed), AdaptiveTwin(n, 0.3, spread), rule, seed)


@pytest.mark.parametrize("order", [0, 1, 2])
@few()
@given(data=st.data(), n=st.integers(1, 3), C=st.sampled_from([0.2, 1.0, 5.0]), seed=st.integers(0, 999))
def test_arow(order: int, data: st.DataObject, n: int, C: float, seed: int) -> None:
    """alpha = loss / (variance + r), precision + d^2 / r, with r = 1 / C."""
    twin = AdaptiveTwin(n, 1e9, C, ridge=1 / C)
    assert_adapts(drawn_case(data, order, seed), twin, Arow(nbest=n, aggressiveness=C).rule(1), seed)


def test_arow_learns_with_earlier_labels_trees_and_sentences() -> None:
    X, y = noisy(5, 40)
    templates = parse("U0:%x[0,0]\nU1:%y[-1]/%y[-2]")
    tagger = Tagger(template=templates, learner="arow", search=Beam(4), constraints="none", passes=5).fit(X, y)
    assert tagger.score(X, y) > 0.6
    sentences, trees = [["a", "b"], ["b", "a", "b"]], [[(2, "x"), (0, "root")], [(2, "x"), (0, "root"), (2, "y")]]
    assert Parser("basic", learner=Arow()).fit(sentences, trees).predict(sentences) == trees
    words, classes = [["good", "film"], ["bad", "film"], ["good"], ["bad"]], ["1", "0", "1", "0"]
    assert Classifier(learner="arow", passes=5).fit(words, classes).score(words, classes) == 1.0
    with pytest.raises(UsageError, match="tied_update: arow adapts to single weights"):
        Tagger(learner="arow", states=Latent(2))._settings()
    with pytest.raises(UsageError, match="checkpoint=True: arow has state per weight"):
        Tagger(learner="arow").fit_corpus(corpus_from_items(X, y, mode="columns").corpus, None, checkpoint=True)
