"""A hidden Markov model as a linear model: same score, same path.

As two vectors, the logarithm of a joint probability is weights . features: the weights are the logarithms of all
probabilities, the features count how often each was used, and 0 times minus infinity counts as 0.

    start[Y], pair[Y*Y], triple[Y*Y*Y] (order 2), end[Y] (if there is one), emission[Y*V]

As a ChainModel, the same numbers are bare weights of starts, pairs, triples and ends, and the weights of one attribute
an observation. Bare weights of pairs count at every token; at order 2 ours count at the second one alone, so they are
weights of the attribute that tells the second token: what stands two before it is the place before the sentence.
What has probability 0 is forbidden, or -inf. Weights are float32. The chain reads words: its templates see them as
what is observed, through an atom that has the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Corpus, column_of_types
from palmette.data.labels.schemes import Transitions
from palmette.data.normal_form import NONE
from palmette.errors import UsageError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet, parse
from palmette.kernels.chain.forms import Chain, FeatureWeights
from palmette.structures.chain.data import Collected
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import Shape, estimated, new_chain
from palmette.structures.hmm.tables import Tables, log
from palmette.structures.hmm.words import BEFORE, NAME, Vocabulary
from palmette.structures.stored_features import Names

TEMPLATES = {1: "U0:%x[0,0{atom}]\nB\n", 2: "U0:%x[0,0{atom}]\nB1:%x[-2,0{atom}]\nT\n"}


# --- as two vectors -----------------------------------------------------------------------------------------


def weight_vector(tables: Tables) -> np.ndarray:
    """The logarithms of all probabilities, one after the other."""
    return log(np.concatenate([block.ravel() for block in tables if block is not None]))


def feature_vector(tables: Tables, labels: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """How often a sentence uses each of them."""
    counts = Tables(*(None if block is None else np.zeros(block.shape) for block in tables))  # type: ignore[arg-type]
    counts.start[labels[0]] = 1.0
    np.add.at(counts.emission, (labels, observed), 1.0)
    pairs = labels if tables.order == 1 else labels[:2]
    np.add.at(counts.pair, (pairs[:-1], pairs[1:]), 1.0)
    if counts.triple is not None:
        np.add.at(counts.triple, (labels[:-2], labels[1:-1], labels[2:]), 1.0)
    if counts.end is not None:
        counts.end[labels[-1]] = 1.0
    return np.concatenate([block.ravel() for block in counts if block is not None])


def inner(weights: np.ndarray, features: np.ndarray) -> float:
    """weights . features, where 0 * -inf = 0"""
    used = features != 0
    return float(weights[used] @ features[used])


# --- as a chain ---------------------------------------------------------------------------------------------


def to_chain(
    labels: Sequence[str], vocabulary: Vocabulary, tables: Tables, rules: Transitions | None = None, *, unicode: str
) -> ChainModel:
    """The chain model whose column 0 has the words. `rules`: what is allowed besides having a probability. `unicode`:
    the form of the words."""
    if tables.order == 2 and BEFORE in vocabulary.known:
        raise UsageError(f"the word {BEFORE!r} is the name of the place before a sentence: rename it")
    corpus = _every_observation(vocabulary)
    collected = Collected(corpus, Encoder(_templates(tables.order, ""), Resources(), NONE))
    shape = Shape(
        len(labels), tables.order, ends=True, transitions=tables.order == 1, triples=tables.order == 2
    )  # fmt: skip
    allowed = _allowed(tables)
    if rules is not None:
        allowed = Transitions(*(mine & theirs for mine, theirs in zip(allowed, rules, strict=True)))
    chain = new_chain(shape, collected.sizes, allowed, {})
    _fill_bare(chain, tables, allowed)
    one = _filled(chain.weights[0], collected.actives[1].att[: len(vocabulary)], log(tables.emission).T)
    two = chain.weights[1]
    if tables.order == 2:
        rows = np.zeros((len(labels), two.w.shape[1] // len(labels)))
        rows[:, : len(labels)] = log(tables.pair)
        two = _filled(two, np.zeros(1, np.int64), rows.reshape(1, -1))
    names = {order: Names(*collected.names(order)) for order in collected.feature_indexes}
    words = np.sort(corpus.columns[0].hash[: len(vocabulary.known)])
    resources = Resources(observed={NAME: vocabulary.observed})
    encoder = Encoder(_templates(tables.order, f",observed:{NAME}"), resources, unicode)
    return ChainModel(
        list(labels), shape, allowed, None, encoder, collected.feature_indexes,
        estimated(chain._replace(weights=(one, two, chain.weights[2])), None), names, words,
    )  # fmt: skip


def _templates(order: int, atom: str) -> TemplateSet:
    """With and without the atom they make the same strings, of words and of what is observed."""
    return parse(TEMPLATES[order].replace("{atom}", atom), "hmm", "crfpp")


def _every_observation(vocabulary: Vocabulary) -> Corpus:
    """A corpus that has them all, in sentences of two tokens: so pairs have one attribute, that of the second token."""
    n = len(vocabulary)
    ids = np.append(np.arange(n), n - 1)[: n + n % 2].astype(np.int32)
    return Corpus(np.arange(0, ids.size + 1, 2, dtype=np.int64), [column_of_types(ids, vocabulary.names)])


def _allowed(tables: Tables) -> Transitions:
    pair = tables.pair > 0
    if tables.triple is not None:
        pair = pair | (tables.triple > 0).any(0)
    return Transitions(tables.start > 0, pair, np.ones_like(pair[0]) if tables.end is None else tables.end > 0)


def _fill_bare(chain: Chain, tables: Tables, allowed: Transitions) -> None:
    """What is forbidden needs no weight besides."""
    Y = tables.start.size
    ends, pairs, triples = (t.w for t in chain.transitions)
    ends[0, :Y] = np.where(allowed.start, log(tables.start), 0.0)
    if tables.end is not None:
        ends[1, :Y] = np.where(allowed.end, log(tables.end), 0.0)
    if tables.triple is None:
        pairs[:, :Y] = np.where(allowed.pair, log(tables.pair), 0.0)
    else:
        triples[:, :Y] = log(tables.triple).reshape(Y * Y, Y)


def _filled(rows: FeatureWeights, attributes: np.ndarray, weights: np.ndarray) -> FeatureWeights:
    """Rows with these weights of these attributes, each in a row of its own after the shared one of zeros."""
    rows.w[1 + attributes, : weights.shape[1]] = weights
    slot = rows.slot.copy()
    slot[attributes] = 1 + attributes
    return rows._replace(slot=slot, used=np.array([1 + attributes.size], np.int64))
