"""The K best paths in two ways, against the list of all paths in order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of, decoded
from hypothesis import given
from hypothesis import strategies as st
from lazy_kbest import by_lists
from naive_chain import Model, Token
from naive_kbest import best_paths
from strategies import cases, few, random_model, random_sentence

from palmette.kernels.chain.forms import Chain, Data, Trellis, make_trellis
from palmette.kernels.chain.kbest import PathCandidates, kbest_astar, make_candidates
from palmette.kernels.chain.score import restrict, score
from palmette.kernels.core.compile import kernel

pytestmark = pytest.mark.jit


@kernel
def _by_astar(
    m: Chain, x: Data, T: Trellis, workspace: PathCandidates, paths: np.ndarray, scores: np.ndarray, found: np.ndarray,
    restricted: bool,
) -> None:  # fmt: skip
    """Into paths i32[K, N], scores f64[S, K] and found i64[S]."""
    own = np.empty((paths.shape[0], T.U.shape[0]), np.int32)
    for s in range(x.offset.size - 1):
        lo, n = x.offset[s], score(T, m, x, s, s == 0)
        if restricted:
            restrict(T, m, x, lo, n)
        found[s] = kbest_astar(T, m, n, workspace, own, scores[s])
        paths[:, lo : lo + n] = own[:, :n]


def by_astar(m: Chain, x: Data, paths: np.ndarray, scores: np.ndarray, found: np.ndarray, restricted: bool) -> None:
    T = make_trellis(m, x)
    _by_astar(m, x, T, make_candidates(paths.shape[0], T.U.shape[1]), paths, scores, found, restricted)


WAYS = {"astar": by_astar, "lazy": by_lists}


def listed(way: str, case: Case, K: int, restricted: bool = False) -> list[list[tuple[float, tuple[int, ...]]]]:
    """(score, path), best first, of each sentence."""
    data = data_of(case)
    S = len(case.sentences)
    paths, scores = np.full((K, data.known.size), -1, np.int32), np.full((S, K), np.nan)
    found = np.full(S, -1, np.int64)
    WAYS[way](chain_of(case), data, paths, scores, found, restricted)
    return [
        [(float(scores[s, k]), tuple(paths[k, lo:hi].tolist())) for k in range(found[s])]
        for s, (lo, hi) in enumerate(zip(data.offset[:-1], data.offset[1:], strict=True))
    ]


@pytest.fixture(params=sorted(WAYS))
def way(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("way", sorted(WAYS))
@few(3)
@given(case=cases(latent=True), K=st.sampled_from([1, 2, 3, 5, 20, 300]), restricted=st.booleans())
def test_the_best_of_all_paths_in_order(way: str, case: Case, K: int, restricted: bool) -> None:
    """Ties, K above the number of paths, forbidden transitions, masks, blocks of seen combinations: all exact."""
    for s, found in enumerate(listed(way, case, K, restricted)):
        allowed = case.allowed(s) if restricted else None
        assert found == best_paths(case.model, case.sentences[s], K, allowed)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("n_states", [1, 3, 8, 9, 22])
def test_both_ways_agree_on_longer_sentences(order: int, n_states: int) -> None:
    rng = np.random.default_rng([order, n_states])
    sizes = (4, 1 if order >= 1 else 0, 0)
    for weights in ("few", "ties", "spread"):
        model = random_model(rng, order, n_states, sizes, weights, forbid=0.2, escape=True)
        sentences = [random_sentence(rng, n, sizes) for n in (1, 2, 3, 12, 70, 140)]
        known = [[frozenset(range(n_states))] * len(sentence) for sentence in sentences]
        case = Case(model, tuple(range(n_states)), sizes, sentences, known, [1.0] * len(sentences))
        first, second = listed("astar", case, 12), listed("lazy", case, 12)
        assert first == second
        for found, best in zip(first, decoded(chain_of(case), data_of(case)), strict=True):
            assert found[0] == best
            assert len({path for _, path in found}) == len(found)
            assert len(found) == min(12, n_states ** len(best[1])) or model.forbidden
            assert [score for score, _ in found] == sorted((score for score, _ in found), reverse=True)


def test_the_first_is_that_of_viterbi_when_sums_are_rounded() -> None:
    """Weights that float32 cannot add up exactly: A* sees the same sums as Viterbi, so the same ties."""
    rng = np.random.default_rng(3)
    for order in (0, 1, 2):
        sizes = (5, 2 if order >= 1 else 0, 1 if order >= 2 else 0)
        model = random_model(rng, order, 5, sizes, "ties")
        model.weights = {feature: weight * 0.1 for feature, weight in model.weights.items()}
        sentences = [random_sentence(rng, 90, sizes) for _ in range(5)]
        known = [[frozenset(range(5))] * 90] * 5
        case = Case(model, tuple(range(5)), sizes, sentences, known, [1.0] * 5)
        for found, best in zip(listed("astar", case, 7), decoded(chain_of(case), data_of(case)), strict=True):
            assert found[0] == best
            assert [s for s, _ in found] == sorted((s for s, _ in found), reverse=True)


def test_no_path_is_an_empty_list(way: str) -> None:
    nothing = frozenset(("pair", g, h) for g in range(2) for h in range(2))
    everything = frozenset({0, 1})
    case = Case(Model(1, 2, {("bias", 1): 3.0}, nothing), (0, 1), (0, 0, 0),
                [[Token()] * 3, [Token()]], [[everything] * 3, [everything]], [1.0, 1.0])  # fmt: skip
    assert listed(way, case, 4) == [[], [(3.0, (1,)), (0.0, (0,))]]
    assert not any(math.isnan(score) for found in listed(way, case, 4) for score, _ in found)


def test_all_alike_counts_from_the_last_token(way: str) -> None:
    everything = frozenset({0, 1})
    case = Case(Model(1, 2), (0, 1), (0, 0, 0), [[Token()] * 3], [[everything] * 3], [1.0])
    (found,) = listed(way, case, 5)
    assert [path for _, path in found] == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)]
