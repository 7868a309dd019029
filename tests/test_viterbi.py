"""The compiled decoder against all paths, a top-down recursion, and a float64 Viterbi for long sentences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of, decoded
from hypothesis import given
from naive_chain import Model, Token, best_path, memoised_viterbi, path_score
from strategies import cases, few, random_model, random_sentence

from palmette.kernels.chain.forms import stride_of

SIZES = (3, 2, 2)


def case_of(model: Model, sizes: tuple[int, int, int], *sentences: list[Token]) -> Case:
    """Sentences of which nothing is known."""
    everything = frozenset(range(model.n_states))
    known = [[everything] * len(sentence) for sentence in sentences]
    return Case(model, tuple(range(model.n_states)), sizes, list(sentences), known, [1.0] * len(sentences))


def sizes_for(order: int) -> tuple[int, int, int]:
    return (SIZES[0], SIZES[1] if order >= 1 else 0, SIZES[2] if order >= 2 else 0)


# --- against the twins --------------------------------------------------------------------------------------


@few(3)
@given(cases(lists=True))
def test_the_best_of_all_paths(case: Case) -> None:
    for sentence, (score, path) in zip(case.sentences, decoded(chain_of(case), data_of(case)), strict=True):
        best = best_path(case.model, sentence)
        assert score == pytest.approx(best.score, rel=1e-4)
        if score > -math.inf:
            assert path == best.path


@few(2)
@given(cases(latent=True, lists=True))
def test_the_best_path_under_what_is_known(case: Case) -> None:
    found = decoded(chain_of(case), data_of(case), restricted=True)
    for s, (score, path) in enumerate(found):
        allowed = case.allowed(s)
        best = best_path(case.model, case.sentences[s], allowed)
        assert score == pytest.approx(best.score, rel=1e-4)
        if score > -math.inf:
            assert path == best.path
            assert all(state in states for state, states in zip(path, allowed, strict=True))


@few()
@given(cases(max_states=3, max_tokens=3))
def test_the_two_twins_agree(case: Case) -> None:
    for sentence in case.sentences:
        best, recursive = best_path(case.model, sentence), memoised_viterbi(case.model, sentence)
        assert recursive.score == best.score
        if best.score > -math.inf:
            assert recursive.path == best.path


@pytest.mark.parametrize("n", [63, 64, 65, 66, 130])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("weights", ["ties", "spread"])
def test_a_sentence_longer_than_the_rescaling(order: int, n: int, weights: str) -> None:
    rng = np.random.default_rng([order, n])
    model = random_model(rng, order, 3, sizes_for(order), weights, forbid=0.2, escape=True)
    sentence = random_sentence(rng, n, sizes_for(order), most=2)
    case = case_of(model, sizes_for(order), sentence, sentence[: n // 2])
    for tokens, (score, path) in zip(case.sentences, decoded(chain_of(case), data_of(case)), strict=True):
        best = memoised_viterbi(model, tokens)
        assert (score, path) == (best.score, best.path)


# --- any number of labels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_states", [1, 2, 3, 7, 8, 9, 22, 24])
@pytest.mark.parametrize("order", [1, 2])
def test_label_counts_on_both_sides_of_the_stride(order: int, n_states: int) -> None:
    rng = np.random.default_rng([order, n_states])
    sizes = sizes_for(order) if n_states < 20 or order < 2 else (3, 1, 0)
    model = random_model(rng, order, n_states, sizes, "spread", forbid=0.3, escape=True)
    lengths = (1, 2, 3, 4) if order == 2 and n_states > 9 else (1, 2, 3, 7)
    case = case_of(model, sizes, *(random_sentence(rng, n, sizes) for n in lengths))
    for sentence, (score, path) in zip(case.sentences, decoded(chain_of(case), data_of(case)), strict=True):
        best = memoised_viterbi(model, sentence)
        assert (score, path) == (best.score, best.path)


@pytest.mark.parametrize(("n_states", "stride"), [(1, 1), (3, 3), (7, 7), (8, 8), (9, 16), (22, 24), (24, 24)])
def test_rows_are_padded_from_eight_states_on(n_states: int, stride: int) -> None:
    assert stride_of(n_states) == stride


# --- forbidden ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_a_forbidden_pair_is_not_taken_however_good_it_is(order: int) -> None:
    model = Model(order, 2, {("pair", 0, 1): 50.0, ("one", 0, 0): 1.0}, frozenset({("pair", 0, 1)}))
    case = case_of(model, (1, 0, 0), [Token(((0, 1.0),)), Token(), Token()])
    ((score, path),) = decoded(chain_of(case), data_of(case))
    assert (score, path) == (1.0, (0, 0, 0))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_forbidden_start_and_end(order: int) -> None:
    model = Model(order, 3, {("one", 0, 0): 9.0}, frozenset({("start", 0), ("end", 0), ("end", 1)}))
    token = Token(((0, 1.0),))
    case = case_of(model, (1, 0, 0), [token], [token, token], [token, token, token])
    paths = [path for _, path in decoded(chain_of(case), data_of(case))]
    assert paths == [(2,), (1, 2), (1, 0, 2)]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n", [2, 3, 200])
def test_minus_infinity_where_no_path_exists(order: int, n: int) -> None:
    nothing = frozenset(("pair", g, h) for g in range(2) for h in range(2))
    case = case_of(Model(order, 2, {("bias", 1): 3.0}, nothing), (0, 0, 0), [Token()] * n, [Token()])
    (infeasible, _), (possible, path) = decoded(chain_of(case), data_of(case))
    assert infeasible == -math.inf
    assert (possible, path) == (3.0, (1,))


def test_what_is_known_may_leave_no_path() -> None:
    model = Model(1, 2, {("pair", 0, 1): 1.0}, frozenset({("pair", 1, 1)}))
    everything, one = frozenset({0, 1}), frozenset({1})
    case = Case(model, (0, 1), (0, 0, 0), [[Token()] * 2] * 2, [[one, one], [everything, one]], [1.0, 1.0])
    (score, _), (other, path) = decoded(chain_of(case), data_of(case), restricted=True)
    assert score == -math.inf
    assert (other, path) == (1.0, (0, 1))


# --- ties ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_all_alike_gives_the_first_label_everywhere(order: int, n: int) -> None:
    case = case_of(Model(order, 3), (0, 0, 0), [Token()] * n)
    assert decoded(chain_of(case), data_of(case)) == [(0.0, (0,) * n)]


@pytest.mark.parametrize("order", [1, 2])
def test_a_tie_goes_to_the_smaller_last_state_first(order: int) -> None:
    model = Model(order, 2, {("pair", 0, 1): 1.0, ("pair", 1, 0): 1.0})
    case = case_of(model, (0, 0, 0), [Token()] * 2, [Token()] * 3)
    assert [path for _, path in decoded(chain_of(case), data_of(case))] == [(1, 0), (0, 1, 0)]


# --- long sentences -----------------------------------------------------------------------------------------


def float64_viterbi(U: np.ndarray, E: np.ndarray, S: np.ndarray | None) -> float:
    """The best score with U f64[n, H], E f64[n, H, H] and, for order 2, S f64[n, H, H, H]."""
    if S is None:
        D = U[0]
        for i in range(1, len(U)):
            D = U[i] + np.max(D[:, None] + E[i], axis=0)
        return float(D.max())
    D = U[0][:, None] + E[1] + U[1]
    for i in range(2, len(U)):
        D = U[i] + E[i] + np.max(D[:, :, None] + S[i], axis=0)
    return float(D.max())


@pytest.mark.parametrize("order", [1, 2])
def test_five_thousand_tokens_against_float64(order: int) -> None:
    """Every token has its own attribute, so the trellis is the weights themselves: float32 random normals."""
    rng = np.random.default_rng(order)
    n, H = 5000, 5
    model = Model(order, H, forbidden=frozenset({("pair", 3, 4), ("pair", 0, 0)}))
    sizes = (n, 40, 40 if order == 2 else 0)
    pairs, triples = rng.integers(0, 40, n), rng.integers(0, 40, n)
    third = [((int(a), 1.0),) if order == 2 else () for a in triples]
    sentence = [Token(((i, 1.0),), ((int(pairs[i]), 1.0),), third[i]) for i in range(n)]
    case = case_of(model, sizes, sentence)
    chain = chain_of(case)
    for rows in chain.weights:
        rows.slot[:] = np.arange(1, rows.slot.size + 1)
        rows.w[1:] = rng.normal(size=rows.w[1:].shape) * 3 + (2 if rows is chain.weights[0] else 0)
    U = chain.weights[0].w[1:].astype(np.float64)
    E = chain.weights[1].w[1:].reshape(-1, H, H)[pairs].astype(np.float64)
    E[:, 3, 4] = E[:, 0, 0] = -np.inf
    S = chain.weights[2].w[1:].reshape(-1, H, H, H)[triples].astype(np.float64) if order == 2 else None
    ((score, path),) = decoded(chain, data_of(case))
    own = sum(U[i, h] for i, h in enumerate(path))
    own += sum(E[i, g, h] for i, (g, h) in enumerate(itertools.pairwise(path), 1))
    if S is not None:
        own += sum(S[i][path[i - 2 : i + 1]] for i in range(2, n))
    best = float64_viterbi(U, E, S)
    assert score == pytest.approx(best, rel=1e-6)
    assert own == pytest.approx(best, rel=1e-6)


def test_a_long_sentence_of_large_scores_keeps_small_differences() -> None:
    """A float32 sum of 5,000 times 1,000 has steps of 0.5: without rescaling label 1's 1/8 would be lost."""
    model = Model(1, 2, {("bias", 0): 1000.0, ("bias", 1): 1000.125})
    case = case_of(model, (0, 0, 0), [Token()] * 5000)
    ((score, path),) = decoded(chain_of(case), data_of(case))
    assert set(path) == {1}
    assert score == 5000 * 1000.125


def test_the_sentences_of_a_corpus_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(7)
    for order in (0, 1, 2):
        sizes = sizes_for(order)
        model = random_model(rng, order, 4, sizes, "spread")
        sentences = [random_sentence(rng, n, sizes, valued=True) for n in (4, 1, 6, 2, 1, 3, 5)]
        together = case_of(model, sizes, *sentences)
        alone = [case_of(model, sizes, sentence) for sentence in sentences]
        separately = [decoded(chain_of(case), data_of(case))[0] for case in alone]
        assert decoded(chain_of(together), data_of(together)) == separately
        for sentence, (score, path) in zip(sentences, separately, strict=True):
            assert score == path_score(model, sentence, path)
