"""Training in a line for tests, the naive twin of a template set, and weights compared with a twin's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from naive_chain import Example, Feature, Model, TrainedChain, parts

from palmette import Tagger
from palmette.data import Corpus
from palmette.features import TemplateSet, parse
from palmette.options import ChainOptions, ChainSettings, TaggerOptions, assemble
from palmette.structures import ChainModel
from palmette.training import TrainRequest, TrainResult, shuffled
from palmette.training import fit as fit_data

TEMPLATES = {
    0: "U0:%x[0,0]\nU1:%x[-1,0]",
    1: "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB1:%x[0,1]",
    2: "*0:%x[0,0]\nU1:%x[-1,0]\nB\nT",
}
ESTIMATES = {"avg": lambda trained: trained.mean, "last": lambda trained: trained.last}


def epochs(n: int, learner: Any = "perceptron") -> dict[str, Any]:
    """Parameters of a tagger: a learner with n passes, or n iterations of L-BFGS."""
    value: Any = TaggerOptions.__options__["learner"].variant(learner)
    return {"learner": value.replace(iterations=n)} if value.full_batch else {"learner": learner, "passes": n}


def flat_tagger(features: str | None = None, **flat: Any) -> Tagger:
    """A tagger from flat names, which are those of flags: nbest, beam, latent, l2, ..."""
    return Tagger(features, **assemble(TaggerOptions, flat))


def fit(corpus: Corpus, templates: str | None, dev: Corpus | None = None, **options) -> tuple[ChainModel, TrainResult]:
    """Train a perceptron without constraints unless others are asked for; options by their flat names."""
    wishes = {k: options.pop(k) for k in ("order", "ends", "forbidden", "resume", "checkpoint") if k in options}
    settings = ChainSettings(**assemble(ChainOptions, {"learner": "perceptron", "constraints": "none", **options}))
    made = None if templates is None else parse(templates)
    return fit_data(corpus, dev, TrainRequest(made, settings, **wishes))[:2]


def twin_of(templates: TemplateSet, n_labels: int) -> Model:
    """The naive model with the weights that the templates ask for."""
    bare = {order for t in templates.templates if not t.macros for order in t.orders}
    return Model(templates.order, n_labels, transitions=2 in bare, triples=3 in bare)


def seen_features(examples: list[Example], order: int, least: int = 1) -> frozenset[Feature]:
    """The observation features that occur on gold paths at least so many times, and label pairs that occur at all."""
    paths = [(e.sentence, tuple(min(states) for states in e.allowed)) for e in examples]
    found = Counter(feature for sentence, path in paths for feature, _ in parts(Model(order, 1), sentence, path))
    least_of = dict.fromkeys(("one", "two", "three"), least) | {"pair": 1}
    return frozenset(f for f, times in found.items() if f[0] in least_of and times >= least_of[f[0]])


def labelled(weights: dict[Feature, float], names: list[str]) -> dict[Feature, float]:
    """Features with the names of labels instead of their numbers."""
    out = {}
    for (kind, *rest), weight in weights.items():
        attribute = rest[:1] if kind in ("one", "two", "three") else []
        out[(kind, *attribute, *(names[h] for h in rest[len(attribute) :]))] = weight
    return out


def assert_equal_weights(found: dict[Feature, float], expected: dict[Feature, float]) -> None:
    for feature in found.keys() | expected.keys():
        assert found.get(feature, 0.0) == pytest.approx(expected.get(feature, 0.0), rel=1e-6, abs=1e-6), feature


def orders(seed: int, outcome: TrainResult, n: int) -> list[np.ndarray]:
    return [shuffled(seed, p.number, n) for p in outcome.training_log]


def assert_counts(outcome: TrainResult, trained: TrainedChain, n_tokens: int) -> None:
    assert sum(p.updates for p in outcome.training_log) == trained.updates
    assert sum(p.wrong for p in outcome.training_log) == trained.wrong
    last = outcome.training_log[-1]
    assert last.train_accuracy == pytest.approx(1 - last.wrong / n_tokens)


def noisy(seed: int = 0, n_sentences: int = 40, labels: str = "NVD") -> tuple[list, list]:
    """Words that say something about their labels, and noise that keeps the perceptron busy."""
    rng = np.random.default_rng(seed)
    sentences, golds = [], []
    for _ in range(n_sentences):
        own = rng.integers(0, len(labels), rng.integers(1, 8))
        words = np.where(rng.random(own.size) < 0.7, own, rng.integers(0, 9, own.size))
        sentences.append([[f"w{word}", f"c{word % 2}"] for word in words])
        golds.append([labels[y] for y in own])
    return sentences, golds


def arrays(model: ChainModel) -> list[np.ndarray]:
    """Everything that was learnt."""
    chain = model.chain
    rows = [array for r in (*chain.transitions, *chain.weights) for array in r]
    return [*rows, *(a for feature_index in model.feature_indexes.values() for a in feature_index[:2])]


def same_bits(one: ChainModel, other: ChainModel) -> bool:
    pairs = zip(arrays(one), arrays(other), strict=True)
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)
