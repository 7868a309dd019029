"""A classifier's arrays for tests: tiny random sentences, and weights between a dictionary and the kernels' tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from naive_classify import Sentence, View

from palmette.classification.kernels.forms import Sentences, Views, Weights
from palmette.classification.model import make_views, new_weights, packed, sentences
from palmette.kernels.chain.forms import Active

NAMES = ("iob1", "iob2", "ioe1", "ioe2", "o+c")
N_ATTRIBUTES = 5


class Case(NamedTuple):
    views: list[View]
    tables: Views
    x: Sentences
    data: list[Sentence]


def case(latent: str | int, names: Sequence[str], types: Sequence[str], data: list[Sentence], pairs: bool) -> Case:
    made = make_views(latent, names, types)
    ptr = np.cumsum([0, *(len(token) for sentence in data for token in sentence)]).astype(np.int64)
    att = np.array([a for sentence in data for token in sentence for a in token], np.int32)
    offset = np.cumsum([0, *map(len, data)]).astype(np.int64)
    x = sentences(offset, Active(ptr, att, np.zeros(0, np.float32)), N_ATTRIBUTES)
    return Case([View(v.name, v.tags, v.scheme) for v in made], packed(made, types, pairs), x, data)


def random_sentences(rng: np.random.Generator, n: int, most: int = 3) -> list[Sentence]:
    """Up to `most` tokens of up to three attributes, so that some occur twice, also at one token."""
    return [
        [rng.integers(0, N_ATTRIBUTES, rng.integers(0, 4)).tolist() for _ in range(rng.integers(1, most + 1))]
        for _ in range(n)
    ]


def every_feature(views: Sequence[View], pairs: bool) -> list[tuple]:
    found: list[tuple] = []
    for view in views:
        found += [(view.name, "one", a, tag) for a in range(N_ATTRIBUTES) for tag in view.tags]
        if pairs:
            found += [(view.name, side, tag) for side in ("start", "end") for tag in view.tags]
            found += [(view.name, "pair", g, h) for g in view.tags for h in view.tags]
    return found


def to_arrays(case: Case, weights: dict, averaged: bool = False, adaptive: bool = False) -> Weights:
    made = new_weights(case.tables, N_ATTRIBUTES, averaged, adaptive)
    for feature, value in weights.items():
        block, place = _place(case, feature)
        if block == "one":
            if not made.one.slot[place[0]]:
                made.one.slot[place[0]] = made.one.used[0]
                made.one.used[0] += 1
            made.one.w[made.one.slot[place[0]], place[1]] = value
        else:
            getattr(made, block)[place] = value
    return made


def state_as_weights(weights: Weights) -> Weights:
    """The learner state in place of the weights that it belongs to."""
    blocks = [weights.one.w, weights.end, weights.pair]
    parts = np.split(weights.state, np.cumsum([block.size for block in blocks])[:-1])
    rows, end, pair = (part.reshape(block.shape) for part, block in zip(parts, blocks, strict=True))
    return weights._replace(one=weights.one._replace(w=rows), end=end, pair=pair)


def from_arrays(case: Case, weights: Weights, pairs: bool = True) -> dict:
    found = {}
    for feature in every_feature(case.views, pairs):
        block, place = _place(case, feature)
        if block == "one":
            found[feature] = float(weights.one.w[weights.one.slot[place[0]], place[1]])
        else:
            found[feature] = float(getattr(weights, block)[place])
    return found


def _place(case: Case, feature: tuple) -> tuple:
    """Where a feature stands: which array, and its index (of the attribute's rows: attribute and column)."""
    name, kind, *rest = feature
    r = [view.name for view in case.views].index(name)
    tags = case.views[r].tags
    column = int(case.tables.column[r])
    if kind == "one":
        return "one", (rest[0], column + tags.index(rest[1]))
    if kind == "pair":
        g, h = map(tags.index, rest)
        return "pair", int(case.tables.edge[r]) + g * int(case.tables.stride[r]) + h
    return "end", (0 if kind == "start" else 1, column + tags.index(rest[0]))
