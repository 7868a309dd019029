"""Slow twins of beam search and of learning with it, from the definitions: a prefix is a tuple of labels, its score the
sum over everything that happens along it, and a beam the best B of all prefixes that the last one can become.

A token may have attributes that read earlier labels: (attribute, (1, 3)) is the feature ("past", attribute, the labels
one and three tokens before, h), where -1 is a label before the sentence. Nothing of src is used.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from naive_chain import Example, Feature, Model, Path, Sentence, TrainedChain, started, summed, token_parts
from naive_latent import CLOSE, Tie
from naive_nbest import added, box_optimum, chunks, probabilities, sum_optimum

Readings = Sequence[Sequence[tuple[int, tuple[int, ...]]]]  # of each token: attributes and the labels they read
Scored = tuple[float, Path]
Bag = dict[Feature, float]

CONTINUING = ("laso", "laso-mean")  # the search goes on from gold


class Task(NamedTuple):
    """A sentence as a beam sees it. `reach`: prefixes whose last so many labels are equal recombine; None: none do.
    `label_of`: of each state, if paths consist of states (see naive_latent_beam.py)."""

    model: Model
    sentence: Sentence
    readings: Readings
    reach: int | None = None
    label_of: tuple[int, ...] | None = None

    def parts(self, i: int, path: Path) -> Iterator[tuple[Feature, float]]:
        """What the last token of a prefix of i + 1 labels adds."""
        yield from token_parts(self.model, self.sentence, i, path)
        for attribute, back in self.readings[i]:
            labels = tuple(self.label(path[i - b]) if i >= b else -1 for b in back)
            yield ("past", attribute, labels, path[i]), 1.0

    def score(self, path: Path) -> float:
        return sum(summed(self.model, self.parts(i, path[: i + 1])) for i in range(len(path)))

    def features(self, path: Path) -> Bag:
        bag: Counter[Feature] = Counter()
        for i in range(len(path)):
            for feature, value in self.parts(i, path[: i + 1]):
                if self.model.is_feature(feature):
                    bag[feature] += value
        return dict(bag)

    def step(self, beam: Sequence[Scored], B: int, allowed: Sequence[frozenset[int]] | None = None) -> list[Scored]:
        """The best B of all prefixes one label longer. Of those that recombine only the first counts."""
        first: dict[Path, Scored] = {}
        for one in self.longer(beam, allowed):
            first.setdefault(self.signature(one[1]), one)
        return list(first.values())[:B]

    def longer(self, beam: Sequence[Scored], allowed: Sequence[frozenset[int]] | None = None) -> list[Scored]:
        """All prefixes one label longer, best first; of equal ones the better prefix, then the smaller label."""
        i = len(beam[0][1]) if beam else 0
        labels = range(self.model.n_states) if allowed is None else sorted(allowed[i])
        every = [(self.score((*path, h)), (*path, h)) for _, path in beam for h in labels]
        return sorted((one for one in every if one[0] > -math.inf), key=lambda one: -one[0])

    def signature(self, path: Path) -> Path:
        """What the future can see of a prefix: the last states that weights are on, and the labels before them."""
        if self.reach is None:
            return path
        end = path[max(0, len(path) - self.reach) :]
        states = end[max(0, len(end) - self.model.order) :]
        return (*(self.label(h) for h in end[: len(end) - len(states)]), *states)

    def label(self, state: int) -> int:
        return state if self.label_of is None else self.label_of[state]

    def beams(self, B: int, start: Path = (), allowed: Sequence[frozenset[int]] | None = None) -> list[list[Scored]]:
        """The beam after every step from `start` on (that of `start` first), as far as it comes."""
        found = [[(self.score(start), start)]]
        for _ in range(len(start), len(self.sentence)):
            following = self.step(found[-1], B, allowed)
            if not following:
                break
            found.append(following)
        return found


# --- where to cut -------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    steps: int
    beam: list[Scored]  # after these steps
    gold: float  # score of the gold prefix


def fell_after(beams: Sequence[list[Scored]], gold: Path, start: int) -> int | None:
    """The first step after which gold is not in the beam."""
    for k, beam in enumerate(beams):
        if gold[: start + k] not in [path for _, path in beam]:
            return start + k
    return None


def where_to_cut(update: str, task: Task, beams: Sequence[list[Scored]], gold: Path, start: int = 0) -> Cut:
    """By the definition of each update; the guess is wrong."""
    golds = {i: task.score(gold[:i]) for i in range(start + 1, start + len(beams))}
    at = last_step(update, beams, golds, fell_after(beams, gold, start), start)
    return Cut(at, beams[at - start], golds[at])


def last_step(update: str, beams: Sequence[list[Scored]], golds: dict[int, float], fell: int | None, start: int) -> int:
    """The step after which both sides are cut; golds: the score of gold after each step."""
    steps = list(golds)
    best = {i: beams[i - start][0][0] for i in steps}
    end = steps[-1]
    violations = [i for i in steps if best[i] >= golds[i]]
    early = fell if fell is not None else end
    top = max(best[i] - golds[i] for i in steps)
    return {
        "standard": end,
        "early": early,
        "laso": early,
        "laso-mean": early,
        "max-violation": max(i for i in steps if best[i] - golds[i] == top),
        "latest": max(violations),
        "hybrid": end if end in violations else early,
    }[update]


# --- the perceptron -----------------------------------------------------------------------------------------


@dataclass
class Learned(TrainedChain):
    """What is told of updates besides."""

    products: list[float] = field(default_factory=list)  # w . df of each update at its time
    positions: list[float] = field(default_factory=list)

    @property
    def bad(self) -> int:
        return sum(product > 0 for product in self.products)


def learnt(weights: dict[Feature, float]) -> Learned:
    first = started(weights)
    return Learned(first.last, first.total, first.vectors)


def beam_perceptron(
    model: Model, examples: Sequence[Example], readings: Sequence[Readings], order: Sequence[int], B: int, update: str,
    now: Learned | None = None, reach: int | None = None,
) -> Learned:  # fmt: skip
    """The examples in that order, from the model's weights or from earlier training."""
    now = now or learnt(model.weights)
    for k in order:
        example = examples[k]
        task = Task(replace(model, weights=now.last), example.sentence, readings[k], reach)
        gold = tuple(min(states) for states in example.allowed)
        if task.score(gold) == -math.inf:
            now.infeasible += 1
        elif update in CONTINUING:
            start = 0
            while start < len(gold):
                start = _search_and_fix(task, example, gold, B, update, now, start)
        else:
            _search_and_fix(task, example, gold, B, update, now, 0)
        now.count()
    return now


def _search_and_fix(task: Task, example: Example, gold: Path, B: int, update: str, now: Learned, start: int) -> int:
    """One search from `start` and what it teaches; where to go on."""
    n = len(gold)
    beams = task.beams(B, gold[:start])
    if update == "early" or update in CONTINUING:
        fell = fell_after(beams, gold, start)
        beams = beams if fell is None else beams[: fell - start + 1]
    guess = beams[-1][0][1]
    if guess == gold:
        return n
    at = where_to_cut(update, task, beams, gold, start)
    now.wrong += sum(g != y for g, y in zip(guess[start:], gold[start:], strict=False))
    if update not in CONTINUING:
        now.wrong += n - len(guess)
    lowered = at.beam[:1]
    if update == "laso-mean":  # the whole queue, gold too if it is in it
        _check_ties(task, B, beams, not any(task.model.weights.values()))
        lowered = at.beam
    down = [(-1.0 / len(lowered), task.features(path)) for _, path in lowered]
    change = added([(1.0, task.features(gold[: at.steps])), *down])
    now.products.append(at.gold - sum(score for score, _ in lowered) / len(lowered))
    now.positions.append(at.steps / n)
    now.updates += 1
    for feature, value in change.items():
        now.last[feature] += example.weight * value
    return at.steps


# --- learners with candidates -------------------------------------------------------------------------------


@dataclass
class ListLearner:
    """probPerc, MIRA, PA and AROW on prefixes. `kind`: probperc, mira, arow, PA, PA-I or PA-II."""

    kind: str
    n: int = 1
    C: float = 0.1
    cap: str = "each"  # of mira
    rate: float = 0.2
    add_gold: bool = True
    labels: Sequence[str] | None = None  # for the cost of spans
    state: dict[Feature, float] = field(default_factory=dict)  # of arow: the precision of a weight is 1 + state

    def learn(self, task: Task, example: Example, gold: Path, B: int, update: str, clock: float, size: int) -> Bag:
        """The change of the weights; a decision that hangs on rounding is a Tie."""
        exact = not any(task.model.weights.values())
        if self.kind.startswith("PA"):
            task = Augmented(*task)._with(gold)
        beams = task.beams(B)
        if update == "early":
            fell = fell_after(beams, gold, 0)
            beams = beams if fell is None else beams[: fell + 1]
        _check_ties(task, B, beams, exact)
        steps, beam, gold_score = len(gold), beams[-1], task.score(gold)
        if beams[-1][0][1] != gold:
            _check_cut(task, beams, gold, exact)
            steps, beam, gold_score = where_to_cut(update, task, beams, gold)
        listed, prefix = beam[: self.n], gold[:steps]
        if self.kind == "probperc":
            return self._by_shares(task, listed, (gold_score, prefix), clock, size)
        return self._by_margins(task, listed, (gold_score, prefix))

    def _by_shares(self, task: Task, listed: list[Scored], gold: Scored, clock: float, size: int) -> Bag:
        if self.add_gold and gold[1] not in [path for _, path in listed]:
            listed = [*listed, gold]
        shares = probabilities([score for score, _ in listed], "softmax", 2.0)
        down = [(-p, task.features(path)) for p, (_, path) in zip(shares, listed, strict=True)]
        rate = self.rate / (1 + (clock - 1) / size)
        return added([(rate, added([(1.0, task.features(gold[1])), *down]))])

    def _by_margins(self, task: Task, listed: list[Scored], gold: Scored) -> Bag:
        import numpy as np

        bags, b = [], []
        for score, path in listed:
            bag = added([(1.0, task.features(gold[1])), (-1.0, task.features(path))])
            cost = self._cost(gold[1], path)
            if cost and any(bag.values()):
                bags.append(bag)
                b.append(score - gold[0] + (cost if self.kind in ("mira", "arow") else 0))
        if max(b, default=-1.0) <= CLOSE:
            if max(b, default=-1.0) > -CLOSE:
                raise Tie
            return {}
        if self.kind == "arow":
            return self._by_confidence(bags, np.array(b))
        A = np.array([[sum(one[f] * other.get(f, 0.0) for f in one) for other in bags] for one in bags])
        if self.kind == "PA-II":
            A += 0.5 / self.C
        most = self.C if self.kind in ("mira", "PA-I") else 1e9
        optimum = sum_optimum if self.cap == "sum" else box_optimum
        return added(zip(optimum(A, np.array(b), most).tolist(), bags, strict=True))

    def _by_confidence(self, bags: list[Bag], b: Any) -> Bag:
        """AROW with r = 1 / C: steps by the variance of each weight, whose precision then grows."""
        import numpy as np

        scale = {f: 1 / (1 + self.state.get(f, 0.0)) for bag in bags for f in bag}
        A = np.array([[sum(scale[f] * one[f] * other.get(f, 0.0) for f in one) for other in bags] for one in bags])
        alphas = box_optimum(A + np.eye(len(bags)) / self.C, b, 1e9)
        change = added(zip(alphas.tolist(), bags, strict=True))
        for feature, value in change.items():
            self.state[feature] = self.state.get(feature, 0.0) + self.C * (value / alphas.sum()) ** 2
        return {feature: scale[feature] * value for feature, value in change.items()}

    def _cost(self, gold: Path, path: Path) -> int:
        if self.labels is None:
            return sum(a != b for a, b in zip(gold, path, strict=True))
        names = [[self.labels[h] for h in one] for one in (gold, path)]
        return len(chunks(names[0]) ^ chunks(names[1]))


class Augmented(Task):
    """Every wrong label scores 1 more."""

    gold: Path

    def _with(self, gold: Path) -> Augmented:
        self.gold = gold
        return self

    def score(self, path: Path) -> float:
        return super().score(path) + sum(a != b for a, b in zip(path, self.gold, strict=False))


def _check_ties(task: Task, B: int, beams: Sequence[list[Scored]], exact: bool) -> None:
    """Prefixes whose order hangs on rounding, in the beam or at its edge."""
    for before in beams[:-1] if not exact else []:
        ranked = task.longer(before)[: B + 1 if task.reach is None else None]
        if any(one[0] - other[0] < CLOSE for one, other in itertools.pairwise(ranked)):
            raise Tie


def _check_cut(task: Task, beams: Sequence[list[Scored]], gold: Path, exact: bool) -> None:
    gaps = [beam[0][0] - task.score(gold[: k + 1]) for k, beam in enumerate(beams[1:])]
    if not exact and any(abs(gap - max(gaps)) < CLOSE for gap in gaps if gap != max(gaps)):
        raise Tie
