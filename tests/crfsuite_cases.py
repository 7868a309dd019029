"""Sequences for both CRFsuites, and what both make of them."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import pycrfsuite

import palmette.crfsuite

BOTH = (pycrfsuite, palmette.crfsuite)
Sequence = tuple[list[Any], list[str]]


def random_sequences(seed: int, count: int = 30, *, negative: bool = False) -> list[Sequence]:
    """Words that suggest labels, with numbers, booleans and zeros."""
    draw = random.Random(seed)
    numbers = [0.0, 0.5, 1.0, 2.0] + ([-1.0, -0.25] if negative else [])
    sequences = []
    for _ in range(count):
        items: list[Any] = []
        labels = []
        for _ in range(draw.randint(1, 7)):
            label = draw.choice("AAABBC")
            word = draw.choice({"A": "abcd", "B": "cdef", "C": "efgh"}[label])
            item: Any = {
                "w": word,
                "upper": draw.random() < 0.3,
                "n": draw.choice(numbers),
                "p": {"s": draw.choice("xy")},
            }
            items.append([f"w:{word}", "list", "list"] if draw.random() < 0.1 else item)
            labels.append(label)
        sequences.append((items, labels))
    return sequences


def trained(
    module: ModuleType, sequences: list[Sequence], path: Any, algorithm: str = "lbfgs", holdout: int = -1, **params: Any
) -> Any:
    """A trainer that has written a model; every third sequence is in group 1."""
    trainer = module.Trainer(
        algorithm, {name.replace("__", "."): value for name, value in params.items()}, verbose=False
    )
    for k, (items, labels) in enumerate(sequences):
        trainer.append(items, labels, int(k % 3 == 2))
    trainer.train(str(path), holdout)
    return trainer


def weights(path: Any) -> dict[tuple[str, str, str], float]:
    """The weights in a model file, as python-crfsuite reads it."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    info = tagger.info()
    pairs = {("transition", *key): weight for key, weight in info.transitions.items()}
    return pairs | {("state", *key): weight for key, weight in info.state_features.items()}


def largest_difference(left: dict[Any, float], right: dict[Any, float]) -> float:
    return max((abs(left.get(key, 0.0) - right.get(key, 0.0)) for key in left.keys() | right.keys()), default=0.0)


def untimed(log: list[str]) -> list[str]:
    """The messages of a log without those about time."""
    return [line for line in log if "econds required" not in line]
