"""Shares of labels, spans and sequences against lists of all paths, at any temperature."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of
from hypothesis import given
from hypothesis import strategies as st
from naive_forward import Listed, all_paths
from strategies import cases, few, random_model, random_sentence

from palmette.data import Span, spans
from palmette.kernels.chain.forms import make_trellis
from palmette.kernels.chain.forward_backward import log_partitions, make_sum_workspace
from palmette.kernels.chain.posteriors import Posteriors, make_posterior_workspace, posteriors
from palmette.kernels.chain.viterbi import decode
from palmette.structures import with_temperature
from palmette.structures.chain.posteriors import marks_of, places_of
from palmette.structures.chain.scoring import Scoring
from palmette.structures.chain.temperature import COLDEST, HOTTEST, gold_likelihood, lowest

NAMES = ("O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y")
TEMPERATURES = st.sampled_from([1.0, 0.25, 3.0, 40.0])


def listed(case: Case, restricted: bool, temperature: float) -> list[Listed]:
    """All paths of each sentence with every score divided by the temperature."""
    model = replace(case.model, weights={f: w / temperature for f, w in case.model.weights.items()})
    masks = [case.allowed(s) if restricted else None for s in range(len(case.sentences))]
    return [all_paths(model, sentence, mask) for sentence, mask in zip(case.sentences, masks, strict=True)]


def posterior_of_span(listed: Listed, label_of: tuple[int, ...], names: list[str], span: Span) -> float:
    """The probability of all label sequences that have exactly this span."""
    sequences = listed.of_labels(label_of)
    return sum(p for labels, p in sequences.items() if span in spans([names[y] for y in labels]))


@few(4)
@given(cases(latent=True), st.booleans(), TEMPERATURES, st.permutations(NAMES), st.data())
def test_posteriors_against_all_paths(
    case: Case, restricted: bool, temperature: float, names: list[str], data: st.DataObject
) -> None:
    Y, x = case.n_labels, data_of(case)
    names = list(names[:Y])
    N, S = x.known.size, len(case.sentences)
    labels = np.array([data.draw(st.integers(0, Y - 1)) for _ in range(N)], np.int32)
    places = places_of(labels, x.offset, names)
    marks, types = marks_of(names)
    out = Posteriors(np.zeros(N), np.zeros((N, Y)), np.full(places.kind.size, np.nan), np.zeros(S))
    chain = with_temperature(chain_of(case), temperature)
    posteriors(chain, x, make_posterior_workspace(chain, x), labels, places, marks, out, restricted)
    twins = listed(case, restricted, temperature)
    for s, twin in enumerate(twins):
        for i, n in enumerate(range(x.offset[s], x.offset[s + 1])):
            masses = np.zeros(Y)
            for (h,), p in twin.of_part(i, 1).items():
                masses[case.label_of[h]] += p
            assert out.labels[n] == pytest.approx(masses, abs=1e-6)
            assert out.tokens[n] == out.labels[n, labels[n]]
    expected = [
        (s, span) for s, (a, b) in enumerate(pairwise(x.offset)) for span in spans([names[y] for y in labels[a:b]])
    ]
    rows = zip(places.sentence, places.kind, places.first, places.end, strict=True)
    assert [(s, Span(types[k], a, b)) for s, k, a, b in rows] == expected
    for (s, span), posterior in zip(expected, out.spans, strict=True):
        assert posterior == pytest.approx(posterior_of_span(twins[s], case.label_of, names, span), abs=1e-6)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("order", [1, 2])
def test_long_sentences_and_wild_scores(order: int, scale: float) -> None:
    """Where every I follows a B or an I, a span is a mask: B, then I, then anything but I. So its posterior is a
    quotient of two sums, whatever the size of the scores."""
    rng = np.random.default_rng([order, int(scale)])
    n, names = 400, ["O", "B-X", "I-X"]
    model = random_model(rng, order, 3, (40, 0, 0))
    model.weights = {feature: scale * float(rng.normal()) for feature in model.weights}
    model.forbidden = frozenset([("start", 2), ("pair", 0, 2)])
    sentence = random_sentence(rng, n, (40, 0, 0))
    anything = [frozenset(range(3))] * n
    case = Case(model, (0, 1, 2), (40, 0, 0), [sentence], [anything], [1.0])
    chain, x = chain_of(case), data_of(case)
    labels, score = np.zeros(n, np.int32), np.zeros(1)
    decode(chain, x, make_trellis(chain, x), labels, score, False)
    places = places_of(labels, x.offset, names)
    assert places.kind.size > 5
    marks, _ = marks_of(names)
    out = Posteriors(np.zeros(n), np.zeros((0, 3)), np.zeros(places.kind.size), np.zeros(1))
    posteriors(chain, x, make_posterior_workspace(chain, x), labels, places, marks, out, False)
    for k in range(places.kind.size):
        first, end = int(places.first[k]), int(places.end[k])
        known = list(anything)
        known[first:end] = [frozenset([1]), *[frozenset([2])] * (end - first - 1)]
        if end < n:
            known[end] = frozenset([0, 1])
        masked = np.zeros(1)
        log_partitions(chain, data_of(case._replace(known=[known])), make_sum_workspace(chain, x), masked, True)
        assert out.spans[k] == pytest.approx(np.exp(masked[0] - out.log_z[0]), abs=1e-6)
    assert out.spans.max() > 0.1


@few(2)
@given(cases(latent=True), TEMPERATURES)
def test_the_posterior_of_what_is_known(case: Case, temperature: float) -> None:
    found = gold_likelihood(Scoring(with_temperature(chain_of(case), temperature)), data_of(case))
    every, known = listed(case, False, temperature), listed(case, True, temperature)
    for log_posterior, a, b in zip(found, every, known, strict=True):
        if not b.probability:
            assert log_posterior == -np.inf
        else:
            assert log_posterior == pytest.approx(b.log_z - a.log_z, abs=1e-5)


@pytest.mark.parametrize("start", [1.0, 100.0, 1e-3])
@pytest.mark.parametrize("best", [1e-3, 0.3, 1.0, 7.5, 4000.0])
def test_the_lowest_point_is_found(start: float, best: float) -> None:
    assert lowest(lambda t: (np.log(t) - np.log(best)) ** 2, start) == pytest.approx(best, rel=1e-3)


def test_a_function_without_a_lowest_point() -> None:
    assert lowest(lambda t: t) == COLDEST
    assert lowest(lambda t: -t) == HOTTEST
