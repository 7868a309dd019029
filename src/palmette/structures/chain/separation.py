"""How well a model separates data, and the bounds on mistakes that follow from it.

Of each sentence we take the score of the best path with the right labels minus that of the best path with a wrong
one, over the length of the weights: its margin. A sentence is separated when that is above zero. With hidden states
this is the relaxed separation of the latent perceptron's authors, and nothing follows from it: an update may raise any
path with the right labels, whichever was the best at that time. Their definition 3 takes the worst path with the right
labels instead of the best one. We call the result the strict margin g; without hidden states and with full labels both
are the same. M is the length of the longest feature vector that a path of these sentences can have.

- All g >= d > 0: a perceptron that starts at zero makes at most 2 M^2 / d^2 mistakes in all passes (two vectors of
  counts that both have at most the length M differ by at most sqrt(2) M).
- Otherwise: at most min over d > 0 of (sqrt(2) M + D)^2 / d^2 mistakes in the first pass, D^2 being the sum of the
  squares of what each g lacks to the margin d (theorem 3).

Updates that are tied with a fraction t are those of a perceptron whose paths have the features of their labels too,
sqrt(t) each: vectors are then at most sqrt(1 + t) M long. Values of attributes are taken as non-negative. A random
start and restarts from the average (mavg) are outside of the theorems.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import label_names, mark_partial_labels, training_mask
from palmette.errors import DataError
from palmette.kernels.chain.forms import Active, Chain, Data, make_trellis
from palmette.kernels.chain.max_recursion import margins
from palmette.kernels.chain.viterbi import decode
from palmette.structures.chain.model import ChainModel, check_memory
from palmette.structures.chain.weights import norm


class Separation(NamedTuple):
    """What `separation` finds; None is what cannot be said."""

    sentences: int
    separated: float  # share of the sentences whose best right path beats every wrong path
    margin: float | None  # the smallest, over the length of the weights; None: a weight vector of zeros
    median_margin: float | None
    strict_margin: float | None  # the smallest of the worst right paths, over the length of the weights
    norm: float
    longest: float  # M
    bound: float | None  # on mistakes: of all passes if all strict margins are positive, else of the first pass
    bound_of: str
    usage: dict[str, float]  # share of each state among the tokens of its label, under the known labels


def separation(model: ChainModel, corpus: Corpus) -> Separation:
    """Separation of labelled sentences by a model."""
    if corpus.labels is None or not corpus.n_tokens:
        raise DataError("no labelled sentence to look at", file=corpus.source)
    mark_partial_labels(corpus, model.settings.partial, model.labels)
    model.need_exact("separation")
    strange = [label for label in label_names(corpus) if label not in model.labels]
    if strange:
        raise DataError(f"the model has no label {strange[0]!r}", file=corpus.source, hint="give its training data")
    check_memory(corpus.offset, model.shape, model.encoder)
    data = model.encode(corpus, training_mask(corpus, model.labels))
    chain = model.chain
    right, worst, wrong = (np.zeros(corpus.n_sentences) for _ in range(3))
    margins(chain, data, make_trellis(chain, data), right, worst, wrong)
    length, longest = norm(chain), longest_features(chain, data)
    relaxed, strict = (_distances(own, right, wrong, length) for own in (right, worst))
    tied = 0.0 if chain.plain else float(model.settings.tied_update)
    bound, about = mistakes_bound(strict, longest * math.sqrt(1 + tied))
    return Separation(
        corpus.n_sentences, float(np.mean(relaxed > 0)), _number(relaxed.min()) if length else None,
        _number(np.median(relaxed)) if length else None, _number(strict.min()) if length else None, length, longest,
        bound, about, _usage(model, data),
    )  # fmt: skip


def _distances(own: np.ndarray, right: np.ndarray, wrong: np.ndarray, length: float) -> np.ndarray:
    """`own` scores of right paths minus those of the best wrong ones, over the length of the weights. Where no path has
    the known labels, nothing can be separated."""
    gap = np.where(np.isfinite(right), own - np.where(np.isfinite(wrong), wrong, -np.inf), -np.inf)
    return gap / length if length else np.zeros(gap.size)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def longest_features(chain: Chain, data: Data) -> float:
    """M: the most that a path's feature vector can be long, which is when all its tokens have the same state."""
    longest = 0.0
    lengths = np.diff(data.offset)
    for s in range(lengths.size):
        lo, hi, n = int(data.offset[s]), int(data.offset[s + 1]), int(lengths[s])
        square = float(2 * chain.learns[0])
        square += (n - 1) ** 2 * (chain.learns[1] and chain.order >= 1)
        square += max(0, n - 2) ** 2 * (chain.learns[2] and chain.order >= 2)
        square += sum(_square(active, lo, hi) for active in data.features)
        longest = max(longest, square)
    return math.sqrt(longest)


def _square(active: Active, lo: int, hi: int) -> float:
    """The squared length of the attributes of some tokens, counted together."""
    if not active.ptr.size:
        return 0.0
    first, last = active.ptr[lo], active.ptr[hi]
    _, which = np.unique(active.att[first:last], return_inverse=True)
    counts = np.bincount(which, np.abs(active.val[first:last]) if active.val.size else None)
    return float(np.square(counts).sum())


def mistakes_bound(distances: np.ndarray, longest: float) -> tuple[float | None, str]:
    """The bound on mistakes by these margins, and of what it is one."""
    if not np.isfinite(distances).any() or np.isneginf(distances).any():
        return None, "none: some sentence has no path with its labels"
    smallest = float(distances.min())
    if smallest > 0:
        return 2 * longest**2 / smallest**2 if math.isfinite(smallest) else 0.0, "all passes"
    best = math.inf
    finite = distances[np.isfinite(distances)]
    scale = max(float(np.abs(finite).mean()), 1e-12)
    for d in np.geomspace(1e-4 * scale, 1e4 * max(scale, longest), 401).tolist():
        lack = math.sqrt(float(np.square(np.maximum(0.0, d - finite)).sum()))
        best = min(best, (math.sqrt(2) * longest + lack) ** 2 / d**2)
    return best, "the first pass"


def _usage(model: ChainModel, data: Data) -> dict[str, float]:
    if model.shape.states_per_label == 1:
        return {}
    states = gold_states(model.chain, data)
    count = np.bincount(states, minlength=model.shape.n_states).reshape(-1, model.shape.states_per_label)
    share = (count / np.maximum(1, count.sum(axis=1, keepdims=True))).reshape(-1)
    names, there = model.shape.state_names(model.labels), ~model.shape.missing()
    return {name: float(share[h]) for h, name in enumerate(names) if there[h]}


def gold_states(chain: Chain, data: Data) -> np.ndarray:
    """The best state of each token that agrees with what is known, i32[N]."""
    states, scores = np.zeros(data.known.size, np.int32), np.zeros(data.offset.size - 1)
    decode(chain, data, make_trellis(chain, data), states, scores, True)
    return states
