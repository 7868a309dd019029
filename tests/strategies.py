"""Hypothesis strategies for the chain core: tiny random models, sentences, knowledge and corpora.

Hypothesis draws the shape of a case (so that it shrinks to a small one) and a seed for its numbers. All
numbers are multiples of 1/64 and small, so that every sum is exact in float32 and ties are real ties.
"""

from __future__ import annotations

import itertools
import os
from typing import NamedTuple

import numpy as np
from chain_arrays import Case
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from naive_chain import Feature, Model, Token

EXAMPLES = int(os.environ.get("PALMETTE_TEST_EXAMPLES", "40"))  # after a change of kernels: 1000

WEIGHTS = {
    "few": [0.0, 0.0, 0.0, 0.0, 1.0],
    "ties": [-1.0, 0.0, 1.0],
    "spread": (np.arange(-256, 257) / 64).tolist(),
}
VALUES = [1.0, 2.0, 0.5, -1.0, 0.25]


def few(times: float = 1.0):
    """Settings for a test of `times` EXAMPLES; compiled code has no steady pace, so there is no deadline."""
    return settings(
        max_examples=max(1, int(EXAMPLES * times)),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


def every_feature(order: int, n_states: int, sizes: tuple[int, int, int]) -> dict[str, list[Feature]]:
    """All features that a chain of that shape can have, by kind."""
    paths = {k: list(itertools.product(range(n_states), repeat=k)) for k in (1, 2, 3)}
    found: dict[str, list[Feature]] = {
        "start": [("start", *p) for p in paths[1]],
        "end": [("end", *p) for p in paths[1]],
        "bias": [("bias", *p) for p in paths[1]],
        "one": [("one", a, *p) for a in range(sizes[0]) for p in paths[1]],
    }
    if order >= 1:
        found["pair"] = [("pair", *p) for p in paths[2]]
        found["two"] = [("two", a, *p) for a in range(sizes[1]) for p in paths[2]]
    if order >= 2:
        found["triple"] = [("triple", *p) for p in paths[3]]
        found["three"] = [("three", a, *p) for a in range(sizes[2]) for p in paths[3]]
    return found


def random_model(
    rng: np.random.Generator, order: int, n_states: int, sizes: tuple[int, int, int],
    weights: str = "spread", forbid: float = 0.0, seen: tuple[str, ...] = (), escape: bool = False,
    states_per_label: int = 1,
) -> Model:  # fmt: skip
    """A model with random weights. `forbid`: the share of forbidden starts, ends and pairs; with `escape`
    the path of only zeros stays allowed. `seen`: of these kinds only half of the features exist: of the combinations of
    labels that have `per` states each."""
    features = every_feature(order, n_states, sizes)
    model = Model(order, n_states)
    if seen:
        model.limited = seen
        edges = [feature for kind in seen for feature in features.get(kind, [])]
        labels = {(kind, a, *(h // states_per_label for h in states)) for kind, a, *states in edges}
        chosen = {combo for combo in sorted(labels) if rng.random() < 0.5}
        model.seen = frozenset(f for f in edges if (f[0], f[1], *(h // states_per_label for h in f[2:])) in chosen)
    for feature in itertools.chain.from_iterable(features.values()):
        if feature[0] == "bias" or model.is_feature(feature):
            model.weights[feature] = float(rng.choice(WEIGHTS[weights]))
    model.weights = {feature: w for feature, w in model.weights.items() if w}
    model.forbidden = frozenset(
        feature
        for kind in ("start", "end", "pair")
        for feature in features.get(kind, [])
        if rng.random() < forbid and not (escape and not any(feature[1:]))
    )
    return model


def random_sentence(
    rng: np.random.Generator, n: int, sizes: tuple[int, int, int], valued: bool = False, most: int = 6
) -> list[Token]:
    """Tokens with up to `most` attributes of each order, some of them twice."""

    def attributes(size: int) -> tuple[tuple[int, float], ...]:
        count = int(rng.integers(0, most + 1)) if size else 0
        return tuple((int(rng.integers(size)), float(rng.choice(VALUES)) if valued else 1.0) for _ in range(count))

    return [Token(*(attributes(size) for size in sizes)) for _ in range(n)]


@st.composite
def shapes(draw: st.DrawFn, order: int) -> tuple[int, int, int]:
    """How many attributes there are on labels, pairs and triples; 0 is the chain without that kind."""
    limits = [3, 2 if order >= 1 else 0, 2 if order >= 2 else 0]
    return tuple(draw(st.integers(0, limit)) for limit in limits)


@st.composite
def cases(
    draw: st.DrawFn, max_states: int = 4, max_tokens: int = 4, latent: bool = False, learning: bool = False,
    of_order: int | None = None, split: int = 0, lists: bool = False,
) -> Case:  # fmt: skip
    """Anything small. `latent`: several states a label; `learning`: the start may be all zeros, there is no
    bias, there is always a path to guess, and examples have weights of their own. `split`: two labels or more, of so
    many states each. `lists`: weights of single labels may be lists, of half of the labels or of those that change."""
    order = draw(st.integers(0, 2)) if of_order is None else of_order
    n_states = split * draw(st.integers(2, max(2, max_states // split))) if split else draw(st.integers(1, max_states))
    sizes = draw(shapes(order))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    forbid = draw(st.sampled_from([0.0, 0.3, 0.7]))
    seen: tuple[str, ...] = ("two", "three") if draw(st.booleans()) else ()
    form, valued = draw(st.sampled_from(["rows", "lists", "growing"] if lists else ["rows"])), draw(st.booleans())
    seen = ("one", *seen) if form == "lists" else seen
    weights = draw(st.sampled_from(sorted(WEIGHTS)))
    states_per_label = split
    if not split:
        states_per_label = (
            draw(st.sampled_from([k for k in range(1, n_states + 1) if n_states % k == 0])) if latent else 1
        )
    model = random_model(
        rng, order, n_states, sizes, weights, forbid, seen, escape=learning, states_per_label=states_per_label
    )
    lengths = draw(st.lists(st.integers(1, max_tokens), min_size=1, max_size=3))
    sentences = [random_sentence(rng, n, sizes, valued) for n in lengths]
    n_labels = draw(st.integers(1, n_states)) if latent else n_states
    growing = form == "growing" and sizes[0] > 0
    label_of = tuple(h % n_labels if states_per_label == 1 else h // states_per_label for h in range(n_states))
    n_labels = max(label_of) + 1
    known = [[draw(knowledge(n_labels)) for _ in range(n)] for n in lengths]
    shares = [float(rng.choice([1.0, 2.0, 0.5, 0.25])) if learning else 1.0 for _ in lengths]
    if learning:
        fresh = draw(st.booleans())
        model.weights = {f: w for f, w in model.weights.items() if f[0] != "bias" and not fresh}
        model.ends, model.transitions, model.triples = (draw(st.booleans()) for _ in range(3))
    return Case(model, label_of, sizes, sentences, known, shares, states_per_label, growing=growing)


def knowledge(n_labels: int) -> st.SearchStrategy[frozenset[int]]:
    """What is known of a token: one label, some of them, or nothing (all of them)."""
    labels = st.integers(0, n_labels - 1)
    return st.one_of(
        labels.map(lambda y: frozenset([y])),
        st.frozensets(labels, min_size=1),
        st.just(frozenset(range(n_labels))),
    )


# --- corpora with words -------------------------------------------------------------------------------------

TEMPLATES = {
    0: ["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,0]", "U", "U2:%x[0,0,suffix2]", "U3:%x[1,1]"],
    1: ["B", "B0:%x[0,0]", "B1:%x[-1,0]/%x[1,1]", "*2:%x[0,1]"],
    2: ["T", "T0:%x[0,0]", "T1:%x[-2,1]/%x[0,1]"],
}
LABELS = ["N", "V", "D"]
WORDS = ["a", "b", "ab", "bab"]


class Task(NamedTuple):
    """Column sentences with labels, and templates of one order."""

    sentences: list[list[list[str]]]
    labels: list[list[str]]
    templates: str


@st.composite
def tasks(draw: st.DrawFn, max_sentences: int = 4, max_tokens: int = 4) -> Task:
    """A tiny tagging task with two columns and a random set of templates."""
    order = draw(st.integers(0, 2))
    lines = [draw(st.sampled_from(TEMPLATES[order]))]  # the order is that of the highest template
    for level in range(order + 1):
        lines += draw(st.lists(st.sampled_from(TEMPLATES[level]), max_size=2))
    n_labels = draw(st.integers(1, 3))
    token = st.tuples(st.sampled_from(WORDS), st.sampled_from("xy"), st.sampled_from(LABELS[:n_labels]))
    drawn = draw(st.lists(st.lists(token, min_size=1, max_size=max_tokens), min_size=1, max_size=max_sentences))
    sentences = [[[word, kind] for word, kind, _ in sentence] for sentence in drawn]
    labels = [[label for *_, label in sentence] for sentence in drawn]
    return Task(sentences, labels, "\n".join(dict.fromkeys(lines)))
