"""Weights only for label pairs that occur in the training data."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fitting import flat_tagger

from palmette import Latent, Tagger
from palmette.datasets import load_demo
from palmette.options import OptionError

LEARNERS: list[dict[str, Any]] = [
    {"learner": "crf", "iterations": 10},
    {"learner": "crf", "optimiser": "sgd", "passes": 2},
    {"learner": "crf", "optimiser": "adagrad", "passes": 2},
    {"learner": "perceptron", "passes": 2},
    {"learner": "perceptron", "passes": 2, "estimator": "last"},
]
X, y = (part[:40] for part in load_demo("train"))


def pairs_of(labels: list[list[str]]) -> set[tuple[str, str]]:
    return {pair for sentence in labels for pair in pairwise(sentence)}


def weighted(tagger: Tagger) -> set[tuple[str, str]]:
    """The pairs whose weight is not zero."""
    labels = tagger.labels_
    return {(labels[f], labels[g]) for f, g in np.argwhere(tagger.model_.chain.transitions[1].w)}


@pytest.mark.parametrize("learner", LEARNERS)
def test_other_pairs_weigh_nothing(learner: dict[str, Any]) -> None:
    common = {"features": "chunk", "constraints": "none", **learner}
    some = flat_tagger(**common, transition_features="seen").fit(X, y)
    every = flat_tagger(**common).fit(X, y)
    assert weighted(some) <= pairs_of(y)
    assert not weighted(every) <= pairs_of(y)
    assert len(weighted(some)) > len(pairs_of(y)) // 2
    assert some._settings().transition_features == "seen"


def test_a_resumed_model_keeps_its_pairs() -> None:
    common = {"features": "chunk", "constraints": "none", "learner": "perceptron", "transition_features": "seen"}
    first = flat_tagger(**common, passes=2).fit(X[:20], y[:20])
    before = weighted(first)
    first.partial_fit(X[20:], y[20:])
    assert weighted(first) <= pairs_of(y[:20]) | pairs_of(y[20:])
    assert before & weighted(first)


@pytest.mark.parametrize(
    "options",
    [{"learner": "mira"}, {"learner": "pa"}, {"learner": "maxent"}, {"search": "beam"}, {"states": Latent(2)}],
)  # fmt: skip
def test_other_learners_refuse_it(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="transition_features"):
        Tagger("chunk", transition_features="seen", **options)._settings()
