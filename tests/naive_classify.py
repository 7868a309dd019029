"""Slow twins of the classifier over latent structures, from the definitions.

A structure of a view is a sequence of its tags; the best one is found by looking at all. A feature is a tuple (view,
"one", attribute, tag), (view, "pair", tag, tag), (view, "start", tag) or (view, "end", tag), its value how often it
occurs. Weights are a dictionary. Ties go to the smaller last tag, then to the smaller one before it, and so on. Of src
only the tag schemes are used, which have twins of their own.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from palmette.data import HYPHEN, allowed_transitions, convert_labels, reading, scheme_named

Sentence = Sequence[Sequence[int]]  # the attributes of each token
Tags = tuple[str, ...]


def is_wellformed(labels: Sequence[str], scheme: str) -> bool:
    """Whether one label sequence obeys a scheme; a letter the scheme does not have is ill-formed too."""
    names = sorted(set(labels))
    row, notation = scheme_named(scheme), reading(names, scheme) or HYPHEN
    if not all(letter and letter in row.letters for letter, _ in map(notation.split, names)):
        return False
    if not names:
        return True
    start, pair, end = allowed_transitions(names, scheme)
    ids = np.array([names.index(label) for label in labels])
    return bool(start[ids[0]] and end[ids[-1]] and pair[ids[:-1], ids[1:]].all())


@dataclass
class View:
    name: str
    tags: Tags
    scheme: str  # "" for general states


def features(view: View, sentence: Sentence, tags: Tags, pairs: bool) -> Counter:
    bag: Counter = Counter()
    for attributes, tag in zip(sentence, tags, strict=True):
        for a in attributes:
            bag[view.name, "one", a, tag] += 1
    if pairs:
        bag[view.name, "start", tags[0]] += 1
        bag[view.name, "end", tags[-1]] += 1
        for pair in itertools.pairwise(tags):
            bag[(view.name, "pair", *pair)] += 1
    return bag


def dot(weights: dict, bag: Counter) -> float:
    return sum(weights.get(f, 0.0) * value for f, value in bag.items())


def length(bag: Counter) -> float:
    return math.sqrt(sum(value * value for value in bag.values()))


def ranked(view: View, sentence: Sentence, weights: dict, pairs: bool) -> list[tuple[float, Tags]]:
    """Every allowed structure with its score, best first."""
    every = itertools.product(view.tags, repeat=len(sentence))
    allowed = [tags for tags in every if not view.scheme or is_wellformed(tags, view.scheme)]
    scored = [(dot(weights, features(view, sentence, tags, pairs)), tags) for tags in allowed]
    return sorted(scored, key=lambda item: (-item[0], [view.tags.index(tag) for tag in item[1]][::-1]))


def vote(structures: Sequence[Sequence[str]]) -> list[str]:
    """Token by token in IOB2; a tie goes to the first of the structures that has one of the most frequent labels. An I
    after O or after another type is repaired to B."""
    common = [convert_labels(list(tags), "IOB2") for tags in structures]
    won = []
    for labels in zip(*common, strict=True):
        count = Counter(labels)
        won.append(next(label for label in labels if count[label] == max(count.values())))
    return convert_labels(won, "IOB2")


def together(views: Sequence[View], sentence: Sentence, weights: dict, pairs: bool) -> list[tuple[float, list[Tags]]]:
    """Every chunking, written in all views, with the sum of its scores; best first."""
    kinds = sorted({tag[2:] for tag in views[0].tags if tag != "O"})
    common = ["O", *(f"{letter}-{kind}" if kind else letter for kind in kinds for letter in "BI")]
    found = []
    for tags in itertools.product(common, repeat=len(sentence)):
        if is_wellformed(tags, "IOB2"):
            structures = [tuple(convert_labels(list(tags), view.scheme)) for view in views]
            bags = [features(v, sentence, own, pairs) for v, own in zip(views, structures, strict=True)]
            found.append((sum(dot(weights, bag) for bag in bags), structures))
    return sorted(found, key=lambda item: -item[0])


def combined(views: Sequence[View], found: Sequence[Tags], how: str) -> list[Tags]:
    if how == "add":
        return list(found)
    if how == "vote":
        return [tuple(convert_labels(vote(found), view.scheme)) for view in views]
    others = [[tags for q, tags in enumerate(found) if q != r] for r in range(len(views))]
    return [tuple(convert_labels(vote(rest), view.scheme)) for view, rest in zip(views, others, strict=True)]


class Step(NamedTuple):
    """A step along features."""

    scaled: dict
    y: int
    score: float
    loss: float
    tau: float


@dataclass
class Twin:
    """The online learner, whose mean really adds up all weight vectors."""

    views: list[View]
    how: str = "add"
    pairs: bool = True
    step: str = "PA"  # or PA-I, PA-II, mira, perceptron, probperc
    C: float = 1.0
    normalise: bool = True
    cap: int = 20
    decay: float = 0.0  # of probperc's rate, which is C for the first example
    spread: float = 0.0  # above 0: steps adapt to each weight by its state
    weights: dict = field(default_factory=lambda: defaultdict(float))
    total: dict = field(default_factory=lambda: defaultdict(float))
    state: dict = field(default_factory=lambda: defaultdict(float))
    vectors: int = 0
    examples: int = 0  # before this one
    updates: int = 0
    squared_loss: float = 0.0
    gap: float = math.inf  # the smallest difference between a best structure and the next one, or of a score and 0
    met: list = field(default_factory=list)  # (bag, y, loss) of each round

    def structures(self, sentence: Sentence) -> list[Tags]:
        if self.how == "joint":
            best = together(self.views, sentence, self.weights, self.pairs)
            self.gap = min(self.gap, best[0][0] - best[1][0])
            return best[0][1]
        found = []
        for view in self.views:
            order = ranked(view, sentence, self.weights, self.pairs)
            found.append(order[0][1])
            if len(order) > 1:
                self.gap = min(self.gap, order[0][0] - order[1][0])
        return combined(self.views, found, self.how)

    def bag(self, sentence: Sentence, structures: Sequence[Tags]) -> Counter:
        return sum(
            (features(v, sentence, t, self.pairs) for v, t in zip(self.views, structures, strict=True)), Counter()
        )

    def learn_from(self, bag: Counter, y: int) -> float:
        """One step along fixed features; their score before it."""
        step = self.find(bag, y)
        self.make(step)
        return step.score

    def find(self, bag: Counter, y: int) -> Step:
        """The step along fixed features, from the weights and states of now."""
        size = length(bag) if self.normalise else 1.0
        scaled = {f: value / size for f, value in bag.items()}
        score = dot(self.weights, scaled)
        loss = max(0.0, 1.0 - y * score)
        squared = sum(value * value / (1 + self.state[f]) for f, value in scaled.items())
        return Step(scaled, y, score, loss, self.tau(loss, squared, y, score))

    def make(self, step: Step) -> None:
        """Change the weights, each by the state that it has now."""
        scaled, y, _, loss, tau = step
        if tau > 0:
            for f, value in scaled.items():
                self.weights[f] += tau * y * value / (1 + self.state[f])
                self.state[f] += self.spread * value * value
            self.updates += 1
            self.squared_loss += loss * loss / sum(value * value for value in scaled.values())
        self.met.append((scaled, y, loss))

    def tau(self, loss: float, squared: float, y: int, score: float) -> float:
        """How far to go: the structure against the empty one, which scores 0."""
        if self.step == "perceptron":
            return float((score >= 0) != (y > 0))
        if self.step == "probperc":
            return self.C / (1 + self.decay * self.examples) / (1 + math.exp(y * score))
        return {
            "PA": loss / squared, "PA-I": min(self.C, loss / squared), "mira": min(self.C, loss / squared),
            "PA-II": loss / (squared + 1 / (2 * self.C)),
        }[self.step]  # fmt: skip

    def example(self, sentence: Sentence, y: int) -> int:
        """All steps for one sentence; how often it was decoded."""
        rounds = 0
        while rounds < self.cap:
            rounds += 1
            score = self.learn_from(self.bag(sentence, self.structures(sentence)), y)
            self.gap = min(self.gap, abs(score))
            if y > 0 or score < 0:
                break
        self.examples += 1
        return rounds

    def batch(self, examples: Sequence[tuple[Sentence, int]]) -> list[int]:
        """All steps for some sentences, in rounds: those of a round are found with the same weights, then made in
        order. How often each was decoded; every one is a vector of the mean, with the changes up to its own."""
        first, begun = self.examples, dict(self.weights)
        changes: list[Counter] = [Counter() for _ in examples]
        rounds, waiting = [0] * len(examples), list(range(len(examples)))
        while waiting:
            steps = {}
            for j in waiting:
                self.examples = first + j
                sentence, y = examples[j]
                steps[j] = self.find(self.bag(sentence, self.structures(sentence)), y)
                self.gap = min(self.gap, abs(steps[j].score))
            for j, step in steps.items():
                before = dict(self.weights)
                self.make(step)
                for f, w in self.weights.items():
                    changes[j][f] += w - before.get(f, 0.0)
                rounds[j] += 1
            waiting = [j for j in waiting if examples[j][1] < 0 and steps[j].score >= 0 and rounds[j] < self.cap]
        self.examples = first + len(examples)
        vector = defaultdict(float, begun)
        for change in changes:
            for f, amount in change.items():
                vector[f] += amount
            for f, w in vector.items():
                self.total[f] += w
            self.vectors += 1
        return rounds

    def count(self) -> None:
        for f, w in self.weights.items():
            self.total[f] += w
        self.vectors += 1

    def mean(self) -> dict:
        return {f: value / self.vectors for f, value in self.total.items()}
