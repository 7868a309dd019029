"""Between the naive twins (dictionaries of features) and the arrays of the compiled core, both ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from naive_chain import Example, Feature, Model, Path, Sentence, Token
from naive_templates import expand

from palmette.data import Attributes, Corpus, column_of_strings
from palmette.features import TemplateSet
from palmette.kernels.chain.forms import (
    Active,
    Chain,
    Data,
    FeatureWeights,
    TransitionWeights,
    make_trellis,
    no_active,
    no_state,
    no_weights,
    stride_of,
)
from palmette.kernels.chain.viterbi import decode
from palmette.structures import ChainModel, allow_table, as_lists, fixed, growing
from palmette.structures.chain.lists import grows

KINDS = ("one", "two", "three")
PAD = 1e6  # stands in the unused places of every row: a kernel that looks there is found out


class Case(NamedTuple):
    """A model with sentences. Attributes are numbers below `sizes`; `known` are the labels that each token
    may have."""

    model: Model
    label_of: tuple[int, ...]
    sizes: tuple[int, int, int]
    sentences: list[list[Token]]
    known: list[list[frozenset[int]]]
    weights: list[float]
    states_per_label: int = (
        1  # states of a label that lie side by side; combinations are then seen of labels, not of states
    )
    tied_update: float = 0.0  # of an update that all states of a label get
    growing: bool = False  # whether weights of single labels are lists that grow

    @property
    def n_labels(self) -> int:
        return max(self.label_of) + 1

    @property
    def plain(self) -> bool:
        """Whether states are labels."""
        return self.label_of == tuple(range(self.n_labels))

    def allowed(self, s: int) -> list[frozenset[int]]:
        """The states that the known labels of sentence s allow."""
        return [frozenset(h for h, y in enumerate(self.label_of) if y in labels) for labels in self.known[s]]

    def examples(self) -> list[Example]:
        certain = [self.plain and all(len(labels) == 1 for labels in known) for known in self.known]
        return [
            Example(sentence, self.allowed(s), self.weights[s], certain[s]) for s, sentence in enumerate(self.sentences)
        ]


# --- to arrays ----------------------------------------------------------------------------------------------


def chain_of(case: Case) -> Chain:
    """The model as a chain with accumulators, ready to decode and to learn."""
    model = case.model
    H, W = model.n_states, stride_of(model.n_states)
    ends, pairs, triples = (_block(H, n, W) for n in (2, H, H * H if model.order >= 2 else 0))
    forbid, first, last = np.zeros((H, W), np.float32), np.zeros(W, np.float32), np.zeros(W, np.float32)
    bias = np.zeros(W, np.float32)
    targets = {
        "start": ends[0],
        "end": ends[1],
        "pair": pairs,
        "triple": triples.reshape(-1, H, W),
        "bias": bias,
    }
    for (kind, *place), weight in model.weights.items():
        if kind in targets and targets[kind].size:
            targets[kind][tuple(place)] = weight
    for kind, *place in model.forbidden:
        {"start": first, "end": last, "pair": forbid}[kind][tuple(place)] = -np.inf
    one, two, three = (_rows(case, arity) for arity in (1, 2, 3))
    if case.growing:
        one = growing(as_lists(one, H, case.states_per_label), spare=1 << 14)
    learnt = [TransitionWeights(w, np.zeros(w.shape), no_state()) for w in (ends, pairs, triples)]
    return Chain(
        model.order,
        case.plain,
        case.states_per_label,
        np.array(case.label_of, np.int32),
        np.full(H // case.states_per_label, case.states_per_label, np.int32),
        case.tied_update,
        (model.ends, model.transitions, model.triples),
        False,
        forbid,
        first,
        last,
        bias,
        (learnt[0], learnt[1], learnt[2]),
        (one, two, three),
    )


def _block(H: int, *shape: int) -> np.ndarray:
    """Zeros for H states, with the rest of the last dimension filled."""
    out = np.zeros(shape, np.float32)
    out[..., H:] = PAD
    return out


def _place(case: Case, states: Sequence[int]) -> int:
    """Where the weight of these states stands in a row."""
    H, W = case.model.n_states, stride_of(case.model.n_states)
    place = 0
    for state in states[:-1]:
        place = place * H + state
    return place * W + states[-1]


def _rows(case: Case, order: int) -> FeatureWeights:
    size, model = case.sizes[order - 1], case.model
    if size == 0:
        return no_weights()._replace(a=np.zeros((1, 1)))
    kind = KINDS[order - 1]
    mine = {feature: w for feature, w in model.weights.items() if feature[0] == kind}
    if kind in model.limited and model.seen is not None:
        return _seen_rows(case, kind, size, mine)
    H, W = model.n_states, stride_of(model.n_states)
    w = _block(H, size + 1, H ** (order - 1), W).reshape(size + 1, -1)
    w[0] = 0  # the row of all attributes that never moved
    slot = np.zeros(size, np.int32)
    used = 1
    for (_, attribute, *states), weight in sorted(mine.items(), reverse=True):
        if slot[attribute] == 0:
            slot[attribute] = used
            used += 1
        w[slot[attribute], _place(case, states)] = weight
    empty = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return FeatureWeights(slot, np.array([used], np.int64), *empty, w, np.zeros(w.shape), no_state())


def _seen_rows(case: Case, kind: str, size: int, mine: dict[Feature, float]) -> FeatureWeights:
    assert case.model.seen is not None
    states_per_label, Y = case.states_per_label, case.model.n_states // case.states_per_label
    blocks: dict[tuple[int, int], dict[int, float]] = {}
    for feature in case.model.seen:
        if feature[0] == kind:
            attribute, *states = feature[1:]
            combo = cell = 0
            for state in states:
                combo, cell = combo * Y + state // states_per_label, cell * states_per_label + state % states_per_label
            blocks.setdefault((attribute, combo), {})[cell] = mine.get(feature, 0.0)
    places = sorted(blocks)
    owner = np.array([attribute for attribute, _ in places], np.int64)
    first = np.searchsorted(owner, np.arange(size + 1)).astype(np.int64)
    width = states_per_label ** (KINDS.index(kind) + 1)
    w = np.array([[blocks[p][cell] for cell in range(width)] for p in places], np.float32).reshape(-1, width)
    combo = np.array([combo for _, combo in places], np.int32)
    slot = np.diff(first).astype(np.int32)
    return FeatureWeights(slot, np.ones(1, np.int64), first, combo, w, np.zeros(w.shape), no_state())


def data_of(case: Case) -> Data:
    """The sentences as the kernels read them."""
    Y = case.n_labels
    offset = np.cumsum([0, *map(len, case.sentences)]).astype(np.int64)
    sets: dict[frozenset[int], int] = {frozenset([y]): y for y in range(Y)}
    sets.setdefault(frozenset(range(Y)), Y)
    extra = []
    for labels in (labels for sentence in case.known for labels in sentence):
        if labels not in sets:
            sets[labels] = Y + 1 + len(extra)
            extra.append([y in labels for y in range(Y)])
    known = np.array([sets[labels] for sentence in case.known for labels in sentence], np.int32)
    allow = allow_table(Y, np.array(extra, np.bool_) if extra else None)
    weight = np.array(case.weights, np.float32)
    one, two, three = (_active(case, arity) for arity in (1, 2, 3))
    return Data(offset, known, allow, weight, (one, two, three))


def _active(case: Case, order: int) -> Active:
    if order > 1 and case.sizes[order - 1] == 0:
        return no_active()
    lists = [token[order - 1] for sentence in case.sentences for token in sentence]
    ptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    att = np.array([attribute for pairs in lists for attribute, _ in pairs], np.int32)
    val = np.array([value for pairs in lists for _, value in pairs], np.float32)
    return Active(ptr, att, val if np.any(val != 1) else np.zeros(0, np.float32))


def decoded(chain: Chain, data: Data, restricted: bool = False) -> list[tuple[float, Path]]:
    """Score and path of each sentence by the compiled decoder."""
    out = np.full(int(data.offset[-1]), -1, np.int32)
    scores = np.full(data.offset.size - 1, np.nan)
    decode(chain, data, make_trellis(chain, data), out, scores, restricted)
    return [
        (float(score), tuple(out[lo:hi].tolist()))
        for score, lo, hi in zip(scores, data.offset[:-1], data.offset[1:], strict=True)
    ]


# --- back to dictionaries -----------------------------------------------------------------------------------


def features_of(chain: Chain, names: Sequence[Sequence[str]] | None = None) -> dict[Feature, float]:
    """Every weight that is not zero, by feature; attributes by number, or by name when names are given."""
    H = chain.label_of.size
    found: dict[Feature, float] = {}
    ends, pairs, triples = (t.w for t in chain.transitions)
    for kind, block in zip(("start", "end"), ends, strict=True):
        found |= {(kind, h): float(block[h]) for h in range(H)}
    for kind, block in (("pair", pairs), ("triple", triples.reshape(-1, H, chain.bias.size))):
        found |= {(kind, *map(int, at)): float(block[tuple(at)]) for at in np.argwhere(block[..., :H])}
    for order, rows in zip((1, 2, 3), chain.weights, strict=True):
        for attribute, states, weight in _weights_of(chain, rows, order):
            name = attribute if names is None else names[order - 1][attribute]
            found[(KINDS[order - 1], name, *states)] = weight
    return {feature: weight for feature, weight in found.items() if weight and weight != PAD}


def _weights_of(chain: Chain, rows: FeatureWeights, order: int) -> Iterator[tuple[int, list[int], float]]:
    """(attribute, states, weight) of what is not zero."""
    H, W, states_per_label = chain.label_of.size, chain.bias.size, chain.states_per_label
    if rows.first.size:
        rows = fixed(rows) if grows(rows) else rows
        owner = np.repeat(np.arange(rows.first.size - 1), np.diff(rows.first))
        for place, cell in np.argwhere(rows.w):
            labels = _digits(int(rows.combo[place]), [H // states_per_label] * order)
            within = _digits(int(cell), [states_per_label] * order)
            states = [label * states_per_label + k for label, k in zip(labels, within, strict=True)]
            yield int(owner[place]), states, float(rows.w[place, cell])
        return
    for attribute, row in enumerate(rows.slot.tolist()):
        if row > 0:
            for place in np.flatnonzero(rows.w[row]):
                yield attribute, _digits(int(place), [*[H] * (order - 1), W]), float(rows.w[row, place])


def _digits(number: int, sizes: Sequence[int]) -> list[int]:
    """A number written in digits of these sizes."""
    found: list[int] = []
    for size in reversed(sizes):
        number, digit = divmod(number, size)
        found.insert(0, digit)
    return found


def weights_by_name(model: ChainModel) -> dict[Feature, float]:
    """The weights of a trained model, with attributes by their strings and labels by their names."""
    names = [[texts[k] for k in range(len(texts))] for order in (1, 2, 3) for texts in [model.names.get(order, ())]]
    labelled = {}
    for (kind, *rest), weight in features_of(model.chain, names).items():
        attribute = rest[:1] if kind in KINDS else []
        labelled[(kind, *attribute, *(model.labels[h] for h in rest[len(attribute) :]))] = weight
    return labelled


# --- corpora ------------------------------------------------------------------------------------------------


def tokens_of(templates: TemplateSet, sentence: list[list[str]]) -> list[Token]:
    """A sentence of cells as the naive twin sees it, its attributes being strings."""

    def strings(i: int, order: int) -> tuple[tuple[str, float], ...]:
        mine = [t for t in templates.templates if order in t.orders and (t.macros or order == 1)]
        found = [expand(template, templates.syntax, sentence, i) for template in mine]
        return tuple((text, 1.0) for text in found if text is not None)

    return [Token(*(strings(i, order) for order in (1, 2, 3))) for i in range(len(sentence))]


def gold_examples(
    sentences: Sequence[Sentence],
    labels: list[list[str]],
    names: Sequence[str],
    weights: Sequence[float] = (),
) -> list[Example]:
    """Sentences with all their labels known, for the naive perceptron."""
    numbers = {name: k for k, name in enumerate(names)}
    return [
        Example(sentence, [frozenset([numbers[label]]) for label in own], weights[s] if weights else 1.0, True)
        for s, (sentence, own) in enumerate(zip(sentences, labels, strict=True))
    ]


def in_order_of_occurrence(*labels: list[list[str]]) -> list[str]:
    return list(dict.fromkeys(label for part in labels for sentence in part for label in sentence))


def column_corpus(sentences: list[list[list[str]]], labels: list[list[str]] | None = None) -> Corpus:
    """A corpus of columns; a token is a list of cells."""
    tokens = [token for sentence in sentences for token in sentence]
    offset = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    columns = [column_of_strings(token[c] for token in tokens) for c in range(len(tokens[0]))]
    return Corpus(offset, columns, _labels(labels))


def attribute_corpus(sentences: list[Sentence], labels: list[list[str]] | None = None) -> Corpus:
    """A corpus of ready-made attributes (Token.one, by name)."""
    lists = [token.one for sentence in sentences for token in sentence]
    offset = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    ptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    val = np.array([value for pairs in lists for _, value in pairs], np.float32)
    names = column_of_strings(name for pairs in lists for name, _ in pairs)
    ones = np.zeros(0, np.float32)
    given = Attributes(ptr, names, val if np.any(val != 1) else ones)
    return Corpus(offset, labels=_labels(labels), attributes=given)


def _labels(labels: list[list[str]] | None):
    return None if labels is None else column_of_strings(label for sentence in labels for label in sentence)
