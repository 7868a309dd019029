"""Slow twin of beam search over hidden states and of learning with it, from the definition.

Paths consist of states, and gold is a set of paths: those with gold's labels, the right ones. Gold is in the beam if a
right path is. Gold after a step is the best path of a second beam search among the right ones (forced decoding), if no
right path that the first search made at this step is better, and no path of its beam worse; else the best one that the
first search made, if it made any. Nothing of src is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from naive_beam import Augmented, Bag, Learned, ListLearner, Readings, Scored, Task, last_step, learnt
from naive_chain import Example, Feature, Model, Path
from naive_latent import CLOSE, Tie
from naive_nbest import added

Allowed = Sequence[frozenset[int]]


def is_right(path: Path, allowed: Allowed) -> bool:
    return all(h in states for h, states in zip(path, allowed, strict=False))


def gone_after(beams: Sequence[list[Scored]], allowed: Allowed, start: int) -> int | None:
    """The first step after which no right path is in the beam."""
    for k, beam in enumerate(beams):
        if not any(is_right(path, allowed) for _, path in beam):
            return start + k
    return None


def golds_of(
    task: Task, beams: Sequence[list[Scored]], forced: Sequence[list[Scored]], allowed: Allowed, start: int
) -> dict[int, Scored]:
    """Gold after each step."""
    found = {}
    for k in range(1, len(beams)):
        forced_best, best = forced[k][0], beams[k][0]
        parents = [one for one in beams[k - 1] if is_right(one[1], allowed)]
        made = task.longer(parents, allowed) if parents else []
        fits = not made or made[0][0] <= forced_best[0] <= best[0]
        found[start + k] = forced_best if fits else made[0]
    return found


@dataclass
class Ties:
    """Updates that all states of a label share: a feature of states stands for one of their labels too."""

    label_of: Sequence[int]
    share: float

    def features(self, task: Task, path: Path) -> Bag:
        """The features of a path; of labels with their share, which is 0 or 1 (so that it is its own root)."""
        bag = task.features(path)
        of_labels: Bag = {}
        for feature, value in bag.items():
            name = ("tied", *self._parts(feature, lambda h: self.label_of[h]))
            of_labels[name] = of_labels.get(name, 0.0) + value
        return bag | (of_labels if self.share else {})

    def spread(self, change: Bag) -> Bag:
        """The change of the weights of states."""
        found: Bag = {}
        for feature, value in change.items():
            for one in self._of_states(feature[1:]) if feature[0] == "tied" else [feature]:
                found[one] = found.get(one, 0.0) + value
        return found

    def _of_states(self, feature: Feature) -> list[Feature]:
        head, labels = feature[: self._head(feature)], feature[self._head(feature) :]
        states = [[h for h, y in enumerate(self.label_of) if y == label] for label in labels]
        return [(*head, *choice) for choice in itertools.product(*states)]

    def _parts(self, feature: Feature, name) -> Feature:
        return (*feature[: self._head(feature)], *(name(h) for h in feature[self._head(feature) :]))

    @staticmethod
    def _head(feature: Feature) -> int:
        """Entries before the states: the kind, the attribute, the earlier labels."""
        return {"one": 2, "two": 2, "three": 2, "past": 3}.get(feature[0], 1)


def latent_beam_perceptron(
    model: Model, examples: Sequence[Example], readings: Sequence[Readings], order: Sequence[int], B: int, update: str,
    reach: int | None, ties: Ties,
) -> Learned:  # fmt: skip
    """The examples in that order, from the model's weights."""
    now = learnt(model.weights)
    for k in order:
        weights = replace(model, weights=now.last)
        task = Task(weights, examples[k].sentence, readings[k], reach, tuple(ties.label_of))
        start: Path | None = ()
        while start is not None and len(start) < len(examples[k].sentence):
            start = _search_and_fix(task, examples[k], B, update, now, start, ties)
            if update != "laso":
                break
        now.count()
    return now


def _search_and_fix(
    task: Task, example: Example, B: int, update: str, now: Learned, start: Path, ties: Ties
) -> Path | None:
    """One search from `start` and what it teaches; the gold to go on from, or None."""
    allowed, n = example.allowed, len(example.sentence)
    beams = task.beams(B, start)
    gone = gone_after(beams, allowed, len(start))
    if update in ("early", "laso") and gone is not None:
        beams = beams[: gone - len(start) + 1]
    guess = beams[-1][0][1]
    if len(guess) == n and is_right(guess, allowed):
        return None
    wrong = [h not in states for h, states in zip(guess, allowed, strict=False)]
    now.wrong += sum(wrong[len(start) :]) + (0 if update == "laso" else n - len(guess))
    forced = task.beams(B, start, allowed)
    if len(forced) < n - len(start) + 1:
        now.infeasible += 1
        return None
    golds = golds_of(task, beams, forced, allowed, len(start))
    at = last_step(update, beams, {i: gold[0] for i, gold in golds.items()}, gone, len(start))
    best, gold = beams[at - len(start)][0], golds[at]
    assert not is_right(best[1], allowed)
    now.products.append(gold[0] - best[0])
    now.positions.append(at / n)
    now.updates += 1
    change = added([(1.0, ties.features(task, gold[1])), (-1.0, ties.features(task, best[1]))])
    for feature, value in ties.spread(change).items():
        now.last[feature] += example.weight * value
    return gold[1]


@dataclass
class LatentListLearner(ListLearner):
    """probPerc, MIRA and PA on prefixes of states. Those with gold's labels count as gold: margins leave them out, and
    in probPerc their probability is gold's."""

    ties: Ties | None = None

    def learn(self, task: Task, example: Example, gold: Path, B: int, update: str, clock: float, size: int) -> Bag:
        assert self.ties is not None
        exact = not any(task.model.weights.values())
        allowed, ties = example.allowed, self.ties
        if self.kind.startswith("PA"):
            task = RightCosts(*task)._with(allowed)
        beams = task.beams(B)
        gone = gone_after(beams, allowed, 0)
        if update == "early" and gone is not None:
            beams = beams[: gone + 1]
        forced = task.beams(B, (), allowed)
        if len(forced) < len(allowed) + 1:
            return {}
        for searched, only in ((beams, None), (forced, allowed)):
            for before in searched[:-1] if not exact else []:
                if any(a[0] - b[0] < CLOSE for a, b in itertools.pairwise(task.longer(before, only))):
                    raise Tie
        golds = golds_of(task, beams, forced, allowed, 0)
        at = len(allowed)
        if len(beams) <= at or not is_right(beams[-1][0][1], allowed):
            gaps = [beams[i][0][0] - gold_[0] for i, gold_ in golds.items()]
            if not exact and any(abs(gap - max(gaps)) < CLOSE for gap in gaps if gap != max(gaps)):
                raise Tie
            at = last_step(update, beams, {i: one[0] for i, one in golds.items()}, gone, 0)
        target, tied = golds[at], Tied(*task)._with(ties)
        if self.kind == "probperc":
            # a prefix with gold's labels is pushed down as gold is: its features are gold's
            shown = [(score, target[1] if is_right(path, allowed) else path) for score, path in beams[at][: self.n]]
            among = target[1] in [path for _, path in beams[at][: self.n]]
            shown += [target] if self.add_gold and not among else []
            change = replace(self, add_gold=False)._by_shares(tied, shown, target, clock, size)
        else:
            listed = [one for one in beams[at][: self.n] if not is_right(one[1], allowed)]
            change = self._by_margins(tied, listed, target)
        return ties.spread(change)

    def _cost(self, gold: Path, path: Path) -> int:
        assert self.ties is not None
        label_of = self.ties.label_of
        return super()._cost(tuple(label_of[h] for h in gold), tuple(label_of[h] for h in path))


class Tied(Task):
    """Features of states and of labels."""

    ties: Ties

    def _with(self, ties: Ties) -> Tied:
        self.ties = ties
        return self

    def features(self, path: Path) -> Bag:
        return self.ties.features(Task(*self), path)


class RightCosts(Augmented):
    """Every label that is not gold's scores 1 more."""

    allowed: Allowed

    def _with(self, allowed: Allowed) -> RightCosts:  # type: ignore[override]
        self.allowed = allowed
        return self

    def score(self, path: Path) -> float:
        own = Task.score(self, path)
        wrong = sum(h not in states for h, states in zip(path, self.allowed, strict=False))
        return own + wrong if own > -math.inf else own
