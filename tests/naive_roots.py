"""Slow twin of the choice of a root's relation: a perceptron over the features of the last state of a sentence, in
which only the root is on the stack. Nothing of src is used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from naive_parse import Action, Feature, Sentence, State, oracle, states_along


class Roots:
    """Weights of (feature, relation), and their sums for the average."""

    def __init__(self, trees: Sequence[Sequence[tuple[int, str]]]) -> None:
        self.relations = sorted({relation for tree in trees for head, relation in tree if head == 0})
        self.weights: dict[tuple[Feature, str], float] = defaultdict(float)
        self.sums: dict[tuple[Feature, str], float] = defaultdict(float)

    def choice(self, sentence: Sentence, state: State, clock: float | None = None) -> str:
        """The best relation, of equal ones the first; by averaged weights if there is a clock."""
        if len(self.relations) == 1:
            return self.relations[0]
        scores = {
            relation: sum(self.weight((feature, relation), clock) for feature in sentence.features(state))
            for relation in self.relations
        }
        return max(self.relations, key=lambda relation: scores[relation])

    def weight(self, key: tuple[Feature, str], clock: float | None) -> float:
        return self.weights[key] - (0.0 if clock is None else self.sums[key] / clock)

    def learn(
        self, sentence: Sentence, tree: Sequence[tuple[int, str]], actions: Sequence[Action], clock: float
    ) -> None:
        path = oracle(tree, actions)
        if path is None:
            return
        last = list(states_along(path, actions))[-1]
        gold, guess = next(relation for head, relation in tree if head == 0), self.choice(sentence, last)
        if guess != gold:
            for feature in sentence.features(last):
                for relation, amount in ((gold, 1.0), (guess, -1.0)):
                    self.weights[feature, relation] += amount
                    self.sums[feature, relation] += clock * amount
