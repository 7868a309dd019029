"""Beams between the naive twins and the arrays: weights of earlier labels both ways, and cases to draw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from chain_arrays import Case, chain_of, data_of, features_of
from hypothesis import assume
from hypothesis import strategies as st
from naive_beam import Readings
from naive_chain import Feature
from strategies import cases

from palmette.kernels.chain.beam import BeamWeights
from palmette.kernels.chain.forms import Active, Chain, LabelContextWeights, no_active, stride_of
from palmette.kernels.chain.label_context import LABEL_BITS, table_of
from palmette.structures import BeamSearch
from palmette.structures.chain.label_context import grown, new_context_weights

BACKS = ((1,), (2, 1), (1, 3), (5,))


class BeamCase(NamedTuple):
    """A case whose labels are all known, with attributes that read earlier labels; number a is of template a % 4."""

    case: Case
    readings: list[Readings]
    n_contexts: int

    @property
    def reach(self) -> int:
        """How many labels back templates and constraints read; a template counts even if no token has its
        attributes."""
        return max(self.case.model.order, max(max(back) for back in BACKS) if self.n_contexts else 0)

    @property
    def seen(self) -> Active:
        if not self.n_contexts:
            return no_active()
        lists = [token for sentence in self.readings for token in sentence]
        ptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        att = np.array([attribute for token in lists for attribute, _ in token], np.int32)
        return Active(ptr, att, np.zeros(0, np.float32))

    def contexts(self, rows: int = 0) -> LabelContextWeights:
        """The model's weights of earlier labels, with room for some rows more."""
        width = stride_of(self.case.model.n_states)
        made: dict[tuple[int, int], np.ndarray] = {}
        for feature, weight in self.case.model.weights.items():
            if feature[0] == "past":
                _, attribute, labels, h = feature
                made.setdefault((attribute, code_of(labels)), np.zeros(width, np.float32))[h] = weight
        blank = new_context_weights(None, (np.arange(self.n_contexts) % len(BACKS)).astype(np.int32), width)
        backs = BACKS if self.n_contexts else ()
        first = np.cumsum([0, *map(len, backs)]).astype(np.int64)
        back = np.array([b for labels in backs for b in labels], np.int32)
        owner = np.array([a for a, _ in made], np.int32)
        code = np.array([c for _, c in made], np.int64)
        w = np.array(list(made.values()), np.float32).reshape(-1, width)
        keys, numbers, distinct = table_of(owner, code, owner.size, 1 << (4 + 2 * owner.size).bit_length())
        assert distinct
        used = np.array([owner.size])
        contexts = LabelContextWeights(
            blank.template,
            first,
            back,
            keys,
            numbers,
            used,
            owner,
            code,
            w,
            np.zeros(w.shape),
            np.zeros((0, 0), np.float32),
        )
        return grown(contexts, rows) if rows else contexts

    def weights(self) -> BeamWeights:
        return BeamWeights(chain_of(self.case), self.contexts())


def code_of(labels: tuple[int, ...]) -> int:
    code = 0
    for label in labels:
        code = (code << LABEL_BITS) | (label + 1)
    return code


def features_with_contexts(chain: Chain, contexts: LabelContextWeights) -> dict[Feature, float]:
    """Every weight that is not zero."""
    found = features_of(chain)
    for row in range(int(contexts.used[0])):
        attribute, rest = int(contexts.owner[row]), int(contexts.code[row])
        labels = []
        for _ in BACKS[attribute % len(BACKS)]:
            rest, label = divmod(rest, 1 << LABEL_BITS)
            labels.insert(0, label - 1)
        for h in np.flatnonzero(contexts.w[row]):
            found["past", attribute, tuple(labels), int(h)] = float(contexts.w[row, h])
    return found


@st.composite
def beam_cases(draw: st.DrawFn, learning: bool = False, of_order: int | None = None, hidden: bool = False) -> BeamCase:
    """Anything small. `hidden`: labels of several states."""
    if hidden and draw(st.booleans()):
        case = draw(cases(max_tokens=4, learning=learning, split=2, max_states=4))
    elif hidden:
        case = draw(cases(max_tokens=4, learning=learning, latent=True, max_states=4))
        assume(not case.plain)
    else:
        case = draw(cases(max_tokens=4, learning=learning, of_order=of_order, max_states=3, lists=True))
    case = case._replace(known=[[frozenset([draw(st.sampled_from(sorted(k)))]) for k in s] for s in case.known])
    n_contexts = draw(st.sampled_from([0, 3, 6]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    readings = [
        [[(int(a), BACKS[a % len(BACKS)]) for a in rng.integers(0, n_contexts, rng.integers(0, 4))] for _ in sentence]
        if n_contexts
        else [[] for _ in sentence]
        for sentence in case.sentences
    ]
    if not learning or draw(st.booleans()):
        H = case.model.n_states
        for attribute in range(n_contexts):
            for _ in range(6):
                labels = tuple(rng.integers(-1, case.n_labels, len(BACKS[attribute % len(BACKS)])).tolist())
                weight = float(rng.integers(-2, 3)) / 2
                case.model.weights["past", attribute, labels, int(rng.integers(H))] = weight
    return BeamCase(case, readings, n_contexts)


def decoded_lists(
    beam_case: BeamCase, beam: BeamSearch, n: int, restricted: bool
) -> list[list[tuple[float, tuple[int, ...]]]]:
    from palmette.structures.chain.beam import beam_lists

    data = data_of(beam_case.case)
    out, scores, found = beam_lists(beam_case.weights(), data, beam_case.seen, beam, n, restricted)
    cuts = data.offset.tolist()
    return [
        [(float(scores[s, k]), tuple(out[k, cuts[s] : cuts[s + 1]].tolist())) for k in range(int(found[s]))]
        for s in range(len(cuts) - 1)
    ]
