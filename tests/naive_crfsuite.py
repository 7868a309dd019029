"""CRFsuite's online algorithms, from their definition: features are tuples, weights a dict, all label sequences are
listed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import product

TIE, NEAR = 1e-9, 1e-4  # scores that are equal: of such paths the first by its last label, then the one before it, ...
Feature = tuple[str, int, int]
Token = list[tuple[int, float]]  # attributes and values


class Twin:
    """Weights, their sums for averaging, and variances; `exists` are the features that have weights."""

    def __init__(self, exists: set[Feature], labels: int, rule: tuple[int, float, bool], variance: float) -> None:
        self.exists, self.labels = exists, labels
        self.kind, self.strength, self.counts_errors = rule
        self.w: dict[Feature, float] = defaultdict(float)
        self.sums: dict[Feature, float] = defaultdict(float)
        self.variance: dict[Feature, float] = defaultdict(lambda: variance)
        self.clock, self.loss, self.wrong = 1.0, 0.0, 0
        self.doubtful = False  # whether the order of sums may have decided which path was best

    def features(self, tokens: Sequence[Token], path: Sequence[int]) -> dict[Feature, float]:
        found: dict[Feature, float] = defaultdict(float)
        for i, (token, label) in enumerate(zip(tokens, path, strict=True)):
            for attribute, value in token:
                found["state", attribute, label] += value
            if i:
                found["pair", path[i - 1], label] += 1.0
        return {feature: value for feature, value in found.items() if feature in self.exists}

    def score(self, tokens: Sequence[Token], path: Sequence[int]) -> float:
        return sum(self.w[feature] * value for feature, value in self.features(tokens, path).items())

    def learn(self, tokens: Sequence[Token], gold: Sequence[int]) -> None:
        paths = list(product(range(self.labels), repeat=len(tokens)))
        scores = [self.score(tokens, path) for path in paths]
        gaps = [max(scores) - score for score in scores]
        best = min((k for k, gap in enumerate(gaps) if gap < TIE), key=lambda k: paths[k][::-1])
        tied = sum(gap < TIE for gap in gaps) > 1 and len(tokens) > 2
        self.doubtful |= any(TIE <= gap < NEAR for gap in gaps) or (tied and self.kind != 0)
        wrong = sum(a != b for a, b in zip(paths[best], gold, strict=True))
        if wrong:
            self._update(self.features(tokens, gold), self.features(tokens, paths[best]), wrong, len(tokens))
        self.wrong += wrong
        self.clock += 1.0

    def _update(self, gold: dict[Feature, float], guess: dict[Feature, float], wrong: int, size: int) -> None:
        d = {feature: gold.get(feature, 0.0) - guess.get(feature, 0.0) for feature in gold.keys() | guess.keys()}
        margin = -sum(self.w[feature] * value for feature, value in d.items())
        square = sum(value**2 for value in d.values())
        if self.kind == 0:
            loss, step = wrong / size, 1.0
        elif self.kind == 4:
            loss = margin + wrong
            step = loss / (self.strength + sum(value**2 * self.variance[feature] for feature, value in d.items()))
        else:
            loss = margin + (math.sqrt(wrong) if self.counts_errors else 1.0)
            step = 0.0
            if square and self.kind == 3:
                step = loss / (square + 1 / (2 * self.strength))
            elif square:
                step = min(self.strength if self.kind == 2 else math.inf, loss / square)
        self.loss += loss
        for feature, value in d.items():
            change = step * value
            if self.kind == 4:
                change *= self.variance[feature]
                self.variance[feature] = 1 / (1 / self.variance[feature] + value**2 / self.strength)
            self.w[feature] += change
            self.sums[feature] += self.clock * change

    def mean(self) -> dict[Feature, float]:
        return {feature: weight - self.sums[feature] / self.clock for feature, weight in self.w.items()}
