"""The best label sequences, with probabilities, against the list of all paths."""

from __future__ import annotations

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Path
from naive_forward import all_paths
from naive_kbest import best_label_sequences
from strategies import cases, few, random_model, random_sentence

from palmette.kernels.chain.kbest import BestSequences
from palmette.kernels.chain.nbest import decode_nbest, make_list_workspace


def listed(
    case: Case, K: int, restricted: bool = False, first: int = 0
) -> list[tuple[list[tuple[float, Path]], list[float]]]:
    """Of each sentence from `first` on: (score, labels), best first, and their probabilities."""
    data = data_of(case)
    S, begin = len(case.sentences) - first, data.offset[first]
    out, scores = np.full((K, data.known.size - begin), -1, np.int32), np.full((S, K), np.nan)
    probability, found = np.full((S, K), np.nan), np.full(S, -1, np.int64)
    chain = chain_of(case)
    workspace = make_list_workspace(chain, data, K)
    best = BestSequences(out, scores, probability, found)
    decode_nbest(chain, data, workspace, first, first + S, best, restricted)
    cuts = data.offset[first:] - begin
    return [
        (
            [(float(scores[s, k]), tuple(out[k, cuts[s] : cuts[s + 1]].tolist())) for k in range(found[s])],
            probability[s, : found[s]].tolist(),
        )
        for s in range(S)
    ]


@few(4)
@given(cases(latent=True), st.sampled_from([1, 2, 3, 5, 20, 300]), st.booleans())
def test_distinct_label_sequences_in_order(case: Case, K: int, restricted: bool) -> None:
    for s, (found, probability) in enumerate(listed(case, K, restricted)):
        allowed = case.allowed(s) if restricted else None
        assert found == best_label_sequences(case.model, case.label_of, case.sentences[s], K, allowed)
        masses = all_paths(case.model, case.sentences[s], allowed).of_labels(case.label_of)
        assert probability == pytest.approx([masses[labels] for _, labels in found], rel=1e-8)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(("n_states", "n_labels"), [(4, 2), (8, 2), (9, 3)])
def test_wider_rows_and_slices(order: int, n_states: int, n_labels: int) -> None:
    rng = np.random.default_rng([order, n_states])
    sizes = (3, 1 if order >= 1 else 0, 0)
    model = random_model(rng, order, n_states, sizes, "spread", forbid=0.2, escape=True)
    sentences = [random_sentence(rng, n, sizes) for n in (1, 2, 3, 3)]
    label_of = tuple(h // (n_states // n_labels) for h in range(n_states))
    known = [[frozenset(range(n_labels))] * len(sentence) for sentence in sentences]
    case = Case(model, label_of, sizes, sentences, known, [1.0] * 4)
    everything = listed(case, 6)
    for sentence, (found, _) in zip(sentences, everything, strict=True):
        assert found == best_label_sequences(model, label_of, sentence, 6)
    assert listed(case, 6, first=2) == everything[2:]


@pytest.mark.parametrize("order", [1, 2])
def test_many_paths_of_one_label_sequence_do_not_hide_the_others(order: int) -> None:
    """Of 40 tokens with 3 states a label, the best label sequence alone has 3^40 paths."""
    rng = np.random.default_rng(order)
    model = random_model(rng, order, 6, (3, 0, 0), "ties")
    label_of = (0, 0, 0, 1, 1, 1)
    for h in range(6):
        model.weights[("bias", h)] = 0.0 if h < 3 else -64.0
    sentence = random_sentence(rng, 40, (3, 0, 0))
    case = Case(model, label_of, (3, 0, 0), [sentence], [[frozenset({0, 1})] * 40], [1.0])
    ((found, probability),) = listed(case, 10)
    labels = [labels for _, labels in found]
    assert len(set(labels)) == 10
    assert labels[0] == (0,) * 40
    assert all(sum(own) == 1 for own in labels[1:])  # one token each has the worse label
    assert probability[0] > 0.999
