"""Chains with float64 lists of weights: every kernel against its slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_double import Model, Token, log_sum, marginals, path_scores, viterbi
from strategies import few

from palmette.data import Transitions
from palmette.kernels.chain.double import DoubleWeights, decode_double, make_double_trellis
from palmette.kernels.chain.forms import Active, Chain, Data, no_active
from palmette.kernels.chain.posteriors import Marks, Places, Posteriors
from palmette.structures import Shape, allow_table
from palmette.structures.chain.imported.model import bare_chain, no_lists, rounded
from palmette.structures.chain.imported.scoring import DoubleScoring, at_temperature

TIED = st.sampled_from([-1.0, -0.1, 0.0, 0.1, 0.2, 0.30000000000000004])  # sums of these tie, or nearly so
WEIGHTS = st.one_of(TIED, st.floats(-4, 4, allow_subnormal=False))
VALUES = st.sampled_from([1.0, 1.0, 0.5, -2.0])
SMALL = 1e-12


@st.composite
def models(draw: st.DrawFn, single: bool = False) -> Model:
    Y = draw(st.integers(1, 4))
    number = st.floats(-4, 4, width=32) if single else WEIGHTS
    labels = st.integers(0, Y - 1)
    one = draw(st.dictionaries(st.tuples(st.integers(0, 3), labels), number, max_size=10))
    two = draw(st.dictionaries(st.tuples(st.integers(0, 2), labels, labels), number, max_size=8))
    pair = draw(st.lists(st.lists(number, min_size=Y, max_size=Y), min_size=Y, max_size=Y))
    bias = draw(st.lists(st.sampled_from([0.0, 0.0, 0.25, -1.5]), min_size=Y, max_size=Y))
    forbidden = draw(st.frozensets(st.tuples(labels, labels), max_size=2))
    return Model(Y, one, two, pair, bias, forbidden, single)


@st.composite
def sentences(draw: st.DrawFn, model: Model, edges: bool) -> list[list[Token]]:
    value = st.just(1.0) if model.single else VALUES
    one = st.lists(st.tuples(st.integers(0, 3), value), max_size=5)
    two = st.lists(st.tuples(st.integers(0, 2), st.just(1.0)), max_size=3) if edges else st.just([])
    allowed = st.one_of(st.none(), st.frozensets(st.integers(0, model.Y - 1), min_size=1))
    tokens = st.lists(st.builds(Token, one, two, allowed), min_size=1, max_size=5)
    return draw(st.lists(tokens, min_size=1, max_size=3))


def lists_of(weights: dict[tuple[int, int], float], size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    keys = sorted(weights)
    first = np.searchsorted([a for a, _ in keys], np.arange(size + 1)).astype(np.int64)
    return first, np.array([y for _, y in keys], np.int32), np.array([weights[k] for k in keys], np.float64)


def arrays_of(model: Model, text: list[list[Token]], edges: bool) -> tuple[Chain, DoubleWeights, Data]:
    Y = model.Y
    pairs = {(a, x * Y + y): w for (a, x, y), w in model.two.items()}
    weights = DoubleWeights(
        *lists_of(model.one, 4), *(lists_of(pairs, 3) if edges else no_lists()), np.array(model.pair), model.single
    )
    free = np.ones((Y, Y), np.bool_)
    for x, y in model.forbidden:
        free[x, y] = False
    chain = bare_chain(Shape(Y, 1, ends=False), Transitions(np.ones(Y, np.bool_), free, np.ones(Y, np.bool_)))
    row = chain.bias.copy()
    row[:Y] = model.bias
    tokens = [token for sentence in text for token in sentence]
    sets = sorted({token.allowed for token in tokens if token.allowed is not None}, key=sorted)
    extra = np.array([[y in own for y in range(Y)] for own in sets], np.bool_).reshape(len(sets), Y)
    known = np.array([Y if t.allowed is None else Y + 1 + sets.index(t.allowed) for t in tokens], np.int32)
    offset = np.cumsum([0, *(len(sentence) for sentence in text)]).astype(np.int64)
    two = active([t.two for t in tokens]) if edges else no_active()
    actives = active([t.one for t in tokens]), two, no_active()
    data = Data(offset, known, allow_table(Y, extra), np.ones(len(text), np.float32), actives)
    return chain._replace(bias=row), weights, data


def active(found: list[list[tuple[int, float]]]) -> Active:
    ptr = np.cumsum([0, *map(len, found)]).astype(np.int64)
    values = [value for own in found for _, value in own]
    val = np.zeros(0, np.float32) if all(v == 1.0 for v in values) else np.array(values, np.float32)
    return Active(ptr, np.array([a for own in found for a, _ in own], np.int32), val)


def without_masks(text: list[list[Token]]) -> list[list[Token]]:
    return [[Token(token.one, token.two) for token in sentence] for sentence in text]


@few(1)
@given(st.data(), st.booleans(), st.booleans(), st.booleans())
def test_the_best_path_and_its_score_bit_by_bit(data: st.DataObject, single: bool, edges: bool, masked: bool) -> None:
    model = data.draw(models(single))
    text = data.draw(sentences(model, edges))
    chain, weights, given_ = arrays_of(model, text, edges)
    out, scores = np.zeros(given_.known.size, np.int32), np.zeros(len(text))
    decode_double(chain, weights, given_, make_double_trellis(chain, given_), out, scores, masked)
    for s, sentence in enumerate(text if masked else without_masks(text)):
        score, path = viterbi(model, sentence)
        assert scores[s] == score
        if score > -math.inf:
            assert tuple(out[given_.offset[s] : given_.offset[s + 1]].tolist()) == path


@few(0.5)
@given(st.data(), st.booleans(), st.booleans(), st.sampled_from([1.0, 0.5, 3.0]))
def test_sums_over_all_paths(data: st.DataObject, edges: bool, masked: bool, temperature: float) -> None:
    model = data.draw(models())
    text = data.draw(sentences(model, edges))
    chain, weights, given_ = arrays_of(model, text, edges)
    cooled = chain._replace(bias=chain.bias * np.float32(1 / temperature))
    scoring = DoubleScoring(cooled, at_temperature(weights, temperature))
    log_z = scoring.log_partitions(given_, masked)
    labels, confidence, again = scoring.most_probable(given_, masked)
    assert np.array_equal(log_z, again)
    heated = heat(model, temperature)
    for s, sentence in enumerate(text if masked else without_masks(text)):
        expected = log_sum(list(path_scores(heated, sentence).values()))
        assert log_z[s] == pytest.approx(expected, abs=1e-6 if temperature == 3.0 else SMALL)
        if expected > -math.inf:
            lo, hi = given_.offset[s : s + 2].tolist()
            tables = marginals(heated, sentence)
            for i, table in enumerate(tables):
                assert confidence[lo + i] == pytest.approx(max(table), abs=1e-6)
                assert table[labels[lo + i]] == pytest.approx(max(table), abs=1e-6)
            assert hi - lo == len(tables)


def heat(model: Model, temperature: float) -> Model:
    """The model with all weights divided by a temperature."""

    def cooled(weights: dict) -> dict:  # type: ignore[type-arg]
        return {key: w / temperature for key, w in weights.items()}

    pair = [[w / temperature for w in row] for row in model.pair]
    bias = [b / temperature for b in model.bias]
    return Model(model.Y, cooled(model.one), cooled(model.two), pair, bias, model.forbidden)


@few(0.5)
@given(st.data(), st.booleans(), st.booleans())
def test_posteriors_of_labels_and_spans(data: st.DataObject, edges: bool, masked: bool) -> None:
    """A span is here a stretch of tokens that all have label 0, with another one before and after it."""
    model = data.draw(models())
    text = data.draw(sentences(model, edges))
    chain, weights, given_ = arrays_of(model, text, edges)
    Y, N = model.Y, given_.known.size
    zero = np.arange(Y) == 0
    marks = Marks(~zero[:, None] & zero, zero[:, None] & zero, zero[:, None] & ~zero, np.where(zero, 0, -1))
    spans = [(s, i, j) for s, own in enumerate(text) for i in range(len(own)) for j in range(i + 1, len(own) + 1)]
    places = Places(
        *(np.array([span[k] for span in spans], np.int64) for k in range(3)), np.zeros(len(spans), np.int64)
    )
    out = Posteriors(np.zeros(N), np.zeros((N, Y)), np.zeros(len(spans)), np.zeros(len(text)))
    DoubleScoring(chain, weights).posteriors(given_, np.zeros(N, np.int32), places, marks, out, masked)
    for s, sentence in enumerate(text if masked else without_masks(text)):
        scores = path_scores(model, sentence)
        total = log_sum(list(scores.values()))
        assert out.log_z[s] == pytest.approx(total, abs=SMALL)
        if total == -math.inf:
            continue
        lo, hi = given_.offset[s : s + 2].tolist()
        assert out.labels[lo:hi] == pytest.approx(np.array(marginals(model, sentence)), abs=SMALL)
        assert out.tokens[lo:hi] == pytest.approx(out.labels[lo:hi, 0], abs=SMALL)
        for k, (_, i, j) in enumerate(spans):
            if spans[k][0] == s:
                share = sum(math.exp(score - total) for path, score in scores.items() if is_span(path, i, j))
                assert out.spans[k] == pytest.approx(share, abs=1e-9)


def is_span(path: tuple[int, ...], i: int, j: int) -> bool:
    inside = all(y == 0 for y in path[i:j])
    return inside and (i == 0 or path[i - 1] != 0) and (j == len(path) or path[j] != 0)


@few(0.5)
@given(st.data(), st.booleans(), st.booleans(), st.integers(1, 6))
def test_the_best_paths(data: st.DataObject, edges: bool, masked: bool, n: int) -> None:
    model = data.draw(models())
    text = data.draw(sentences(model, edges))
    chain, weights, given_ = arrays_of(model, text, edges)
    N, S = given_.known.size, len(text)
    out, scores, probability = np.zeros((n, N), np.int32), np.full((S, n), -np.inf), np.zeros((S, n))
    found = DoubleScoring(chain, weights).lists(given_, n).fill(0, S, out, scores, probability, masked)
    for s, sentence in enumerate(text if masked else without_masks(text)):
        all_scores = {path: score for path, score in path_scores(model, sentence).items() if score > -math.inf}
        assert found[s] == min(n, len(all_scores))
        if not all_scores:
            continue
        lo, hi = given_.offset[s : s + 2].tolist()
        paths = [tuple(out[k, lo:hi].tolist()) for k in range(int(found[s]))]
        assert paths[0] == viterbi(model, sentence)[1]
        assert len(set(paths)) == len(paths)
        ranked = sorted(all_scores.values(), reverse=True)[: len(paths)]
        total = log_sum(list(all_scores.values()))
        for k, path in enumerate(paths):
            assert scores[s, k] == pytest.approx(ranked[k], abs=SMALL)
            assert scores[s, k] == pytest.approx(all_scores[path], abs=SMALL)
            assert probability[s, k] == pytest.approx(math.exp(ranked[k] - total), abs=SMALL)


@few(0.5)
@given(st.data(), st.booleans())
def test_the_most_probable_sequence_is_the_best_path(data: st.DataObject, edges: bool) -> None:
    model = data.draw(models())
    text = data.draw(sentences(model, edges))
    chain, weights, given_ = arrays_of(model, text, edges)
    labels, posterior, proven = DoubleScoring(chain, weights).most_probable_sequence(given_, 10, True)
    assert proven.all()
    for s, sentence in enumerate(text):
        score, path = viterbi(model, sentence)
        if score == -math.inf:
            assert posterior[s] == 0.0
            continue
        total = log_sum(list(path_scores(model, sentence).values()))
        assert posterior[s] == pytest.approx(math.exp(score - total), abs=SMALL)
        assert tuple(labels[given_.offset[s] : given_.offset[s + 1]].tolist()) == path


@few(0.2)
@given(st.data())
def test_the_float32_chain_has_the_same_weights(data: st.DataObject) -> None:
    model = data.draw(models())
    chain, weights, _ = arrays_of(model, [[Token()]], True)
    made = rounded(chain, weights)
    assert made.transitions[1].w[:, : model.Y] == pytest.approx(np.array(model.pair), rel=1e-6)
    assert made.weights[0].w[:, 0] == pytest.approx(weights.w, rel=1e-6)
    assert made.weights[1].w[:, 0] == pytest.approx(weights.pair_w, rel=1e-6)
