"""Why these labels: the best label sequence against the runner-up, weight by weight.

A path's score is a sum of weights times values, one for each attribute on each label (or pair, or triple) that the path
has, and for each bare start, transition and end. What both paths have cancels. The rest is listed by token and
attribute; it adds up to the difference of the two scores.

How exact: a float32 weight times a float32 value is exact in float64, and sums are made by `math.fsum`, which rounds
once. So the contributions add up to the difference up to one rounding each in float64 (1e-12 for scores of thousands).
The search adds in float32 and may call two paths a tie, or turn them round, when their scores agree to six digits.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from palmette.data.analysed import Candidate
from palmette.data.corpus import Corpus
from palmette.data.labels.mask import LabelMask
from palmette.display import drawn, printed_by
from palmette.errors import DataError
from palmette.features.encode import Encoder
from palmette.features.readable import TAG, WORD, AttributeWords
from palmette.kernels.chain.forms import Active, Chain, Data
from palmette.options.chain import NAMED_FEATURES
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.nbest import nbest_lists
from palmette.structures.chain.stored_rows import is_stored, weight_at
from palmette.structures.chain.weights import ARITIES

START, END, TRANSITION, TRIPLE, BIAS = "(start)", "(end)", "(transition)", "(triple)", "(bias)"


class Part(NamedTuple):
    """What one attribute adds to the score of a path at one token."""

    token: int
    order: int  # 1: on the label, 2: on the pair that ends here, 3: on the triple
    attribute: int | str  # its number, or what stands for a weight that depends on states alone
    states: tuple[int, ...]  # the states that it is about
    weight: float
    value: float


class Contribution(NamedTuple):
    """What an attribute of a token adds to the difference: to the first path less to the second."""

    token: int
    attribute: str  # its string
    first: str  # the labels (or states) that it is about on the first path
    second: str
    amount: float
    name: str = ""  # the attribute in words


class Explanation(NamedTuple):
    """Two label sequences of a sentence, and what decides between them. Scores are exact sums of weights."""

    words: list[str]
    first: Candidate[list[str]]
    second: Candidate[list[str]]
    first_states: list[str] | None  # the best paths of a latent model; None for a plain one
    second_states: list[str] | None
    difference: float
    contributions: list[Contribution]  # the largest ones first

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, ready for JSON."""
        return {
            "tokens": self.words,
            "best": _candidate(self.first, self.first_states),
            "runner_up": _candidate(self.second, self.second_states),
            "difference": self.difference,
            "contributions": [
                {
                    "token": c.token + 1,
                    "word": self.words[c.token],
                    "attribute": c.attribute,
                    "name": c.name,
                    "best": c.first,
                    "runner_up": c.second,
                    "amount": c.amount,
                }
                for c in self.contributions
            ],
        }

    def __repr__(self) -> str:
        return f"Explanation({len(self.words)} tokens, difference={self.difference:.4f})"

    def __str__(self) -> str:
        return printed_by("reports.sentence:print_explanation")(self)

    def _repr_html_(self) -> str:
        return drawn(self, "reports.notebook:explained")


def _candidate(one: Candidate[list[str]], states: list[str] | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"tags": one.output, "score": one.score}
    if one.probability is not None:
        fields["probability"] = one.probability
    return fields if states is None else fields | {"states": states}


def weight_of(chain: Chain, attribute: int, states: tuple[int, ...]) -> float:
    """The weight of an attribute on one, two or three states."""
    H, W, states_per_label = chain.label_of.size, chain.bias.size, chain.states_per_label
    rows, stored = chain.weights[len(states) - 1], chain.stored[len(states) - 1]
    if is_stored(stored):
        return weight_at(stored, attribute, int(np.ravel_multi_index(states, (H,) * len(states))))
    if not rows.first.size:
        place = 0
        for state in states[:-1]:
            place = place * H + state
        return float(rows.w[rows.slot[attribute], place * W + states[-1]])
    combo = place = 0
    for state in states:
        combo = combo * (H // states_per_label) + state // states_per_label
        place = place * states_per_label + state % states_per_label
    first = int(rows.first[attribute])
    last = first + int(rows.slot[attribute])
    at = first + int(np.searchsorted(rows.combo[first:last], combo))
    return float(rows.w[at, place]) if at < last and rows.combo[at] == combo else 0.0


def parts_of(chain: Chain, data: Data, path: Sequence[int]) -> Iterator[Part]:
    """Everything that the score of a path of states through the first sentence is made of."""
    n = len(path)
    for i in range(n):
        yield from _of_token(chain, data, i, tuple(path[max(0, i - 2) : i + 1]))
    ends = chain.transitions[0].w
    yield Part(0, 1, START, (path[0],), float(ends[0, path[0]]), 1.0)
    yield Part(n - 1, 1, END, (path[-1],), float(ends[1, path[-1]]), 1.0)


def _of_token(chain: Chain, data: Data, i: int, recent: tuple[int, ...]) -> Iterator[Part]:
    yield Part(i, 1, BIAS, recent[-1:], float(chain.bias[recent[-1]]), 1.0)
    for order, active in zip(ARITIES, data.features, strict=True):
        if order <= min(chain.order + 1, len(recent)):
            states = recent[-order:]
            for attribute, value in _attributes(active, i):
                yield Part(i, order, attribute, states, weight_of(chain, attribute, states), value)
    if chain.order >= 1 and len(recent) >= 2:
        yield Part(i, 2, TRANSITION, recent[-2:], float(chain.transitions[1].w[recent[-2:]]), 1.0)
    if chain.order >= 2 and len(recent) >= 3:
        before = recent[0] * chain.label_of.size + recent[1]
        yield Part(i, 3, TRIPLE, recent, float(chain.transitions[2].w[before, recent[2]]), 1.0)


def _attributes(active: Active, token: int) -> Iterator[tuple[int, float]]:
    if active.ptr.size:
        for k in range(int(active.ptr[token]), int(active.ptr[token + 1])):
            yield int(active.att[k]), float(active.val[k]) if active.val.size else 1.0


def explain(model: ChainModel, corpus: Corpus, bias: dict[str, float] | None = None) -> Explanation:
    """The best label sequence of a corpus of one sentence against the runner-up."""
    model.need_exact("explain")
    exact = model.changed(beam=0)  # a beam may not list the runner-up
    (candidates,) = nbest_lists(exact, corpus, 2, bias)
    if len(candidates) < 2:
        raise DataError("the sentence has only one possible label sequence: there is nothing to weigh")
    return _compared(exact, corpus, candidates[0], candidates[1], bias)


def explain_between(
    model: ChainModel, corpus: Corpus, first: LabelMask | None, second: LabelMask, bias: dict[str, float] | None = None
) -> Explanation:
    """The best label sequence that `first` allows (None: of all) against the best one that `second` allows; a corpus of
    one sentence."""
    model.need_exact("explain")
    exact = model.changed(beam=0)
    best, other = (next(nbest_lists(exact, corpus, 1, bias, known))[0] for known in (first, second))
    if best.output == other.output:
        raise DataError("both are the same label sequence: there is nothing to weigh")
    return _compared(exact, corpus, best, other, bias)


def _compared(
    model: ChainModel,
    corpus: Corpus,
    first: Candidate[list[str]],
    second: Candidate[list[str]],
    bias: dict[str, float] | None,
) -> Explanation:
    """What decides between two label sequences."""
    numbers = {label: k for k, label in enumerate(model.labels)}
    chain = model.with_bias(model.bias if bias is None else bias)
    data = model.encode(corpus)
    paths, parts = [], []
    for one in (first, second):
        fixed = LabelMask(
            np.array([numbers[label] for label in one.output], np.int32), np.zeros((0, len(numbers)), bool)
        )
        paths.append(model.tag(corpus, bias, fixed, states=True)[0].tolist())
        parts.append(list(parts_of(chain, data, paths[-1])))
    exact = [one._replace(score=_total(own)) for one, own in zip((first, second), parts, strict=True)]
    latent = not chain.plain
    names = model.shape.state_names(model.labels) if latent else model.labels
    states = [[names[h] for h in path] if latent else None for path in paths]
    difference = math.fsum([*_terms(parts[0]), *(-term for term in _terms(parts[1]))])
    words = corpus.columns[0].cells() if corpus.columns else [str(i) for i in range(1, corpus.n_tokens + 1)]
    strings = {order: spelled(model, corpus, order) for order in ARITIES if order not in model.names}
    contributions = _contributions(model, parts[0], parts[1], names, strings)
    return Explanation(words, exact[0], exact[1], states[0], states[1], difference, contributions)


def _terms(parts: list[Part]) -> Iterator[float]:
    return (part.weight * part.value for part in parts)


def _total(parts: list[Part]) -> float:
    return math.fsum(_terms(parts))


def _contributions(
    model: ChainModel, first: list[Part], second: list[Part], names: list[str], strings: dict[int, dict[int, str]]
) -> list[Contribution]:
    """By token and attribute; what cancels is left out. strings: of the attributes by order, where the model has
    none."""
    terms: dict[tuple[int, int, int | str], list[float]] = defaultdict(list)
    about: dict[tuple[int, int, int | str], tuple[str, str]] = {}
    for one, two in zip(first, second, strict=True):  # both have the same attributes in the same order
        key = (one.token, one.order, one.attribute)
        if one.states != two.states:
            terms[key] += [one.weight * one.value, -two.weight * two.value]
            about[key] = (" > ".join(names[h] for h in one.states), " > ".join(names[h] for h in two.states))

    def name_of(order: int, attribute: int | str) -> str:
        if isinstance(attribute, str):
            return attribute
        return strings.get(order, {}).get(attribute) or attribute_name(model, order, attribute)

    in_words = attribute_words(model)
    found = []
    for (token, order, attribute), own in terms.items():
        called = name_of(order, attribute)
        about_both = about[token, order, attribute]
        found.append(Contribution(token, called, *about_both, math.fsum(own), in_words(called)))
    return sorted((c for c in found if c.amount != 0), key=lambda c: -abs(c.amount))


# What the attributes of a model are called: their strings, and in words.


def attribute_name(model: ChainModel, order: int, attribute: int) -> str:
    """The string of an attribute, or its number if the model does not have the strings."""
    return model.names[order][attribute] if order in model.names else f"#{attribute}"


def spelled(model: ChainModel, corpus: Corpus, order: int) -> dict[int, str]:
    """The strings of the attributes of a few tokens by number, for a model without strings: each template is applied
    alone, so that it is known which template made an attribute."""
    encoder, found = model.encoder, dict[int, str]()
    for template in [] if encoder is None else encoder.of_order(order):
        assert encoder is not None
        alone = Encoder(encoder.templates.only(template), encoder.resources, encoder.unicode)
        cells = alone.cells(corpus)
        ptr, att, _, _ = alone.encode(order, cells, corpus.offset, model.feature_indexes[order], False)
        text, offset = alone.spell(order, corpus, cells, np.repeat(np.arange(corpus.n_tokens), np.diff(ptr)))
        strings = (text[a:b].tobytes().decode("utf-8", "replace") for a, b in pairwise(offset.tolist()))
        found |= zip(att.tolist(), strings, strict=True)
    return found


def attribute_words(model: ChainModel) -> Callable[[str], str]:
    """A function from strings of attributes to words; ready-made attributes stay as they are."""
    if model.encoder is None:
        return str
    templates = model.encoder.templates
    if templates.name == "char":
        return AttributeWords(templates, own_names=False)
    counted = model.settings.chosen_learner.kind == "hmm"  # its templates are its own
    own = not counted and model.meta.get("features") not in NAMED_FEATURES
    columns = _columns(model, model.encoder.n_columns, own)
    return AttributeWords(templates, columns, own_names=own, clusters=model.encoder.resources.clusters)


def _columns(model: ChainModel, n: int, own: bool) -> list[str]:
    """What the columns are called: as they were chosen by name, else word, tag, column2, ... Of many columns that own
    templates read the second may be anything: it is column1."""
    reading = model.meta.get("reading")
    chosen = (reading.get("columns") if isinstance(reading, dict) else getattr(reading, "columns", None)) or ()
    usual = [WORD, "column1" if own and n > 2 else TAG, *(f"column{k}" for k in range(2, n))]
    named = [name if k and not name.lstrip("-").isdigit() else None for k, name in enumerate(map(str, chosen))]
    return [(named[k] if k < len(named) else None) or usual[k] for k in range(max(n, 2))]
