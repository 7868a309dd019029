"""Slow twins of the learners over the n best paths, from their definitions: every path is written out and scored, a
change of the weights is a dictionary, and a small quadratic program is solved by trying every set of active bounds.

Scores that are no multiples of 1/64 do not tie in float32 where they do in float64: a decision that hangs on less than
CLOSE raises `Tie`, unless all weights are zero. Of src only the last part is used, which compares.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of, features_of
from hypothesis import assume
from hypothesis import strategies as st
from learners import PathRunner
from naive_chain import Example, Feature, Model, Path, Sentence, TrainedChain, dot, feature_vector, path_score, started
from naive_kbest import in_order
from naive_latent import CLOSE, States, Tie
from strategies import cases, every_feature

from palmette.structures import estimated, restart_from_average
from palmette.training import shuffled

Scored = list[tuple[float, Path]]
Bag = dict[Feature, float]


def scored_paths(model: Model, sentence: Sentence, allowed: Sequence[Iterable[int]] | None = None) -> Scored:
    """All possible paths among those allowed, best first."""
    choices = [sorted(states) for states in allowed or [range(model.n_states)] * len(sentence)]
    scored = [(path_score(model, sentence, path), path) for path in itertools.product(*choices)]
    return in_order([(score, path) for score, path in scored if score > -math.inf])


def cut(scored: Scored, n: int, exact: bool) -> Scored:
    """The first n; a doubt about the last of them is a Tie."""
    if len(scored) > n and scored[n - 1][0] - scored[n][0] < CLOSE and not exact:
        raise Tie
    return scored[:n]


def added(bags: Iterable[tuple[float, Bag]]) -> Bag:
    total: Counter[Feature] = Counter()
    for factor, bag in bags:
        for feature, value in bag.items():
            total[feature] += factor * value
    return dict(total)


# --- one example --------------------------------------------------------------------------------------------


@dataclass
class Learner:
    """What all of the learners have: a model whose weights are learnt, and how states share changes."""

    model: Model
    states: States | None = None  # None: nothing is shared
    tied_update: float = 0.0
    rule: Rule | None = None

    @property
    def exact(self) -> bool:
        """Whether float32 has all scores exactly: they are zero."""
        return not any(self.model.weights.values())

    def candidates(self, example: Example, n: int) -> Scored:
        return cut(scored_paths(self.model, example.sentence), n, self.exact)

    def gold(self, example: Example) -> tuple[float, Path] | None:
        """The best path under what is known, with its score."""
        found = scored_paths(self.model, example.sentence, example.allowed)
        return cut(found, 1, self.exact)[0] if found else None

    def features(self, example: Example, path: Path) -> Bag:
        return dict(feature_vector(self.model, example.sentence, path))

    def spread(self, change: Bag) -> Bag:
        """A change of states with what all states of their labels get of it."""
        if self.states is None or not self.tied_update:
            return change
        alike = ((self.tied_update * value, dict.fromkeys(self.states.alike(f), 1.0)) for f, value in change.items())
        return added([(1.0, change), *alike])

    def add_path_difference(self, change: Bag, step: float) -> None:
        for feature, value in self.spread(change).items():
            self.model.weights[feature] = self.model.weights.get(feature, 0.0) + step * value

    def missed(self, example: Example, path: Path) -> int:
        return sum(h not in states for h, states in zip(path, example.allowed, strict=True))


def trained(
    learner: Learner, examples: Sequence[Example], passes: Iterable[Sequence[int]], mavg: bool
) -> tuple[TrainedChain, int]:
    """The examples one after the other; every weight vector counts for the mean, and with `mavg` every pass but the
    first starts from it. And how many updates are in doubt."""
    assert learner.rule is not None
    now, doubts = started(learner.model.weights), 0
    for number, order in enumerate(passes):
        if mavg and number:
            now.last.update(now.mean)
        learner.model = replace(learner.model, weights=now.last)
        for k in order:
            made = learner.rule(learner, examples[k], float(now.vectors), len(examples))
            now.updates += made == "update"
            now.infeasible += made == "infeasible"
            doubts += made == "doubt"
            now.count()
    return now, doubts


def assert_learns(case: Case, product: PathRunner, twin_rule: Rule, seed: int, mavg: bool, tolerance: float) -> None:
    """Two passes, the second in two slices, give the weights, the averages and the counts of the twin."""
    n = len(case.sentences)
    first, second = shuffled(seed, 1, n), shuffled(seed, 2, n)
    chain, data = chain_of(case), data_of(case)
    try:
        twin, doubts = trained(learner_of(case, twin_rule), case.examples(), [first, second], mavg)
    except Tie:
        assume(False)
    steps = [product.learn(chain, data, first, 0, n, 1.0)]
    if mavg:
        restart_from_average(chain, steps[-1].clock)
    for low, high in ((0, n // 2), (n // 2, n)):
        steps.append(product.learn(chain, data, second, low, high, steps[-1].clock))
    assert steps[-1].clock == twin.vectors
    assert sum(step.infeasible for step in steps) == twin.infeasible
    assert twin.updates <= sum(step.updates for step in steps) <= twin.updates + doubts
    assert_close(features_of(chain), twin.last, tolerance)
    assert_close(features_of(estimated(chain, steps[-1].clock)), twin.mean, tolerance)


class Rule:
    """One step: what it did is `update`, `infeasible` (no path agrees with what is known), `doubt` (a margin that is
    reached but for rounding, so that an update would be next to nothing) or nothing."""

    def __call__(self, learner: Learner, example: Example, clock: float, sentences: int) -> str:
        raise NotImplementedError


# --- the probabilistic perceptron ---------------------------------------------------------------------------


@dataclass
class ProbPercTwin(Rule):
    n: int
    rate: float = 0.1
    falling: bool = False
    probability: str = "softmax"
    degree: float = 2.0
    add_gold: bool = True
    on_errors: bool = False

    def __call__(self, learner: Learner, example: Example, clock: float, sentences: int) -> str:
        found = learner.candidates(example, self.n)
        gold = learner.gold(example)
        if self.on_errors:
            first = cut(found, 1, learner.exact)[0][1]
            if not learner.missed(example, first):
                return ""
        if gold is None:
            return "infeasible"
        if not any(learner.missed(example, path) for _, path in found):
            return ""
        if self.add_gold and gold[1] not in [path for _, path in found]:
            found = [*found, gold]
        shares = probabilities([score for score, _ in found], self.probability, self.degree)
        rate = self.rate / (1 + (clock - 1) / sentences) if self.falling else self.rate
        listed = [(p, path, learner.missed(example, path) == 0) for p, (_, path) in zip(shares, found, strict=True)]
        up = 1.0 - sum(p for p, _, right in listed if right)  # all right paths are gold: their mass is its mass
        down = [(-p, learner.features(example, path)) for p, path, right in listed if not right]
        learner.add_path_difference(added([(up, learner.features(example, gold[1])), *down]), rate * example.weight)
        return "update"


def probabilities(scores: Sequence[float], kind: str, degree: float) -> list[float]:
    """How probable each candidate of a list is; the list alone is what there is."""
    low, high = min(scores), max(scores)
    if kind == "softmax":
        each = [math.exp(score - high) for score in scores]
    elif low == high:
        each = [1.0] * len(scores)
    else:
        if high - low < CLOSE:
            raise Tie
        power = degree if kind == "polynomial" else 1.0
        each = [((score - low) / (high - low) + 1e-3) ** power for score in scores]
    return [one / sum(each) for one in each]


# --- margins ------------------------------------------------------------------------------------------------


@dataclass
class PassiveAggressiveTwin(Rule):
    kind: str
    C: float

    def __call__(self, learner: Learner, example: Example, clock: float, sentences: int) -> str:
        everything = scored_paths(learner.model, example.sentence)
        augmented = in_order([(score + learner.missed(example, path), path) for score, path in everything])
        score, guess = cut(augmented, 1, learner.exact)[0]
        if not learner.missed(example, guess):
            return ""
        gold = learner.gold(example)
        if gold is None:
            return "infeasible"
        loss = score - gold[0]
        if loss <= CLOSE:
            return "doubt" if loss > -CLOSE else ""
        change = added([(1.0, learner.features(example, gold[1])), (-1.0, learner.features(example, guess))])
        square = dot(learner.spread(change), change)  # by how much a step of 1 widens the margin
        if square == 0:
            return ""
        step = loss / (square + 0.5 / self.C) if self.kind == "PA-II" else loss / square
        learner.add_path_difference(change, example.weight * (min(step, self.C) if self.kind == "PA-I" else step))
        return "update"


@dataclass
class MiraTwin(Rule):
    n: int
    C: float
    chunks_of: Sequence[str] | None = None  # the labels by number, for the cost of spans
    label_of: Sequence[int] = ()
    cap: str = "each"

    def __call__(self, learner: Learner, example: Example, clock: float, sentences: int) -> str:
        found = learner.candidates(example, self.n)
        gold = learner.gold(example)
        if gold is None:
            return "infeasible"
        bags, b = [], []
        for score, path in found:
            cost = self.cost(learner, example, gold[1], path)
            bag = added([(1.0, learner.features(example, gold[1])), (-1.0, learner.features(example, path))])
            if cost and any(bag.values()):  # no step can tell equal features apart
                bags.append(bag)
                b.append(cost - (gold[0] - score))
        if max(b, default=-1.0) <= CLOSE:
            return "doubt" if max(b, default=-1.0) > -CLOSE else ""
        A = np.array([[dot(learner.spread(one), other) for other in bags] for one in bags])
        alphas = (sum_optimum if self.cap == "sum" else box_optimum)(A, np.array(b), self.C)
        learner.add_path_difference(added(zip(alphas.tolist(), bags, strict=True)), example.weight)
        return "update"

    def cost(self, learner: Learner, example: Example, gold: Path, path: Path) -> int:
        missed = learner.missed(example, path)
        if self.chunks_of is None or not missed:  # what agrees with what is known is right
            return missed
        names = [[self.chunks_of[self.label_of[h]] for h in one] for one in (gold, path)]
        return len(chunks(names[0]) ^ chunks(names[1]))


def chunks(labels: Sequence[str]) -> set[tuple[int, int, str]]:
    """(first, last, type) of each chunk by conlleval's rules, told as they are in its script."""
    found, begun = set(), None
    for i, (before, label) in enumerate(itertools.pairwise(["O", *labels, "O"])):
        (last, kind_before), (letter, kind) = (("O", "") if one == "O" else one.split("-") for one in (before, label))
        other = kind_before != kind
        if begun is not None and (last in "ES" or letter in "BSO" or other):
            found.add((begun, i - 1, kind_before))
            begun = None
        if letter in "BS" or (letter in "EI" and (last in "ESO" or other)):
            begun = i
    return found


def box_optimum(A: np.ndarray, b: np.ndarray, C: float) -> np.ndarray:
    """max b.a - a A a / 2 with 0 <= a <= C: each of them at a bound or with no slope, all choices tried."""
    best, value = np.zeros(b.size), 0.0
    for choice in itertools.product(("zero", "most", "free"), repeat=b.size):
        free = np.array([one == "free" for one in choice])
        a = np.where([one == "most" for one in choice], C, 0.0)
        if free.any():
            a[free] = np.linalg.lstsq(A[np.ix_(free, free)], (b - A @ a)[free], rcond=None)[0]
        a = np.clip(a, 0.0, C)  # any point of the box is a fair candidate
        now = float(b @ a - a @ A @ a / 2)
        if now > value + 1e-13:
            best, value = a, now
    return best


def sum_optimum(A: np.ndarray, b: np.ndarray, C: float) -> np.ndarray:
    """max b.a - a A a / 2 with a >= 0 and sum a <= C: some of them are zero, and the sum is C or does not matter. The
    others have equal slopes (the multiplier of the sum); all choices tried, and the best point that is allowed kept."""
    best, value = np.zeros(b.size), 0.0
    for choice in itertools.product((False, True), repeat=b.size):
        free = np.array(choice)
        k = int(free.sum())
        for full in (False, True) if k else ():
            square, right = A[np.ix_(free, free)], b[free]
            if full:
                one = np.ones((k, 1))
                square = np.block([[square, one], [one.T, np.zeros((1, 1))]])
                right = np.append(right, C)
            a = np.zeros(b.size)
            a[free] = np.linalg.lstsq(square, right, rcond=None)[0][:k]
            now = float(b @ a - a @ A @ a / 2)
            if a.min() > -1e-12 and a.sum() < C + 1e-9 and now > value + 1e-13:
                best, value = a, now
    return best


# --- cases --------------------------------------------------------------------------------------------------


def states_of(case: Case) -> States | None:
    """The states side by side of a latent case."""
    n = case.model.n_states // case.states_per_label
    return States([str(y) for y in range(n)], [case.states_per_label] * n) if case.states_per_label > 1 else None


def learning_cases(order: int) -> st.SearchStrategy[Case]:
    """Few states and several tokens; labels of two states; or so many states that rows are padded."""
    small = {"latent": True, "learning": True, "of_order": order, "lists": True}
    return st.one_of(
        cases(max_tokens=3, **small),
        cases(max_tokens=3, split=2, **small),
        cases(max_states=9, max_tokens=2, **small),
    )


def with_real_weights(case: Case, seed: int, fresh: bool = False) -> Case:
    """Weights that hardly ever tie, on every feature there is; or none at all."""
    rng = np.random.default_rng(seed)
    everything = every_feature(case.model.order, case.model.n_states, case.sizes)
    own = [f for kind, features in everything.items() if kind != "bias" for f in features]
    kept = [f for f in own if f[0] not in ("one", "two", "three") or case.model.is_feature(f)]
    weights = {f: float(np.float32(rng.normal())) for f in kept}
    return case._replace(model=replace(case.model, weights={} if fresh else weights))


def assert_close(found: dict[Feature, float], expected: dict[Feature, float], tolerance: float = 1e-4) -> None:
    for feature in found.keys() | expected.keys():
        assert found.get(feature, 0.0) == pytest.approx(expected.get(feature, 0.0), abs=tolerance), feature


def learner_of(case: Case, rule: Rule) -> Learner:
    return Learner(replace(case.model, weights=dict(case.model.weights)), states_of(case), case.tied_update, rule)
