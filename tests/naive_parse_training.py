"""Slow twin of how the parser learns, from the definitions: guess and gold are cut after the same number of steps,
bags of features are added and taken away, and averages come from the sum of all changes times the clock."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from naive_nbest import sum_optimum
from naive_parse import (
    NEAR,
    START,
    Action,
    Bag,
    Feature,
    Item,
    Model,
    Path,
    Risky,
    Sentence,
    check_apart,
    difference,
    oracle,
    plain,
    states_along,
    without_variants,
)

Tree = Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Rule:
    update: str = "max-violation"
    beam: int = 1
    learner: str = "perceptron"
    candidates: int = 1
    aggressiveness: float = 0.25
    cap: str = "each"  # of mira
    pa_type: str = "PA-I"
    rate: float = 0.5
    sentences: int = 1  # the rate falls by this
    falling: bool = True
    function: str = "softmax"  # of probPerc, or linear or polynomial
    degree: float = 2.0
    add_gold: bool = True
    on_errors: bool = False
    forest: bool = False  # candidates are all prefixes, as in a forest of all states
    variants: int = 1  # hidden variants of each arc
    spread: float = 0.0  # above 0: steps adapt to each weight by its state


def frequent(sentences: Sequence[Sentence], trees: Sequence[Tree], actions: Sequence[Action], least: int) -> frozenset:
    """Features that occur in at least so many states of gold derivations, a state before each action."""
    found: Counter = Counter()
    for sentence, tree in zip(sentences, trees, strict=True):
        path = oracle(tree, actions)
        for state in [] if path is None else list(states_along(path, actions))[:-1]:
            found.update(sentence.features(state))
    return frozenset(feature for feature, times in found.items() if times >= least)


def cut(update: str, best: Sequence[float], gold: Sequence[float], fell: int) -> int:
    """After how many steps guess and gold are cut; fell: where gold left the beam, 0 if it never did."""
    n = len(best) - 1
    violations = [i for i in range(1, n + 1) if best[i] >= gold[i]]
    if update == "max-violation":
        return max(range(1, n + 1), key=lambda i: (best[i] - gold[i], i))
    if update == "latest":
        return violations[-1]
    if update == "hybrid":
        return n if n in violations else fell
    return fell or n if update == "early" else n


def steps_of_hildreth(grams: list[list[float]], wanted: list[float], most: float) -> list[float]:
    """alpha in [0, most] that maximise sum(alpha b) - |sum(alpha df)|^2 / 2: one after the other, till none moves."""
    alpha = [0.0] * len(wanted)
    for _ in range(100_000):
        moved = 0.0
        for k, row in enumerate(grams):
            if row[k]:
                slope = wanted[k] - sum(a * g for a, g in zip(alpha, row, strict=True))
                new = min(most, max(0.0, alpha[k] + slope / row[k]))
                moved, alpha[k] = max(moved, abs(new - alpha[k])), new
        if moved < 1e-12:
            break
    return alpha


def values_by_score(scores: list[float], function: str, degree: float, exact: bool) -> list[float]:
    """What the probabilities of outputs are proportional to."""
    low, top = min(scores, default=0.0), max(scores, default=0.0)
    if function == "softmax":
        return [math.exp(score - top) for score in scores]
    if low == top:
        return [1.0] * len(scores)
    if top - low < NEAR and not exact:
        raise Risky
    return [((score - low) / (top - low) + 1e-3) ** (degree if function == "polynomial" else 1) for score in scores]


def dot(one: dict, other: dict) -> float:
    return sum(x * other.get(key, 0) for key, x in one.items())


@dataclass
class Training:
    """Weights, sums for the average and clock, and what happened."""

    actions: Sequence[Action]
    rule: Rule
    weights: dict[Feature, dict[int, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    sums: dict[Feature, dict[int, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    state: dict[tuple[Feature, int], float] = field(default_factory=lambda: defaultdict(float))
    clock: float = 1.0
    updates: int = 0
    bad: int = 0
    infeasible: int = 0
    known: frozenset[Feature] | None = None  # features that may have weights; None: all

    @property
    def model(self) -> Model:
        return Model(self.actions, self.weights)

    def averaged(self) -> Model:
        found = {
            feature: {action: weight - self.sums[feature][action] / self.clock for action, weight in row.items()}
            for feature, row in self.weights.items()
        }
        return Model(self.actions, found)

    def restart_from_average(self) -> None:
        for feature, row in self.averaged().weights.items():
            self.weights[feature] = defaultdict(float, row)
        self.sums.clear()

    def learn(self, sentence: Sentence, tree: Tree) -> None:
        if self.rule.variants > 1:
            self._hidden(sentence, tree)
            self.clock += 1
            return
        path = oracle(tree, self.actions)
        if path is None:
            self.infeasible += 1
        elif self.rule.update in ("laso", "laso-mean"):
            self._laso(sentence, path)
        else:
            self._violation(sentence, path)
        self.clock += 1

    def _violation(self, sentence: Sentence, path: Path) -> None:
        costs = path if self.rule.learner == "pa" else None
        beam = 10**9 if self.rule.forest else self.rule.beam
        gold, beams = self.model.scored(sentence, path), self.model.search(sentence, beam, costs)
        if self.rule.forest and len(beams[-1]) > 1 and beams[-1][0].score - beams[-1][1].score < NEAR:
            raise Risky  # merging may find either first
        missing = [i for i, items in enumerate(beams) if path[:i] not in [item.path for item in items]]
        right = beams[-1][0].path == path
        at = len(path) if right else self._cut([items[0] for items in beams], gold, missing[0] if missing else 0)
        if self.rule.learner != "perceptron":
            if not (right and self.rule.on_errors):
                self._margins(sentence, gold[at], beams[at])
        elif not right:
            self._perceptron(sentence, gold[at], beams[at][0])

    def is_gold(self, item: Item, arcs: Path) -> bool:
        """Whether an item makes gold's arcs, whatever their variants."""
        return without_variants(item.path, self.rule.variants) == arcs[: len(item.path)]

    def forced(self, sentence: Sentence, arcs: Path) -> list[Item]:
        """The derivations of gold's arcs that a beam over their variants ends with."""
        items = [START]
        for _ in arcs:
            found = [new for item in items for new in self.model.extended(sentence, item) if self.is_gold(new, arcs)]
            found.sort(key=lambda item: -item.score)
            for one, other in pairwise(found):
                check_apart(one, other)
            items = found[: self.rule.beam]
        return items

    def _hidden(self, sentence: Sentence, tree: Tree) -> None:
        """Gold is the best derivation of its arcs; the guess is the best item that makes other ones."""
        arcs = oracle(tree, [self.actions[0], *((move, plain(r)) for move, r in self.actions[1 :: self.rule.variants])])
        if arcs is None:
            self.infeasible += 1
            return
        gold = self.model.scored(sentence, self.forced(sentence, arcs)[0].path)
        beams = self.model.search(sentence, self.rule.beam, gold[-1].path if self.rule.learner == "pa" else None)
        wrong = [[item for item in items if not self.is_gold(item, arcs)] for items in beams]
        right, at = self.is_gold(beams[-1][0], arcs), len(arcs)
        gaps = {i: wrong[i][0].score - gold[i].score for i in range(1, at + 1) if wrong[i]}
        if not right and self.rule.update == "latest":
            at = max((i for i, gap in gaps.items() if gap >= 0), default=1)
        if not right and self.rule.update == "max-violation":
            at = max(gaps, key=lambda i: (gaps[i], i))
            near = [i for i in gaps if i != at and abs(gaps[i] - gaps[at]) < NEAR]
            if any(not (wrong[i][0].is_exact() and gold[i].is_exact()) for i in [*near, at] if near):
                raise Risky
        if self.rule.learner != "perceptron":
            self._margins(sentence, gold[at], wrong[at])
        elif not right and wrong[at]:
            self._perceptron(sentence, gold[at], wrong[at][0])

    def _cut(self, best: list[Item], gold: list[Item], fell: int) -> int:
        for i in range(1, len(best)):
            if best[i].path != gold[i].path:
                check_sign(best[i], gold[i])
        at = cut(self.rule.update, [item.score for item in best], [item.score for item in gold], fell)
        if self.rule.update == "max-violation":
            most = best[at].score - gold[at].score
            exact = all(item.is_exact() for item in (*best, *gold))
            others = [best[i].score - gold[i].score for i in range(1, len(best)) if i != at]
            if not exact and any(abs(most - other) < NEAR for other in others):
                raise Risky
        return at

    def _perceptron(self, sentence: Sentence, gold: Item, best: Item) -> None:
        self.updates += 1
        self.bad += gold.score > best.score
        self._update([difference(self._bag(sentence, gold), self._bag(sentence, best))], [1.0])

    def _laso(self, sentence: Sentence, path: Path) -> None:
        beam = [START]
        for i in range(1, len(path) + 1):
            before = next(item for item in beam if item.path == path[: i - 1])
            gold = next(item for item in self.model.extended(sentence, before) if item.path == path[:i])
            beam = self.model.step(sentence, beam, self.rule.beam)
            if path[:i] not in [item.path for item in beam]:
                self._lower(sentence, gold, beam)
                beam = [gold._replace(score=0.0)]
        if beam[0].path != path:
            self._lower(sentence, next(item for item in beam if item.path == path), beam)

    def _lower(self, sentence: Sentence, gold: Item, beam: Sequence[Item]) -> None:
        """Gold against the best item, or against the mean of the queue."""
        if self.rule.update == "laso":
            self._perceptron(sentence, gold, beam[0])
            return
        close = any(abs(one.score - other.score) < NEAR for one, other in itertools.pairwise(beam))
        if close and not all(item.is_exact() for item in (gold, *beam)):
            raise Risky
        self.updates += 1
        self.bad += gold.score > sum(item.score for item in beam) / len(beam)
        mine = self._bag(sentence, gold)
        changes = [difference(mine, self._bag(sentence, item)) for item in beam]
        self._update(changes, [1 / len(beam)] * len(beam))

    def _margins(self, sentence: Sentence, gold: Item, beam: Sequence[Item]) -> None:
        """Gold against the best others of the beam."""
        several = self.rule.candidates if self.rule.learner != "pa" else 1
        others = [item for item in beam if item.path != gold.path]
        if self.rule.forest and len(others) > several and others[several - 1].score - others[several].score < NEAR:
            raise Risky
        others = others[:several]
        mine = self._bag(sentence, gold)
        changes = [difference(mine, self._bag(sentence, item)) for item in others]
        k = self.rule.variants
        arcs = [without_variants(item.path, k) for item in (gold, *others)]
        costs = [sum(a != b for a, b in zip(own, arcs[0], strict=True)) for own in arcs[1:]]
        scores = [item.score for item in others]
        if self.rule.learner == "pa":  # costs are in the scores
            scores = [score - cost for score, cost in zip(scores, costs, strict=True)]
        wanted = [cost - (gold.score - score) for cost, score in zip(costs, scores, strict=True)]
        if self.rule.learner == "probperc":
            steps = self._shares(gold, others, gold.path in [item.path for item in beam[:several]])
        else:
            if any(abs(b) < NEAR for b in wanted) and not all(item.is_exact() for item in (gold, *others)):
                raise Risky
            steps = self._tau(changes, wanted)
        self.updates += any(step > 0 for step in steps)
        self._update(changes, steps)

    def _tau(self, changes: list[dict], wanted: list[float]) -> list[float]:
        most = self.rule.aggressiveness
        scaled = [{key: value * self._scale(key) for key, value in change.items()} for change in changes]
        grams = [[dot(one, other) for other in changes] for one in scaled]
        if self.rule.learner == "mira" and self.rule.cap == "sum":
            return sum_optimum(np.array(grams), np.array(wanted), most).tolist() if wanted else []
        if self.rule.learner == "mira":
            return steps_of_hildreth(grams, wanted, most)
        if self.rule.learner == "arow":
            for k, row in enumerate(grams):
                row[k] += 1 / most if row[k] else 0.0
            return steps_of_hildreth(grams, wanted, math.inf)
        found = []
        for row, b in zip(grams, wanted, strict=True):
            size = row[0] + (1 / (2 * most) if self.rule.pa_type == "PA-II" else 0)
            step = max(0.0, b) / size if row[0] else 0.0
            found.append(min(most, step) if self.rule.pa_type == "PA-I" else step)
        return found

    def _shares(self, gold: Item, others: Sequence[Item], listed: bool) -> list[float]:
        """The probabilities of the others, times the rate; gold is among the outputs if it is one of the best, or if
        it is always added."""
        rule, scores = self.rule, [item.score for item in others]
        own = [gold.score] if listed or rule.add_gold else []
        exact = all(item.is_exact() for item in (gold, *others))
        powers = values_by_score([*own, *scores], rule.function, rule.degree, exact)
        rate = rule.rate / (1 + (self.clock - 1) / rule.sentences) if rule.falling else rule.rate
        return [rate * power / sum(powers) for power in powers[len(own) :]]

    def _bag(self, sentence: Sentence, item: Item) -> Bag:
        bag = sentence.bag(item.path, self.actions) if item.path else Counter()
        return bag if self.known is None else Counter({key: n for key, n in bag.items() if key[0] in self.known})

    def _scale(self, key: tuple[Feature, int]) -> float:
        return 1 / (1 + self.state[key])

    def _update(self, changes: list[dict], steps: list[float]) -> None:
        if not self.rule.spread:
            for step, change in zip(steps, changes, strict=True):
                self._move(change, step)
        elif any(steps):
            total: dict = defaultdict(float)
            for step, change in zip(steps, changes, strict=True):
                for key, times in change.items():
                    total[key] += step * times
            self._move({key: self._scale(key) * value for key, value in total.items()}, 1.0)
            for key, value in total.items():
                self.state[key] += self.rule.spread * (value / sum(steps)) ** 2

    def _move(self, change: dict, step: float) -> None:
        for (feature, action), times in change.items():
            self.weights[feature][action] += step * times
            self.sums[feature][action] += self.clock * step * times


def check_sign(best: Item, gold: Item) -> None:
    if abs(best.score - gold.score) < NEAR and not (best.is_exact() and gold.is_exact()):
        raise Risky
